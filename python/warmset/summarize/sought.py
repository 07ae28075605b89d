"""A summary, made ready to be asked what it states."""

from __future__ import annotations

import re
from typing import Final

from warmset.summarize.finding import code_of, plain_words
from warmset.summarize.sentences import places, said_in
from warmset.summarize.spelling import with_digits
from warmset.text.hard_facts import plain_name
from warmset.text.stopwords import NO_NAMES, OPENERS

_SPACES: Final = re.compile(r"\s+")


class Sought:
    """What a summary states, to be looked up.

    Args:
        summary: The summary.
    """

    def __init__(self, summary: str) -> None:
        self._text = _SPACES.sub(" ", summary.replace("\\", "/").replace("’", "'")).casefold()
        words = plain_words(summary)
        self._words = f" {' '.join(words)} "
        self._plain = set(words)
        self._capital = {
            plain_name(word)
            for word in re.findall(r"[^\W\d_][\w'’-]*", summary)
            if word[0].isupper()
        }
        self._keys = {one.key for one in code_of(summary) if one.kind == "number"}
        self._keys |= {one.key for one in code_of(with_digits(summary)) if one.kind == "number"}
        self._values = {key.partition(" ")[0] for key in self._keys}
        self._places = places(summary)

    def has(self, kind: str, key: str, text: str) -> bool:
        """Tell whether the summary states a fact.

        Args:
            kind: What kind of fact.
            key: Its spelling.
            text: As it was written.
        """
        if kind == "number":
            return self._number(key)
        if kind == "name":
            return self._named(key) if " " not in key else f" {key} " in self._words
        if kind == "quote":
            return f" {key} " in self._words
        if kind in {"constraint", "task"}:
            return said_in(text, self._places, polarity=kind == "constraint")
        return self._within(key)

    def _number(self, key: str) -> bool:
        if key in self._keys:
            return True
        if key.startswith("?-"):  # a date without its year
            return any(one.endswith(key[1:]) for one in self._keys)
        return " " not in key and key in self._values

    def _named(self, word: str) -> bool:
        if word in NO_NAMES or word in OPENERS:
            return word in self._capital
        return word in self._plain

    def _within(self, key: str) -> bool:
        """Tell whether it stands in the summary, and not as a part of another word."""
        at = self._text.find(key)
        while at >= 0:
            end = at + len(key)
            before, after = self._text[at - 1 : at] if at else "", self._text[end : end + 2]
            if not _joins(before) and not _goes_on(after):
                return True
            at = self._text.find(key, at + 1)
        return False


def _joins(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _goes_on(signs: str) -> bool:
    return bool(signs) and (
        signs[0].isalnum() or signs[0] == "_" or (signs[0] in "./-" and signs[1:].isalnum())
    )
