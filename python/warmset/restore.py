"""Reading a store from its beginning: conversations, words, vectors that were made already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset import messages
from warmset.counting import message_tokens
from warmset.records import (
    CHECKPOINT,
    EMBEDDING,
    TURN,
    Identity,
    TurnMeta,
    VectorMeta,
    checkpoint,
    names_of,
)

if TYPE_CHECKING:
    from warmset._core import Record
    from warmset.embed import Vectors
    from warmset.engine import Engine
    from warmset.indexing import Indexer

Known = dict[tuple[int, int, str], int]
"""Generation, turn and view ─▶ the record that has the vectors."""


def restore(engine: Engine) -> None:
    """Take up everything that a store holds, and ask for the vectors that it lacks.

    Args:
        engine: An engine with an open store and nothing in it yet.

    Raises:
        StoreError: The store could not be read.
    """
    vectors: Known = {}
    start = 1
    while page := engine.store.page(start):
        for record in page:
            if record.kind == TURN:
                _turn(engine, record)
            elif record.kind == EMBEDDING:
                meta = VectorMeta.decode(record.meta)
                vectors[meta.generation, meta.of, meta.view] = record.seq
            elif record.kind == CHECKPOINT:
                _checkpoint(engine, record)
        start = page[-1].seq + 1
    if engine.indexer is not None:
        _vectors(engine, engine.indexer, vectors)


def _turn(engine: Engine, record: Record) -> None:
    meta = TurnMeta.decode(record.meta)
    ledger = engine.ledger(*names_of(record.key))
    if meta.parent is not None:
        engine.place(ledger, meta.parent)
    message = messages.loads(record.payload)
    facts = messages.facts(message, meta.dialect or ledger.dialect or "openai")
    tokens = message_tokens([message], engine.encoding)[0]
    engine.admit(ledger, record.seq, record.hash, facts, meta, tokens)


def _checkpoint(engine: Engine, record: Record) -> None:
    fields = checkpoint(record.meta)
    if fields.get("what") == "embedder" and engine.indexer is not None:
        engine.indexer.vectorizer.remember(Identity.decode(fields, record.payload))
    elif fields.get("what") == "head":
        engine.place(engine.ledger(*names_of(record.key)), int(fields["id"]))


def _vectors(engine: Engine, indexer: Indexer, known: Known) -> None:
    maker = indexer.vectorizer
    for generation, _, _ in known:
        maker.seen(generation)
    current = 0 if maker.identity is None else maker.identity.generation
    # Vectors of another embedder are no use; asking for new ones would mix the two.
    if maker.mismatch() is not None:
        return
    jobs = engine.jobs()
    for job in jobs:
        if job.view == "turn":
            own = _rows(engine, known.get((current, job.id, "turn")))
            context = _rows(engine, known.get((current, job.id, "context")))
            indexer.restore(job.id, own, context)
    indexer.enqueue([job for job in jobs if (current, job.id, job.view) not in known])


def _rows(engine: Engine, seq: int | None) -> Vectors | None:
    if seq is None:
        return None
    record = engine.store.get(seq)
    return VectorMeta.decode(record.meta).rows(record.payload)
