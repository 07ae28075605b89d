"""The epoch records of one conversation, in the order in which they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from warmset._support.locks import guarded
from warmset.store.epochs import decode_step, head_of

if TYPE_CHECKING:
    from warmset.store.derived import Made
    from warmset.store.epochs import Step


SEEN: Final = 4_096
"""Names of records that are remembered, to tell one that lost from one whose predecessor was
erased."""


class Recorded(NamedTuple):
    """A record of an epoch, without the texts of its insertions.

    Args:
        id: The record's id.
        head: The last message that its list covers; 0 if there is none.
        step: What it says.
        made_of: Ids of the other records that it was made from.
    """

    id: int
    head: int
    step: Step
    made_of: tuple[int, ...] = ()


@guarded(
    "engine",
    fields=("_chains", "built", "noted"),
)
class Epochs:
    """The chains of a conversation's epoch records, one for each dialect and model."""

    def __init__(self) -> None:
        self._chains: dict[tuple[str, str], _Chain] = {}
        self.built: dict[tuple[str, str], tuple[str, object]] = {}
        """By dialect and model, the name of the last record and what was made of its chain."""
        self.noted = ""
        """The name of the newest record whose list is recognised when it is sent back."""

    def take(self, made: Made) -> None:
        """Take a record up, in the order of the store."""
        step = decode_step(made.fields, None, made.sources)
        if step is not None:
            chain, head = self._chains.setdefault(step.key, _Chain()), head_of(made)
            chain.take(Recorded(made.id, head, step, made.sources[1 if head else 0 :]))

    @property
    def any(self) -> bool:
        """Whether there is any record."""
        return bool(self._chains)

    def chain(self, key: tuple[str, str]) -> list[Recorded]:
        """Return the records of the current epoch of a dialect and a model, in order."""
        found = self._chains.get(key)
        return found.records if found is not None and not found.broken else []

    def before(self, key: tuple[str, str]) -> list[Recorded]:
        """Return the records of the epoch before the current one, in order."""
        found = self._chains.get(key)
        return found.before if found is not None else []

    def outdated(self) -> list[int]:
        """Return the ids of the records of epochs before the last two, which nobody needs."""
        return [id_ for chain in self._chains.values() for id_ in chain.outdated]

    def last(self, key: tuple[str, str]) -> str:
        """Return the name of the record that the next one has to continue."""
        found = self._chains.get(key)
        return "" if found is None else found.last

    def number(self, key: tuple[str, str]) -> int:
        """Return the number of the last epoch that is known; 0 if there was none."""
        found = self._chains.get(key)
        return 0 if found is None else found.number

    def ended(self, key: tuple[str, str]) -> bool:
        """Return whether a record of the last epoch was erased."""
        found = self._chains.get(key)
        return found is not None and found.broken

    def newest(self, dialect: str) -> tuple[str, str] | None:
        """Return the key of the dialect's chain whose last record is the newest."""
        found = [(self.chain(key), key) for key in self._chains if key[0] == dialect]
        return max(((chain[-1].id, key) for chain, key in found if chain), default=(0, None))[1]

    def sent_at(self, head: int) -> Step | None:
        """Return the newest record if its list ends with that message, for the reply to it."""
        tips = [chain[-1] for chain in map(self.chain, self._chains) if chain]
        newest = max(tips, key=lambda one: one.id, default=None)
        return newest.step if newest is not None and newest.head == head else None


class _Chain:
    """The records of one dialect and one model.

    A record that continues another one than the last is void: its writer lost, and planned again.
    Where the record that it continues was never seen, that one was erased, and the epoch is over.
    After an erasure the records that are left are taken up anew, so that every process comes to the
    same end, whether it saw a record before it was erased or not.
    """

    def __init__(self) -> None:
        self.records: list[Recorded] = []
        self.before: list[Recorded] = []
        self.outdated: list[int] = []
        self.broken = False
        self._seen: dict[str, None] = {}

    @property
    def last(self) -> str:
        return self.records[-1].step.token if self.records else ""

    @property
    def number(self) -> int:
        begins = self.records[0].step.begins if self.records else None
        return 0 if begins is None else begins.number

    def take(self, one: Recorded) -> None:
        step = one.step
        lost = bool(step.after) and step.after not in self._seen
        follows = step.after == self.last
        self._seen[step.token] = None
        if len(self._seen) > SEEN:
            del self._seen[next(iter(self._seen))]
        if step.begins is not None:
            if follows or lost or self.broken:
                self.outdated += [old.id for old in self.before]
                self.before = self.records
                self.records, self.broken = [one], False
        elif lost or not self.records:
            self.broken = True
        elif follows and not self.broken:
            self.records.append(one)
