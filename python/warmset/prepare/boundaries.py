"""Where a conversation is divided: what a summary stands for, and what stays as it is behind it."""

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
    """Messages that a summary is to stand for.

    Args:
        boundary: Messages before it are summarised or stay as they are.
        last: The last message before the boundary.
        ids: The messages that are summarised now, in order.
        cost: What they cost.
    """

    boundary: int
    last: int
    ids: tuple[int, ...]
    cost: int


def choose(ledger: Ledger, *, after: int, tail: int, keep: int) -> Span | None:
    """Choose the boundary: on a unit boundary, with about so much behind it.

    Args:
        ledger: The conversation.
        after: Messages at the front that a summary stands for already.
        tail: Tokens behind the boundary at most, unless `keep` units have more.
        keep: Units behind the boundary at least.

    Returns:
        What to summarise: the units before the boundary that need not stay as they are; None if
        there is nothing.
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
