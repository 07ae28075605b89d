"""Chooses the turns that stay: protected ones, then the units with the highest scores that fit."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from warmset._core import keep_worthy
from warmset.compact.weights import ROLES
from warmset.evict.fitted import Inserted
from warmset.evict.gaps import ALTERNATING, gap_message, gap_role, how_many_leave
from warmset.messages import (
    anchor,
    answering_stored,
    exchange_start,
    homes,
    last_said,
    loop_start,
)
from warmset.tokens import PER_REPLY, message_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from warmset.compact.reading import Reads
    from warmset.evict.gaps import GapRole
    from warmset.messages import Dialect, Facts

TAIL: Final = 4
"""The number of units at the end that always stay."""


class Choice:
    """A list from which turns are chosen.

    Args:
        reads: What was read of each message.
        dialect: The dialect of the messages.
        encoding: The vocabulary that filler messages are counted with.
        pinned: Positions that the caller pins.
    """

    def __init__(
        self,
        reads: Reads,
        dialect: Dialect,
        encoding: str,
        pinned: Iterable[int],
    ) -> None:
        self._reads = reads
        self._dialect: Dialect = dialect
        self._encoding = encoding
        self.costs, self.roles = reads.costs, reads.roles
        facts = [read.facts for read in reads[:]]
        self.units, waiting = self._parted(facts)
        self.must = self._protected(facts, waiting, pinned)
        self.stays = np.ones(len(reads), np.bool_)
        self.floor: float | None = None
        self.tokens = self.total = PER_REPLY + int(self.costs.sum())

    def choose(self, values: NDArray[np.float64], budget: int) -> NDArray[np.bool_]:
        """Keep the protected units, and the highest-scoring others that fit.

        Args:
            values: The score of each turn.
            budget: The most tokens that everything may have.

        Returns:
            Which turns stay; sets `floor`, the score of the last unit that was taken.
        """
        room = max(budget - PER_REPLY, 0)
        kept, taken = keep_worthy(values, self.costs, self.units, self.must, room)
        stays = np.zeros(len(self._reads), np.bool_)
        stays[kept] = True
        if gone := self._for_gaps(kept, taken, budget):
            taken = taken[: len(taken) - len(gone)]
            stays[np.isin(self.units, gone)] = False
        self.stays = stays
        last = values[self.units == taken[-1]] if len(taken) else None
        self.floor = None if last is None else float(last.max())
        filled = sum(self._gap_cost(role) for _, role in self._gaps(np.flatnonzero(stays)))
        self.tokens = PER_REPLY + int(self.costs[stays].sum()) + filled
        return stays

    @property
    def places(self) -> list[int]:
        """The positions of the messages that stay, ascending."""
        return [int(at) for at in np.flatnonzero(self.stays)]

    def written(self, given: Sequence[Any]) -> tuple[list[Any], tuple[Inserted, ...]]:
        """Write the output list: the caller's objects, and filler messages for gaps.

        Args:
            given: The objects that the caller gave.
        """
        stays = np.flatnonzero(self.stays)
        places = stays.tolist()
        opened = dict(self._gaps(stays))
        if not opened:
            return [given[place] for place in places], ()
        out: list[Any] = []
        inserted: list[Inserted] = []
        for at, place in enumerate(places):
            if at in opened:
                inserted.append(Inserted(len(out), "gap", tuple(range(places[at - 1] + 1, place))))
                out.append(gap_message(self._dialect, opened[at]))
            out.append(given[place])
        return out, tuple(inserted)

    def _parted(self, facts: Sequence[Facts]) -> tuple[NDArray[np.int64], list[int]]:
        """Return each turn's unit, numbered by its first member, and members of open units."""
        home = np.arange(len(facts))
        linked = np.flatnonzero(self._reads.linked)
        if not len(linked):
            return home, []
        if any(facts[at].bond for at in linked.tolist()):  # some belong to their neighbours
            linked = home.copy()
        parted, waiting = homes([facts[at] for at in linked.tolist()])
        home[linked] = linked[parted]
        return home, linked[waiting].tolist()

    def _protected(
        self, facts: Sequence[Facts], waiting: list[int], pinned: Iterable[int]
    ) -> NDArray[np.bool_]:
        must = self.roles >= _SYSTEM
        asked = exchange_start(facts)
        must |= self._reads.keep
        must[[at for at in waiting if asked is None or at > asked]] = True
        must[list(pinned)] = True
        must[answering_stored(facts, self._dialect)] = True
        for at in (anchor(facts), asked, last_said(facts), loop_start(facts)):
            if at is not None:
                must[at] = True
        tail: set[int] = set()
        for at in range(len(facts) - 1, -1, -1):
            if self.roles[at] < _SYSTEM:
                tail.add(int(self.units[at]))
            if len(tail) == TAIL:
                break
        must |= np.isin(self.units, list(tail))
        return np.isin(self.units, self.units[must])

    def _for_gaps(
        self, kept: NDArray[np.int64], taken: NDArray[np.int64], budget: int
    ) -> list[int]:
        """Return further units to drop, lowest score first, to make room for filler messages."""
        if not len(taken):
            return []
        filled = sum(self._gap_cost(role) for _, role in self._gaps(kept))
        over = PER_REPLY + int(self.costs[kept].sum()) + filled - budget
        if over <= 0 or not filled:
            return []
        units = self.units[kept]
        sorted_ = np.argsort(units, kind="stable")
        order = taken[::-1]
        ends = (np.searchsorted(units[sorted_], order, side).tolist() for side in ("left", "right"))
        places = (sorted_[start:end].tolist() for start, end in zip(*ends, strict=True))
        at, roles = kept.tolist(), self.roles[kept].tolist()

        def between(one: int, other: int) -> int:
            role = self._gap(roles[one], roles[other]) if at[one] + 1 < at[other] else None
            return 0 if role is None else self._gap_cost(role)

        count = how_many_leave(self.costs[kept].tolist(), places, between, over)
        gone: list[int] = order[:count].tolist()
        return gone

    def _gap(self, before: int, after: int) -> GapRole | None:
        """Return the role of the filler message between two messages, by their roles' numbers."""
        return gap_role(self._dialect, _name(before), _name(after))

    def _gaps(self, kept: NDArray[np.int64]) -> list[tuple[int, GapRole]]:
        """Return the turns before which a filler message is needed, with its role; see `gaps`."""
        if self._dialect not in ALTERNATING or len(kept) == len(self._reads):
            return []
        roles = self.roles[kept]
        replies, instructs = roles == _ASSISTANT, roles >= _SYSTEM
        alike = (replies[1:] == replies[:-1]) | instructs[1:] | instructs[:-1]
        numbers = roles.tolist()
        found: list[tuple[int, GapRole]] = []
        for at in (np.flatnonzero((np.diff(kept) > 1) & alike) + 1).tolist():
            role = self._gap(numbers[at - 1], numbers[at])
            if role is not None:
                found.append((at, role))
        return found

    def _gap_cost(self, role: GapRole) -> int:
        return _stand_in_cost(self._dialect, role, self._encoding)


_ASSISTANT: Final = ROLES.index("assistant")
_SYSTEM: Final = 4


def _name(role: int) -> str:
    """Return the role of a number, as far as filler messages depend on it."""
    if role >= _SYSTEM:
        return "system"
    return "assistant" if role == _ASSISTANT else "user"


"""The number of the first role that is always kept."""


@lru_cache(maxsize=64)
def _stand_in_cost(dialect: Dialect, role: GapRole, encoding: str) -> int:
    return message_tokens([gap_message(dialect, role)], encoding)[0]
