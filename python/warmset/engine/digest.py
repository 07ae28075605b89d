"""A digest of all conversations of a store, to compare them by, and their names."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from warmset.state.ledger import Ledger


def digest(ledgers: Mapping[tuple[str, str], Ledger]) -> str:
    """Return a digest of conversations: which turns, in which places, and which are current."""
    whole = hashlib.blake2b(digest_size=16)
    for name, ledger in sorted(ledgers.items()):
        if ledger.entries:
            whole.update(repr(name).encode("utf-8", "surrogatepass"))
            whole.update(ledger.history.turns.fingerprint())
    return whole.hexdigest()


def names(ledgers: Mapping[tuple[str, str], Ledger]) -> Iterator[tuple[str, ...]]:
    """Return the names that turns have, each once, as `Numbers.of` takes them."""
    for (tenant, conversation), ledger in ledgers.items():
        if ledger.entries:
            yield "tenant", tenant
            yield "conversation", tenant, conversation
            spoken = {name.casefold() for name in ledger.history.turns.speakers()}
            yield from (("speaker", name) for name in sorted(spoken))
