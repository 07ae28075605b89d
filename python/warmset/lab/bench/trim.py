"""Cases of trimming: a list that nobody saw before, and a conversation that warmset holds."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from warmset.lab.bench import material
from warmset.lab.bench.case import Case, Contest, expect
from warmset.memory import Memory
from warmset.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from warmset.lab.bench.case import Call

Trimmer: TypeAlias = Callable[..., Any]
"""`trim_messages` of the adapter for langchain, which is no room below this one."""

LANGCHAIN: Final = "langchain-core"


def by_four(messages: Sequence[Any]) -> int:
    """Count langchain's messages at four characters a token, as its documentation has it."""
    return sum(len(one.content) // 4 for one in messages)


def by_four_of_dicts(messages: Sequence[Any]) -> int:
    """Count dicts in the same way."""
    return sum(len(one["content"]) // 4 for one in messages)


def longest(given: Sequence[dict[str, str]], budget: int) -> int:
    """Return how many messages of the end fit, added one by one."""
    fitting = 0
    for message in reversed(given):
        budget -= by_four_of_dicts([message])
        if budget < 0:
            break
        fitting += 1
    return fitting


def langchain(given: Sequence[dict[str, str]], budget: int) -> Call:
    """Return langchain-core's cut of the same messages, which is checked.

    Raises:
        ImportError: langchain-core is not installed.
    """
    peer = importlib.import_module("langchain_core.messages")
    kinds = {"user": peer.HumanMessage, "assistant": peer.AIMessage}
    messages = [kinds[one["role"]](one["content"]) for one in given]

    def call(_: int) -> Any:
        return peer.trim_messages(
            messages, strategy="last", token_counter=by_four, max_tokens=budget
        )

    kept = call(0)
    expect(kept == messages[len(given) - longest(given, budget) :], "langchain-core's cut")
    return call


@contextmanager
def first_seen(
    n: int, trimmer: Trimmer, _: Path, wanted: Collection[str] | None
) -> Iterator[Contest]:
    """Cut a list of dicts to half, counted by the same function in Python."""
    given = material.conversation(n)
    budget = by_four_of_dicts(given) // 2
    contest = Contest(wanted)

    def ours(_: int) -> Any:
        return trimmer(given, max_tokens=budget, token_counter=by_four_of_dicts)

    def right() -> None:
        kept = ours(0)
        best = given[n - longest(given, budget) :]
        same = len(kept) == len(best) and all(a is b for a, b in zip(kept, best, strict=True))
        expect(same, "warmset's trim_messages")

    contest.ours(ours)
    contest.peer(LANGCHAIN, lambda: langchain(given, budget))
    contest.check = right
    yield contest


@contextmanager
def held(n: int, _: Path, wanted: Collection[str] | None) -> Iterator[Contest]:
    """Cut a conversation that warmset holds, each time to a budget that was not asked for yet."""
    given = material.conversation(n)
    half = int(count_tokens(given)) // 2
    contest = Contest(wanted)
    with Memory.open(None, embedder="lexical") as memory:
        talk = memory.conversation("log")
        talk.append(given)

        def right() -> None:
            kept = talk.fit(budget=half - 1_001)
            tokens = int(count_tokens(kept.messages))
            expect(tokens == kept.tokens <= half - 1_001, "tokens of warmset's fit")
            newest = given[n + 1 - len(kept) :]
            expect(kept.messages == [given[0], *newest], "messages of warmset's fit")

        contest.ours(lambda at: talk.fit(budget=half - at % 1_000).messages)
        contest.peer(LANGCHAIN, lambda: langchain(given, by_four_of_dicts(given) // 2))
        contest.notes[LANGCHAIN] = "counts four characters a token, without a tokenizer"
        contest.check = right
        yield contest


def trim(n: int, trimmer: Trimmer, *, quick: bool = True) -> Case:
    """Return the case of a list of n messages; the trimmer is `warmset.trim_messages`."""
    return Case(
        name=f"trim-{n // 1000}k",
        group="trim",
        what=f"{n:,} messages cut to half, a list seen for the first time",
        peers=(LANGCHAIN,),
        open=partial(first_seen, n, trimmer),
        quick=quick,
    )


def fit_held(n: int, *, quick: bool = True) -> Case:
    """Return the case of a conversation of n messages."""
    return Case(
        name=f"fit-{n // 1000}k",
        group="trim",
        what=f"{n:,} messages cut to half, a conversation that warmset holds",
        peers=(LANGCHAIN,),
        open=partial(held, n),
        quick=quick,
    )


def cases(trimmer: Trimmer) -> tuple[Case, ...]:
    """Return the cases of trimming; the trimmer is `warmset.trim_messages`."""
    return (
        trim(2_000, trimmer),
        trim(10_000, trimmer, quick=False),
        fit_held(2_000),
        fit_held(10_000, quick=False),
    )
