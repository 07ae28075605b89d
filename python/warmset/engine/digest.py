"""A digest of all conversations of a store, to compare them by, and their names."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warmset.engine.ledgers import Ledgers


def digest(ledgers: Ledgers) -> str:
    """Return a digest of conversations: which turns, in which places, and which are current."""
    whole = hashlib.blake2b(digest_size=16)
    for name, fingerprint in ledgers.fingerprints():
        whole.update(repr(name).encode("utf-8", "surrogatepass"))
        whole.update(fingerprint)
    return whole.hexdigest()


def names(ledgers: Ledgers) -> Iterator[tuple[str, ...]]:
    """Return the names that turns have, each once, as `Numbers.of` takes them."""
    for (tenant, conversation), speakers in ledgers.speakers():
        yield "tenant", tenant
        yield "conversation", tenant, conversation
        spoken = {name.casefold() for name in speakers}
        yield from (("speaker", name) for name in sorted(spoken))
