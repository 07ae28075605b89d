"""What a `Memory` stores besides conversations: memories, dropped turns, episodes."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from warmset import messages
from warmset._core import count_texts
from warmset.compact.distil import MEMORY_TYPES, MemoryType, clip
from warmset.compact.weights import is_number
from warmset.errors import InvalidInputError, NotFound
from warmset.evict.policies import at_least
from warmset.items.archive import Dropping, Episode, episode_of, restore
from warmset.items.cells import is_put
from warmset.items.dedupe import keep_novel, put
from warmset.items.index import item_index
from warmset.items.item import ORIGINS, Fresh, MemoryItem, item, named, says, type_of
from warmset.items.new import GIVEN
from warmset.items.pins import is_pinned, pins, set_pin
from warmset.options import CONFIDENCE, SHORTLIST
from warmset.receipts import Spooled

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.embed import Embedder
    from warmset.engine.engine import Engine
    from warmset.engine.handle import Handle
    from warmset.items.index import ItemIndex
    from warmset.items.item import Origin
    from warmset.messages import Message
    from warmset.options import Weights
    from warmset.store.derived import Made


_AUTOMATIC: Final = re.compile(r"memory:([0-9]{1,19})")


class Fitting(NamedTuple):
    """Memories that fit what is asked.

    Attributes:
        found: What was taken.
        matched: How many fit, whatever their similarity.
    """

    found: list[MemoryItem]
    matched: int


class Memories:
    """Memories, dropped turns and episodes of one tenant.

    Args:
        handle: The open store.
        weights: The weights of words and vectors in a search.
    """

    def __init__(self, handle: Handle, weights: Weights) -> None:
        self._handle = handle
        self._weights = weights

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
        """Store a memory; see `Memory.remember`."""
        engine = self._handle.live()
        _check_origin(origin, pinned)
        fresh = self._fresh(text, memory_type, confidence, meta)
        fresh = replace(fresh, origin=origin, pinned=pinned)
        if memory_id is not None:
            fresh = replace(fresh, memory_id=_name(memory_id, "memory_id"))
            if GIVEN.fullmatch(memory_id):
                raise InvalidInputError(
                    f"memory_id: {memory_id!r} is what an item without a name is called; "
                    "give another name"
                )
            if is_put(engine.log, self._handle.tenant, memory_id):
                raise InvalidInputError(f"memory_id: {memory_id!r:.80} is an item that was put")
        index = item_index(engine, self._handle.tenant, None)
        embedder, scope = _embedder(engine), _name(conversation)
        with index.lock:
            there = None if memory_id is None else index.by_name(memory_id)
            if there is None:
                kept = keep_novel(engine, index, [fresh], scope, embedder)
                if isinstance(kept, Spooled):
                    return kept
                [(there, new)] = kept
                return there if new or not pinned else self._pinned(index, there)
            if says(index.text(there)) == says(fresh.text):
                return self._pinned(index, there) if pinned else there
        raise InvalidInputError(
            f"memory_id: {memory_id!r:.80} is memory {there}, which has another text; "
            "replace that text with revise"
        )

    def _pinned(self, index: ItemIndex, id_: int) -> int | Spooled:
        """Pin a memory that is there already, and return its id."""
        kept = set_pin(self._handle.live(), index.refresh()[id_], pinned=True)
        return id_ if kept is None else kept

    def pin(self, memory_id: str | int, *, pinned: bool) -> Spooled | None:
        """Pin a memory, or take its pin off; see `Memory.pin`."""
        engine = self._handle.live()
        engine.must_write()
        index = item_index(engine, self._handle.tenant, None)
        with index.lock:
            there = index.refresh()
            if isinstance(memory_id, bool) or not isinstance(memory_id, (str, int)):
                raise InvalidInputError(f"memory_id: expected a name, found {memory_id!r:.80}")
            id_ = self._id_of(index, memory_id) if isinstance(memory_id, str) else memory_id
            if id_ is None or id_ not in there:
                raise NotFound(f"there is no memory {memory_id!r:.80}")
            return set_pin(engine, there[id_], pinned=pinned)

    def _id_of(self, index: ItemIndex, memory_id: str) -> int | None:
        """Return the id of the memory with a name, or with "memory:" and its id; None for none."""
        there = index.refresh()
        automatic = _AUTOMATIC.fullmatch(memory_id)
        id_ = index.by_name(memory_id) if automatic is None else int(automatic[1])
        if id_ not in there or (automatic is not None and named(there[id_]) is not None):
            return None
        return id_

    def _item(self, made: Made, text: str, tokens: int, score: float | None = None) -> MemoryItem:
        said = pins(self._handle.live(), made.tenant, [made.conversation])
        return item(made, text, tokens, score, pinned=is_pinned(made, said))

    def names(self) -> frozenset[str]:
        """Return the names that callers gave to memories."""
        there = item_index(self._handle.live(), self._handle.tenant, None).listed()
        return frozenset(filter(None, map(named, there)))

    def named(self, memory_id: str) -> MemoryItem | None:
        """Return the memory with a name, or with "memory:" and its id; None if there is none."""
        engine = self._handle.live()
        index = item_index(engine, self._handle.tenant, None)
        with index.lock:
            there, id_ = index.refresh(), self._id_of(index, memory_id)
            if id_ is None:
                return None
            text = index.text(id_)
            return self._item(there[id_], text, engine.count(text))

    def search(
        self,
        *,
        query: str | None = None,
        k: int = SHORTLIST,
        memory_type: MemoryType | None = None,
        conversation: str | None = None,
    ) -> list[MemoryItem]:
        """List memories, or search them by words and by vector; see `Memory.memories`."""
        at_least("k", k, 1)
        if query is not None and not isinstance(query, str):
            raise InvalidInputError(f"query: expected a text, found {query!r:.80}")
        query = None if query is None else self._handle.redactor.text(query)
        if memory_type is not None:
            _check_type(memory_type)
        return self.among(
            query,
            k=k,
            conversation=_name(conversation),
            fits=lambda one: memory_type in (None, type_of(one)),
        ).found

    def among(
        self,
        query: str | None,
        *,
        k: int,
        conversation: str | None,
        fits: Callable[[Made], bool],
    ) -> Fitting:
        """Return the memories that fit, best first, or the newest first without a question."""
        engine = self._handle.live()
        index = item_index(engine, self._handle.tenant, conversation)
        scores: dict[int, float] = {}
        with index.lock:
            if query is not None:
                weights = self._weights.dense, self._weights.lexical
                scores = index.search(query, _embedder(engine), weights)
            there = index.refresh()
            wanted = list(filter(fits, there.values()))
            if query is None:
                wanted.sort(key=lambda one: -one.id)
            else:
                wanted.sort(key=lambda one: (-scores.get(one.id, 0.0), one.id))
            texts = [index.text(one.id) for one in wanted[:k]]
            tokens = count_texts(texts, engine.encoding)
            found = zip(wanted, texts, tokens, strict=False)
            scopes = {one.conversation for one in wanted[:k]}
            said = pins(engine, self._handle.tenant, scopes)
            items = [
                item(one, text, count, scores.get(one.id), pinned=is_pinned(one, said))
                for one, text, count in found
            ]
            return Fitting(items, len(wanted))

    def revise(self, id_: int, text: str, /) -> int:
        """Replace the text of a memory; see `Memory.revise`."""
        engine = self._handle.live()
        index = item_index(engine, self._handle.tenant, None)
        with index.lock:
            there = index.refresh()
            if isinstance(id_, bool) or not isinstance(id_, int) or id_ not in there:
                raise NotFound(f"revise: no memory has id {id_!r:.80}")
            old = self._item(there[id_], index.text(id_), 0)
            memory_type = type_of(there[id_])
        fresh = self._fresh(text, memory_type, old.confidence, old.meta or None)
        if fresh.text == old.text:
            return id_
        fresh = replace(
            fresh,
            sources=old.sources,
            replaces=there[id_].hash,
            memory_id=named(there[id_]),
            origin=old.origin,
            pinned=old.pinned,
        )
        with index.lock:
            index.refresh()  # others may have stored the same meanwhile
            new = index.known_as(old.conversation, fresh.text)
            if new is None or new == id_ or fresh.memory_id is not None:
                draft = fresh.draft(self._handle.tenant, old.conversation, time.time())
                [new] = put(engine, [draft])
        engine.erase(records=[id_])
        return new

    def restore(self, handle: str, /) -> Message:
        """Return a turn that a compaction dropped, unchanged; see `Memory.restore`."""
        engine = self._handle.live()
        return restore(engine, self._handle.tenant, handle)

    def episodes(self, *, conversation: str | None = None) -> list[Episode]:
        """List past compactions, oldest first; see `Memory.episodes`."""
        engine = self._handle.live()
        with engine.lock:
            found = list(engine.derived.of("episode", self._handle.tenant, _name(conversation)))
        return [episode_of(one) for one in found if "figures" in one.fields]

    def keeper(self, conversation: str | None = None) -> Dropping:
        """Return the interface that `compact_context` uses for a memory or a conversation."""
        return Dropping(self._handle, conversation)

    def _fresh(
        self, text: object, memory_type: MemoryType, confidence: object, meta: object
    ) -> Fresh:
        """Check a memory, and return it redacted; a memory is cut only after that."""
        fresh, redactor = _checked(text, memory_type, confidence, meta), self._handle.redactor
        said = redactor.text(fresh.text)
        extra = None if fresh.meta is None else redactor.data(fresh.meta)
        redactor.note(self._handle.tenant, None, int(said != fresh.text or extra is not fresh.meta))
        if not said.strip():
            raise InvalidInputError("text: the redaction hook left nothing of it")
        return replace(fresh, text=clip(said), meta=extra)


def _embedder(engine: Engine) -> Embedder | None:
    return None if engine.indexer is None else engine.indexer.vectorizer.embedder


def _name(given: object, what: str = "conversation") -> str | None:
    if given is not None and (not isinstance(given, str) or not given):
        raise InvalidInputError(f"{what}: expected a name, found {given!r:.80}")
    return given


def _check_type(given: object) -> None:
    if not isinstance(given, str) or given not in MEMORY_TYPES:
        raise InvalidInputError(
            f"memory_type: expected one of {', '.join(MEMORY_TYPES)}, found {given!r}"
        )


def _check_origin(origin: object, pinned: object) -> None:
    if not isinstance(origin, str) or origin not in ORIGINS:
        raise InvalidInputError(
            f"origin: expected one of {', '.join(ORIGINS)}, found {origin!r:.80}"
        )
    if not isinstance(pinned, bool):
        raise InvalidInputError(f"pinned: expected True or False, found {pinned!r:.80}")
    if pinned and origin != "user":
        raise InvalidInputError(
            f'pinned: the origin is "{origin}"; only what a user said or you set yourself is '
            'pinned, which has the origin "user"'
        )


def _checked(text: object, memory_type: MemoryType, confidence: object, meta: object) -> Fresh:
    if not isinstance(text, str) or not text.strip():
        raise InvalidInputError(f"text: expected a text that is not blank, found {text!r:.80}")
    _check_type(memory_type)
    if not is_number(confidence) or not 0 <= confidence <= 1:
        raise InvalidInputError(f"confidence: expected 0 to 1, found {confidence!r}")
    if meta is not None and not isinstance(meta, Mapping):
        raise InvalidInputError(f"meta: expected a mapping, found {meta!r:.80}")
    given = cast("Mapping[str, Any] | None", meta)
    extra = None if given is None else messages.loads(messages.dumps(dict(given)))
    return Fresh(text=text, memory_type=memory_type, confidence=float(confidence), meta=extra)
