"""What a store reads: items by key, by filter, by meaning, and the namespaces that there are."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from warmset.adapters.as_json import all_loaded
from warmset.adapters.langgraph.items import (
    found_of,
    item_of,
    key_of,
    labels_of,
    matches,
    where_of,
)
from warmset.adapters.langgraph.vectors import Vectors
from warmset.adapters.place import PAGE
from warmset.errors import Conflict, NotFound
from warmset.native import Patch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from warmset._core import Cell
    from warmset.adapters.langgraph.framework import (
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        SearchItem,
        SearchOp,
    )
    from warmset.adapters.langgraph.texts import Texts
    from warmset.adapters.place import Place

    Page: TypeAlias = list[tuple[Cell, float | None]]

MINUTE: Final = 60_000_000
"""Microseconds."""

LISTED: Final = 1 << 16
"""The most items that a search lists at once."""

PUT_OFF: Final = 8
"""A read puts an expiry off once this part of the time has gone by, not each time."""


class Reads:
    """Reads the items of a store.

    Args:
        place: Where they lie.
        texts: What is embedded; None for no search by meaning.
    """

    def __init__(self, place: Place, texts: Texts | None) -> None:
        self._place = place
        self._vectors = None if texts is None else Vectors(place, texts.dims, texts.distance)

    def get(self, op: GetOp, *, now: int, seen: int) -> Item | None:
        """Return an item.

        Args:
            op: What is asked for.
            now: The time, in microseconds.
            seen: What has expired by then is not shown.
        """
        cell = self._place.log.get(key_of(self._place, op.namespace, op.key), now=seen)
        if cell is None:
            return None
        self._put_off([cell] if op.refresh_ttl else [], now, seen)
        return item_of(cell)

    def search(
        self,
        op: SearchOp,
        made: dict[str, NDArray[np.float32]] | None,
        *,
        now: int,
        seen: int,
    ) -> list[SearchItem]:
        """Return items below a namespace: the nearest to a query, or those that changed last.

        Args:
            op: What is asked for.
            made: The vectors of queries.
            now: The time, in microseconds.
            seen: What has expired by then is not shown.
        """
        if op.query and made is not None and self._vectors is not None:
            pages = self._nearest(op, self._vectors, made[op.query], seen)
        else:
            pages = self._changed(op, seen)
        found = [*islice(_passing(pages, op.filter), op.offset, op.offset + op.limit)]
        self._put_off((cell for cell, *_ in found) if op.refresh_ttl else (), now, seen)
        return [found_of(*one) for one in found]

    def namespaces(self, op: ListNamespacesOp, *, seen: int) -> list[tuple[str, ...]]:
        """Return the namespaces that have items, in order.

        Args:
            op: What is asked for.
            seen: What has expired by then is not shown.
        """
        conditions = op.match_conditions or ()
        listed = self._place.log.scan(self._place.key(), limit=None, now=seen)
        names = map(labels_of, {one.key[2:-1] for one in listed})
        found = (name for name in names if all(_fits(name, one) for one in conditions))
        cut = {name if op.max_depth is None else name[: op.max_depth] for name in found}
        return sorted(cut)[op.offset : op.offset + op.limit]

    def _changed(self, op: SearchOp, seen: int) -> Iterator[Page]:
        below, where = self._place.key(*op.namespace_prefix), where_of(op.filter)
        # A scan puts all that it has seen in order, so it is asked for all at once.
        size, last = max(1, min(op.offset + op.limit, LISTED)), None
        while listed := self._place.log.scan(
            below, where=where, order="changed", reverse=True, after=last, limit=size, now=seen
        ):
            last, size = listed[-1], LISTED
            for begin in range(0, len(listed), PAGE):
                keys = [one.key for one in listed[begin : begin + PAGE]]
                cells = self._place.log.view(cells=keys, now=seen).cells
                yield [(cell, None) for cell in cells if cell is not None]

    def _nearest(
        self, op: SearchOp, vectors: Vectors, query: NDArray[np.float32], seen: int
    ) -> Iterator[Page]:
        where, among = where_of(op.filter), None
        if op.namespace_prefix or where is not None:
            below = self._place.key(*op.namespace_prefix)
            listed = self._place.log.scan(below, where=where, limit=None, now=seen)
            among = [one.key for one in listed]
        done, count = 0, max(1, op.offset + op.limit)
        while True:
            ranked = vectors.search(query, count, among)
            page = ranked[done:]
            cells = self._place.log.view(cells=[key for _, key in page], now=seen).cells
            pairs = zip(page, cells, strict=True)
            yield [(cell, score) for (score, _), cell in pairs if cell is not None]
            if len(ranked) < count:
                return
            done, count = len(ranked), count * 4

    def _put_off(self, cells: Iterable[Cell], now: int, seen: int) -> None:
        """Let items that were read expire later, but for those that changed meanwhile."""
        for cell in cells:
            if cell.expires is None:
                continue
            minutes: Any = cell.columns["ttl"]
            expires = now + int(minutes * MINUTE)
            if expires - cell.expires >= minutes * MINUTE / PUT_OFF:
                later = Patch(cell.key, cell.columns, version=cell.version, expires=expires)
                with suppress(NotFound, Conflict):
                    self._place.log.write([later], now=seen, depth=self._place.depth, sync=False)


def _passing(
    pages: Iterable[Page], wanted: Mapping[str, Any] | None
) -> Iterator[tuple[Cell, dict[str, Any], float | None]]:
    """Return the cells that a filter finds, with their values and scores."""
    for page in pages:
        values = all_loaded(cell.payload for cell, _ in page)
        for (cell, score), value in zip(page, values, strict=True):
            if not wanted or matches(value, wanted):
                yield cell, value, score


def _fits(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Return whether a namespace begins or ends as a condition says.

    Raises:
        ValueError: The condition is neither.
    """
    path = tuple(condition.path)
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    if len(namespace) < len(path):
        return False
    start = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    pairs = zip(namespace[start:], path, strict=False)
    return all(wanted in ("*", label) for label, wanted in pairs)
