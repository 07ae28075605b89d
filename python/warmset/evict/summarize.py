"""A policy that replaces the oldest units with one summary."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset import summarize
from warmset._support.log import event, kind, room
from warmset.errors import InvalidInputError, SummaryRefused
from warmset.evict.policies import at_least
from warmset.evict.slots import stands_in
from warmset.evict.view import Fold, Note
from warmset.messages import LANGUAGES
from warmset.summarize import HEADING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.evict.view import Edit, View
    from warmset.messages import Message
    from warmset.summarize import Summarizer, Summary

LOG: Final = room("window")


@dataclass(frozen=True, slots=True)
class Summarize:
    """Replaces the oldest units with one summary, once a list exceeds its watermark.

    It can be repeated: an earlier summary becomes part of the next one. A text that `summary_of`
    rejects is not used: an empty reply, an error's text, a refusal, JSON, a text that is cut off or
    not shorter than the messages it would replace, or one that states next to none of their facts.
    Then the following policies and the oldest units make room if necessary. `FitResult.notes` has
    the reason, and the facts that a summary lacks.

    Args:
        watermark: The share of the budget at which it starts to act, above 0 and below 1; the
            budget's own watermark if not given.
        summarizer: Writes the summary.
        keep: The number of units at the end that are never summarised.
        should_compact: Decides, from the messages and their tokens, whether to act; replaces the
            watermark.
        fallback: Writes the summary if the summarizer fails or its text is rejected; None for no
            fallback.
        carry_tokens: Tokens for a list, below the summary, of numbers, paths, names and constraints
            that it lacks; 0 by default.
        focus: What the summary should keep above all; None for nothing in particular.

    Raises:
        InvalidInputError: An option is out of its range, or the summarizer cannot be called.
    """

    watermark: float | None = None
    summarizer: Summarizer | None = None
    keep: int = 4
    should_compact: Callable[[Sequence[Message], int], bool] | None = None
    fallback: Summarizer | None = None
    carry_tokens: int = 0
    focus: str | None = None

    def __post_init__(self) -> None:
        mark = self.watermark
        if mark is not None and (
            isinstance(mark, bool) or not isinstance(mark, (int, float)) or not 0 < mark < 1
        ):
            raise InvalidInputError(f"watermark: must lie above 0 and below 1, found {mark!r}")
        if not callable(self.summarizer):
            raise InvalidInputError(
                f"summarizer: expected a function of messages, found {self.summarizer!r}"
            )
        if self.fallback is not None and not callable(self.fallback):
            raise InvalidInputError(
                f"fallback: expected a function of messages, found {self.fallback!r}"
            )
        if self.focus is not None and not isinstance(self.focus, str):
            raise InvalidInputError(f"focus: expected a text, found {self.focus!r:.80}")
        at_least("carry_tokens", self.carry_tokens, 0)
        at_least("keep", self.keep, 0)

    def plan(self, view: View, /) -> list[Edit | Note]:
        """Plan to replace everything but the newest units with a summary; see `Policy`.

        Raises:
            SummarizerError: The summarizer raised, and there is no fallback; the cause is attached.
            SummaryRefused: It returned something that is not a string.
        """
        if not self._is_due(view):
            return []
        spoken = [at for at, unit in enumerate(view.units) if unit.kind != "system"]
        recent = set(spoken[max(len(spoken) - self.keep, 0) :])
        old = [at for at in view.unprotected() if at not in recent and view.units[at].cost]
        members = sorted(at for unit in old for at in view.units[unit].members)
        if all(stands_in(view.facts[at]) for at in members):
            return []
        before = sum(view.costs[at] for at in members)
        try:
            made = self._summary(view, members, before)
        except SummaryRefused as error:
            if error.reason == "not_text":  # a mistake of the caller's code
                raise
            refused = {"error": kind(error), "refused": error.reason}
            event(LOG, logging.WARNING, "failed", what="summary", **refused)
            return [Note(f"no summary was used: {error.reason}: {error.why}")]
        if made.failure is not None:
            fields = {"to": made.by, "why": made.failure, "refused": made.refused}
            event(LOG, logging.WARNING, "fell_back", what="summary", **fields)
        message = LANGUAGES[view.dialect].grammar.say("user", f"{HEADING}\n{made.text}")
        cost = view.cost_of(message)
        if cost >= before:
            why = f"it has {cost} tokens, what it would stand for has {before}"
            return [Note(f"no summary was used: not_shorter: {why}")]
        return [Fold(tuple(old), message, "summarised"), *_notes(made)]

    def _summary(self, view: View, members: Sequence[int], before: int) -> Summary:
        """Have messages summarised; an earlier summary among them becomes part of the result."""
        texts = [view.facts[at].text for at in members]
        earlier = [text.removeprefix(HEADING).strip() for text in texts if text.startswith(HEADING)]
        return summarize.summary_of(
            [view.messages[at] for at in members if not stands_in(view.facts[at])],
            self.summarizer,
            max_tokens=max(int(before * summarize.SHARE), 1),
            previous="\n\n".join(earlier) or None,
            focus=self.focus,
            fallback=self.fallback,
            carry_tokens=self.carry_tokens,
            dialect=view.dialect,
        )

    def _is_due(self, view: View) -> bool:
        if view.total > view.budget:
            return True
        if self.should_compact is not None:
            return bool(self.should_compact(view.messages, view.total))
        mark = view.watermark if self.watermark is None else self.watermark
        return view.total > int(view.budget * mark)


def _notes(made: Summary) -> list[Note]:
    """Return notes about failures on the way to a summary, and about what it lacks."""
    lost = len(made.audit.lost)
    lacks = [f"the summary lacks {lost} of {lost + len(made.audit.kept)} facts"] if lost else []
    return [Note(why) for why in (*made.notes, *lacks)]
