"""Erases conversations, messages and memories, with everything derived from them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from warmset._support.integers import whole_number
from warmset.errors import InvalidInputError, NotFound
from warmset.items.archive import copies_of
from warmset.items.cells import versions_of
from warmset.items.side_chains import side_chains
from warmset.receipts import ErasureResult
from warmset.store.records import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.engine.engine import Engine


def erase(
    engine: Engine, tenant: str, *, conversation: str | None, ids: Iterable[int] | None
) -> ErasureResult:
    """Erase a conversation, or some messages and memories; see `Memory.erase`.

    Raises:
        NotFound: The tenant has no message and no memory with that id.
        InvalidInputError: Neither or both arguments were given, or one is not a name or not ids.
        StoreError: They could not be erased.
    """
    if (conversation is None) == (ids is None):
        raise InvalidInputError("erase: expected either a conversation or ids")
    if conversation is not None:
        names = [*side_chains(engine.log, tenant, conversation), conversation]
        copies = partial(copies_of, engine, tenant, conversations=names)
        prefixes = [key_of(tenant, name) for name in names]

        def cells() -> list[int]:
            return [id_ for name in names for id_ in versions_of(engine.log, tenant, name)]

        return _erase(engine, prefixes=prefixes, copies=copies, cells=cells)
    listed = _ids(ids)
    try:
        _check_tenant(engine, tenant, listed)
    except NotFound:
        engine.finish_erasure()  # of these, maybe, by a call that was cut off
        raise
    if not listed:
        return ErasureResult(0, 0, 0)
    return _erase(engine, records=listed, copies=partial(copies_of, engine, tenant, ids=listed))


def _check_tenant(engine: Engine, tenant: str, ids: Iterable[int]) -> None:
    """Refuse ids of others.

    Raises:
        NotFound: One is of another tenant, or of nobody.
    """
    if any(engine.tenant_of(id_) != tenant for id_ in ids):
        raise NotFound("erase: an id is not one of this tenant's messages or memories")


def erase_items(
    engine: Engine, tenant: str, *, cells: Sequence[int], records: Sequence[int]
) -> ErasureResult:
    """Erase items; see `Items.erase`.

    Args:
        engine: The store.
        tenant: Whose items these are.
        cells: Versions of items that were put.
        records: The ids of memories and messages.

    Raises:
        StoreError: They could not be erased.
    """
    if not cells and not records:
        return ErasureResult(0, 0, 0)
    copies = partial(copies_of, engine, tenant, ids=records)
    return _erase(engine, records=records, copies=copies, cells=lambda: cells)


def _erase(
    engine: Engine,
    *,
    copies: Callable[[], Sequence[int]],
    prefixes: Sequence[Sequence[bytes]] = (),
    records: Sequence[int] | None = None,
    cells: Callable[[], Sequence[int]] = tuple,
) -> ErasureResult:
    removed = engine.erase(prefixes=prefixes, records=records, copies=copies, cells=cells)
    refresh(engine)
    return removed


def refresh(engine: Engine) -> None:
    """Have the indexes of derived records follow an erasure."""
    with engine.lock:
        indexes = [*engine.item_indexes.values(), *engine.shelves.values()]
    for one in indexes:  # without the engine's lock: a refresh takes it
        one.refresh()


def _ids(given: object) -> list[int]:
    """Return ids of messages, unique and ascending.

    Raises:
        InvalidInputError: They are not ids.
    """
    listed: list[object] = []
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes, bytearray)):
        listed.extend(given)  # not +=, which an array would answer
    elif given is not None:
        raise InvalidInputError(f"ids: expected ids of messages, found {given!r:.80}")
    found = set[int]()
    for id_ in listed:
        number = whole_number(id_)
        if number is None or number < 0:
            raise InvalidInputError(f"ids: expected ids of messages, found {id_!r:.80} among them")
        found.add(number)
    return sorted(found)
