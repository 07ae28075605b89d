"""Searches for the turns nearest to a question, with the terms of their scores."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError
from warmset.index.labels import role_number
from warmset.index.query_vectors import QueryVectors, searched_vector
from warmset.options import CATCH_UP, Filter, Weights
from warmset.retrieve import cues
from warmset.retrieve.hits import Found
from warmset.text.timestamps import milliseconds, waiting_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.engine.engine import Engine
    from warmset.state.ledger import Ledger


def retrieve(
    engine: Engine,
    vectors: QueryVectors | None,
    query: str,
    *,
    query_vector: object | None,
    k: int,
    where: Filter,
    weights: Weights,
    wait: float,
    ledger: Ledger | None = None,
) -> Found:
    """Search by all signals; see `Weights`.

    Args:
        engine: The store and its index.
        vectors: The cache of query vectors; None searches by words alone.
        query: The question.
        query_vector: The query's vector, shape (dim,); the query is then not embedded.
        k: The number of hits.
        where: Restricts the hits, in numbers of the index.
        weights: The weight of each signal.
        wait: Seconds to wait for a remote embedder, and for turns appended just before that may be
            found, together.
        ledger: The searched conversation, if there is one.

    Returns:
        The hits, best first; ties by id.

    Raises:
        InvalidInputError: `k`, `wait` or the vector is invalid.
        EmbedderMismatch: The embedder is not the store's.
    """
    started, wait = time.monotonic(), waiting_time(wait, "wait")
    words, cue = cues.read(query, engine.numbers, ledger)
    vector, why, pending = None, None, 0
    if query_vector is not None:
        vector = searched_vector(query_vector, vectors)
    elif vectors is not None and query.strip():
        vector, why = vectors.get(words, wait)
    if engine.indexer is not None:
        wanted = _wanted(engine, where)
        if vector is not None:
            local = not engine.indexer.vectorizer.embedder.remote
            left = max(wait - (time.monotonic() - started), 0.0)
            engine.indexer.await_turns(wanted, max(left, CATCH_UP) if local else left)
        pending = engine.indexer.pending(wanted)
    columns = engine.retriever.search(
        vector,
        words,
        k,
        where=where,
        weights=weights,
        cue=cue,
    )
    lexical = vector is None or engine.indexer is None
    return Found(engine, columns, by="lexical" if lexical else "fused", why=why, pending=pending)


def _wanted(engine: Engine, where: Filter) -> Callable[[int], bool]:
    """Return a function that tells whether a search may return a turn."""
    excluded = frozenset(where.exclude or ())

    def wanted(id_: int) -> bool:
        if id_ in excluded:
            return False
        ledger = engine.near(id_)
        if ledger is None:  # erased meanwhile, or an item
            return False
        tenant, conversation = ledger.numbers
        within = tenant == where.tenant and where.conversation in (None, conversation)
        return within and (where.branches or ledger.is_live(id_))

    return wanted


def scope(engine: Engine, tenant: str, where: Filter | None) -> Filter:
    """Convert the names and times of a filter to the index's numbers, within one tenant.

    Raises:
        InvalidInputError: A field has the wrong type.
    """
    where = Filter() if where is None else where
    if not isinstance(where, Filter):
        raise InvalidInputError(f"where: expected a Filter, found {where!r}")
    if where.tenant is not None:
        raise InvalidInputError("where.tenant: a memory sees its own tenant; open another one")
    conversation = where.conversation
    if conversation is not None and not isinstance(conversation, str):
        raise InvalidInputError(f"where.conversation: expected a name, found {conversation!r}")
    for name in ("ids", "exclude"):
        given = getattr(where, name)
        if given is not None and (isinstance(given, str) or not isinstance(given, Collection)):
            raise InvalidInputError(f"where.{name}: expected a list of ids, found {given!r:.80}")
    role = where.role
    return replace(
        where,
        tenant=engine.numbers.of("tenant", tenant),
        conversation=None
        if conversation is None
        else engine.numbers.of("conversation", tenant, conversation),
        role=role_number(role) if isinstance(role, str) else role,
        since=milliseconds(where.since, "where.since"),
        before=milliseconds(where.before, "where.before"),
    )
