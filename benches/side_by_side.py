#!/usr/bin/env python3
"""Times truerank beside a peer in the same run, and prints the ratios as a Markdown table.

    python benches/side_by_side.py [--quick] [reading simulating counting text weights em mlp training]
"""

import argparse
import datetime
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SUBJECTS = ["reading", "simulating", "weights", "counting", "text", "em", "mlp", "training"]
MODULES = ["numpy", "pandas", "sklearn", "pyarrow", "duckdb", "polars", "torch"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=f"of {', '.join(SUBJECTS)} [default: all]")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that all rows work; no numbers to keep")
    parser.add_argument("--threads", type=int, default=2, help="threads for everyone [default: 2]")
    parser.add_argument("--repeats", type=int, help="times that both are run in turn [default: 7, quick: 2]")
    parser.add_argument("--no-build", action="store_true", help="use the release binaries as they are")
    arguments = parser.parse_args()
    unknown = set(arguments.subjects) - set(SUBJECTS)
    if unknown:
        parser.error(f"'{unknown.pop()}' is not a subject; known are {', '.join(SUBJECTS)}")
    return arguments


def enter_environment():
    """Starts again in a private virtual environment unless this interpreter has all peers."""
    if all(importlib.util.find_spec(module) for module in MODULES):
        return
    environment, wanted = ROOT / ".venv-bench", HERE / "requirements.txt"
    python, stamp = environment / "bin/python", environment / "requirements.txt"
    if Path(sys.prefix) == environment:
        sys.exit(f"error: {environment} lacks packages; remove it and run again")
    if not stamp.exists() or stamp.read_text() != wanted.read_text():
        print(f"setting up {environment.name} …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
        subprocess.run([*install, "-r", wanted], check=True)
        stamp.write_text(wanted.read_text())
    os.execv(python, [str(python), *sys.argv])


def limit_threads(threads):
    """Before any peer is imported: they read their settings once."""
    for name in ["RAYON", "OMP", "OPENBLAS", "MKL"]:
        os.environ[f"{name}_NUM_THREADS"] = str(threads)
    os.environ["POLARS_MAX_THREADS"] = str(threads)


def build():
    command = ["cargo", "build", "--release", "--locked", "--workspace", "--bins", "--examples"]
    subprocess.run(command, cwd=ROOT, check=True)


def main():
    arguments = parse_arguments()
    enter_environment()
    limit_threads(arguments.threads)
    if not arguments.no_build:
        build()
    from rows.common import Setup, print_table

    subjects = [subject for subject in SUBJECTS if subject in (arguments.subjects or SUBJECTS)]
    with tempfile.TemporaryDirectory(prefix="truerank-bench-") as folder:
        setup = Setup(Path(folder), ROOT, arguments.quick, arguments.threads, arguments.repeats)
        results = []
        for subject in subjects:
            print(f"{subject} …", file=sys.stderr)
            module = importlib.import_module(f"rows.{subject}")
            results += [setup.measure(row) for row in module.rows(setup)]
    day = datetime.date.today().isoformat()
    print_table(results, f"{day}, {os.cpu_count()} cores, {arguments.threads} threads", arguments.quick, setup.remarks)


if __name__ == "__main__":
    main()
