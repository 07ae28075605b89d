"""What recent windows of a conversation held, so that a list that begins with one is recognised.

Some callers send a window back as their history, with new messages behind it. Its messages are
known by the hashes of what was sent: each is a turn, as it is stored or converted, or it is ours: a
block of quoted turns, a summary, a filler message. Turns that the window left out come between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from warmset.state.branches import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

WINDOWS: Final = 8
"""Windows of a conversation that are held; one that a list began with counts as new again."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One message of a window.

    Args:
        digest: The hash of the message as it was sent.
        until: The last turn of the conversation that this message, or one before it, stands for;
            `ROOT` for none, None if that is not known.
        ours: Whether it holds no turn, so that it is never stored.
        beside: Whether it is a system prompt that the caller passed beside the messages.
        request: The text of a request in it that is not a message of the conversation.
    """

    digest: bytes
    until: int | None
    ours: bool = False
    beside: bool = False
    request: str | None = None


@dataclass(frozen=True, slots=True)
class Recognised:
    """How a list begins with a window.

    Args:
        count: The messages at the front of the list that the window accounts for.
        until: The last turn that they stand for.
        edited: The range of those messages that are new and replace turns; empty if none do.
        front: The last turn before the replaced ones.
        after: The last of the replaced turns.
        request: The text of a request that the last of the `count` messages holds.
    """

    count: int
    until: int
    edited: tuple[int, int] = (0, 0)
    front: int = ROOT
    after: int = ROOT
    request: str | None = None


class Rendered(tuple[Shown, ...]):
    """The messages of one window, in order."""

    __slots__ = ()

    def recognise(self, digests: list[bytes]) -> Recognised | None:
        """Find how a list begins with this window.

        Messages of ours may be missing in the list, and so may all turns before the first block of
        ours: they stay. These turns may also be edited, such as a system prompt with the time in
        it.

        Args:
            digests: The content hashes of the list's messages.

        Returns:
            The longest beginning that is known; None if there is none.
        """
        count, place = self._walk(digests, 0, 0)
        plain = self._made(count, place)
        mark = next((at for at, one in enumerate(self) if one.ours and not one.beside), None)
        if mark is None or mark < place or self[mark].digest not in digests[count:]:
            return plain
        start = digests.index(self[mark].digest, count)
        found = self._made(*self._walk(digests, start + 1, mark + 1))
        front, after = self._until(place), self._until(mark)
        if found is None or front is None or after is None:
            return plain
        return replace(found, edited=(count, start), front=front, after=after)

    def _walk(self, digests: list[bytes], count: int, place: int) -> tuple[int, int]:
        """Go on while the list has this window's messages; return where each of both stops."""
        at = place
        while count < len(digests) and at < len(self):
            one = self[at]
            at += 1
            if digests[count] == one.digest:
                count, place = count + 1, at
            elif not one.ours:
                break
        return count, place

    def _until(self, place: int) -> int | None:
        """Return the last turn of the messages before a place."""
        turns = [one.until for one in self[:place] if not one.ours]
        return turns[-1] if turns else ROOT

    def _made(self, count: int, place: int) -> Recognised | None:
        last = self[place - 1] if place else None
        if last is None or last.until is None or not count:
            return None
        return Recognised(count, last.until, request=last.request)


class LastWindows:
    """The last windows of a conversation that were not simply its messages."""

    def __init__(self) -> None:
        self._held: list[Rendered | Callable[[], Rendered]] = []

    def add(self, window: Rendered | Callable[[], Rendered]) -> None:
        """Hold a window, or a function that returns it when it is needed."""
        if window in self._held:
            self._held.remove(window)
        self._held.append(window)
        del self._held[:-WINDOWS]

    def recognise(self, digests: list[bytes], known: int) -> Recognised | None:
        """Find the window that a list begins with.

        Args:
            digests: The content hashes of the list's messages.
            known: The messages at the front of the list that are the conversation's.

        Returns:
            The beginning that accounts for most of the list; None if none does for more than
            `known`.
        """
        best: tuple[Rendered, Recognised] | None = None
        for window in reversed(self._windows()):
            found = window.recognise(digests)
            if found is not None and found.count > (known if best is None else best[1].count):
                best = window, found
        if best is None:
            return None
        self.add(best[0])
        return best[1]

    def ours(self) -> set[bytes]:
        """Return the hashes of messages that hold no turn: they are never stored."""
        found = (one for window in self._windows() for one in window)
        return {one.digest for one in found if one.ours and not one.beside}

    def digests(self) -> set[bytes]:
        """Return the hashes of all messages that the windows held."""
        return {one.digest for window in self._windows() for one in window}

    def _windows(self) -> list[Rendered]:
        made = [one if isinstance(one, Rendered) else one() for one in self._held]
        self._held[:] = made
        return made
