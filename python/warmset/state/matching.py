"""Follows a caller's full list through the tree of a conversation's messages.

Exact content hashes are followed first. Where they stop, the message is compared by its canonical
form with those that follow there, the one on the current path before any other. A stored message of
thinking alone may be missing in the list.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from warmset.messages.canonical import MISSING, SAME
from warmset.state.branches import ROOT, Step

if TYPE_CHECKING:
    from warmset.messages.canonical import Variant
    from warmset.state.branches import History

_SPARE: Final = 1024
"""Steps that are remembered besides two for each message of the path."""


class Likeness(Protocol):
    """Compares messages of a list with stored ones by their canonical forms."""

    def variant(self, at: int, id_: int, /) -> Variant | None:
        """Return how the list has a stored message at a position; None if that is another one."""
        ...

    def is_alone(self, id_: int, /) -> bool:
        """Return whether a stored message has thinking and nothing else."""
        ...

    def is_thinking(self, at: int, /) -> bool:
        """Return whether the list's message at a position has thinking and nothing else."""
        ...


@dataclass(frozen=True, slots=True)
class Match:
    """How a full list meets the tree.

    Args:
        ids: Ids of the stored messages that it has or leaves out, from the first on.
        branched_at: Position on the current path at which the list leaves it; None if it does not.
        of: The id of each message of the list that is known, from the first on.
        variants: How the list has messages of `ids`, where it has them otherwise than the store.
    """

    ids: list[int]
    branched_at: int | None
    of: list[int]
    variants: dict[int, Variant] = field(default_factory=dict[int, "Variant"])


def match(history: History, digests: list[bytes], likeness: Likeness | None = None) -> Match:
    """Follow a full list through the tree, in time linear in the list.

    Args:
        history: The tree.
        digests: Content hashes of the list's messages.
        likeness: Compares where the hashes differ; None for nothing but the hashes.

    Returns:
        The longest part of it that is known, and where it leaves the current path.
    """
    walk = _Walk(history, likeness)
    for at in range(walk.along_path(digests), len(digests)):
        if not walk.go(at, digests[at]):
            break
    walk.finish(len(digests))
    return walk.match()


class _Walk:
    """The part of a list that was followed so far."""

    def __init__(self, history: History, likeness: Likeness | None) -> None:
        self._history = history
        self._path = history.path
        self._likeness = likeness
        self._on_path = True
        self._ids: list[int] = []
        self._of: list[int] = []
        self._variants: dict[int, Variant] = {}
        self._used: dict[tuple[int, bytes], Step] = {}

    def along_path(self, digests: list[bytes]) -> int:
        """Go along the current path as far as the list has it; return where the list goes on."""
        same = self._history.along_path(digests)
        self._ids = self._path[:same]
        self._of = self._path[:same]
        return same

    def go(self, at: int, digest: bytes) -> bool:
        """Go on to the list's next message; return whether it is known."""
        ids, path = self._ids, self._path
        place = len(ids)
        head = ids[-1] if place else ROOT
        found = self._history.with_content(head, digest)
        if found is not None and (
            not self._on_path or (place < len(path) and path[place] == found)
        ):
            ids.append(found)
            self._of.append(found)
            return True
        step = self._step(at, head, digest, found)
        if step is None:
            return False
        count = len(step.ids)
        self._on_path = self._on_path and tuple(path[place : place + count]) == step.ids
        ids.extend(step.ids)
        self._of.append(step.ids[-1])
        self._variants.update(dict.fromkeys(step.ids[:-1], MISSING))
        if step.variant is not SAME:
            self._variants[step.ids[-1]] = step.variant
        if step.ids != (found,):
            self._used[head, digest] = self._history.steps[head, digest] = step
        return True

    def finish(self, size: int) -> None:
        """Go past messages of thinking alone that end the path, if the list has none there."""
        likeness, at = self._likeness, len(self._of)
        if likeness is None or not self._on_path or (at < size and likeness.is_thinking(at)):
            return
        rest = self._path[len(self._ids) :]
        if rest and all(map(likeness.is_alone, rest)):
            self._ids += rest
            self._variants.update(dict.fromkeys(rest, MISSING))

    def match(self) -> Match:
        """Return what was found."""
        history, path = self._history, self._path
        if len(history.steps) > 2 * len(path) + _SPARE:
            history.steps = self._used
        common = len(self._ids)
        if not self._on_path:
            pairs = enumerate(zip(self._ids, path, strict=False))
            common = next((at for at, (one, two) in pairs if one != two), min(common, len(path)))
        left = common if common < len(path) else None
        return Match(self._ids, left, self._of, self._variants)

    def _step(self, at: int, head: int, digest: bytes, found: int | None) -> Step | None:
        """Return the way to a message that does not follow by its hash on the current path."""
        known = self._history.steps.get((head, digest))
        if self._on_path:
            place = len(self._ids)
            if known and tuple(self._path[place : place + len(known.ids)]) == known.ids:
                return known
            if (near := self._along(at, place)) is not None:
                return near
        if found is not None:
            return Step((found,), SAME)
        if known is not None or self._likeness is None or not self._history.branched:
            return known
        return self._beside(at, head, self._likeness)

    def _along(self, at: int, place: int) -> Step | None:
        """Look for a message on the current path, past messages of thinking alone."""
        if self._likeness is None:
            return None
        for end in range(place, len(self._path)):
            variant = self._likeness.variant(at, self._path[end])
            if variant is not None:
                return Step(tuple(self._path[place : end + 1]), variant)
            if not self._likeness.is_alone(self._path[end]):
                break
        return None

    def _beside(self, at: int, head: int, likeness: Likeness) -> Step | None:
        """Look for a message on any branch, the newest first, past messages of thinking alone."""
        waiting: list[tuple[int, ...]] = [(one,) for one in self._history.following(head)]
        while waiting:
            ids = waiting.pop()
            variant = likeness.variant(at, ids[-1])
            if variant is not None:
                return Step(ids, variant)
            if likeness.is_alone(ids[-1]):
                waiting += [(*ids, one) for one in self._history.following(ids[-1])]
        return None
