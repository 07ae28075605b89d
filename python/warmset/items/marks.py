"""Changes what is known of items beside their texts, whoever else does so at the same moment.

A patch leaves the version of a cell as it is, so no condition on that cell tells whether somebody
patched it between reading and writing. Every such batch therefore puts a cell of the tenant, the
mark, under the condition that nobody else has put it meanwhile; who came too late begins anew.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from warmset._core import space
from warmset.errors import Conflict, NotFound
from warmset.items.cells import key_of_item
from warmset.store.conditions import Version
from warmset.store.rows import Patch, Put

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset._core import Cell
    from warmset.engine.engine import Engine
    from warmset.items.shelf import Shelf

SPACE: Final = space("item marks")
"""The second part of the key of a tenant's mark."""

TRIES: Final = 200
"""How often a change begins anew, because somebody else was faster each time."""

_PAUSE: Final = 0.002
"""Seconds that one waits after that, times the number of the try, up to ten of them."""


def mark_of(tenant: str) -> tuple[bytes, bytes]:
    """Return the key of a tenant's mark."""
    return tenant.encode("utf-8", "surrogatepass"), SPACE


def change_columns(
    engine: Engine,
    shelf: Shelf,
    names: Sequence[bytes],
    changed: Callable[[Sequence[Cell | None]], Sequence[dict[str, Any] | None]],
) -> None:
    """Write other columns for items, all of them or none.

    Args:
        engine: The store.
        shelf: The index of the tenant's items, which follows.
        names: The last parts of the keys of the items.
        changed: Takes the cells as they are, None for one that is gone, and returns all columns
            that each has from now on, None for one that stays as it is. It may be called again.

    Raises:
        Conflict: Others wrote again and again; nothing was changed.
        StoreError: It could not be written.
    """
    mark = mark_of(shelf.tenant)
    keys = [key_of_item(shelf.tenant, name) for name in names]
    for tried in range(1, TRIES + 1):
        with shelf.lock:
            before, *cells = engine.log.view(cells=[mark, *keys]).cells
            columns = changed(cells)
            rows = [
                Patch(cell.key, new, version=cell.version)
                for cell, new in zip(cells, columns, strict=True)
                if cell is not None and new is not None
            ]
            if not rows:
                return
            seen = Version(mark, 0 if before is None else before.version)
            try:
                engine.log.write([*rows, Put(mark, b"")], expect=[seen])
            except (Conflict, NotFound):  # NotFound: one was put anew, or is gone
                if tried == TRIES:
                    raise
            else:
                shelf.refresh()
                return
        time.sleep(_PAUSE * min(tried, 10))
