"""Takes messages off the end of a conversation: they stay on a branch, or are removed."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from warmset.errors import Conflict, InvalidInputError, NotFound
from warmset.ingest.turn import id_of, read_turns
from warmset.state.branches import ROOT
from warmset.store.conditions import Tail
from warmset.store.records import key_of
from warmset.store.rows import Cut, RemoveEntries

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.engine.engine import Engine
    from warmset.ingest.turn import Turn
    from warmset.state.ledger import Ledger
    from warmset.store.rows import Row

TRIES: Final = 100
"""How often a path is looked at anew because another process moved its end meanwhile."""

Copies: TypeAlias = "Callable[[Sequence[int]], Sequence[int]]"
"""Returns the ids of records to erase with some messages; called under the engine's lock."""


@dataclass(frozen=True, slots=True)
class _Leaving:
    """What leaves a path.

    Args:
        ids: The messages, in order.
        after: The entry that becomes the last one; None for the one before the first message.
    """

    ids: list[int]
    after: int | None


def pop_messages(
    engine: Engine, ledger: Ledger, count: object, copies: Copies | None
) -> list[Turn]:
    """Take the last messages off a conversation; see `Conversation.pop`.

    Args:
        engine: The store.
        ledger: The conversation.
        count: How many messages leave.
        copies: What is erased with them, if they are removed; None if they stay on a branch.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InvalidInputError(f"count: expected a number of messages from 1, found {count!r:.80}")
    return _shorten(engine, ledger, lambda path: _Leaving(list(path[-count:]), None), copies)


def truncate_messages(
    engine: Engine, ledger: Ledger, last: object, copies: Copies | None
) -> list[Turn]:
    """Take the messages behind one off a conversation; see `Conversation.truncate`.

    Args:
        engine: The store.
        ledger: The conversation.
        last: The id of the message that becomes the last one; None empties the conversation.
        copies: As for `pop_messages`.
    """
    name, id_ = ledger.name, ROOT if last is None else id_of(last)

    def leaving(path: Sequence[int]) -> _Leaving:
        if last is not None and id_ not in path:
            raise NotFound(f"conversation {name!r} has no message with id {id_} on its path")
        return _Leaving([one for one in path if one > id_], id_)

    return _shorten(engine, ledger, leaving, copies)


def _shorten(
    engine: Engine,
    ledger: Ledger,
    leaving: Callable[[Sequence[int]], _Leaving],
    copies: Copies | None,
) -> list[Turn]:
    engine.must_write()
    try:
        for _ in range(TRIES - 1):
            try:
                return _shorten_once(engine, ledger, leaving, copies)
            except Conflict:
                continue
        return _shorten_once(engine, ledger, leaving, copies)
    finally:
        engine.notices.tell()


def _shorten_once(
    engine: Engine,
    ledger: Ledger,
    leaving: Callable[[Sequence[int]], _Leaving],
    copies: Copies | None,
) -> list[Turn]:
    """Take what leaves off the path as it is now.

    Raises:
        Conflict: Another process moved the path's end meanwhile; nothing changed but that copies of
            what was to be removed are erased.
    """
    key = key_of(ledger.tenant, ledger.name)
    # In this order, as `Engine.erase`.
    erasing = nullcontext() if copies is None else engine.index.erasing()
    paused = nullcontext() if copies is None else engine.paused()
    with erasing, paused, engine.lock:
        tail = engine.log.tail(key)  # before the path is read: whoever moves it then is noticed
        engine.follow_all()
        ledger = engine.ledger(ledger.tenant, ledger.name)
        found = leaving(ledger.history.path)
        after = found.after
        if after is None:
            if not found.ids:
                return []
            before = engine.log.entries(key, after=found.ids[0], limit=1, reverse=True)
            after = before[0].id if before else 0
        turns = read_turns(engine, ledger, found.ids)
        rows: list[Row] = [Cut(key, after)]
        if copies is not None:
            behind = engine.log.entries(key, after=after, limit=None)
            if behind:
                rows.append(RemoveEntries(key, [entry.id for entry in behind]))
            if (gone := copies(found.ids)) and engine.log.tail(key) == tail:
                engine.store.erase(records=gone)  # before what tells that they are copies
        engine.write(rows, expect=[Tail(key, tail)])
        for turn in turns:
            turn.live = False
        return turns
