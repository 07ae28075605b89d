"""Cuts texts to a number of bytes, as UTF-8, between two characters."""

from __future__ import annotations


def cut(text: str, most: int) -> str:
    """Cut a text to a number of bytes, between two characters."""
    written = text.encode("utf-8", "replace")
    return text if len(written) <= most else written[:most].decode("utf-8", "ignore").rstrip()


def one_line(text: str, most: int) -> str:
    """Return a text in one line, cut to a number of bytes."""
    return cut(" ".join(text.split()), most)
