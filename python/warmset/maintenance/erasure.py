"""Erases a conversation without opening an index or a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError
from warmset.items.archive import WHAT
from warmset.items.cells import versions_of
from warmset.items.side_chains import side_chains
from warmset.maintenance.access import pages, scope_of
from warmset.receipts import ErasureResult
from warmset.store.log import Log
from warmset.store.records import TURN, load

if TYPE_CHECKING:
    from warmset._core import ColdStore, Record

_ITEM = "item"


def erase_conversation(store: ColdStore, tenant: str, conversation: str) -> ErasureResult:
    """Erase a conversation, its items, what was derived from it, and the tenant's copies of it.

    Side chains of a session that was imported go with it, before it.

    A copy is a message that a compaction dropped from a list, stored under another name or none. It
    is not erased while another conversation of the tenant has a message with the same content. The
    files are rewritten by `store.compact`.

    Args:
        store: The store.
        tenant: The conversation's tenant.
        conversation: Its name.

    Returns:
        The counts; copies, and what was derived from them, count as derived.

    Raises:
        InvalidInputError: A name is empty.
        StoreError: They could not be erased.
    """
    log = Log(store)
    names = [*side_chains(log, tenant, conversation), conversation]
    scopes = [scope_of(tenant, name) for name in names]
    copies = _copies(store, scopes)
    items = [id_ for name in names for id_ in versions_of(log, tenant, name)]
    removed = log.erase(ids=items) if items else ErasureResult(0, 0, 0)
    if copies:  # before what tells that they are copies
        removed += store.erase(records=copies).as_derived()
    for scope in scopes:
        removed += store.erase(prefix=scope)
    return removed


def _copies(store: ColdStore, scopes: list[list[bytes]]) -> list[int]:
    """Return the ids of copies of some conversations' messages outside of the conversations."""
    tenant = scopes[0][0]
    names = {(name,) for _, name in scopes}
    said, lost = set[bytes](), set[bytes]()
    items: list[tuple[int, bytes]] = []
    for record in pages(store, []):
        if not record.key or record.key[0] != tenant:
            continue
        inside = record.key[1:] in names
        if record.kind == TURN:
            (lost if inside else said).add(record.hash)
        elif not inside and _is_copy(record):
            items.append((record.seq, record.hash))
    lost -= said
    return [id_ for id_, digest in items if digest in lost]


def _is_copy(record: Record) -> bool:
    try:
        return record.kind == _ITEM and load(record.meta).get("what") == WHAT
    except InvalidInputError:
        return False
