"""One thing that turns state: a number, a path, a name, a constraint, an open task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmset.summarize.stating import FactKind


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that turns state.

    Args:
        kind: What kind of thing.
        text: As it was written first.
        at: Position in the list of the message that states it first.
        role: Whose message that is.
        times: In how many messages it is.
        around: What stands around it there, in one line.
    """

    kind: FactKind
    text: str
    at: int
    role: str
    times: int = field(default=1, compare=False)
    around: str = field(default="", compare=False, repr=False)
