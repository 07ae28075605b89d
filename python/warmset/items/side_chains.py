"""Conversations that imports made of side chains: an agent's own agents, subgraphs of a thread.

A side chain is named `SESSION/AGENT`, and each of its records says whose it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError, StoreError
from warmset.store.records import TurnMeta, is_conversation, key_of, names_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warmset._core import Entry
    from warmset.store.log import Log

OF: Final = "side_chain_of"
"""The field that names the conversation of which another one is a side chain."""

_LOOKED_AT: Final = 16
"""The entries at the beginning of a conversation that are looked at."""

_NAMES: Final = 1_000


def side_chains(log: Log, tenant: str, conversation: str) -> list[str]:
    """Return the side chains of a conversation, and theirs, in the order of their names.

    One that cannot be read is none: without the key of a store, `erase` takes what it is told, and
    nothing that only has a similar name.

    Args:
        log: The store's log.
        tenant: The conversation's tenant.
        conversation: Its name.

    Raises:
        InvalidInputError: A name is empty.
    """
    key = key_of(tenant, conversation)
    named = [name for name in _names(log, key[:1]) if "/" in name]
    found: set[str] = set()
    parents = [conversation, *_agents(log, tenant, conversation)]
    while parents:
        parent = parents.pop()
        for name in named:
            is_new = name.startswith(f"{parent}/") and name not in found and name != conversation
            if is_new and _is_side(log, tenant, name, parent):
                found.add(name)
                parents += [name, name.removeprefix(f"{parent}/")]
    return sorted(found)


def _names(log: Log, tenant: list[bytes]) -> Iterator[str]:
    after: tuple[bytes, ...] | None = None
    while page := log.spaces(tenant, depth=2, after=after, limit=_NAMES):
        yield from (names_of(one)[1] for one in page if is_conversation(one))
        after = page[-1]


def _agents(log: Log, tenant: str, conversation: str) -> set[str]:
    """Return by what other names side chains may call a conversation that is one itself."""
    parents = {f"{one}/" for one in _parents(log, tenant, conversation)}
    found = (conversation.removeprefix(one) for one in parents)
    return {one for one in found if one != conversation}


def _is_side(log: Log, tenant: str, name: str, parent: str) -> bool:
    return parent in _parents(log, tenant, name)


def _parents(log: Log, tenant: str, name: str) -> set[str]:
    """Return what a conversation says that it is a side chain of; none if it cannot be read."""
    try:
        found = map(_parent, log.entries(key_of(tenant, name), limit=_LOOKED_AT))
        return {one for one in found if isinstance(one, str)}
    except (StoreError, InvalidInputError):
        return set()


def _parent(entry: Entry) -> object:
    if entry.turn is None:
        return entry.columns.get(OF)
    return (TurnMeta.decode(entry.turn).extra or {}).get(OF)
