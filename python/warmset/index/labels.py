"""Maps names to the small integers that the index uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset._support.locks import guarded, lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
"""Roles by their number in the index; any other role has the number after the last."""

WORDS_INDEXED: Final = 200_000
"""Characters of a text that the index of words reads."""

TURN_KIND: Final = 1
"""The number of the record kind "turn"."""


def role_number(role: str) -> int:
    """Return the number that stands for a role in the index."""
    return ROLES.index(role) if role in ROLES else len(ROLES)


@guarded(
    "self._lock",
    fields=("_known", "_last"),
)
class Numbers:
    """Assigns a small integer to each name in each column; never 0, which means no name."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], int] = {}
        self._last = 0
        self._lock = lock("numbers")

    def of(self, *name: str) -> int:
        """Return the number of a name; its first part is the column, so no two columns mix."""
        with self._lock:
            if name not in self._known:
                self._last += 1
                self._known[name] = self._last
            return self._known[name]

    def forget(self, *name: str) -> None:
        """Forget a name that no label has any more; it gets another number when it comes back."""
        with self._lock:
            self._known.pop(name, None)

    def used(self, names: Iterable[tuple[str, ...]]) -> tuple[list[int], list[list[str]]]:
        """Return the numbers of some names, each once, and the names, as JSON can keep them."""
        known = {self.of(*name): name for name in names}
        return list(known), [list(name) for name in known.values()]

    def restore(self, names: Sequence[Sequence[str]], numbers: Sequence[int]) -> None:
        """Give names the numbers that they had; later names get others.

        Raises:
            ValueError: These are not names and numbers that `used` returned.
        """
        known = {tuple(map(str, name)): int(n) for name, n in zip(names, numbers, strict=True)}
        with self._lock:
            self._known, self._last = known, max(known.values(), default=0)
