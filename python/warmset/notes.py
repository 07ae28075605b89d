"""What the scoped index says of a turn: a summary, its entities, whether it settles something.

The rules are tables that tests hold; a callable can replace each of them.
"""

from __future__ import annotations

import re
from typing import Final

from warmset.config import SUMMARY_CHARS

MAX_ENTITIES: Final = 8

DECISIONS: Final = (
    "decided",
    "agreed",
    "chose",
    "chosen",
    "will use",
    "let's go with",
    "settled on",
    "final",
    "conclusion",
    "must",
    "should",
    "don't",
)

_DECISION = re.compile(
    r"(?<!\w)(?:" + "|".join(map(re.escape, DECISIONS)) + r")(?!\w)", re.IGNORECASE
)
_CODE = re.compile(
    r"https?://[^\s<>\"')\]]+"  # URLs
    r"|(?:[\w.~-]+/)+[\w.-]+"  # paths
    r"|\b[a-zA-Z]\w*_\w+\b"  # snake_case
    r"|\b[a-z]+[A-Z]\w*\b"  # camelCase
    r"|\b[A-Z]{2,}-\d+\b"  # ticket ids
)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:]\s+|\n\s*[-*#>]*\s*)([^\W\d_][\w'’-]*)")


def summarise(text: str) -> str:
    """Return the one-line summary of a turn.

    Args:
        text: What the turn says.

    Returns:
        Its first 160 characters with white space collapsed; empty for an empty turn.
    """
    # Only as much is read as can matter: a turn may be fifty megabytes long.
    return " ".join(text[: 8 * SUMMARY_CHARS].split())[:SUMMARY_CHARS].rstrip()


def entities(text: str) -> tuple[str, ...]:
    """Return what a turn names.

    Args:
        text: What the turn says; the first 20,000 characters are read.

    Returns:
        The first 8 distinct capitalised words, paths, URLs and identifiers, in order of appearance.
        A capitalised word that begins a sentence counts only if it occurs capitalised elsewhere,
        and never when it occurs in lower case.
    """
    head = text[:20_000].replace("’", "'")
    words = _WORD.findall(head)
    lower = {word for word in words if word[0].islower()}
    starts = {match.start(1) for match in _SENTENCE_START.finditer(head)}
    inside = {match.group() for match in _WORD.finditer(head) if match.start() not in starts}
    found: dict[str, int] = {}
    for match in _CODE.finditer(head):
        found.setdefault(match.group().rstrip(".,;:"), match.start())
    for match in _WORD.finditer(head):
        word = match.group().removesuffix("'s")
        named = word[0].isupper() and len(word) > 1 and word.lower() not in lower
        if named and (match.start() not in starts or word in inside):
            found.setdefault(word, match.start())
    return tuple(sorted(found, key=found.__getitem__)[:MAX_ENTITIES])


def is_decision(text: str) -> bool:
    """Tell whether a turn settles something.

    Args:
        text: What the turn says.

    Returns:
        Whether one of `DECISIONS` occurs in it as whole words.
    """
    return _DECISION.search(text.replace("’", "'")) is not None
