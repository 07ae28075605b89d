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

READ: Final = 20_000
"""Characters of a turn that are read; it may be fifty megabytes long."""

STARTERS: Final = frozenset(
    """
    a after all also an and any are as at before but by can could did do does each first for
    from had has have he her here his how i if in is it its let let's looks maybe my next no not
    now of ok okay on one or our please she since so some sorry sure thanks that the their then
    there these they this those to two was we were what when where which while who why will with
    would yes yesterday yet you your
    """.split()  # noqa: SIM905 - a table to be read
)
"""Words that begin sentences and name nothing."""

_PHRASES = "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in DECISIONS)
_DECISION = re.compile(rf"(?<!\w)(?:{_PHRASES})(?!\w)", re.IGNORECASE)
_CODE = re.compile(
    r"https?://[^\s<>\"')\]]{1,200}"  # URLs
    r"|(?:[\w.~-]{1,80}/){1,40}[\w.-]{1,80}"  # paths
    r"|\b[a-zA-Z]\w{0,80}_\w{1,80}\b"  # snake_case
    r"|\b[a-z]{1,80}[A-Z]\w{0,80}\b"  # camelCase
    r"|\b[A-Z]{2,}-\d+\b"  # ticket ids
)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_SENTENCE_START = re.compile(
    r"(?:^|[.!?:]\s{1,4}|\n[ \t]{0,8}[-*#>]{0,3}[ \t]{0,8})([^\W\d_][\w'’-]*)"
)


def brief_task(text: str) -> str:
    """Show a task that does not fit whole in one line."""
    return f"(The task, shortened) {summarise(text) or '…'}"


def summarise(text: str) -> str:
    """Return the one-line summary of a turn.

    Args:
        text: What the turn says.

    Returns:
        Its first 160 characters with white space collapsed; empty for an empty turn.
    """
    words: list[str] = []
    length = -1
    for match in re.finditer(r"\S+", text):
        words.append(match.group()[: SUMMARY_CHARS + 1])
        length += len(words[-1]) + 1
        if length >= SUMMARY_CHARS:
            break
    return " ".join(words)[:SUMMARY_CHARS].rstrip()


def entities(text: str) -> tuple[str, ...]:
    """Return what a turn names.

    Args:
        text: What the turn says; its first 20,000 characters are read.

    Returns:
        The first 8 distinct capitalised words, paths, URLs and identifiers, in order of appearance.
        A word that begins a sentence does not count where it occurs in lower case elsewhere, or is
        one of `STARTERS`.
    """
    head = text[:READ].replace("’", "'")
    starts = {match.start(1) for match in _SENTENCE_START.finditer(head)}
    lower = {word for word in _WORD.findall(head) if word[0].islower()}
    found: dict[str, int] = {}
    for match in _CODE.finditer(head):
        found.setdefault(match.group().rstrip(".,;:"), match.start())
    for match in _WORD.finditer(head):
        word = match.group().removesuffix("'s")
        if not word[0].isupper() or len(word) == 1:
            continue
        plain = word.lower()
        if match.start() not in starts or (plain not in lower and plain not in STARTERS):
            found.setdefault(word, match.start())
    return tuple(sorted(found, key=found.__getitem__)[:MAX_ENTITIES])


def is_decision(text: str) -> bool:
    """Tell whether a turn settles something.

    Args:
        text: What the turn says; its first 20,000 characters are read.

    Returns:
        Whether one of `DECISIONS` occurs in it as whole words.
    """
    return _DECISION.search(text[:READ].replace("’", "'")) is not None
