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


PACKAGES = [path for path in FILES if path.name == "__init__.py"]


def _is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _lazy_call(node: ast.stmt) -> ast.Call | None:
    """Return the call of `lazy`, which type checkers do not see: they would believe every name."""
    if not isinstance(node, ast.If) or ast.unparse(node.test) != "not TYPE_CHECKING":
        return None
    [assigned] = node.body
    assert isinstance(assigned, ast.Assign)
    assert ast.unparse(assigned.targets[0]).strip("()") == "__getattr__, __dir__"
    assert isinstance(assigned.value, ast.Call)
    assert ast.unparse(assigned.value).startswith("lazy(__name__, ")
    return assigned.value


@pytest.mark.parametrize("path", PACKAGES, ids=_name)
def test_a_package_is_imports_and_a_sorted_all(path: Path) -> None:
    docstring, *body = ast.parse(path.read_text()).body
    assert isinstance(docstring, ast.Expr)
    for node in body:
        if _lazy_call(node) is not None:
            continue
        if _is_type_checking(node):
            assert all(isinstance(one, ast.ImportFrom) for one in node.body)
        elif isinstance(node, ast.Assign):
            names = ast.literal_eval(node.value)
            # Constants, then classes, then functions: the order that the linter keeps.
            assert names == sorted(names, key=lambda n: (not n.isupper(), n[0].islower(), n))
        else:
            assert isinstance(node, (ast.Import, ast.ImportFrom))


@pytest.mark.parametrize("path", PACKAGES, ids=_name)
def test_a_lazy_package_says_its_names_three_times_alike(path: Path) -> None:
    body = ast.parse(path.read_text()).body
    made = [call for node in body if (call := _lazy_call(node)) is not None]
    if not made:
        return
    [call] = made
    homes: dict[str, list[str]] = ast.literal_eval(call.args[1])
    package = ".".join(("warmset", *path.parent.relative_to(PACKAGE).parts))
    typed = {
        (node.module or "").removeprefix(f"{package}."): [one.name for one in node.names]
        for block in body
        if _is_type_checking(block)
        for node in block.body
        if node.module != "warmset"  # rooms, which are modules and no names of one
    }
    said = {home: sorted(names) for home, names in homes.items() if names}
    for names in (said, typed):  # `__version__` is no name that `*` brings
        assert names.pop("_support.version", ["__version__"]) == ["__version__"]
    assert said == {home: sorted(names) for home, names in typed.items()}
    listed = next(
        ast.literal_eval(node.value)
        for node in body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    assert sorted(listed) == sorted(name for names in said.values() for name in names)
    modules = {one.stem for one in path.parent.iterdir()}
    assert not modules & set(listed), "a name of its own module could be either of the two"


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_only_the_command_line_prints(path: Path) -> None:
    if path.is_relative_to(PACKAGE / "cli") or path.is_relative_to(PACKAGE / "lab" / "demo"):
        return
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]
