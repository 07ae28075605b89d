"""Conversations that imports made of side chains: an agent's own agents, subgraphs of a thread.

A side chain is named `SESSION/AGENT`, and each of its records says whose it is. One of an agent's
agent is named `AGENT/AGENT`, and may say, too, in which session.
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
"""The field that names the conversation, or the agent, of which another one is a side chain."""

ROOT: Final = "side_chain_in"
"""The field that names the session in which an agent's agent was at work."""

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
    key_of(tenant, conversation)
    named = [one for one in conversations(log, tenant) if "/" in one and one != conversation]
    found = {one for one in named if conversation in _said(log, tenant, one, ROOT, limit=1)}
    parents = [conversation, *found]
    parents += [agent for one in parents for agent in _agents(log, tenant, one)]
    while parents:
        parent = parents.pop()
        for name in named:
            is_new = name.startswith(f"{parent}/") and name not in found
            if is_new and parent in _said(log, tenant, name, OF):
                found.add(name)
                parents += [name, name.removeprefix(f"{parent}/")]
    return sorted(found)


def conversations(log: Log, tenant: str) -> Iterator[str]:
    """Yield the names of a tenant's conversations, also of those that have no message."""
    after: tuple[bytes, ...] | None = None
    key = key_of(tenant, "any")[:1]
    while page := log.spaces(key, depth=2, after=after, limit=_NAMES):
        yield from (names_of(one)[1] for one in page if is_conversation(one))
        after = page[-1]


def _agents(log: Log, tenant: str, conversation: str) -> set[str]:
    """Return by what other names side chains may call a conversation that is one itself."""
    parents = {f"{one}/" for one in _said(log, tenant, conversation, OF)}
    found = (conversation.removeprefix(one) for one in parents)
    return {one for one in found if one != conversation}


def _said(log: Log, tenant: str, name: str, field: str, *, limit: int = _LOOKED_AT) -> set[str]:
    """Return what a conversation says in a field; nothing if it cannot be read."""
    try:
        found = [_field(entry, field) for entry in log.entries(key_of(tenant, name), limit=limit)]
        return {one for one in found if isinstance(one, str)}
    except (StoreError, InvalidInputError):
        return set()


def _field(entry: Entry, field: str) -> object:
    if entry.turn is None:
        return entry.columns.get(field)
    return (TurnMeta.decode(entry.turn).extra or {}).get(field)
