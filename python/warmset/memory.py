"""Virtual memory for a context window: stored conversations, and windows of the turns a call needs.

```text
message ─▶ units ─▶ count ─▶ append ─▶ embed ─▶ index ─▶ shortlist ─▶ pick ─▶ pack/evict ─▶ window
 PY         PY       RUST     RUST      PY       RUST     RUST         PY      RUST          PY
```

A memory owns its parts and passes each call on: `ingest.append` implements the first half of this
pipeline, `window.pipeline` the second half.
"""

from __future__ import annotations

import os
from dataclasses import asdict, fields
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Never, Self

from warmset import embed, engine, items as kept, prepare, retrieve, window
from warmset._support.aio import in_thread, twin
from warmset._support.ending import INTERRUPTED
from warmset._support.keywords import refuse_unknown, spelled_out
from warmset.conversation import Conversation
from warmset.errors import InvalidInputError, NotPortable
from warmset.memory_options import MemoryOptions, OpenKeywords
from warmset.options import (
    CLOSE_WAIT,
    CONFIDENCE,
    SEARCH_WAIT,
    SHORTLIST,
    Filter,
    Mode,
    Weights,
)
from warmset.store.options import StoreOptions
from warmset.text.timestamps import waiting_time
from warmset.window.options import WindowKeywords, WindowOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime
    from typing import Unpack

    from warmset.compact.distil import MemoryType
    from warmset.compact.keeper import Keeper
    from warmset.embed import Embedder
    from warmset.engine.engine import Engine
    from warmset.engine.handle import Handle
    from warmset.engine.redaction import Redactor
    from warmset.items.archive import Episode
    from warmset.items.item import MemoryItem, Origin
    from warmset.messages import Message, MessageLike
    from warmset.receipts import ErasureResult, Spooled
    from warmset.retrieve.hits import Found
    from warmset.state.ledger import Ledger
    from warmset.tokens.budget import Budget
    from warmset.window.result import Window

__all__ = ["Memory", "MemoryOptions", "OpenKeywords"]


class Memory:
    """Stores whole conversations and builds windows of the few turns that a call needs.

    Create one with `Memory.open`. Memories are thread-safe; all memories on one path in one process
    share one index.

    Attributes:
        tenant: The tenant whose conversations this memory sees.
    """

    def __init__(self, handle: Handle, options: MemoryOptions) -> None:
        weights = options.weights or Weights()
        self.tenant = handle.tenant
        self._handle = handle
        self._searcher = retrieve.Searcher(handle, weights)
        self._windows = window.Windows(
            handle,
            self._searcher,
            picker=options.picker,
            compaction=options.compaction,
            prepare=_summaries,
        )

    @classmethod
    @spelled_out(MemoryOptions, StoreOptions)
    def open(cls, path: str | PathLike[str] | None, **options: Unpack[OpenKeywords]) -> Self:
        """Open a store, or create it if it does not exist.

        Args:
            path: The store's directory; None keeps everything in memory and writes no file.
            options: The fields of `MemoryOptions` and of `StoreOptions`.

        Returns:
            The memory. Close it, or use it as a context manager.

        Raises:
            ModelMissing: The local model is not installed; the message names the command that
                installs it.
            Locked: Another process holds the store's lock.
            StoreError: The store could not be opened.
            InvalidInputError: An option is out of its range.
        """
        refuse_unknown(options, "open", MemoryOptions, StoreOptions)
        given, names = dict[str, Any](options), {field.name for field in fields(StoreOptions)}
        opening = StoreOptions(**{name: given.pop(name) for name in names & given.keys()})
        _check_path(path)
        made = MemoryOptions(**given)
        embedder = _embedder(made.embedder)
        leasing = engine.Leasing(
            path,
            embedder=embedder,
            opening=opening,
            encoding=made.encoding,
            describers=made.describers(),
        )
        try:
            return cls(engine.Handle(leasing.lease(), made.tenant, made.redactor()), made)
        except BaseException:
            leasing.give_back()
            raise

    @classmethod
    @spelled_out(MemoryOptions, StoreOptions)
    async def aopen(cls, path: str | PathLike[str] | None, **options: Unpack[OpenKeywords]) -> Self:
        """Run `open` in a thread; the same arguments, result and errors."""
        return await in_thread(cls.open, path, **options)

    # --- conversations and their windows ---------------------------------------------------------

    def conversation(self, id_: str, /) -> Conversation:
        """Return the conversation with a name; it is created with its first message.

        Raises:
            InvalidInputError: The name is empty or not a string.
        """
        if not isinstance(id_, str) or not id_:
            raise InvalidInputError(f"conversation: expected a name, found {id_!r}")
        return Conversation(id_, self._handle, self._searcher, self._windows)

    def conversations(self) -> list[str]:
        """Return the names of this tenant's conversations, in the order of their first messages."""
        return self._handle.live().conversations(self.tenant)

    @spelled_out(WindowOptions)
    def process(
        self,
        messages: Sequence[MessageLike],
        *,
        conversation: str,
        budget: int | Budget,
        mode: Mode = "auto",
        at: datetime | float | str | None = None,
        **options: Unpack[WindowKeywords],
    ) -> Window:
        """Store the new messages of a full list and build the window for the next call.

        Calls `Conversation.sync`, then `Conversation.window`, and raises their errors. For callers
        that hold the whole list of messages. The window is of this list also where other threads or
        processes store other lists of the conversation at the same time; threads take turns.

        Args:
            messages: All messages of the conversation.
            conversation: The conversation's name.
            budget: The most tokens that the call's input may have, or a `Budget`.
            mode: How the window is built; see `Conversation.window`. Unlike there, "auto" is the
                default, because each list that is made here is sent.
            at: The time of the new messages; see `Conversation.append`.
            options: The fields of `WindowOptions`.

        Returns:
            The window.

        Raises:
            ConversationBusy: The conversation changed each time while the window was built.
        """
        build = partial(self.conversation(conversation).window, budget=budget, mode=mode, **options)
        expect = partial(self._windows.expect, conversation, budget, mode, options)
        return window.window_of_list(self._handle, conversation, messages, at, expect, build)

    def search(
        self,
        query: str,
        *,
        query_vector: object | None = None,
        k: int = SHORTLIST,
        where: Filter | None = None,
        wait: float = SEARCH_WAIT,
    ) -> Found:
        """Search all of the tenant's conversations.

        Args:
            query: The question.
            query_vector: The query's vector, shape (dim,); the query is then not embedded.
            k: The number of hits.
            where: Which messages may be found. Messages on abandoned branches are found only with
                `Filter(branches=True)`.
            wait: Seconds to wait for a remote embedder, and for turns that are still being
                embedded.

        Returns:
            The hits, best first, ties by id; `by` is "fused" if vectors were searched, else
            "lexical".

        Raises:
            InvalidInputError: `k`, the vector or the filter is invalid.
            EmbedderMismatch: The embedder did not make the store's vectors. One that fails is no
                error: the search is by words alone, and `Found.why` names the reason.
        """
        return self._searcher.search(query, query_vector=query_vector, k=k, where=where, wait=wait)

    def remember(
        self,
        text: str,
        *,
        memory_type: MemoryType = "fact",
        memory_id: str | None = None,
        confidence: float = CONFIDENCE,
        conversation: str | None = None,
        meta: Mapping[str, Any] | None = None,
        origin: Origin = "user",
        pinned: bool = False,
    ) -> int | Spooled:
        """Store a memory: a short text that can be found by its words and its vector.

        Stored memories count towards the coverage in `compact_context`. The same fact is not stored
        twice: a text is a duplicate of a stored memory if it differs only in case or punctuation,
        or if their cosine is at least 0.95 and their numbers, paths and names are the same.

        Args:
            text: The text; only its first 600 characters are stored, after redaction.
            memory_type: "correction", "preference", "habit", "decision", "fact" or "episode".
            memory_id: Your own name for it; "memory:" and its id if not given. A memory with a name
                is stored even if another memory says the same.
            confidence: How certain the text is, from 0 to 1.
            conversation: The conversation that it belongs to and is erased with; None for a memory
                that all of the tenant's conversations share.
            meta: Your own fields, plain JSON.
            origin: Whose words these are: "user" for what a user said or you set yourself,
                "assistant", "tool", "import" or "web". A memory with the words of the less trusted
                does not stand for the same words of the more trusted.
            pinned: Whether every window shows it; see `pin`. The origin must be "user".

        Returns:
            The id of the new memory, or of the memory that it duplicates. `Spooled` if another
            process held the store's lock and the store was opened with `on_busy="spool"`: the
            memory is durable and gets its id when the next writer appends it.

        Raises:
            InvalidInputError: An argument is out of its range.
            EmbedderError: The embedder failed; nothing was stored.
            RedactionError: The redaction hook failed; nothing was stored.
            StoreError: The memory could not be stored.
        """
        return self._memories.remember(
            text,
            memory_type=memory_type,
            memory_id=memory_id,
            confidence=confidence,
            conversation=conversation,
            meta=meta,
            origin=origin,
            pinned=pinned,
        )

    def pin(self, memory_id: str | int, /) -> Spooled | None:
        """Have every window show a memory, from the next exchange of each conversation on.

        Pinned memories stand before the conversation's messages, quoted as data; in the system
        prompt only with the option `pinned_role="system"` of a window. A memory that belongs to a
        conversation is shown in its windows alone.

        Args:
            memory_id: The memory's name, or its id.

        Returns:
            None. `Spooled` if another process held the store's lock and the store was opened with
            `on_busy="spool"`.

        Raises:
            NotFound: This tenant has no such memory.
            InvalidInputError: Its origin is an assistant, a tool, an import or the web, or not
                known: only what a user said or you set yourself is pinned.
            ReadOnly: The memory was opened with mode "read".
            StoreError: It could not be stored.
        """
        return self._memories.pin(memory_id, pinned=True)

    def unpin(self, memory_id: str | int, /) -> Spooled | None:
        """Take the pin off a memory; see `pin`.

        It is then shown where a request asks for it, as any other.
        """
        return self._memories.pin(memory_id, pinned=False)

    def memories(
        self,
        *,
        query: str | None = None,
        k: int = SHORTLIST,
        memory_type: MemoryType | None = None,
        conversation: str | None = None,
    ) -> list[MemoryItem]:
        """List memories, or search them by words and by vector.

        Args:
            query: The question that they should answer; without it, the newest come first.
            k: The number of memories.
            memory_type: Only those of this type.
            conversation: Only those of this conversation, and those that belong to no conversation.

        Returns:
            The memories, best first, ties by id.

        Raises:
            InvalidInputError: An argument is out of its range.
            EmbedderError: The embedder failed.
        """
        return self._memories.search(
            query=query, k=k, memory_type=memory_type, conversation=conversation
        )

    def revise(self, id_: int, text: str, /) -> int:
        """Replace the text of a memory; the old text is erased from the store's files.

        Args:
            id_: The memory's id.
            text: The new text.

        Returns:
            The memory's new id. Its type, confidence, conversation, sources, origin and fields stay
            the same, and it stays pinned.

        Raises:
            NotFound: This tenant has no memory with that id.
            InvalidInputError: The text is blank or not a string.
            StoreError: The new text could not be stored, or the old one not erased.
        """
        return self._memories.revise(id_, text)

    def restore(self, handle: str, /) -> Message:
        """Return a turn that a compaction dropped, as it was stored.

        Args:
            handle: The turn's `DroppedMessage.handle`.

        Returns:
            The message; its JSON is byte for byte that of the dropped message, but for what
            redaction left out before it was stored.

        Raises:
            NotFound: This tenant has no such handle.
            Erased: The turn was erased.
            StoreError: The turn could not be read.
        """
        return self._memories.restore(handle)

    def episodes(self, *, conversation: str | None = None) -> list[Episode]:
        """List past compactions, oldest first.

        These are runs of `compact_context` and events of a `PreparedCompaction`'s summaries;
        `Episode.what` tells them apart.

        Args:
            conversation: Only those of this conversation.

        Returns:
            The episodes, each with its figures.

        Raises:
            InvalidInputError: The conversation's name is empty or not a string.
        """
        return self._memories.episodes(conversation=conversation)

    def stats(self) -> dict[str, Any]:
        """Return statistics of the store and the index.

        Returns:
            Messages and conversations of the tenant; records, bytes, segments and rows; the
            instruction set and the embedder in use; turns pending, ready and failed; the incomplete
            writes that opening the store cut off, and its damaged records; whether the index was
            opened from its file, and if not, why; the messages and `<private>` texts that this
            memory redacted; the prepared summaries that were ready and not shown so far.
        """
        there = self._handle.live()
        with there.lock:
            shown = engine.figures(there, self.tenant)
            unused = prepare.unused_of(there, self.tenant)
        redacted = asdict(self._handle.redactor.counts)
        return {**shown, "redacted": redacted, "unused_summaries": asdict(unused)}

    def reembed(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Embed everything again with this handle's embedder, which becomes the store's embedder.

        The old vectors stay in use until the last new one is stored, so an interrupted run changes
        nothing.

        Args:
            progress: Called with the number of embeddings done so far and the total number.

        Raises:
            InvalidInputError: This handle has no embedder: it searches by words alone.
            EmbedderError: The embedder failed.
        """
        self._handle.live().reembed(progress or (lambda _done, _total: None))

    def rebuild_index(self) -> None:
        """Rebuild the index from the store's records, and write its file again.

        The file is a cache that is checked when it is opened. Call this if it turns out later that
        the file is damaged (`IndexDamaged`).

        Raises:
            StoreError: The store could not be read.
        """
        self._handle.live().rebuild_index()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until every turn is embedded, and described; what failed is retried.

        Args:
            timeout: The most seconds to wait; None waits without a limit.

        Returns:
            Whether every turn is embedded and described; `stats()` has the numbers of turns that
            are not.

        Raises:
            InvalidInputError: The timeout is no number of seconds.
        """
        seconds = None if timeout is None else waiting_time(timeout, "timeout")
        return self._handle.live().flush(seconds)

    def paused(self) -> AbstractContextManager[object]:
        """Pause the embedding of turns; turns appended meanwhile are embedded afterwards.

        Use it for imports whose ids must be the same every time: records of vectors take ids, too.

        Returns:
            A context manager; embedding resumes at its end.
        """
        return self._handle.live().paused()

    def erase(
        self, *, conversation: str | None = None, ids: Iterable[int] | None = None
    ) -> ErasureResult:
        """Erase a conversation, or some messages and memories, and everything derived from them.

        When this returns, no process can find or read them, and no file of the store contains their
        bytes. Windows that were built before are not changed.

        Args:
            conversation: The name of a conversation to erase as a whole; the side chains of a
                session that was imported go with it.
            ids: Ids of messages, memories or episodes. A branch that began at an erased message
                then continues from the messages before it.

        Returns:
            The numbers of erased records, of erased records that were derived from them, and of
            removed encryption keys.

        Raises:
            NotFound: This tenant has no message and no memory with that id.
            InvalidInputError: Neither or both arguments were given, or one is not a name or not
                ids.
            StoreError: They could not be erased. If the error occurred while the files were
                rewritten, they are erased nevertheless, and the next call removes their bytes.
        """
        return kept.erase(self._handle.live(), self.tenant, conversation=conversation, ids=ids)

    def close(self, *, timeout: float = CLOSE_WAIT) -> None:
        """Close this handle; the last one on a path embeds pending turns and closes the store.

        A `with` block that an exception leaves does not wait for pending vectors.

        Args:
            timeout: Seconds to wait for pending vectors and what else is being made, in all; the
                rest is made after the next open.

        Raises:
            InvalidInputError: The timeout is no number of seconds.
        """
        self._handle.close(waiting_time(timeout, "timeout"))

    # --- asynchronous twins ----------------------------------------------------------------------

    aconversations = twin(conversations)
    aprocess = twin(process)
    asearch = twin(search)
    aremember = twin(remember)
    apin = twin(pin)
    aunpin = twin(unpin)
    amemories = twin(memories)
    arevise = twin(revise)
    arestore = twin(restore)
    aepisodes = twin(episodes)
    astats = twin(stats)
    areembed = twin(reembed)
    arebuild_index = twin(rebuild_index)
    aflush = twin(flush)
    aerase = twin(erase)
    aclose = twin(close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_exc: object) -> None:
        self.close(timeout=_patience(kind))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_exc: object) -> None:
        await self.aclose(timeout=_patience(kind))

    def __reduce__(self) -> Never:
        """Refuse to be copied or pickled.

        Raises:
            NotPortable: Always.
        """
        raise NotPortable(
            "a Memory is not copied or pickled; pass its path, and open it where it is needed"
        )

    def __repr__(self) -> str:
        return f"Memory({self._handle!r})"

    def __warmset_keeper__(self) -> Keeper:
        """Return the interface that `compact_context` uses to read and write this memory."""
        return self._memories.keeper()

    def __warmset_engine__(self) -> Engine:
        """Return the open store, up to date, for what serves memories.

        Raises:
            Closed: The memory was closed.
            StoreError: The store could not be read.
        """
        return self._handle.live()

    def __warmset_compaction__(self) -> window.CompactionPolicy | None:
        """Return what prepares the summaries of its windows, for adapters; None for none."""
        return self._windows.compaction

    def __warmset_redactor__(self) -> Redactor:
        """Return what every text passes through before it is stored, for what imports texts."""
        return self._handle.redactor

    @property
    def items(self) -> kept.Items:
        """What competes for a window: items that are put, memories and messages."""
        return self._items

    @cached_property
    def _items(self) -> kept.Items:
        return kept.Items(self._handle, self._memories, self._searcher, self._searcher.weights)

    @cached_property
    def _memories(self) -> kept.Memories:
        return kept.Memories(self._handle, self._searcher.weights)

    @property
    def _engine(self) -> Engine:
        """The store and its index, shared with other memories on the path."""
        return self._handle.engine


def _summaries(there: Engine, ledger: Ledger, policy: window.CompactionPolicy) -> window.Summaries:
    return prepare.summaries_of(there, ledger, policy)


def _patience(kind: type[BaseException] | None) -> float:
    """Return the seconds that pending vectors get when a `with` block ends, by its exception."""
    if kind is not None and issubclass(kind, KeyboardInterrupt):
        INTERRUPTED.set()
    ends = kind is None or issubclass(kind, (SystemExit, GeneratorExit))
    return CLOSE_WAIT if ends else 0.0


def _check_path(path: object) -> None:
    if path is None:
        return
    name = os.fspath(path) if isinstance(path, (str, PathLike)) else None
    try:
        fits = isinstance(name, str) and b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        fits = False
    if not fits:
        raise InvalidInputError(f"path: expected a directory's name or None, found {path!r}")


def _embedder(given: Embedder | Callable[[list[str]], object] | str | None) -> Embedder | None:
    if given == "lexical":
        return None
    if given is not None and not isinstance(given, str):
        return embed.as_embedder(given)
    name = "minilm" if given is None else given
    if not embed.watched():
        return embed.named(name)
    with embed.Bars() as shown:
        return embed.named(name, progress=shown)
