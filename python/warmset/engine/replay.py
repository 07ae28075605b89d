"""Reading a store: all of it at open, and what other processes wrote since.

Records are read in the order of their ids, no matter which process wrote them, so every process has
the same conversations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from warmset import messages
from warmset._support.locks import guarded
from warmset.errors import Erased, InvalidInputError, NotFound, StoreError
from warmset.state.branch_records import Links
from warmset.state.kept_ledger import beside_messages
from warmset.store.derived import KINDS, key_of_scope
from warmset.store.forgetting import forget_texts
from warmset.store.records import (
    CHECKPOINT,
    ENTRY,
    HEAD,
    REMOVED,
    TOMBSTONE,
    TURN,
    VECTORS,
    Identity,
    Removal,
    TurnMeta,
    VectorMeta,
    checkpoint,
    head_of,
    is_conversation,
    key_of,
    names_of,
)
from warmset.text.hard_facts import forget_words
from warmset.tokens import message_tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from warmset._core import Record
    from warmset.engine.index_file import IndexFile
    from warmset.engine.library import Library
    from warmset.engine.turns_file import Remembered
    from warmset.index.indexer import Indexer
    from warmset.store.records import Job

PAGE: Final = 1 << 20
"""Bytes that are read at once while following; most of the time there is nothing to read."""

_AT_ONCE: Final = 256
"""Records that are read again at once."""

PATH_KINDS: Final = frozenset((TURN, CHECKPOINT, ENTRY, HEAD))
"""Kinds of records of which the messages of a conversation and its path are made."""

_Name = tuple[str, str]


@dataclass(slots=True)
class _News:
    """What a stretch of records has brought.

    Args:
        turns: Ids of new turns, by their conversation.
        vectors: Turns whose vectors came.
        renewed: Whether another embedder, or the same one anew, makes the vectors from here on.
        erased: Whether something was erased, or removed that was taken up.
        tombstones: Whether something was erased.
    """

    turns: dict[_Name, list[int]] = field(default_factory=dict)
    vectors: set[int] = field(default_factory=set)
    renewed: bool = False
    erased: bool = False
    tombstones: bool = False


@guarded(
    "self._engine.lock",
    fields=("_next",),
    calls=("catch_up", "start", "index_again", "read_again", "passed", "cut_off"),
)
class Follower:
    """Reads the records of a store, each once.

    Args:
        engine: What takes the records up; its lock is held during each call.
        index: The index as it was saved.
    """

    def __init__(self, engine: Library, index: IndexFile) -> None:
        self._engine = engine
        self._index = index
        self._next = 1
        self._unsettled: _News | None = None
        self._torn: set[_Name] = set()
        self._index_torn = False

    @property
    def is_behind(self) -> bool:
        """Whether something was cut off, so that records may not be taken up, or only in part."""
        return self._unsettled is not None or self._index_torn

    def cut_off(self, name: _Name | None = None) -> None:
        """Take note that something was cut off, as by Ctrl-C, while records were taken up.

        Args:
            name: The conversation that may have them in part; the next call reads it again.
        """
        self._unsettled = self._unsettled or _News()
        if name is not None:
            self._torn.add(name)

    def catch_up(self, until: int | None = None) -> None:
        """Read what was written since the last call, and again what was cut off.

        Args:
            until: Only what has a lower id.

        Raises:
            StoreError: The store could not be read.
        """
        news = self._unsettled = self._unsettled or _News()
        if self._torn:
            self._read_torn(news)
        self._read(news, until)
        if self._index_torn:
            try:
                news.vectors |= self._engine.index_again(self._next)
            except StoreError:  # the store goes on without it
                self._index_torn = False
                raise
        if news.erased:  # what this process keeps of texts goes, whoever's they are
            forget_texts()
            forget_words()
        self._settle(news)
        self._unsettled, self._index_torn = None, False

    def start(self) -> None:
        """Take up everything; what the index's file covers is in the index already.

        Raises:
            StoreError: The store could not be read.
        """
        engine, news, known = self._engine, _News(), None
        jobs: Sequence[Job] = ()
        if covers := self._index.load():
            engine.loaded = True
            try:
                known = self._index.take_conversations(covers)
                if known is None:
                    self._read_and_forget(news, covers + 1)
                else:
                    jobs = self._go_on(covers, known, news)
            finally:
                engine.loaded = False
            news.vectors.clear()
            news.renewed = news.erased = False
            if not self._index.agrees():
                if known is not None:  # the index is made of what there is behind the file, too
                    engine.loaded = True
                    try:
                        self._read_and_forget(news, None)
                    finally:
                        engine.loaded = False
                    news.erased = news.tombstones = False
                news.vectors |= engine.index_again(self._next)
        self._read(news, None)
        if known is not None and news.tombstones and self._forget(news):
            # Whoever erased did not know of the files, and they have it still.
            self._index.has_others()
            news.erased = False
            news.vectors |= engine.index_again(self._next)
        self._settle(news)
        if jobs and engine.indexer is not None:
            engine.indexer.enqueue(jobs)

    def _read_and_forget(self, news: _News, until: int | None) -> None:
        self._read(news, until)
        if news.erased:
            self._forget(news)

    def _go_on(self, covers: int, known: Remembered, news: _News) -> Sequence[Job]:
        """Go on behind records that a file told; return the vectors that may be missing."""
        self._next = covers + 1
        if known.embedder is not None:
            self._embedder(*known.embedder, news)
        indexer = self._engine.indexer
        if indexer is None or indexer.vectorizer.views() == known.views:
            return ()
        return self._engine.jobs()

    def read_again(self, why: str) -> None:
        """Take up the conversations that a damaged file had, from the records.

        Raises:
            StoreError: The store could not be read.
        """
        engine, news = self._engine, _News()
        self._index.lost_conversations(why)
        there, before = set(engine.ledgers.here), engine.loaded
        if engine.indexer is not None:
            engine.indexer.book.release()
        engine.loaded = engine.choices_known = True
        try:
            for record in self._taken_up():
                name = _name_of(record) if record.kind in PATH_KINDS else None
                if record.kind in VECTORS or (name is not None and name not in there):
                    self._take(record, news)
        finally:
            engine.loaded, engine.choices_known = before, False
        if not before:  # what is in the index may be that of others, too
            self._index.has_others()
            ids = engine.index_again(self._next)
            if engine.indexer is not None and engine.indexer.vectorizer.mismatch() is None:
                self._publish(engine.indexer, ids)

    def index_again(self) -> None:
        """Make the index anew from the records.

        Raises:
            StoreError: The store could not be read.
        """
        self._index_torn = True  # until the next call that is not cut off
        self.catch_up()

    @property
    def last(self) -> int:
        """The id of the last record that was taken up."""
        return self._next - 1

    def _read(self, news: _News, until: int | None) -> None:
        while (until is None or self._next < until) and (
            page := self._engine.store.page(self._next, max_bytes=PAGE)
        ):
            for record in page:
                if until is not None and record.seq >= until:
                    break
                self._take(record, news)
                self._next = record.seq + 1
            else:
                continue
            break

    def passed(self, id_: int) -> None:
        """Take note that this engine itself has taken up everything up to an id."""
        self._next = max(self._next, id_ + 1)

    def _take(self, record: Record, news: _News) -> None:
        """Take up one record; what is not as warmset writes it is reported and passed over."""
        try:
            if record.kind in VECTORS:
                self._vector(record, news)
            elif record.kind in KINDS:
                self._engine.take_derived(record)
            elif record.kind == REMOVED:
                news.erased = news.erased or self._concerns(record)
            elif record.kind == TOMBSTONE:
                news.erased = news.tombstones = True
            else:
                self._placed(record, news)
        except (ValueError, LookupError, TypeError, ArithmeticError) as error:
            self._engine.lost.append(f"record {record.seq} is not as warmset writes it: {error}")
        except BaseException:
            self.cut_off(_name_of(record))
            raise

    def _placed(self, record: Record, news: _News) -> None:
        """Take up what a conversation and its path are made of."""
        if record.kind == TURN:
            self._turn(record, news)
        elif record.kind == CHECKPOINT:
            self._checkpoint(record, news)
        elif record.kind in (ENTRY, HEAD) and is_conversation(record.key):
            ledger = self._engine.ledger(*names_of(record.key))
            if record.kind == HEAD:
                self._engine.place(ledger, head_of(record.payload), record.of or record.seq)
            elif record.seq not in ledger.history.opaque:
                before = ledger.history.head if record.parent is None else record.parent
                ledger.history.keep(record.seq, before)

    def _turn(self, record: Record, news: _News) -> None:
        engine = self._engine
        meta = TurnMeta.decode(record.meta)
        ledger = engine.ledger(*names_of(record.key))
        if record.seq in ledger.entries:
            return
        message = messages.loads(record.payload)
        facts = messages.facts(message, meta.dialect or ledger.dialect or "openai")
        tokens = message_tokens([message], engine.encoding)[0]
        fresh = news.turns.setdefault((ledger.tenant, ledger.name), [])
        if not fresh and ledger.history.head:
            fresh.append(ledger.history.head)
        parent = meta.parent
        if record.parent is not None:  # the log wrote it, which knows what it follows
            before = ledger.history.heir(record.parent)
            parent = None if before == ledger.history.head else before
        if parent is not None:
            engine.place(ledger, parent)
        engine.admit(ledger, record.seq, record.hash, facts, meta, tokens)
        if facts.role == "assistant":
            ledger.sent_lists.replied()  # what this process made before it was for that reply
        fresh.append(record.seq)

    def _concerns(self, record: Record) -> bool:
        """Return whether a removal takes away anything that was taken up."""
        engine, said = self._engine, Removal.decode(record.payload)
        ranges = [*said.derived]
        if said.below:
            parts = tuple(record.key)
            keys = [key_of(*name) for name in engine.ledgers]
            keys += [key_of_scope(*scope) for scope in engine.derived.scopes()]
            if any(tuple(key[: len(parts)]) == parts for key in keys):
                return True
        elif is_conversation(record.key):
            ranges += said.entries
        return any(engine.takes_up(ids) for ids in ranges)

    def _vector(self, record: Record, news: _News) -> None:
        if self._engine.indexer is not None:
            meta = VectorMeta.decode(record.meta)
            if meta.dim < 1 or len(record.payload) % (VECTORS[record.kind].itemsize * meta.dim):
                raise InvalidInputError(f"dim: expected rows of {meta.dim} numbers")
            if self._engine.indexer.book.note(meta, record.seq):
                news.vectors.add(meta.of)

    def _checkpoint(self, record: Record, news: _News) -> None:
        engine, fields = self._engine, checkpoint(record.meta)
        if fields.get("what") == "embedder":
            self._embedder(record.meta, record.payload, news)
        elif fields.get("what") == "links":
            ledger = engine.ledger(*names_of(record.key))
            engine.relink(ledger, Links.decode(fields), record.seq)
        elif fields.get("what") == "head":
            engine.place(engine.ledger(*names_of(record.key)), int(fields["id"]), record.seq)

    def _embedder(self, meta: bytes, payload: bytes, news: _News) -> None:
        """Take up which embedder makes the vectors from here on."""
        engine = self._engine
        engine.embedder = meta, payload
        if engine.indexer is None:
            self._index.foreign = True
            return
        identity = Identity.decode(checkpoint(meta), payload)
        known = engine.indexer.vectorizer.identity
        if known is None or known.generation != identity.generation:
            engine.indexer.vectorizer.remember(identity)
            news.renewed = True

    def _settle(self, news: _News) -> None:
        """Do what is done once for many records."""
        if news.erased:
            self._forget(news)
        indexer = self._engine.indexer
        # Vectors of another embedder are no use; asking for new ones would mix the two.
        if indexer is None or indexer.vectorizer.mismatch() is not None:
            return
        if news.renewed:
            indexer.clear()
            jobs = self._engine.jobs()
            self._publish(indexer, {job.id for job in jobs})
            indexer.enqueue(jobs)
            return
        self._publish(indexer, news.vectors)
        for name, ids in news.turns.items():
            indexer.enqueue(self._engine.jobs_of(name, ids))
        indexer.enqueue(self._engine.settled())

    def _publish(self, indexer: Indexer, ids: set[int]) -> None:
        for id_ in sorted(ids):
            if self._engine.knows(id_):
                try:
                    indexer.restore(id_)
                except (Erased, NotFound):
                    continue

    def _forget(self, news: _News) -> bool:
        """Drop what was erased; of a conversation that lost a part, the rest is read once more.

        Returns:
            Whether any conversation lost a part.
        """
        engine = self._engine
        engine.drop_derived()
        again: set[_Name] = set()
        rest: set[int] = set()
        names = engine.ledgers.losing(engine.gone_of)
        for name in names:
            ledger = engine.ledgers.get(name)
            if ledger is None:  # its part was damaged, and the records say nothing of it
                continue
            known = [*ledger.entries, *beside_messages(ledger)]
            gone = engine.gone_of(name, known)
            left = set(known).difference(gone)
            if left:
                again.add(name)
                rest |= left
            self._torn.add(name)  # until the rest was read
            engine.drop(ledger, gone)
            if engine.indexer is not None:
                engine.indexer.book.review(known, engine.is_gone)
            news.turns.pop(name, None)
        self._read_rest(again, sorted(rest), news)
        self._torn.difference_update(names)
        for attached in engine.attached.values():
            attached.forget()
        if names:
            self._index.outdated()
        return bool(names)

    def _read_rest(self, again: set[_Name], ids: Sequence[int], news: _News) -> None:
        """Read entries and moves of conversations once more.

        Where one cannot be read, another copy of it may lie elsewhere: then all is looked through.
        """
        records = self._engine.store.get_many
        try:
            for at in range(0, len(ids), _AT_ONCE):
                for record in records(ids[at : at + _AT_ONCE]):
                    self._again(record, again, news)
        except StoreError:
            self._look_through(again, news)

    def _look_through(self, again: Collection[_Name], news: _News) -> None:
        """Look for entries and moves of conversations in all records that were taken up."""
        for record in self._taken_up():
            if record.kind in PATH_KINDS:
                self._again(record, again, news)

    def _read_torn(self, news: _News) -> None:
        """Read conversations that may have records in part from the store, and nothing else."""
        engine, torn = self._engine, frozenset(self._torn)
        for name in torn:
            if (ledger := engine.ledgers.get(name)) is not None:
                engine.drop(ledger, ())
            news.turns.pop(name, None)
        self._look_through(torn, news)
        for attached in engine.attached.values():
            attached.forget()
        self._index.outdated()
        news.erased = True  # what is gone is left out where all were read
        self._torn -= torn

    def _taken_up(self) -> Iterator[Record]:
        """Read the records that were taken up once more."""
        start = 1
        while start < self._next and (page := self._engine.store.page(start)):
            yield from (record for record in page if record.seq < self._next)
            start = page[-1].seq + 1

    def _again(self, record: Record, again: Collection[_Name], news: _News) -> None:
        if _name_of(record) in again:
            self._take(record, news)
            news.vectors.add(record.seq)


def _name_of(record: Record) -> _Name | None:
    """Return the conversation of a record; None if it is of none."""
    try:
        return names_of(record.key) if record.key else None
    except ValueError:
        return None
