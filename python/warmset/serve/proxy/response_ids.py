"""Which message of which conversation each response of a provider that it keeps itself ends with.

A client that lets the provider keep the list sends the id of the last response, and what is new. So
the ids that providers give are kept in the store, each as a cell in a space of its own:

    (tenant, space, keyed hash of the id) -> conversation, whether the reply is due

Its source is the message that the response ends with: whatever erases that, with its conversation
or alone, takes the cell along. No id is stored, only its hash under the name of its tenant, so that
no tenant finds what is another's.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset._core import space
from warmset.store.rows import Put

if TYPE_CHECKING:
    from warmset.memory import Memory
    from warmset.store.rows import Key

SPACE: Final = space("responses")
"""The second part of the keys of the cells."""

_SIZE: Final = 20


@dataclass(frozen=True, slots=True)
class Place:
    """Where a response stands in the store.

    Args:
        conversation: The name of its conversation.
        last: The id of the message that it ends with.
        waits: Whether its reply was not seen yet: then it ends with what was asked.
    """

    conversation: str
    last: int
    waits: bool = False


def find(memory: Memory, id_: str) -> Place | None:
    """Return where a response stands; None for one that this tenant has not.

    Args:
        memory: What the tenant has.
        id_: The id that the provider gave.

    Raises:
        StoreError: The store could not be read.
    """
    engine = memory.__warmset_engine__()
    cell = engine.log.get(_key(memory.tenant, id_))
    if cell is None:
        return None
    found = json.loads(cell.payload)
    [last] = engine.store.get(cell.version).sources
    return Place(found["conversation"], last, waits=found["waits"])


def note(memory: Memory, id_: str, place: Place) -> None:
    """Keep where a response stands; durable when this returns.

    Args:
        memory: What the tenant has.
        id_: The id that the provider gave.
        place: Where it stands from now on.

    Raises:
        StoreError: It could not be written.
    """
    payload = json.dumps({"conversation": place.conversation, "waits": place.waits}).encode()
    row = Put(_key(memory.tenant, id_), payload, sources=(place.last,))
    memory.__warmset_engine__().log.write([row])


def name_of(tenant: str, id_: str) -> str:
    """Return the name of a conversation that only the provider has named.

    Args:
        tenant: Whose it is.
        id_: The id that the provider gave.
    """
    return f"conv-{_digest(tenant, id_).hex()}"


def _key(tenant: str, id_: str) -> Key:
    return tenant, SPACE, _digest(tenant, id_)


def _digest(tenant: str, id_: str) -> bytes:
    key = hashlib.sha256(tenant.encode("utf-8", "surrogatepass")).digest()
    written = id_.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(written, digest_size=_SIZE, key=key).digest()
