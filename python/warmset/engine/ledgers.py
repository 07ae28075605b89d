"""The conversations of a store by name, those of a saved file read when they are asked for."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from warmset.errors import IndexDamaged
from warmset.state.kept_ledger import beside_messages, beside_saved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from warmset._core import SavedTurns, Turns
    from warmset.state.ledger import Ledger

_T = TypeVar("_T")

Name = tuple[str, str]
"""A tenant and a conversation."""


class Outline(NamedTuple):
    """What is known of a conversation without taking it up.

    Args:
        name: Its tenant and its name.
        first: The id of its first message.
        turns: How many messages it has, on every branch.
    """

    name: Name
    first: int
    turns: int


def key_bytes(name: Name) -> bytes:
    """Return the key of a conversation in a saved file."""
    return json.dumps(name, separators=(",", ":")).encode()


def _name(key: bytes) -> Name:
    tenant, conversation = json.loads(key)
    return tenant, conversation


def _ids(saved: SavedTurns, number: int) -> list[int]:
    """Return the ids of the records of a saved conversation."""
    return [*saved.ids(number), *beside_saved(saved.beside(number))]


class Owners:
    """Whose each message is; read without a lock, changed under the store's.

    Attributes:
        saved: The file that has conversations that are not taken up yet.
        numbers: Of those of its conversations that were taken up; None once one was dropped.
    """

    def __init__(self) -> None:
        self.saved: SavedTurns | None = None
        self.numbers: dict[int, Ledger | None] = {}
        self._known: dict[int, Ledger] = {}

    def __contains__(self, id_: int) -> bool:
        """Tell whether a message has an id."""
        saved = self.saved
        if id_ in self._known or saved is None:
            return id_ in self._known
        try:
            number = saved.owner(id_)
        except IndexDamaged:  # whoever asks for the message does something about it
            return True
        return number is not None and self.numbers.get(number, True) is not None

    def near(self, id_: int) -> Ledger | None:
        """Return the conversation of a message if it is taken up."""
        found, saved = self._known.get(id_), self.saved
        if found is not None or saved is None:
            return found
        try:
            number = saved.owner(id_)
        except IndexDamaged:
            return None
        return None if number is None else self.numbers.get(number)

    def own(self, id_: int, ledger: Ledger) -> None:
        """Note whose a message is."""
        self._known[id_] = ledger

    def disown(self, ids: Iterable[int]) -> None:
        """Forget whose messages are; their conversation is deleted next."""
        for id_ in ids:
            self._known.pop(id_, None)

    def clear(self) -> None:
        """Forget all."""
        self.saved = None
        self.numbers.clear()
        self._known.clear()


class Ledgers(MutableMapping[Name, "Ledger"]):
    """The conversations of a store; its lock is held during each call.

    To go through all of them takes all of them up; `outlines` and `fingerprints` do not.

    Args:
        taken_up: Makes a conversation of what was saved of it.
    """

    def __init__(self, taken_up: Callable[[Name, Turns, bytes], Ledger]) -> None:
        self.here: dict[Name, Ledger] = {}
        self.owners = Owners()
        self._taken_up = taken_up
        self._read_again: Callable[[str], None] | None = None

    def __getitem__(self, name: Name) -> Ledger:
        found, saved = self.here.get(name), self.owners.saved
        if found is None and saved is not None:
            try:
                number = saved.find(key_bytes(name))
                if number is not None and number not in self.owners.numbers:
                    return self._load(name, number)
            except IndexDamaged as error:
                self._leave(str(error))
                found = self.here.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __setitem__(self, name: Name, ledger: Ledger) -> None:
        self.here[name] = ledger

    def __delitem__(self, name: Name) -> None:
        ledger = self[name]
        del self.here[name]
        for number, one in self.owners.numbers.items():
            if one is ledger:
                self.owners.numbers[number] = None
                break

    def __iter__(self) -> Iterator[Name]:
        return iter([one.name for one in self._all()])

    def __len__(self) -> int:
        return len(self._all())

    def clear(self) -> None:
        """Forget all."""
        self.here.clear()
        self.owners.clear()

    def otherwise(self, read_again: Callable[[str], None]) -> None:
        """Say what takes up all conversations that are not in `here` from the records.

        It is called with a reason, where the file is damaged or is not that of the store.
        """
        self._read_again = read_again

    def outlines(self) -> list[Outline]:
        """Return what is known of all conversations with messages."""
        return [one for one in self._all() if one.turns]

    def fingerprints(self) -> list[tuple[Name, bytes]]:
        """Return the fingerprint of each conversation with messages, in the order of names."""
        apart = self._of_apart(
            lambda saved, at, name: (name, saved.fingerprint(at)) if saved.count(at) else None
        )
        here = ((name, one) for name, one in self.here.items() if one.entries)
        return sorted([*apart, *((name, one.history.turns.fingerprint()) for name, one in here)])

    def speakers(self) -> list[tuple[Name, set[str]]]:
        """Return who speaks in each conversation with messages."""
        apart = self._of_apart(lambda saved, at, name: (name, saved.load(at)[0]))
        here = [(name, one.history.turns) for name, one in self.here.items()]
        return [(name, set(turns.speakers())) for name, turns in [*here, *apart] if len(turns)]

    def losing(self, gone: Callable[[Name, list[int]], list[int]]) -> list[Name]:
        """Return the conversations of which a part is gone.

        Args:
            gone: Returns which of some entries of a conversation are gone.
        """
        apart = self._of_apart(
            lambda saved, at, name: name if gone(name, _ids(saved, at)) else None
        )
        here = [
            name
            for name, one in self.here.items()
            if gone(name, [*one.entries, *beside_messages(one)])
        ]
        return [*here, *apart]

    def apart(self) -> list[tuple[int, Name]]:
        """Return the numbers and names of saved conversations that were not taken up.

        Raises:
            IndexDamaged: The file is damaged.
        """
        saved = self.owners.saved
        if saved is None:
            return []
        left = [at for at in range(len(saved)) if at not in self.owners.numbers]
        return [(at, _name(saved.key(at))) for at in left]

    def file(self) -> SavedTurns:
        """Return the file from which conversations are taken up; there must be one."""
        if self.owners.saved is None:
            raise LookupError("no file")
        return self.owners.saved

    def owner(self, id_: int) -> Ledger | None:
        """Return the conversation of a message; None if no message has the id."""
        found, saved = self.owners.near(id_), self.owners.saved
        if found is not None or saved is None:
            return found
        try:
            number = saved.owner(id_)
            if number is None or number in self.owners.numbers:
                return None
            return self._load(_name(saved.key(number)), number)
        except IndexDamaged as error:
            self._leave(str(error))
            return self.owners.near(id_)

    def _all(self) -> list[Outline]:
        apart = self._of_apart(
            lambda saved, at, name: Outline(name, saved.first(at), saved.count(at))
        )
        here = [
            Outline(name, next(iter(one.entries), 0), len(one.entries))
            for name, one in self.here.items()
        ]
        return [*here, *apart]

    def _of_apart(self, read: Callable[[SavedTurns, int, Name], _T | None]) -> list[_T]:
        """Read something of each saved conversation that was not taken up; None is left out.

        Where the file is damaged all are taken up, and there are none any more.
        """
        try:
            found = [read(self.file(), at, name) for at, name in self.apart()]
        except (IndexDamaged, TypeError, ValueError) as error:
            self._leave(str(error))
            return []
        return [one for one in found if one is not None]

    def _load(self, name: Name, number: int) -> Ledger:
        """Take up a saved conversation.

        Raises:
            IndexDamaged: What was saved is damaged.
        """
        try:
            ledger = self._taken_up(name, *self.file().load(number))
        except (KeyError, TypeError, ValueError) as error:
            raise IndexDamaged(f"conversation {name[1]!r}", 0, str(error)) from error
        self.here[name] = self.owners.numbers[number] = ledger
        return ledger

    def _leave(self, why: str) -> None:
        """Take up what is left from the records, and use the file no more."""
        for ledger in self.here.values():
            for id_ in ledger.entries:
                self.owners.own(id_, ledger)
        self.owners.saved = None
        self.owners.numbers.clear()
        if self._read_again is not None:
            self._read_again(why)
