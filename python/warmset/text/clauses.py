"""Clauses that set a value, with what they speak of: "the search timeout is 30 s"."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from warmset.text.stopwords import EMPTY, NO_NAMES, OPENERS
from warmset.text.values import CALENDAR, NUMBERS, UNITS, values_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


def sentences(text: str) -> list[str]:
    """Return the sentences of a text; a line's end ends one."""
    return [part for part in _SENTENCE.split(text) if part]


def sets(sentence: str) -> bool:
    """Return whether a sentence may set something: it asks, weighs, refuses and keeps nothing."""
    return not sentence.rstrip().endswith("?") and _WEIGHS.search(sentence) is None


def stated_in(parts: Sequence[str], at: int) -> list[Stated]:
    """Return the values of a sentence, in order.

    Args:
        parts: The sentences of a turn.
        at: The position of the sentence.
    """
    sentence = parts[at]
    found = values_in(sentence)
    if not found:
        return []
    around, names = frozenset(words_of(" ".join(parts[max(at - 1, 0) : at + 2]))), _names(sentence)
    beside = _beside(sentence)
    out: list[Stated] = []
    for start, end, named, text in found:
        kind = _kind(named)
        left = max(sentence.rfind(mark, 0, start) for mark in (", ", "; ", ": ", " - ", "(")) + 1
        right = min(
            (at for mark in (", ", "; ", " - ", ")") if (at := sentence.find(mark, end)) >= 0),
            default=len(sentence),
        )
        counted = frozenset({kind} if kind and kind not in _MEASURES else ())
        near = frozenset(words_of(sentence[left:start] + " " + sentence[end:right]))
        words = near | counted or frozenset(words_of(sentence[:start]))
        words = words or frozenset(words_of(sentence[end:]))
        out.append(Stated(kind, text, start, end, words, around, names, beside))
    return out


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
    return (
        len(word) > 2  # noqa: PLR2004
        and word not in EMPTY
        and word not in NUMBERS
        and word not in _SIGNS
        and word not in UNITS
        and CALENDAR.fullmatch(word) is None
    )


def words_of(text: str) -> Iterator[str]:
    """Yield the stems of the words that tell what a text is about."""
    for match in _WORD.finditer(text.lower()):
        if _tells(match.group()):
            yield stem(match.group())


def _beside(sentence: str) -> dict[str, frozenset[str]]:
    """Return, for each word, those that tell which one it is: right before it, or behind "of"."""
    found: dict[str, set[str]] = {}
    matches = list(_WORD.finditer(sentence.lower()))
    words, spans = [match.group() for match in matches], [match.span() for match in matches]
    for at, word in enumerate(words):
        if not _tells(word):
            continue
        if at and _tells(words[at - 1]) and sentence[spans[at - 1][1] : spans[at][0]].isspace():
            found.setdefault(stem(word), set()).add(stem(words[at - 1]))
        rest = words[at + 1 : at + 4]
        if rest and rest[0] in ("of", "for", "in", "on", "at"):
            named = [one for one in rest[1:] if _tells(one)]
            if named:
                found.setdefault(stem(word), set()).add(stem(named[0]))
    return {word: frozenset(beside) for word, beside in found.items()}


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
