"""Finds the speakers that a question names, as people write names: whole, in part, or short.

```text
whole name ─▶ a part of it ─▶ a short form ─▶ the beginning or end of a handle ─▶ one letter off
```

The first rule that applies decides. From the second on, a word counts only if it fits exactly one
of the conversation's speakers. Case, accents, and a possessive do not matter.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from warmset.text.nicknames import ORDINARY, formal
from warmset.text.stopwords import NO_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable

_LEAST_EDITED: Final = 5
"""Letters that a part of a name has at least if it is recognised with one letter wrong."""

_SHORT: Final = 2
"""Parts of at most that many letters count only if they are written as names, and never at the
beginning or the end of a handle."""

_AUXILIARIES: Final = frozenset({"may", "will"})
"""Names that begin questions as verbs."""

_NO_PARTS: Final = frozenset(
    """
    admin al and bin bot contact da de del den der dev di dr du el eng english home hello ibn ii iii
    im info iv jr la le mail me miss mr mrs ms mx of office official prof real sir sr support team
    test the user van von work
    """.split()  # noqa: SIM905 - a table to be read
)
"""Titles, particles, and words of handles: in a longer name they name nobody."""

_CHUNK: Final = re.compile(r"[^\s,;:!?()\[\]{}\"“”«»…/\u2013\u2014]+")
_POSSESSIVE: Final = re.compile(r"['’][sS]?$")
_EMAIL: Final = re.compile(r"[^\s@]+@[^\s@]+")
_APART: Final = re.compile(r"[\W\d_]+")
_HUMP: Final = re.compile(r"(?<=[a-zß-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])")
_OPENING: Final = re.compile(r"(?:^|[.!?]\s)\W*$")
_APOSTROPHES: Final = str.maketrans("", "", "'’")
_EDGES: Final = "@#*_.-'’"


class Roster:
    """The speakers of a conversation, by the words that name them.

    Args:
        names: Their names, as they were stored.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        # The longest first: "John Smith" is not "John".
        self._whole = sorted((one for one in names if not _is_ordinary(one)), key=len, reverse=True)
        self._ordinary = {fold(one) for one in names if _is_ordinary(one)}
        self._parts: dict[str, set[str]] = defaultdict(set)
        self._formal: dict[str, set[str]] = defaultdict(set)
        self._handles: dict[str, set[str]] = defaultdict(set)
        for name in names:
            who = name.casefold()
            for part in parts(name):
                self._parts[part].add(who)
                for full in formal(part):
                    self._formal[full].add(who)
            for handle in _glued(name):
                self._handles[handle].add(who)

    def find(self, query: str) -> tuple[str, list[str]]:
        """Find the speakers that a question names.

        Args:
            query: The question.

        Returns:
            The question without what names them (whole, if nothing else is left), and the names
            that were found, case-folded, each once.
        """
        words, named = _blanked(query, self._whole)
        capitals = any(sign.isupper() for sign in query)
        kept: list[str] = []
        last = 0
        for match in _CHUNK.finditer(words):
            bare = match[0].strip(_EDGES)
            stem = _POSSESSIVE.sub("", match[0].lstrip(_EDGES).rstrip("*_.-")).strip(_EDGES)
            called = stem[:1].isupper() and (
                stem != bare or _OPENING.search(words, 0, match.start()) is None
            )
            who = self._speaker(stem, called=called, capitals=capitals)
            if who is not None:
                kept.append(words[last : match.start()])
                last = match.end()
                named.append(who)
        kept.append(words[last:])
        return _tidy(" ".join(kept), query), list(dict.fromkeys(named))

    def _speaker(self, chunk: str, *, called: bool, capitals: bool) -> str | None:
        """Return the one speaker that a chunk of a question names; None if that is nobody."""
        local = chunk.partition("@")[0] if _EMAIL.fullmatch(chunk) else chunk
        pieces = [one for one in _APART.split(local.translate(_APOSTROPHES)) if len(one) > 1]
        found = {self._word(one, called=called, capitals=capitals) for one in pieces}
        return found.pop() if len(found) == 1 else None

    def _word(self, word: str, *, called: bool, capitals: bool) -> str | None:
        folded = fold(word)
        doubtful = len(folded) <= _SHORT or folded in ORDINARY or folded in NO_NAMES
        if doubtful and not called:
            # "Rose" may begin a question as a name, "Will" does not; a question that is written
            # without capitals has them of neither.
            written = word[:1].isupper() or not capitals
            if folded in _AUXILIARIES or folded not in self._ordinary or not written:
                return None
        fits = self._parts.get(folded) or self._by_form(folded)
        if not fits and (called or formal(folded)) and not doubtful:
            fits = self._in_handle(folded)
        if not fits and called and not doubtful:
            fits = self._one_off(folded)
        return next(iter(fits)) if len(fits) == 1 else None

    def _by_form(self, word: str) -> set[str]:
        return {who for full in formal(word) for who in self._formal.get(full, ())}

    def _in_handle(self, word: str) -> set[str]:
        return {
            who
            for handle, bearers in self._handles.items()
            if handle.startswith(word) or handle.endswith(word)
            for who in bearers
        }

    def _one_off(self, word: str) -> set[str]:
        return {
            who
            for part, bearers in self._parts.items()
            if len(part) >= _LEAST_EDITED and part[0] == word[0] and _near(word, part)
            for who in bearers
        }


@lru_cache(maxsize=64)
def roster(names: tuple[str, ...]) -> Roster:
    """Return the roster of some names; the last ones are kept."""
    return Roster(names)


def without(query: str, names: Iterable[str]) -> tuple[str, list[str]]:
    """Remove whole names from a question, and return those that it has, case-folded.

    The vector of a name would match small talk addressed to that person; as a separate cue, the
    name points to the speaker.
    """
    words, named = _blanked(query, names)
    return _tidy(words, query), named


def parts(name: str) -> list[str]:
    """Return the words of a speaker's name that may stand for it, folded.

    Args:
        name: A display name, a handle, or an e-mail address, of which the domain says nothing.
    """
    local = name.partition("@")[0] if _EMAIL.fullmatch(name) else name
    found: dict[str, None] = {}
    for piece in _APART.split(local.translate(_APOSTROPHES)):
        for one in (piece, *_HUMP.split(piece)):
            if len(one) > 1:
                found.setdefault(fold(one))
    said = [one for one in found if one not in _NO_PARTS]
    return said or list(found)


def fold(word: str) -> str:
    """Return a word without case, accents, and apostrophes."""
    plain = unicodedata.normalize("NFKD", word.translate(_APOSTROPHES))
    return "".join(sign for sign in plain if not unicodedata.combining(sign)).casefold()


def _is_ordinary(name: str) -> bool:
    folded = fold(name)
    return folded in ORDINARY or folded in _AUXILIARIES


def _glued(name: str) -> list[str]:
    """Return the words of a handle in which names may be written together."""
    if name != name.lower() and (re.search(r"\s", name) or name.isalpha()):
        return []
    return parts(name)


def _blanked(query: str, names: Iterable[str]) -> tuple[str, list[str]]:
    """Replace whole names by blanks, and return those that were there, case-folded."""
    named: list[str] = []
    words = query
    plain = query.lower() if query.isascii() else None
    for name in names:
        if plain is not None and name.isascii() and name.lower() not in plain:
            continue
        pattern = rf"(?<!\w){re.escape(name)}(?:['’]s)?(?!\w)"
        words, times = re.subn(pattern, " ", words, flags=re.IGNORECASE)
        if times:
            named.append(name.casefold())
    return words, named


def _tidy(words: str, query: str) -> str:
    words = " ".join(words.split())
    return words if re.search(r"\w", words) else query


def _near(one: str, other: str) -> bool:
    """Return whether two words differ by one letter: wrong, missing, too many, or swapped."""
    if len(one) > len(other):
        one, other = other, one
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    if len(one) < len(other):
        return one[at:] == other[at + 1 :]
    swapped = one[at : at + 2] == other[at : at + 2][::-1] and one[at + 2 :] == other[at + 2 :]
    return one[at + 1 :] == other[at + 1 :] or swapped
