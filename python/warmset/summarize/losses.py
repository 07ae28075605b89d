"""The loss audit: what turns state that their summary does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError
from warmset.messages import accept, resolve
from warmset.summarize.carry import carry
from warmset.summarize.fact import Fact
from warmset.summarize.finding import lower_words
from warmset.summarize.sentences import content, sentences
from warmset.summarize.sought import Sought
from warmset.summarize.source import sources
from warmset.summarize.stating import KINDS, FactKind, stated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from warmset.messages import Dialect
    from warmset.summarize.source import Source

READ: Final = 6_000_000
LEAST: Final = 2_000
LONGEST: Final = 200_000
"""Characters that are read: in all, shared evenly among the turns, and of one turn at least and at
most; `Audit.unread` has how many were not."""


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
        counts: dict[FactKind, list[int]] = {kind: [0, 0] for kind in KINDS}
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
        return carry(self.lost, max_tokens, encoding)


def audit(
    messages: Iterable[Mapping[str, object]], summary: str, *, dialect: Dialect | None = None
) -> Audit:
    """Tell which facts of messages are not in a summary of them.

    Facts are compared by their meaning where it can be determined: `1,000` is `1000`, `15 %` is
    `fifteen percent`, `8 May 2023` is `2023-05-08`, a path is the same with either slash, a name in
    any case. A constraint or an open task is kept where one sentence of the summary has most of its
    words, and forbids if it forbids.

    Args:
        messages: What the summary stands for.
        summary: The summary.
        dialect: The dialect of the messages; detected if not given.

    Returns:
        What was lost and what was kept.

    Raises:
        InvalidInputError: A message is malformed, or the summary is no text.
    """
    if not isinstance(summary, str):
        raise InvalidInputError(f"summary: expected a text, found {summary!r:.80}")
    plain = accept(messages)
    tongue = resolve(plain, dialect)
    return Stock(sources(plain, tongue)).audit(summary)


class Stock:
    """What turns state, found once, so that several summaries of them can be audited.

    Args:
        turns: What is read of each message.
    """

    def __init__(self, turns: list[Source]) -> None:
        share = min(LONGEST, max(LEAST, READ // max(1, len(turns))))
        self._found = _collect(turns, share)
        self._unread = sum(max(0, len(turn.facts.text) - share) for turn in turns)

    def audit(self, summary: str) -> Audit:
        """Tell what the turns state that a summary does not; see `audit`."""
        sought = Sought(summary)
        lost: list[Fact] = []
        kept: list[Fact] = []
        for (kind, key), fact in self._found.items():
            (kept if sought.has(kind, key, fact.text) else lost).append(fact)
        return Audit(tuple(lost), tuple(kept), self._unread)


def _collect(turns: list[Source], share: int) -> dict[tuple[str, str], Fact]:
    """Return what turns state, each fact once, by its kind and its spelling."""
    lower: set[str] = set()
    for one in turns:
        lower |= lower_words(one.facts.text[:share])
    first: dict[tuple[str, str], Fact] = {}
    times: dict[tuple[str, str], int] = {}
    done: set[str] = set()
    for at, source in enumerate(turns):
        turn = source.facts
        seen: set[tuple[str, str]] = set()
        texts = turn.text[:share], source.said[:share]
        for kind, said, key, around in stated(*texts, lower, done, written=bool(turn.calls)):
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


def _unanswered(turns: list[Source], first: dict[tuple[str, str], Fact]) -> None:
    """Add what a user asked last, if nobody answered."""
    for at in range(len(turns) - 1, -1, -1):
        turn = turns[at].facts
        if turn.role == "assistant" and not turn.calls:
            return
        if turn.request:
            asked = list(sentences(turns[at].said[:LEAST]))
            said = next((one for one in asked if one.endswith("?")), " ".join(asked[:1]))
            key = " ".join(sorted(content(said)))
            if key and not {("task", key), ("constraint", key)} & first.keys():
                first["task", key] = Fact("task", said, at, turn.role)
            return
