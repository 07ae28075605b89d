"""Extracts the traits of a turn: questions, times, numbers, and the addressed person.

The rules are tables of English words that tests check.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from warmset._core import KnownWords
from warmset.text.temporal import mentions

if TYPE_CHECKING:
    from collections.abc import Mapping

READ: Final = 4_000
"""The most characters of a turn that are read; what a person writes comes early in it."""

LONGEST: Final = 400
"""Days; a longer range, as "the 1990s", is no hint at when something happened."""

SPEAKING: Final = frozenset({"user", "assistant"})
"""Roles whose turns a person or the model wrote; the result of a tool asks nothing."""

EPOCH: Final = 719_163
"""The ordinal of 1 January 1970."""

_REMARK: Final = re.compile(r"\s*\[[^\[\]]{1,500}\]\s*$")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_NUMBER_WORDS: Final = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "dozen", "hundred", "once", "twice", "couple", "few", "several", "first", "second"),
    "third",
)
_NUMBER: Final = re.compile(rf"\b(?:\d|(?:{'|'.join(_NUMBER_WORDS)})\b)")
_DIGIT: Final = re.compile(r"\d")
_BEFORE_NAMES: Final = (
    *("hey", "hi", "hello", "dear", "thanks", "thank you", "bye", "goodbye", "congrats"),
    *("congratulations", "welcome", "morning", "evening", "night", "wow", "sorry", "yeah", "yes"),
    *("sure", "ok", "okay"),
)
_CALL: Final = re.compile(
    rf"\b(?:{'|'.join(form for word in _BEFORE_NAMES for form in (word, word.capitalize()))})\b"
    r"[ ,!]{1,3}([A-Z][^\W\d_]+)(?=\s*(?:[,.!?;:]|$))"
)
_GREETINGS: Final = KnownWords([word.split()[0] for word in _BEFORE_NAMES])
_NUMERALS: Final = KnownWords(_NUMBER_WORDS)
_NO_NAMES: Final = frozenset(
    """
    absolutely again all awesome bye congrats cool definitely everybody everyone exactly folks
    friend friends good goodbye great guys hello hey hi how i it nice no oh ok okay right same so
    sorry sure team thanks that there this totally well what why wow yeah yep yes you
    """.split()  # noqa: SIM905 - a table to be read
)
"""Words behind a greeting that call nobody; `NO_NAMES` has some that are called: May, Will."""

CALLS: Final = 3
"""How often a name is called before it counts; once or twice may be a quotation."""

_ONE_SIDED: Final = 0.8
_OF_TOP: Final = 0.2


@dataclass(frozen=True, slots=True)
class Traits:
    """The traits of a turn's text.

    Args:
        asking: The share of its words that are in questions, 0 to 1.
        ends_asking: Whether it ends with a question.
        tells_time: Whether it mentions when something was, is or will be.
        tells_number: Whether it has a number.
        days: The ranges of days that it mentions, counted from 1970, both ends included.
    """

    asking: float
    ends_asking: bool
    tells_time: bool
    tells_number: bool
    days: tuple[tuple[int, int], ...]


NONE: Final = Traits(0.0, False, False, False, ())


def read(text: str, role: str, at: float) -> Traits:
    """Return the traits of a turn.

    Args:
        text: Its text; the first 4,000 characters are read. A remark in brackets at its end, as the
            caption of a photo, is ignored.
        role: Its role; a tool's result has no traits.
        at: Its time, in seconds since 1970 UTC.

    Returns:
        Its traits.
    """
    if role not in SPEAKING:
        return NONE
    head = text[:READ]
    said = _REMARK.sub("", head) if head.rstrip().endswith("]") else head
    parts = [part for part in _SENTENCE_END.split(said) if part] if "?" in said else []
    asked = sum(len(part.split()) for part in parts if part.rstrip().endswith("?"))
    spans = days(head, at)
    return Traits(
        asking=asked / max(sum(len(part.split()) for part in parts), 1),
        ends_asking=said.rstrip().endswith("?"),
        tells_time=bool(spans),
        tells_number=_tells_number(head.lower()),
        days=tuple(one for one in spans if one[1] - one[0] < LONGEST),
    )


def _tells_number(lower: str) -> bool:
    """Return whether a text in small letters has a number."""
    may = bool(_NUMERALS.among(lower)) or _DIGIT.search(lower) is not None
    return may and _NUMBER.search(lower) is not None


def days(text: str, at: float, *, past: bool = False) -> list[tuple[int, int]]:
    """Return the ranges of days that a text mentions, counted from 1970, each once.

    Args:
        text: The text.
        at: When it was said, in seconds since 1970 UTC.
        past: Whether a part of the year without its year is the last one.
    """
    day = datetime.fromtimestamp(at, UTC).date()
    spans = dict.fromkeys(found.span for found in mentions(text, day, past=past))
    return [(span.first.toordinal() - EPOCH, span.last.toordinal() - EPOCH) for span in spans]


class Addressed:
    """Infers the speakers' names from how they are addressed, if messages have roles but no names.

    A name that one side calls again and again, as in "Thanks, Maria!", and the other side does not,
    is the other side's.
    """

    def __init__(self) -> None:
        self._calls: dict[str, Counter[str]] = {"user": Counter(), "assistant": Counter()}
        self._names: dict[str, tuple[str, str]] | None = None

    def hear(self, role: str, text: str) -> None:
        """Record whom a turn addresses."""
        head = text[:READ]
        if role in SPEAKING and _GREETINGS.among(head.lower()):
            found = [name for name in _CALL.findall(head) if name.lower() not in _NO_NAMES]
            if found:
                self._calls[role].update(found)
                self._names = None

    def heard(self) -> dict[str, dict[str, int]]:
        """Return how often each side called each name, for `restore`."""
        return {role: dict(calls) for role, calls in self._calls.items() if calls}

    def restore(self, heard: Mapping[str, Mapping[str, int]]) -> None:
        """Take up what `heard` returned."""
        for role, calls in heard.items():
            self._calls[role] = Counter(calls)
        self._names = None

    def names(self) -> dict[str, tuple[str, str]]:
        """Return names, folded, each with how it is written and the role of its bearer."""
        if self._names is None:
            self._names = dict(self._infer())
        return self._names

    def _infer(self) -> list[tuple[str, tuple[str, str]]]:
        out: list[tuple[str, tuple[str, str]]] = []
        for caller, bearer in (("user", "assistant"), ("assistant", "user")):
            mine, others = self._calls[caller], self._calls[bearer]
            own = {
                name: count
                for name, count in mine.items()
                if count >= CALLS and count >= _ONE_SIDED * (count + others[name])
            }
            top = max(own.values(), default=0)
            out += [
                (name.casefold(), (name, bearer))
                for name, count in own.items()
                if count >= _OF_TOP * top
            ]
        return out
