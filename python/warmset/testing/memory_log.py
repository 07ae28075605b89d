"""A log in memory: a model of `warmset.native.Log`, so plain that it can be checked by reading."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from warmset.errors import Conflict, InvalidInputError, NotFound
from warmset.receipts import ErasureResult, RewriteResult
from warmset.store.conditions import Tail, Version
from warmset.store.rows import (
    Add,
    Cut,
    Patch,
    Put,
    Remove,
    RemoveBelow,
    RemoveEntries,
    RemoveExpired,
)
from warmset.testing.log_filter import as_columns, passes
from warmset.testing.log_key import Parts, as_id, as_key, is_below
from warmset.testing.memory_state import (
    Item,
    MemoryCell,
    MemoryEntry,
    State,
    check_for_the_spool,
    clock_of,
    content_of,
    expiry_of,
    id_of,
    is_space,
    items_of,
    name_of,
    tail_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from warmset.native import Outcome
    from warmset.store.conditions import Condition
    from warmset.store.log import Order, Where
    from warmset.store.rows import Key, Moment, Row

_DAY = 24 * 60 * 60 * 1_000_000


@dataclass(slots=True)
class _Held:
    """What the handles of one log share."""

    state: State = field(default_factory=State)
    lock: threading.RLock = field(default_factory=threading.RLock)


class MemoryLog:
    """A log in memory, for tests; it has the methods of `warmset.native.Log`, but `follow`.

    It may be shared by threads. Nothing is durable, and each call may take as long as the log is
    big. Handles on one log share a `State` and its lock: `MemoryLog(like=log)` is another handle.

    Args:
        like: A log whose content is shared; a log of its own without.
    """

    def __init__(self, like: MemoryLog | None = None) -> None:
        self._held: _Held = _Held() if like is None else like._held  # noqa: SLF001 - its own class

    @property
    def _state(self) -> State:
        return self._held.state

    # --- writing ----------------------------------------------------------------------------------

    def write(
        self,
        rows: Iterable[Row],
        *,
        expect: Iterable[Condition] = (),
        now: Moment | None = None,
        depth: int = 0,
        once: bytes | str | None = None,
        sync: bool = True,
        spool: bool = False,
    ) -> list[Outcome]:
        """Write a batch, all of it or nothing; see `Log.write`. Its lock is never busy for long."""
        del sync
        rows, expect, clock = list(rows), list(expect), clock_of(now)
        check_for_the_spool(rows, expect, once, asked=spool)
        for row in rows:
            self._check(row, clock)
        with self._held.lock:
            state = self._state.copy()
            name = None if once is None else name_of(once, rows, depth)
            if name is not None and (known := self._known(state, name, clock)):
                if known[0] != [content_of(row) for row in rows]:
                    raise Conflict(None, name[0], "once", None)
                return list(known[1])
            for condition in expect:
                self._judge(state, condition, clock)
            outcomes = [self._row(state, at, row, clock) for at, row in enumerate(rows)]
            if name is not None:
                content = [content_of(row) for row in rows]
                state.once[name] = (content, list(outcomes), clock + _DAY)
            self._commit(state)
        return outcomes

    def erase(
        self, *, prefix: Key | None = None, ids: Sequence[int] | None = None
    ) -> ErasureResult:
        """Erase records and what was made from them; see `Log.erase`."""
        if (prefix is None) == (ids is None) or not (prefix or ids):
            raise InvalidInputError("erase: expected either prefix or ids")
        with self._held.lock:
            state = self._state.copy()
            if prefix is None:
                start = {as_id(id_) for id_ in ids or ()} & set(state.sources)
            else:
                below = as_key(prefix)
                start = self._records_below(state, below)
                for name in [name for name in state.once if is_below(name[0], below)]:
                    del state.once[name]
            gone = self._erased_with(state, start)
            self._drop(state, gone)
            self._commit(state)
        return ErasureResult(len(start), len(gone) - len(start), 0)

    def sweep(self, *, now: Moment | None = None) -> int:
        """Remove what has expired; see `Log.sweep`."""
        clock = clock_of(now)
        with self._held.lock:
            state = self._state.copy()
            keys = {**state.cells, **state.paths}
            count = sum(self._expire(state, key, clock) is not None for key in keys)
            self._commit(state)
        return count

    def compact(self, *, now: Moment | None = None) -> RewriteResult:
        """Remove what has expired; there is nothing else to free."""
        self.sweep(now=now)
        return RewriteResult(0, 0, 0)

    def _commit(self, state: State) -> None:
        """Make a state the one that is shown: a batch's last step."""
        self._held.state = state

    def _known(self, state: State, name: tuple[Parts, bytes], now: int) -> Any:
        """Return what is remembered of a batch by that name."""
        known = state.once.get(name)
        return known if known is not None and known[2] > now else None

    def _judge(self, state: State, condition: Condition, now: int) -> None:
        """Raise `Conflict` unless a condition holds."""
        if isinstance(condition, Version):
            key, reason = as_key(condition.key), "version"
            there = self._live(state, key, now)
            found = there.version if there else 0
        elif isinstance(condition, Tail):
            key, reason = as_key(condition.list), "tail"
            found = tail_of(state, key)
        else:
            raise InvalidInputError(f"expect: expected Version or Tail, found {condition!r:.80}")
        if found != as_id(condition.id):
            raise Conflict(None, key, reason, found or None)

    # --- rows -------------------------------------------------------------------------------------

    def _check(self, row: Row, now: int) -> None:
        """Refuse a row that is none."""
        match row:
            case Put(key=key) | Add(list=key):
                as_columns(row.columns or {})
                expiry_of(row, now)
                good = row.if_present in {"replace", "skip", "fail"}
                if not good or not isinstance(row.payload, bytes) or not isinstance(row.own, bytes):
                    raise InvalidInputError(f"rows: expected a row, found {row!r:.80}")
            case Patch(key=key):
                as_columns(row.columns)
                expiry_of(row, now)
            case RemoveBelow(prefix=key) | RemoveExpired(key=key) | Remove(key=key):
                pass
            case Cut(list=key) | RemoveEntries(list=key):
                pass
            case _:
                raise InvalidInputError(f"rows: expected a row, found {row!r:.80}")
        as_key(key)

    def _row(self, state: State, at: int, row: Row, now: int) -> Outcome:
        """Apply a row, and return what became of it."""
        from warmset.native import Outcome  # noqa: PLC0415 - it loads the core

        id_: int | None
        status: Any = "written"
        match row:
            case Put():
                status, id_ = self._put(state, at, row, now)
            case Add():
                status, id_ = self._add(state, at, row, now)
            case Patch():
                id_ = self._patch(state, at, row, now)
            case Cut():
                id_ = self._cut(state, at, row)
            case RemoveExpired(key=key):
                id_ = self._expire(state, as_key(key), now)
            case Remove(key=key):
                there = state.cells.get(as_key(key))
                gone = {there.version, *there.older} if there else set()
                id_ = self._remove(state, gone)
            case RemoveBelow(prefix=prefix):
                below = self._records_below(state, as_key(prefix))
                id_ = self._remove(state, below)
            case RemoveEntries(list=list_, ids=ids):
                key, wanted = as_key(list_), {as_id(id_) for id_ in ids}
                gone = self._with_older(state, key, wanted.__contains__)
                id_ = self._remove(state, gone)
        return Outcome(status, id_) if id_ is not None else Outcome("nothing")

    def _put(self, state: State, at: int, row: Put, now: int) -> tuple[Any, int]:
        key = as_key(row.key)
        live, any_ = self._live(state, key, now), state.cells.get(key)
        if live and row.if_present == "skip":
            return "present", live.version
        if live and row.if_present == "fail":
            raise Conflict(at, key, "present", live.version)
        id_ = self._next(state, row.sources)
        state.cells[key] = MemoryCell(
            key=key,
            version=id_,
            at=now,
            born=live.born if live else id_,
            born_at=live.born_at if live else max(now, 0),
            expires=expiry_of(row, now),
            columns=as_columns(row.columns or {}),
            codec=row.codec,
            own=row.own,
            payload=row.payload,
            older=(*any_.older, any_.version) if any_ else (),
        )
        return "written", id_

    def _add(self, state: State, at: int, row: Add, now: int) -> tuple[Any, int]:
        key, path = as_key(row.list), state.paths.get(as_key(row.list), ())
        uid = row.uid.encode() if isinstance(row.uid, str) else row.uid
        there = self._named(path, uid)
        if there and row.if_present == "skip":
            return "present", there.id
        if there and row.if_present == "fail":
            raise Conflict(at, key, "present", there.id)
        id_ = self._next(state, row.sources)
        entry = MemoryEntry(
            id=id_,
            parent=0,
            uid=uid,
            at=now,
            expires=expiry_of(row, now),
            columns=as_columns(row.columns or {}),
            codec=row.codec,
            own=row.own,
            payload=row.payload,
            older=(*there.older, there.id) if there else (),
        )
        state.paths[key] = (*(one for one in path if one is not there), entry)
        return "written", id_

    def _named(self, path: Sequence[MemoryEntry], uid: bytes | None) -> MemoryEntry | None:
        """Return the entry of a uid on a path; one that has expired keeps its uid."""
        return next((one for one in path if uid is not None and one.uid == uid), None)

    def _patch(self, state: State, at: int, row: Patch, now: int) -> int:
        key = as_key(row.key)
        there = self._live(state, key, now)
        if there is None:
            raise NotFound("a Patch names a cell that is not there or has expired")
        if row.version is not None and row.version != there.version:
            raise Conflict(at, key, "version", there.version)
        columns, expires = as_columns(row.columns), expiry_of(row, now)
        state.cells[key] = replace(there, columns=columns, expires=expires)
        state.last += 1
        return state.last

    def _cut(self, state: State, at: int, row: Cut) -> int | None:
        key, after = as_key(row.list), as_id(row.after)
        path = state.paths.get(key, ())
        if after and all(one.id != after for one in path):
            raise Conflict(at, key, "tail", tail_of(state, key) or None)
        behind = tuple(one for one in path if one.id > after)
        if not behind:
            return None
        if is_space(key):
            return self._remove(state, {id_ for one in behind for id_ in (one.id, *one.older)})
        state.paths[key] = path[: len(path) - len(behind)]
        state.aside[key] = (*state.aside.get(key, ()), *behind)
        state.last += 1
        return state.last

    def _expire(self, state: State, key: Parts, now: int) -> int | None:
        """Remove what has expired under a key; None if there is nothing."""
        there, found = state.cells.get(key), None
        if there and not self._is_live(there, now):
            found = self._remove(state, {there.version, *there.older})
        expired = {one.id for one in state.paths.get(key, ()) if not self._is_live(one, now)}
        gone = self._with_older(state, key, expired.__contains__)
        return self._remove(state, gone) or found

    def _next(self, state: State, sources: Sequence[int]) -> int:
        state.last += 1
        state.sources[state.last] = tuple(as_id(id_) for id_ in sources)
        return state.last

    # --- what goes with what ----------------------------------------------------------------------

    def _remove(self, state: State, gone: set[int]) -> int | None:
        """Remove records with what was made from them; None if there are none."""
        if not gone:
            return None
        state.last += 1
        made = self._made_from(state, gone)
        older: set[int] = set()
        for one in items_of(state):
            if id_of(one) in made:
                older.update(one.older)
        self._drop(state, gone | made | older)
        return state.last

    def _made_from(self, state: State, gone: set[int]) -> set[int]:
        """Return all that was made from records, and what was made from that."""
        out: set[int] = set()
        while more := {
            id_
            for id_, sources in state.sources.items()
            if id_ not in out and not (gone | out).isdisjoint(sources)
        }:
            out |= more
        return out - gone

    def _erased_with(self, state: State, start: set[int]) -> set[int]:
        """Return records with what was made from them, and with all that these superseded."""
        out = set(start)
        while True:
            more = self._made_from(state, out)
            for one in items_of(state):
                chain = (*one.older, id_of(one))
                # A version of a cell, or an entry, goes with all that are older.
                hit = max((at for at, id_ in enumerate(chain) if id_ in out), default=-1)
                more.update(chain[: hit + 1])
            if more <= out:
                return out
            out |= more

    def _drop(self, state: State, gone: set[int]) -> None:
        """Forget records."""
        for key, cell in list(state.cells.items()):
            if cell.version in gone:
                del state.cells[key]
            elif not gone.isdisjoint(cell.older):
                kept = tuple(id_ for id_ in cell.older if id_ not in gone)
                state.cells[key] = replace(cell, older=kept)
        for lists in (state.paths, state.aside):
            for key, path in list(lists.items()):
                rest = tuple(one for one in path if one.id not in gone)
                if rest:
                    lists[key] = rest
                else:
                    del lists[key]
        for id_ in gone:
            state.sources.pop(id_, None)

    def _with_older(self, state: State, key: Parts, chosen: Callable[[int], bool]) -> set[int]:
        """Return the chosen entries of a list, with those that made way for them."""
        all_ = (*state.paths.get(key, ()), *state.aside.get(key, ()))
        return {id_ for one in all_ if chosen(one.id) for id_ in (one.id, *one.older)}

    def _records_below(self, state: State, prefix: Parts) -> set[int]:
        held: list[Item] = [one for key, one in state.cells.items() if is_below(key, prefix)]
        for lists in (state.paths, state.aside):
            held += [one for key, path in lists.items() if is_below(key, prefix) for one in path]
        return {id_ for one in held for id_ in (id_of(one), *one.older)}

    # --- reading ----------------------------------------------------------------------------------

    def holds(self, id: int) -> bool:  # noqa: A002 - what it is
        """Return whether a version or an entry is there, or one that was superseded since.

        Args:
            id: Its id.
        """
        return any(id in (id_of(one), *one.older) for one in items_of(self._state))

    def _is_live(self, one: Item, now: int) -> bool:
        """Return whether something has not expired."""
        return one.expires is None or one.expires > now

    def _live(self, state: State, key: Parts, now: int) -> MemoryCell | None:
        there = state.cells.get(key)
        return there if there is not None and self._is_live(there, now) else None

    def get(self, key: Key, *, now: Moment | None = None) -> MemoryCell | None:
        """Return the newest version of a cell; see `Log.get`."""
        return self._live(self._state, as_key(key), clock_of(now))

    def version(self, key: Key, *, now: Moment | None = None) -> int:
        """Return the id of the newest version of a cell; see `Log.version`."""
        there = self.get(key, now=now)
        return there.version if there else 0

    def tail(self, list: Key) -> int:  # noqa: A002 - the word of `Tail`
        """Return the id of the last entry of a list; see `Log.tail`."""
        return tail_of(self._state, as_key(list))

    def entries(
        self,
        list: Key,  # noqa: A002 - the word of `Add`
        *,
        after: int | None = None,
        limit: int | None = 1_000,
        reverse: bool = False,
        now: Moment | None = None,
    ) -> tuple[MemoryEntry, ...]:
        """Return entries of a list; see `Log.entries`."""
        clock, path = clock_of(now), self._state.paths.get(as_key(list), ())
        parents = (0, *(one.id for one in path))
        found = [
            replace(one, parent=parent)
            for one, parent in zip(path, parents, strict=False)
            if self._is_live(one, clock)
        ]
        if reverse:
            found.reverse()
        if after is not None:
            found = [one for one in found if (one.id < after if reverse else one.id > after)]
        return tuple(found[:limit])

    def scan(
        self,
        prefix: Key = (),
        *,
        where: Where | None = None,
        order: Order = "key",
        reverse: bool = False,
        after: Any = None,
        limit: int | None = 1_000,
        now: Moment | None = None,
    ) -> list[MemoryCell]:
        """List cells; see `Log.scan`. These have their payloads, too."""
        fields = {"key": "key", "born": "born", "changed": "version"}
        if order not in fields:
            raise InvalidInputError(f"order: expected one of {[*fields]}, found {order!r:.80}")
        rank = attrgetter(fields[order])
        found = sorted(self._found(prefix, where, now), key=rank, reverse=reverse)
        if after is not None:
            last = rank(after)
            found = [one for one in found if (rank(one) < last if reverse else rank(one) > last)]
        return found[:limit]

    def count(
        self, prefix: Key = (), *, where: Where | None = None, now: Moment | None = None
    ) -> int:
        """Count cells; see `Log.count`."""
        return len(self._found(prefix, where, now))

    def _found(self, prefix: Key, where: Where | None, now: Moment | None) -> list[MemoryCell]:
        below, clock = as_key(prefix, empty=True), clock_of(now)
        passes({} if where is None else where, {})  # what is none is refused in any case
        return [
            cell
            for key, cell in self._state.cells.items()
            if is_below(key, below)
            and self._is_live(cell, clock)
            and self._passes(where or {}, cell.columns)
        ]

    def _passes(self, where: Where, columns: dict[str, Any]) -> bool:
        return passes(where, columns)

    def spaces(
        self,
        prefix: Key = (),
        *,
        depth: int,
        after: Key | None = None,
        limit: int | None = 1_000,
    ) -> list[Parts]:
        """Return the different beginnings of keys; see `Log.spaces`."""
        below, state = as_key(prefix, empty=True), self._state
        keys = {*state.cells, *state.paths, *state.aside}
        found = sorted({key[:depth] for key in keys if is_below(key, below) and len(key) >= depth})
        if after is not None:
            last = as_key(after)
            found = [one for one in found if one > last and not is_below(one, last)]
        return found[:limit]
