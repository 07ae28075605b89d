"""Operators beside cosmic-ray's, for what is forgotten: a call, a check, a lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import parso
from cosmic_ray.operators.operator import Example, Operator

if TYPE_CHECKING:
    from collections.abc import Iterator

Position = tuple[tuple[int, int], tuple[int, int]]
SILENT = ("log", "_log", "warnings.")  # what is logged is wording, not behaviour


def _leaf(code: str, node: Any) -> Any:
    """Parse what takes the place of a node, with the space in front of it."""
    return parso.parse(node.get_first_leaf().prefix + code)


class RemoveCall(Operator):  # type: ignore[misc]
    """Replaces a call whose result nobody takes by nothing."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        is_call = (
            node.type == "atom_expr"
            and node.children[-1].type == "trailer"
            and node.children[-1].children[0].value == "("
            and node.parent.type == "simple_stmt"
        )
        if is_call and not node.get_code().strip().startswith(SILENT):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, _index: int) -> Any:
        return _leaf("...", node)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("seen.clear()\n", "...\n"),)


class RemoveRaise(Operator):  # type: ignore[misc]
    """Replaces a raise by nothing: what it guards against goes on."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        if node.type == "raise_stmt":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, _index: int) -> Any:
        return _leaf("pass", node)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("if x:\n    raise ValueError\n", "if x:\n    pass\n"),)


class RemoveLock(Operator):  # type: ignore[misc]
    """Enters nothing where a block holds a lock."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        if node.type == "with_stmt" and "lock" in node.children[1].get_code().lower():
            held = node.children[1]
            if held.type != "with_item" and len(node.children) == len(("with", held, ":", "suite")):
                yield held.start_pos, held.end_pos

    def mutate(self, node: Any, _index: int) -> Any:
        node.children[1] = parso.parse(' __import__("contextlib").nullcontext()')
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        nothing = '__import__("contextlib").nullcontext()'
        return (Example("with self._lock:\n    pass\n", f"with {nothing}:\n    pass\n"),)


REMOVALS = (RemoveCall, RemoveRaise, RemoveLock)
