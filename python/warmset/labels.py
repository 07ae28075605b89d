"""Names as the small integers that the index knows them by."""

from __future__ import annotations

import threading
from typing import Final

ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
"""Roles by their number in the index; another role has the number behind the last."""

TURN_KIND: Final = 1
"""The number of the record kind "turn"."""


def role_number(role: str) -> int:
    """Return the number that stands for a role in the index."""
    return ROLES.index(role) if role in ROLES else len(ROLES)


class Numbers:
    """Hands out one small integer a name and column; never 0, which stands for no name."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], int] = {}
        self._lock = threading.Lock()

    def of(self, *name: str) -> int:
        """Return the number of a name; its first part is the column, so no two columns mix."""
        with self._lock:
            return self._known.setdefault(name, len(self._known) + 1)
