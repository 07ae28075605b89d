"""The figures of the cost table: every session in every mode, at several prices of a read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError
from warmset.lab.cost.play import MODEL, Played, play
from warmset.lab.cost.workloads import SEED, sweep, workloads
from warmset.money import PRICES
from warmset.options import MODES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from warmset.lab.corpus.stage import Progress
    from warmset.lab.cost.workload import Workload
    from warmset.money import Prices

BUDGET: Final = 32_000
READS: Final = (0.1, 0.05, 0.025)
"""Prices of a cached read, relative to a fresh token."""

COMPACTED: Final = "steady with provider compaction"
"""The row of mode "steady" whose lists the provider compacts."""

_BY_PRICE: Final = ("auto",)
"""Modes that decide by the prices, so that they are played once for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostOptions:
    """What to measure.

    Args:
        budget: The most tokens of a list; "full" has none.
        quick: Whether to play sessions a tenth as long.
        as_json: Print one JSON object instead of tables.
    """

    budget: int = BUDGET
    quick: bool = False
    as_json: bool = False

    def __post_init__(self) -> None:
        if self.budget < 1:
            raise InvalidInputError(f"budget: expected at least 1, found {self.budget}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A session in one mode.

    Args:
        mode: The mode, or `COMPACTED`.
        played: What it came to at each price of a read; one object for all in a mode that does not
            look at prices.
        money: What it cost at each price, in USD, output included.
    """

    mode: str
    played: Sequence[Played]
    money: Sequence[float]

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values; figures other than money are those of the first price."""
        first = self.played[0]
        names = ("fresh", "cached", "written", "output")
        rest = (
            "asked",
            "found",
            "kept",
            "possible",
            "since_kept",
            "since_possible",
            "invalid",
            "waits",
            "refused",
        )
        return {
            "mode": self.mode,
            "calls": len(first.calls),
            "compactions": len(first.compactions),
            **{name: first.tokens(at) for at, name in enumerate(names)},
            "money": {str(read): usd for read, usd in zip(READS, self.money, strict=True)},
            **{name: getattr(first, name) for name in rest},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session in every mode.

    Args:
        name: What it is.
        calls: How many calls it has.
        rows: The modes.
    """

    name: str
    calls: int
    rows: Sequence[Row]

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        rows = [row.as_json() for row in self.rows]
        return {"name": self.name, "calls": self.calls, "modes": rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class CostTable:
    """The whole table.

    Args:
        budget: The most tokens of a list.
        quick: Whether the sessions are a tenth as long.
        sessions: The four sessions.
        sweep: The first agent with calls of other lengths.
    """

    budget: int
    quick: bool
    sessions: Sequence[Session]
    sweep: Sequence[Session]

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "budget": self.budget,
            "quick": self.quick,
            "seed": SEED,
            "model": MODEL,
            "sessions": [one.as_json() for one in self.sessions],
            "sweep": [one.as_json() for one in self.sweep],
        }


def modes() -> tuple[str, ...]:
    """Return the modes of windows, "full" and "recency" first."""
    return ("full", "recency", *(mode for mode in MODES if mode not in ("full", "recency")))


def rows_of_table() -> tuple[str, ...]:
    """Return the rows of a session: the modes, and `COMPACTED` behind "steady"."""
    made: list[str] = []
    for mode in modes():
        made += [mode, COMPACTED] if mode == "steady" else [mode]
    return tuple(made)


def rates() -> list[Prices]:
    """Return the model's prices with each price of a read."""
    known = PRICES[MODEL]
    return [replace(known, cache_read=known.fresh * read) for read in READS]


def cost_table(options: CostOptions, progress: Progress) -> CostTable:
    """Play every session in every mode.

    Args:
        options: What to measure.
        progress: Called after each call.
    """
    main, others = workloads(quick=options.quick), sweep(quick=options.quick)
    runs = len(rows_of_table()) + (len(READS) - 1) * len(_BY_PRICE)
    total = runs * sum(len(one.steps) for one in (*main, *others))
    done = iter(range(1, total + 1))

    def step() -> None:
        progress("play", next(done), total)

    def session(workload: Workload) -> Session:
        def rows() -> Iterator[Row]:
            for name in rows_of_table():
                every = rates() if name in _BY_PRICE else rates()[:1]
                played = [
                    play(
                        workload,
                        "steady" if name == COMPACTED else name,
                        budget=options.budget,
                        prices=prices,
                        compacts=name == COMPACTED,
                        progress=step,
                    )
                    for prices in every
                ]
                played *= len(READS) // len(played)
                money = [one.money(at) for one, at in zip(played, rates(), strict=True)]
                yield Row(mode=name, played=played, money=money)

        return Session(name=workload.name, calls=len(workload.steps), rows=tuple(rows()))

    return CostTable(
        budget=options.budget,
        quick=options.quick,
        sessions=[session(one) for one in main],
        sweep=[session(one) for one in others],
    )
