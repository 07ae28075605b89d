"""The automatic mistakes: cosmic-ray's operators, those of them that a careful person could make.

cosmic-ray replaces every operator by every other one. Most of these fail at once and say nothing
about the tests; kept are neighbours (`<` and `<=`), opposites, and numbers off by one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.provider import OperatorProvider

from tests.mutants.mutant import Mutant
from tests.mutants.removals import REMOVALS
from tests.mutants.tree import room_of

if TYPE_CHECKING:
    from collections.abc import Iterable

KEPT = (
    *(
        f"ReplaceComparisonOperator_{pair}"
        for pair in (
            *("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt"),
            *("Lt_GtE", "LtE_Gt", "Gt_LtE", "GtE_Lt"),
            *("Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is", "Eq_LtE", "Eq_GtE"),
        )
    ),
    *(
        f"ReplaceBinaryOperator_{pair}"
        for pair in (
            *("Add_Sub", "Sub_Add", "Mul_FloorDiv", "Div_Mul", "FloorDiv_Mul", "Mod_FloorDiv"),
            *("Pow_Mul", "BitOr_BitAnd", "BitAnd_BitOr", "LShift_RShift", "RShift_LShift"),
        )
    ),
    *("ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_USub_UAdd"),
    *("AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue"),
    *("ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak"),
    *("ExceptionReplacer", "NumberReplacer", "ZeroIterationForLoop"),
)

FOR_TOOLS = ("TYPE_CHECKING", "not TYPE_CHECKING", "__name__ ==")  # conditions of such blocks


@cache
def operators() -> dict[str, Any]:
    """Return an instance of each operator, by its name."""
    provider = OperatorProvider()
    return {name: provider[name]() for name in KEPT} | {one.__name__: one() for one in REMOVALS}


@dataclass(frozen=True)
class Spot:
    """A place at which an operator makes a mutant, if the result compiles."""

    line: int
    operator: str
    occurrence: int


def spots(source: str) -> list[Spot]:
    """List the places of a source at which something can be mistaken, in its order.

    Left out are annotations, decorators and blocks for type checkers: they are no behaviour, or a
    mistake in them is seen by a type checker.
    """
    every = operators()
    seen: Counter[str] = Counter()
    found = []
    for node in ast_nodes(get_ast(source)):
        for name, operator in every.items():
            for (line, _column), _end in operator.mutation_positions(node):
                if not _is_no_behaviour(node):
                    found.append(Spot(line, name, seen[name]))
                seen[name] += 1
    return found


def mutant_at(file: str, source: str, spot: Spot) -> Mutant | None:
    """Make the mutant of a place; None if the result is the same, or does not compile."""
    try:
        after = mutate_code(source, operators()[spot.operator], spot.occurrence)
    except AttributeError:  # its replacer of exceptions fails at one with a dot, among several
        return None
    if after is None or after == source or not _compiles(after):
        return None
    return Mutant(
        room=room_of(file),
        file=file,
        line=spot.line,
        operator=spot.operator,
        text=source.splitlines()[spot.line - 1].strip(),
        before=source,
        after=after,
    )


def mutants_of(file: str, source: str, lines: Iterable[int] | None = None) -> list[Mutant]:
    """Make all mutants of a Python file, or those that begin on the given lines."""
    wanted = None if lines is None else set(lines)
    kept = [spot for spot in spots(source) if wanted is None or spot.line in wanted]
    made = (mutant_at(file, source, spot) for spot in kept)
    return [mutant for mutant in made if mutant is not None]


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def _is_no_behaviour(node: Any) -> bool:
    """Whether a node stands in an annotation, a decorator, or what is only there for tools."""
    while node is not None:
        above = node.parent
        if node.type == "decorator":
            return True
        if node.type == "if_stmt" and node.children[1].get_code().strip().startswith(FOR_TOOLS):
            return True
        if above is not None and (
            above.type == "tfpdef"
            or (above.type == "annassign" and node is above.children[1])
            or (above.type in {"param", "funcdef"} and node is getattr(above, "annotation", None))
        ):
            return True
        node = above
    return False
