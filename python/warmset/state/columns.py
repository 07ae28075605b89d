"""The messages of a conversation's current path as columns: what packing needs, without objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from warmset._support.locks import guarded
from warmset.text.timestamps import DAY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmset.state.unit_costs import Accounts

_FIRST: Final = 64
_COLUMNS: Final = (
    "_ids",
    "_homes",
    "_decides",
    "_days",
    "_quoted",
    "_tokens",
    "_sizes",
    "_settles",
)


@guarded("engine", writes=(*_COLUMNS, "count", "version"), calls=("take", "decide", "note_quoted"))
class Columns:
    """One row a message, by its position on the path, and one row a unit, by its number.

    Only new messages are looked at; a path that was cut is read anew.

    Args:
        accounts: The units of the path.

    Attributes:
        count: How many messages are known.
        version: How often messages were taken up, or changed whether they settle something.
    """

    def __init__(self, accounts: Accounts | None = None) -> None:
        self.accounts = accounts
        self.count = 0
        self.version = 0
        self._ids = np.zeros(_FIRST, np.int64)
        self._homes = np.zeros(_FIRST, np.int64)
        self._decides = np.zeros(_FIRST, np.bool_)
        self._days = np.zeros(_FIRST, np.int32)
        self._quoted = np.zeros(_FIRST, np.int32)
        self._tokens = np.zeros(_FIRST, np.int32)
        self._sizes = np.zeros(_FIRST, np.int32)
        self._settles = np.zeros(_FIRST, np.bool_)

    @property
    def ids(self) -> NDArray[np.int64]:
        """The messages' ids, ascending."""
        return self._ids[: self.count]

    @property
    def homes(self) -> NDArray[np.int64]:
        """The number of each message's unit."""
        return self._homes[: self.count]

    @property
    def decides(self) -> NDArray[np.bool_]:
        """Whether a message settles something."""
        return self._decides[: self.count]

    @property
    def tokens(self) -> NDArray[np.int32]:
        """What the messages of each unit cost verbatim."""
        return self._tokens

    @property
    def sizes(self) -> NDArray[np.int32]:
        """How many messages each unit has."""
        return self._sizes

    @property
    def days(self) -> NDArray[np.int32]:
        """The day on which the first message of each unit was said, counted from 1970."""
        return self._days

    @property
    def quoted(self) -> NDArray[np.int32]:
        """What the messages of each unit cost where they are quoted; 0 until that is noted."""
        return self._quoted

    @property
    def settles(self) -> NDArray[np.bool_]:
        """Whether a message of the unit settles something."""
        return self._settles

    def places(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the positions of messages on the path; -1 for any other message."""
        if not self.count:
            return np.full(len(ids), -1, np.int64)
        known = self.ids
        at = known.searchsorted(ids)
        at[at == self.count] = 0
        at[known[at] != ids] = -1
        return at

    def take(
        self,
        ids: NDArray[np.int64],
        times: NDArray[np.float64],
        tokens: NDArray[np.int64],
        decides: NDArray[np.bool_],
        *,
        homes: NDArray[np.int64],
    ) -> None:
        """Take up messages that follow those that are known.

        Args:
            ids: Their ids.
            times: When each was said, in seconds since 1970 UTC.
            tokens: What each costs verbatim.
            decides: Whether each settles something.
            homes: The units of each.
        """
        start, end = self.count, self.count + len(ids)
        if end > len(self._ids):
            self._grow(max(end, 2 * len(self._ids)))
        self._ids[start:end] = ids
        self._homes[start:end] = homes
        self._decides[start:end] = decides
        begun = np.flatnonzero(self._sizes[homes] == 0)[::-1]
        self._days[homes[begun]] = times[begun] // DAY  # the first of a unit last
        self._quoted[homes] = 0
        np.add.at(self._tokens, homes, tokens.astype(np.int32))
        np.add.at(self._sizes, homes, 1)
        np.logical_or.at(self._settles, homes, decides)
        self.count = end
        self.version += 1

    def note_quoted(self, count: int, units: NDArray[np.int64], costs: NDArray[np.int32]) -> None:
        """Note what units cost where they are quoted, unless one may have grown meanwhile.

        Args:
            count: How many messages there were when that was counted.
            units: The units' numbers.
            costs: What the messages of each cost.
        """
        if self.count == count:
            self._quoted[units] = costs

    def decide(self, place: int, id_: int, *, decision: bool) -> None:
        """Change whether a message settles something, if it is known.

        Args:
            place: Its position on the path.
            id_: Its id.
            decision: Whether it does.
        """
        if place < self.count and self._ids[place] == id_:
            self._decides[place] = decision
            unit = self._homes[place]
            members = self._homes[: self.count] == unit
            self._settles[unit] = self._decides[: self.count][members].any()
            self.version += 1

    def _grow(self, room: int) -> None:
        # New arrays: whoever looks at the old ones keeps what they saw.
        for name in _COLUMNS:
            old = getattr(self, name)
            new = np.zeros(room, old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)
