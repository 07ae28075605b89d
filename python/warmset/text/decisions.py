"""Extracts what the scoped index shows of a turn: summary, entities, decision.

The rules are tables that tests check; a callable can replace each of them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from warmset._core import KnownWords, NameFinder
from warmset.options import SUMMARY_CHARS
from warmset.text.stopwords import STARTERS

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

READ: Final = 20_000
"""The most characters of a turn that are read; a turn may have fifty megabytes."""

_PHRASES = "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in DECISIONS)
_DECISION = re.compile(rf"(?<!\w)(?:{_PHRASES})(?!\w)", re.IGNORECASE)
_BEGINNINGS: Final = KnownWords(sorted({re.split(r"[ ']", one)[0] for one in DECISIONS}))
_OTHER_LETTERS: Final = ("\u017f", "\u0131", "\u0130", "\u212a")
"""Letters besides a to z that are one of these where case is ignored: long s, i's, Kelvin."""

_CODE: Final = (
    ("/", r"https?://[^\s<>\"')\]]{1,200}"),  # URLs
    ("/", r"(?:[\w.~-]{1,80}/){1,40}[\w.-]{1,80}"),  # paths
    ("_", r"\b[a-zA-Z]\w{0,80}_\w{1,80}\b"),  # snake_case
    ("", r"\b[a-z]{1,80}[A-Z]\w{0,80}\b"),  # camelCase
    ("-", r"\b[A-Z]{2,}-\d+\b"),  # ticket ids
)
"""Patterns of identifiers, each with a character that it needs: most texts have few of these."""

_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_BEGUN = re.compile(r"(?:^|[.!?:]\s{1,4}|\n[ \t]{0,8}[-*#>]{0,3}[ \t]{0,8})\Z")
_BEGUN_CHARS: Final = 20
"""Characters before a word that tell whether it begins a sentence; `_BEGUN` reads no more."""

_NAMES: Final = NameFinder(sorted(STARTERS), MAX_ENTITIES)
"""Finds what `_names_by_patterns` does, sooner, where letters are those of ASCII."""


def brief_task(text: str) -> str:
    """Shorten a task that does not fit to one line."""
    return f"(The task, shortened) {summarise(text) or '…'}"


def summarise(text: str) -> str:
    """Return the one-line summary of a turn.

    Args:
        text: The turn's text.

    Returns:
        Its first 160 characters with white space collapsed; empty for an empty turn.
    """
    # As many words as there can be, and the rest, which is left.
    words = text.split(None, SUMMARY_CHARS)[:SUMMARY_CHARS]
    return " ".join([word[:SUMMARY_CHARS] for word in words])[:SUMMARY_CHARS].rstrip()


def entities(text: str) -> tuple[str, ...]:
    """Return the entities that a turn names.

    Args:
        text: The turn's text; its first 20,000 characters are read.

    Returns:
        The first 8 distinct capitalised words, paths, URLs and identifiers, in order of appearance.
        A word that begins a sentence does not count where it occurs in lower case elsewhere, or is
        one of `STARTERS`.
    """
    head = text[:READ]
    names = _NAMES.names(head)
    return _names_by_patterns(head) if names is None else tuple(names)


def _names_by_patterns(text: str) -> tuple[str, ...]:
    """Return the entities of a text in any script; see `entities`."""
    head = text.replace("’", "'")
    found: dict[str, int] = {}
    marks = "".join([mark for mark in "/_-" if mark in head])
    for match in _code(marks).finditer(head):
        found.setdefault(match.group().rstrip(".,;:"), match.start())
    lower: set[str] | None = None
    for match in _WORD.finditer(head):
        word = match.group()
        if not word[0].isupper():
            continue
        word, start = word.removesuffix("'s"), match.start()
        if len(word) == 1:
            continue
        if _BEGUN.search(head[max(0, start - _BEGUN_CHARS) : start]):
            plain = word.lower()
            if plain in STARTERS:
                continue
            if lower is None:
                lower = {other for other in _WORD.findall(head) if other[0].islower()}
            if plain in lower:
                continue
        found.setdefault(word, start)
    return tuple(sorted(found, key=found.__getitem__)[:MAX_ENTITIES])


@cache
def _code(marks: str) -> re.Pattern[str]:
    """Return what finds the identifiers of a text that has those of the characters in `_CODE`."""
    return re.compile("|".join(pattern for mark, pattern in _CODE if mark in marks))


def is_decision(text: str) -> bool:
    """Return whether a turn contains a decision.

    Args:
        text: The turn's text; its first 20,000 characters are read.

    Returns:
        Whether one of `DECISIONS` occurs in it as whole words.
    """
    return find_decision(text[:READ].replace("’", "'")) is not None


def find_decision(text: str) -> re.Match[str] | None:
    """Return the first of `DECISIONS` in a text with straight apostrophes; None if it has none."""
    lower = text.lower()
    if not _BEGINNINGS.among(lower) and (
        text.isascii() or not any(letter in text for letter in _OTHER_LETTERS)
    ):
        return None
    return _DECISION.search(text)
