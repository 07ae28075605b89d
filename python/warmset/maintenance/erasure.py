"""Erases a conversation without opening an index or a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError
from warmset.items.archive import WHAT
from warmset.items.cells import versions_of
from warmset.maintenance.access import pages, scope_of
from warmset.receipts import ErasureResult
from warmset.store.log import Log
from warmset.store.records import TURN, load

if TYPE_CHECKING:
    from warmset._core import ColdStore, Record

_ITEM = "item"


def erase_conversation(store: ColdStore, tenant: str, conversation: str) -> ErasureResult:
    """Erase a conversation, its items, what was derived from it, and the tenant's copies of it.

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
    scope = scope_of(tenant, conversation)
    copies = _copies(store, scope)
    log = Log(store)
    items = versions_of(log, tenant, conversation)
    own = log.erase(ids=items) if items else ErasureResult(0, 0, 0)
    # Before what tells that they are copies.
    more = store.erase(records=copies) if copies else ErasureResult(0, 0, 0)
    gone = store.erase(prefix=scope)
    derived = gone.derived + more.records + more.derived + own.derived
    return ErasureResult(gone.records + own.records, derived, gone.keys + more.keys + own.keys)


def _copies(store: ColdStore, scope: list[bytes]) -> list[int]:
    """Return the ids of copies of a conversation's messages outside of the conversation."""
    tenant, name = scope
    said, lost = set[bytes](), set[bytes]()
    items: list[tuple[int, bytes]] = []
    for record in pages(store, []):
        if not record.key or record.key[0] != tenant:
            continue
        inside = record.key[1:] == (name,)
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
