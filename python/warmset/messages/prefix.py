"""The prefix of a reply: what a list has before it, as hashes to compare it with another list's.

Newer models check that a request has, before each block of their thinking, exactly what they saw
when they thought it: system prompt, tools and messages. Compared are the written messages, byte for
byte. Cache marks are left out, and neighbours count as one message where the provider merges them.
Sources: the page on preserved thinking of platform.claude.com/docs, and "Keep the prefix unchanged"
of OpenAI's guide to reasoning.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from warmset.messages.codec import dumps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.messages.model import Message
    from warmset.messages.turns import System

_SIZE: Final = 12
"""Bytes of a hash; at this length equal hashes of different lists do not happen."""

MARKS: Final = frozenset({"cache_control", "prompt_cache_breakpoint"})
"""Fields that mark where a cached prefix ends; they are no part of it."""

_WRITTEN: Final = tuple(mark.encode() for mark in sorted(MARKS))


class Pieces(NamedTuple):
    """A message as it enters the hash.

    Args:
        role: Neighbours of one role are merged by the provider; empty where it merges none.
        first: The hashes of the blocks that come first in a merged message: tool results.
        rest: The hashes of its other blocks.
        spoken: The hashes of those of `rest` that are no thinking.
    """

    role: str
    first: bytes
    rest: bytes
    spoken: bytes


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a reply was made behind.

    Args:
        messages: The hash of the messages.
        spoken: The hash of the messages without thinking.
        system: The hash of the system prompt beside them; None if that is not known.
        tools: The hash of the tools; None if they are not known.
        model: The name of the model that replied; empty if it is not known.
    """

    messages: bytes
    spoken: bytes
    system: bytes | None = None
    tools: bytes | None = None
    model: str = ""

    def encode(self) -> list[str | None]:
        """Return it as plain JSON values, for `decode`."""
        hashes = (self.messages, self.spoken, self.system, self.tools)
        return [*(None if one is None else one.hex() for one in hashes), self.model or None]

    @classmethod
    def decode(cls, values: object) -> Prefix | None:
        """Read what `encode` returned; None for anything else, as from a newer version."""
        if not isinstance(values, list) or len(values) < len(cls.__dataclass_fields__):
            return None
        *hashes, model = values[: len(cls.__dataclass_fields__)]
        try:
            messages, spoken, system, tools = (
                None if one is None else bytes.fromhex(one) for one in hashes
            )
        except (TypeError, ValueError):
            return None
        if messages is None or spoken is None:
            return None
        return cls(messages, spoken, system, tools, model if isinstance(model, str) else "")

    def is_foreign(self, model: str) -> bool:
        """Return whether another model replied, as far as both are known."""
        return bool(self.model and model) and plain_name(self.model) != plain_name(model)

    def differs(self, now: Prefix) -> str | None:
        """Return what differs between this prefix and that of a list; None if nothing does.

        Args:
            now: The prefix of the same reply in the list.
        """
        if self.is_foreign(now.model):
            return ANOTHER_MODEL
        if self.system is not None and now.system is not None and self.system != now.system:
            return "the system prompt before it is another one"
        if self.tools is not None and now.tools is not None and self.tools != now.tools:
            return "the tools are others"
        if self.messages == now.messages:
            return None
        if self.spoken == now.spoken:
            return THINKING_MOVED
        return "the messages before it are others"


ANOTHER_MODEL: Final = "another model made it"
THINKING_MOVED: Final = "thinking before it left, or moved"
UNKNOWN: Final = "it is not known what it was made behind"


def plain_name(model: str) -> str:
    """Return a model's name without the date of its version, in lower case."""
    name, _, date = model.lower().rpartition("-")
    return name if name and date.isdigit() and len(date) == len("20260101") else model.lower()


class PrefixHash:
    """Hashes a list from its front, one message after the other, in linear time.

    Args:
        system: The system prompt beside the messages.
        tools: The tools of the request.
        model: The name of the model; empty if it is not known.
        known: Whether the system prompt and the tools are known.
    """

    __slots__ = ("_after", "_around", "_spoken")

    def __init__(
        self,
        *,
        system: System | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        model: str = "",
        known: bool = True,
    ) -> None:
        self._after, self._spoken = _Stream(), _Stream()
        self._around = Prefix(
            b"",
            b"",
            _around(system or None) if known else None,
            _around(list(tools) if tools else None) if known else None,
            model,
        )

    def copy(self) -> PrefixHash:
        """Return a copy that goes on independently."""
        made = PrefixHash(known=False)
        made._after, made._spoken = self._after.copy(), self._spoken.copy()
        made._around = self._around
        return made

    def add(self, pieces: Pieces) -> None:
        """Add the next message."""
        self._after.add(pieces.role, pieces.first, pieces.rest)
        self._spoken.add(pieces.role, pieces.first, pieces.spoken)

    def prefix(self) -> Prefix:
        """Return the prefix of what would come next."""
        messages, spoken = self._after.digest(), self._spoken.digest()
        return replace(self._around, messages=messages, spoken=spoken)


class _Stream:
    """One hash of a list: the role of each run of messages, then the hashes of its blocks.

    The blocks of a user's run wait for its end, because tool results are put first in it.
    """

    __slots__ = ("_first", "_hash", "_rest", "_role")

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=_SIZE)
        self._role = ""
        self._first: list[bytes] = []
        self._rest: list[bytes] = []

    def copy(self) -> _Stream:
        made = _Stream()
        made._hash, made._role = self._hash.copy(), self._role
        made._first, made._rest = list(self._first), list(self._rest)
        return made

    def add(self, role: str, first: bytes, rest: bytes) -> None:
        if not first and not rest:
            return  # a message of thinking alone, where thinking does not count
        if not role or role != self._role:
            self._hash.update(b"".join([*self._first, *self._rest]))
            self._first, self._rest, self._role = [], [], role
            self._hash.update(hashlib.blake2b(role.encode(), digest_size=_SIZE).digest())
        if role == "user":
            self._first.append(first)
            self._rest.append(rest)
        else:
            self._hash.update(first + rest)

    def digest(self) -> bytes:
        if not self._first:
            return self._hash.digest()
        whole = self._hash.copy()
        whole.update(b"".join([*self._first, *self._rest]))
        return whole.digest()


def hash_of(value: Message) -> bytes:
    """Return the hash of a message or of one of its blocks, without cache marks."""
    written = dumps(value)
    if any(mark in written for mark in _WRITTEN):
        written = dumps(_unmarked(value))
    return hashlib.blake2b(written, digest_size=_SIZE).digest()


def _around(value: object) -> bytes:
    return hash_of({"value": _as_blocks(value)})


def _as_blocks(value: object) -> object:
    return [{"type": "text", "text": value}] if isinstance(value, str) else value


def _unmarked(value: Any) -> Any:
    """Return a value without cache marks."""
    if isinstance(value, dict):
        return {key: _unmarked(one) for key, one in value.items() if key not in MARKS}
    return [_unmarked(one) for one in value] if isinstance(value, list) else value
