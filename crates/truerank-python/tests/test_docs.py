"""Everything public has a docstring, the examples in them run, and the stubs say what is there."""

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy
import pytest
from conftest import ROOT

import truerank

MODULES = [truerank, truerank.propensity, truerank.experiment]


def public():
    """Every public object by its name, members of classes included."""
    for module in MODULES:
        for name in module.__all__:
            value = getattr(module, name)
            yield f"{module.__name__}.{name}", value
            if inspect.isclass(value):
                members = [(member, getattr(value, member)) for member in vars(value) if is_ours(member)]
                yield from ((f"{module.__name__}.{name}.{member}", value) for member, value in members)


def is_ours(member):
    """What dictionaries have is documented there."""
    return not member.startswith("_") and not hasattr(dict, member)


def documented(value):
    return callable(value) or inspect.isgetsetdescriptor(value) or isinstance(value, property)


def test_everything_public_has_a_docstring():
    missing = [name for name, value in public() if documented(value) and not inspect.getdoc(value)]
    assert not missing


EXAMPLES = [(name, value.__doc__) for name, value in public() if ">>>" in (getattr(value, "__doc__", None) or "")]


@pytest.mark.parametrize("name, text", EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_examples_run(name, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"truerank": truerank, "np": numpy, "numpy": numpy}
    example = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(example, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_there_are_examples():
    assert len(EXAMPLES) >= 12


def test_stubs_agree_with_the_package(tmp_path):
    # Frames, bars and rankers import packages without types, or that need not be there.
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nignore_missing_imports = True\n")
    allowed = tmp_path / "allowed.txt"
    # The first two of a ranker are made by scikit-learn as the class is; its parameters by the declarations of options.
    rankers = ["set_fit_request", "set_score_request", "__init__"]
    names = ["_truerank.__all__", *(f"_ranker.Ranker.{name}" for name in rankers)]
    allowed.write_text("".join(f"truerank.{name}\n" for name in names))
    options = ["--mypy-config-file", config, "--allowlist", allowed]
    command = [sys.executable, "-m", "mypy.stubtest", "truerank", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def notebook_code(path):
    """The code of a notebook, cell after cell."""
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code") + "\n"


MISTAKES = {
    "a choice that does not exist": "truerank.relevance(counts, theta, estimator='user-awre')\n",
    "an option that does not exist": "truerank.experiment.rq1(sesions=5)\n",
    "a value of the wrong type": "truerank.simulate(data, sessions='many')\n",
    "a form that does not exist": "truerank.Ranker('linear').export('model', to='onxx')\n",
    "a preset that does not exist": "truerank.generate('huge')\n",
}
BEGINNING = (
    "import truerank\n"
    "data = truerank.generate('tiny')\n"
    "counts = truerank.simulate(data, sessions=100).counts()\n"
    "theta = truerank.Propensities.from_arrays([1.0, 0.5])\n"
)


def checked(checker, program):
    """What a checker of types says of a program, and whether it found mistakes."""
    # basedpyright as pyright's usual mode; libraries without types are not its business.
    (program.parent / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard", "reportMissingModuleSource": false}')
    mypy = ["mypy", "--ignore-missing-imports", "--disable-error-code", "import-untyped"]
    command = {"mypy": mypy, "basedpyright": ["basedpyright", "--pythonpath", sys.executable]}[checker]
    done = subprocess.run([sys.executable, "-m", *command, program], capture_output=True, text=True, cwd=program.parent)
    return done.returncode, done.stdout


@pytest.mark.parametrize("checker", ["mypy", "basedpyright"])
def test_checkers_of_types_accept_the_notebooks_and_find_mistakes(checker, tmp_path):
    for name in ["tutorial", "own-log"]:
        program = tmp_path / f"{name.replace('-', '_')}.py"
        program.write_text(notebook_code(ROOT / f"docs/{name}.ipynb"))
        code, text = checked(checker, program)
        assert code == 0, text
    for number, (what, line) in enumerate(MISTAKES.items()):
        program = tmp_path / f"mistake{number}.py"
        program.write_text(BEGINNING + line)
        code, text = checked(checker, program)
        assert code == 1 and f"mistake{number}.py:5" in text, f"{what}: {text}"


def test_the_stub_has_the_docstrings_of_the_package():
    """`python tests/stub_docs.py` writes them anew."""
    from stub_docs import STUB, first_paragraph, named

    tree = ast.parse(STUB.read_text())
    wrong = [name for name, node in named(tree) if ast.get_docstring(node) != first_paragraph(name)]
    assert not wrong


def test_the_package_is_typed(tmp_path):
    assert (Path(truerank.__file__).parent / "py.typed").exists()
    program = tmp_path / "program.py"
    program.write_text(
        "import truerank\n"
        "data = truerank.generate('tiny', seed=1)\n"
        "reveal_type(data.train)\n"
        "counts = truerank.simulate(data, sessions=100).counts()\n"
        "em = truerank.propensity.RegressionEM(per_user=True).fit(counts, data.train)\n"
        "reveal_type(truerank.relevance(counts, em, estimator='user-aware'))\n"
    )
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "Dataset" in done.stdout and "Relevance" in done.stdout
