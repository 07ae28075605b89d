"""One store, its index and its conversations: what every handle on the same path shares.

The write path of a turn is `Engine.append`, the way back from the disk is `Follower`. After any
exception, the store is unchanged or has further complete records, and the index agrees with it.
"""

from __future__ import annotations

import logging
import time
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Final

from warmset import messages
from warmset._core import content_hash
from warmset._support.cut_off import IfCutOff
from warmset._support.deadlines import time_left
from warmset._support.locks import guarded
from warmset.engine.describing import DescribeQueue
from warmset.engine.index_file import IndexFile
from warmset.engine.library import Library
from warmset.engine.replay import Follower
from warmset.errors import Conflict, Forked, InvalidInputError, ReadOnly, StoreError, WarmsetError
from warmset.receipts import ErasureResult, Spooled
from warmset.state.branch_records import Links, head_draft
from warmset.store.records import Job, key_of, turn_draft
from warmset.store.rows import Add
from warmset.tokens import message_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from os import PathLike

    from warmset._core import Outcome
    from warmset.embed import Embedder
    from warmset.state.ledger import Ledger
    from warmset.store.conditions import Condition
    from warmset.store.options import StoreOptions
    from warmset.store.records import Draft, TurnMeta
    from warmset.store.rows import Row
    from warmset.text.describe import Describers

_NOTHING: Final = ErasureResult(0, 0, 0)


@guarded(
    "self.lock",
    calls=("append", "move", "write", "_keep", "_add", "follow_all", "_links"),
)
class Engine(Library):
    """A store, its index and its conversations.

    Args:
        path: The store's directory; None keeps everything in memory.
        embedder: What makes vectors; None searches by words alone.
        opening: How the store is opened.
        encoding: The vocabulary that tokens are counted with.
        describers: The callables that describe turns, if there are any.
        born: Is called with the engine before anything is opened, for whoever has to `abandon` it.

    Raises:
        StoreError: The store could not be opened.
        InvalidInputError: The encoding is unknown.
    """

    def __init__(
        self,
        path: str | PathLike[str] | None,
        *,
        embedder: Embedder | None,
        opening: StoreOptions,
        encoding: str,
        describers: Describers | None = None,
        born: Callable[[Engine], object] = lambda _engine: None,
    ) -> None:
        born(self)
        started = time.perf_counter()
        super().__init__(path, embedder=embedder, opening=opening, encoding=encoding)
        self.describing: DescribeQueue | None = None
        if describers is not None and describers.given():
            self.describers = describers.names()
            if opening.writes:
                self.describing = DescribeQueue(self, describers)
                self.attached["describe",] = self.describing
        self._alone = path is None or opening.mode == "exclusive"
        self.index = IndexFile(self, self.follow_all)
        self._follower = Follower(self, self.index)
        self.ledgers.otherwise(self._follower.read_again)
        with self.lock:
            self._follower.start()
            conversations = len(self.ledgers.outlines())
        self.notices.note_store(
            logging.DEBUG,
            "opened",
            mode=opening.mode,
            durability=opening.durability,
            records=self.store.stats()["records"],
            conversations=conversations,
            index=self.index.figures()["source"],
            milliseconds=_since(started),
        )
        if self.describing is not None:
            self.describing.enqueue(self._undescribed())

    def _undescribed(self) -> list[int]:
        """Return the turns that have a text and no description of the callables in use."""
        with self.lock:
            return [
                id_
                for ledger in self.ledgers.values()
                for id_ in ledger.entries
                if id_ not in self.described and not ledger.entries[id_].blank
            ]

    # --- to the disk -----------------------------------------------------------------------------

    def append(
        self,
        ledger: Ledger,
        batch: Sequence[messages.Message],
        metas: Sequence[TurnMeta],
        payloads: Sequence[bytes] | None = None,
    ) -> list[int]:
        """Append messages to the current path: durable, then searchable, then embedded.

        Args:
            ledger: The conversation.
            batch: Well-formed messages of the conversation's dialect.
            metas: What is kept beside each.
            payloads: Each as `messages.dumps` writes it, where that is known.

        Returns:
            Their ids; all are stored or none is. `Spooled` if another process held the store's
            lock: then they are in the spool until a writer appends them.

        Raises:
            Conflict: A message of the path has the key of one of them; none was kept.
            StoreError: They could not be kept.
        """
        shown: messages.Dialect | None = next((m.dialect for m in metas if m.dialect), None)
        dialect: messages.Dialect = ledger.dialect or shown or "openai"
        if payloads is None:
            payloads = [messages.dumps(message, index=at) for at, message in enumerate(batch)]
        key = key_of(ledger.tenant, ledger.name)
        drafts = [
            turn_draft(key, meta, payload) for meta, payload in zip(metas, payloads, strict=True)
        ]
        facts = [messages.facts(message, dialect) for message in batch]
        counts = message_tokens(batch, self.encoding)
        keyed = any(meta.key is not None for meta in metas)
        with self._kept_up(ledger):
            ids = self._add(drafts) if keyed else self._keep(drafts)
            if isinstance(ids, Spooled):
                parent = metas[0].parent if metas else None
                ledger.history.expect(parent, [content_hash(payload) for payload in payloads])
            if isinstance(ids, Spooled) or not ids:
                return ids
            ledger = self.ledger(ledger.tenant, ledger.name)  # it may have been erased meanwhile
            if metas and metas[0].parent is not None:
                self.place(ledger, metas[0].parent)
            before = ledger.history.head
            for id_, payload, fact, meta, tokens in zip(
                ids, payloads, facts, metas, counts, strict=True
            ):
                self.admit(ledger, id_, content_hash(payload), fact, meta, tokens, waits=True)
            self._follower.passed(ids[-1])
            ledger.accounts()
            self._make_vectors(ledger, ids, before)
        self.index.grown()
        return ids

    def _make_vectors(self, ledger: Ledger, ids: Sequence[int], before: int) -> None:
        """Let new messages be embedded and described, and those whose context is complete now."""
        if self.indexer is not None:
            jobs = [Job(id_, "turn") for id_ in ids if not ledger.entries[id_].blank]
            settled = [before, *ids][:-1] if before else ids[:-1]
            jobs += [Job(id_, "context") for id_ in settled if not ledger.entries[id_].blank]
            jobs += self.settled()
            self.indexer.enqueue(jobs)
        if self.describing is not None:
            self.describing.enqueue(id_ for id_ in ids if not ledger.entries[id_].blank)

    def _kept_up(self, ledger: Ledger | None = None) -> IfCutOff:
        """Write, and take up what was written; if that is cut off, it is read from the store.

        Errors of warmset cut nothing off: nothing was written, or what was is read in any case.

        Args:
            ledger: The conversation that may have it in part then.
        """
        name = None if ledger is None else (ledger.tenant, ledger.name)
        return IfCutOff(lambda: self._follower.cut_off(name), unless=WarmsetError)

    def put(self, drafts: Sequence[Draft], *, sync: bool = True) -> list[int] | Spooled:
        """Store derived records, all or none; see `derived`.

        Args:
            drafts: The records.
            sync: False for what a loss of power may take, because it is made again then: the call
                waits for no sync of the disk.

        Returns:
            Their ids. `Spooled` if another process held the store's lock: they appear later.

        Raises:
            StoreError: They could not be kept.
        """
        with self.lock, self._kept_up():
            ids = self._keep(drafts, sync=sync)
            if not isinstance(ids, Spooled) and ids:
                self._follower.catch_up(until=ids[-1] + 1)
            return ids

    def room(self) -> None:
        """Wait for a moment if turns arrive faster than they are embedded; do not hold the lock."""
        if self.indexer is not None:
            self.indexer.room()

    def move(self, ledger: Ledger, head: int) -> None:
        """Make another message the conversation's last one, durably.

        Raises:
            StoreError: The move could not be kept.
        """
        with self._kept_up(ledger):
            ids = self._keep([head_draft(key_of(ledger.tenant, ledger.name), head)])
            if isinstance(ids, Spooled):
                ledger.history.expect(head, [])
            else:
                self.place(self.ledger(ledger.tenant, ledger.name), head, ids[-1])
                self._follower.passed(ids[-1])
                if self.indexer is not None:
                    self.indexer.enqueue(self.settled())

    def write(self, rows: Sequence[Row], *, expect: Sequence[Condition] = ()) -> list[Outcome]:
        """Write a batch of the log, and take up what it changed; the caller holds the lock.

        Args:
            rows: What changes in a conversation.
            expect: What must be so.

        Returns:
            What became of each row.

        Raises:
            Conflict: It was not so.
            StoreError: The batch could not be written.
        """
        with self._kept_up():
            outcomes = self.log.write(rows, expect=expect)
            self._follower.catch_up()
        return outcomes

    def bring(self, rows: Sequence[Row], *, expect: Sequence[Condition] = ()) -> list[Outcome]:
        """Write a batch of what was said elsewhere; see `write`. The caller holds no lock.

        It waits for a moment if messages come faster than they are embedded.

        Raises:
            ReadOnly: The store was opened for reading alone.
            Conflict: What must be so was not so.
            StoreError: The batch could not be written.
        """
        self.must_write()
        try:
            with self.lock:
                outcomes = self.write(rows, expect=expect)
        finally:
            self.notices.tell()
        self.room()
        return outcomes

    def bring_records(self, drafts: Sequence[Draft]) -> list[int]:
        """Append records of another store, and take them up. The caller holds no lock.

        Raises:
            ReadOnly: The store was opened for reading alone.
            StoreError: They could not be appended.
        """
        self.must_write()
        with self.lock, self._kept_up():
            ids = self.store.append(drafts)
            self.follow_all()
        return ids

    def _keep(self, drafts: Sequence[Draft], *, sync: bool = True) -> list[int] | Spooled:
        """Append records, and read those that others wrote before them.

        Spooled records appear once a writer appends them, like records of other processes.
        """
        ids = self.store.append_or_spool(drafts, sync=sync)
        if isinstance(ids, Spooled):
            self.notices.note_store(logging.WARNING, "spooled", records=len(drafts))
        elif ids and (not self._alone or self._follower.is_behind):
            self._follower.catch_up(until=ids[0])
        return ids

    def _add(self, drafts: Sequence[Draft]) -> list[int]:
        """Append messages with keys, and read what others wrote before them.

        Raises:
            Conflict: A key is on the path already; nothing was written.
        """
        rows = [
            Add(key, payload, turn=meta, if_present="fail") for _, key, meta, payload, _ in drafts
        ]
        try:
            outcomes = self.log.write(rows)
        except Conflict:
            self._follower.catch_up()
            raise
        ids = [outcome.id for outcome in outcomes if outcome.id is not None]
        if ids and (not self._alone or self._follower.is_behind):
            self._follower.catch_up(until=ids[0])
        return ids

    # --- from the disk ---------------------------------------------------------------------------

    def follow(self) -> None:
        """Read what other processes wrote meanwhile, and log what was noticed; not under the lock.

        Raises:
            StoreError: The store could not be read.
        """
        # Before any lock: a thread of the parent may have held it when the process forked.
        if self.is_forked():
            raise Forked(
                f"the memory was opened in process {self._pid}, before a fork; call Memory.open in "
                f"this one"
            )
        if self._follower.is_behind and self._was_cut_off():
            with suppress(StoreError):  # the next erasure tries it again
                self.finish_erasure()
        if not self._alone or self._follower.is_behind:
            with self.lock:
                self._follower.catch_up()
        self.notices.tell()

    def _was_cut_off(self) -> bool:
        with self.lock:  # another thread may be in the middle of it, and comes to its end
            return self._follower.is_behind

    def follow_all(self) -> int:
        """Read all records and return the last one's id; the caller holds the lock.

        Raises:
            StoreError: The store could not be read.
        """
        self._follower.catch_up()
        return self._follower.last

    def erase(
        self,
        *,
        prefixes: Sequence[Sequence[bytes]] = (),
        records: Sequence[int] | None = None,
        copies: Callable[[], Sequence[int]] = tuple,
        cells: Callable[[], Sequence[int]] = tuple,
    ) -> ErasureResult:
        """Erase records and what was made from them, here and for every process, byte for byte.

        Args:
            prefixes: The beginnings of the records' keys; what is below the first one goes first.
            records: Or their ids.
            copies: Returns the ids of what is erased with them and counts as derived from them;
                called under the lock, when everything was read.
            cells: Returns versions of cells that are erased with them, all older ones included;
                called like `copies`.

        Raises:
            StoreError: They could not be erased.
        """
        self.must_write()
        # In this order: whoever makes vectors asks for texts, and those for the lock.
        with self.index.erasing(), self.paused(), self.lock, self._kept_up():
            if self.store.spooled():  # the links below hold for the path that it leads to
                self.store.sync()
            self._follower.catch_up()
            if links := self._links(records or ()):
                self.store.append(links)
            # Before what tells that they are copies.
            more = self.store.erase(records=found) if (found := copies()) else _NOTHING
            if outdated := self.outdated():  # they leave the files at the same time
                self.store.erase(records=outdated)
            removed = self._erase(prefixes, records, cells()) + more.as_derived()
            self._follower.catch_up()
            self.store.compact()
        self.notices.note_store(
            logging.INFO,
            "erased",
            records=removed.records,
            derived=removed.derived,
            keys=removed.keys,
        )
        self.notices.tell()
        return removed

    def finish_erasure(self) -> None:
        """Remove the bytes of what was erased, if the call that should have was cut off before.

        The caller holds no lock.

        Raises:
            StoreError: They could not be removed.
        """
        if self.opening.writes and self.store.erasure_report()["pending"]:
            with self.index.erasing(), self.paused(), self.lock, self._kept_up():
                self._follower.catch_up()
                self.store.compact()

    def _erase(
        self,
        prefixes: Sequence[Sequence[bytes]],
        records: Sequence[int] | None,
        cells: Sequence[int],
    ) -> ErasureResult:
        """Write the tombstones; those of cells first, which the others may have been made from."""
        removed = self.log.erase(ids=cells) if cells else _NOTHING
        for one in prefixes:
            removed += self.store.erase(prefix=one)
        return removed + self.store.erase(records=records) if records else removed

    def _links(self, erased: Sequence[int]) -> list[Draft]:
        """Record new parents for the rest of branches whose first messages will be erased."""
        owners = {id(one): one for id_ in erased if (one := self.ledgers.owner(id_)) is not None}
        gone = frozenset(erased)
        found = ((one, Links.without(one.history, gone)) for one in owners.values())
        return [
            links.draft(key_of(one.tenant, one.name)) for one, links in found if links is not None
        ]

    def reembed(self, progress: Callable[[int, int], None]) -> None:
        """Embed everything again with the given embedder.

        Raises:
            InvalidInputError: There is no embedder.
            EmbedderError: It failed; the store's vectors are unchanged.
        """
        if self.indexer is None:
            raise InvalidInputError("reembed: this memory has no embedder; open it with one")
        self.must_write()
        self.indexer.renew(self.every_job, progress)
        with self.index.erasing():
            pass  # the file has the vectors that were erased

    def flush(self, timeout: float | None) -> bool:
        """Wait until every turn is embedded; see `Memory.flush`."""
        end = None if timeout is None else time.monotonic() + timeout
        embedded = self.indexer is None or self.indexer.flush(timeout)
        if self.describing is None:
            return embedded
        left = None if end is None else time_left(end)
        return self.describing.flush(left) and embedded

    def rebuild_index(self) -> None:
        """Rebuild the index from the records, and write its file again.

        Raises:
            StoreError: The store could not be read.
        """
        self.must_write()
        started = time.perf_counter()
        with self.index.erasing(), self.paused(), self.lock:
            self._follower.index_again()
            self.index.made_anew("it was rebuilt")
        self.notices.note_store(
            logging.INFO, "rebuilt", turns=len(self.retriever), milliseconds=_since(started)
        )
        self.index.save()
        self.notices.tell()

    def close(self, timeout: float) -> None:
        """Finish pending work within about that many seconds in all, and close the store."""
        end = time.monotonic() + timeout
        try:
            for attached in list(self.attached.values()):
                attached.close(time_left(end))
            if self.indexer is not None:
                self.indexer.close(time_left(end))
            self.index.close(time_left(end))
        except BaseException:
            self.abandon()
            raise
        finally:
            self._end()
            if not self.is_forked():  # a thread of a fork's parent may have held the lock
                with self.lock:
                    self.release()

    def abandon(self) -> None:
        """Close what is there where opening or closing was cut off; nothing is waited for."""
        try:
            for attached in list(self.__dict__.get("attached", {}).values()):
                attached.close(0.0)
        finally:
            self._end()

    def _end(self) -> None:
        had = self.__dict__  # not all of it, where an opening was cut off
        if had.get("indexer") is not None:
            had["indexer"].end()
        if had.get("store") is not None:
            had["store"].close()

    def must_write(self) -> None:
        """Refuse what changes files, before the store itself is asked to.

        Raises:
            ReadOnly: The store was opened with mode "read".
        """
        if not self.opening.writes:
            raise ReadOnly(str(self.store.path))

    def paused(self) -> AbstractContextManager[object]:
        """Pause the embedding of turns."""
        return nullcontext() if self.indexer is None else self.indexer.paused()


def _since(started: float) -> float:
    """Return the milliseconds since a moment of `time.perf_counter`."""
    return round((time.perf_counter() - started) * 1000, 3)
