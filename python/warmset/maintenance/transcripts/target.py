"""Where an import writes: a store, or the store of an open memory, or nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from warmset.errors import ReadOnly
from warmset.store.log import Log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset._core import ColdStore, Outcome
    from warmset.engine.engine import Engine
    from warmset.store.conditions import Condition
    from warmset.store.records import Draft
    from warmset.store.rows import Row


class Target(Protocol):
    """A store that is written to."""

    @property
    def store(self) -> ColdStore | None:
        """The store; None if it does not exist."""
        ...

    @property
    def log(self) -> Log | None:
        """Its log; None if the store does not exist."""
        ...

    def write(self, rows: Sequence[Row], expect: Sequence[Condition]) -> list[Outcome]:
        """Write a batch; see `Log.write`."""
        ...

    def append(self, drafts: Sequence[Draft]) -> list[int]:
        """Append records; see `ColdStore.append`."""
        ...


class StoreTarget:
    """A store without an index.

    Args:
        store: The store; None for one that does not exist, and is not to be made.
    """

    def __init__(self, store: ColdStore | None) -> None:
        self.store = store
        self.log = None if store is None else Log(store)

    def write(self, rows: Sequence[Row], expect: Sequence[Condition]) -> list[Outcome]:
        """Write a batch; see `Log.write`."""
        if self.log is None:
            raise ReadOnly("no store")
        return self.log.write(rows, expect=expect)

    def append(self, drafts: Sequence[Draft]) -> list[int]:
        """Append records; see `ColdStore.append`."""
        if self.store is None:
            raise ReadOnly("no store")
        return self.store.append(drafts)


class EngineTarget:
    """The store of an open memory, which finds at once what is written.

    Args:
        engine: The memory's engine.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.store: ColdStore | None = engine.store
        self.log: Log | None = engine.log

    def write(self, rows: Sequence[Row], expect: Sequence[Condition]) -> list[Outcome]:
        """Write a batch, and wait for a moment if messages come faster than they are embedded."""
        return self._engine.bring(rows, expect=expect)

    def append(self, drafts: Sequence[Draft]) -> list[int]:
        """Append records; see `ColdStore.append`."""
        return self._engine.bring_records(drafts)
