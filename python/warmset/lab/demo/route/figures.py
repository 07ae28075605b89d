"""What the demo of the router shows, as data, and what it promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.lab.demo.route.compare import Compared

TASK: Final = "dcf"
"""The task that the promise is about."""

MOST: Final = 7_000
"""Tokens of its payload, exclusive."""

LEAST: Final = 120_000
"""Tokens of everything, exclusive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was measured.

    Args:
        company: Whose filings they are.
        filings: How many filings there are.
        chunks: How many chunks they have.
        tokens: The tokens of their texts.
        tasks: What became of each task.
        kinds: For the valuation, what else is in each way's context: counts by kind.
        known: The value of a share by the books themselves.
        seconds: What each stage took.
    """

    company: str
    filings: int
    chunks: int
    tokens: int
    tasks: Sequence[Compared]
    kinds: Mapping[str, Mapping[str, int]]
    known: float
    seconds: Mapping[str, float]

    @property
    def valuation(self) -> Compared:
        """What became of the task that the promise is about."""
        return next(one for one in self.tasks if one.task == TASK)

    @property
    def value(self) -> float:
        """The value of a share by what the router gave to the modules."""
        output = self.valuation.output
        return float(output["value_per_share"]) if output else 0.0

    @property
    def broken(self) -> tuple[str, ...]:
        """What was promised and is not so."""
        routed, *_, everything = self.valuation.contexts
        needed = len(self.valuation.needed)
        promised = {
            f"its payload has {routed.tokens:,} tokens, not under {MOST:,}": routed.tokens < MOST,
            f"everything has {everything.tokens:,} tokens, not over {LEAST:,}": everything.tokens
            > LEAST,
            f"it has {routed.found} of {needed} needed items": routed.found == needed,
            f"it has {len(routed.stray)} items that it does not need": not routed.stray,
            f"a share is worth {self.value:.2f}, not {self.known:.2f}": self.value == self.known,
        }
        return tuple(said for said, kept in promised.items() if not kept)

    def as_json(self) -> dict[str, Any]:
        """Return the figures as JSON has them."""
        return {
            "filings": {
                "company": self.company,
                "count": self.filings,
                "chunks": self.chunks,
                "tokens": self.tokens,
            },
            "tasks": [_task(one) for one in self.tasks],
            "strays": {way: dict(counts) for way, counts in self.kinds.items()},
            "payload": self.valuation.payload.to_dict(),
            "value_per_share": {"routed": self.value, "books": self.known},
            "broken": list(self.broken),
            "seconds": {stage: round(value, 3) for stage, value in self.seconds.items()},
        }


def _task(one: Compared) -> dict[str, Any]:
    return {
        "task": one.task,
        "budget": one.budget,
        "needed": sorted(one.needed),
        "ways": {
            context.way: {
                "tokens": context.tokens,
                "items": len(context.items),
                "found": context.found,
                "stray": len(context.stray),
            }
            for context in one.contexts
        },
        "output": one.output,
    }
