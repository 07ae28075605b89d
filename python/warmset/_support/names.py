"""What a name is, wherever callers give one: of an item, a section, a module, a task."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 1_000
"""The most characters of a name."""

MOST: Final = 1_000
"""The most names in one field."""


def fault_of(given: object) -> str | None:
    """Return what is wrong with a name, in the words of an error; None if it is one."""
    if not isinstance(given, str) or not given.strip():
        return f"expected a name, found {given!r:.80}"
    if len(given) > LONGEST:
        return f"expected at most {LONGEST:,} characters, found {len(given):,}"
    try:
        given.encode()
    except UnicodeEncodeError:
        return f"expected Unicode text, found {given!r:.80}"
    return None
