"""The contents of an open store: its conversations, the owners of messages, the index."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from warmset import messages
from warmset._support.locks import guarded
from warmset.engine.catalog import Catalog
from warmset.errors import DuplicateIdError, UnknownIdError
from warmset.index.indexer import Indexer
from warmset.index.labels import TURN_KIND, WORDS_INDEXED, Numbers, role_number
from warmset.index.vectorizer import Vectorizer
from warmset.store.records import Job, TurnMeta
from warmset.text import features as traits
from warmset.text.temporal.words import MONTH_NAMES
from warmset.text.timestamps import DAY, day_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from os import PathLike

    from warmset._core import Retriever
    from warmset.embed import Embedder, Vectors
    from warmset.state.branch_records import Links
    from warmset.state.branches import Row
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger
    from warmset.store.options import StoreOptions


MOST: Final = 64
"""Turns that wait to be indexed, at most; a long one counts as several."""

LONG: Final = 1 << 12
"""Characters of a turn for which it counts as one more."""

_Waiting: TypeAlias = "tuple[Ledger, int, Row | Entry, str]"


@guarded(
    "self.lock",
    fields=("_left", "_waiting"),
    calls=(
        "place",
        "relink",
        "admit",
        "settled",
        "index_again",
        "drop",
        "release",
        "index_waiting",
    ),
)
class Library(Catalog):
    """An open store with what is known of its records.

    Args:
        path: The store's directory; None keeps everything in memory.
        embedder: What makes vectors; None searches by words alone.
        opening: How the store is opened.
        encoding: The vocabulary that tokens are counted with.

    Raises:
        StoreError: The store could not be opened.
        InvalidInputError: The encoding or an option of the store is unknown.
    """

    def __init__(
        self,
        path: str | PathLike[str] | None,
        *,
        embedder: Embedder | None,
        opening: StoreOptions,
        encoding: str,
    ) -> None:
        super().__init__(path, opening=opening, encoding=encoding)
        self._waiting: list[_Waiting] = []
        self.waits = 0  # read without the lock: a turn of this thread's own is counted already
        self._left: list[tuple[Ledger, int]] = []  # where paths ended before they were moved
        self.indexer = (
            None
            if embedder is None
            else Indexer(
                self.store,
                lambda: self.retriever,
                Vectorizer(embedder, self, durable=path is not None, contexts=opening.contexts),
                self.every_job,
                embeds=opening.writes,
                items=self._take_rows,
            )
        )

    @property
    def retriever(self) -> Retriever:
        """The index, with every turn that was appended in this process."""
        if self.waits:
            with self.lock:
                self.index_waiting()
        return self.indexed

    def index_waiting(self) -> None:
        """Index the turns that were appended since the index was last asked for."""
        while self._waiting:
            try:
                self.index_turn(*self._waiting[0])
            except DuplicateIdError:  # it was cut off, as by Ctrl-C
                self.indexed.remove(self._waiting[0][1])
                self.index_turn(*self._waiting[0])
            del self._waiting[0]
        self.waits = 0

    def settled(self) -> list[Job]:
        """Return the contexts of messages that the path's end moved away from.

        As long as one is the end, its context may change. The caller holds the lock.
        """
        left, self._left = self._left, []
        return [
            Job(id_, "context")
            for ledger, id_ in left
            if id_ in ledger.entries and ledger.settled(id_) and not ledger.entries[id_].blank
        ]

    def _take_rows(self, made: Sequence[tuple[Job, Vectors]]) -> None:
        """Hand vectors of items to what searches them."""
        for job, rows in made:
            if (shelf := self.shelf_of(job.id)) is not None:
                shelf.take_rows(job.id, rows)

    def place(self, ledger: Ledger, head: int, at: int | None = None) -> None:
        """Make a message, or the one before it if it is gone, the last one, in memory only.

        Args:
            ledger: The conversation.
            head: The message, or an entry that is none: then it is the one before that.
            at: The id of the record that moves the path's end there; None for the parent of a
                message, which moves it by what follows. A record that was taken up changes nothing.
        """
        history = ledger.history
        if at is not None and not history.head_at(at, head):
            return
        if at is None and head == history.head and history.awaited_after is None:
            return  # a message that names the end of the path as what it follows
        if head and head not in history and (head in history.opaque or self.is_gone(head)):
            head = history.heir(head)
        if head and head not in history:
            self.lost.append(f"conversation {ledger.name!r}: message {head} is lost")
            return
        length = len(history.path)
        if history.path and self.indexer is not None:
            self._left.append((ledger, history.head))
        left, joined = history.move(head)
        ledger.branch(length - len(left))
        if not self.loaded:
            self.retriever.set_live(left, False)
            self.retriever.set_live(joined, True)
        ledger.frozen = None
        self.end_choices(ledger.tenant, ledger.name)

    def relink(self, ledger: Ledger, links: Links, at: int) -> None:
        """Link messages to the remaining messages before them, in memory only.

        Args:
            ledger: The conversation.
            links: What they follow.
            at: The id of the record that says so.
        """
        history = ledger.history
        there = [id_ for id_ in links.of if id_ in history]
        history.heirs |= {id_: of for id_, of in links.of.items() if id_ not in history}
        history.relink({id_: history.heir(links.parent(id_, history)) for id_ in there})
        self.place(ledger, links.end(history), at)

    def admit(
        self,
        ledger: Ledger,
        id_: int,
        digest: bytes,
        facts: messages.Facts,
        meta: TurnMeta,
        tokens: int,
        *,
        waits: bool = False,
    ) -> None:
        """Add a stored message to its conversation and to the index.

        Args:
            ledger: The conversation.
            id_: The message.
            digest: Its content hash.
            facts: What its dialect says of it.
            meta: What is kept beside it.
            tokens: What it costs verbatim.
            waits: Whether it is indexed when the index is next asked for.
        """
        row = ledger.admit(id_, digest, facts, meta, tokens)
        self._owners.own(id_, ledger)
        if id_ in self.described:
            ledger.describe(id_, self.described[id_])
        if not (meta.speaker or facts.speaker):
            ledger.addressed.hear(facts.role, facts.text)
        if self.loaded:
            return
        if not waits:
            self.index_turn(ledger, id_, row, facts.text)
            return
        self.waits += 1 + len(facts.text) // LONG  # first: what waits is never overlooked
        self._waiting.append((ledger, id_, row, facts.text))
        if self.waits >= MOST:
            self.index_waiting()

    def index_turn(self, ledger: Ledger, id_: int, entry: Row | Entry, text: str) -> None:
        """Index a message by its words and labels."""
        month = _written(day_of(entry.at))
        labels = (
            *ledger.numbers,
            entry.session,
            self.numbers.of("speaker", entry.speaker.casefold()) if entry.speaker else 0,
            TURN_KIND,
            role_number(entry.facts.role),
            int(entry.at * 1000),
            True,
        )
        words = "" if entry.blank else f"{text[:WORDS_INDEXED]}\n{month}"
        self.indexed.add(id_, labels, words)
        read = traits.read(text, entry.facts.role, entry.at)
        if read != traits.NONE:
            self.indexed.describe(
                id_,
                asking=read.asking,
                ends_asking=read.ends_asking,
                tells_time=read.tells_time,
                tells_number=read.tells_number,
                days=read.days,
            )

    def index_again(self, end: int) -> set[int]:
        """Rebuild the index, without vectors, up to an id; return the ids of the messages.

        Raises:
            StoreError: The store could not be read.
        """
        self.retriever.clear()
        dialects: dict[int, messages.Dialect | None] = {}
        start, done = 1, set[int]()
        while start < end and (page := self.store.page(start)):
            for record in page:
                ledger = self.ledgers.owner(record.seq)
                if ledger is not None and record.seq < end:
                    meta, before = TurnMeta.decode(record.meta), dialects.get(id(ledger))
                    dialects[id(ledger)] = before or meta.dialect
                    message = messages.loads(record.payload)
                    facts = messages.facts(message, meta.dialect or before or "openai")
                    self.index_turn(ledger, record.seq, ledger.entries[record.seq], facts.text)
                    done.add(record.seq)
            start = page[-1].seq + 1
        for ledger in self.ledgers.values():
            live = set(ledger.history.path)
            apart = [id_ for id_ in ledger.entries if id_ in done and id_ not in live]
            self.retriever.set_live(apart, False)
        return done

    def drop(self, ledger: Ledger, erased: Collection[int]) -> None:
        """Remove a conversation with erased messages; the rest of it is read again."""
        self.cards.clear()
        self.copies.clear()
        for id_ in () if self.loaded else ledger.entries:
            with suppress(UnknownIdError):  # it was cut off before it was indexed
                self.retriever.remove(id_)
        self._owners.disown(ledger.entries)
        if self.indexer is not None:
            self.indexer.drop(erased)
        rest = {id_: one for id_, one in ledger.variants.items() if id_ not in erased}
        if rest:
            self.listed[ledger.tenant, ledger.name] = rest
        if ledger.sent_lists.ever:
            self.asked.add((ledger.tenant, ledger.name))
        if not self.loaded:  # what was loaded has the number
            self.numbers.forget("conversation", ledger.tenant, ledger.name)
        self.item_indexes.pop((ledger.tenant, ledger.name), None)
        del self.ledgers[ledger.tenant, ledger.name]

    def release(self) -> None:
        """Give the memory of a closed store back, with the file that the index is mapped from.

        A handle may be kept after it was closed, and its parts refer to each other.
        """
        self.closed = True
        self.retriever.clear()
        self.ledgers.clear()
        self.item_indexes.clear()
        self.shelves.clear()
        self.attached.clear()
        self.forget_derived()
        self._left.clear()
        self.numbers = Numbers()
        self.cards.clear()
        self.copies.clear()
        if self.indexer is not None:
            self.indexer.release()


@lru_cache(maxsize=64)
def _written(number: int) -> str:
    """Write the month of a day, counted from 1970, as it is indexed with the words of a turn.

    Without the day, since "step 30" is about no turn of the 30th.
    """
    when = time.gmtime(number * DAY)
    return f"{MONTH_NAMES[when.tm_mon - 1]} {when.tm_year}"
