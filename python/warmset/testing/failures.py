"""What `check_evictor` found, and the error that it raises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from warmset.testing.shown import shown

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Failure:
    """A case in which an evictor broke an invariant.

    Args:
        invariant: The invariant's name.
        why: What was wrong.
        messages: The input list; the smallest that was found.
        budget: The budget.
        made: The result; empty if the evictor raised.
        seed: The seed of the case from which this one was found.
        error: What the evictor raised.
    """

    invariant: str
    why: str
    messages: list[Any]
    budget: int
    made: list[Any]
    seed: int
    error: Exception | None = field(default=None, compare=False)

    def __str__(self) -> str:
        lines = [f"{self.invariant}: {self.why} (seed {self.seed}, budget {self.budget})"]
        lines += [f"  given {at}: {shown(message)}" for at, message in enumerate(self.messages)]
        lines += [f"  made  {at}: {shown(message)}" for at, message in enumerate(self.made)]
        if not self.made:
            lines.append("  made: nothing came back")
        return "\n".join(lines)


class EvictorError(AssertionError):
    """An evictor broke an invariant.

    Args:
        failures: One failure for each invariant that was broken, the smallest that was found.
    """

    def __init__(self, failures: Sequence[Failure]) -> None:
        super().__init__("\n\n".join(map(str, failures)))
        self.failures = tuple(failures)
