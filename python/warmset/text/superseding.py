"""Whether a later decision takes the place of an earlier one.

It does if it says the same of the same subject, another number or the opposite included, or if it
names what it replaces: "MySQL instead of Postgres". The rules are tables of English words that
tests check. They would rather miss a change than hide a decision that still holds: a question and
a proposal change nothing, and a decision in other words is another decision.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.text.decisions import READ, find_decision
from warmset.text.stopwords import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterator

SENTENCES: Final = 16
"""The most sentences of a message that are looked at."""

_STEM: Final = 5
_PAIR: Final = 2
"""Words of a subject from which on two sentences without a number may be of the same."""

_SHARE: Final = 0.5
"""The share of a sentence's words that another one has which names what it replaces."""

_REPLACED_WORDS: Final = 6

_END: Final = re.compile(r"(?<=[.!?…])[\"'”’)\]]{0,2}\s+|\n+")
_WORD: Final = re.compile(r"[$€£]?[^\W_](?:[\w'./:-]*[^\W_])?%?")
_OPEN: Final = re.compile(
    r"\?[\"')\]]{0,2}$"
    r"|\b(?:maybe|perhaps|possibly|probably|might|could|would|what if|how about|propos\w+"
    r"|suggest\w*|consider\w*|i think|in theory|either|whether|not sure|unless|if)\b",
    re.IGNORECASE,
)
"""What asks, proposes or depends on something else."""

_REPLACED: Final = re.compile(
    r"\b(?:instead of|rather than|in place of|no longer|replac(?:e|es|ed|ing)"
    r"|(?:switch|mov|migrat|chang)(?:e|es|ed|ing)?(?:\s+\w+)?\s+(?:over\s+)?from"
    r"|drop(?:s|ped|ping)?|scrap(?:s|ped|ping)?|abandon(?:s|ed|ing)?|revert(?:s|ed|ing)?"
    r"|undo(?:es|ne)?|withdr(?:aw|ew|awn)|overrul(?:e|es|ed)|decided against)\b(.*)",
    re.IGNORECASE | re.DOTALL,
)
_REPLACED_ENDS: Final = re.compile(
    r"[,;:()]|\b(?:to|with|by|and|but|because|so|since|for)\b", re.IGNORECASE
)
_UNITS: Final = frozenset(
    """
    s ms millisecond milliseconds sec secs second seconds min mins minute minutes hour hours day
    days week weeks month months year years percent token tokens byte bytes kb mb gb tb eur euro
    euros usd dollar dollars
    """.split()  # noqa: SIM905 - a table to be read
)
_SETS: Final = frozenset(
    """
    be is are to at of most least than under below above within every stays becomes
    """.split()  # noqa: SIM905 - a table to be read
)
"""Words behind which a number is what is set; behind a noun it is a name, as in "ticket 12"."""

_LAST: Final = frozenset("final finally now then instead longer any anymore please".split())  # noqa: SIM905
"""Words that may follow the number."""

_DECIDING: Final = frozenset(
    """
    decided decide decision agreed agree chose chosen use used using settled final finally
    conclusion must should don't we'll i'll it's that's now new from now
    instead rather longer any anymore on please then set sets change changed changes raise raised
    lower lowered increase increased reduce reduced stay stays become becomes keep kept
    """.split()  # noqa: SIM905
)
"""Words that say that something was decided, and not what."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What one sentence decides.

    Args:
        subject: The beginnings of its words, without the number that it sets.
        value: The number that it sets; None if it sets none.
        replaced: The beginnings of the words that it names as replaced.
        settles: Whether it can take the place of an earlier one.
    """

    subject: frozenset[str]
    value: str | None
    replaced: frozenset[str]
    settles: bool

    @property
    def words(self) -> frozenset[str]:
        """All beginnings of words, and the number."""
        return self.subject if self.value is None else self.subject | {self.value}

    def supersedes(self, earlier: Topic) -> bool:
        """Return whether it takes the place of an earlier one."""
        if not self.settles:
            return False
        if self.subject == earlier.subject and (self.value is None) == (earlier.value is None):
            return len(self.subject) >= (_PAIR if self.value is None else 1)
        was = earlier.words
        if not self.replaced & was:
            return False
        return len(was & self.words) >= max(_SHARE * len(was), 1)


def topics_of(text: str) -> tuple[Topic, ...]:
    """Return what a message decides, a sentence each.

    Args:
        text: What it says; its first 20,000 characters are read.

    Returns:
        The topics of its sentences that have one of `DECISIONS`; of all of them if none has.
    """
    said = list(_sentences(text[:READ].replace("’", "'")))
    deciding = [one for one in said if find_decision(one) is not None]
    return tuple(map(_topic, (deciding or said)[:SENTENCES]))


class Open:
    """Decisions in their order, and which of them later ones supersede.

    What a person decided, only a person changes.

    Attributes:
        gone: The numbers of those of which later ones supersede every sentence.
    """

    def __init__(self) -> None:
        self.gone: set[int] = set()
        self._left: dict[int, int] = {}
        self._same: dict[frozenset[str], list[_Stated]] = {}
        self._words: dict[str, list[_Stated]] = {}

    def add(self, number: int, topics: tuple[Topic, ...], *, asked: bool) -> None:
        """Add what the next decision is about.

        Args:
            number: Names the decision.
            topics: What it decides.
            asked: Whether a person said it, and not the model.
        """
        for one in topics:
            near = self._same.get(one.subject, ())
            more = (old for word in one.replaced for old in self._words.get(word, ()))
            for old in (*near, *more):
                if old.open and (asked or not old.asked) and one.supersedes(old.topic):
                    old.open = False
                    self._left[old.number] -= 1
                    if not self._left[old.number]:
                        self.gone.add(old.number)
        self._left[number] = len(topics)
        for one in topics:
            stated = _Stated(number, one, asked)
            self._same.setdefault(one.subject, []).append(stated)
            for word in one.words:
                self._words.setdefault(word, []).append(stated)


@dataclass(slots=True)
class _Stated:
    """A sentence of a decision, until a later one supersedes it."""

    number: int
    topic: Topic
    asked: bool
    open: bool = True


def _sentences(text: str) -> Iterator[str]:
    for piece in _END.split(text):
        if said := piece.strip():
            yield said


def _topic(sentence: str) -> Topic:
    replaced = _REPLACED.search(sentence)
    said = [match.group().casefold() for match in _WORD.finditer(sentence)]
    value = _value(said)
    words = frozenset(_stem(word) for word in said if _carries(word) and word != value)
    if value is not None:
        words -= {unit[:_STEM] for unit in said[said.index(value) + 1 :]}
    gone = frozenset[str]() if replaced is None else _gone(replaced[1])
    return Topic(
        subject=words,
        value=value,
        replaced=gone & (words | {value or ""}),
        settles=_OPEN.search(sentence) is None,
    )


def _value(said: list[str]) -> str | None:
    """Return the number that a sentence sets: its last word but for a unit, behind "be" or such."""
    kept = [at for at, word in enumerate(said) if word not in _LAST]
    if kept and said[kept[-1]] in _UNITS:
        kept.pop()
    if not kept:
        return None
    word, before = said[kept[-1]], said[kept[-1] - 1] if kept[-1] else ""
    once = said.count(word) == 1
    return word if once and any(map(str.isdigit, word)) and before in _SETS else None


def _carries(word: str) -> bool:
    return word not in EMPTY and word not in _DECIDING


def _gone(text: str) -> frozenset[str]:
    """Return the beginnings of the words that are named as replaced."""
    end = _REPLACED_ENDS.search(text)
    head = text if end is None else text[: end.start()]
    found = [match.group().casefold() for match in _WORD.finditer(head)]
    return frozenset(map(_stem, [word for word in found if _carries(word)][:_REPLACED_WORDS]))


def _stem(word: str) -> str:
    """Return the beginning of a word; numbers and identifiers with digits stay whole."""
    return word if any(map(str.isdigit, word)) else word[:_STEM]
