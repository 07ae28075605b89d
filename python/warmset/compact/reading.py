"""Messages read: what each is, says and costs. What was read before is not read again.

Lists come back with every call, longer by a few messages. So what was read of a message is kept by
all that is in it, in two generations: what is used stays.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from warmset._core import content_hash
from warmset.compact.weights import ROLES
from warmset.counting import known_encoding, message_tokens
from warmset.errors import InvalidInputError, InvalidMessageError
from warmset.evict.slots import read as read_facts
from warmset.facts import facts_of
from warmset.messages import LANGUAGES, MAX_DEPTH, accept, settle
from warmset.messages.dialects import choose

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from warmset.messages import Dialect, Facts, Message

_CHARACTERS: Final = 32_000_000
"""Characters of texts that one generation keeps."""

_SHAPE: Final = 2
_NUMBER: Final = {role: number for number, role in enumerate(ROLES)}
_OTHER: Final = _NUMBER["other"]


@dataclass(slots=True, eq=False)
class Read:
    """What is known of one message.

    Args:
        facts: Its facts.
        cost: Its tokens.
        digest: The hash of what it says; empty if it says nothing.
        role: The number of its role in `ROLES`.
        linked: Whether it makes calls, answers some, or holds to its neighbours.
    """

    facts: Facts
    cost: int
    digest: bytes
    role: int
    linked: bool
    _hard: frozenset[str] | None = None

    @property
    def hard(self) -> frozenset[str]:
        """Its numbers, paths and names."""
        if self._hard is None:
            self._hard = facts_of(self.facts.text)
        return self._hard


class Readings:
    """What was read of messages of one dialect, counted with one vocabulary."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._young: dict[Hashable, Read] = {}
        self._old: dict[Hashable, Read] = {}
        self._room = _CHARACTERS

    def look(self, key: Hashable) -> Read | None:
        """Return what was read of a message."""
        found = self._young.get(key)
        if found is None and (found := self._old.get(key)) is not None:
            self.keep(key, found)
        return found

    def keep(self, key: Hashable, read: Read) -> None:
        """Keep what was read."""
        with self._lock:
            self._room -= _characters(key) + 200
            if self._room < 0:
                self._old, self._young = self._young, {}
                self._room = _CHARACTERS
            self._young[key] = read


_SHELVES: Final[dict[tuple[Dialect, str], Readings]] = {}


def listed(messages: object) -> list[Any]:
    """Return messages as callers have them as a list.

    Raises:
        InvalidInputError: They are no list of messages.
    """
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        raise InvalidInputError(f"messages: expected a list of messages, found {messages!r:.80}")
    return list(messages)


def read_list(
    given: Sequence[Any], dialect: str | None, encoding: str
) -> tuple[list[Message], list[Read], Dialect]:
    """Read a list.

    Args:
        given: Messages as callers have them.
        dialect: How they are written; told by their look if not given.
        encoding: The vocabulary that they are counted with.

    Returns:
        The messages as plain dicts, what is known of each, and their dialect.

    Raises:
        InvalidMessageError: A message is malformed.
        UnknownDialectError: The name is of no supported dialect.
        InvalidInputError: The encoding is unknown.
    """
    known_encoding(encoding)
    keys = [_key(message) for message in given]
    odd = [at for at, key in enumerate(keys) if key is None]
    plain: list[Message] = list(given)
    try:
        for at, message in zip(odd, accept([given[at] for at in odd]), strict=True):
            plain[at] = message
        chosen = choose(plain, dialect)
    except InvalidInputError:
        settle(accept(given), dialect)  # the same error, with the position in the whole list
        raise
    shelf = _SHELVES.setdefault((chosen, encoding), Readings())
    reads = [None if key is None else shelf.look(key) for key in keys]
    fresh = [at for at, found in enumerate(reads) if found is None]
    made = _read([plain[at] for at in fresh], fresh, chosen, encoding)
    for at, one in zip(fresh, made, strict=True):
        reads[at] = one
        if (key := keys[at]) is not None:
            shelf.keep(key, one)
    return plain, [one for one in reads if one is not None], chosen


def _key(message: Any) -> Hashable | None:
    """Return what tells a message from any other one; None if it holds anything but JSON types."""
    if type(message) is not dict:
        return None
    if len(message) == _SHAPE:  # most messages are a role and a text
        role, content = message.get("role"), message.get("content")
        if type(content) is str and type(role) is str:
            return role, content
    try:
        return _frozen(message, MAX_DEPTH - 1)
    except TypeError:
        return None


def _frozen(value: Any, room: int) -> Hashable:
    """Return a value as a key: of equal ones that JSON tells apart, no two have the same.

    Raises:
        TypeError: Something in it is no JSON type, or lies too deep.
    """
    kind = type(value)
    out: list[Hashable] = []
    if kind is dict and room:
        for key, one in value.items():
            if type(key) is not str:
                raise TypeError(kind)
            out += (key, one if type(one) is str else _frozen(one, room - 1))
    elif kind is list and room:
        out.append(list)
        out += [one if type(one) is str else _frozen(one, room - 1) for one in value]
    elif value is None or kind is str:
        return value  # type: ignore[no-any-return]
    elif kind in (int, bool) or (kind is float and isfinite(value)):
        return kind, value
    else:
        raise TypeError(kind)
    return tuple(out)


def _characters(key: Any) -> int:
    """Return about how much memory a key keeps."""
    if isinstance(key, str):
        return len(key)
    return sum(map(_characters, key)) if isinstance(key, tuple) else 8


def _read(
    batch: Sequence[Message], places: Sequence[int], dialect: Dialect, encoding: str
) -> list[Read]:
    try:
        costs = message_tokens(batch, encoding)
    except InvalidMessageError as error:
        raise InvalidMessageError(places[error.index], error.why) from error
    fault = LANGUAGES[dialect].grammar.fault
    out: list[Read] = []
    for place, message, cost in zip(places, batch, costs, strict=True):
        if (found := fault(message)) is not None:
            raise InvalidMessageError(place, found.why)
        facts = read_facts(message, dialect)
        said = bool(facts.text.strip())
        digest = content_hash(facts.text.encode("utf-8", "surrogatepass")) if said else b""
        linked = bool(facts.calls or facts.results or facts.bond)
        out.append(Read(facts, cost, digest, _NUMBER.get(facts.role, _OTHER), linked))
    return out
