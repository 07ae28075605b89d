"""The units of a growing conversation and what they cost: only new messages are looked at.

The sums are in Rust; here are the links that make units, and the few units that must stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset._core import Roll
from warmset._support.locks import guarded
from warmset.messages import Bonds, Unit, is_unfinished, kind_of, units

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset.messages import Facts, UnitKind


@guarded(
    "engine",
    calls=("take", "parted"),
    fields=("_waiting", "_open", "_last", "_bonds"),
)
class Accounts:
    """The units of one conversation's current path, kept up to date."""

    def __init__(self) -> None:
        self.roll = Roll()
        self.may_continue = False
        """Whether results before which nothing is called answer calls that the provider stored."""
        self._home: list[int] = []
        self._members: list[list[int]] = []
        self._kinds: list[UnitKind] = []
        self._systems: list[int] = []
        self._fixed: list[int] = []
        self._task_at: int | None = None
        self._asked: int | None = None
        self._asked_at = -1
        self._plainly = False  # whether it was asked in a message without tool results
        self._said: int | None = None
        self._reply: tuple[int, bool] | None = None  # the first since, and whether it thinks
        self._waiting: dict[str, list[int]] = {}
        self._open: dict[int, int] = {}
        self._last: Facts | None = None
        self.newest: int | None = None
        """The unit of the newest message that is no system message."""
        self._calls = False  # whether anything was called
        self._bonds = Bonds()

    def __len__(self) -> int:
        return len(self._home)

    def unit(self, number: int) -> Unit:
        """Return a unit by its number; they are numbered by their first members."""
        return Unit(tuple(self._members[number]), self._kinds[number], number in self._open)

    def beside(self, place: int) -> Sequence[int]:
        """Return the positions of a message's unit, ascending."""
        return self._members[self._home[place]]

    def home(self, place: int) -> int:
        """Return the number of a message's unit."""
        return self._home[place]

    def boundary(self, number: int) -> int:
        """Return the last unit up to one, before which no unit has a member behind it.

        Args:
            number: A unit, or their number for the end.
        """
        end = len(self._home)
        while number < len(self.roll):
            first = self._members[number][0]
            lowest = min(self._home[first:end], default=number)
            if lowest >= number:
                break
            number, end = lowest, first
        return number

    def is_left(self, number: int) -> bool:
        """Tell whether a unit has calls that nobody will answer: somebody asked something since."""
        return number in self._open and self._members[number][-1] < self._asked_at

    def unsendable(self, number: int) -> list[int]:
        """Return the units from one on that no provider takes, ascending.

        These are results without a call, and calls that were left without a result.
        """
        left = [unit for unit in self._open if unit >= number and self.is_left(unit)]
        kinds = self._kinds[number:]
        if "orphan" in kinds:
            left += [number + at for at, kind in enumerate(kinds) if kind == "orphan"]
        return sorted(left)

    def members(self, unit: int) -> Sequence[int]:
        """Return the positions of a unit's messages, ascending."""
        return self._members[unit]

    def homes(self, start: int) -> list[int]:
        """Return the numbers of the units of all messages from a position on."""
        return self._home[start:]

    def since(self, place: int) -> list[int]:
        """Return the numbers of the units that have members at a position or after, ascending."""
        return sorted(set(self._home[place:]))

    @property
    def systems(self) -> list[int]:
        """The numbers of the units of system messages, ascending."""
        return self._systems

    @property
    def fixed(self) -> list[int]:
        """The numbers of the units that stay wherever they are, ascending.

        These are system messages, compactions of the provider's, and results of stored calls.
        """
        return self._fixed

    @property
    def open(self) -> list[int]:
        """The numbers of the units that have calls without results, ascending."""
        return sorted(self._open)

    @property
    def task(self) -> int | None:
        """The unit of the first request."""
        return None if self._task_at is None else self._home[self._task_at]

    @property
    def asked(self) -> int | None:
        """The unit of the last request."""
        return self._asked

    @property
    def asked_at(self) -> int | None:
        """The position of the last request; see `messages.exchange_start`."""
        return None if self._asked is None else self._asked_at

    @property
    def said(self) -> int | None:
        """The unit of the last message in which a user says anything."""
        return self._said

    def take(self, messages: Iterable[tuple[Facts, int]]) -> bool:
        """Take new messages up, each with its facts and what it costs.

        Returns:
            Whether that could be done; a message that answers calls of two units makes one of
            both, and then the accounts have to be made anew, with `parted`.
        """
        for fact, tokens in messages:
            callers = self._callers(fact)
            callers.update(self._home[at] for at in self._bonds.of(len(self._home), fact))
            if fact.results and not callers and self._bonds.reference is not None:
                callers.add(self._home[self._bonds.reference])
            if len(callers) > 1:
                return False
            self._place(fact, tokens, callers.pop() if callers else None)
        return True

    def parted(self, facts: Sequence[Facts], tokens: Sequence[int]) -> None:
        """Take a whole list up, however its units are tangled."""
        home = {at: number for number, unit in enumerate(units(facts)) for at in unit.members}
        for at, (fact, cost) in enumerate(zip(facts, tokens, strict=True)):
            number = home[at]
            self._bonds.of(at, fact)
            self._place(fact, cost, number if number < len(self.roll) else None)

    def protected(self, pins: Iterable[int]) -> list[int]:
        """Return the units that must stay, ascending.

        Args:
            pins: Positions of messages that must stay besides.
        """
        held = {*self._fixed, *(self._home[at] for at in pins)}
        held |= {unit for unit in (self.task, self._asked, self._said) if unit is not None}
        if self._asked is None and self.newest is not None:
            held.add(self.newest)  # nobody asked: it is the subject of the call
        if self._reply is not None and self._last is not None:
            unit, thinks = self._reply
            held |= {unit} if thinks and is_unfinished(self._last) else set()
        return sorted(held | {u for u in self._open if self._members[u][-1] > self._asked_at})

    def cost(self, unit: int) -> int:
        """Return what a unit costs."""
        return self.roll.since(unit) - self.roll.since(unit + 1)

    def _callers(self, fact: Facts) -> set[int]:
        """Return the units whose calls a message answers, each call once."""
        taken: dict[str, int] = {}
        callers: set[int] = set()
        for one in fact.results:
            waiting = self._waiting.get(one, [])
            taken[one] = taken.get(one, 0) + 1
            if taken[one] <= len(waiting):
                callers.add(waiting[-taken[one]])
        return callers

    def _begin(self, at: int, fact: Facts, tokens: int) -> int:
        """Begin a unit with a message, and return its number."""
        unit = self.roll.push(tokens)
        self._members.append([at])
        kind = kind_of(fact)
        stored = kind == "orphan" and self.may_continue and not self._calls
        self._kinds.append("tool" if stored else kind)
        if kind == "system":
            self._systems.append(unit)
        if stored:
            self._fixed.append(unit)
        return unit

    def _place(self, fact: Facts, tokens: int, unit: int | None) -> None:
        at = len(self._home)
        if unit is None:
            unit = self._begin(at, fact, tokens)
        else:
            self.roll.join(unit, tokens)
            self._members[unit].append(at)
        self._home.append(unit)
        if not fact.is_system:
            self._last, self.newest = fact, unit
        if (fact.is_system or fact.keep) and self._fixed[-1:] != [unit]:
            self._fixed.append(unit)
        self._hear(fact, unit, at)
        for one in fact.results:
            if callers := self._waiting.get(one):
                caller = callers.pop()
                self._open[caller] -= 1
                if not self._open[caller]:
                    del self._open[caller]
        self._calls = self._calls or bool(fact.calls)
        for call in fact.calls:
            self._waiting.setdefault(call, []).append(unit)
        if fact.calls:
            self._open[unit] = self._open.get(unit, 0) + len(fact.calls)

    def _hear(self, fact: Facts, unit: int, at: int) -> None:
        """Note who asks, and who replies first."""
        if fact.request:
            self._task_at = at if self._task_at is None else self._task_at
            self._said = unit
        if fact.request and not (fact.results and self._plainly):
            self._asked, self._asked_at, self._reply = unit, at, None
            self._plainly = not fact.results
        elif fact.role == "assistant" and self._reply is None:
            self._reply = unit, fact.thinks
