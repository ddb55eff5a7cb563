"""Writes the first paragraph of the package's docstrings into its stub, where editors look for them."""

import ast
import inspect
from pathlib import Path

from truerank import _truerank

STUB = Path(__file__).resolve().parents[1] / "python/truerank/_truerank.pyi"


def first_paragraph(name):
    """The first paragraph of the docstring of what a dotted name names, or None."""
    found = _truerank
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    text = inspect.getdoc(getattr(found, "__func__", found))
    return " ".join(text.split("\n\n")[0].split()) if text else None


def named(tree):
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            yield node.name, node
            for member in node.body if isinstance(node, ast.ClassDef) else []:
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                    yield f"{node.name}.{member.name}", member


def written(text):
    """The stub with its docstrings."""
    lines = text.splitlines()
    for name, node in reversed(sorted(named(ast.parse(text)), key=lambda pair: pair[1].lineno)):
        first, doc = node.body[0], first_paragraph(name)
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            del lines[first.lineno - 1 : first.end_lineno]
            if len(node.body) == 1:
                lines.insert(first.lineno - 1, " " * (node.col_offset + 4) + "...")
        elif isinstance(first, ast.Expr) and lines[first.lineno - 1].rstrip().endswith(": ...") and doc:
            line = lines[first.lineno - 1]
            lines[first.lineno - 1 : first.lineno] = [line.rstrip()[: -len(" ...")], " " * (node.col_offset + 4) + "..."]
        if doc:
            begin = next(at for at in range(node.lineno - 1, len(lines)) if lines[at].rstrip().endswith(":"))
            lines[begin + 1 : begin + 1] = [" " * (node.col_offset + 4) + f'"""{doc}"""']
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    STUB.write_text(written(STUB.read_text()))
