"""Chooses the boundary between the messages to summarise and those that stay verbatim."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset._core import ColdStore
    from warmset.state.ledger import Ledger

HASH_BYTES = 16


@dataclass(frozen=True, slots=True)
class Span:
    """The messages that a summary will replace.

    Args:
        boundary: The number of messages before it; each is summarised or stays unchanged.
        last: The id of the last message before the boundary.
        ids: The ids of the messages that are summarised now, in order.
        cost: Their tokens.
    """

    boundary: int
    last: int
    ids: tuple[int, ...]
    cost: int


def choose(ledger: Ledger, *, after: int, tail: int, keep: int) -> Span | None:
    """Choose a boundary between two units, with about `tail` tokens after it.

    Args:
        ledger: The conversation.
        after: The number of messages at the front that a summary replaces already.
        tail: The most tokens after the boundary, unless `keep` units have more.
        keep: The least number of units after the boundary.

    Returns:
        The messages to summarise: the units before the boundary that need not stay unchanged; None
        if there are none.
    """
    accounts, path, entries = ledger.accounts(), ledger.history.path, ledger.entries
    start = min(accounts.roll.cut([], tail)[0], max(len(accounts.roll) - keep, 0))
    live = [number for number in accounts.open if not accounts.is_left(number)]
    start = accounts.boundary(min([start, *live]))
    if start >= len(accounts.roll):
        return None
    boundary = accounts.unit(start).members[0]
    held = set(accounts.protected(()))
    ids = tuple(path[at] for at in range(after, boundary) if accounts.home(at) not in held)
    if boundary <= after or not ids:
        return None
    return Span(boundary, path[boundary - 1], ids, sum(entries[id_].tokens for id_ in ids))


def prefix_hash(store: ColdStore, ids: Sequence[int]) -> str:
    """Return the hash of messages in their order, the same in every process and store.

    Raises:
        StoreError: One of them could not be read.
    """
    whole = hashlib.blake2b(digest_size=HASH_BYTES)
    for id_ in ids:
        whole.update(store.hash_of(id_))
    return whole.hexdigest()
