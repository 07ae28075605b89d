"""Policies that clear old tool results and keep the calls."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError
from warmset.evict.policies import at_least
from warmset.evict.view import Swap

if TYPE_CHECKING:
    from warmset.evict.view import Edit, View
    from warmset.messages import Message, Use

CLEARED: Final = "[old tool result cleared]"
SUPERSEDED: Final = "[cleared: the same call was made again later]"
_STAND_INS: Final = frozenset({CLEARED, SUPERSEDED})


@dataclass(frozen=True, slots=True)
class ClearToolResults:
    """Replaces the results of old tool calls with placeholders.

    It acts once the list exceeds `trigger` tokens or the budget, whichever is lower. The parameters
    are those of Anthropic's context editing, "clear_tool_uses".

    Args:
        keep: The number of newest calls whose results stay.
        trigger: The tokens at which it starts to act.
        clear_at_least: The least tokens to free. It does nothing if it would free less, because
            rewriting the prompt cache would then cost more than it saves.
        exclude: Names of tools whose results always stay.
        inputs: Whether the calls' arguments are cleared as well.

    Raises:
        InvalidInputError: A number is negative, or `exclude` is not a collection of names.
    """

    keep: int = 3
    trigger: int = 100_000
    clear_at_least: int = 0
    exclude: Collection[str] = ()
    inputs: bool = False

    def __post_init__(self) -> None:
        for name in ("keep", "trigger", "clear_at_least"):
            at_least(name, getattr(self, name), 0)
        if isinstance(self.exclude, str) or not isinstance(self.exclude, Collection):
            raise InvalidInputError(f"exclude: expected names of tools, found {self.exclude!r}")

    def plan(self, view: View, /) -> list[Edit]:
        """Plan to clear the results that are older than the newest calls; see `Policy`."""
        if view.total <= min(self.trigger, view.budget):
            return []
        pairs = [pair for pair in _pairs(view) if pair.use.name not in self.exclude]
        old = pairs[: max(len(pairs) - self.keep, 0)]
        swaps = _swaps(view, old, CLEARED, "its tool result is old", inputs=self.inputs)
        freed = sum(view.costs[swap.at] - view.cost_of(swap.message) for swap in swaps)
        return [] if freed < self.clear_at_least else list(swaps)


@dataclass(frozen=True, slots=True)
class LatestToolResult:
    """Keeps only the latest result of equal tool calls, once a list exceeds the budget."""

    def plan(self, view: View, /) -> list[Edit]:
        """Plan to clear the results of calls that were repeated later; see `Policy`."""
        if view.total <= view.budget:
            return []
        pairs = _pairs(view)
        latest = {(pair.use.name, pair.use.arguments): pair for pair in pairs}
        old = [pair for pair in pairs if latest[pair.use.name, pair.use.arguments] is not pair]
        reason = "the same call was made again later"
        return list(_swaps(view, old, SUPERSEDED, reason, inputs=False))


@dataclass(frozen=True, slots=True)
class _Pair:
    """A call and its result: for each, the position of its message, and its place in that."""

    use: Use
    called: tuple[int, int]
    answered: tuple[int, int]
    text: str


def _pairs(view: View) -> list[_Pair]:
    """Return every answered call, in the order of the calls."""
    pairs: list[_Pair] = []
    waiting: dict[str, list[tuple[Use, tuple[int, int]]]] = {}
    for at, message in enumerate(view.messages):
        if view.facts[at].results:
            for place, answer in enumerate(view.tools.answers(message)):
                if calls := waiting.get(answer.id):
                    use, called = calls.pop(0)
                    pairs.append(_Pair(use, called, (at, place), answer.text))
        if view.facts[at].calls:
            fresh: dict[str, list[tuple[Use, tuple[int, int]]]] = {}
            for place, use in enumerate(view.tools.uses(message)):
                fresh.setdefault(use.id, []).append((use, (at, place)))
            waiting |= fresh  # if an id is used again, the result belongs to the later call
    return sorted(pairs, key=lambda pair: pair.called)


def _swaps(
    view: View, pairs: list[_Pair], placeholder: str, reason: str, *, inputs: bool
) -> list[Swap]:
    """Return the replacements of messages with results and calls, where they save tokens."""
    held = {at for unit in view.units if unit.protected for at in unit.members}
    texts: dict[int, dict[int, str]] = {}
    calls: dict[int, set[int]] = {}
    for pair in pairs:
        at, place = pair.answered
        if at not in held and pair.text not in _STAND_INS:
            texts.setdefault(at, {})[place] = placeholder
        at, place = pair.called
        if inputs and at not in held:
            calls.setdefault(at, set()).add(place)
    made: dict[int, Message] = {
        at: view.tools.with_answers(view.messages[at], found) for at, found in texts.items()
    }
    made |= {at: view.tools.without_inputs(view.messages[at], found) for at, found in calls.items()}
    return [
        Swap(at, message, "placeholder", reason)
        for at, message in sorted(made.items())
        if view.cost_of(message) < view.costs[at]
    ]
