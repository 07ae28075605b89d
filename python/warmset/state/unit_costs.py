"""The units of a growing conversation and what they cost, by the names that windows use.

They are found in the core, where `Turns.count` has them go on with what is new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from warmset._core import Units
from warmset.messages import Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from warmset.messages import UnitKind


class Accounts:
    """The units of one conversation's current path, kept up to date.

    Args:
        roll: The units so far.

    Attributes:
        roll: The units as they lie in the core: how many there are, and what they cost.
    """

    __slots__ = ("roll",)

    def __init__(self, roll: Units | None = None) -> None:
        self.roll = Units() if roll is None else roll

    def __len__(self) -> int:
        return self.roll.messages()

    def unit(self, number: int) -> Unit:
        """Return a unit by its number; they are numbered by their first members."""
        members, kind, is_open = self.roll.unit(number)
        return Unit(members, cast("UnitKind", kind), is_open)

    def beside(self, place: int) -> Sequence[int]:
        """Return the positions of a message's unit, ascending."""
        return self.roll.members(self.roll.home(place))

    def home(self, place: int) -> int:
        """Return the number of a message's unit."""
        return self.roll.home(place)

    def homes(self, start: int) -> NDArray[np.int64]:
        """Return the numbers of the units of all messages from a position on."""
        return self.roll.homes(start)

    def members(self, unit: int) -> Sequence[int]:
        """Return the positions of a unit's messages, ascending."""
        return self.roll.members(unit)

    def since(self, place: int) -> list[int]:
        """Return the numbers of the units that have members at a position or after, ascending."""
        return self.roll.units_since(place)

    def boundary(self, number: int) -> int:
        """Return the last unit up to one, before which no unit has a member behind it.

        Args:
            number: A unit, or their number for the end.
        """
        return self.roll.boundary(number)

    def is_left(self, number: int) -> bool:
        """Tell whether a unit has calls that nobody will answer: somebody asked something since."""
        return self.roll.is_left(number)

    def unsendable(self, number: int) -> list[int]:
        """Return the units from one on that no provider takes, ascending.

        These are results without a call, calls that were left without a result, and reasoning that
        nothing was made with, unless that may still come.
        """
        return self.roll.unsendable(number)

    def protected(self, pins: Iterable[int]) -> list[int]:
        """Return the units that must stay, ascending.

        Args:
            pins: Positions of messages that must stay besides.
        """
        return self.roll.protected(list(pins))

    def cost(self, unit: int) -> int:
        """Return what a unit costs."""
        return self.roll.cost(unit)

    @property
    def systems(self) -> list[int]:
        """The numbers of the units of system messages, ascending."""
        return self.roll.systems()

    @property
    def fixed(self) -> list[int]:
        """The numbers of the units that stay wherever they are, ascending.

        These are system messages, compactions of the provider's, and results of stored calls.
        """
        return self.roll.fixed()

    @property
    def open(self) -> list[int]:
        """The numbers of the units that have calls without results, ascending."""
        return self.roll.open()

    @property
    def task(self) -> int | None:
        """The unit of the first request."""
        return self.roll.task()

    @property
    def asked(self) -> int | None:
        """The unit of the last request."""
        asked = self.roll.asked()
        return None if asked is None else asked[0]

    @property
    def asked_at(self) -> int | None:
        """The position of the last request; see `messages.exchange_start`."""
        asked = self.roll.asked()
        return None if asked is None else asked[1]

    @property
    def said(self) -> int | None:
        """The unit of the last message in which a user says anything."""
        return self.roll.said()

    @property
    def newest(self) -> int | None:
        """The unit of the newest message that is no system message."""
        return self.roll.newest()
