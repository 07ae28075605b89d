"""Messages read: what each is, says and costs. Plain ones that were read before are not read again.

Lists come back with every call, longer by a few messages. So what was read of a message that is a
role and a text is kept by its role and text, in two generations: what is used stays.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from warmset._core import content_hash
from warmset.compact.weights import ROLES
from warmset.counting import message_tokens
from warmset.errors import InvalidInputError, InvalidMessageError
from warmset.evict.slots import read as read_facts
from warmset.facts import facts_of
from warmset.messages import LANGUAGES, accept, settle

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    """What was read of plain messages of one dialect, counted with one vocabulary."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._young: dict[tuple[str, str], Read] = {}
        self._old: dict[tuple[str, str], Read] = {}
        self._room = _CHARACTERS

    def look(self, key: tuple[str, str]) -> Read | None:
        """Return what was read of a role and a text."""
        found = self._young.get(key)
        if found is None and (found := self._old.get(key)) is not None:
            self.keep(key, found)
        return found

    def keep(self, key: tuple[str, str], read: Read) -> None:
        """Keep what was read."""
        with self._lock:
            self._room -= len(key[1]) + 200
            if self._room < 0:
                self._old, self._young = self._young, {}
                self._room = _CHARACTERS
            self._young[key] = read


_SHELVES: Final[dict[tuple[Dialect, str], Readings]] = {}


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
    keys = [_key(message) for message in given]
    odd = [at for at, key in enumerate(keys) if key is None]
    try:
        taken = accept([given[at] for at in odd])
        chosen = settle(taken, dialect)
    except InvalidInputError:
        settle(accept(given), dialect)  # the same error, with the position in the whole list
        raise
    if not isinstance(encoding, str):
        raise InvalidInputError(f"encoding: expected a name, found {encoding!r}")
    shelf = _SHELVES.setdefault((chosen, encoding), Readings())
    plain: list[Message] = list(given)
    for at, message in zip(odd, taken, strict=True):
        plain[at] = message
    reads = [None if key is None else shelf.look(key) for key in keys]
    fresh = [at for at, found in enumerate(reads) if found is None]
    made = _read([plain[at] for at in fresh], fresh, chosen, encoding)
    for at, one in zip(fresh, made, strict=True):
        reads[at] = one
        if (key := keys[at]) is not None:
            shelf.keep(key, one)
    return plain, [one for one in reads if one is not None], chosen


def _key(message: Any) -> tuple[str, str] | None:
    """Return the role and the text of a message that has nothing else."""
    if type(message) is dict and len(message) == _SHAPE:
        role, content = message.get("role"), message.get("content")
        if type(content) is str and (role == "user" or role == "assistant"):  # noqa: PLR1714 - faster
            return role, content
    return None


def _read(
    batch: Sequence[Message], places: Sequence[int], dialect: Dialect, encoding: str
) -> list[Read]:
    costs = message_tokens(batch, encoding)
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
