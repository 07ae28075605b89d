"""The package is what its first lines say: re-exports and a sorted list of them."""

import ast
import inspect
import sys
from pathlib import Path

from warmset import messages


def test_init_holds_imports_and_a_sorted_all():
    tree = ast.parse(inspect.getsource(messages))
    assert [type(node) for node in tree.body if not isinstance(node, ast.ImportFrom)] == [
        ast.Expr,
        ast.Assign,
    ]
    imported = {
        name.name for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names
    }
    exported = messages.__all__
    assert set(exported) == imported
    upper = [name for name in exported if name.isupper()]
    classes = [name for name in exported if name[0].isupper() and name not in upper]
    rest = [name for name in exported if name[0].islower()]
    assert exported == sorted(upper) + sorted(classes) + sorted(rest)


def test_only_the_standard_library_and_the_errors_are_imported():
    seen = set()
    for path in Path(messages.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                seen.add(node.module)
            elif isinstance(node, ast.Import):
                seen.update(name.name for name in node.names)
    foreign = {name for name in seen if name.split(".")[0] not in sys.stdlib_module_names}
    assert {".".join(name.split(".")[:2]) for name in foreign} == {
        "warmset.errors",
        "warmset.messages",
    }
