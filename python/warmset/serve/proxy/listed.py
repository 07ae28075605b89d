"""What recognition needs of a list of messages: a digest of each, and where the model speaks."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError
from warmset.messages.canonical import form_of
from warmset.messages.dialects import facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.messages import Dialect

SIZE: Final = 16
"""Bytes of a digest."""


@dataclass(frozen=True)
class Listed:
    """A list of messages, as far as it tells its conversation.

    Args:
        digests: The digest of each message, of 16 bytes.
        opening: How many messages open the list: those up to the first user's, or all without one.
        replies: Where the model begins to speak, in order: the first message of each of its turns.

    Raises:
        InvalidInputError: A digest has another length, or a position is not in the list.
    """

    digests: Sequence[bytes]
    opening: int
    replies: Sequence[int] = ()

    def __post_init__(self) -> None:
        if any(len(one) != SIZE for one in self.digests):
            raise InvalidInputError(f"digests: expected {SIZE} bytes each")
        if not 0 < self.opening <= len(self.digests):
            raise InvalidInputError("opening: expected 1 to as many messages as there are")
        if any(not 0 <= at < len(self.digests) for at in self.replies):
            raise InvalidInputError("replies: expected positions in the list")

    @cached_property
    def joined(self) -> bytes:
        """All digests, one after the other."""
        return b"".join(self.digests)

    @cached_property
    def key(self) -> bytes:
        """What all lists share that begin so."""
        return hashlib.blake2b(self.joined[: self.opening * SIZE], digest_size=SIZE).digest()


def listed_of(messages: Sequence[Mapping[str, Any]], dialect: Dialect) -> Listed:
    """Read a list, in any dialect.

    Null fields, cache marks and thinking do not count; a message of thinking alone is left out, for
    clients may leave it out as well. What a redaction hook changes must be changed before, so that
    a list is compared with stored ones as they are.

    Args:
        messages: The list.
        dialect: Its dialect.

    Raises:
        InvalidInputError: It has no message, or one is not of the dialect.
    """
    digests: list[bytes] = []
    replies: list[int] = []
    opening, speaking = 0, False
    for at, message in enumerate(messages):
        try:
            form, role = form_of(dict(message)), facts(dict(message), dialect).role
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
            raise InvalidInputError(f"message {at}: it is none of the dialect {dialect}") from None
        if form.alone:
            continue
        if role == "assistant" and not speaking:
            replies.append(len(digests))
        speaking = role == "assistant"
        digests.append(form.digest)
        if role == "user" and not opening:
            opening = len(digests)
    if not digests:
        raise InvalidInputError("messages: expected at least one that says something")
    return Listed(tuple(digests), opening or len(digests), tuple(replies))
