"""Vectors of memories, stored like those of turns, so that opening a store embeds none again."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from warmset.compact.passages import whole_text
from warmset.errors import StoreError
from warmset.store.derived import key_of_scope
from warmset.store.records import Job, VectorMeta

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from warmset.embed import Embedder, Vectors
    from warmset.engine.engine import Engine
    from warmset.index.indexer import Indexer
    from warmset.messages import Dialect
    from warmset.store.derived import Made


def rows_of(engine: Engine, embedder: Embedder, ids: Iterable[int]) -> dict[int, Vectors]:
    """Return an embedder's stored vectors of memories, shape (dim,) each.

    Raises:
        StoreError: They could not be read.
    """
    indexer = _indexer(engine, embedder)
    if indexer is None:
        return {}
    found = ((id_, indexer.book.read(Job(id_, "memory"))) for id_ in ids)
    return {id_: rows[0] for id_, rows in found if rows is not None}


def turn_vectors(
    engine: Engine, tenant: str, embedder: Embedder, hashes: Collection[bytes], dialect: Dialect
) -> dict[bytes, Vectors]:
    """Return an embedder's stored vectors of a tenant's turns, shape (dim,) each.

    Args:
        engine: The store.
        tenant: The tenant; other tenants' turns are not looked at.
        embedder: The embedder that is to have made them.
        hashes: The content hashes of the turns that are wanted.
        dialect: The dialect of the turns; what a turn says depends on it.

    Returns:
        Vectors by content hash; those that are not stored are left out.
    """
    indexer = _indexer(engine, embedder)
    if indexer is None:
        return {}
    turns: dict[bytes, int] = {}
    with engine.lock:
        for ledger in engine.ledgers.values():
            if ledger.tenant == tenant and ledger.dialect in (None, dialect):
                turns |= ledger.history.among(hashes)
    found = ((one, indexer.book.read(Job(id_, "turn"))) for one, id_ in turns.items())
    return {one: whole_text(rows) for one, rows in found if rows is not None}


def keep_rows(engine: Engine, embedder: Embedder, of: Sequence[Made], rows: Vectors) -> None:
    """Store vectors of memories if the embedder is the store's; a failure is ignored.

    Args:
        engine: The store.
        embedder: The embedder that made them.
        of: The memories, at least one.
        rows: A vector of each, shape (n, dim).
    """
    indexer = _indexer(engine, embedder)
    # While turns are being embedded, this does not wait; a later call stores the vectors.
    if indexer is None or not engine.opening.writes or not indexer.paused().acquire(blocking=False):
        return
    try:
        maker = indexer.vectorizer
        begins = maker.identity is None
        identity = maker.identity or maker.begin(rows.shape[1])
        meta = {"dim": rows.shape[1], "generation": identity.generation}
        drafts = [
            VectorMeta(of=one.id, view="memory", **meta).draft(
                key_of_scope(one.tenant, one.conversation), row
            )
            for one, row in zip(of, rows, strict=True)
        ]
        made = [(Job(one.id, "memory"), row) for one, row in zip(of, rows, strict=True)]
        try:
            with suppress(StoreError):
                indexer.book.keep([*drafts, *([identity.draft()] if begins else [])], made)
                begins = False
        finally:
            if begins:
                maker.identity = None
    finally:
        indexer.paused().release()


def _indexer(engine: Engine, embedder: Embedder) -> Indexer | None:
    """Return the indexer of an embedder; None if it is not certainly the store's embedder."""
    indexer = engine.indexer
    if indexer is None or embedder.fingerprint is None:
        return None
    maker = indexer.vectorizer
    same = maker.embedder.fingerprint == embedder.fingerprint
    return indexer if same and maker.mismatch() is None else None
