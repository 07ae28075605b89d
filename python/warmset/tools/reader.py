"""Read access for a model's tools: only turns on one conversation's current path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset import messages
from warmset.errors import Erased, NotFound
from warmset.store.records import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset.engine.engine import Engine
    from warmset.engine.handle import Handle
    from warmset.retrieve.hits import Hit
    from warmset.retrieve.searcher import Searcher
    from warmset.state.entry import Entry
    from warmset.tools.wording import Shown


class ToolReader:
    """Reads and searches one conversation for a model.

    Args:
        handle: The open store.
        searcher: Finds turns.
        name: The conversation's name.
    """

    def __init__(self, handle: Handle, searcher: Searcher, name: str) -> None:
        self._handle = handle
        self._searcher = searcher
        self.name = name

    @property
    def encoding(self) -> str:
        """The vocabulary that tokens are counted with."""
        return self._handle.engine.encoding

    def search(self, query: str, limit: int) -> Sequence[Hit]:
        """Search the conversation."""
        return self._searcher.search_conversation(self.name, query, k=limit)

    def read(self, ids: Iterable[int]) -> dict[int, Shown | None]:
        """Read turns; None for an id that is not on the conversation's current path.

        Raises:
            Closed: The memory was closed.
            StoreError: The store could not be read.
        """
        engine = self._handle.live()
        return {id_: self._own(engine, id_) for id_ in ids}

    def said_of(self, entry: Entry) -> dict[str, Any]:
        """Return what callables said of a turn; empty where the built-in rules describe it."""
        described = entry.described
        return {} if described is None else self._handle.live().parts_of(described.record)

    def _own(self, engine: Engine, id_: int) -> Shown | None:
        tenant, name = self._handle.tenant, self.name
        with engine.lock:
            ledger = engine.ledger(tenant, name)
            entry = ledger.entries.get(id_)
            if entry is None or not ledger.is_live(id_):
                return None
            dialect = ledger.dialect or "openai"
        try:
            record = engine.store.get(id_)
        except (Erased, NotFound):
            return None
        if list(record.key) != key_of(tenant, name):
            return None
        return entry, messages.text_of(messages.loads(record.payload), dialect)
