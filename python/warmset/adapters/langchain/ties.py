"""Finds where a list may be cut: never between a tool call and its results.

Only the kept part is read, and before or behind it as far as the partners of its calls and results
are: which call a result belongs to depends on nothing outside of the stretch between them. What
belongs together is what `warmset.messages.units` says, here found in one pass over the ids alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.adapters.langchain.checks import check
from warmset.adapters.langchain.links import links, telling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.adapters.langchain.links import Links

_MARGIN = 16  # messages read beyond the kept part at once: a tool exchange is seldom longer


class Ties:
    """The tool exchanges of a list, read from one end as far as needed.

    Args:
        messages: The messages.
        backward: Whether it is read from the list's end.
    """

    def __init__(self, messages: Sequence[Any], *, backward: bool) -> None:
        self._messages = messages
        self._backward = backward
        self._low = self._high = len(messages) if backward else 0
        self._read: list[tuple[int, Links]] = []  # those that call or answer, by position
        self._inside = bytearray()  # by position from the lowest: a cut before it parts something
        self._members: set[int] = set()
        self._orphans: set[int] = set()
        self._known = len(messages) if backward else -1

    def orphan(self, place: int) -> bool:
        """Tell whether a message holds results alone, of calls that the list does not have."""
        self._settle(place)
        return place in self._orphans

    def without_orphans(self, places: list[int]) -> list[int]:
        """Leave out the results whose calls the list does not have, of a part that is settled."""
        return [each for each in places if each not in self._orphans] if self._orphans else places

    def tied(self, place: int) -> bool:
        """Tell whether a message makes calls or answers them."""
        self._settle(place)
        return place in self._members or place in self._orphans

    def parts(self, edge: int) -> bool:
        """Tell whether a cut before this position parts an exchange."""
        if not 0 < edge < len(self._messages):
            return False
        self._settle(edge if self._backward else edge - 1)
        return bool(self._inside[edge - self._low])

    def later(self, edge: int) -> int:
        """Move a cut towards the end of the list until it parts nothing."""
        while self.parts(edge):
            edge += 1
        return edge

    def earlier(self, edge: int) -> int:
        """Move a cut towards the beginning of the list until it parts nothing."""
        while self.parts(edge):
            edge -= 1
        return edge

    def _settle(self, place: int) -> None:
        """Read until the partners of all from this place to the kept end are known."""
        margin = _MARGIN
        while place < self._known if self._backward else place > self._known:
            self._reach(place, margin)
            self._build()
            margin += self._high - self._low

    def _reach(self, place: int, margin: int) -> None:
        """Read on, to a margin beyond the place."""
        low, high, total = self._low, self._high, len(self._messages)
        if self._backward:
            self._low = min(low, max(0, place - margin))
            self._read = self._links(self._low, low) + self._read
        else:
            self._high = max(high, min(total, place + 1 + margin))
            self._read += self._links(high, self._high)

    def _links(self, low: int, high: int) -> list[tuple[int, Links]]:
        found = []
        for index in telling(self._messages, low, high):
            message = self._messages[index]
            if isinstance(message, dict):
                check(message, index, strict=False)
            link = links(message)
            if link[0] or link[1]:
                found.append((index, link))
        return found

    def _build(self) -> None:
        """Match results with calls: each with the latest call of its id that has none yet."""
        waiting: dict[str, list[int]] = {}
        reach: dict[int, int] = {}  # by the position of calls: that of their last result
        self._orphans = set()
        missing = self._low - 1
        for index, (calls, results) in self._read:
            alone = not calls
            for call in results:
                if callers := waiting.get(call):
                    reach[callers.pop()] = index
                    alone = False
                else:
                    missing = index
            if alone:
                self._orphans.add(index)
            for call in calls:
                waiting.setdefault(call, []).append(index)
        self._members = {index for index, _ in self._read} - self._orphans
        self._cover(reach)
        if self._low == 0 and self._high == len(self._messages):
            self._known = 0 if self._backward else self._high
        elif self._backward:
            self._known = missing + 1
        else:
            self._known = min((min(each) for each in waiting.values() if each), default=self._high)
            self._known -= 1

    def _cover(self, reach: dict[int, int]) -> None:
        """Mark the cuts that part a call from a result."""
        self._inside = bytearray(self._high - self._low + 1)
        covered = 0
        for caller in sorted(reach):
            begin, end = max(caller, covered) + 1, reach[caller] + 1
            if begin < end:
                self._inside[begin - self._low : end - self._low] = b"\x01" * (end - begin)
                covered = end - 1
