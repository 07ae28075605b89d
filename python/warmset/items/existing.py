"""Messages and memories as items: they lie in the store already, and are not copied."""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

from warmset import messages
from warmset.compact.distil import MEMORY_TYPES
from warmset.errors import Erased, InvalidInputError, NotFound
from warmset.items.item import MemoryItem, made_at, name_of, origin_of_message, type_of
from warmset.items.memories import Fitting
from warmset.options import SEARCH_WAIT, Filter
from warmset.store.records import TurnMeta

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from warmset.engine.engine import Engine
    from warmset.engine.handle import Handle
    from warmset.items.ask import Ask, Question
    from warmset.items.memories import Memories
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger

MESSAGE: Final = "conversation"
"""The type of messages."""

_LEAST: Final = 1e-9
"""A similarity that is hardly one; none at all never counts as one."""

_TURN: Final = re.compile(r"turn:([0-9]{1,19})")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAsk:
    """Which messages are asked for.

    Args:
        conversation: Of this conversation; None for all.
        scope: "current_session", "prior_sessions" (of the conversation), else all.
        session: The current session; None for the newest.
        last: Of the newest so many messages of the conversation; None for all.
        asked: The id of the message that is the request of the call, which is no answer to itself;
            see `Existing.asked`.
    """

    conversation: str | None
    scope: str
    session: str | None = None
    last: int | None = None
    asked: int | None = None


class Matches(NamedTuple):
    """Messages or memories that are asked for.

    Attributes:
        found: What was taken, each with its similarity.
        matched: How many meet all conditions but the similarity.
    """

    found: list[tuple[MemoryItem, float]]
    matched: int


class Ranked(Protocol):
    """What a search found."""

    ids: list[int]
    scores: list[float]
    by: str

    def signal(self, name: str) -> NDArray[np.float32]:
        """Return the value of a signal for each hit, before its weight."""
        ...


class Searches(Protocol):
    """Searches the messages of a tenant."""

    def search(
        self,
        query: str,
        *,
        query_vector: object | None = None,
        k: int,
        where: Filter | None = None,
        wait: float = SEARCH_WAIT,
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

    def times(self, conversation: str | None, asked: int | None = None) -> list[int]:
        """Return when the messages of a conversation were said, in microseconds, ascending.

        Args:
            conversation: The conversation; None for none.
            asked: The id of the message that is the request of a call, which is left out.
        """
        engine = self._handle.engine
        with engine.lock:
            ledger = engine.ledgers.get((self._handle.tenant, conversation or ""))
            if ledger is None:
                return []
            return sorted(
                int(ledger.entries[id_].at * 1_000_000)
                for id_ in ledger.history.path
                if id_ != asked
            )

    def asked(self, conversation: str | None, query: str | None) -> int | None:
        """Return the id of the message that a request is, if it was appended before the call.

        That is the newest message of the conversation, if a user said it and it says the same, but
        for white space at its ends. None if there is no such message.
        """
        engine = self._handle.engine
        if conversation is None or query is None:
            return None
        with engine.lock:
            ledger = engine.ledgers.get((self._handle.tenant, conversation))
            if ledger is None or not ledger.history.path:
                return None
            newest = ledger.entries[ledger.history.path[-1]]
        if newest.facts.role != "user" or newest.facts.results:
            return None
        message = _message(engine, ledger, newest)
        same = message is not None and message.text.strip() == query.strip()
        return newest.id if same else None

    def session(self, conversation: str) -> str | None:
        """Return the name of the newest session of a conversation; None if it has none."""
        engine = self._handle.engine
        with engine.lock:
            ledger = engine.ledgers.get((self._handle.tenant, conversation))
            if ledger is None or not ledger.history.path:
                return None
            newest = ledger.history.path[-1]
            return TurnMeta.decode(engine.store.get(newest).meta).session

    def newest(self, conversation: str) -> int | None:
        """Return the id of the newest message of a conversation; None if it has none."""
        engine = self._handle.engine
        with engine.lock:
            ledger = engine.ledgers.get((self._handle.tenant, conversation))
            return ledger.history.path[-1] if ledger is not None and ledger.history.path else None

    def turns(
        self, turns: TurnAsk, ask: Ask, question: Question, heirs: Mapping[str, int]
    ) -> Matches:
        """Return messages, the best or the newest, with their scores and similarities.

        The similarity is that of words and vectors, 0 to 1; the score is that of `Memory.search`
        over the weights of both, which also counts speakers, times, sessions and neighbours.

        Args:
            turns: Which messages count.
            ask: How many, and of what time and similarity.
            question: What they are compared with.
            heirs: Names that are not shown, with the ids of what replaces them.
        """
        engine = self._handle.engine
        with engine.lock:
            listed = self._scoped(engine, turns, ask, heirs)
            matched = len(listed)
            if ask.floor is None or question.text is None:
                listed = heapq.nlargest(
                    min(ask.k, len(listed)), listed, key=lambda one: (one[1].at, one[1].id)
                )
        own = [entry.id for ledger, entry in listed if ledger.name == turns.conversation]
        others = [entry.id for ledger, entry in listed if ledger.name != turns.conversation]
        # Within one conversation its order, its speakers and its days tell more.
        found = self._similar(own, turns.conversation, question)
        found |= self._similar(others, None, question)
        nothing = (0.0, 0.0)
        if ask.floor is not None and question.text is not None:
            least = ask.floor
            listed = [
                one for one in listed if max(least, _LEAST) <= found.get(one[1].id, nothing)[1]
            ]
            listed.sort(key=lambda one: (-found[one[1].id][0], one[1].id))
            listed = listed[: ask.k]
        scores = [found.get(entry.id, nothing)[0] for _ledger, entry in listed]
        read = _read(engine, listed, scores)
        return Matches([(one, found.get(one.id, nothing)[1]) for one in read], matched)

    def _scoped(
        self,
        engine: Engine,
        turns: TurnAsk,
        ask: Ask,
        heirs: Mapping[str, int],
    ) -> list[tuple[Ledger, Entry]]:
        """Return the messages that count, of each conversation in order, without the request."""
        old = _replaced(heirs)
        listed: list[tuple[Ledger, Entry]] = []
        for ledger in engine.ledgers.values():
            if ledger.tenant != self._handle.tenant:
                continue
            is_own = ledger.name == turns.conversation
            if not is_own and (turns.scope.endswith("_session") or turns.scope.startswith("prior")):
                continue
            path = [id_ for id_ in ledger.history.path if id_ != turns.asked]
            if turns.last is not None and turns.conversation is not None:
                path = path[-turns.last :] if is_own else []
            if turns.scope in ("current_session", "prior_sessions") and path:
                own = self._session_of(engine, ledger, turns.session)
                is_current = turns.scope == "current_session"
                path = [id_ for id_ in path if (ledger.entries[id_].session in own) == is_current]
            listed += [
                (ledger, ledger.entries[id_])
                for id_ in path
                if id_ not in old and ask.spans(int(ledger.entries[id_].at * 1_000))
            ]
        return listed

    def _session_of(self, engine: Engine, ledger: Ledger, session: str | None) -> set[int]:
        """Return the numbers of a session within its conversation; those of the newest for None."""
        if session is None:
            return {ledger.entries[ledger.history.path[-1]].session}
        return {ledger.entries[id_].session for id_ in _of_session(engine, [ledger], session)}

    def _similar(
        self, ids: Sequence[int], conversation: str | None, question: Question
    ) -> dict[int, tuple[float, float]]:
        """Return scores and similarities of messages with a question, by id."""
        if question.text is None or not ids:
            return {}
        where = Filter(conversation=conversation, ids=sorted(ids))
        found = self._searcher.search(
            question.text, query_vector=question.vector, k=len(ids), where=where
        )
        similar = found.signal("lexical").astype(np.float64)
        weights = question.weights
        both = weights.dense + weights.lexical
        whole = weights.lexical
        if found.by == "fused" and both > 0:
            dense = found.signal("dense").astype(np.float64)
            similar = (weights.dense * dense + weights.lexical * similar) / both
            whole = both
        scores = np.maximum(np.array(found.scores), 0.0) / (whole or 1.0)
        pairs = zip(scores.tolist(), np.clip(similar, 0.0, 1.0).tolist(), strict=True)
        return dict(zip(found.ids, pairs, strict=True))

    def known(self, ask: Ask, question: Question, heirs: Mapping[str, int]) -> Matches:
        """Return memories, the most similar or the newest, with their similarity as score."""
        weights = question.weights
        whole = weights.lexical if question.vector is None else weights.dense + weights.lexical
        fitting = self._known(ask, question.text, heirs)
        scores = [
            min(1.0, max(0.0, one.score or 0.0) / whole) if whole > 0 else 0.0
            for one in fitting.found
        ]
        found = [
            (replace(one, score=score), score)
            for one, score in zip(fitting.found, scores, strict=True)
            if ask.floor is None or (score and score >= ask.floor)
        ]
        return Matches(found, fitting.matched)

    def query(self, ask: Ask, text: str | None, heirs: Mapping[str, int]) -> list[MemoryItem]:
        """Return messages and memories, best or newest first; see `Items.query`.

        Args:
            ask: What is asked for.
            text: The question that they should answer; None for the newest.
            heirs: Names that are not shown, with the ids of what replaces them.
        """
        if ask.labels:  # they have none
            return []
        known = self._known(ask, text, heirs).found
        hits = [one for one in known if one.score is None or one.score > 0]
        return [*self._messages(ask, text, heirs), *hits]

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
            old = _replaced(heirs)
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

    def _known(self, ask: Ask, text: str | None, heirs: Mapping[str, int]) -> Fitting:
        if ask.session is not None:
            return Fitting([], 0)
        types = MEMORY_TYPES if ask.types is None else [t for t in MEMORY_TYPES if t in ask.types]
        if not types:
            return Fitting([], 0)
        return self._memories.among(
            text,
            k=ask.k,
            conversation=ask.conversation,
            fits=lambda one: (
                type_of(one) in types
                and ask.spans(int(made_at(one) * 1_000))
                and heirs.get(name_of(one), 0) <= one.id
            ),
        )


def _replaced(heirs: Mapping[str, int]) -> set[int]:
    """Return the ids of the messages that newer items replace."""
    named = ((int(turn[1]), heirs[turn[0]]) for turn in map(_TURN.fullmatch, heirs) if turn)
    return {id_ for id_, heir in named if heir > id_}


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
    text = messages.text_of(message, ledger.dialect or "openai")
    return MemoryItem(
        id=entry.id,
        memory_id=f"turn:{entry.id}",
        memory_type=MESSAGE,
        text=text,
        conversation=ledger.name,
        session_id=meta.session,
        timestamp=datetime.fromtimestamp(entry.at, UTC),
        token_count=entry.tokens,
        origin=origin_of_message(entry.facts, text),
        confidence=1.0,
        meta=dict(meta.extra or {}),
    )
