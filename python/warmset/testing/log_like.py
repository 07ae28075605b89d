"""The interface of a log, as `check_log` uses it; `warmset.native.Log` is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from warmset.receipts import ErasureResult, RewriteResult
    from warmset.store.conditions import Condition
    from warmset.store.log import Order, Where
    from warmset.store.rows import Key, Moment, Row


class OutcomeLike(Protocol):
    """What became of a row; `warmset.native.Outcome` is one."""

    @property
    def status(self) -> str:
        """What became of it: "written", "present" or "nothing"."""
        ...

    @property
    def id(self) -> int | None:
        """The id of what was written or is present; None for nothing."""
        ...


class ListedLike(Protocol):
    """A cell without its payload; `warmset.native.Listed` is one."""

    @property
    def key(self) -> tuple[bytes, ...]:
        """The parts of the key."""
        ...

    @property
    def version(self) -> int:
        """The id of the newest version."""
        ...

    @property
    def at(self) -> int:
        """When that one was put, in microseconds since 1970 UTC."""
        ...

    @property
    def born(self) -> int:
        """The id of the first version since the cell was last absent."""
        ...

    @property
    def born_at(self) -> int:
        """When that one was put, in microseconds since 1970 UTC."""
        ...

    @property
    def expires(self) -> int | None:
        """From when on it counts as absent; None for never."""
        ...

    @property
    def columns(self) -> Mapping[str, Any]:
        """Its columns."""
        ...


class CellLike(ListedLike, Protocol):
    """The newest version of a cell; `warmset.native.Cell` is one."""

    @property
    def codec(self) -> str | None:
        """The caller's name of the payload's encoding."""
        ...

    @property
    def own(self) -> bytes:
        """The bytes beside the payload."""
        ...

    @property
    def payload(self) -> bytes:
        """The payload."""
        ...


class EntryLike(Protocol):
    """An entry of a list; `warmset.native.Entry` is one."""

    @property
    def id(self) -> int:
        """Its id, by which the entries of a list are in order."""
        ...

    @property
    def parent(self) -> int:
        """The id of the entry before it on its path; 0 for none."""
        ...

    @property
    def uid(self) -> bytes | None:
        """The caller's own id."""
        ...

    @property
    def at(self) -> int:
        """When it was added, in microseconds since 1970 UTC."""
        ...

    @property
    def expires(self) -> int | None:
        """From when on it is not shown; None for never."""
        ...

    @property
    def columns(self) -> Mapping[str, Any]:
        """Its columns."""
        ...

    @property
    def codec(self) -> str | None:
        """The caller's name of the payload's encoding."""
        ...

    @property
    def own(self) -> bytes:
        """The bytes beside the payload."""
        ...

    @property
    def payload(self) -> bytes:
        """The payload."""
        ...


class LogLike(Protocol):
    """The methods of a log that `check_log` calls; `warmset.native.Log` describes each."""

    def write(
        self,
        rows: Iterable[Row],
        *,
        expect: Iterable[Condition] = ...,
        now: Moment | None = ...,
        once: bytes | str | None = ...,
    ) -> Sequence[OutcomeLike]:
        """Write a batch, all of it or nothing."""
        ...

    def get(self, key: Key, *, now: Moment | None = ...) -> CellLike | None:
        """Return the newest version of a cell."""
        ...

    def version(self, key: Key, *, now: Moment | None = ...) -> int:
        """Return the id of the newest version of a cell; 0 if it is absent."""
        ...

    def tail(self, list: Key) -> int:  # noqa: A002 - the word of `Tail`
        """Return the id of the last entry of a list; 0 if it is empty."""
        ...

    def entries(
        self,
        list: Key,  # noqa: A002 - the word of `Add`
        *,
        after: int | None = ...,
        limit: int | None = ...,
        reverse: bool = ...,
        now: Moment | None = ...,
    ) -> Sequence[EntryLike]:
        """Return entries of a list, in order."""
        ...

    def scan(
        self,
        prefix: Key = ...,
        *,
        where: Where | None = ...,
        order: Order = ...,
        reverse: bool = ...,
        after: Any = ...,
        limit: int | None = ...,
        now: Moment | None = ...,
    ) -> Sequence[ListedLike]:
        """List cells; `after` is one that the log listed."""
        ...

    def count(
        self, prefix: Key = ..., *, where: Where | None = ..., now: Moment | None = ...
    ) -> int:
        """Count cells."""
        ...

    def spaces(
        self, prefix: Key = ..., *, depth: int, after: Key | None = ..., limit: int | None = ...
    ) -> Sequence[tuple[bytes, ...]]:
        """Return the different beginnings of keys."""
        ...

    def erase(self, *, prefix: Key | None = ..., ids: Sequence[int] | None = ...) -> ErasureResult:
        """Erase records and what was made from them."""
        ...

    def sweep(self, *, now: Moment | None = ...) -> int:
        """Remove what has expired."""
        ...

    def compact(self, *, now: Moment | None = ...) -> RewriteResult:
        """Free what nothing shows any more."""
        ...
