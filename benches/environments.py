"""Private virtual environments for the peers, made once from a list of exact versions."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def environment(name, requirements):
    """The interpreter of an environment beside the workspace; made anew when the list has changed."""
    folder, wanted = HERE.parent / name, HERE / requirements
    python, stamp = folder / "bin/python", folder / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != wanted.read_text():
        print(f"setting up {name} …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
        subprocess.run([*install, "-r", wanted], check=True)
        stamp.write_text(wanted.read_text())
    return python
