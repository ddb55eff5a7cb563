#!/usr/bin/env python3
"""Peak memory and time of steps that read counts, with plenty of memory and with little, under a limit that the system enforces.

The run with little memory (`--little`, default 64MiB) may have half of the data (RLIMIT_DATA) that the run in memory held at its peak, unless that
is less than what the program takes besides: so that it is `--memory` that keeps it small. Both must write the same bytes. Linux only.
"""

import argparse
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BINARY = Path(os.environ.get("TRUERANK", ROOT / "target/release/truerank"))
MIB = 1 << 20

# What a run takes beside `--memory`: the program, its threads, and 100 bytes for each of a million cells on which kinds are fitted.
BESIDE = 384 * MIB

STEPS = {
    "relevance": "relevance counts --propensities log.propensities.json --estimator all -o OUT",
    "propensity": "propensity counts --data data --per-user -o OUT.parquet",
    "doctor": "doctor counts --data data --json -o OUT",
    "fit": "fit counts --data data --model linear --json -o OUT",
    "evaluate": "evaluate data/train.txt --ranker fit-plenty/ranker.safetensors --clicks counts --propensities fit-plenty/propensities.json --json",
    "predict": "predict-clicks counts --propensities fit-plenty/propensities.json --relevance fit-plenty/relevance.parquet --json",
}


def run(folder, arguments, limit=None):
    """What a command prints, its seconds of the processors, by the clock, and its peak of resident memory in bytes."""
    limits = (lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))) if limit else None
    start = time.monotonic()
    process = subprocess.Popen([BINARY, "--quiet", *arguments], cwd=folder, stdout=subprocess.PIPE, preexec_fn=limits)
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 1), f"{' '.join(map(str, arguments))} ends with {code}"
    return printed, usage.ru_utime + usage.ru_stime, time.monotonic() - start, usage.ru_maxrss << 10


def written(folder, name):
    """The bytes of all files that a step has written under a name."""
    made = [inside for path in folder.glob(f"{name}*") for inside in (path, *path.rglob("*"))]
    files = [path for path in made if path.is_file()]
    return {str(path.relative_to(folder)).removeprefix(name): path.read_bytes() for path in files}


def step(folder, name, arguments, little):
    printed, seconds, sizes, files = {}, {}, {}, {}
    for way, memory in (("plenty", "12GiB"), ("little", little)):
        out = f"{name}-{way}"
        limit = max(sizes["plenty"] // 2, BESIDE) if way == "little" else None
        words = arguments.replace("OUT", out).split()
        printed[way], seconds[way], _, sizes[way] = run(folder, [*words, "--memory", memory], limit)
        printed[way], files[way] = printed[way].replace(out.encode(), b"OUT"), written(folder, out)
    same = files["plenty"] == files["little"] and printed["plenty"] == printed["little"]
    show = lambda way: f"{sizes[way] / MIB:,.0f} MiB, {seconds[way]:.1f} s"
    print(f"| `{name}` | {show('little')} | {max(sizes['plenty'] // 2, BESIDE) / MIB:,.0f} MiB | {show('plenty')} | {'the same' if same else 'OTHER'} |", flush=True)
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=2_000_000)
    parser.add_argument("--users-per-cluster", type=int, default=500)
    parser.add_argument("--little", default="64MiB")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(folder, "generate --preset small -o data".split())
        simulate = f"simulate data --sessions {options.sessions} --users-per-cluster {options.users_per_cluster} --user-noise 0.1 --shuffle 0.3"
        run(folder, f"{simulate} -o log.parquet".split())
        print(run(folder, "count log.parquet -o counts".split())[0].decode())
        print(f"| command | `--memory {options.little}` | limit of the system | in memory | files |\n|---|---|---|---|---|")
        same = [step(folder, name, arguments, options.little) for name, arguments in STEPS.items()]
    raise SystemExit(0 if all(same) else 1)


if __name__ == "__main__":
    main()
