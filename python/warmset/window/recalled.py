"""Memories that a request asks for, and turns of the tenant's other conversations.

They are found like turns, by words and vector, and compete with them for the budget under a share
of their own. What the window says already is not said again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from warmset._support.log import event, kind, room
from warmset.errors import Erased, NotFound
from warmset.items.index import item_index
from warmset.items.item import spoken
from warmset.options import MIN_MATCH, RANKED, least_score
from warmset.window.memos import Memo, fitting, memory_memo, turn_memo

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from warmset.embed import Vectors
    from warmset.engine.engine import Engine
    from warmset.messages import Dialect
    from warmset.retrieve.searcher import Searcher
    from warmset.state.ledger import Ledger
    from warmset.store.derived import Made
    from warmset.window.request import Ask, Request
    from warmset.window.result import MemoryChoice

LOG: Final = room("window")

MOST: Final = 64
"""The most memories, and the most turns, that are looked at for a window."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for besides the conversation's own turns.

    Args:
        good: Those that are good enough, best first.
        rest: Others that match the request, best first.
        note: Why memories were found by words alone; None if they were not.
    """

    good: tuple[Memo, ...] = ()
    rest: tuple[Memo, ...] = ()
    note: str | None = None

    def without(self, ids: Iterable[int]) -> Asked:
        """Leave some out, as those that are pinned."""
        out = frozenset(ids)
        good = (one for one in self.good if one.id not in out)
        return Asked(tuple(good), tuple(one for one in self.rest if one.id not in out), self.note)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a window quotes of that.

    Args:
        shown: The memories, best first.
        left: Why others are not shown.
    """

    shown: tuple[Memo, ...] = ()
    left: tuple[MemoryChoice, ...] = field(default=())

    def without(self, ids: Collection[int]) -> Chosen:
        """Leave out what the window says in another place."""
        out = [one for one in self.shown if one.id in ids]
        return Chosen(
            tuple(one for one in self.shown if one.id not in ids),
            (*(one.choice("already_in_window", shown=False) for one in out), *self.left),
        )


def asked_for(
    engine: Engine, searcher: Searcher, ledger: Ledger, ask: Ask, request: Request
) -> Asked:
    """Search what a request asks for; not under the engine's lock.

    Args:
        engine: The store.
        searcher: Searches the other conversations.
        ledger: The conversation.
        ask: The arguments of the window.
        request: The request.
    """
    options = ask.options
    if not options.memories or not request.text.strip():
        return Asked()
    good, rest, note = _memories(engine, searcher, ledger, ask, request)
    if options.scope == "tenant":
        turns, others = _turns(engine, searcher, ledger, ask, request)
        good, rest = [*good, *turns], [*rest, *others]
    good.sort(key=lambda one: (-(one.score or 0.0), one.id))
    rest.sort(key=lambda one: (-(one.score or 0.0), one.id))
    return Asked(tuple(good), tuple(rest[: options.shortlist]), note)


def choose(
    engine: Engine,
    dialect: Dialect,
    asked: Asked,
    *,
    shown: Collection[int],
    said: Iterable[str],
    most: int,
) -> Chosen:
    """Choose what a window quotes.

    Args:
        engine: Reads the texts of shown messages.
        dialect: The dialect of the message that quotes it.
        asked: What the request asks for.
        shown: Ids of messages and memories that the window shows.
        said: The texts that it shows; they are read only if there is anything to compare.
        most: The most tokens of the message.
    """
    fresh, left = list[Memo](), [one.choice("below_cut", shown=False) for one in asked.rest]
    there = "".join(spoken(text) for text in said) if asked.good else ""
    for one in asked.good:
        known = one.id in shown or (one.sources and all(id_ in shown for id_ in one.sources))
        if known or one.said in there or any(one.said in other.said for other in fresh):
            left.append(one.choice("already_in_window", shown=False))
        else:
            fresh.append(one)
    fits, others = fitting(engine, dialect, fresh, most, pinned=False)
    out = (one.choice("over_share", shown=False) for one in others)
    return Chosen(tuple(fits), (*out, *left))


def texts_of(engine: Engine, ids: Iterable[int]) -> Iterable[str]:
    """Return the texts of messages, read one by one, without those that are gone."""
    for id_ in ids:
        try:
            yield engine.text(id_)
        except (Erased, NotFound):
            continue


def repeated(memos: Sequence[Memo], texts: Iterable[str], shown: Collection[int]) -> set[int]:
    """Return the ids of memories that texts say as well, or that were made from what is shown."""
    if not memos:
        return set()
    there = "".join(map(spoken, texts))
    return {
        one.id
        for one in memos
        if one.said in there or (one.sources and all(id_ in shown for id_ in one.sources))
    }


def _memories(
    engine: Engine, searcher: Searcher, ledger: Ledger, ask: Ask, request: Request
) -> tuple[list[Memo], list[Memo], str | None]:
    with engine.lock:
        none = not engine.derived.version("distilled", ledger.tenant)
    if none:
        return [], [], None
    options, weights = ask.options, (searcher.weights.dense, searcher.weights.lexical)
    index = item_index(engine, ledger.tenant, None)
    _, vector = searcher.question(
        ledger, request.text, query_vector=options.query_vector, wait=options.wait
    )
    note = None

    def ranked(vector: Vectors | None) -> list[tuple[Made, str, float]]:
        with index.lock:
            found = index.ranked(ledger.name, request.text, vector, weights, MOST)
            return [(one, index.text(one.id), score) for one, score in found]

    try:
        made = ranked(vector)
    except Exception as error:  # noqa: BLE001 - whatever an embedder raises, words are there
        event(LOG, logging.WARNING, "fell_back", what="memories", to="words", why=kind(error))
        note = f"memories were searched by words alone: {error}"
        vector, made = None, ranked(None)
    listed = [memory_memo(engine, one, text, score) for one, text, score in made]
    least = least_score([score for _, _, score in made])
    if vector is not None:
        least = max(least, MIN_MATCH * weights[0])
    good = [one for one in listed if (one.score or 0.0) >= least]
    return good, listed[len(good) :], note


def _turns(
    engine: Engine, searcher: Searcher, ledger: Ledger, ask: Ask, request: Request
) -> tuple[list[Memo], list[Memo]]:
    """Return turns of the tenant's other conversations: those that are good enough, and others."""
    options = ask.options
    found = searcher.elsewhere(
        ledger,
        request.text,
        query_vector=options.query_vector,
        k=max(options.shortlist, RANKED),
        wait=options.wait,
    )
    least = least_score(found.scores)
    if found.by == "fused" and not found.matches(searcher.weights):
        least = float("inf")
    good, rest = list[Memo](), list[Memo]()
    for id_, score in zip(found.ids[:MOST], found.scores[:MOST], strict=True):
        try:
            memo = turn_memo(engine, id_, score)
        except (Erased, NotFound):  # meanwhile
            continue
        if memo is not None:
            (good if score >= least else rest).append(memo)
    return good, rest


def kept(memos: Iterable[Memo]) -> Chosen:
    """Return what an earlier window of the exchange quoted, as far as it is still there."""
    return Chosen(tuple(replace(one, score=None) for one in memos))
