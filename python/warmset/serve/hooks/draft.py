"""A text to which parts are added, and which can give them back byte for byte."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field


@dataclass(slots=True)
class Draft:
    """A text, and the parts of it that were added; nothing is ever taken from the rest.

    Args:
        text: The text.
        added: Where each added part begins and ends, in order.
    """

    text: str
    added: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def insert(self, at: int, part: str) -> None:
        """Add a part before a position."""
        self.text = self.text[:at] + part + self.text[at:]
        size, moved, inside = len(part), [], False
        for start, end in self.added:
            if start < at < end:
                moved.append((start, end + size))
                inside = True
            else:
                moved.append((start + size, end + size) if start >= at else (start, end))
        if not inside:
            moved.append((at, at + size))
        self.added = sorted(moved)

    def parts(self) -> list[str]:
        """Return the added parts, those beside each other as one."""
        return [self.text[start:end] for start, end in self._joined()]

    def places(self) -> list[tuple[int, int]]:
        """Return where the added parts are, those beside each other as one."""
        return self._joined()

    def _joined(self) -> list[tuple[int, int]]:
        joined: list[tuple[int, int]] = []
        for start, end in self.added:
            if joined and joined[-1][1] == start:
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((start, end))
        return joined


def without(text: str, places: list[tuple[int, int]]) -> str:
    """Return a text without some of its parts."""
    for start, end in sorted(places, reverse=True):
        text = text[:start] + text[end:]
    return text


def digest(text: str) -> str:
    """Return what tells a text from any other."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
