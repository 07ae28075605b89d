"""How an item lies in the log: a cell of the space "items", named by its tenant and its name.

The text, or the JSON of the data, is the payload. What is filtered by is in the columns, the rest
in the bytes beside them. An item without a name has 16 random bytes as its key, behind a byte that
no UTF-8 begins with.
"""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, cast

from warmset._core import space
from warmset._support.names import fault_of
from warmset.items.item import MemoryItem
from warmset.items.new import LISTS, as_json
from warmset.items.rewards import FIX, mean_of, reward_columns
from warmset.options import CONFIDENCE
from warmset.store.rows import Put

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset._core import Cell
    from warmset.items.item import Origin
    from warmset.items.new import NewItem
    from warmset.store.log import Log

SPACE: Final = space("items")
"""The second part of the keys of items."""

OUTCOMES: Final = space("outcomes")
"""The second part of the keys of outcomes of payloads, which are erased as items are."""
PAYLOADS: Final = space("payloads")
"""The second part of the keys of records of payloads."""

TEXT: Final = "text"
JSON: Final = "json"

_SOME: Final = ("conversation", "session", "module", "pipeline", *LISTS)
"""Columns that an item has where it has a name for them."""

_some_of: Final = attrgetter("conversation", "session_id", "module_context", "pipeline", *LISTS)

_NO_NAME: Final = b"\xff"
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)


def prefix_of(tenant: str) -> tuple[bytes, bytes]:
    """Return what the keys of a tenant's items begin with."""
    return tenant.encode("utf-8", "surrogatepass"), SPACE


def key_of_item(tenant: str, name: bytes) -> tuple[bytes, bytes, bytes]:
    """Return the key of an item's cell."""
    return (*prefix_of(tenant), name)


def name_of(memory_id: str | None) -> bytes:
    """Return the last part of an item's key; another one each time for an item without a name."""
    return _NO_NAME + uuid.uuid4().bytes if memory_id is None else memory_id.encode()


def number_name(born: int) -> str:
    """Return the name of an item without one, by the id of its first version."""
    return f"item:{born}"


def memory_id_of(name: bytes, born: int) -> str:
    """Return the name of an item: its own, or one by the id of its first version."""
    return number_name(born) if name.startswith(_NO_NAME) else name.decode()


def is_put(log: Log, tenant: str, memory_id: str) -> bool:
    """Return whether an item that was put has a name.

    Raises:
        StoreError: It could not be read.
    """
    key = key_of_item(tenant, memory_id.encode("utf-8", "surrogatepass"))
    return fault_of(memory_id) is None and log.version(key) > 0


def versions_of(log: Log, tenant: str, conversation: str) -> list[int]:
    """Return the newest versions of the items of a conversation, and of what is on record of it.

    That is outcomes of its payloads, and the payloads themselves.

    Raises:
        StoreError: They could not be read.
    """
    if fault_of(conversation) is not None:  # no item has such a name
        return []
    whose = {"conversation": conversation}
    whole, _space = prefix_of(tenant)
    return [
        one.version
        for part in (SPACE, OUTCOMES, PAYLOADS)
        for one in log.scan((whole, part), where=whose, limit=None)
    ]


def row_of(
    tenant: str,
    name: bytes,
    new: NewItem,
    *,
    now: datetime,
    tokens: int,
    origin: Origin,
    digest: str,
    sources: Sequence[int],
) -> Put:
    """Return the row that puts an item.

    Args:
        tenant: Whose it is.
        name: The last part of its key.
        new: The item.
        now: Its time, if it has none of its own.
        tokens: The tokens of its text.
        origin: Whose words these are.
        digest: The digest of what was given.
        sources: Ids of the records that it is made from.
    """
    columns: dict[str, Any] = {
        "type": new.memory_type,
        "time": now if new.timestamp is None else new.timestamp,
        "tokens": tokens,
        "origin": origin,
        "confidence": float(new.confidence),
        "digest": digest,
    }
    columns |= {label: one for label, one in zip(_SOME, _some_of(new), strict=True) if one}
    if new.relevance_decay != 1:
        columns["decay"] = float(new.relevance_decay)
    if new.reward is not None:
        is_fix = new.memory_type == FIX
        reward = float(new.reward)
        columns |= reward_columns(reward, 0, origin) if is_fix else {"reward": reward}
    beside = {"summary": new.summary, "meta": new.meta}
    said = {field: value for field, value in beside.items() if value is not None}
    return Put(
        key_of_item(tenant, name),
        new.said().encode("utf-8", "surrogatepass"),
        codec=JSON if new.text is None else TEXT,
        columns=columns,
        sources=sources,
        own=as_json(said).encode("utf-8", "surrogatepass") if said else b"",
    )


def item_of(cell: Cell, score: float | None = None) -> MemoryItem:
    """Return the item of a cell."""
    columns = cast("Mapping[str, Any]", cell.columns)
    own = cell.own.decode("utf-8", "surrogatepass")
    beside: Mapping[str, Any] = json.loads(own) if own else {}
    text = cell.payload.decode("utf-8", "surrogatepass")
    lists: dict[str, Any] = {field: tuple(columns.get(field) or ()) for field in LISTS}
    return MemoryItem(
        id=cell.version,
        memory_id=memory_id_of(cell.key[-1], cell.born),
        memory_type=str(columns.get("type")),
        text=text,
        data=json.loads(text) if cell.codec == JSON else None,
        summary=beside.get("summary"),
        conversation=columns.get("conversation"),
        session_id=columns.get("session"),
        timestamp=time_of(columns.get("time")),
        module_context=columns.get("module"),
        pipeline=columns.get("pipeline"),
        token_count=int(columns.get("tokens") or 0),
        relevance_decay=float(columns.get("decay", 1.0)),
        origin=columns.get("origin"),
        reward=mean_of(columns),
        confidence=float(columns.get("confidence", CONFIDENCE)),
        archived=bool(columns.get("archived")),
        outcomes=int(columns.get("outcomes") or 0),
        merged_into=columns.get("merged_into"),
        meta=dict(beside.get("meta") or {}),
        score=score,
        **lists,
    )


def time_of(value: object) -> datetime:
    """Return a time as a column has it."""
    if isinstance(value, datetime):
        return value
    return _START + timedelta(microseconds=value if isinstance(value, int) else 0)
