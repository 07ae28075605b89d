"""What a log in memory holds, and what its rows say."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from warmset.errors import InvalidInputError
from warmset.store.rows import Add, Cut, Patch, Put, RemoveBelow, RemoveEntries
from warmset.testing.log_filter import as_columns
from warmset.testing.log_key import Parts, as_key, micros

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.native import Outcome
    from warmset.store.conditions import Condition
    from warmset.store.rows import Key, Moment, Row

Item: TypeAlias = "MemoryCell | MemoryEntry"
"""A version of a cell, or an entry of a list."""


@dataclass(frozen=True, slots=True)
class MemoryCell:
    """A version of a cell; see `warmset.native.Cell`."""

    key: Parts
    version: int
    at: int
    born: int
    born_at: int
    expires: int | None
    columns: dict[str, Any]
    codec: str | None
    own: bytes
    payload: bytes
    older: tuple[int, ...] = field(default=(), compare=False)
    """The versions that it superseded."""


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """An entry of a list; see `warmset.native.Entry`."""

    id: int
    parent: int
    uid: bytes | None
    at: int
    expires: int | None
    columns: dict[str, Any]
    codec: str | None
    own: bytes
    payload: bytes
    older: tuple[int, ...] = field(default=(), compare=False)
    """The entries of its uid that made way for it."""


@dataclass(slots=True)
class State:
    """All that a log holds. The values of the dictionaries never change."""

    last: int = 0
    cells: dict[Parts, MemoryCell] = field(default_factory=dict)
    paths: dict[Parts, tuple[MemoryEntry, ...]] = field(default_factory=dict)
    aside: dict[Parts, tuple[MemoryEntry, ...]] = field(default_factory=dict)
    """Entries of conversations that are not on the path."""
    sources: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """What each record was made from."""
    once: dict[tuple[Parts, bytes], tuple[Any, list[Outcome], int]] = field(default_factory=dict)

    def copy(self) -> State:
        """Return one that may change by itself."""
        return State(
            self.last,
            dict(self.cells),
            dict(self.paths),
            dict(self.aside),
            dict(self.sources),
            dict(self.once),
        )


def clock_of(now: Moment | None) -> int:
    """Return the clock of a call."""
    return time.time_ns() // 1_000 if now is None else micros(now)


def expiry_of(row: Put | Add | Patch, now: int) -> int | None:
    """Return when what a row says expires."""
    if row.ttl is None:
        return None if row.expires is None else micros(row.expires)
    ttl = row.ttl if isinstance(row.ttl, timedelta) else timedelta(seconds=row.ttl)
    if row.expires is not None or ttl <= timedelta(0):
        raise InvalidInputError("ttl: expected more than 0, and no `expires` beside it")
    return now + ttl // timedelta(microseconds=1)


def tail_of(state: State, key: Parts) -> int:
    """Return the id of the last entry of a list; 0 for none."""
    path = state.paths.get(key)
    return path[-1].id if path else 0


def is_space(key: Parts) -> bool:
    """Return whether a list is of no conversation."""
    return len(key) > 1 and key[1].startswith(b"\xff")


def id_of(one: Item) -> int:
    """Return the id of a version or an entry."""
    return one.version if isinstance(one, MemoryCell) else one.id


def name_of(once: bytes | str, rows: Sequence[Row], depth: int) -> tuple[Parts, bytes]:
    """Return whose the name of a batch is, and the name."""
    name = once.encode() if isinstance(once, str) else once
    if not isinstance(name, bytes) or not name or not rows:
        raise InvalidInputError("once: expected a name, and a batch with rows")
    first = rows[0]
    key = first.prefix if isinstance(first, RemoveBelow) else _key_of(first)
    return as_key(key)[: depth or 2], name


def _key_of(row: Row) -> Key:
    return row.list if isinstance(row, Add | Cut | RemoveEntries) else row.key  # type: ignore[union-attr]


def content_of(row: Row) -> Any:
    """Return what a row asks for, whenever it was made."""
    if isinstance(row, Put | Add | Patch):
        columns = as_columns(row.columns or {})
        row = replace(row, expires=None, ttl=None, columns=columns)
    said = {name: getattr(row, name) for name in row.__dataclass_fields__}
    for name, value in said.items():
        if name in {"key", "list", "prefix"}:
            said[name] = as_key(value)
        elif isinstance(value, tuple):
            said[name] = list(value)
        elif name == "uid" and isinstance(value, str):
            said[name] = value.encode()
    return type(row), said


def check_for_the_spool(
    rows: Sequence[Row], expect: Sequence[Condition], once: bytes | str | None, *, asked: bool
) -> None:
    """Refuse a batch that needs an answer, if it may be left in the spool."""
    needs = expect or once is not None
    for row in rows:
        needs = needs or not isinstance(row, Put | Add) or row.if_present == "fail"
    if asked and needs:
        raise InvalidInputError(
            "spool: expected puts and additions that replace or are left out, without expect and "
            "once, found a batch that needs an answer"
        )


def items_of(state: State) -> list[Item]:
    """Return what is in the log: cells, and entries on the path of a list or off it."""
    lists = (*state.paths.values(), *state.aside.values())
    return [*state.cells.values(), *(one for path in lists for one in path)]
