"""Which items others need: those stay, and what they need stays with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from warmset._core import Held


class Needs:
    """What each item keeps from being archived.

    Args:
        some: All items.
        heirs: For names, the id of the newest item that is shown in its place.
        is_elsewhere: Whether a message or a memory has a name.
    """

    def __init__(
        self, some: Iterable[Held], heirs: Mapping[str, int], is_elsewhere: Callable[[str], bool]
    ) -> None:
        self._live = {one.memory_id: one for one in some if not one.archived}
        by_id = {one.id: one.memory_id for one in self._live.values()}
        self._heirs = {
            name: by_id[id_]
            for name, id_ in heirs.items()
            if id_ in by_id and (name not in self._live or self._live[name].id < id_)
        }
        self._elsewhere = [name for name in self._heirs if is_elsewhere(name)]

    def without(self, going: Iterable[str]) -> frozenset[str]:
        """Return those of the items that may go: nothing that stays needs one of them.

        An item that stays needs what it depends on and what it is derived from, and the item that
        is shown in its place, without which it would be shown again.
        """
        left = set(going)
        waiting = [name for name in self._live if name not in left] + self._elsewhere
        while waiting:
            for need in self._of(waiting.pop()):
                if need in left:
                    left.remove(need)
                    waiting.append(need)
        return frozenset(left)

    def first(self, going: Sequence[str], limit: int) -> list[str]:
        """Return as many of the items that may go as the limit allows.

        Args:
            going: Their names, those that should go first at the beginning.
            limit: The most names.

        Returns:
            The names, what needs an item before that item. One whose needs are more than what is
            left of the limit is passed over.
        """
        needers: dict[str, list[str]] = {name: [] for name in going}
        for name in going:
            for need in self._of(name):
                if need in needers:
                    needers[need].append(name)
        taken: dict[str, None] = {}
        for name in going:
            group = [] if name in taken else [name]
            seen = set(group)
            for one in group:
                more = [by for by in needers[one] if by not in taken and by not in seen]
                group += dict.fromkeys(more)
                seen.update(more)
            if len(taken) + len(group) <= limit:
                taken |= dict.fromkeys(reversed(group))
        return list(taken)

    def needed(self, going: frozenset[str]) -> frozenset[str]:
        """Return what is needed by any item that stays when some go."""
        stay = [name for name in self._live if name not in going] + self._elsewhere
        return frozenset(need for name in stay for need in self._of(name))

    def _of(self, name: str) -> list[str]:
        one = self._live.get(name)
        own = [] if one is None else [*one.dependencies, *one.derived_from]
        heir = self._heirs.get(name)
        return own if heir is None else [*own, heir]
