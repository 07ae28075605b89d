"""Keys of messages: the caller's own names, so that nothing is stored twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, TypeVar

from warmset import messages
from warmset._core import content_hash
from warmset.errors import Conflict, InvalidInputError
from warmset.store.known import digest
from warmset.store.records import key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.messages import Message
    from warmset.state.ledger import Ledger

T = TypeVar("T")

LONGEST: Final = 1024
"""The most bytes of a key."""


def checked_keys(given: object, count: int) -> list[str] | None:
    """Return one key for each message, or None if no keys are given.

    Args:
        given: A key, or one for each message.
        count: The number of messages.

    Raises:
        InvalidInputError: They are not so many keys, or one is no name.
    """
    if given is None:
        return None
    listed: list[object] = [given]
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
        listed = list(given)
    if len(listed) != count:
        raise InvalidInputError(
            f"key: expected one for each of {count} messages, found {len(listed)}"
        )
    return [checked_key(one) for one in listed]


def checked_key(given: object) -> str:
    """Return a key.

    Raises:
        InvalidInputError: It is no text of 1 to 1,024 bytes in UTF-8.
    """
    if isinstance(given, str) and _fits(given):
        return given
    raise InvalidInputError(f"key: expected a text of 1 to {LONGEST} bytes, found {given!r:.80}")


def key_for(name: str) -> str:
    """Return a name of somebody else's as a key: itself, or its digest where it cannot be one."""
    return name if _fits(name) else digest(name.encode("utf-8", "surrogatepass"))


def _fits(name: str) -> bool:
    try:
        return 0 < len(name.encode()) <= LONGEST
    except UnicodeEncodeError:
        return False


class Keyed:
    """Which messages of a batch with keys are stored already; the caller holds the engine's lock.

    Args:
        ledger: The conversation.
        batch: The messages.
        keys: The key of each.

    Raises:
        Conflict: A message of the path has one of the keys, and other content.
        InvalidInputError: Two messages of the batch have one key, and other content.
    """

    def __init__(self, ledger: Ledger, batch: Sequence[Message], keys: Sequence[str]) -> None:
        self._keys = keys
        self._known: dict[str, int] = {}
        self._fresh: list[int] = []  # positions of the messages to store
        digests: dict[str, bytes] = {}
        for at, (message, key) in enumerate(zip(batch, keys, strict=True)):
            digest = content_hash(messages.dumps(message, index=at))
            first = key not in digests
            if digests.setdefault(key, digest) != digest:
                raise InvalidInputError(f"key: two messages have the key {key!r:.80}")
            there = ledger.keyed(key)
            if there is not None:
                if ledger.history.digest_of(there) != digest:
                    raise _conflict(ledger, at, there)
                self._known[key] = there
            elif first:
                self._fresh.append(at)

    @property
    def skipped(self) -> int:
        """The number of messages that are not stored again."""
        return len(self._keys) - len(self._fresh)

    def pick(self, given: Sequence[T]) -> list[T]:
        """Return those of a batch that belong to messages to store."""
        return [given[at] for at in self._fresh]

    def ids(self, stored: Sequence[int]) -> list[int]:
        """Return the id of each message of the batch.

        Args:
            stored: Ids of those that were stored now.
        """
        new = {self._keys[at]: id_ for at, id_ in zip(self._fresh, stored, strict=True)}
        return [self._known.get(key) or new[key] for key in self._keys]

    def is_settled(self, ledger: Ledger, error: Conflict) -> bool:
        """Return whether looking again resolves a conflict: another process stored a message."""
        row = error.row
        return row is not None and ledger.keyed(self._keys[self._fresh[row]]) is not None

    def placed(self, ledger: Ledger, error: Conflict) -> Conflict:
        """Return the error with the message's position in the batch."""
        row = error.row
        return error if row is None else _conflict(ledger, self._fresh[row], error.current)


def _conflict(ledger: Ledger, at: int, there: int | None) -> Conflict:
    return Conflict(at, tuple(key_of(ledger.tenant, ledger.name)), "present", there)
