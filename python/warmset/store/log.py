"""Cells and lists in a cold store, with conditions that hold when a batch is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from warmset._core import LogHandle
from warmset._support.aio import in_thread_to_the_end, twin
from warmset.store.changes import Changes
from warmset.store.views import Copied, View

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset._core import Cell, ColdStore, Entry, Listed, Outcome
    from warmset.receipts import ErasureResult, RewriteResult
    from warmset.store.conditions import Condition
    from warmset.store.rows import Key, Moment, Row

Where: TypeAlias = Mapping[str, Any]
"""A condition on columns; see `Log.scan`."""

Order: TypeAlias = Literal["key", "born", "changed"]
"""What comes first in a scan; see `Log.scan`."""


class Log:
    """Cells and lists in a store.

    A cell is the newest payload of a key. A list is the entries that were added to a key, in order.
    A batch changes any number of both, all of it or nothing, and may say what must be so for that.
    Every call sees what other handles and processes wrote before it. Safe to use from several
    threads and processes. Methods with the prefix `a`, and `submit`, are for asyncio.

    Keys are tuples of bytes or str, at most 32 parts and 16 KiB; a str counts as its UTF-8, and
    keys come back as bytes. The first part is the tenant; the second one begins with the byte 0xFF
    unless the key is of a conversation, see `space`. Times are integers, microseconds since 1970
    UTC, or datetimes with a time zone; they come back as integers. `now` is the wall clock if it is
    None: what expires by then counts as absent.

    Args:
        store: The store, which stays open as long as it is in use here.

    Raises:
        InvalidInputError: It is no `ColdStore`.
    """

    __slots__ = ("_handle",)

    def __init__(self, store: ColdStore) -> None:
        self._handle = LogHandle(store)

    @property
    def store(self) -> ColdStore:
        """The store that the log lies in."""
        return self._handle.store

    @property
    def handle(self) -> LogHandle:
        """What the core follows, where it keeps an index of cells itself."""
        return self._handle

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
        """Write a batch, all of it or nothing; it is kept as the store's durability says.

        Args:
            rows: What changes, in this order: a later row sees what an earlier one did.
            expect: What must be so before the first row; judged in the moment of writing.
            now: The clock of the batch: the time of what is written, and of what has expired.
            depth: How many parts of the keys name whose the records are, for the encryption key of
                each; 0 for two.
            once: A name by which the batch is known for a day, 1 to 1,024 bytes; a str counts as
                its UTF-8. Written again with the same rows, nothing is written, and the answer is
                that of the first time. The name belongs to those whose the first row is: to the
                first two parts of its key, or `depth` ones.
            sync: False for records that may be lost with the power, though not with the process.
            spool: Whether to leave the batch in the spool, durably, if the lock stays busy and the
                store was opened with `on_busy="spool"`. The next writer with a log takes it up and
                judges `if_present` then; nobody learns what became of it. Only `Put` and `Add`
                without "fail", and neither `expect` nor `once`.

        Returns:
            What became of each row; "spooled" for all of a batch that was left in the spool.

        Raises:
            Conflict: A condition did not hold, `if_present="fail"` met something, or other rows
                were written by the name `once`; nothing was written.
            NotFound: A `Patch` names a cell that is absent; nothing was written.
            Locked: Another writer kept the lock for too long; nothing was written or left.
            Corrupt: A condition is about what a damaged record may have changed.
            InvalidInputError: The error names the row and the field.
        """
        return self._handle.write(rows, expect, now, depth, once, sync, spool)

    async def submit(
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
        """Run `write` in a thread; the same arguments, result and errors.

        Whoever is cancelled meanwhile waits until the batch is written or refused.
        """
        return await in_thread_to_the_end(
            self.write,
            rows,
            expect=expect,
            now=now,
            depth=depth,
            once=once,
            sync=sync,
            spool=spool,
        )

    def get(self, key: Key, *, now: Moment | None = None) -> Cell | None:
        """Return the newest version of a cell; None if it is absent.

        Args:
            key: The cell's key.
            now: What has expired by then counts as absent.

        Raises:
            Corrupt: Its bytes are not what was written; an older version is not shown.
            Uncertain: A damaged record may have changed it.
            NoKey: It is encrypted and its key is not here.
        """
        return self._handle.get(key, now)

    def version(self, key: Key, *, now: Moment | None = None) -> int:
        """Return the id of the newest version of a cell, as `Version` expects it; 0 if absent.

        Args:
            key: The cell's key.
            now: What has expired by then counts as absent.

        Raises:
            Uncertain: A damaged record may have changed it.
        """
        return self._handle.version(key, now)

    def tail(self, list: Key) -> int:  # noqa: A002 - the word of `Tail`
        """Return the id of the last entry of a list, as `Tail` expects it; 0 if it is empty.

        Args:
            list: The list's key.
        """
        return self._handle.tail(list)

    def entries(
        self,
        list: Key,  # noqa: A002 - the word of `Add`
        *,
        after: int | None = None,
        limit: int | None = 1_000,
        reverse: bool = False,
        now: Moment | None = None,
    ) -> list[Entry]:
        """Return entries of a list, in the order in which they were added.

        Args:
            list: The list's key.
            after: The id of the last entry of the page before.
            limit: The most entries to return; None for all.
            reverse: Whether to begin with the newest entry; `after` is the oldest so far then.
            now: Entries that have expired by then are left out.

        Raises:
            Corrupt: The bytes of an entry are not what was written.
            NoKey: One is encrypted and its key is not here.
        """
        return self._handle.entries(list, after, limit, reverse, now)

    def scan(
        self,
        prefix: Key = (),
        *,
        where: Where | None = None,
        order: Order = "key",
        reverse: bool = False,
        after: Listed | None = None,
        limit: int | None = 1_000,
        now: Moment | None = None,
    ) -> list[Listed]:
        """List cells without their payloads, a page at a time.

        `where` is a mapping from columns to conditions, which must all be true. A condition is a
        value, which the column must equal, or a mapping from operators to operands: "eq", "ne",
        "lt", "lte", "gt", "gte", "in", "nin" (with a list of values), "exists" (with True or
        False), "contains" (of a list). In place of a column, "and" and "or" stand before a list of
        such mappings, "not" before one. A "$" in front, as in "$gte", changes nothing.

        A column that is missing is None. None equals None, and is neither less nor greater than
        anything; so are values of two types, but int and float compare exactly. "ne" and "nin" are
        true where "eq" and "in" are not.

        Args:
            prefix: The parts that the keys begin with.
            where: What must be true of the columns.
            order: "key": part by part, bytewise. "born": the cell that was put first comes first.
                "changed": the cell whose newest version came first.
            reverse: Whether the order is the other way round.
            after: The last one of the page before.
            limit: The most cells to return; None for all.
            now: Cells that have expired by then are left out.

        Raises:
            InvalidInputError: The error names the place in `where` and what is wrong there.
        """
        return self._handle.scan(prefix, where, order, reverse, after, limit, now)

    def count(
        self, prefix: Key = (), *, where: Where | None = None, now: Moment | None = None
    ) -> int:
        """Return how many cells `scan` would list without a limit; the same arguments.

        Args:
            prefix: The parts that the keys begin with.
            where: What must be true of the columns.
            now: Cells that have expired by then are left out.
        """
        return self._handle.count(prefix, where, now)

    def spaces(
        self,
        prefix: Key = (),
        *,
        depth: int,
        after: Key | None = None,
        limit: int | None = 1_000,
    ) -> list[tuple[bytes, ...]]:
        """Return the different beginnings of keys of cells and lists, in order.

        Args:
            prefix: The parts that they begin with.
            depth: How many parts to return of each, those of the prefix among them.
            after: The last one of the page before.
            limit: The most to return; None for all.
        """
        return self._handle.spaces(prefix, depth, after, limit)

    def view(
        self,
        *,
        cells: Iterable[Key] = (),
        lists: Iterable[Key] = (),
        limit: int | None = 1_000,
        reverse: bool = False,
        now: Moment | None = None,
    ) -> View:
        """Return cells and lists as of one moment: no batch of anybody comes between them.

        Args:
            cells: The keys of the cells.
            lists: The keys of the lists.
            limit: The most entries of each list; None for all.
            reverse: Whether the entries begin with the newest one.
            now: What has expired by then is left out.

        Raises:
            Corrupt: The bytes of one are not what was written.
            Uncertain: A damaged record may have changed a cell.
            NoKey: One is encrypted and its key is not here.
        """
        return View(*self._handle.view(cells, lists, limit, reverse, now))

    def copy(
        self,
        source: Key,
        target: Key,
        *,
        now: Moment | None = None,
        depth: int = 0,
        sync: bool = True,
    ) -> Copied:
        """Copy all cells and lists below a prefix to another one, in one batch.

        Copies have ids and births of their own. They keep payload, columns, expiry and `uid`, and
        are made from nothing: erasing the source leaves them. Entries that are on no path stay
        behind. All payloads lie in memory meanwhile.

        Args:
            source: The prefix that the keys begin with.
            target: What stands in its place in the copies; nothing may be below it.
            now: What has expired by then stays behind.
            depth: How many parts of the new keys name whose the copies are; see `write`.
            sync: See `write`.

        Raises:
            Conflict: Something is below `target`, or the source changed again and again meanwhile.
            Locked: Another writer kept the lock for too long; nothing was copied.
            InvalidInputError: One prefix is within the other one.
        """
        return Copied(*self._handle.copy(source, target, now, depth, sync))

    def follow(
        self, position: bytes | None = None, *, prefix: Key = (), limit: int | None = 1_000
    ) -> Changes | None:
        """Return what happened after a position, in the order in which it was committed.

        Records that nothing shows any more may be left out: a version that was superseded, or what
        was removed later.

        Args:
            position: How far you have followed, as `Changes.position` was; None for the beginning.
            prefix: The parts that the keys begin with. Erasures come whatever the prefix is, and so
                do removals of what was made from something.
            limit: The most changes to return; None for all.

        Returns:
            The changes and the position behind them. None if you must begin anew: throw away what
            you keep, and follow from the beginning. The position is of another store or of an older
            copy of it, or something went for good that you had to hear of.

        Raises:
            InvalidInputError: The position is no such bytes.
        """
        found = self._handle.follow(position, prefix, limit)
        return None if found is None else Changes(*found)

    def erase(
        self, *, prefix: Key | None = None, ids: Sequence[int] | None = None
    ) -> ErasureResult:
        """Erase records and what was made from them, for good; nothing shows them any more.

        Keys of encryption are gone when this returns, bytes with `compact`. A version of a cell
        goes with all older ones, and an entry with those that it replaced. What was made from an
        erased record goes as well, wherever it lies: see `sources` of `Put` and `Add`.

        Args:
            prefix: The parts that the keys begin with; at least one.
            ids: Ids of versions and entries, instead of a prefix.

        Returns:
            How many records of the scope and how many that were made from them were erased, and how
            many keys of encryption were removed.

        Raises:
            Locked: Another writer kept the lock for too long; nothing was erased.
            InvalidInputError: Both are given, or neither is.
        """
        return self._handle.erase(prefix, ids)

    def sweep(self, *, now: Moment | None = None) -> int:
        """Remove cells and entries that have expired, with what was made from them.

        They are not shown in any case; without this their bytes stay.

        Args:
            now: What has expired by then is removed; what was renewed meanwhile stays.

        Returns:
            The number of keys of which something was removed.

        Raises:
            Locked: Another writer kept the lock for too long.
        """
        return self._handle.sweep(now)

    def compact(self, *, now: Moment | None = None) -> RewriteResult:
        """Write the segments anew that hold what nothing shows any more.

        That is: superseded versions and patches, what was removed, has expired or was erased. The
        lock is held for one segment at a time. What lies in the segment that is written on stays
        until it is sealed; erased records do not.

        Args:
            now: What has expired by then is removed first.

        Raises:
            Locked: Another writer kept the lock for too long.
        """
        return self._handle.compact(now)

    aget = twin(get)
    aversion = twin(version)
    atail = twin(tail)
    aentries = twin(entries)
    ascan = twin(scan)
    acount = twin(count)
    aspaces = twin(spaces)
    aview = twin(view)
    acopy = twin(copy, to_the_end=True)
    afollow = twin(follow)
    aerase = twin(erase, to_the_end=True)
    asweep = twin(sweep, to_the_end=True)
    acompact = twin(compact, to_the_end=True)

    def __reduce__(self) -> tuple[type[Log], tuple[ColdStore]]:
        return type(self), (self.store,)

    def __repr__(self) -> str:
        return f"Log({self.store!r})"
