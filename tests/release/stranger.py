"""What someone does who has nothing but the wheel: the README's lines and the command. Run by an environment that holds nothing else."""

import contextlib
import importlib.metadata
import importlib.util
import io
import os
import pathlib
import re
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check_that_nothing_else_is_there():
    for name in ["pandas", "sklearn", "scipy", "pyarrow", "matplotlib", "tqdm"]:
        assert importlib.util.find_spec(name) is None, f"{name} is installed, but the environment should be empty"


def run_the_command():
    """Makes the data and the log that the README's lines read."""
    version = importlib.metadata.version("truerank")
    told = subprocess.run(["truerank", "--version"], capture_output=True, text=True, check=True).stdout
    assert told == f"truerank {version}\n", told
    for line in ["generate --preset tiny -o data/", "simulate data/ --sessions 20000 -o clicks.csv.gz"]:
        subprocess.run(["truerank", "--quiet", *line.split()], check=True, capture_output=True)


def run_the_readme():
    [program] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(program, "README.md", "exec"), {})
    assert 0.3 < float(printed.getvalue().split()[-1]) < 1, printed.getvalue()
    assert pathlib.Path("out/report.html").exists()


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
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run_the_command()
        run_the_readme()
        os.chdir(ROOT)
    print(f"   the README runs with the wheel alone, {time.monotonic() - begin:.0f} s")
