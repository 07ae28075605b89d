"""Entries of a conversation that are no messages, and reading messages by the caller's fields."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from warmset._core import turns_where
from warmset.errors import Conflict
from warmset.ingest.turn import id_of, read_turns
from warmset.store.records import ENTRY, dump, key_of
from warmset.store.rows import Add

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset._core import Entry
    from warmset.engine.engine import Engine
    from warmset.ingest.turn import Turn
    from warmset.state.ledger import Ledger
    from warmset.store.log import Where
    from warmset.store.rows import Columns

PAGE: Final = 1_000
"""Messages that are compared with a condition at once."""


def keep_entry(
    engine: Engine,
    ledger: Ledger,
    payload: bytes,
    *,
    key: str | bytes | None,
    codec: str | None,
    columns: Columns | None,
) -> int:
    """Store an entry that is no message; see `Conversation.keep`."""
    engine.must_write()
    whose = key_of(ledger.tenant, ledger.name)
    row = Add(whose, payload, uid=key, codec=codec, columns=columns, if_present="skip")
    try:
        with engine.lock:
            [outcome] = engine.write([row])
            id_ = outcome.id or 0
            if outcome.status == "present":
                there = engine.store.get(id_)
                if there.kind != ENTRY or there.payload != payload:
                    raise Conflict(0, tuple(whose), "present", id_)
        return id_
    finally:
        engine.notices.tell()


def read_entries(
    engine: Engine, ledger: Ledger, *, after: int | None, limit: int | None, reverse: bool
) -> list[Entry]:
    """Read all entries of the path; see `Conversation.entries`."""
    key = key_of(ledger.tenant, ledger.name)
    return engine.log.entries(key, after=after, limit=limit, reverse=reverse)


def newest_turns(
    engine: Engine,
    ledger: Ledger,
    *,
    limit: int | None,
    before: int | None,
    where: Where | None,
) -> list[Turn]:
    """Read the newest messages of a path for which a condition is true, in order.

    Args:
        engine: The store.
        ledger: The conversation.
        limit: The most messages; None for all.
        before: An id; only messages before it are read.
        where: The condition on the caller's fields; None for all messages.

    Raises:
        InvalidInputError: The condition is none.
        StoreError: A message could not be read.
    """
    with engine.lock:
        path = list(ledger.history.path)
        end = len(path) if before is None else bisect_left(path, id_of(before))
        if where is None:
            start = 0 if limit is None else max(end - limit, 0)
            return read_turns(engine, ledger, path[start:end])
        turns_where(where, [])  # a path without messages refuses what is no condition, too
        found: list[int] = []  # the newest first
        while end and (limit is None or len(found) < limit):
            page = path[max(end - PAGE, 0) : end][::-1]
            found += _passing(ledger, page, where)
            end -= len(page)
        return read_turns(engine, ledger, found[:limit][::-1])


def _passing(ledger: Ledger, ids: Sequence[int], where: Where) -> list[int]:
    """Return those messages for which a condition is true."""
    metas = [dump({"meta": ledger.entries[id_].extra}) for id_ in ids]
    return [id_ for id_, passes in zip(ids, turns_where(where, metas), strict=True) if passes]
