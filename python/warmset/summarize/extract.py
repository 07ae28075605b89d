"""A summarizer without a model: the sentences that matter most, word for word, in their order.

cut each turn to a share of what is read in all; part it into sentences and lines
weigh   a sentence = mean weight of its words (frequent in the turns, in few sentences)
                   + what it holds: a constraint, open work, a decision, numbers, code, names
                   + where it stands: the task, the newest request, an early or a late turn
choose  the heaviest that fit the budget, without those that say what a chosen one says
write   one line a turn, who said it and the sentences, in the order of the turns
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset._core import count_text, count_texts
from warmset.errors import InvalidInputError
from warmset.messages import accept, resolve
from warmset.summarize.base import SummaryReply
from warmset.summarize.checks import checked_earlier, checked_wish
from warmset.summarize.sentences import content, sentences
from warmset.summarize.source import sources
from warmset.summarize.weighing import Sentence, weigh
from warmset.text.markup import without_markup
from warmset.tokens import known_encoding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from warmset.messages import Message
    from warmset.summarize.source import Source

READ: Final = 6_000_000
"""Characters that are read in all, shared evenly among the turns."""

LEAST: Final = 120
LONGEST: Final = 60_000
"""Characters of one turn that are read, at least and at most; of a longer one, both ends."""

_POOL: Final = 4_000
"""Sentences that are compared with each other: more of them fit no summary."""

_SAME: Final = 0.7
_LABEL: Final = re.compile(r"(?:(user|assistant|tool|system|developer|earlier): )?(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ExtractiveSummarizer:
    """Summarises without a model: sentences of the turns, word for word and in order.

    It invents nothing and costs no call; it also joins nothing together. The same turns always give
    the same summary. Time grows with the length of what is read, at most six million characters.

    Args:
        encoding: The vocabulary that tokens are counted with.

    Raises:
        InvalidInputError: The encoding is unknown.
    """

    encoding: str = "o200k_base"

    def __post_init__(self) -> None:
        known_encoding(self.encoding)

    def __call__(
        self,
        messages: Sequence[Message],
        /,
        *,
        max_tokens: int,
        previous: str | None = None,
        focus: str | None = None,
    ) -> SummaryReply:
        """Summarise messages.

        Args:
            messages: Messages of one dialect.
            max_tokens: Tokens that the summary has at most.
            previous: A summary of what came before them; its sentences are weighed with the others.
            focus: What to keep above all: sentences that have words of it weigh more.

        Returns:
            The summary; empty where not one sentence fits.

        Raises:
            InvalidInputError: `max_tokens` is no number above 0, `previous` or the focus is
                no text, or a message is malformed.
        """
        if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1:
            raise InvalidInputError(f"max_tokens: expected at least 1, found {max_tokens!r}")
        plain = accept(messages)
        dialect = resolve(plain)
        read = sources(plain, dialect)
        turns = [one.facts for one in read]
        share = min(LONGEST, max(LEAST, READ // max(1, len(turns))))
        found = list(_earlier(without_markup(checked_earlier(previous) or "")))
        for number, one in enumerate(read):
            found.extend(_sentences(one, number, share))
        weigh(found, turns, content(checked_wish("focus", focus) or ""))
        text = self._written(self._chosen(found, max_tokens), max_tokens)
        cut = sum(len(turn.text) > share for turn in turns)
        notes = (f"{cut} long turns were read in part",) if cut else ()
        return SummaryReply(text, None, notes)

    def _chosen(self, found: list[Sentence], max_tokens: int) -> list[Sentence]:
        """Choose greedily, the heaviest first."""
        pool = heapq.nsmallest(
            min(_POOL, 8 * max_tokens), found, key=lambda one: (-one.weight, one.turn, one.place)
        )
        costs = count_texts([f" {one.text}" for one in pool], self.encoding)
        label = count_text("\nassistant:", self.encoding)[0]
        holders: dict[str, list[int]] = {}
        chosen: list[Sentence] = []
        turns: set[int] = set()
        room = max_tokens
        for one, cost in zip(pool, costs, strict=True):
            whole = cost + (0 if one.turn in turns else label)
            if whole > room or _is_said(one, chosen, holders):
                continue
            for word in one.words:
                holders.setdefault(word, []).append(len(chosen))
            chosen.append(one)
            turns.add(one.turn)
            room -= whole
        return chosen

    def _written(self, chosen: list[Sentence], max_tokens: int) -> str:
        """Write what was chosen, less the lightest until it fits."""
        kept = list(chosen)
        text = _joined(kept)
        while kept and count_text(text, self.encoding)[0] > max_tokens:
            kept.pop()
            text = _joined(kept)
        return text


def _sentences(source: Source, number: int, share: int) -> Iterator[Sentence]:
    turn, text = source.facts, source.facts.text
    pieces = [text] if len(text) <= share else [text[: share * 2 // 3], text[-(share // 3) :]]
    place = 0
    for piece in pieces:
        for said in sentences(piece):
            place += 1
            output = said in source.output
            yield Sentence(said, number, place, turn.role, content(said), 0.0, output=output)


def _earlier(previous: str) -> Iterator[Sentence]:
    """Yield the sentences of an earlier summary; each of its lines is a turn of its own."""
    lines = [line for line in previous.splitlines() if line.strip()]
    for number, line in enumerate(lines, -len(lines)):
        match = _LABEL.fullmatch(line.strip())
        role, rest = (match[1] or "earlier", match[2]) if match else ("earlier", line)
        for place, said in enumerate(sentences(rest)):
            yield Sentence(said, number, place, role, content(said), 0.0)


def _is_said(one: Sentence, chosen: list[Sentence], holders: dict[str, list[int]]) -> bool:
    """Tell whether a chosen sentence has most of its words."""
    if not one.words:
        return any(one.text == other.text for other in chosen)
    shared = Counter(at for word in one.words for at in holders.get(word, ()))
    return any(
        count >= _SAME * len(one.words)
        and {w for w in one.words if w[0].isdigit()} <= chosen[at].words
        for at, count in shared.items()
    )


def _joined(chosen: list[Sentence]) -> str:
    lines: list[str] = []
    turn: int | None = None
    for one in sorted(chosen, key=lambda one: (one.turn, one.place)):
        if one.turn == turn:
            lines[-1] = f"{lines[-1]} {one.text}"
        else:
            lines.append(f"{one.role}: {one.text}")
            turn = one.turn
    return "\n".join(lines)
