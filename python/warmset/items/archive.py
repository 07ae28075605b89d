"""Messages that a compaction drops: stored before they are dropped, restored by their handles."""

from __future__ import annotations

import hashlib
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from warmset import messages
from warmset.compact.distil import clip, confidence_of, is_novel, memory_type_of
from warmset.compact.keeper import Leaving, Left
from warmset.compact.reading import stored_hash
from warmset.errors import Erased, InvalidInputError, NotFound
from warmset.evict.slots import stands_in
from warmset.items.dedupe import in_spool, keep_novel, put
from warmset.items.index import item_index
from warmset.items.item import Fresh, origin_of_message
from warmset.items.vectors import turn_vectors
from warmset.receipts import Spooled
from warmset.store.derived import derived_draft
from warmset.text.markup import without_markup

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from warmset.compact.keeper import Known
    from warmset.embed import Embedder, Vectors
    from warmset.engine.engine import Engine
    from warmset.engine.handle import Handle
    from warmset.messages import Dialect, Message
    from warmset.store.derived import Made

WHAT: Final = "dropped"
"""The kind of the items that store dropped messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One run of a compaction, or an event of a prepared summary.

    Args:
        id: The record's id.
        at: When it ran, UTC.
        conversation: The conversation that it concerns; None for a list without a conversation.
        what: "compaction" for a run; "prepared", "applied", "stale" or "failed" for a summary.
        figures: Its statistics; for a run, those of `CompactStats`.
    """

    id: int
    at: datetime
    conversation: str | None
    what: str
    figures: dict[str, Any]


class Dropping:
    """The memory that a compaction reads and writes; see `compact.keeper.Keeper`.

    Args:
        handle: The open store, with the tenant of the memories and of the dropped turns.
        conversation: The conversation that is compacted; None if the list is not in the store.
    """

    def __init__(self, handle: Handle, conversation: str | None) -> None:
        self._engine = handle.live()
        self._tenant = handle.tenant
        self._redactor = handle.redactor
        self._conversation = conversation
        self._changed: dict[int, Message] = {}

    @property
    def embedder(self) -> Embedder | None:
        """The store's embedder; None if it is searched by words alone."""
        indexer = self._engine.indexer
        return None if indexer is None else indexer.vectorizer.embedder

    def redacted(self, given: Sequence[Message], /) -> list[Message]:
        """Return messages as they may be embedded and stored."""
        made = self._redactor.messages(given)
        changed = (new for new, old in zip(made, given, strict=True) if new is not old)
        self._changed = {id(one): one for one in changed}
        return made

    def redacted_text(self, text: str, /) -> str:
        """Return a text as it may be embedded."""
        return self._redactor.text(text)

    def known(self, given: Embedder | None, /) -> Known | None:
        """Return the stored memories with an embedder's vectors."""
        if given is None:
            return None
        index = item_index(self._engine, self._tenant, self._conversation)
        return index.with_vectors(given)

    def vectors(
        self, given: Embedder, hashes: Collection[bytes], dialect: Dialect, /
    ) -> dict[bytes, Vectors]:
        """Return an embedder's stored vectors of this tenant's turns, by the turns' hashes."""
        return turn_vectors(self._engine, self._tenant, given, hashes, dialect)

    def keep(self, leaving: Leaving, /) -> Left:
        """Store dropped messages, make memories of novel ones, and record the run.

        Raises:
            Locked: Another process holds the store's lock.
            StoreError: They could not be stored.
            EmbedderError: The embedder failed; no memory was made and no run recorded.
        """
        hashes = [
            stored_hash(read, one)
            for read, one in zip(leaving.reads, leaving.messages, strict=True)
        ]
        turns = self._turns(hashes)
        scope = self._tenant, self._conversation
        with self._engine.lock:
            held = self._engine.derived.held(*scope, WHAT)
            stored = {one: held[one] for one in hashes if one in held}
        items = [at for at, turn in enumerate(turns) if turn is None and hashes[at] not in stored]
        first = {hashes[at]: at for at in reversed(items)}
        fresh = sorted(first.values())
        fields = {"what": WHAT, "dialect": leaving.dialect, "at": time.time()}
        payloads = [messages.dumps(leaving.messages[at]) for at in fresh]
        ids = put(self._engine, [derived_draft("item", *scope, fields, one) for one in payloads])
        stored |= {hashes[at]: id_ for at, id_ in zip(fresh, ids, strict=True)}
        sources = [stored[hashes[at]] if turn is None else turn for at, turn in enumerate(turns)]
        made = self._distil(leaving, sources) if leaving.distill else {}
        figures = {**leaving.figures, "distilled": sum(made.values()), "distilled_kinds": made}
        figures["signals"] = list(leaving.figures["signals"])
        run = {"what": "compaction", "at": time.time(), "figures": figures}
        episode = put(self._engine, [derived_draft("episode", *scope, run)])[0]
        changed = sum(id(leaving.messages[at]) in self._changed for at in fresh)
        self._redactor.note(*scope, changed)
        places = list(zip(leaving.places, turns, strict=True))
        return Left(
            handles=_Handles(self._tenant, leaving.places, sources),
            store_ids={place: turn for place, turn in places if turn is not None},
            distilled=made,
            episode=episode,
        )

    def _turns(self, hashes: list[bytes]) -> list[int | None]:
        """Return the conversation's turn for each message; None for messages that are not in it.

        If several turns have the same content, they are assigned in order.
        """
        if self._conversation is None:
            return [None] * len(hashes)
        waiting: dict[bytes, list[int]] = defaultdict(list)
        with self._engine.lock:
            ledger = self._engine.ledger(self._tenant, self._conversation)
            for id_ in reversed(ledger.history.path):
                waiting[self._engine.store.hash_of(id_)].append(id_)
        out: list[int | None] = []
        for one in hashes:
            ids = waiting.get(one)
            out.append(None if not ids else ids.pop() if len(ids) > 1 else ids[0])
        return out

    def _distil(self, leaving: Leaving, sources: list[int]) -> dict[str, int]:
        """Make memories of the turns that nothing else covers, and return their numbers by type.

        What we quoted in a turn is left out: its origin is not the turn's.
        """
        listed = zip(leaving.reads, leaving.coverage, sources, strict=True)
        said = [
            (without_markup(read.facts.text), coverage, source, read.facts)
            for read, coverage, source in listed
            if not stands_in(read.facts)
        ]
        fresh = [
            Fresh(
                text=clip(text),
                memory_type=memory_type_of(text),
                confidence=confidence_of(coverage),
                sources=(source,),
                origin=origin_of_message(facts),
            )
            for text, coverage, source, facts in said
            if is_novel(text, coverage)
        ]
        index = item_index(self._engine, self._tenant, None)
        kept = keep_novel(self._engine, index, fresh, self._conversation, self.embedder)
        if isinstance(kept, Spooled):
            raise in_spool(self._engine)
        kinds = (one.memory_type for one, (_, new) in zip(fresh, kept, strict=True) if new)
        return dict(sorted(Counter[str](kinds).items()))


class _Handles(Mapping[int, str]):
    """A lazy mapping from the positions of stored messages to their handles."""

    def __init__(self, tenant: str, places: Sequence[int], ids: Sequence[int]) -> None:
        self._tenant = tenant
        self._ids = dict(zip(places, ids, strict=True))

    def __getitem__(self, place: int) -> str:
        return handle_of(self._tenant, self._ids[place])

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


def handle_of(tenant: str, id_: int) -> str:
    """Return the handle of a stored message; it is valid for its tenant only."""
    return f"kept:{id_}:{_mark(tenant)}"


def restore(engine: Engine, tenant: str, handle: str) -> Message:
    """Return a dropped message; see `Memory.restore`.

    Raises:
        InvalidInputError: The handle is not a string.
        NotFound: This tenant has no such handle.
        Erased: The message was erased.
        StoreError: It could not be read.
    """
    if not isinstance(handle, str):
        raise InvalidInputError(f"handle: expected a text, found {handle!r:.80}")
    name, _, rest = handle.partition(":")
    number, _, boundary = rest.partition(":")
    id_ = int(number) if number.isascii() and number.isdecimal() and len(number) < _DIGITS else 0
    if name != "kept" or boundary != _mark(tenant) or not id_:
        raise NotFound(f"{handle!r:.80} is no handle of a dropped turn of this tenant")
    made = engine.derived.get(id_)
    ours = made is not None and made.tenant == tenant and made.fields.get("what") == WHAT
    if not ours and not (engine.knows(id_) and engine.owner(id_).tenant == tenant):
        if engine.is_erased(id_):
            raise Erased(id_)
        raise NotFound(f"{handle!r:.80} is no handle of a dropped turn of this tenant")
    return messages.loads(engine.store.get(id_).payload)


def copies_of(
    engine: Engine, tenant: str, *, conversations: Collection[str] = (), ids: Collection[int] = ()
) -> list[int]:
    """Return the stored copies of dropped messages that must be erased with some messages.

    A copy exists if a message was dropped from a list that is not stored as a conversation, before
    it was appended, or after its branch was abandoned. It may be in any scope of the tenant. It is
    not erased while the tenant has another message with the same content.

    Args:
        engine: The store; the caller holds its lock.
        tenant: The tenant.
        conversations: The conversations that will be erased, with the copies in their scopes.
        ids: Or the messages that will be erased.
    """
    items = [one for one in engine.derived.of("item", tenant) if one.fields.get("what") == WHAT]
    if not items:
        return []
    gone = frozenset(ids)
    said, lost = set[bytes](), set[bytes]()
    for ledger in engine.ledgers.values():
        if ledger.tenant == tenant:
            whole = ledger.name in conversations
            for id_, digest in ledger.history.digests():
                (lost if whole or id_ in gone else said).add(digest)
    lost -= said
    return [
        one.id
        for one in items
        if one.hash in lost and one.id not in gone and one.conversation not in conversations
    ]


def episode_of(made: Made) -> Episode:
    """Return the episode of a record."""
    return Episode(
        id=made.id,
        at=datetime.fromtimestamp(float(made.fields.get("at", 0.0)), UTC),
        conversation=made.conversation,
        what=str(made.fields.get("what")),
        figures=dict(made.fields.get("figures") or {}),
    )


_DIGITS: Final = 20


def _mark(tenant: str) -> str:
    return hashlib.blake2b(tenant.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
