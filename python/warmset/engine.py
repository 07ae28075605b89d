"""One store, its index and its conversations: what every handle on the same path shares.

The write path of a turn is `Engine.append`, the way back from the disk is `restore`. After any
exception the store is as it was or has complete records more, and the index agrees with it.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from warmset import _core, messages
from warmset.config import MAX_TURN
from warmset.counting import message_tokens
from warmset.errors import NotFound
from warmset.indexing import Indexer
from warmset.labels import TURN_KIND, Numbers, role_number
from warmset.ledger import Entry, Ledger
from warmset.records import TurnMeta, head_draft, key_of, turn_draft
from warmset.restore import restore
from warmset.vectorize import Job, Vectorizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    from warmset.config import Reading
    from warmset.embed import Embedder

_WORDS_INDEXED = 200_000
"""Characters of a turn that the lexical index reads; a turn may be fifty megabytes long."""


class Engine:
    """A store, its index and its conversations.

    Args:
        path: The store's directory; None keeps everything in memory.
        embedder: What makes vectors; None searches by words alone.
        read: How sealed segments are read, "map" or "pread".
        encoding: The vocabulary that tokens are counted with.

    Raises:
        StoreError: The store could not be opened.
        InvalidInputError: The encoding is unknown.
    """

    def __init__(
        self,
        path: str | PathLike[str] | None,
        *,
        embedder: Embedder | None,
        read: Reading,
        encoding: str,
    ) -> None:
        _core.count_text("", encoding)
        self.lock = threading.RLock()
        self.encoding = encoding
        self.store = _core.ColdStore.open(path, mode="exclusive", read=read, max_record=MAX_TURN)
        self.retriever = _core.Retriever()
        self.ledgers: dict[tuple[str, str], Ledger] = {}
        self._owner: dict[int, Ledger] = {}
        self.numbers = Numbers()
        self.lost: list[str] = []
        self.indexer = (
            None
            if embedder is None
            else Indexer(
                self.store,
                self.retriever,
                Vectorizer(embedder, self, durable=path is not None),
            )
        )
        try:
            restore(self)
        except BaseException:
            self.store.close()
            raise

    # --- to the disk -----------------------------------------------------------------------------

    def append(
        self, ledger: Ledger, batch: Sequence[messages.Message], metas: Sequence[TurnMeta]
    ) -> list[int]:
        """Keep messages at the end of the current path: durable, then searchable, then embedded.

        Args:
            ledger: The conversation.
            batch: Well-formed messages of the conversation's dialect.
            metas: What is kept beside each.

        Returns:
            Their ids; all are kept or none is.

        Raises:
            StoreError: They could not be kept.
        """
        shown: messages.Dialect | None = next((m.dialect for m in metas if m.dialect), None)
        dialect: messages.Dialect = ledger.dialect or shown or "openai"
        payloads = [messages.dumps(message, index=at) for at, message in enumerate(batch)]
        key = key_of(ledger.tenant, ledger.name)
        drafts = [
            turn_draft(key, meta, payload) for meta, payload in zip(metas, payloads, strict=True)
        ]
        facts = [messages.facts(message, dialect) for message in batch]
        counts = message_tokens(batch, self.encoding)
        ids = self.store.append(drafts)
        if metas and metas[0].parent is not None:
            self.place(ledger, metas[0].parent)
        before = ledger.history.head
        for id_, payload, fact, meta, tokens in zip(
            ids, payloads, facts, metas, counts, strict=True
        ):
            self.admit(ledger, id_, _core.content_hash(payload), fact, meta, tokens)
        ledger.accounts()
        if self.indexer is not None:
            jobs = [Job(id_, "turn") for id_ in ids if not ledger.entries[id_].blank]
            settled = [before, *ids][:-1] if before else ids[:-1]
            jobs += [Job(id_, "context") for id_ in settled if not ledger.entries[id_].blank]
            self.indexer.enqueue(jobs)
        return ids

    def move(self, ledger: Ledger, head: int) -> None:
        """Make another message the conversation's last one, durably.

        Raises:
            StoreError: The move could not be kept.
        """
        self.store.append([head_draft(key_of(ledger.tenant, ledger.name), head)])
        self.place(ledger, head)

    def place(self, ledger: Ledger, head: int) -> None:
        """Make another message the conversation's last one, in memory only."""
        if head and head not in ledger.history:
            self.lost.append(f"conversation {ledger.name!r}: message {head} is lost")
            return
        length = len(ledger.history.path)
        left, joined = ledger.history.move(head)
        ledger.branch(length - len(left))
        self.retriever.set_live(left, False)
        self.retriever.set_live(joined, True)
        ledger.frozen = None

    def admit(
        self,
        ledger: Ledger,
        id_: int,
        digest: bytes,
        facts: messages.Facts,
        meta: TurnMeta,
        tokens: int,
    ) -> None:
        """Take a kept message up: into its conversation and into the index."""
        entry = ledger.admit(id_, digest, facts, meta, tokens)
        self._owner[id_] = ledger
        day = time.strftime("%d %B %Y", time.gmtime(entry.at))
        labels = (
            *ledger.numbers,
            entry.session,
            self.numbers.of("speaker", entry.speaker.casefold()) if entry.speaker else 0,
            TURN_KIND,
            role_number(facts.role),
            int(entry.at * 1000),
            True,
        )
        words = "" if entry.blank else f"{facts.text[:_WORDS_INDEXED]}\n{day}"
        self.retriever.add(id_, labels, words)

    # --- reading ---------------------------------------------------------------------------------

    def ledger(self, tenant: str, conversation: str) -> Ledger:
        """Return a conversation's ledger, a new one if nothing was said in it yet."""
        with self.lock:
            found = self.ledgers.get((tenant, conversation))
            if found is None:
                numbers = (
                    self.numbers.of("tenant", tenant),
                    self.numbers.of("conversation", tenant, conversation),
                )
                found = self.ledgers[tenant, conversation] = Ledger(tenant, conversation, numbers)
            return found

    def owner(self, id_: int) -> Ledger:
        """Return the conversation that a message is in.

        Raises:
            NotFound: No message has that id.
        """
        if (found := self._owner.get(id_)) is None:
            raise NotFound(f"no message has id {id_}")
        return found

    def message(self, id_: int) -> messages.Message:
        """Read a message back.

        Raises:
            NotFound: No message has that id.
            StoreError: It could not be read.
        """
        return messages.loads(self.store.get(id_).payload)

    def text(self, id_: int) -> str:
        """Read what a message says; see `indexing.Source`."""
        dialect = self.owner(id_).dialect or "openai"
        return messages.text_of(self.message(id_), dialect)

    def count(self, text: str) -> int:
        """Count the tokens of a text."""
        return _core.count_text(text, self.encoding)[0]

    def key(self, id_: int) -> list[bytes]:
        """Return the key of a message's conversation; see `indexing.Source`."""
        ledger = self.owner(id_)
        return key_of(ledger.tenant, ledger.name)

    def neighbours(self, id_: int) -> tuple[int | None, int | None]:
        """Return the turns before and after in the same session; see `indexing.Source`."""
        with self.lock:
            ledger = self.owner(id_)
            return ledger.around(id_)

    def jobs(self) -> list[Job]:
        """Return every view of every message that has something to say."""
        jobs: list[Job] = []
        with self.lock:
            for ledger in self.ledgers.values():
                entries = [entry for entry in ledger.entries.values() if not entry.blank]
                jobs += [Job(entry.id, "turn") for entry in entries]
                jobs += [Job(entry.id, "context") for entry in entries if ledger.settled(entry.id)]
        return jobs

    def reembed(self, told: Callable[[int, int], None]) -> None:
        """Make all vectors anew with the given embedder.

        Raises:
            EmbedderError: It failed; the store's vectors are as they were.
        """
        if self.indexer is not None:
            self.indexer.renew(self.jobs, told)

    def entries(self, ids: Sequence[int]) -> list[Entry]:
        """Return the entries of messages, in the order of the ids."""
        return [self.owner(id_).entries[id_] for id_ in ids]

    def close(self, timeout: float) -> None:
        """Finish pending vectors within that many seconds, and close the store."""
        if self.indexer is not None:
            self.indexer.close(timeout)
        self.store.close()
