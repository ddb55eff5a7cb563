"""What someone does who has nothing but the wheel: the README's lines and the command. Run by an environment that holds nothing else."""

import importlib.metadata
import importlib.util
import pathlib
import re
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Sizes are cut: the lines are tested here, not the numbers on the page.
SMALLER = [('"small"', '"tiny"'), ("600_000", "20_000"), ("150_000", "20_000"), ("steps=300", "steps=10")]


def check_that_nothing_else_is_there():
    for name in ["pandas", "sklearn", "scipy", "pyarrow", "matplotlib", "tqdm"]:
        assert importlib.util.find_spec(name) is None, f"{name} is installed, but the environment should be empty"


def run_the_readme():
    programs = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    assert programs, "README.md has no lines of Python"
    for program in programs:
        # Lines about frames of other packages are for those who have them.
        if re.search(r"import (pandas|polars|lightgbm|xgboost|sklearn)|from sklearn", program):
            continue
        for size, smaller in SMALLER:
            program = program.replace(size, smaller)
        exec(compile(program, "README.md", "exec"), {})


def run_the_command():
    version = importlib.metadata.version("truerank")
    told = subprocess.run(["truerank", "--version"], capture_output=True, text=True, check=True).stdout
    assert told == f"truerank {version}\n", told
    with tempfile.TemporaryDirectory() as folder:
        for line in ["generate --preset tiny -o data/", "simulate data/ --sessions 2000 -o clicks.csv", "count clicks.csv -o counts/"]:
            subprocess.run(["truerank", "--quiet", *line.split()], cwd=folder, check=True, capture_output=True)


def check_metadata():
    about = importlib.metadata.metadata("truerank")
    assert about["License-Expression"] == "MIT OR Apache-2.0" and "# truerank" in about.get_payload()
    files = [str(file) for file in importlib.metadata.files("truerank")]
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "py.typed", "_truerank.pyi"]:
        assert any(file.endswith(name) for file in files), f"the wheel has no {name}"


if __name__ == "__main__":
    begin = time.monotonic()
    check_that_nothing_else_is_there()
    check_metadata()
    run_the_command()
    run_the_readme()
    print(f"   the README runs with the wheel alone, {time.monotonic() - begin:.0f} s")
