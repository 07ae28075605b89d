"""Reads messages: facts, texts and tokens, cached across calls.

The same list comes with every call, longer by a few messages. So the result of reading a message is
cached by a key of its whole content, in two generations; entries in use stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np

from warmset._core import content_hash, message_keys
from warmset._support.forks import in_child
from warmset._support.locks import guarded, lock
from warmset.compact.weights import ROLES
from warmset.errors import InvalidInputError, InvalidMessageError
from warmset.evict.slots import read as read_facts
from warmset.messages import LANGUAGES, MAX_DEPTH, accept, dumps, settle
from warmset.messages.dialects import choose
from warmset.store.forgetting import when_erased
from warmset.tokens import known_encoding, message_tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmset.messages import Dialect, Facts, Message

_CHARACTERS: Final = 32_000_000
"""The most characters of texts in one generation; a longer list is cached until the next call."""

_AROUND: Final = 200
"""The approximate size of a cached message besides its text, in characters."""

_NUMBER: Final = {role: number for number, role in enumerate(ROLES)}
_OTHER: Final = _NUMBER["other"]


@dataclass(slots=True, eq=False)
class Read:
    """What was read of a message.

    Args:
        facts: Its facts.
        cost: Its tokens.
        digest: The hash of its text; empty if it has none.
        role: The number of its role in `ROLES`.
        linked: Whether it makes calls, answers calls, or belongs to its neighbours.
        kept: The hash of the message as a store has it; empty until it is needed.
    """

    facts: Facts
    cost: int
    digest: bytes
    role: int
    linked: bool
    kept: bytes = b""


class Reads(Sequence[Read]):
    """What was read of the messages of a list, one by one and as columns.

    Attributes:
        costs: Their tokens, shape (n,).
        roles: The numbers of their roles, shape (n,).
        linked: Whether each makes calls, answers calls, or belongs to its neighbours, shape (n,).
        keep: Whether each must never leave, shape (n,).
    """

    def __init__(self, reads: NDArray[np.object_], numbers: NDArray[np.int64]) -> None:
        self._reads = reads
        self.costs = numbers[:, 0].copy()
        self.roles = numbers[:, 1].copy()
        self.linked = numbers[:, 2] != 0
        self.keep = numbers[:, 3] != 0

    @classmethod
    def of(cls, reads: Sequence[Read]) -> Reads:
        """Build the columns of messages that were read."""
        return cls(_objects(reads), _numbers(reads))

    def __len__(self) -> int:
        return len(self._reads)

    @overload
    def __getitem__(self, at: int) -> Read: ...
    @overload
    def __getitem__(self, at: slice) -> list[Read]: ...
    def __getitem__(self, at: int | slice) -> Read | list[Read]:
        found: Read | NDArray[np.object_] = self._reads[at]
        return found if isinstance(found, Read) else found.tolist()

    def at(self, places: NDArray[np.int64]) -> list[Read]:
        """Return what was read of the messages at some positions."""
        found: list[Read] = self._reads[places].tolist()
        return found


@guarded(
    "readings",
    calls=("add",),
)
class _Table:
    """A table of what was read of messages: one row each, which never changes."""

    def __init__(self) -> None:
        self.row: dict[bytes, int] = {}
        self.room = _CHARACTERS
        self.reads = np.empty(0, np.object_)
        self.numbers = np.empty((0, 4), np.int64)

    def add(self, keys: Iterable[bytes], reads: Iterable[Read]) -> None:
        """Add rows; the caller holds the lock."""
        fresh = {key: read for key, read in zip(keys, reads, strict=True) if key not in self.row}
        start, made = len(self.row), list(fresh.values())
        self.row.update(zip(fresh, range(start, start + len(made)), strict=True))
        self.room -= sum(len(read.facts.text) + _AROUND for read in made)
        if len(self.row) > len(self.reads):
            more = max(len(self.row), 1024)
            self.reads = np.concatenate([self.reads, np.empty(more, np.object_)])
            self.numbers = np.concatenate([self.numbers, np.zeros((more, 4), np.int64)])
        self.reads[start : len(self.row)] = _objects(made)
        self.numbers[start : len(self.row)] = _numbers(made)


@guarded(
    "self._lock",
    fields=("_young", "_old"),
)
class Readings:
    """The cache of one dialect and one vocabulary."""

    def __init__(self) -> None:
        self._lock = lock("readings")
        self._young, self._old = _Table(), _Table()

    def look(self, keys: Sequence[bytes | None]) -> tuple[_Table, list[int]]:
        """Return the table with the cached rows, and the positions of messages that it lacks."""
        with self._lock:
            if self._young.room < 0:
                self._old, self._young = self._young, _Table()
            young, old = self._young, self._old
            lacking = [at for at, key in enumerate(keys) if key not in young.row]
            if lacking and old.row:
                used = [key for at in lacking if (key := keys[at]) in old.row and key is not None]
                young.add(used, [old.reads[old.row[key]] for key in used])
                lacking = [at for at in lacking if keys[at] not in young.row]
            return young, lacking

    def keep(self, table: _Table, keys: Sequence[bytes], reads: Sequence[Read]) -> None:
        """Add what was read to the table that `look` returned."""
        with self._lock:
            table.add(keys, reads)

    def forget(self) -> None:
        """Clear the cache."""
        with self._lock:
            self._young, self._old = _Table(), _Table()


_SHELVES: Final[dict[tuple[Dialect, str], Readings]] = {}
in_child(_SHELVES.clear)  # another thread of the parent may have been in the middle of one


def listed(messages: object) -> list[Any]:
    """Return a caller's messages as a list.

    Raises:
        InvalidInputError: They are not a list of messages.
    """
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        raise InvalidInputError(f"messages: expected a list of messages, found {messages!r:.80}")
    return list(messages)


@when_erased
def forget_readings() -> None:
    """Clear all caches of this process: they contain texts of messages."""
    for shelf in list(_SHELVES.values()):
        shelf.forget()


def read_list(
    given: Sequence[Any], dialect: str | None, encoding: str
) -> tuple[list[Message], Reads, Dialect]:
    """Read a list.

    Args:
        given: Messages as callers have them.
        dialect: The dialect of the messages; detected if not given.
        encoding: The vocabulary that they are counted with.

    Returns:
        The messages as plain dicts, what was read of each, and their dialect.

    Raises:
        InvalidMessageError: A message is malformed.
        UnknownDialectError: The dialect is not supported.
        InvalidInputError: The encoding is unknown.
    """
    known_encoding(encoding)
    keys = message_keys(given, MAX_DEPTH - 1)
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
    table, lacking = shelf.look(keys)
    made = _read([plain[at] for at in lacking], lacking, chosen, encoding)
    named = [(key, one) for at, one in zip(lacking, made, strict=True) if (key := keys[at])]
    shelf.keep(table, [key for key, _ in named], [one for _, one in named])
    row = table.row
    if not odd:
        rows = np.fromiter([row[key] for key in keys if key is not None], np.int64, len(keys))
        return plain, Reads(table.reads[rows], table.numbers[rows]), chosen
    fresh = dict(zip(lacking, made, strict=True))
    reads = [table.reads[row[key]] if key else fresh[at] for at, key in enumerate(keys)]
    return plain, Reads.of(reads), chosen


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


def _objects(reads: Sequence[Read]) -> NDArray[np.object_]:
    out = np.empty(len(reads), np.object_)
    out[:] = reads
    return out


def _numbers(reads: Sequence[Read]) -> NDArray[np.int64]:
    columns = [(read.cost, read.role, read.linked, read.facts.keep) for read in reads]
    return np.array(columns, np.int64).reshape(len(reads), 4)


def stored_hash(read: Read, message: Message) -> bytes:
    """Return the hash of a message as a store has it, computed once."""
    if not read.kept:
        read.kept = content_hash(dumps(message))
    return read.kept
