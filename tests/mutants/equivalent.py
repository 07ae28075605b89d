"""Automatic mutants that are no mistakes: `tests/mutants/equivalent.toml`.

    [[equivalent]]
    file = "python/warmset/compact/plan.py"
    operator = "ReplaceComparisonOperator_Lt_LtE"
    line = "if least < most:"            # the text of the line, without indentation
    make = "if least <= most:"           # optional: the line as mutated, if there are several
    reason = "both are multiples of two"

For Rust, `operator` is the name that cargo-mutants gives, without file and line.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.mutants.operators import mutants_of
from tests.mutants.tree import UsageError

if TYPE_CHECKING:
    from tests.mutants.mutant import Mutant
    from tests.mutants.tree import Tree

KEYS = {"file", "operator", "line", "make", "reason"}
NEEDED = KEYS - {"make"}


@dataclass(frozen=True, kw_only=True)
class Equivalent:
    """One entry; it matches by text, so that lines may move."""

    file: str
    operator: str
    line: str
    reason: str
    make: str = ""

    def matches(self, mutant: Mutant) -> bool:
        return (
            (self.file, self.operator, self.line) == (mutant.file, mutant.operator, mutant.text)
        ) and self.make in ("", mutant.made)

    def is_there(self, tree: Tree) -> bool:
        """Whether it still matches a mutant; for Rust, whether its line is still there."""
        try:
            source = tree.read(self.file)
        except FileNotFoundError:
            return False
        at = [i for i, row in enumerate(source.splitlines(), 1) if row.strip() == self.line]
        if not self.file.endswith(".py"):
            return bool(at)
        return bool(at) and any(map(self.matches, mutants_of(self.file, source, at)))


def equivalents(tree: Tree) -> list[Equivalent]:
    """Read the file; there may be none.

    Raises:
        UsageError: It cannot be read, or an entry has other keys.
    """
    path = tree.equivalents
    if not path.exists():
        return []
    try:
        entries = tomllib.loads(path.read_text("utf-8")).get("equivalent", [])
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path.name}: {error}") from None
    for number, one in enumerate(entries, 1):
        if not set(one) >= NEEDED or set(one) - KEYS or not all(map(str.strip, one.values())):
            needed = ", ".join(sorted(NEEDED))
            raise UsageError(f"{path.name}, entry {number}: it needs {needed}, and may have make")
    return [Equivalent(**one) for one in entries]
