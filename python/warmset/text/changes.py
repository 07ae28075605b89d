"""Finds turns that change a value which an earlier turn set: "make it 90 s", "moved to 3 May".

Precision comes before recall. A turn changes an earlier one only if a sign of a change governs a
value of the same kind, and what its clause speaks of is what the earlier one speaks of. English.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from warmset.text.clauses import Stated, clauses, stated_in, stem, words_of
from warmset.text.features import SPEAKING
from warmset.text.stopwords import OPENERS

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    """

    new: Stated
    old: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Statements:
    """What a turn states and changes.

    Args:
        stated: Its values.
        changes: Those among them that replace others.
        words: The stems of its words.
    """

    stated: tuple[Stated, ...] = ()
    changes: tuple[Change, ...] = ()
    words: frozenset[str] = field(default_factory=frozenset[str])


NOTHING: Final = Statements()


def may_change(text: str) -> bool:
    """Return whether a turn has a word of those that changes have; that is known at once."""
    return not _HINTS.isdisjoint(text[:READ].lower().split())


def statements(text: str, role: str) -> Statements:
    """Read what a turn states.

    Args:
        text: Its text; the first 2,000 characters are read.
        role: Its role; the result of a tool states nothing.
    """
    if role not in SPEAKING:
        return NOTHING
    head = text[:READ].replace("’", "'")
    stated: list[Stated] = []
    changes: list[Change] = []
    short = len(head) <= SHORT
    for clause in clauses(head):
        found = stated_in(clause)
        if not found:
            continue
        stated += found
        whole = short and _WHOLE.search(clause.around) is not None
        if whole or _SIGN.search(clause.sentence) is not None:
            changes += _changes(clause.sentence, found, whole=whole)
    if not stated:
        return NOTHING
    return Statements(tuple(stated), tuple(changes), frozenset(words_of(head)))


def _changes(sentence: str, found: Sequence[Stated], *, whole: bool) -> list[Change]:
    made: list[Change] = []
    old = [one for one in found if _OLD.search(_left(sentence, one))]
    for one in found:
        if one in old:
            continue
        governed = _BEFORE.search(_left(sentence, one)) or _BEHIND.match(sentence[one.end :])
        if not governed and not (whole and one.kind):
            continue
        named = frozenset(other.text for other in old if other.kind == one.kind)
        made.append(Change(one, named))
    return made


def _left(sentence: str, one: Stated) -> str:
    """Return what stands before a value, as far as it may govern it."""
    return sentence[max(one.start - REACH, 0) : one.start]


def superseded(earlier: Statements, later: Statements) -> bool:
    """Return whether a turn changes a value that an earlier one states.

    Args:
        earlier: The earlier turn.
        later: The later one.
    """
    return any(
        _changes_it(one, change, earlier) for change in later.changes for one in earlier.stated
    )


def _changes_it(one: Stated, change: Change, earlier: Statements) -> bool:
    new = change.new
    if one.kind != new.kind or one.text == new.text:
        return False
    if any(other.kind == new.kind and other.text == new.text for other in earlier.stated):
        return False
    if _conflict(one, new):
        return False
    shared = (new.around if change.old else new.words) & one.around
    if not any(map(_tells, shared)):
        return False
    if change.old:
        return one.text in change.old
    return sum(map(_weight, shared)) >= ENOUGH * sum(map(_weight, new.words))


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
