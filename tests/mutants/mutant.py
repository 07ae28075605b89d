"""What a mutant is, and what came of it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["found", "timeout", "lived", "equivalent", "stale", "unviable", "broken"]
"""What came of a mutant.

found: a test failed. timeout: the tests did not end in time, which counts as found.
lived: all tests passed. equivalent: listed as no mistake, so not tried and not scored.
stale: the text to be changed is not there, or there more than once.
unviable: it does not compile.
broken: nothing can be said, because the tests also fail without it.
"""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One file with one mistake; `file` is relative to the repository's root."""

    room: str
    file: str
    line: int  # from 1; 0 if unknown
    operator: str  # an operator's name, or in words what goes wrong
    text: str  # the line as it is, without indentation
    before: str
    after: str

    @property
    def made(self) -> str:
        """The first line that is new, without indentation; "" if lines only left."""
        new = (row for row in self._rows() if row.startswith("+") and not row.startswith("+++"))
        return next(new, "+")[1:].strip()

    def diff(self) -> str:
        """Show the mistake as a unified diff without context."""
        return "\n".join(self._rows())

    def _rows(self) -> list[str]:
        return list(
            difflib.unified_diff(
                self.before.splitlines(),
                self.after.splitlines(),
                self.file,
                self.file,
                lineterm="",
                n=0,
            )
        )


@dataclass(frozen=True, kw_only=True)
class Result:
    """A mutant, what came of it, and by what it was seen."""

    mutant: Mutant
    outcome: Outcome
    seconds: float = 0.0
    by: str = ""  # the test that failed first, or the reason of an equivalent or a broken one
    fresh: bool = False  # of a list: written after the tests that the list led to
    diff: str = ""  # where the tool that made the mutant knows it better

    def shown(self) -> str:
        """Show the mistake as a diff."""
        return self.diff or self.mutant.diff()
