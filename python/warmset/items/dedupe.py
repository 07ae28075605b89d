"""Stores memories without duplicates."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from warmset._core import HotIndex
from warmset.errors import Locked
from warmset.items.item import says, trust, trust_of
from warmset.receipts import Spooled
from warmset.text.hard_facts import facts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.embed import Embedder
    from warmset.engine.engine import Engine
    from warmset.items.index import ItemIndex
    from warmset.items.item import Fresh
    from warmset.store.records import Draft

SAME: Final = 0.95
"""The least cosine at which two texts with the same facts are duplicates."""

_LOOKED_AT: Final = 8
"""The number of nearest texts among which a duplicate is searched."""


@dataclass(slots=True)
class _Alike:
    """What is near a text, nearest first: ids of memories, positions of earlier texts."""

    memories: list[int] = field(default_factory=list[int])
    places: list[int] = field(default_factory=list[int])


def keep_novel(
    engine: Engine,
    index: ItemIndex,
    fresh: Sequence[Fresh],
    conversation: str | None,
    embedder: Embedder | None,
) -> list[tuple[int, bool]] | Spooled:
    """Store memories in a scope without duplicates.

    Two memories are duplicates if their texts differ only in case and punctuation, or if their
    cosine is at least 0.95 and their facts are the same. What is there must be trusted as much: a
    tool's words do not stand for a user's.

    Args:
        engine: The store.
        index: All of the tenant's memories.
        fresh: The memories to store.
        conversation: The conversation that they belong to; None for memories of the tenant.
        embedder: Makes the vectors; None compares texts alone.

    Returns:
        For each memory its id, and whether it is new. `Spooled` if another process held the store's
        lock: then the new ones are in the spool until a writer appends them.

    Raises:
        StoreError: They could not be stored; none was.
        EmbedderError: The embedder failed; none was stored.
    """
    if not fresh:
        return []
    with index.lock:
        facts = [facts_of(one.text) for one in fresh]
        near = _near(index, [one.text for one in fresh], embedder)
        said: dict[bytes, int] = {}
        known: dict[int, int] = {}  # position in the batch: the memory that it duplicates
        twins: dict[int, int] = {}  # position in the batch: the earlier text that it duplicates
        for at, one in enumerate(fresh):
            if one.memory_id is not None:  # the caller's name tells it from all others
                continue
            least = trust(one.origin)
            earlier = said.setdefault(says(one.text), at)
            found = _known(index, one, near[at].memories, facts[at], conversation)
            if found is not None:
                known[at] = found
                continue
            same = (
                place
                for place in near[at].places
                if facts[place] == facts[at] and trust(fresh[place].origin) <= least
            )
            twin = earlier < at and trust(fresh[earlier].origin) <= least
            before = earlier if twin else next(same, None)
            if not twin:
                said[says(one.text)] = at
            if before is not None:
                twins[at] = twins.get(before, before)
        new = [at for at in range(len(fresh)) if at not in known and at not in twins]
        now = time.time()
        drafts = [fresh[at].draft(index.tenant, conversation, now) for at in new]
        ids = engine.put(drafts) if drafts else []
        if isinstance(ids, Spooled):
            return ids
        made = dict(zip(new, ids, strict=True)) | known
        if new and embedder is not None:
            index.with_vectors(embedder)  # made above; this stores them with the memories
        return [(made[twins.get(at, at)], at in new) for at in range(len(fresh))]


def _known(
    index: ItemIndex, one: Fresh, near: list[int], facts: frozenset[str], conversation: str | None
) -> int | None:
    """Return the memory of a scope that says the same and is trusted as much; None for none."""
    there, least = index.refresh(), trust(one.origin)
    same = index.known_as(conversation, one.text)
    if same is not None and trust_of(there[same]) <= least:
        return same
    alike = (there[id_] for id_ in near if id_ in there)
    ours = (other for other in alike if other.conversation == conversation)
    good = (other.id for other in ours if trust_of(other) <= least)
    return next((id_ for id_ in good if index.hard(id_) == facts), None)


def put(engine: Engine, drafts: Sequence[Draft]) -> list[int]:
    """Store records, and return their ids.

    Raises:
        Locked: Another process holds the store's lock; the records are in the spool and have no ids
            yet.
        StoreError: They could not be stored.
    """
    ids = engine.put(drafts) if drafts else []
    if isinstance(ids, Spooled):
        raise in_spool(engine)
    return ids


def in_spool(engine: Engine) -> Locked:
    """Return the error of a caller who needs ids where records went to the spool."""
    path = str(engine.store.path)
    return Locked(path, "another process, so what was to be kept lies in the spool")


def _near(index: ItemIndex, texts: Sequence[str], embedder: Embedder | None) -> list[_Alike]:
    out = [_Alike() for _ in texts]
    if embedder is None:
        return out
    rows = index.rows(texts, embedder)
    if (known := index.with_vectors(embedder)) is not None:
        ids, scores, counts = known.nearest(rows, _LOOKED_AT)
        for at, count in enumerate(counts.tolist()):
            near = scores[at, :count] >= SAME
            out[at].memories = ids[at, :count][near].tolist()
    if len(texts) > 1:
        batch = HotIndex(rows.shape[1])
        batch.add(list(range(len(texts))), rows)
        ids, scores, counts = batch.search_batch(rows, _LOOKED_AT)
        for at, count in enumerate(counts.tolist()):
            near = (scores[at, :count] >= SAME) & (ids[at, :count] < at)
            out[at].places = ids[at, :count][near].tolist()
    return out
