"""Finds turns that change a value which an earlier turn set: "make it 90 s", "moved to 3 May".

Precision comes before recall. A turn changes an earlier one only if a sign of a change governs a
value of the same kind, and what its clause speaks of is what the earlier one speaks of. English.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.text.clauses import Clauses, Stated, sets, stem
from warmset.text.features import SPEAKING
from warmset.text.stopwords import OPENERS
from warmset.text.values import has_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warmset.text.values import Found

READ: Final = 2_000
"""The most characters of a turn that are read: who changes a value says it shortly."""

ENOUGH: Final = 0.55
"""The least share of a clause's words, by their weight, that an earlier turn must have."""

RARE: Final = 3
"""The weight of a word that tells what a turn is about. One that turns of any subject have has the
weight 1, and is not enough by itself."""

_USUAL: Final = frozenset(
    stem(word)
    for word in (
        *OPENERS,
        *"""
        account amount answer ask back book box call case check city column command company
        customer data deal document email entry error event file folder group home house idea item
        job line list mail man message minute moment money month name night note office order page
        part people person phone picture piece place plan point problem process product project
        question reason report result room row run script section sentence service site sort step
        story street table task team test text thing ticket time turn unit user version visit way
        week woman word work world year
        """.split(),  # noqa: SIM905 - a table to be read
    )
)
"""Stems of words that turns of any subject have."""

_VERB: Final = (
    r"(?:rais(?:e|ed|es|ing)|lower(?:ed|s|ing)?|increase[ds]?|increasing|decrease[ds]?|decreasing"
    r"|reduc(?:e|ed|es|ing)|extend(?:ed|s|ing)?|bump(?:ed|s|ing)?|mov(?:e|ed|es|ing)|push(?:ed|es)?"
    r"|postpon(?:e|ed|es|ing)|shift(?:ed|s|ing)?|reschedul(?:e|ed|es|ing)|chang(?:e|ed|es|ing)"
    r"|switch(?:ed|es|ing)?|update[ds]?|updating|cut|sets?|rebooked|falls?|fell|rises?|rose"
    r"|goes|went|drop(?:s|ped)?|correct(?:ed|s)?)"
)
_THING: Final = (
    r"(?:date|day|time|slot|limit|target|value|number|figure|deadline|price|rate|ceiling|threshold)"
)
_BEFORE: Final = re.compile(
    rf"(?:\b{_VERB}\b[^.?!;]{{0,60}}\b(?:to|until|till|on|at|by|up|down|from)\s(?:the\s|around\s)?"
    r"|\bma(?:ke|de)\s(?:it|that|this|them|those)\s(?:at\s)?"
    rf"|\bnew\s(?:[a-z-]+\s){{0,2}}{_THING}\b[^.?!;,]{{0,40}}"
    r"|\b(?:is|are|was|goes|runs?|may|costs?)\snow\s(?:[a-z]+\s){0,4}"
    r"|\bnow\s(?:is\s|at\s|to\s|on\s|up\sto\s)?(?:the\s)?"
    r"|\bno longer\s[^.?!;]{0,40}(?:but|,)\s)\W{0,3}$",
    re.IGNORECASE,
)
"""What governs the value behind it."""

_BEHIND: Final = re.compile(
    r"^(?:\s?[a-z%]+){0,4}?"
    r"(?:\s(?:instead|from now on|as of now|now|rather than|after all)|, final)\b",
    re.IGNORECASE,
)
"""What governs the value before it."""

_WHOLE: Final = re.compile(
    rf"\b(?:change (?:it|that|this|them)|new {_THING}|from now on"
    r"|(?:raise|lower|move|extend)s? (?:our|the|my)|moves? again|correction|instead)\b",
    re.IGNORECASE,
)
"""What governs every value of a short turn."""

REACH: Final = 120
"""Characters before a value in which a sign may stand."""

SHORT: Final = 240
"""Characters of a turn in which one sign is enough."""

_OLD: Final = re.compile(
    r"\b(?:from|instead of|rather than|not|was|no longer|replac(?:es|ed|ing))\s(?:the\s|just\s)?$",
    re.IGNORECASE,
)
"""What stands before the value that is replaced."""

_HINTS: Final = frozenset(
    f"{before}{word}{behind}"
    for word in """
    raise raised raises raising lower lowered lowers lowering increase increased increases
    increasing decrease decreased decreases decreasing reduce reduced reduces reducing extend
    extended extends extending bump bumped bumps bumping move moved moves moving push pushed pushes
    postpone postponed postpones postponing shift shifted shifts shifting reschedule rescheduled
    reschedules rescheduling change changed changes changing switch switched switches switching
    update updated updates updating cut set sets rebooked fall falls fell rise rises rose goes went
    drop drops dropped correct corrected corrects make made new now final instead longer rather
    after correction
    """.split()  # noqa: SIM905 - a table to be read
    for before in ("", "(", '"', "'")
    for behind in ("", ",", ".", ":", ";", "!", ")", '"', "'", "...")
)
"""The words of `_SIGN`, as they stand between spaces."""

_SIGN: Final = re.compile(
    rf"\b(?:{_VERB}|ma(?:ke|de)|new|now|final|instead|longer|rather|after all)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Change:
    """A value that a turn sets in the place of another one.

    Args:
        new: The value.
        old: The values that it names as replaced.
        said: The sentence that sets it, with its neighbours.
    """

    new: Stated
    old: frozenset[str] = frozenset()
    said: str = ""


@dataclass(frozen=True, slots=True)
class Statements:
    """What a turn states and changes.

    Args:
        stated: Its values.
        changes: Those among them that replace others.
    """

    stated: tuple[Stated, ...] = ()
    changes: tuple[Change, ...] = ()


NOTHING: Final = Statements()


def statements(text: str, role: str) -> Statements:
    """Read what a turn states.

    Args:
        text: Its text; the first 2,000 characters are read.
        role: Its role; the result of a tool states nothing.
    """
    if role not in SPEAKING:
        return NOTHING
    head = text[:READ].replace("’", "'")
    if not has_value(head):
        return NOTHING
    clauses = Clauses(head)
    places = [at for at, one in enumerate(clauses.sentences) if has_value(one) and sets(one)]
    stated = [one for at in places for one in clauses.stated(at)]
    return Statements(tuple(stated), tuple(_changes(clauses))) if stated else NOTHING


def changes_value(text: str, role: str) -> bool:
    """Return whether a turn changes a value; most turns are seen not to at a glance.

    Args:
        text: Its text; the first 2,000 characters are read.
        role: Its role; the result of a tool changes nothing.
    """
    if role not in SPEAKING or not _is_hinted(head := text[:READ]):
        return False
    return any(_changes(Clauses(head.replace("’", "'"))))


def _is_hinted(text: str) -> bool:
    """Return whether a text has a word of those that changes have, and a value."""
    return not _HINTS.isdisjoint(text.lower().split()) and has_value(text)


def _changes(clauses: Clauses) -> Iterator[Change]:
    """Yield the values that sentences set in the place of others."""
    parts = clauses.sentences
    short = sum(map(len, parts)) <= SHORT
    for at, sentence in enumerate(parts):
        whole = short and _WHOLE.search(" ".join(parts[max(at - 1, 0) : at + 2])) is not None
        if not (whole or _is_hinted(sentence)) or not sets(sentence):
            continue
        found = clauses.values(at)
        old = [one for one in found if _OLD.search(_left(sentence, one))]
        new = [one for one in found if one not in old and _is_governed(sentence, one)]
        if not new and not whole:
            continue
        stated = clauses.stated(at)
        for one in stated:
            place = (one.start, one.end)
            if any((other.start, other.end) == place for other in old):
                continue
            if (whole and one.kind) or any((other.start, other.end) == place for other in new):
                spans = {(other.start, other.end) for other in old}
                named = [two for two in stated if (two.start, two.end) in spans]
                replaced = frozenset(two.text for two in named if two.kind == one.kind)
                yield Change(one, replaced, " ".join(parts[max(at - 1, 0) : at + 2]))


def _is_governed(sentence: str, one: Found) -> bool:
    before, behind = _left(sentence, one), sentence[one.end : one.end + REACH]
    if _BEFORE.search(before) is None and _BEHIND.match(behind) is None:
        return False
    return _SIGN.search(sentence) is not None


def _left(sentence: str, one: Found) -> str:
    """Return what stands before a value, as far as it may govern it."""
    return sentence[max(one.start - REACH, 0) : one.start]


def superseded(earlier: Statements, later: Statements) -> bool:
    """Return whether a turn changes a value that an earlier one states.

    Args:
        earlier: The earlier turn.
        later: The later one.
    """
    return any(
        _changes_it(one, change) and not _says(earlier, change.new)
        for change in later.changes
        for one in earlier.stated
    )


def supersedes(later: Statements, text: str, role: str) -> bool:
    """Return whether a turn changes a value that an earlier one states; see `superseded`.

    Of the earlier turn only those sentences are read that may state such a value.

    Args:
        later: The later turn.
        text: The text of the earlier turn.
        role: Its role.
    """
    wanted = subjects(later)
    if role not in SPEAKING or not wanted:
        return False
    clauses, kinds = Clauses(text[:READ].replace("’", "'")), {one.new.kind for one in later.changes}
    parts = clauses.sentences
    for at, sentence in enumerate(parts):
        near = " ".join(parts[max(at - 1, 0) : at + 2])
        if not _may_speak_of(near, wanted) or kinds.isdisjoint(clauses.kinds(at)):
            continue
        if not sets(sentence):
            continue
        if any(_changes_it(one, two) for one in clauses.stated(at) for two in later.changes):
            return superseded(statements(text, role), later)
    return False


def subjects(later: Statements) -> frozenset[str]:
    """Return the stems one of which a text has if a turn changes a value that it states."""
    return frozenset(
        stem_
        for one in later.changes
        for stem_ in (one.new.around if one.old else one.new.words)
        if _tells(stem_)
    )


def _may_speak_of(text: str, stems: frozenset[str]) -> bool:
    """Return whether a text has a word with one of some stems; that is known at once.

    A stem is the beginning of its word in lower case, which beyond ASCII depends on what is beside
    it.
    """
    if not text.isascii():
        return True
    lower = text.lower()
    return any(one in lower for one in stems)


def _changes_it(one: Stated, change: Change) -> bool:
    """Return whether a change replaces a value, if its turn does not state the new one as well."""
    new = change.new
    if one.kind != new.kind or one.text == new.text:
        return False
    if _conflict(one, new):
        return False
    shared = (new.around if change.old else new.words) & one.around
    if not any(map(_tells, shared)):
        return False
    if change.old:
        return one.text in change.old
    return sum(map(_weight, shared)) >= ENOUGH * sum(map(_weight, new.words))


def _says(earlier: Statements, new: Stated) -> bool:
    return any(one.kind == new.kind and one.text == new.text for one in earlier.stated)


def _conflict(one: Stated, other: Stated) -> bool:
    """Return whether two values belong to different things: another name, another kind of limit."""
    if one.names and other.names and one.names.isdisjoint(other.names):
        return True
    for word, beside in one.beside.items():
        there = other.beside.get(word)
        if there and beside.isdisjoint(there):
            return True
    return False


def _tells(word: str) -> bool:
    return word not in _USUAL


def _weight(word: str) -> int:
    return RARE if _tells(word) else 1
