"""The indexes of memories: by words, by vectors, and by their texts.

Each scope has an index: a tenant, or one of its conversations together with the tenant's memories.
An index is built from the records and follows their changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from warmset._core import HotIndex, LexicalIndex, Sayings, content_hash
from warmset._support.cut_off import IfCutOff
from warmset._support.locks import guarded, rlock
from warmset.compact.near import COVERS, NearMemories
from warmset.compact.shared import cache_of
from warmset.errors import Erased, NotFound
from warmset.items.item import named, says
from warmset.items.pins import is_pinned, pins
from warmset.items.vectors import keep_rows, rows_of
from warmset.store.records import as_kept
from warmset.text.hard_facts import fact_numbers, facts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from warmset.compact.vectors import VectorCache
    from warmset.embed import Embedder, Vectors
    from warmset.engine.engine import Engine
    from warmset.store.derived import Made

_OTHERS: Final = range(1 << 62, (1 << 62) + 30)
_BACKGROUND: Final = (
    list(_OTHERS),
    [" ".join(f"zq{id_ - _OTHERS.start}x{at}" for at in range(8)) for id_ in _OTHERS],
)
"""Texts in the index of words that no question finds. Among few memories a word that one of them
has would count for little, because it would seem common."""

SCOPES: Final = 64
"""Conversations for which it is known which memories belong to them."""


@guarded(
    "self.lock",
    fields=(
        "_texts",
        "_said",
        "_hard",
        "_words",
        "_vectors",
        "_made_by",
        "_sayings",
        "_near",
        "_there",
        "_version",
        "_scopes",
        "_pinned",
    ),
    calls=("text", "known_as", "_embed", "_scope"),
)
class ItemIndex:
    """The memories of one scope.

    Args:
        engine: The store.
        tenant: The tenant.
        conversation: The conversation whose memories are in scope beside the tenant's; None for the
            memories of all conversations.
    """

    def __init__(self, engine: Engine, tenant: str, conversation: str | None) -> None:
        self._engine = engine
        self.tenant = tenant
        self._conversation = conversation
        self.lock = rlock("items")
        self._clear()

    def _clear(self) -> None:
        """Forget everything; it is made again from the records."""
        self._texts: dict[int, str] = {}
        self._said: dict[tuple[str | None, bytes], int] = {}
        self._hard: dict[int, frozenset[str]] = {}
        self._words = LexicalIndex()
        self._words.add(*_BACKGROUND)
        self._vectors: HotIndex | None = None
        self._made_by: object = None
        self._sayings = Sayings()
        self._near = NearMemories()
        self._there: dict[int, Made] = {}
        self._version = -1
        self._scopes: dict[str, tuple[NDArray[np.int64], NDArray[np.bool_]]] = {}
        self._pinned: frozenset[int] = frozenset()  # by what they say themselves

    def listed(self) -> list[Made]:
        """Return the records of the scope, without replaced ones."""
        with self._engine.lock:
            known = list(self._engine.derived.of("distilled", self.tenant))
        old: dict[tuple[str | None, str], int] = {}
        for one in known:
            if isinstance(before := one.fields.get("replaces"), str):
                old[one.conversation, before] = one.id
        scope = (None, self._conversation)
        return [
            one
            for one in known
            if (self._conversation is None or one.conversation in scope)
            and old.get((one.conversation, one.hash.hex()), 0) <= one.id
        ]

    def refresh(self) -> dict[int, Made]:
        """Add new records, remove erased ones, and return the records by id."""
        with self.lock, IfCutOff(self._clear):
            version = self._engine.derived.version("distilled", self.tenant)
            if version == self._version:
                return self._there
            there = {one.id: one for one in self.listed()}
            gone = [id_ for id_ in self._texts if id_ not in there]
            for id_ in gone:
                del self._texts[id_]
                self._hard.pop(id_, None)
            self._said = {key: id_ for key, id_ in self._said.items() if id_ in there}
            fresh: dict[int, str] = {}
            for id_, one in list(there.items()):
                if id_ not in self._texts:
                    try:
                        data = self._engine.store.get(id_).payload
                    except (Erased, NotFound):
                        del there[id_]
                        continue
                    fresh[id_] = data.decode("utf-8", "surrogatepass")
                    self._said[one.conversation, says(fresh[id_])] = id_
            if gone:
                self._engine.cards.clear()  # a list that grows may have had their texts
                self._words.remove(gone)
                self._sayings.forget(gone)
                self._near.drop(gone)
            if gone and self._vectors is not None:
                self._vectors.remove([id_ for id_ in gone if id_ in self._vectors])
            if fresh:
                self._words.add(list(fresh), list(fresh.values()))
                self._texts |= fresh
            self._there, self._version, self._scopes = there, version, {}
            marked = (id_ for id_, one in there.items() if one.fields.get("pinned") is True)
            self._pinned = frozenset(marked)
            return there

    def pinned(self, conversation: str) -> list[Made]:
        """Return the pinned memories of a conversation and of the tenant, the newest first."""
        with self.lock:
            there, scopes = self.refresh(), (None, conversation)
            said = pins(self._engine, self.tenant, scopes)
            listed = [there[id_] for id_ in sorted({*said, *self._pinned}) if id_ in there]
            ours = (one for one in reversed(listed) if one.conversation in scopes)
            return [one for one in ours if is_pinned(one, said)]

    def ranked(
        self,
        conversation: str,
        words: str,
        vector: Vectors | None,
        weights: tuple[float, float],
        most: int,
    ) -> list[tuple[Made, float]]:
        """Return the best memories of a conversation and of the tenant, each with its score.

        Args:
            conversation: The conversation.
            words: What is asked for.
            vector: The same as a vector of the store's embedder, shape (dim,); None to compare
                words alone.
            weights: Those of the vectors and of the words.
            most: How many.

        Returns:
            The memories whose score is over 0, best first, ties by id.

        Raises:
            EmbedderError: The embedder failed.
        """
        with self.lock:
            there = self.refresh()
            if not there or not words.strip():
                return []
            known, within = self._scope(conversation)
            scores = np.zeros(len(known))
            ids, found = self._words.search(words, len(known))
            scores[np.searchsorted(known, ids.astype(np.int64))] += weights[1] * found
            indexer = self._engine.indexer
            if vector is not None and indexer is not None:
                embedder = indexer.vectorizer.embedder
                self._embed(embedder, make=not embedder.remote)
                if self._vectors is not None and self._vectors.dim == len(vector):
                    ids, found = self._vectors.search(vector, len(known))
                    near = weights[0] * np.maximum(found, 0.0)
                    scores[np.searchsorted(known, ids.astype(np.int64))] += near
            scores[~within] = 0.0
            best = np.lexsort((known, -scores))[:most]
            return [(there[int(known[at])], float(scores[at])) for at in best if scores[at] > 0]

    def _scope(self, conversation: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the ids of all memories, ascending, and which a conversation may show."""
        found = self._scopes.get(conversation)
        if found is None:
            ids = sorted(self._there)
            scopes = (None, conversation)
            within = [self._there[id_].conversation in scopes for id_ in ids]
            if len(self._scopes) >= SCOPES:
                self._scopes.clear()
            found = self._scopes[conversation] = np.array(ids, np.int64), np.array(within, bool)
        return found

    def text(self, id_: int) -> str:
        """Return the text of a memory."""
        return self._texts[id_]

    def known_as(self, conversation: str | None, text: str) -> int | None:
        """Return the memory with a text, ignoring case and punctuation."""
        return self._said.get((conversation, says(text)))

    def by_name(self, memory_id: str) -> int | None:
        """Return the memory with a name; None if there is none."""
        with self.lock:
            there = self.refresh()
            return next((id_ for id_, one in there.items() if named(one) == memory_id), None)

    def with_vectors(self, embedder: Embedder) -> Nearby | None:
        """Embed memories without vectors, and return all vectors; None if there is no memory.

        Raises:
            EmbedderError: The embedder failed.
        """
        with self.lock:
            if not self.refresh():
                return None
            self._embed(embedder)
            assert self._vectors is not None  # noqa: S101 - made above
            return Nearby(self, self._vectors, self._near)

    def hard(self, id_: int) -> frozenset[str]:
        """Return the numbers, paths and names of a memory; none if it was erased."""
        with self.lock:
            found = self._hard.get(id_)
            if found is None and id_ in self._texts:
                found = self._hard[id_] = facts_of(self._texts[id_])
            return found or frozenset()

    def stated(self, ids: NDArray[np.int64]) -> Sayings:
        """Return the facts of memories that are not erased; id -1 means no memory."""
        with self.lock:
            for at in self._sayings.lacking(ids).tolist():
                id_ = int(ids[at])
                self._sayings.state(id_, fact_numbers(self._texts.get(id_, "")))
            return self._sayings

    def search(
        self, query: str, embedder: Embedder | None, weights: tuple[float, float]
    ) -> dict[int, float]:
        """Return the score of each memory for a query: the weighted sum of cosine and BM25.

        Raises:
            EmbedderError: The embedder failed.
        """
        with self.lock:
            there = self.refresh()
            found = dict.fromkeys(there, 0.0)
            if not there or not query.strip():
                return found
            ids, scores = self._words.search(query, len(there))
            for id_, score in zip(ids.tolist(), scores.tolist(), strict=True):
                found[id_] += weights[1] * score
            if embedder is not None:
                self._embed(embedder)
                assert self._vectors is not None  # noqa: S101 - made above
                vector = embedder.embed_query([query])[0]
                ids, scores = self._vectors.search(vector, len(there))
                for id_, score in zip(ids.tolist(), scores.tolist(), strict=True):
                    found[id_] += weights[0] * max(score, 0.0)
            return found

    def _embed(self, embedder: Embedder, *, make: bool = True) -> None:
        """Take up the vectors of memories, and make those that are missing unless told not to."""
        if self._made_by != (embedder.fingerprint or embedder):
            self._vectors, self._made_by = None, embedder.fingerprint or embedder
            self._near = NearMemories()
        known = self._vectors
        fresh = [id_ for id_ in self._texts if known is None or id_ not in known]
        if not fresh:
            return
        there = rows_of(self._engine, embedder, fresh)
        lacking = [id_ for id_ in fresh if id_ not in there]
        if lacking and not make:
            fresh, lacking = [id_ for id_ in fresh if id_ in there], []
        if not fresh:
            return
        if lacking:
            made = as_kept(self.rows([self._texts[id_] for id_ in lacking], embedder))
            keep_rows(self._engine, embedder, [self._there[id_] for id_ in lacking], made)
            there |= zip(lacking, made, strict=True)
        rows = np.stack([there[id_] for id_ in fresh])
        with IfCutOff(self._clear):
            if self._vectors is None:
                self._vectors = HotIndex(rows.shape[1])
            self._vectors.add(fresh, rows)
            self._near.enter(fresh)

    def rows(self, texts: Sequence[str], embedder: Embedder) -> Vectors:
        """Return the vectors of texts, shape (n, dim)."""
        cache = cache_of(embedder, embedder)
        digests = [content_hash(text.encode("utf-8", "surrogatepass")) for text in texts]
        slots = cache.take(digests, texts.__getitem__)
        return cache.rows(slots)


@dataclass(frozen=True, slots=True)
class Nearby:
    """The memories of an index with one embedder's vectors; see `compact.keeper.Known`.

    Args:
        shelf: The index, which other threads may change.
        vectors: The vectors.
        near: The cached nearest memories by these vectors.
    """

    shelf: ItemIndex
    vectors: HotIndex
    near: NearMemories

    def nearest(self, rows: Vectors, k: int, /) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return ids and exact cosines of each row's nearest memories, and how many count."""
        return self.vectors.search_batch(rows, k)

    def covers(
        self, cache: VectorCache, slots: NDArray[np.int64], /
    ) -> tuple[Sayings, NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
        """Return the memories that cover texts; see `compact.keeper.Known`."""
        ids = np.full((len(slots), COVERS), -1)
        cosines = np.zeros((len(slots), COVERS), np.float32)
        there = slots[slots >= 0]
        with self.shelf.lock:
            ids[slots >= 0], cosines[slots >= 0] = self.near.of(
                cache.serials(there), lambda at: cache.rows(there[at]), self.vectors
            )
            flat = ids.ravel()
            return self.shelf.stated(flat), flat, cosines.ravel(), (ids >= 0).sum(axis=1)


def item_index(engine: Engine, tenant: str, conversation: str | None) -> ItemIndex:
    """Return the index of a scope, shared by all handles of the engine."""
    with engine.lock:
        name = tenant, conversation
        found = engine.item_indexes.get(name)
        if not isinstance(found, ItemIndex):
            found = engine.item_indexes[name] = ItemIndex(engine, tenant, conversation)
        return found
