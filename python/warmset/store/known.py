"""What was imported before, as keyed hashes of the source's own ids.

They lie in the store beside the conversations, not in them: when a message or a conversation is
erased, they stay, so that the next import does not bring it back. They are hashes under a random
key of the store, in lists that are named by a hash of the conversation's name: nothing of what was
erased can be read out of them.

```text
("default", 0xFF "import")                  a cell: the key of the hashes
(tenant, 0xFF "import", hash of the name)   a list: 16 bytes for each id, one entry a batch
```
"""

from __future__ import annotations

import os
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Final

from warmset.store.rows import Add, Put
from warmset.store.seen import SIZE, Seen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset.store.log import Log

SPACE: Final = b"\xffimport"
"""The second part of the keys."""

_SECRET: Final = 32

_NOBODY: Final = b"default"
"""The tenant of what belongs to no tenant."""


class Known:
    """The ids of one conversation that were imported.

    Args:
        log: The store's log; None for a store that does not exist yet.
        key: The key of the conversation's records.
        secret: The key of the hashes.

    Attributes:
        key: The key of the conversation's records.
        had: Whether anything of it was imported before.
    """

    def __init__(self, log: Log | None, key: Sequence[bytes], secret: bytes) -> None:
        self._log = log
        self._secret = secret
        self.key = list(key)
        whose = hash_of(b"\0".join(self.key[1:]), secret)
        self._list = [key[0] if key else _NOBODY, SPACE, whose]
        self._last: int | None = None
        self._seen = Seen()
        self.had = False
        self.load()

    def load(self) -> None:
        """Read what was written since the last call, by whomever."""
        if self._log is None:
            return
        while page := self._log.entries(self._list, after=self._last, limit=256):
            self._seen.add_all(b"".join(_whole(entry.payload) for entry in page))
            self._last = page[-1].id
            self.had = True

    def tail(self) -> int:
        """Return the id of the conversation's last entry; 0 if it has none."""
        return 0 if self._log is None else self._log.tail(self.key)

    def look(self) -> tuple[int, bool]:
        """Read what others wrote, and return the conversation's end, and whether it was erased.

        The end is read first: with it as a condition, a batch is refused if anything came that was
        not read. A conversation was erased if something was noted of it, and nothing is left.
        """
        tail = self.tail()
        self.load()
        return tail, self.had and tail == 0

    def __contains__(self, uid: str) -> bool:
        return self._hash(uid) in self._seen

    def add(self, uids: Iterable[str]) -> None:
        """Take note of ids whose items will be written."""
        for uid in uids:
            self._seen.add(self._hash(uid))

    def row(self, uids: Iterable[str]) -> Add:
        """Return the row that records ids in the batch that has their items."""
        return Add(self._list, b"".join(map(self._hash, uids)))

    def _hash(self, text: str) -> bytes:
        return hash_of(text.encode("utf-8", "surrogatepass"), self._secret)


def digest(raw: bytes) -> str:
    """Return an id for what has none of its own, made of its bytes."""
    return f"sha256:{sha256(raw).hexdigest()}"


def unanswered(call: str) -> str:
    """Return the id of the result that an import adds for a call which has none."""
    return f"unanswered:{call}"


def without_call(call: str) -> str:
    """Return the id by which it is noted that a reply was stored without one of its calls."""
    return f"without:{call}"


def hash_of(data: bytes, secret: bytes, what: bytes = b"") -> bytes:
    """Return the hash of bytes under a key.

    Args:
        data: The bytes.
        secret: The key.
        what: What the bytes are, if they are no name of a conversation and no id: at most 16 bytes.
    """
    return blake2b(data, key=secret, digest_size=SIZE, person=what).digest()


def secret_of(log: Log | None, *, make: bool) -> bytes:
    """Return the key of a store's hashes.

    Args:
        log: The store's log; None for a store that does not exist yet.
        make: Whether to store one if there is none.
    """
    key = [_NOBODY, SPACE]
    there = None if log is None else log.get(key)
    if there is None and log is not None and make:
        log.write([Put(key, os.urandom(_SECRET), if_present="skip")])
        there = log.get(key)
    return os.urandom(_SECRET) if there is None else there.payload


def _whole(packed: bytes) -> bytes:
    return packed[: len(packed) // SIZE * SIZE]
