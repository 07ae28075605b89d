"""The loss audit: what turns state that their summary does not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from warmset.messages import accept, resolve
from warmset.messages import facts as read
from warmset.summarize.finding import code_of, lower_words, names_of, quotes_of
from warmset.summarize.sentences import (
    asks_for_work,
    binds,
    box_of,
    content,
    sentences,
    without_marks,
)
from warmset.summarize.sought import Sought

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warmset.messages import Dialect, Facts, Message

FactKind: TypeAlias = Literal[
    "number", "path", "url", "identifier", "name", "quote", "constraint", "task"
]
"""Numbers have their units, and dates, times, money and versions are among them."""

KINDS: Final[tuple[FactKind, ...]] = get_args(FactKind)

READ: Final = 200_000
"""Characters of a turn that are read; `Audit.unread` has how many were not."""

_AROUND: Final = 28
_ESCAPES: Final = re.compile(r'\\([nrt"/\\])')
_UNESCAPED: Final = {"n": "\n", "r": "\n", "t": " ", '"': '"', "/": "/", "\\": "\\"}
_SHORT: Final = 3


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that turns state.

    Args:
        kind: What kind of thing.
        text: As it was written first.
        at: Position in the list of the message that states it first.
        role: Whose message that is.
        times: In how many messages it is.
        around: What stands around it there, in one line.
    """

    kind: FactKind
    text: str
    at: int
    role: str
    times: int = field(default=1, compare=False)
    around: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Audit:
    """Which facts of turns a summary kept, and which it lost.

    Args:
        lost: Facts that the summary does not state, in the order of the turns.
        kept: Facts that it does.
        unread: Characters of very long turns that were not read.
    """

    lost: tuple[Fact, ...]
    kept: tuple[Fact, ...]
    unread: int = 0

    @property
    def recall(self) -> Mapping[FactKind, float]:
        """The share of facts that was kept, for each kind of which the turns state any."""
        counts = {kind: [0, 0] for kind in KINDS}
        for fact in self.lost:
            counts[fact.kind][1] += 1
        for fact in self.kept:
            counts[fact.kind][0] += 1
        return {kind: kept / (kept + lost) for kind, (kept, lost) in counts.items() if kept + lost}

    def carried(self, max_tokens: int, *, encoding: str = "o200k_base") -> str:
        """Return what was lost as a compact list, the most important first.

        Args:
            max_tokens: Tokens that it may have.
            encoding: The vocabulary that they are counted with.

        Returns:
            Lines, one a kind or a sentence, each fact once; empty where nothing was lost or none of
            it fits.

        Raises:
            InvalidInputError: The encoding is unknown, or `max_tokens` is negative.
        """
        from warmset.summarize.carry import carry  # noqa: PLC0415 - it knows facts

        return carry(self.lost, max_tokens, encoding)


def audit(
    messages: Iterable[Mapping[str, object]], summary: str, *, dialect: Dialect | None = None
) -> Audit:
    """Tell which facts of messages are not in a summary of them.

    Facts are compared by their meaning where that can be told: `1,000` is `1000`, `15 %` is
    `fifteen percent`, `8 May 2023` is `2023-05-08`, a path is the same with either slash, a name in
    any case. A constraint or an open task is kept where one sentence of the summary has most of its
    words, and forbids if it forbids.

    Args:
        messages: What the summary stands for.
        summary: The summary.
        dialect: The dialect of the messages; told by their shape if not given.

    Returns:
        What was lost and what was kept.

    Raises:
        InvalidInputError: A message is malformed.
    """
    plain = accept(messages)
    tongue = resolve(plain, dialect)
    return compare([read(message, tongue) for message in plain], summary)


def compare(turns: list[Facts], summary: str) -> Audit:
    """Tell what turns state that a summary does not; see `audit`."""
    sought = Sought(summary)
    lost: list[Fact] = []
    kept: list[Fact] = []
    found = _collect(turns)
    for (_, key), fact in found.items():
        (kept if sought.has(fact.kind, key, fact.text) else lost).append(fact)
    unread = sum(max(0, len(turn.text) - READ) for turn in turns)
    return Audit(tuple(lost), tuple(kept), unread)


def _collect(turns: list[Facts]) -> dict[tuple[str, str], Fact]:
    """Return what turns state, each fact once, by its kind and its spelling."""
    lower: set[str] = set()
    for turn in turns:
        lower |= lower_words(turn.text[:READ])
    first: dict[tuple[str, str], Fact] = {}
    times: dict[tuple[str, str], int] = {}
    done: set[str] = set()
    for at, turn in enumerate(turns):
        seen: set[tuple[str, str]] = set()
        text = turn.text[:READ]
        if turn.calls or text.lstrip()[:1] in {"{", "["}:
            text = _ESCAPES.sub(_unescaped, text)
        for kind, said, key, around in _stated(text, lower, done):
            place = (kind, key)
            if place not in seen:
                seen.add(place)
                times[place] = times.get(place, 0) + 1
                if place not in first:
                    first[place] = Fact(kind, said, at, turn.role, around=around)
    _unanswered(turns, first)
    return {
        place: fact if times.get(place, 1) == 1 else _often(fact, times[place])
        for place, fact in first.items()
        if not (place[0] == "task" and place[1] in done)
    }


def _often(fact: Fact, times: int) -> Fact:
    return Fact(fact.kind, fact.text, fact.at, fact.role, times, fact.around)


def _stated(
    text: str, lower: set[str], done: set[str]
) -> Iterator[tuple[FactKind, str, str, str]]:
    """Yield what a text states: kind, text, key and what stands around it."""
    code = list(code_of(text))
    structured = text.lstrip()[:1] in {"{", "["}
    for one in code:
        yield one.kind, one.text, one.key, _around(text, one.start, one.end)  # type: ignore[misc]
    for one in names_of(text, code, lower):
        yield "name", one.text, one.key, ""
    if not structured:
        held = {(one.start, one.end) for one in code}
        for one in quotes_of(text):
            if not any(place in held for place in ((one.start + 1, one.end - 1),)):
                yield "quote", one.text, one.key, ""
    for sentence in sentences(text):
        box = box_of(sentence)
        said = box[0] if box else without_marks(sentence)
        key = " ".join(sorted(content(said)))
        if box is not None and box[1]:
            done.add(key)
        elif asks_for_work(sentence):
            if len(content(said)) > 1:
                yield "task", said, key, ""
        elif binds(said) and len(content(said)) > 1 and not said.endswith("?"):
            yield "constraint", said, key, ""


def _unanswered(turns: list[Facts], first: dict[tuple[str, str], Fact]) -> None:
    """Add what a user asked last, if nobody answered."""
    for at in range(len(turns) - 1, -1, -1):
        turn = turns[at]
        if turn.role == "assistant" and not turn.calls:
            return
        if turn.request:
            said = next(iter(sentences(turn.text)), "")
            key = " ".join(sorted(content(said)))
            if key and not {("task", key), ("constraint", key)} & first.keys():
                first["task", key] = Fact("task", said, at, turn.role)
            return


def _around(text: str, start: int, end: int) -> str:
    """Return a few words on either side, of the same line and sentence."""
    before = text[max(0, start - _AROUND) : start]
    for sign in ("\n", ". ", "! ", "? ", "; "):
        before = before.rpartition(sign)[2]
    if len(before) == min(start, _AROUND) and start > _AROUND:
        before = before.partition(" ")[2]
    after = text[end : end + _AROUND]
    for sign in ("\n", ". ", "! ", "? ", "; "):
        after = after.partition(sign)[0]
    if len(after) == _AROUND:
        after = after.rpartition(" ")[0]
    return " ".join(f"{before}{text[start:end]}{after}".split()).strip(" ,;:.")


def _unescaped(match: re.Match[str]) -> str:
    return _UNESCAPED[match[1]]
