"""The house: one concept a file, packages without logic, no output but the command's."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[3] / "python" / "warmset"
FILES = sorted(PACKAGE.rglob("*.py"))
CEILING = 400
"""Lines of code that a file may have, without blank lines, comments and docstrings."""

FACADES = {"memory.py", "conversation.py"}
"""What hands each call on in a line is as long as the public API is wide."""


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_the_sources_are_found() -> None:
    assert len(FILES) > 40


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_a_file_is_one_concept_and_says_which(path: Path) -> None:
    text = path.read_text()
    assert ast.get_docstring(ast.parse(text))
    assert _name(path) in FACADES or _code_lines(text) <= CEILING


def _code_lines(text: str) -> int:
    """Count the lines with code on them; a text that stands alone is a docstring."""
    tree = ast.parse(text)
    alone = [n.value for n in ast.walk(tree) if isinstance(n, ast.Expr)]
    docs = [n for n in alone if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    skipped = {at for n in docs for at in range(n.lineno, (n.end_lineno or n.lineno) + 1)}
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and at not in skipped
        for at, line in enumerate(text.splitlines(), 1)
    )


@pytest.mark.parametrize("path", [p for p in FILES if p.name == "__init__.py"], ids=_name)
def test_a_package_is_imports_and_a_sorted_all(path: Path) -> None:
    docstring, *body = ast.parse(path.read_text()).body
    assert isinstance(docstring, ast.Expr)
    for node in body:
        if isinstance(node, ast.Assign):
            names = ast.literal_eval(node.value)
            # Constants, then classes, then functions: the order that the linter keeps.
            assert names == sorted(names, key=lambda n: (not n.isupper(), n[0].islower(), n))
        else:
            assert isinstance(node, (ast.Import, ast.ImportFrom))


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_only_the_command_line_prints(path: Path) -> None:
    if path.is_relative_to(PACKAGE / "cli") or path.is_relative_to(PACKAGE / "lab" / "demo"):
        return
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]
