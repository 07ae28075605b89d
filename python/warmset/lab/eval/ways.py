"""The ways to choose that are compared: warmset's retriever, parts of it, and the controls.

warmset's retriever, and parts of it, make their windows with `Conversation.window`. The controls
quote turns in the same form by a ranking of their own, without the task that a window of warmset
always shows: "bm25" and "dense" are plain, the question as it is asked and one signal; "recency"
takes the newest turns, "random" any. "full" quotes every turn and "oracle" just the evidence: what
they cost is what they cost.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from warmset.errors import InvalidInputError
from warmset.lab.corpus.plain import PlainDense, plain_words
from warmset.lab.corpus.shown import shown, text_of
from warmset.lab.eval.plugins import load
from warmset.lab.eval.quoting import Shown
from warmset.options import Weights
from warmset.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from warmset.conversation import Conversation
    from warmset.lab.corpus.stage import Stage
    from warmset.lab.corpus.transcript import Question
    from warmset.lab.eval.quoting import Quoting
    from warmset.window.result import Window

    Rank: TypeAlias = Callable[[Question, int], Sequence[int]]
    Fill: TypeAlias = Callable[[Question, int], Shown]

SEED: Final = 20_240_811
"""What the random control begins with."""

ABLATIONS: Final = {
    "no-dense": Weights(dense=0.0),
    "no-lexical": Weights(lexical=0.0),
    "no-speaker": Weights(speaker=0.0),
    "no-date": Weights(date=0.0, when=0.0, number=0.0),
    "no-questions": Weights(asking=0.0, reply=0.0),
    "no-near": Weights(near=0.0),
    "no-session": Weights(session=0.0),
}
"""Retrievers that lack one signal of the default, or one sort of signals."""

CONTROLS: Final = ("full", "oracle", "recency", "random", "bm25", "dense")


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to choose.

    Args:
        name: What it is called.
        rank: Returns the ids of the best k turns for a question, the best first.
        fill: Makes a window for a question within a budget, which the question is not part of.
        budgeted: Whether it keeps to budgets.
        usual: Makes the window that warmset makes by default, recent turns and index included;
            None for a control.
    """

    name: str
    rank: Rank
    fill: Fill
    budgeted: bool = True
    usual: Fill | None = None


def check(names: Sequence[str]) -> None:
    """Make sure that retrievers can be had, before anything is read.

    Raises:
        InvalidInputError: A name is not known, or the callable cannot be imported.
    """
    for name in names:
        if ":" in name:
            load(name)
        elif name not in {"default", *ABLATIONS, *CONTROLS}:
            known = ", ".join(("default", *ABLATIONS, *CONTROLS))
            raise InvalidInputError(
                f"retriever: expected one of {known}, or module:callable, found {name!r}"
            )


def ways(on: Stage, quoting: Quoting, names: Sequence[str]) -> Iterator[Way]:
    """Return the ways to choose on one conversation: the default, those named, the controls.

    Args:
        on: The conversation.
        quoting: Quotes its turns.
        names: Further retrievers, checked.

    Yields:
        The ways, each once; "dense" only where there are vectors.
    """
    yield _retriever("default", on.conversation)
    for name in dict.fromkeys(names):
        if name in ABLATIONS:
            memory = on.another(ABLATIONS[name])
            yield _retriever(name, memory.conversation(on.conversation.id))
        elif ":" in name:
            yield _ranking(on, quoting, name, _given(on, name))
    yield from _unbudgeted(on, quoting)
    yield _ranking(on, quoting, "recency", lambda _question, _k: on.ids[::-1])
    yield _ranking(on, quoting, "random", lambda question, _k: _shuffled(on, question))
    yield _ranking(on, quoting, "bm25", lambda question, _k: plain_words(on, question.text))
    if on.embedder is not None:
        plain = PlainDense(on.embedder, ((id_, text_of(on.conversation, id_)) for id_ in on.ids))
        yield _ranking(on, quoting, "dense", lambda question, _k: plain.rank(question.text))


def cost_of(question: str) -> int:
    """Return what a question costs, sent alone."""
    return count_tokens([{"role": "user", "content": question}])


def _retriever(name: str, one: Conversation) -> Way:
    def rank(question: Question, k: int) -> list[int]:
        return [hit.id for hit in one.search(question.text, k=k)]

    def there(question: Question, window: Window) -> Shown:
        return Shown(shown(one, window), window.tokens - cost_of(question.text))

    def bare(question: Question, budget: int) -> Shown:
        allowed = budget + cost_of(question.text)
        return there(question, one.window(question.text, budget=allowed, recent=0, index_share=0))

    def usual(question: Question, budget: int) -> Shown:
        allowed = budget + cost_of(question.text)
        return there(question, one.window(question.text, budget=allowed))

    return Way(name=name, rank=rank, fill=bare, usual=usual)


def _ranking(on: Stage, quoting: Quoting, name: str, rank: Rank) -> Way:
    last: dict[Question, Sequence[int]] = {}

    def order(question: Question, _k: int) -> Sequence[int]:
        if question not in last:
            last.clear()
            last[question] = rank(question, len(on.ids))
        return last[question]

    def fill(question: Question, budget: int) -> Shown:
        return quoting.within(order(question, 0), budget)

    return Way(name=name, rank=order, fill=fill)


def _unbudgeted(on: Stage, quoting: Quoting) -> Iterator[Way]:
    def evidence(question: Question) -> list[int]:
        return [on.ids[place] for place in question.evidence]

    yield Way(
        name="full",
        rank=lambda _question, _k: on.ids,
        fill=lambda _question, _budget: quoting.everything,
        budgeted=False,
    )
    yield Way(
        name="oracle",
        rank=lambda question, _k: evidence(question),
        fill=lambda question, _budget: quoting.all(evidence(question)),
        budgeted=False,
    )


def _shuffled(on: Stage, question: Question) -> list[int]:
    seed = f"{on.conversation.id}\n{question.name}\n{question.text}".encode("utf-8", "replace")
    order = np.random.default_rng([SEED, zlib.crc32(seed)]).permutation(len(on.ids))
    return [on.ids[at] for at in order.tolist()]


def _given(on: Stage, spec: str) -> Rank:
    call, ours = load(spec), set(on.ids)

    def rank(question: Question, k: int) -> list[int]:
        answer: object = call(on.conversation, question.text, k)
        ids = list(answer) if isinstance(answer, (list, tuple)) else None
        if ids is None or not ours.issuperset(ids):
            raise InvalidInputError(
                f"{spec}: expected a list of ids of the conversation, found {answer!r:.80}"
            )
        return list(dict.fromkeys(ids))

    return rank
