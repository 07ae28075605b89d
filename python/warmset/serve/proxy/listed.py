"""What recognition needs of a list of messages: a digest of each, and where the model speaks."""

from __future__ import annotations

import hashlib
import marshal
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from warmset._support.forks import Lock
from warmset._support.locks import guarded
from warmset.errors import InvalidInputError
from warmset.messages.canonical import form_of
from warmset.messages.dialects import facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from warmset.messages import Dialect

    _Told: TypeAlias = tuple[bytes | None, str | None]

SIZE: Final = 16
"""Bytes of a digest."""

TURNS: Final = 2
"""Of so many of the model's turns at the end of a list it is known where they begin."""

MOST: Final = 200_000
"""How many messages are remembered by their digests; each takes some 200 bytes."""

_PLAIN: Final = 2
"""The version of marshal in which equal values are equal bytes: it has no references."""


@dataclass(frozen=True)
class Listed:
    """A list of messages, as far as it tells its conversation.

    Args:
        joined: The digests of its messages, of 16 bytes each, one after the other.
        opening: How many messages open the list: those up to the first user's, or all without one.
        replies: Where the model's last turns begin, in order; no more than `TURNS`.

    Raises:
        InvalidInputError: A digest is not whole, or a position is not in the list.
    """

    joined: bytes
    opening: int
    replies: Sequence[int] = ()

    def __post_init__(self) -> None:
        if len(self.joined) % SIZE:
            raise InvalidInputError(f"joined: expected {SIZE} bytes for each digest")
        if not 0 < self.opening <= len(self):
            raise InvalidInputError("opening: expected 1 to as many messages as there are")
        if self.replies and not 0 <= self.replies[0] <= self.replies[-1] < len(self):
            raise InvalidInputError("replies: expected positions in the list, in order")

    def __len__(self) -> int:
        return len(self.joined) // SIZE

    @cached_property
    def key(self) -> bytes:
        """What all lists share that begin so."""
        return hashlib.blake2b(self.joined[: self.opening * SIZE], digest_size=SIZE).digest()


@dataclass(frozen=True, slots=True)
class Part:
    """Some messages of a list, one after the other.

    Args:
        joined: Their digests; those of thinking alone are left out.
        begins: Whether the first one is the model's.
        replies: Where its last turns begin, if somebody else spoke before; no more than `TURNS`.
        opening: How many there are up to the first user's; None without one.
        speaking: Whether the model speaks at their end; None if all were left out.
    """

    joined: bytes
    begins: bool
    replies: Sequence[int]
    opening: int | None
    speaking: bool | None


def part_of(messages: Sequence[Mapping[str, Any]], dialect: Dialect, start: int = 0) -> Part:
    """Read some messages of a list, in any dialect.

    Null fields, cache marks and thinking do not count; a message of thinking alone is left out, for
    clients may leave it out as well. What a redaction hook changes must be changed before, so that
    a list is compared with stored ones as they are.

    Args:
        messages: The messages.
        dialect: Their dialect.
        start: The position of the first one in the list.

    Raises:
        InvalidInputError: One is not of the dialect.
    """
    digests: list[bytes] = []
    replies: list[int] = []
    opening: int | None = None
    speaking: bool | None = None
    for digest, role in _SEEN.told(messages, dialect, start):
        if digest is None:
            continue
        if role == "assistant" and not speaking:
            replies.append(len(digests))
        speaking = role == "assistant"
        digests.append(digest)
        if role == "user" and opening is None:
            opening = len(digests)
    begins = replies[:1] == [0]
    return Part(b"".join(digests), begins, tuple(replies[-TURNS:]), opening, speaking)


def listed_from(parts: Iterable[Part]) -> Listed:
    """Put the parts of a list together.

    Raises:
        InvalidInputError: It has no message that says something.
    """
    joined: list[bytes] = []
    replies: list[int] = []
    count, opening, speaking = 0, 0, False
    for part in parts:
        goes_on = speaking and part.begins  # the model spoke before, too
        replies += [count + at for at in part.replies if at or not goes_on]
        if not opening and part.opening is not None:
            opening = count + part.opening
        if part.speaking is not None:
            speaking = part.speaking
        joined.append(part.joined)
        count += len(part.joined) // SIZE
    if not count:
        raise InvalidInputError("messages: expected at least one that says something")
    return Listed(b"".join(joined), opening or count, tuple(replies[-TURNS:]))


def listed_of(messages: Sequence[Mapping[str, Any]], dialect: Dialect) -> Listed:
    """Read a list, in any dialect; see `part_of`.

    Args:
        messages: The list.
        dialect: Its dialect.

    Raises:
        InvalidInputError: It has no message, or one is not of the dialect.
    """
    return listed_from([part_of(messages, dialect)])


@guarded("self._lock", fields=("_known",))
class _Seen:
    """What was told of messages, by their bytes: a client sends the same ones again and again.

    Of a message nothing stays but two digests and its role.

    Args:
        most: How many messages are remembered.
    """

    def __init__(self, most: int) -> None:
        self._lock = Lock()
        self._most = most
        self._known: dict[bytes, _Told] = {}

    def told(
        self, messages: Sequence[Mapping[str, Any]], dialect: Dialect, start: int = 0
    ) -> Sequence[_Told]:
        """Return the digest of each message and its role; no digest of one of thinking alone.

        Args:
            messages: The messages.
            dialect: Their dialect.
            start: The position of the first one in its list.

        Raises:
            InvalidInputError: One is not of the dialect.
        """
        names = _names(messages, dialect)
        if names is None:
            return [_told(message, start + at, dialect) for at, message in enumerate(messages)]
        with self._lock:
            found = list(map(self._known.get, names))
        if None not in found:
            return [one for one in found if one is not None]
        made = [
            _told(messages[at], start + at, dialect) if one is None else one
            for at, one in enumerate(found)
        ]
        with self._lock:
            if len(self._known) + found.count(None) > self._most:
                self._known.clear()
            self._known.update(zip(names, made, strict=True))
        return made


_SEEN: Final = _Seen(MOST)


def _names(messages: Sequence[Mapping[str, Any]], dialect: Dialect) -> list[bytes] | None:
    """Return what tells each message from all others; None where one has values JSON has not."""
    start = hashlib.blake2b(dialect.encode(), digest_size=SIZE)
    names: list[bytes] = []
    try:
        for message in messages:
            made = start.copy()
            made.update(marshal.dumps(message, _PLAIN))  # type: ignore[arg-type]
            names.append(made.digest())
    except ValueError:
        return None
    return names


def _told(message: Mapping[str, Any], at: int, dialect: Dialect) -> _Told:
    try:
        form, role = form_of(dict(message)), facts(dict(message), dialect).role
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise InvalidInputError(f"message {at}: it is none of the dialect {dialect}") from None
    return None if form.alone else form.digest, role
