"""The index of a tenant's items: by name, by what they are labelled with, and by their words.

It is built from the log when it is first used, and follows what happens there, whoever writes.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from warmset._core import Retriever
from warmset._support.locks import guarded, rlock
from warmset.index.cue import Cue
from warmset.index.labels import WORDS_INDEXED
from warmset.items.ask import NO_NAME
from warmset.items.cells import memory_id_of, prefix_of, time_of
from warmset.items.item import ORIGINS
from warmset.items.new import LABELS
from warmset.options import Filter
from warmset.store.records import Job

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from warmset._core import Cell
    from warmset.embed import Vectors
    from warmset.engine.engine import Engine
    from warmset.items.ask import Ask
    from warmset.items.item import Origin
    from warmset.options import Weights

_STEP: Final = 500
"""Items that are read from the log at once."""

_NAMES: Final = ("type", "conversation", "session", "module")
"""Columns with one name, by which items are found."""

_NUMBERS: Final = (1, 0, 0, 0, 0, 0)
"""What the retriever labels items with; they are found by other labels than messages."""


@dataclass(frozen=True, slots=True)
class Held:
    """What is known of an item without reading it.

    Args:
        id: The id of its newest version.
        name: The last part of its key.
        memory_id: Its name.
        digest: The digest of what was put.
        origin: Whose words these are.
        at: Its time, in microseconds since 1970 UTC.
        archived: Whether it is kept without being shown.
        supersedes: Names of items that it replaces.
        labels: The columns and names that it is found by.
    """

    id: int
    name: bytes
    memory_id: str
    digest: str
    origin: Origin
    at: int
    archived: bool
    supersedes: tuple[str, ...]
    labels: frozenset[tuple[str, str]]


@guarded(
    "self.lock",
    fields=(
        "_retriever",
        "_held",
        "_by_name",
        "_by_id",
        "_by_label",
        "_heirs",
        "_position",
        "_archived",
        "_lacking",
        "_asked",
    ),
    calls=(
        "_take",
        "_drop",
        "_clear",
        "_read",
        "_among",
        "_hidden",
        "_follow_vectors",
    ),
)
class Shelf:
    """The items of one tenant.

    Args:
        engine: The store.
        tenant: Whose items these are.
    """

    def __init__(self, engine: Engine, tenant: str) -> None:
        self._engine = engine
        self._prefix = prefix_of(tenant)
        self.tenant = tenant
        self.lock = rlock("shelf")
        self._generation = 0
        self._position: bytes | None = None
        self._clear()

    def _clear(self) -> None:
        self._retriever = Retriever()
        self._held: dict[int, Held] = {}
        self._by_name: dict[bytes, int] = {}
        self._by_id: dict[str, int] = {}
        self._by_label: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        self._heirs: defaultdict[str, set[int]] = defaultdict(set)  # what replaces a name
        self._archived: set[int] = set()
        self._lacking: set[int] = set()  # items without vectors
        self._asked: set[int] = set()  # those of them that are to be embedded

    def refresh(self) -> None:
        """Take up what happened to the items since the last call.

        Raises:
            StoreError: The store could not be read.
        """
        with self.lock:
            found = self._engine.log.follow(self._position, prefix=self._prefix, limit=None)
            if found is None:
                self._clear()
                found = self._engine.log.follow(None, prefix=self._prefix, limit=None)
            if found is None:  # a copy of the store took its place just now
                return
            fresh: dict[bytes, None] = {}
            for change in found.changes:
                if change.what in ("put", "patched"):
                    fresh[change.key[-1]] = None
                else:
                    gone = [
                        one
                        for one in self._held.values()
                        if change.covers(one.id, (*self._prefix, one.name))
                    ]
                    fresh |= {one.name: None for one in gone}
            self._read(list(fresh))
            self._position = found.position
            self._follow_vectors()

    def _follow_vectors(self) -> None:
        """Search by the vectors that are there, and have the others made in the background."""
        indexer = self._engine.indexer
        if indexer is None or indexer.vectorizer.mismatch() is not None:
            return
        identity = indexer.vectorizer.identity
        generation = 0 if identity is None else identity.generation
        if generation != self._generation:
            if self._generation:
                self._retriever.clear_vectors()
                self._lacking, self._asked = set(self._held), set()
            self._generation = generation
        for id_ in sorted(self._lacking):
            rows = indexer.book.read(Job(id_, "item"))
            if rows is not None:
                self.take_rows(id_, rows)
        if missing := sorted(self._lacking - self._asked):
            indexer.enqueue([Job(id_, "item") for id_ in missing])
            self._asked.update(missing)

    def _read(self, names: Sequence[bytes]) -> None:
        for start in range(0, len(names), _STEP):
            some = names[start : start + _STEP]
            view = self._engine.log.view(cells=[(*self._prefix, name) for name in some])
            for name, cell in zip(some, view.cells, strict=True):
                if (old := self._by_name.get(name)) is not None:
                    self._drop(old)
                if cell is None:
                    continue
                try:
                    held, text = held_of(cell)
                except (ValueError, LookupError, TypeError) as error:
                    self._engine.lost.append(
                        f"item {name!r:.80} is not as warmset writes it: {error}"
                    )
                else:
                    self._take(held, text)

    def _take(self, held: Held, text: str) -> None:
        self._retriever.add(
            held.id,
            (*_NUMBERS, held.at // 1_000, True),
            text[:WORDS_INDEXED],
        )
        self._held[held.id] = held
        self._lacking.add(held.id)
        if held.archived:
            self._archived.add(held.id)
        self._by_name[held.name] = self._by_id[held.memory_id] = held.id
        for label in held.labels:
            self._by_label[label].add(held.id)
        for name in held.supersedes:
            self._heirs[name].add(held.id)

    def _drop(self, version: int) -> None:
        held = self._held.pop(version)
        self._retriever.remove(version)
        self._lacking.discard(version)
        self._asked.discard(version)
        self._archived.discard(version)
        del self._by_name[held.name], self._by_id[held.memory_id]
        for label in held.labels:
            self._by_label[label].discard(version)
            if not self._by_label[label]:
                del self._by_label[label]
        for name in held.supersedes:
            self._heirs[name].discard(version)
            if not self._heirs[name]:
                del self._heirs[name]

    def __len__(self) -> int:
        with self.lock:
            return len(self._held)

    def __contains__(self, id_: object) -> bool:
        with self.lock:
            return id_ in self._held

    def cells(self, some: Sequence[Held]) -> Sequence[Cell | None]:
        """Return the cells of items as they are now; None for one that is gone.

        Raises:
            StoreError: They could not be read.
        """
        return self._engine.log.view(cells=[(*self._prefix, one.name) for one in some]).cells

    def text_of(self, id_: int) -> str:
        """Return the text of an item; empty if it is gone."""
        with self.lock:
            held = self._held.get(id_)
        cell = None if held is None else self.cells([held])[0]
        return "" if cell is None else cell.payload.decode("utf-8", "surrogatepass")

    def key_of(self, id_: int) -> list[bytes]:
        """Return the key of an item's vectors."""
        with self.lock:
            return [*self._prefix, self._held[id_].name if id_ in self._held else b""]

    def jobs(self, first: int = 0) -> list[Job]:
        """Return the view of every item from an id on."""
        with self.lock:
            return [Job(id_, "item") for id_ in self._held if id_ >= first]

    def take_rows(self, id_: int, rows: Vectors) -> None:
        """Search an item by these vectors, shape (passages, dim)."""
        with self.lock:
            if id_ in self._held:
                self._retriever.put_vectors(id_, rows)
                self._lacking.discard(id_)
                self._asked.discard(id_)

    def named(self, memory_id: object) -> Held | None:
        """Return the item with a name; None if there is none."""
        with self.lock:
            id_ = self._by_id.get(memory_id) if isinstance(memory_id, str) else None
            return None if id_ is None else self._held[id_]

    def heirs(self) -> dict[str, int]:
        """Return for each name the newest item that is shown in its place."""
        with self.lock:
            shown = {name: ids - self._archived for name, ids in self._heirs.items()}
        return {name: max(ids) for name, ids in shown.items() if ids}

    def find(
        self, ask: Ask, vector: Vectors | None, weights: Weights
    ) -> list[tuple[Held, float | None]]:
        """Return items, best first with their scores, or the newest first without.

        Args:
            ask: What is asked for.
            vector: The vector of the question, shape (dim,); None searches by words alone.
            weights: The weight of each signal.
        """
        with self.lock:
            among = self._among(ask.columns())
            hidden = self._hidden(archived=ask.archived, superseded=ask.superseded)
            if ask.text is None:
                there = self._held.keys() if among is None else among
                some = (self._held[id_] for id_ in there if id_ not in hidden)
                newest = heapq.nlargest(
                    ask.k,
                    (one for one in some if ask.spans(one.at // 1_000)),
                    key=lambda one: (one.at, one.id),
                )
                return [(one, None) for one in newest]
            where = Filter(
                ids=None if among is None else sorted(among),
                exclude=sorted(hidden),
                since=ask.since,
                before=ask.before,
            )
            ids, scores, _ = self._retriever.search(
                vector, ask.text, ask.k, where=where, weights=weights, cue=Cue()
            )
            return [
                (self._held[id_], score)
                for id_, score in zip(ids.tolist(), scores.tolist(), strict=True)
                if score > 0
            ]

    def _among(self, labels: Mapping[str, Collection[str]]) -> set[int] | None:
        """Return the items that have one of the names in each column; None for all."""
        among: set[int] | None = None
        for label, names in labels.items():
            there = set[int]().union(*(self._by_label.get((label, name), ()) for name in names))
            among = there if among is None else among & there
        return among

    def _hidden(self, *, archived: bool, superseded: bool) -> set[int]:
        """Return the items that are not shown."""
        hidden = set[int]()
        if not archived:
            hidden |= self._archived
        if not superseded:
            for name, heir in self.heirs().items():
                old = self._by_id.get(name)
                if old is not None and heir > old:  # the newer one of two that do
                    hidden.add(old)
        return hidden


def held_of(cell: Cell) -> tuple[Held, str]:
    """Return what is known of an item, and its text.

    Raises:
        ValueError: The cell is none of an item.
    """
    columns = cast("Mapping[str, Any]", cell.columns)
    labels = {(label, str(columns.get(label) or NO_NAME)) for label in _NAMES}
    labels |= {(label, name) for label in LABELS for name in columns.get(label) or ()}
    if not isinstance(columns.get("type"), str) or columns.get("origin") not in ORIGINS:
        raise ValueError("it has no type or no origin")
    at = time_of(columns.get("time"))
    held = Held(
        id=cell.version,
        name=cell.key[-1],
        memory_id=memory_id_of(cell.key[-1], cell.born),
        digest=str(columns.get("digest")),
        origin=columns["origin"],
        at=int(at.timestamp() * 1_000_000),
        archived=bool(columns.get("archived")),
        supersedes=tuple(columns.get("supersedes") or ()),
        labels=frozenset(labels),
    )
    return held, cell.payload.decode("utf-8", "surrogatepass")


def shelf_of(engine: Engine, tenant: str) -> Shelf:
    """Return the index of a tenant's items, shared by all handles of the engine."""
    with engine.lock:
        found = engine.shelves.get(tenant)
        if not isinstance(found, Shelf):
            found = engine.shelves[tenant] = Shelf(engine, tenant)
    found.refresh()
    return found
