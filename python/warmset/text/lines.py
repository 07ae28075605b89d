"""The lines of a text, as any reader may see them: whatever ends a line for one of them ends it."""

from __future__ import annotations


def join_lines(text: str, between: str) -> str:
    r"""Return a text with something else in place of each line end.

    Args:
        text: Any text. Line ends are those of `str.splitlines`: `\n`, `\r\n`, `\r`, and those that
            terminals, old printers and Unicode have.
        between: What stands in their place.
    """
    return between.join(f"{text}.".splitlines())[:-1]  # the dot keeps a line end at the end
