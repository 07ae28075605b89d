"""Messages and memories as items: they lie in the store already, and are not copied."""

from __future__ import annotations

import heapq
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from warmset import messages
from warmset.compact.distil import MEMORY_TYPES
from warmset.errors import Erased, InvalidInputError, NotFound
from warmset.items.item import MemoryItem, made_at, name_of, type_of
from warmset.options import SEARCH_WAIT, Filter
from warmset.store.records import TurnMeta

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from warmset.engine.engine import Engine
    from warmset.engine.handle import Handle
    from warmset.items.ask import Ask
    from warmset.items.item import Origin
    from warmset.items.memories import Memories
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger

MESSAGE: Final = "conversation"
"""The type of messages."""

_TURN: Final = re.compile(r"turn:([0-9]{1,19})")
_ORIGINS: Final[dict[str, Origin]] = {"assistant": "assistant", "tool": "tool", "function": "tool"}


class Ranked(Protocol):
    """What a search found."""

    ids: list[int]
    scores: list[float]


class Searches(Protocol):
    """Searches the messages of a tenant."""

    def search(
        self, query: str, *, k: int, where: Filter | None = None, wait: float = SEARCH_WAIT
    ) -> Ranked:
        """Return the messages that a question finds; see `Memory.search`."""
        ...


class Existing:
    """The messages and memories of one tenant, as items.

    Args:
        handle: The open store.
        memories: The memories.
        searcher: What searches the messages.
    """

    def __init__(self, handle: Handle, memories: Memories, searcher: Searches) -> None:
        self._handle = handle
        self._memories = memories
        self._searcher = searcher

    def get(self, memory_id: object) -> MemoryItem | None:
        """Return the message or the memory with a name; None if there is none."""
        if not isinstance(memory_id, str):
            raise InvalidInputError(f"memory_id: expected a name, found {memory_id!r:.80}")
        found = _TURN.fullmatch(memory_id)
        if found is None:
            return self._memories.named(memory_id)
        engine, id_ = self._handle.engine, int(found[1])
        with engine.lock:
            if not engine.knows(id_) or engine.owner(id_).tenant != self._handle.tenant:
                return None
            ledger = engine.owner(id_)
            entry = ledger.entries[id_]
        return _message(engine, ledger, entry)

    def names(self) -> frozenset[str]:
        """Return the names of memories, which no other item may have."""
        return self._memories.names()

    def query(self, ask: Ask, text: str | None, heirs: Mapping[str, int]) -> list[MemoryItem]:
        """Return messages and memories, best or newest first; see `Items.query`.

        Args:
            ask: What is asked for.
            text: The question that they should answer; None for the newest.
            heirs: Names that are not shown, with the ids of what replaces them.
        """
        if ask.labels:  # they have none
            return []
        return [*self._messages(ask, text, heirs), *self._known(ask, text, heirs)]

    def _messages(
        self, ask: Ask, text: str | None, heirs: Mapping[str, int]
    ) -> Iterable[MemoryItem]:
        if ask.types is not None and MESSAGE not in ask.types:
            return []
        engine, tenant = self._handle.engine, self._handle.tenant
        with engine.lock:
            ledgers = [
                one
                for one in engine.ledgers.values()
                if one.tenant == tenant and ask.conversation in (None, one.name)
            ]
            some = None if ask.session is None else _of_session(engine, ledgers, ask.session)
            named = ((int(turn[1]), heirs[turn[0]]) for turn in map(_TURN.fullmatch, heirs) if turn)
            old = {id_ for id_, heir in named if heir > id_}
            if text is None:
                live = (
                    (ledger, ledger.entries[id_])
                    for ledger in ledgers
                    for id_ in ledger.history.path
                    if (some is None or id_ in some)
                    and id_ not in old
                    and ask.spans(int(ledger.entries[id_].at * 1_000))
                )
                newest = heapq.nlargest(ask.k, live, key=lambda one: (one[1].at, one[1].id))
                return _read(engine, newest, [None] * len(newest))
        where = Filter(
            conversation=ask.conversation,
            ids=some,
            exclude=old,
            since=None if ask.since is None else ask.since / 1_000,
            before=None if ask.before is None else ask.before / 1_000,
        )
        found = self._searcher.search(text, k=ask.k, where=where)
        with engine.lock:
            hits = [
                (engine.owner(id_), engine.owner(id_).entries[id_], score)
                for id_, score in zip(found.ids, found.scores, strict=True)
                if score > 0 and engine.knows(id_)
            ]
        return _read(engine, [(one, entry) for one, entry, _ in hits], [hit[2] for hit in hits])

    def _known(self, ask: Ask, text: str | None, heirs: Mapping[str, int]) -> Iterable[MemoryItem]:
        if ask.session is not None:
            return []
        types = MEMORY_TYPES if ask.types is None else [t for t in MEMORY_TYPES if t in ask.types]
        if not types:
            return []
        found = self._memories.among(
            text,
            k=ask.k,
            conversation=ask.conversation,
            fits=lambda one: (
                type_of(one) in types
                and ask.spans(int(made_at(one) * 1_000))
                and heirs.get(name_of(one), 0) <= one.id
            ),
        )
        return [one for one in found if one.score is None or one.score > 0]


def _of_session(engine: Engine, ledgers: Iterable[Ledger], session: str) -> set[int]:
    """Return the ids of the messages of a session, whose first message names it."""
    found = set[int]()
    for ledger in ledgers:
        numbers: dict[int, bool] = {}
        for id_, entry in ledger.entries.items():
            if entry.session not in numbers:
                meta = TurnMeta.decode(engine.store.get(id_).meta)
                numbers[entry.session] = meta.session == session
            if numbers[entry.session]:
                found.add(id_)
    return found


def _read(
    engine: Engine, some: Sequence[tuple[Ledger, Entry]], scores: Sequence[float | None]
) -> list[MemoryItem]:
    made = (_message(engine, *one) for one in some)
    found = zip(made, scores, strict=True)
    return [replace(one, score=score) for one, score in found if one is not None]


def _message(engine: Engine, ledger: Ledger, entry: Entry) -> MemoryItem | None:
    """Return a message as an item; None if it was erased meanwhile."""
    try:
        record = engine.store.get(entry.id)
    except (Erased, NotFound):
        return None
    meta, message = TurnMeta.decode(record.meta), messages.loads(record.payload)
    return MemoryItem(
        id=entry.id,
        memory_id=f"turn:{entry.id}",
        memory_type=MESSAGE,
        text=messages.text_of(message, ledger.dialect or "openai"),
        conversation=ledger.name,
        session_id=meta.session,
        timestamp=datetime.fromtimestamp(entry.at, UTC),
        token_count=entry.tokens,
        origin=_ORIGINS.get(entry.facts.role, "user"),
        confidence=1.0,
        meta=dict(meta.extra or {}),
    )
