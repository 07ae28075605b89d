"""Makes memories of dropped turns: the text, its type, and its confidence.

Tables of cue words decide the type; the first table with a cue in the text decides.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal, TypeAlias, get_args

MemoryType: TypeAlias = Literal["correction", "preference", "habit", "decision", "fact", "episode"]
"""The types of memories: something a speaker corrected, prefers, does regularly, decided or stated,
or an event."""

MEMORY_TYPES: Final[tuple[MemoryType, ...]] = get_args(MemoryType)

LEAST_TEXT: Final = 40
"""The least characters of a turn that becomes a memory."""

NOVEL_BELOW: Final = 0.5
"""The coverage below which a turn is novel."""

MOST_TEXT: Final = 600
"""The most characters of a memory."""

READ: Final = 20_000
"""The number of characters of a turn that are searched for cues."""

CUES: Final[dict[MemoryType, tuple[str, ...]]] = {
    "correction": (
        "actually",
        "correction",
        "i meant",
        "i misspoke",
        "i was wrong",
        "instead of",
        "it's not",
        "my mistake",
        "no longer",
        "not anymore",
        "on second thought",
        "scratch that",
        "should have been",
        "sorry, i",
        "that is wrong",
        "that's not right",
        "that's wrong",
        "to correct",
        "you misunderstood",
    ),
    "preference": (
        "can't stand",
        "don't like",
        "favorite",
        "favourite",
        "i hate",
        "i like",
        "i love",
        "i prefer",
        "i want you to",
        "i'd like",
        "i'd prefer",
        "i'd rather",
        "please always",
        "please don't",
        "please never",
        "prefers",
        "rather not",
    ),
    "habit": (
        "as a rule",
        "each morning",
        "each week",
        "every day",
        "every evening",
        "every month",
        "every morning",
        "every night",
        "every time",
        "every week",
        "every year",
        "i always",
        "i never",
        "most days",
        "on weekdays",
        "on weekends",
        "tend to",
        "tends to",
        "usually",
        "we always",
        "we never",
    ),
    "decision": (
        "agreed",
        "approved",
        "chose",
        "chosen",
        "conclusion",
        "decided",
        "decision",
        "going with",
        "let's go with",
        "let's use",
        "settled on",
        "the plan is",
        "we'll go with",
        "we'll use",
        "will use",
    ),
    "episode": (
        "a week ago",
        "days ago",
        "earlier today",
        "happened",
        "hours ago",
        "just now",
        "last month",
        "last night",
        "last week",
        "last year",
        "ran into",
        "this morning",
        "today we",
        "we met",
        "we ran",
        "we tried",
        "went to",
        "yesterday",
    ),
}
"""The cue words of each type, in the order in which the types are tried; without a cue, it is a
fact."""


def _pattern(cues: tuple[str, ...]) -> re.Pattern[str]:
    spoken = (
        "".join(r"\s+" if part.isspace() else re.escape(part) for part in _parts(cue))
        for cue in cues
    )
    return re.compile(rf"(?<!\w)(?:{'|'.join(spoken)})(?!\w)", re.IGNORECASE)


def _parts(cue: str) -> list[str]:
    return re.split(r"(\s)", cue)


_PATTERNS: Final[dict[MemoryType, re.Pattern[str]]] = {
    kind: _pattern(cues) for kind, cues in CUES.items()
}
_OPENING_NO: Final = re.compile(r"\s*no\b[,.:;!]", re.IGNORECASE)


def memory_type_of(text: str) -> MemoryType:
    """Return the type of the memory that a text makes.

    Args:
        text: The text; its first 20,000 characters are read.

    Returns:
        The first type in `CUES` with a cue in the text, as whole words; a text that begins with
        "no" is a correction; "fact" if there is no cue.
    """
    head = text[:READ].replace("’", "'")
    if _OPENING_NO.match(head):
        return "correction"
    for kind, pattern in _PATTERNS.items():
        if pattern.search(head):
            return kind
    return "fact"


def confidence_of(coverage: float) -> float:
    """Return the confidence of a distilled memory; it is higher for lower coverage.

    Args:
        coverage: How far the text is known elsewhere, 0 to 1.
    """
    return 0.5 + 0.25 * (1.0 - coverage)


def is_novel(text: str, coverage: float) -> bool:
    """Return whether a dropped turn becomes a memory.

    Args:
        text: Its text.
        coverage: How far the text is known elsewhere.
    """
    return len(text.strip()) >= LEAST_TEXT and coverage < NOVEL_BELOW


def clip(text: str, most: int = MOST_TEXT) -> str:
    """Cut a text to a number of code points, without splitting a visible character.

    Combining accents, joined emoji, flags and variation selectors stay with their base character.

    Args:
        text: Any text.
        most: The most code points of the result.

    Returns:
        The text without white space around it, or its beginning.
    """
    text = text.strip()
    if len(text) <= most:
        return text
    end = most
    while end and not _parts_here(text, end):
        end -= 1
    return text[: end or most].rstrip()


_JOINER: Final = "\u200d"
_TONES: Final = range(0x1F3FB, 0x1F400)
_FLAGS: Final = range(0x1F1E6, 0x1F200)
_TAGS: Final = range(0xE0020, 0xE0080)


def _parts_here(text: str, at: int) -> bool:
    """Return whether a position is between two visible characters, not within one."""
    before, after = text[at - 1], text[at]
    if _JOINER in (before, after) or (before == "\r" and after == "\n"):
        return False
    if unicodedata.category(after)[0] == "M" or ord(after) in _TONES or ord(after) in _TAGS:
        return False
    if ord(before) in _FLAGS and ord(after) in _FLAGS:
        start = at
        while start and ord(text[start - 1]) in _FLAGS:
            start -= 1
        return (at - start) % 2 == 0
    return True
