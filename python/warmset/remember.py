"""What a memory keeps beside conversations: facts of its own, dropped turns, compactions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from warmset import messages
from warmset.compact.distil import MEMORY_KINDS, MemoryKind, clip
from warmset.compact.weights import is_number
from warmset.config import SHORTLIST
from warmset.dropped import Dropping, Episode, episode_of, restore
from warmset.errors import InvalidInputError, NotFound
from warmset.evict.policies import at_least
from warmset.memories import Fresh, MemoryItem, item
from warmset.novel import keep_novel, put
from warmset.shelf import shelf_of
from warmset.threads import twin

if TYPE_CHECKING:
    from warmset.config import Weights
    from warmset.embed import Embedder
    from warmset.engine import Engine
    from warmset.messages import Message

CONFIDENCE: Final = 0.75
"""How sure a memory is of which the caller says nothing."""


class _Holder(Protocol):
    """What `Held` has."""

    tenant: str
    _weights: Weights

    @property
    def engine(self) -> Engine: ...

    def check_open(self) -> None: ...


class Remembering:
    """Memories, dropped turns and episodes of a tenant; a base of `Memory`."""

    def remember(
        self: _Holder,
        text: str,
        *,
        kind: MemoryKind = "fact",
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
            kind: "correction", "preference", "habit", "decision", "fact" or "episode".
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
        self.check_open()
        fresh = _fresh(text, kind, confidence, meta)
        shelf = shelf_of(self.engine, self.tenant, None)
        embedder = _embedder(self.engine)
        return keep_novel(self.engine, shelf, [fresh], _name(conversation), embedder)[0][0]

    def memories(
        self: _Holder,
        *,
        query: str | None = None,
        k: int = SHORTLIST,
        kind: MemoryKind | None = None,
        conversation: str | None = None,
    ) -> list[MemoryItem]:
        """List memories, or search them by words and by vector.

        Args:
            query: What they are to answer; without it, the newest come first.
            k: How many.
            kind: Only those of this kind.
            conversation: Only those of this conversation, and those of none.

        Returns:
            The memories, best first, ties by id.

        Raises:
            InvalidInputError: An argument is out of its range.
            EmbedderError: The embedder failed.
        """
        self.check_open()
        at_least("k", k, 1)
        if query is not None and not isinstance(query, str):
            raise InvalidInputError(f"query: expected a text, found {query!r:.80}")
        if kind is not None:
            _check_kind(kind)
        shelf = shelf_of(self.engine, self.tenant, _name(conversation))
        scores: dict[int, float] = {}
        with shelf.lock:
            if query is not None:
                weights = self._weights.dense, self._weights.lexical
                scores = shelf.search(query, _embedder(self.engine), weights)
            there = shelf.look()
            wanted = [one for one in there.values() if kind in (None, one.fields.get("kind"))]
            if query is None:
                wanted.sort(key=lambda one: -one.id)
            else:
                wanted.sort(key=lambda one: (-scores.get(one.id, 0.0), one.id))
            return [item(one, shelf.text(one.id), scores.get(one.id)) for one in wanted[:k]]

    def revise(self: _Holder, id_: int, text: str, /) -> int:
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
        self.check_open()
        shelf = shelf_of(self.engine, self.tenant, None)
        with shelf.lock:
            there = shelf.look()
            if isinstance(id_, bool) or not isinstance(id_, int) or id_ not in there:
                raise NotFound(f"revise: no memory has id {id_!r:.80}")
            old = item(there[id_], shelf.text(id_))
        fresh = _fresh(text, old.kind, old.confidence, old.meta or None)
        if fresh.text == old.text:
            return id_
        fresh = replace(fresh, sources=old.sources, replaces=there[id_].hash)
        new = shelf.known_as(old.conversation, fresh.text)
        if new is None or new == id_:
            [new] = put(self.engine, [fresh.draft(self.tenant, old.conversation, time.time())])
        self.engine.erase(records=[id_])
        return new

    def restore(self: _Holder, handle: str, /) -> Message:
        """Give a turn back that a compaction dropped, as it was.

        Args:
            handle: What `Drop.handle` says.

        Returns:
            The message; written as JSON it is the same bytes.

        Raises:
            NotFound: It is no handle of this tenant.
            Erased: The turn was erased.
            StoreError: It could not be read.
        """
        self.check_open()
        return restore(self.engine, self.tenant, handle)

    def episodes(self: _Holder, *, conversation: str | None = None) -> list[Episode]:
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
        self.check_open()
        with self.engine.lock:
            found = list(self.engine.derived.of("episode", self.tenant, _name(conversation)))
        return [episode_of(one) for one in found if "figures" in one.fields]

    def keeper(self: _Holder) -> Dropping:
        """Return what `compact_context` asks of a memory."""
        self.check_open()
        return Dropping(self.engine, self.tenant, None)

    aremember = twin(remember)
    amemories = twin(memories)
    arestore = twin(restore)


def _embedder(engine: Engine) -> Embedder | None:
    return None if engine.indexer is None else engine.indexer.vectorizer.embedder


def _name(conversation: object) -> str | None:
    if conversation is not None and (not isinstance(conversation, str) or not conversation):
        raise InvalidInputError(f"conversation: expected a name, found {conversation!r:.80}")
    return conversation


def _check_kind(kind: object) -> None:
    if not isinstance(kind, str) or kind not in MEMORY_KINDS:
        raise InvalidInputError(f"kind: expected one of {', '.join(MEMORY_KINDS)}, found {kind!r}")


def _fresh(text: object, kind: MemoryKind, confidence: object, meta: object) -> Fresh:
    if not isinstance(text, str) or not text.strip():
        raise InvalidInputError(f"text: expected a text that says something, found {text!r:.80}")
    _check_kind(kind)
    if not is_number(confidence) or not 0 <= confidence <= 1:
        raise InvalidInputError(f"confidence: expected 0 to 1, found {confidence!r}")
    if meta is not None and not isinstance(meta, Mapping):
        raise InvalidInputError(f"meta: expected a mapping, found {meta!r:.80}")
    given = cast("Mapping[str, Any] | None", meta)
    extra = None if given is None else messages.loads(messages.dumps(dict(given)))
    return Fresh(text=clip(text), kind=kind, confidence=float(confidence), meta=extra)
