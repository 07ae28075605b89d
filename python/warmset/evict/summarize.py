"""A policy that puts one summary in the place of the oldest units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from warmset.errors import InvalidInputError
from warmset.evict.policies import at_least
from warmset.evict.slots import HEADING, stands_in
from warmset.evict.view import Fold
from warmset.messages import LANGUAGES, Message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.evict.view import Edit, View

_SUMMARY_SHARE: Final = 0.25
"""The part of what it replaces that a summary is asked to have at most."""


class Summarizer(Protocol):
    """Says in fewer words what messages say.

    One that can take up an earlier summary also has a keyword `previous: str | None = None`; others
    are given it as the first message.
    """

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int) -> str:
        """Return a summary of about that many tokens at most."""
        ...


@dataclass(frozen=True, slots=True)
class Summarize:
    """Replace the oldest units with one summary, once a list is over its watermark.

    It can be repeated: an earlier summary is folded into the next one. A summary that is blank, or
    not shorter than what it stands for, is not used, and the oldest units leave without one if the
    budget demands it.

    Args:
        watermark: The share of the budget from which on it acts, above 0 and below 1; the budget's
            own watermark if not given.
        summarizer: What writes the summary.
        keep: Units at the end that are never summarised.
        should_compact: Decides instead of the watermark, from the messages and their tokens.

    Raises:
        InvalidInputError: An option is out of its range, or the summarizer cannot be called.
    """

    watermark: float | None = None
    summarizer: Summarizer | None = None
    keep: int = 4
    should_compact: Callable[[Sequence[Message], int], bool] | None = None

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
        at_least("keep", self.keep, 0)

    def plan(self, view: View, /) -> list[Edit]:
        """Fold everything but the newest units into a summary; see `Policy`."""
        if not self._is_due(view) or self.summarizer is None:
            return []
        spoken = [at for at, unit in enumerate(view.units) if unit.kind != "system"]
        recent = set(spoken[max(len(spoken) - self.keep, 0) :])
        old = [at for at in view.unprotected() if at not in recent and view.units[at].cost]
        members = sorted(at for unit in old for at in view.units[unit].members)
        if not members or all(stands_in(view.facts[at]) for at in members):
            return []
        before = sum(view.costs[at] for at in members)
        text = self.summarizer(
            [view.messages[at] for at in members], max_tokens=max(int(before * _SUMMARY_SHARE), 1)
        )
        if not isinstance(text, str):
            raise InvalidInputError(f"summarizer: expected a text, found {text!r:.80}")
        if not text.strip():
            return []
        message = LANGUAGES[view.dialect].grammar.say("user", f"{HEADING}\n{text.strip()}")
        if view.cost_of(message) >= before:
            return []
        return [Fold(tuple(old), message, "summarised")]

    def _is_due(self, view: View) -> bool:
        if view.total > view.budget:
            return True
        if self.should_compact is not None:
            return bool(self.should_compact(view.messages, view.total))
        mark = view.watermark if self.watermark is None else self.watermark
        return view.total > int(view.budget * mark)
