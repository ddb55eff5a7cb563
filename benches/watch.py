#!/usr/bin/env python3
"""Runs a command and prints as JSON its seconds, its peak of resident memory, and the most that it held on disk.

    python benches/watch.py --folder FOLDER --most-memory MIB -- COMMAND …

Imports little: what Linux tells of a child's memory is at least that of the process that started it. Disk is what lies
under FOLDER, files without a name included. A command that holds more than --most-memory is stopped, so that
the system does not have to.
"""

import argparse
import json
import os
import signal
import subprocess
import threading
import time

POLL = 0.1


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", required=True)
    parser.add_argument("--most-memory", type=float, required=True, metavar="MIB")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def blocks(path):
    """Bytes on disk of a file that may be gone by now, and how many names it has."""
    try:
        found = os.stat(path)
        return found.st_blocks * 512, found.st_nlink
    except OSError:
        return 0, 1


def bytes_under(folder):
    paths = (os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)
    return sum(blocks(path)[0] for path in paths)


def nameless_bytes(process):
    """Bytes of temporary files that the process has open and nobody else can see."""
    folder = f"/proc/{process}/fd"
    try:
        found = {os.path.realpath(f"{folder}/{name}"): blocks(f"{folder}/{name}") for name in os.listdir(folder)}
    except OSError:
        return 0
    return sum(size for size, names in found.values() if names == 0)


def resident_mib(process):
    try:
        with open(f"/proc/{process}/status") as status:
            return next((int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS")), 0)
    except OSError:
        return 0


def offer_to_killer():
    """If memory runs out after all, this process goes first."""
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


class Watcher(threading.Thread):
    """Looks at a child's memory and disk until it is gone."""

    def __init__(self, child, folder, most_memory):
        super().__init__(daemon=True)
        self.child, self.folder, self.most_memory = child, folder, most_memory
        self.disk, self.stopped = 0, False

    def run(self):
        while self.child.returncode is None:
            self.disk = max(self.disk, bytes_under(self.folder) + nameless_bytes(self.child.pid))
            if resident_mib(self.child.pid) > self.most_memory:
                self.stopped = True
                return os.kill(self.child.pid, signal.SIGKILL)
            time.sleep(POLL)


def wait(child):
    """What the child used, as soon as it ends."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage


def main_line(text):
    """The last line that names an error, or else the last."""
    lines = text.strip().splitlines() or [""]
    return next((line for line in reversed(lines) if "rror:" in line or "xception:" in line), lines[-1])


def main():
    arguments = parse_arguments()
    with open(os.path.join(arguments.folder, "errors.txt"), "w+") as errors:
        start = time.perf_counter()
        streams = {"stdout": subprocess.DEVNULL, "stderr": errors}
        child = subprocess.Popen(arguments.command, preexec_fn=offer_to_killer, **streams)
        watcher = Watcher(child, arguments.folder, arguments.most_memory)
        watcher.start()
        usage = wait(child)
        seconds = time.perf_counter() - start
        errors.seek(0)
        error = main_line(errors.read())
    found = {"seconds": seconds, "peak_mib": usage.ru_maxrss / 1024, "disk_mib": watcher.disk / 2**20}
    print(json.dumps(found | {"code": child.returncode, "stopped": watcher.stopped, "error": error}))


if __name__ == "__main__":
    main()
