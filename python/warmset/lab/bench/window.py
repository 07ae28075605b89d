"""Cases of windows: a whole window, a search for turns, packing under a budget."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from warmset.embed import FunctionEmbedder
from warmset.lab.bench import material
from warmset.lab.bench.case import Case, Contest, expect
from warmset.memory import Memory
from warmset.native import pack_batch

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from warmset.conversation import Conversation
    from warmset.lab.bench.case import Call

    Problem: TypeAlias = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]

BUDGET: Final = 4_000
HITS: Final = 12
LOOP: Final = "loop in Python"
LISTS, ITEMS = 100, 500
_ASKED: Final = 500
_WAIT: Final = 600.0
"""Seconds until all vectors must be there."""


@contextmanager
def talk_of(n: int) -> Iterator[Conversation]:
    """Hold n turns in memory, with vectors of a function that costs next to nothing."""
    embedder = FunctionEmbedder(material.hashed, dim=material.DIM)
    with Memory.open(None, embedder=embedder) as memory:
        talk = memory.conversation("log")
        talk.append(material.conversation(n))
        expect(memory.flush(_WAIT), f"vectors of {n:,} turns within {_WAIT:.0f} seconds")
        yield talk


@contextmanager
def windows(n: int, _: Path, wanted: Collection[str] | None) -> Iterator[Contest]:
    """Make windows; each call asks something new, as earlier picks stand."""
    asked = material.texts(_ASKED)
    vectors = material.hashed(asked)
    with talk_of(n) as talk:
        contest = Contest(wanted)

        def ours(at: int) -> Any:
            question = f"{asked[at % _ASKED][:80]} {at}"
            return talk.window(question, query_vector=vectors[at % _ASKED], budget=BUDGET)

        def right() -> None:
            window = ours(_ASKED * 1_000)
            expect(0 < window.report.tokens_sent <= BUDGET, "tokens of warmset's window")
            expect(window.report.picked, "warmset's window quotes nothing")
            expect(window.messages[-1]["role"] == "user", "the end of warmset's window")

        contest.ours(ours)
        contest.check = right
        yield contest


@contextmanager
def searches(n: int, _: Path, wanted: Collection[str] | None) -> Iterator[Contest]:
    """Search turns by words and vectors."""
    asked = material.texts(_ASKED)
    vectors = material.hashed(asked)
    with talk_of(n) as talk:
        contest = Contest(wanted)

        def ours(at: int) -> Any:
            place = at % _ASKED
            return talk.search(asked[place][:80], query_vector=vectors[place], k=HITS)

        def right() -> None:
            found = ours(0)
            expect(len(found) == HITS, "the number of warmset's hits")
            scores = [one.score for one in found]
            expect(scores == sorted(scores, reverse=True), "the order of warmset's hits")

        contest.ours(ours)
        contest.check = right
        yield contest


def problem(lists: int, items: int) -> Problem:
    """Return offsets, costs, values in thousandths, so that there are ties, and budgets."""
    rng = np.random.default_rng(1)
    n = lists * items
    return (
        np.arange(0, n + 1, items),
        rng.integers(5, 400, n),
        np.round(rng.random(n), 3),
        rng.integers(1_000, 8_000, lists),
    )


def naive_pack(
    offsets: Sequence[int],
    costs: Sequence[int],
    values: Sequence[float],
    budgets: Sequence[int],
) -> tuple[list[int], list[int]]:
    """Choose greedily under each budget, as one writes it in Python."""
    chosen: list[int] = []
    ends = [0]
    for start, end, budget in zip(offsets[:-1], offsets[1:], budgets, strict=True):
        left, kept = budget, list[int]()
        for at in sorted(range(start, end), key=lambda at: (-values[at], at)):
            if costs[at] <= left:
                left -= costs[at]
                kept.append(at)
        chosen += sorted(kept)
        ends.append(len(chosen))
    return chosen, ends


@contextmanager
def packs(lists: int, items: int, _: Path, wanted: Collection[str] | None) -> Iterator[Contest]:
    """Choose under the budgets of many lists at once."""
    arrays = problem(lists, items)
    offsets, costs, values, budgets = (column.tolist() for column in arrays)
    contest = Contest(wanted)

    def loop() -> Call:
        return lambda _: naive_pack(offsets, costs, values, budgets)

    def right() -> None:
        chosen, ends = pack_batch(*arrays)
        best = naive_pack(offsets, costs, values, budgets)
        expect((chosen.tolist(), ends.tolist()) == best, "warmset's pack_batch")

    contest.ours(lambda _: pack_batch(*arrays))
    contest.peer(LOOP, loop)
    contest.check = right
    yield contest


def window(n: int, *, quick: bool = True) -> Case:
    """Return the case of windows of n turns."""
    return Case(
        name=f"window-{n // 1000}k",
        group="window",
        what=f"window() of {n:,} turns, {BUDGET:,} tokens",
        peers=(),
        open=partial(windows, n),
        quick=quick,
    )


def turns(n: int, *, quick: bool = True) -> Case:
    """Return the case of searches for turns among n."""
    return Case(
        name=f"turns-{n // 1000}k",
        group="window",
        what=f"search() of {n:,} turns, words and vectors",
        peers=(),
        open=partial(searches, n),
        quick=quick,
    )


def pack(lists: int, items: int, *, quick: bool = True) -> Case:
    """Return the case of packing lists of so many items each."""
    return Case(
        name="pack",
        group="window",
        what=f"{lists:,} lists of {items} packed under budgets",
        peers=(LOOP,),
        open=partial(packs, lists, items),
        quick=quick,
    )


CASES: Final = (
    window(2_000),
    window(10_000, quick=False),
    turns(2_000),
    turns(10_000, quick=False),
    pack(LISTS, ITEMS),
)
