"""Clauses that set a value, with what they speak of: "the search timeout is 30 s"."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from warmset.text.stopwords import EMPTY, NO_NAMES, OPENERS
from warmset.text.values import CALENDAR, NUMBERS, UNITS, values_in

if TYPE_CHECKING:
    from warmset.text.values import Found

_WEIGHS: Final = re.compile(
    r"\b(?:could|would|might|maybe|perhaps|what if|what about|how about|suggest(?:ed|s|ion)?"
    r"|propos\w+|consider\w*|options?|optionally|shall|if we|whether|wonder\w*"
    r"|not (?:to )?(?:change|raise|lower|move|touch)|reject\w*|refus\w+|declin\w+|leave|keep|kept"
    r"|keeps|stays?|stayed|unchanged|rather not|no need|imagine|for example|unless|wish(?:es)?"
    r"|prefer\w*|asked for|wanted|instead of that|on average|took|measured|p9\d|so far|already)\b",
    re.IGNORECASE,
)
"""Sentences that weigh, ask, refuse, keep or measure: they set nothing."""

_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD: Final = re.compile(r"[^\W\d_][\w'-]*")
_MEASURES: Final = frozenset({"date", "weekday", "time", *UNITS.values()})
"""Kinds that tell nothing of the subject; "attempt" does."""

_SIGNS: Final = frozenset(
    """
    raise raised raises lower lowered lowers increase increased decrease decreased reduce reduced
    extend extended bump bumped move moved moves push pushed postpone postponed shift shifted
    reschedule rescheduled change changed changes switch switched update updated cut set sets fall
    falls fell rise rises rose goes went drop dropped drops correct corrected make made new now
    instead longer rather today currently right please want then also still just okay yes per each
    value number date time day limit due deadline scheduled planned agreed final within come comes
    under above below over about around least most nothing more less up down only first noon
    midnight morning afternoon evening
    """.split()  # noqa: SIM905
)
"""Words of a change, and of values at large: they do not tell what it is that changes."""

_EMPTY: Final = frozenset((*EMPTY, *NUMBERS, *_SIGNS, *UNITS))


_OPENING: Final = (", ", "; ", ": ", " - ", "(")
_CLOSING: Final = (", ", "; ", " - ", ")")
"""What a clause begins behind, and what it ends before."""

_OF: Final = frozenset({"of", "for", "in", "on", "at"})


class _Word(NamedTuple):
    """A word of a sentence, with its stem; without one if it does not tell what this is about."""

    start: int
    end: int
    text: str
    stem: str


@dataclass(frozen=True, slots=True)
class Stated:
    """A value with what its clause speaks of.

    Args:
        kind: What it counts, or what it is: "second", "%", "date", "time", "code ka"; empty for a
            bare number.
        text: It, in one spelling.
        start: Where it begins in its sentence.
        end: Where it ends.
        words: The stems of its clause.
        around: The stems of its sentence and the neighbours.
        names: The names in its sentence.
        beside: By stem, the word that tells which one it is: "search" of "search timeout".
    """

    kind: str
    text: str
    start: int
    end: int
    words: frozenset[str]
    around: frozenset[str]
    names: frozenset[str]
    beside: dict[str, frozenset[str]] = field(
        default_factory=dict[str, frozenset[str]], compare=False
    )


def sets(sentence: str) -> bool:
    """Return whether a sentence may set something: it asks, weighs, refuses and keeps nothing."""
    return not sentence.rstrip().endswith("?") and _WEIGHS.search(sentence) is None


class Clauses:
    """The sentences of a turn; what each speaks of is read once.

    Args:
        text: The turn's text.
    """

    def __init__(self, text: str) -> None:
        self.sentences: Final = [part for part in _SENTENCE.split(text) if part]
        self._stems: dict[str, str] = {}
        self._words: dict[int, list[_Word]] = {}
        self._values: dict[int, list[Found]] = {}
        self._stated: dict[int, list[Stated]] = {}

    def kinds(self, at: int) -> frozenset[str]:
        """Return the kinds of the values of the sentence at a position; that costs little."""
        return frozenset(_kind(one.kind) for one in self.values(at))

    def values(self, at: int) -> list[Found]:
        """Return the values of the sentence at a position, without what it speaks of."""
        known = self._values.get(at)
        if known is None:
            known = self._values[at] = values_in(self.sentences[at])
        return known

    def stated(self, at: int) -> list[Stated]:
        """Return the values of the sentence at a position, in order."""
        known = self._stated.get(at)
        if known is None:
            known = self._stated[at] = self._read(at)
        return known

    def _read(self, at: int) -> list[Stated]:
        sentence, found = self.sentences[at], self.values(at)
        if not found:
            return []
        words, beside, names = self._words_of(at), self._beside(at), _names(sentence)
        near = range(max(at - 1, 0), min(at + 2, len(self.sentences)))
        around = frozenset(one.stem for place in near for one in self._words_of(place) if one.stem)
        out: list[Stated] = []
        for start, end, named, text in found:
            kind = _kind(named)
            left = max(sentence.rfind(mark, 0, start) for mark in _OPENING) + 1
            right = min(
                (at for mark in _CLOSING if (at := sentence.find(mark, end)) >= 0),
                default=len(sentence),
            )
            there = self._without(sentence, words, start, end)
            counted = frozenset({kind} if kind and kind not in _MEASURES else ())
            said = frozenset(
                one.stem for one in there if one.stem and left <= one.start and one.end <= right
            )
            said = said | counted or frozenset(
                one.stem for one in there if one.stem and one.end <= start
            )
            said = said or frozenset(one.stem for one in there if one.stem and one.start >= end)
            out.append(Stated(kind, text, start, end, said, around, names, beside))
        return out

    def _without(self, sentence: str, words: list[_Word], start: int, end: int) -> list[_Word]:
        """Return the words of a sentence without a value, which may be part of one: "30-minute"."""
        out: list[_Word] = []
        for one in words:
            if one.end <= start or one.start >= end:
                out.append(one)
                continue
            if one.start < start:
                out += self._read_words(sentence, one.start, start)
            if one.end > end:
                out += self._read_words(sentence, end, one.end)
        return out

    def _words_of(self, at: int) -> list[_Word]:
        known = self._words.get(at)
        if known is None:
            sentence = self.sentences[at]
            known = self._words[at] = self._read_words(sentence, 0, len(sentence))
        return known

    def _read_words(self, text: str, start: int, end: int) -> list[_Word]:
        stems, out = self._stems, list[_Word]()
        for match in _WORD.finditer(text, start, end):
            word = match.group().lower()
            root = stems.get(word)
            if root is None:
                root = stems[word] = stem(word) if _tells(word) else ""
            out.append(_Word(match.start(), match.end(), word, root))
        return out

    def _beside(self, at: int) -> dict[str, frozenset[str]]:
        """Return, for each word, those that tell which one it is: before it, or behind "of"."""
        sentence, words = self.sentences[at], self._words_of(at)
        found: dict[str, set[str]] = {}
        for place, one in enumerate(words):
            if not one.stem:
                continue
            before = words[place - 1] if place else None
            if before and before.stem and sentence[before.end : one.start].isspace():
                found.setdefault(one.stem, set()).add(before.stem)
            if place + 1 < len(words) and words[place + 1].text in _OF:
                named = [other.stem for other in words[place + 2 : place + 4] if other.stem]
                if named:
                    found.setdefault(one.stem, set()).add(named[0])
        return {word: frozenset(beside) for word, beside in found.items()}


def _kind(named: str) -> str:
    """Return the kind of a value by the word behind it: nothing if that word tells nothing."""
    if named in _MEASURES or " " in named:
        return named
    return stem(named) if _tells(named) else ""


def stem(word: str) -> str:
    """Return a word without the endings in which its forms differ."""
    word = word.lower().removesuffix("'s").strip("'-")
    for end in ("ings", "ing", "ies", "ied", "ed", "es", "s"):
        if word.endswith(end) and len(word) - len(end) >= 3:  # noqa: PLR2004 - a word remains
            word = word[: -len(end)]
            if end in ("ing", "ed") and len(word) > 3 and word[-1] == word[-2]:  # noqa: PLR2004
                word = word[:-1]  # "capped"
            break
    return word.removesuffix("e") if len(word) > 3 else word  # noqa: PLR2004


def _tells(word: str) -> bool:
    return len(word) > 2 and word not in _EMPTY and CALENDAR.fullmatch(word) is None  # noqa: PLR2004


def _names(text: str) -> frozenset[str]:
    """Return the capitalised words within a sentence, and identifiers."""
    found: set[str] = set()
    opens = True
    for raw in text.split():
        said = raw.strip(".,:;!?\"'()[]*`")
        word = said.removesuffix("'s")
        if word and word[0].isupper() and word.isalpha():
            name = word.lower()
            listed = name in NO_NAMES or CALENDAR.fullmatch(name)
            if not listed and (not opens or (said != word and name not in OPENERS)):
                found.add(name)
        elif "_" in word or ("/" in word and "." in word):
            found.add(word.lower())
        opens = raw[-1] in ".!?:"
    return frozenset(found)
