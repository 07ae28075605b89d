"""Rows of a batch: what `Log.write` changes, one class for each kind of change.

Times are integers, microseconds since 1970 UTC, or datetimes with a time zone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

Key: TypeAlias = Sequence[bytes | str]
"""The parts of a key; a text counts as its UTF-8."""

Moment: TypeAlias = int | datetime
"""Microseconds since 1970 UTC, or a datetime with a time zone."""

ColumnValue: TypeAlias = bool | int | float | str | datetime | None
"""A value of a column that is no list."""

Columns: TypeAlias = Mapping[str, ColumnValue | Sequence[ColumnValue]]
"""Named values beside a payload. Tuples come back as lists, datetimes in UTC."""

IfPresent: TypeAlias = Literal["replace", "skip", "fail"]
"""What a row does where there is something of its name already."""


@dataclass(frozen=True, slots=True)
class Put:
    """A new version of a cell.

    Args:
        key: The cell's key.
        payload: The bytes that come back.
        codec: Your name of the payload's encoding, 255 bytes at most.
        columns: Values to filter by, 64 KiB at most; see `Log.scan`.
        expires: From when on the cell counts as absent; None for never.
        ttl: The same, counted from the batch's `now`: seconds, or a timedelta.
        sources: Ids of records that it was made from: when one of them is erased, so is this.
        own: Bytes beside the payload, 1 MiB at most.
        if_present: What happens if the cell is there: "replace" it, "skip" this row, or "fail":
            nothing of the batch is written.
    """

    key: Key
    payload: bytes
    codec: str | None = field(default=None, kw_only=True)
    columns: Columns | None = field(default=None, kw_only=True)
    expires: Moment | None = field(default=None, kw_only=True)
    ttl: float | timedelta | None = field(default=None, kw_only=True)
    sources: Sequence[int] = field(default=(), kw_only=True)
    own: bytes = field(default=b"", kw_only=True)
    if_present: IfPresent = field(default="replace", kw_only=True)


@dataclass(frozen=True, slots=True)
class Add:
    """A new entry at the end of a list.

    Args:
        list: The list's key.
        payload: The bytes that come back.
        turn: What lies beside a message, a JSON object: then the entry is a message of the
            conversation that the key names, and this has its `key`, its time `at` in seconds, and
            the columns `meta`, in place of the arguments below.
        uid: Your own id of the entry, unique on the list's path, 1,024 bytes at most.
        codec: Your name of the payload's encoding, 255 bytes at most.
        columns: Values beside the payload, 64 KiB at most.
        expires: From when on the entry is not shown; None for never.
        ttl: The same, counted from the batch's `now`: seconds, or a timedelta.
        sources: Ids of records that it was made from: when one of them is erased, so is this.
        own: Bytes beside the payload, 1 MiB at most.
        if_present: What happens if an entry of that `uid` is there: "replace" removes that one,
            "skip" leaves this row out, "fail" writes nothing of the batch.
    """

    list: Key
    payload: bytes
    turn: bytes | None = field(default=None, kw_only=True)
    uid: bytes | str | None = field(default=None, kw_only=True)
    codec: str | None = field(default=None, kw_only=True)
    columns: Columns | None = field(default=None, kw_only=True)
    expires: Moment | None = field(default=None, kw_only=True)
    ttl: float | timedelta | None = field(default=None, kw_only=True)
    sources: Sequence[int] = field(default=(), kw_only=True)
    own: bytes = field(default=b"", kw_only=True)
    if_present: IfPresent = field(default="replace", kw_only=True)


@dataclass(frozen=True, slots=True)
class Patch:
    """Other columns and another expiry for a cell; its payload stays.

    Args:
        key: The cell's key.
        columns: All columns that it has from now on.
        version: The version that is meant; None for the newest one.
        expires: From when on the cell counts as absent; None for never.
        ttl: The same, counted from the batch's `now`: seconds, or a timedelta.
    """

    key: Key
    columns: Columns
    version: int | None = field(default=None, kw_only=True)
    expires: Moment | None = field(default=None, kw_only=True)
    ttl: float | timedelta | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class Cut:
    """The end of a list: what is added next follows this entry.

    What was behind it is removed, or, in a conversation, left on a path of its own.

    Args:
        list: The list's key.
        after: The id of the entry that becomes the last one; 0 empties the list.
    """

    list: Key
    after: int


@dataclass(frozen=True, slots=True)
class Remove:
    """The removal of a cell; it may be absent already.

    Args:
        key: The cell's key.
    """

    key: Key


@dataclass(frozen=True, slots=True)
class RemoveBelow:
    """The removal of every cell and every list whose key begins with a prefix.

    Args:
        prefix: The parts that the keys begin with.
    """

    prefix: Key


@dataclass(frozen=True, slots=True)
class RemoveExpired:
    """The removal of what has expired by the batch's `now`: of a cell, and of entries of a list.

    Args:
        key: The key of the cell, or of the list.
    """

    key: Key


@dataclass(frozen=True, slots=True)
class RemoveEntries:
    """The removal of entries of a list; those behind them follow those before.

    Args:
        list: The list's key.
        ids: The ids of the entries.
    """

    list: Key
    ids: Sequence[int]


Row: TypeAlias = Put | Add | Patch | Cut | Remove | RemoveBelow | RemoveExpired | RemoveEntries
"""One change of a batch."""
