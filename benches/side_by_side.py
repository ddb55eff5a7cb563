#!/usr/bin/env python3
"""Times truerank beside a peer in the same run, and prints the ratios as a Markdown table.

    python benches/side_by_side.py [--quick] [--data FOLDER] [SUBJECT …]
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

from environments import environment

ROOT = Path(__file__).resolve().parent.parent
SUBJECTS = ["reading", "simulating", "weights", "counting", "text", "em", "mlp", "training", "boosting", "scoring", "pipeline", "clax", "click_models"]
SUBJECTS += ["python", "large", "scaling"]
MODULES = ["numpy", "pandas", "sklearn", "pyarrow", "duckdb", "polars", "torch", "lightgbm", "onnxruntime", "safetensors"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=f"of {', '.join(SUBJECTS)} [default: all]")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that all rows work; no numbers to keep")
    parser.add_argument("--threads", type=int, default=2, help="threads for everyone [default: 2]")
    turns = "times that both are run in turn [default: 7; large, clax, click_models: 3; scaling: 5; quick: 2 or 1]"
    parser.add_argument("--repeats", type=int, help=turns)
    parser.add_argument("--data", type=Path, help="keep the log of `large` and `scaling` here [default: made anew]")
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
    if Path(sys.prefix) == ROOT / ".venv-bench":
        sys.exit(f"error: {sys.prefix} lacks packages; remove it and run again")
    python = environment(".venv-bench", "requirements.txt")
    os.execv(python, [str(python), *sys.argv])


def limit_threads(threads):
    """Before any peer is imported: they read their settings once."""
    for name in ["RAYON", "OMP", "OPENBLAS", "MKL"]:
        os.environ[f"{name}_NUM_THREADS"] = str(threads)
    os.environ["POLARS_MAX_THREADS"] = str(threads)


def build():
    command = ["cargo", "build", "--release", "--locked", "--workspace", "--bins", "--examples"]
    subprocess.run(command, cwd=ROOT, check=True)


def measure(setup, module):
    """What a subject measured; rows of two sides are run in turn here, other subjects take turns themselves."""
    if hasattr(module, "results"):
        return module.results(setup)
    return [setup.measure(row) for row in module.rows(setup)]


def main():
    arguments = parse_arguments()
    enter_environment()
    limit_threads(arguments.threads)
    if not arguments.no_build:
        build()
    from rows.common import Setup, print_table

    subjects = [subject for subject in SUBJECTS if subject in (arguments.subjects or SUBJECTS)]
    with tempfile.TemporaryDirectory(prefix="truerank-bench-") as folder:
        folder = Path(folder)
        data = (arguments.data or folder / "data").resolve()
        setup = Setup(folder, ROOT, data, arguments.quick, arguments.threads, arguments.repeats)
        results = []
        for subject in subjects:
            print(f"{subject} …", file=sys.stderr)
            results += measure(setup, importlib.import_module(f"rows.{subject}"))
    day = datetime.date.today().isoformat()
    print_table(results, f"{day}, {os.cpu_count()} cores, {arguments.threads} threads", arguments.quick, setup.remarks)


if __name__ == "__main__":
    main()
