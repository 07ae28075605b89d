"""Searches the conversations of a tenant, all or one of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError
from warmset.index.query_vectors import searched_vector
from warmset.options import SEARCH_WAIT, SHORTLIST, Filter
from warmset.retrieve import cues
from warmset.retrieve.search import retrieve, scope

if TYPE_CHECKING:
    from collections.abc import Collection

    from warmset.embed import Vectors
    from warmset.engine.handle import Handle
    from warmset.options import Weights
    from warmset.retrieve.hits import Found
    from warmset.state.ledger import Ledger


class Searcher:
    """Searches the conversations of a handle's tenant.

    Args:
        handle: The open store.
        weights: The weight of each signal.
    """

    def __init__(self, handle: Handle, weights: Weights) -> None:
        self._handle = handle
        self.weights = weights

    def search(
        self,
        query: str,
        *,
        query_vector: object | None = None,
        k: int = SHORTLIST,
        where: Filter | None = None,
        wait: float = SEARCH_WAIT,
    ) -> Found:
        """Search all conversations, or those that the filter names; see `Memory.search`."""
        engine = self._handle.live()
        if not isinstance(query, str):
            raise InvalidInputError(f"query: expected a text, found {query!r}")
        query = self._handle.redactor.text(query)
        name = where.conversation if isinstance(where, Filter) else None
        tenant = self._handle.tenant
        with engine.lock:
            ledger = engine.ledgers.get((tenant, name)) if isinstance(name, str) else None
        return retrieve(
            engine,
            self._handle.query_vectors,
            query,
            query_vector=query_vector,
            k=k,
            where=scope(engine, tenant, where),
            weights=self.weights,
            wait=wait,
            ledger=ledger,
        )

    def search_conversation(
        self,
        name: str,
        query: str,
        *,
        query_vector: object | None = None,
        k: int = SHORTLIST,
        where: Filter | None = None,
        wait: float = SEARCH_WAIT,
    ) -> Found:
        """Search one conversation; see `Conversation.search`."""
        if where is not None and not isinstance(where, Filter):
            raise InvalidInputError(f"where: expected a Filter, found {where!r}")
        if where is not None and where.conversation not in (None, name):
            raise InvalidInputError(
                f"where.conversation: this is {name!r}; search the memory instead"
            )
        within = replace(where or Filter(), conversation=name)
        return self.search(query, query_vector=query_vector, k=k, where=within, wait=wait)

    def shortlist(
        self,
        ledger: Ledger,
        text: str,
        *,
        query_vector: object | None,
        k: int,
        wait: float,
        shown: Collection[int],
    ) -> Found:
        """Search a conversation for a window, leaving out what the window shows already.

        Args:
            ledger: The conversation.
            text: The text of the request.
            query_vector: The request's vector, shape (dim,); the text is then not embedded.
            k: The number of hits.
            wait: Seconds to wait for a remote embedder.
            shown: Ids to exclude.
        """
        engine = self._handle.engine
        where = Filter(conversation=ledger.name, exclude=sorted(shown))
        return retrieve(
            engine,
            self._handle.query_vectors,
            text,
            query_vector=query_vector,
            k=k,
            where=scope(engine, ledger.tenant, where),
            weights=self.weights,
            wait=wait,
            ledger=ledger,
        )

    def elsewhere(
        self,
        ledger: Ledger,
        text: str,
        *,
        query_vector: object | None,
        k: int,
        wait: float,
    ) -> Found:
        """Search the tenant's other conversations for a window; see `shortlist`."""
        engine = self._handle.engine
        with engine.lock:
            own = list(ledger.history.path)
        where = Filter(exclude=own)
        return retrieve(
            engine,
            self._handle.query_vectors,
            text,
            query_vector=query_vector,
            k=k,
            where=scope(engine, ledger.tenant, where),
            weights=self.weights,
            wait=wait,
        )

    def question(
        self, ledger: Ledger, text: str, *, query_vector: object | None, wait: float
    ) -> tuple[str, Vectors | None]:
        """Return the words of a window's request, and its vector if it can be had in time."""
        words, _ = cues.read(text, self._handle.engine.numbers, ledger)
        vectors = self._handle.query_vectors
        if query_vector is not None:
            return words, searched_vector(query_vector, vectors)
        if vectors is None or not text.strip():
            return words, None
        return words, vectors.get(words, wait)[0]
