"""Virtual memory for the context window: conversations, and windows of the turns a call needs.

```text
message ─▶ units ─▶ count ─▶ append ─▶ embed ─▶ index ─▶ shortlist ─▶ pick ─▶ pack/evict ─▶ window
 PY         PY       RUST     RUST      PY       RUST     RUST         PY      RUST          PY
```

A memory owns its parts and hands each call on: `ingest.append` goes the first half of the way,
`window.pipeline` the second half, top to bottom.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from warmset import embed, engine, items, prepare, retrieve, window
from warmset._aio import twin
from warmset._keywords import spelled_out
from warmset.conversation import Conversation
from warmset.errors import InvalidInputError
from warmset.options import CONFIDENCE, SEARCH_WAIT, SHORTLIST, Filter, Mode, Weights
from warmset.store.options import StoreKeywords, StoreOptions
from warmset.window.options import WindowKeywords, WindowOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Unpack

    from warmset.compact.distil import MemoryType
    from warmset.compact.keeper import Keeper
    from warmset.embed import Embedder
    from warmset.engine.engine import Engine
    from warmset.engine.handle import Handle
    from warmset.items.archive import Episode
    from warmset.items.item import MemoryItem
    from warmset.messages import Message
    from warmset.pick import Picker
    from warmset.prepare import PreparedCompaction
    from warmset.receipts import ErasureResult
    from warmset.retrieve.hits import Found
    from warmset.state.ledger import Ledger
    from warmset.tokens.budget import Budget
    from warmset.window.result import Window


class OpenKeywords(StoreKeywords, total=False):
    """`MemoryOptions` and `StoreOptions` as keyword arguments."""

    embedder: Embedder | Callable[[list[str]], object] | str | None
    tenant: str
    encoding: str
    weights: Weights | None
    picker: Picker | None
    compaction: PreparedCompaction | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOptions:
    """Who reads and writes a store, beside how it is opened (`StoreOptions`).

    Args:
        embedder: What makes vectors: an `Embedder`, a function of a list of texts, or a name:
            "minilm" (what None means), "static" for the fast local table, "openai", "cohere" or
            "voyage", which may have a model ("voyage:voyage-3.5"), or "lexical" to search by words
            alone.
        tenant: Whose conversations this handle sees; nothing crosses tenants.
        encoding: The vocabulary that tokens are counted with.
        weights: How much each signal of the retriever counts.
        picker: Chooses among the shortlist; without one the score does.
        compaction: Has summaries ready for windows of modes "jit" and "full".

    Raises:
        InvalidInputError: An option has the wrong type.
    """

    embedder: Embedder | Callable[[list[str]], object] | str | None = None
    tenant: str = "default"
    encoding: str = "o200k_base"
    weights: Weights | None = None
    picker: Picker | None = None
    compaction: PreparedCompaction | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.encoding, str):
            raise InvalidInputError(f"encoding: expected a name, found {self.encoding!r}")
        if not isinstance(self.tenant, str) or not self.tenant:
            raise InvalidInputError(f"tenant: expected a name, found {self.tenant!r}")
        if self.compaction is not None:
            prepare.policy_of(self.compaction)


class Memory:
    """Conversations that are kept whole, and windows that hold the few turns that a call needs.

    Use `Memory.open`. Memories are thread-safe; all memories on one path in one process share one
    index.

    Attributes:
        tenant: Whose conversations this memory sees.
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
        """Open a store, or make a new one.

        Args:
            path: The store's directory; None keeps everything in memory.
            options: The fields of `MemoryOptions` and of `StoreOptions`.

        Returns:
            The memory. Close it, or use it as a context manager.

        Raises:
            ModelMissing: There is no local model; the message names the command that gets it.
            Locked: Another process keeps the store busy.
            StoreError: The store could not be opened.
            InvalidInputError: An option is out of its range.
        """
        given, names = dict[str, Any](options), {field.name for field in fields(StoreOptions)}
        opening = StoreOptions(**{name: given.pop(name) for name in names & given.keys()})
        _check_path(path)
        made = MemoryOptions(**given)
        embedder = _embedder(made.embedder)
        share = engine.lease(path, embedder=embedder, opening=opening, encoding=made.encoding)
        return cls(engine.Handle(share, made.tenant), made)

    @classmethod
    @spelled_out(MemoryOptions, StoreOptions)
    async def aopen(cls, path: str | PathLike[str] | None, **options: Unpack[OpenKeywords]) -> Self:
        """Run `open` in a thread; the same arguments, result and errors."""
        return await twin(cls.open)(path, **options)

    # --- conversations and their windows ---------------------------------------------------------

    def conversation(self, id_: str, /) -> Conversation:
        """Return a conversation by its name; it begins to exist with its first message.

        Raises:
            InvalidInputError: The name is empty or no text.
        """
        if not isinstance(id_, str) or not id_:
            raise InvalidInputError(f"conversation: expected a name, found {id_!r}")
        return Conversation(id_, self._handle, self._searcher, self._windows)

    def conversations(self) -> list[str]:
        """Return the names of this tenant's conversations, in the order in which they began."""
        return self._handle.live().conversations(self.tenant)

    @spelled_out(WindowOptions)
    def process(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        conversation: str,
        budget: int | Budget,
        mode: Mode = "jit",
        **options: Unpack[WindowKeywords],
    ) -> Window:
        """Keep what is new of a full list, and make the window of the next call.

        For callers that send whole lists: `Conversation.sync`, then `Conversation.window`, with
        their errors.

        Args:
            messages: All messages of the conversation.
            conversation: The conversation's name.
            budget: Tokens that the call's input may have, or a `Budget`.
            mode: How the window is made; see `Conversation.window`.
            options: The fields of `WindowOptions`.

        Returns:
            The window.
        """
        one = self.conversation(conversation)
        one.sync(messages)
        return one.window(budget=budget, mode=mode, **options)

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
            query_vector: Its vector, shape (dim,), instead of embedding it.
            k: Number of hits.
            where: Which messages may be found; those that a branch left behind only if it says so.
            wait: Seconds to wait for a remote embedder, and for turns that are still being
                embedded.

        Returns:
            Hits, best first, ties by id; `by` tells whether vectors took part.

        Raises:
            InvalidInputError: `k`, the vector or the filter is not usable.
            EmbedderError: The embedder failed, or is not the one of the store's vectors.
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
    ) -> int:
        """Keep a memory: a short text that is found by its words and its vector.

        What is known counts for the coverage of `compact_context`. The same fact is not kept twice:
        a text that differs in case or punctuation alone, or whose cosine is 0.95 and more with the
        same numbers, paths and names, is the memory that there is.

        Args:
            text: What is to be known; the first 600 characters of it.
            memory_type: "correction", "preference", "habit", "decision", "fact" or "episode".
            memory_id: Your own name for it, "memory:" and its id if not given. A memory with a name
                is kept although another one says the same.
            confidence: How sure it is, 0 to 1.
            conversation: The conversation that it belongs to, and is erased with; None for all.
            meta: Your own fields, plain JSON.

        Returns:
            Its id, or that of the memory that says the same.

        Raises:
            InvalidInputError: An argument is out of its range.
            EmbedderError: The embedder failed; nothing was kept.
            StoreError: It could not be kept.
        """
        return self._memories.remember(
            text,
            memory_type=memory_type,
            memory_id=memory_id,
            confidence=confidence,
            conversation=conversation,
            meta=meta,
        )

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
            query: What they are to answer; without it, the newest come first.
            k: How many.
            memory_type: Only those of this type.
            conversation: Only those of this conversation, and those of none.

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
        """Give a memory another wording; the old one is erased, byte for byte.

        Args:
            id_: The memory's id.
            text: What it is to say.

        Returns:
            Its new id; kind, confidence, conversation, sources and fields are as they were.

        Raises:
            NotFound: This tenant has no memory with that id.
            InvalidInputError: The text is blank or no text.
            StoreError: It could not be kept, or the old one could not be erased.
        """
        return self._memories.revise(id_, text)

    def restore(self, handle: str, /) -> Message:
        """Give a turn back that a compaction dropped, as it was.

        Args:
            handle: What `DroppedMessage.handle` says.

        Returns:
            The message; written as JSON it is the same bytes.

        Raises:
            NotFound: It is no handle of this tenant.
            Erased: The turn was erased.
            StoreError: It could not be read.
        """
        return self._memories.restore(handle)

    def episodes(self, *, conversation: str | None = None) -> list[Episode]:
        """List what compactions did, oldest first.

        Runs of `compact_context`, and what became of summaries of a `PreparedCompaction`: "what"
        tells which.

        Args:
            conversation: Only those of this conversation.

        Returns:
            The runs, each with its figures.

        Raises:
            InvalidInputError: The name is none.
        """
        return self._memories.episodes(conversation=conversation)

    def stats(self) -> dict[str, Any]:
        """Return figures of the store and the index.

        Returns:
            Messages and conversations of the tenant; records, bytes, segments and rows; the
            instruction set and the embedder in use; turns pending, ready and failed; what opening
            cut off, and what is damaged; whether the index was opened from its file, and why if
            not.
        """
        there = self._handle.live()
        with there.lock:
            return engine.figures(there, self.tenant)

    def reembed(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Make all vectors anew with this handle's embedder, and make it the store's embedder.

        Until the last vector is kept the old ones count, so an interrupted run changes nothing.

        Args:
            progress: Is called with what is done and what there is to do.

        Raises:
            InvalidInputError: This handle searches by words alone.
            EmbedderError: The embedder failed.
        """
        self._handle.live().reembed(progress or (lambda _done, _total: None))

    def rebuild_index(self) -> None:
        """Make the index anew from the records, and its file from the index.

        The file is a cache, checked when it is opened: this is for one that turns out to be damaged
        later (`IndexDamaged`).

        Raises:
            StoreError: The store could not be read.
        """
        self._handle.live().rebuild_index()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until every turn has its vectors, trying again what failed.

        Args:
            timeout: Seconds to wait at most; None waits as long as it takes.

        Returns:
            Whether every turn has them; `stats()` tells what is pending or failed.
        """
        return self._handle.live().flush(timeout)

    def paused(self) -> AbstractContextManager[object]:
        """Let no vectors be made meanwhile; what was appended is embedded afterwards.

        For imports whose ids have to be the same every time: records of vectors take ids too.

        Returns:
            A context manager.
        """
        return self._handle.live().paused()

    def erase(
        self, *, conversation: str | None = None, ids: Iterable[int] | None = None
    ) -> ErasureResult:
        """Erase a conversation, or some messages and memories, and what was made from them.

        When this returns, nobody finds them any more, in any process, and no file of the store has
        a byte of them. Windows that were made before are not called back.

        Args:
            conversation: The conversation's name; all of it goes.
            ids: Ids of messages, memories or episodes. A branch that began at a message continues
                the path that is left.

        Returns:
            How many messages went, how many records that were made from them, and how many keys.

        Raises:
            NotFound: This tenant has no message and no memory with that id.
            InvalidInputError: Neither or both were given, or what is no name or no ids.
            StoreError: They could not be erased. After an error while the files were written anew
                they are erased all the same, and the next call removes their bytes.
        """
        return items.erase(self._handle.live(), self.tenant, conversation=conversation, ids=ids)

    def close(self, *, timeout: float = 30.0) -> None:
        """Close this handle; the last one on a path finishes pending vectors and closes the store.

        Args:
            timeout: Seconds to give the pending vectors; what is left is made at the next open.
        """
        self._handle.close(timeout)

    # --- asynchronous twins ----------------------------------------------------------------------

    aconversations = twin(conversations)
    aprocess = twin(process)
    asearch = twin(search)
    aremember = twin(remember)
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

    def __exit__(self, *_exc: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"Memory({self._handle!r})"

    def __warmset_keeper__(self) -> Keeper:
        """Return what `compact_context` asks of a memory."""
        return self._memories.keeper()

    @cached_property
    def _memories(self) -> items.Memories:
        return items.Memories(self._handle, self._searcher.weights)

    @property
    def _engine(self) -> Engine:
        """The store and its index, shared with other memories on the path."""
        return self._handle.engine


def _summaries(there: Engine, ledger: Ledger, policy: window.CompactionPolicy) -> window.Summaries:
    return prepare.summaries_of(there, ledger, policy)


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
