"""The index of a tenant's items: by name, by what they are labelled with, and by their words.

It is built from the log when it is first used, and follows what happens there, whoever writes. The
core keeps it; here it is joined with the store's vectors.
"""

from __future__ import annotations

from itertools import count, starmap
from typing import TYPE_CHECKING, Final

from warmset._core import ItemShelf
from warmset._support.cut_off import IfCutOff
from warmset._support.locks import guarded, rlock
from warmset.items.ask import Answer, Hit
from warmset.items.cells import item_of, prefix_of
from warmset.store.records import Job

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset._core import Cell, Held
    from warmset.embed import Vectors
    from warmset.engine.engine import Engine
    from warmset.items.ask import Ask, Question
    from warmset.items.item import MemoryItem

_VERSIONS: Final = count(1)
"""Numbers of what indexes were like; no two indexes of a process have one in common."""

_GONE: Final = (b"",)
"""The last part of the key of an item that is gone."""


@guarded(
    "self.lock",
    fields=("_lacking", "_asked", "_generation"),
    calls=("_follow_vectors", "_clear"),
)
class Shelf:
    """The items of one tenant.

    Args:
        engine: The store.
        tenant: Whose items these are.

    Attributes:
        tenant: Whose items these are.
        version: A number that is drawn anew after each change of the items or their vectors.
        removals: The same, after each change by which an item is gone.
    """

    def __init__(self, engine: Engine, tenant: str) -> None:
        self._engine = engine
        self._prefix = prefix_of(tenant)
        self._items = ItemShelf(self._prefix)
        self.tenant = tenant
        self.lock = rlock("shelf")
        self.removals = self.version = next(_VERSIONS)
        self._heirs: tuple[int, dict[str, int]] = (0, {})
        self._generation = 0
        self._lacking: set[int] = set()  # items without vectors
        self._asked: set[int] = set()  # those of them that are to be embedded

    def refresh(self) -> None:
        """Take up what happened to the items since the last call.

        Raises:
            StoreError: The store could not be read.
        """
        with self.lock, IfCutOff(self._clear):  # what the core gave once, it does not give again
            changed = self._items.refresh(self._engine.log.handle)
            if changed is None:  # a copy of the store took its place just now
                return
            fresh, gone, faults = changed
            if fresh or gone:
                self.version = next(_VERSIONS)
            if gone:
                self.removals = self.version
            self._lacking.difference_update(gone)
            self._asked.difference_update(gone)
            self._lacking.update(fresh)
            self._engine.lost.extend(faults)
            self._follow_vectors()

    def _clear(self) -> None:
        """Begin anew: everything is read again by the next call."""
        self._items = ItemShelf(self._prefix)
        self._lacking, self._asked = set(), set()
        self._generation = 0
        self.removals = self.version = next(_VERSIONS)

    def _follow_vectors(self) -> None:
        """Search by the vectors that are there, and have the others made in the background."""
        indexer = self._engine.indexer
        if indexer is None or indexer.vectorizer.mismatch() is not None:
            return
        identity = indexer.vectorizer.identity
        generation = 0 if identity is None else identity.generation
        if generation != self._generation:
            if self._generation:
                self.version = next(_VERSIONS)
                self._items.clear_vectors()
                self._lacking, self._asked = set(self._items.ids()), set()
            self._generation = generation
        if len(self._asked) == len(self._lacking):
            return
        missing: list[Job] = []
        for id_ in sorted(self._lacking - self._asked):
            job = Job(id_, "item")
            rows = indexer.book.read(job)
            if rows is None:
                missing.append(job)
                self._asked.add(id_)
            else:
                self.take_rows(id_, rows)
        if missing:
            indexer.enqueue(missing)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, id_: object) -> bool:
        return isinstance(id_, int) and self._items.get(id_) is not None

    def cells(self, some: Sequence[Held]) -> Sequence[Cell | None]:
        """Return the cells of items as they are now; None for one that is gone.

        Raises:
            StoreError: They could not be read.
        """
        return self._engine.log.view(cells=[(*self._prefix, one.name) for one in some]).cells

    def items(self, some: Sequence[Held]) -> list[MemoryItem | None]:
        """Return items as they are now; None for one that is gone; see `cells`."""
        return [None if cell is None else item_of(cell) for cell in self.cells(some)]

    def text_of(self, id_: int) -> str:
        """Return the text of an item; empty if it is gone."""
        held = self._items.get(id_)
        cell = None if held is None else self.cells([held])[0]
        return "" if cell is None else cell.payload.decode("utf-8", "surrogatepass")

    def key_of(self, id_: int) -> list[bytes]:
        """Return the key of an item's vectors."""
        held = self._items.get(id_)
        return [*self._prefix, *(_GONE if held is None else (held.name,))]

    def jobs(self, first: int = 0) -> list[Job]:
        """Return the view of every item from an id on."""
        return [Job(id_, "item") for id_ in self._items.ids() if id_ >= first]

    def take_rows(self, id_: int, rows: Vectors) -> None:
        """Search an item by these vectors, shape (passages, dim)."""
        with self.lock:
            if self._items.get(id_) is not None:
                self._items.put_vectors(id_, rows)
                self.version = next(_VERSIONS)
                self._lacking.discard(id_)
                self._asked.discard(id_)
                if not self._lacking:  # an emptied set keeps its size, and is slow to walk
                    self._lacking, self._asked = set(), set()

    def everything(self) -> list[Held]:
        """Return what is known of every item."""
        found = (self._items.get(id_) for id_ in self._items.ids())
        return [one for one in found if one is not None]

    def get(self, id_: int) -> Held | None:
        """Return what is known of an item; None if it is gone."""
        return self._items.get(id_)

    def get_many(self, some: Iterable[int]) -> list[Held | None]:
        """Return what is known of items; None for those that are gone."""
        return list(map(self._items.get, some))

    def named(self, memory_id: object) -> Held | None:
        """Return the item with a name; None if there is none."""
        return self._items.named(memory_id) if isinstance(memory_id, str) else None

    def heirs(self) -> dict[str, int]:
        """Return for each name the newest item that is shown in its place; not to be changed."""
        version, found = self._heirs
        if version != self.version:
            version = self.version  # before they are read, so that a later change is seen
            found = dict(self._items.heirs())
            self._heirs = version, found
        return found

    def find(self, asks: Sequence[Ask], question: Question) -> list[Answer]:
        """Return what is found for each ask.

        Args:
            asks: What is asked for.
            question: What items are compared with.
        """
        answers = self._items.find(
            [ask.row() for ask in asks],
            query=question.vector,
            words=question.text,
            weights=question.weights,
            now=question.now,
            turns=question.turns,
        )
        return [
            Answer(
                matched=matched,
                found=list(starmap(Hit, found)),
                superseded=superseded,
                lacking=dict(lacking),
            )
            for matched, found, superseded, lacking in answers
        ]


def shelf_of(engine: Engine, tenant: str) -> Shelf:
    """Return the index of a tenant's items, shared by all handles of the engine."""
    with engine.lock:
        found = engine.shelves.get(tenant)
        if not isinstance(found, Shelf):
            found = engine.shelves[tenant] = Shelf(engine, tenant)
    found.refresh()
    return found
