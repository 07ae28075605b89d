"""What recent windows of a conversation held, so that a list that begins with one is recognised.

Some callers send a window back as their history, with new messages behind it. Its messages are
known by the hashes of what was sent, or by their canonical forms: each is a turn, as it is stored
or converted, or it is ours: a block of quoted turns, a summary, a filler message. Turns that the
window left out come between.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

from warmset._support.locks import guarded
from warmset.messages.canonical import SAME
from warmset.state.branches import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from warmset.messages.canonical import Form, Variant

WINDOWS: Final = 16
"""Lists of windows that are held, of which a window has one or two; one that a list began with
counts as new again."""


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
        turn: The id of the turn that the message is, if it is one.
        form: The canonical form of a message that is no turn as it is stored.
    """

    digest: bytes
    until: int | None
    ours: bool = False
    beside: bool = False
    request: str | None = None
    turn: int = ROOT
    form: Form | None = None


class Likeness(Protocol):
    """Compares messages of a list with others by their canonical forms."""

    def variant(self, at: int, id_: int, /) -> Variant | None:
        """Return how the list has a stored message at a position; None if that is another one."""
        ...

    def like(self, at: int, form: Form, /) -> Variant | None:
        """Return how the list has a message of that form; None if it has another one there."""
        ...


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
        variants: How the list has the turns that the window held, by their ids.
    """

    count: int
    until: int
    edited: tuple[int, int] = (0, 0)
    front: int = ROOT
    after: int = ROOT
    request: str | None = None
    variants: Mapping[int, Variant] = field(default_factory=dict[int, "Variant"])


class Rendered(tuple[Shown, ...]):
    """The messages of one window, in order."""

    __slots__ = ()

    def recognise(
        self, digests: list[bytes], likeness: Likeness | None = None
    ) -> Recognised | None:
        """Find how a list begins with this window.

        Messages of ours may be missing in the list, and so may all turns before the first block of
        ours: they stay. These turns may also be edited, such as a system prompt with the time in
        it.

        Args:
            digests: The content hashes of the list's messages.
            likeness: Compares those whose hashes differ; None for nothing but the hashes.

        Returns:
            The longest beginning that is known; None if there is none.
        """
        walk = _Walk(self, digests, likeness)
        count, place = walk.go(0, 0)
        plain = self._made(count, place, walk.variants)
        mark = next((at for at, one in enumerate(self) if one.ours and not one.beside), None)
        if mark is None or mark < place:
            return plain
        start = walk.find(mark, count)
        if start is None:
            return plain
        found = self._made(*walk.go(start + 1, mark + 1), walk.variants)
        front, after = self._until(place), self._until(mark)
        if found is None or front is None or after is None:
            return plain
        return replace(found, edited=(count, start), front=front, after=after)

    def _until(self, place: int) -> int | None:
        """Return the last turn of the messages before a place."""
        turns = [one.until for one in self[:place] if not one.ours]
        return turns[-1] if turns else ROOT

    def _made(self, count: int, place: int, variants: Mapping[int, Variant]) -> Recognised | None:
        last = self[place - 1] if place else None
        if last is None or last.until is None or not count:
            return None
        return Recognised(count, last.until, request=last.request, variants=dict(variants))


class _Walk:
    """Follows a list and a window side by side.

    Args:
        window: The window.
        digests: The content hashes of the list's messages.
        likeness: Compares those whose hashes differ; None for nothing but the hashes.

    Attributes:
        variants: How the list has the turns that were met.
    """

    def __init__(self, window: Rendered, digests: list[bytes], likeness: Likeness | None) -> None:
        self._window = window
        self._digests = digests
        self._likeness = likeness
        self.variants: dict[int, Variant] = {}

    def go(self, count: int, place: int) -> tuple[int, int]:
        """Go on while the list has the window's messages; return where each of both stops."""
        at = place
        while count < len(self._digests) and at < len(self._window):
            one = self._window[at]
            at += 1
            if (variant := self._variant(count, one)) is not None:
                if one.turn:
                    self.variants[one.turn] = variant
                count, place = count + 1, at
            elif not one.ours:
                break
        return count, place

    def find(self, place: int, start: int) -> int | None:
        """Return where the list has a message of the window, from a position on."""
        one = self._window[place]
        if one.digest in self._digests[start:]:
            return self._digests.index(one.digest, start)
        places = range(start, len(self._digests))
        return next((at for at in places if self._variant(at, one) is not None), None)

    def _variant(self, at: int, one: Shown) -> Variant | None:
        if self._digests[at] == one.digest:
            return SAME
        if self._likeness is None:
            return None
        if one.form is not None:
            return self._likeness.like(at, one.form)
        return self._likeness.variant(at, one.turn) if one.turn else None


@guarded(
    "engine",
    fields=("_held",),
)
class LastWindows:
    """The last windows of a conversation that were not simply its messages."""

    def __init__(self) -> None:
        self._held: list[Rendered | Callable[[], Rendered]] = []

    def add(self, window: Rendered | Callable[[], Rendered]) -> None:
        """Hold a window, or a function that returns it when it is needed."""
        self._held[:] = [one for one in self._held if one != window]
        self._held.append(window)
        del self._held[:-WINDOWS]

    def recognise(
        self, digests: list[bytes], known: int, likeness: Likeness | None = None
    ) -> Recognised | None:
        """Find the window that a list begins with.

        Args:
            digests: The content hashes of the list's messages.
            known: The messages at the front of the list that are the conversation's.
            likeness: Compares those whose hashes differ; None for nothing but the hashes.

        Returns:
            The beginning that accounts for most of the list; None if none does for more than
            `known`.
        """
        best: tuple[Rendered, Recognised] | None = None
        for window in reversed(self._windows()):
            found = window.recognise(digests, likeness)
            if found is not None and found.count > (known if best is None else best[1].count):
                best = window, found
        if best is None:
            return None
        self.add(best[0])
        return best[1]

    def ours(self) -> set[bytes]:
        """Return the hashes of messages that hold no turn, and of their canonical forms.

        They are never stored.
        """
        shown = [one for window in self._windows() for one in window]
        found = [one for one in shown if one.ours and not one.beside]
        forms = {one.form.digest for one in found if one.form is not None}
        return forms | {one.digest for one in found}

    def digests(self) -> set[bytes]:
        """Return the hashes of all messages that the windows held."""
        return {one.digest for window in self._windows() for one in window}

    def _windows(self) -> list[Rendered]:
        made = [one if isinstance(one, Rendered) else one() for one in self._held]
        found = [
            one
            for at, one in enumerate(made, start=1)
            if not any(same(one, later) for later in made[at:])
        ]
        self._held[:] = found
        return found


def same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Return whether two windows are equal; their ends, which grow, are compared first."""
    return len(one) == len(other) and one[-1:] == other[-1:] and one == other
