"""Which memories are pinned: each change is a record of its own, made from the memory.

So a memory keeps its id, and what was said of it is erased with it. The newest record counts, else
what the memory itself says. Only what a user said or a caller set can be pinned, see `is_trusted`;
that is looked at when a memory is pinned, and again whenever the pinned ones are read.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError
from warmset.items.item import is_trusted, name_of, origin_of
from warmset.receipts import Spooled
from warmset.store.derived import derived_draft

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warmset.engine.engine import Engine
    from warmset.store.derived import Made

WHAT: Final = "pin"
"""The kind of the items that pin a memory, or take its pin off."""

_NONCE: Final = 8
"""Bytes that tell one such record from another."""


def pins(engine: Engine, tenant: str, conversations: Iterable[str | None]) -> dict[int, bool]:
    """Return what was last said of memories: whether each is pinned, by its id.

    Args:
        engine: The store.
        tenant: The tenant.
        conversations: The scopes of the memories; None for those of all conversations.
    """
    with engine.lock:
        found = [
            id_ for one in conversations for id_ in engine.derived.held(tenant, one, WHAT).values()
        ]
        records = [made for id_ in sorted(found) if (made := engine.derived.get(id_)) is not None]
    return {one.sources[0]: one.fields.get("pinned") is True for one in records if one.sources}


def is_pinned(made: Made, said: dict[int, bool]) -> bool:
    """Return whether a memory is pinned.

    Args:
        made: The memory.
        said: What was last said of memories; see `pins`.
    """
    return said.get(made.id, made.fields.get("pinned") is True) and is_trusted(made)


def check_trusted(made: Made) -> None:
    """Refuse to pin what neither a user said nor a caller set.

    Raises:
        InvalidInputError: The memory has another origin.
    """
    if not is_trusted(made):
        origin = origin_of(made)
        whose = "an origin that is not known" if origin is None else f'the origin "{origin}"'
        raise InvalidInputError(
            f"pin: {name_of(made)!r:.80} has {whose}; only what a user said or you set yourself is "
            "pinned. Remember the text anew if you vouch for it"
        )


def set_pin(engine: Engine, made: Made, *, pinned: bool) -> Spooled | None:
    """Pin a memory, or take its pin off.

    Returns:
        None. `Spooled` if another process held the store's lock.

    Raises:
        InvalidInputError: Text of that origin is not pinned.
        StoreError: It could not be stored.
    """
    if pinned:
        check_trusted(made)
    said = pins(engine, made.tenant, [made.conversation])
    if said.get(made.id, made.fields.get("pinned") is True) == pinned:
        return None
    fields = {"what": WHAT, "pinned": pinned}
    data = secrets.token_bytes(_NONCE)
    draft = derived_draft("item", made.tenant, made.conversation, fields, data, [made.id])
    ids = engine.put([draft])
    return ids if isinstance(ids, Spooled) else None
