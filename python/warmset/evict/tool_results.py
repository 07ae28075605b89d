"""Policies that clear old tool results and keep the calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from warmset.errors import InvalidInputError
from warmset.evict.call_pairs import call_pairs
from warmset.evict.policies import at_least, is_due, yes_or_no
from warmset.evict.view import Swap

if TYPE_CHECKING:
    from warmset.evict.call_pairs import CallPair
    from warmset.evict.view import Edit, View
    from warmset.messages import Message, Use

CLEARED: Final = "[old tool result cleared]"
REPEATED: Final = "[cleared: the same call was made again later]"
SUPERSEDED: Final = "[cleared: a later call superseded this result]"
_STAND_INS: Final = frozenset({CLEARED, REPEATED, SUPERSEDED})

CallKey: TypeAlias = "Callable[[Use], Hashable | None]"
"""Returns the key of a tool call; see `LatestToolResult`."""


@dataclass(frozen=True, slots=True)
class ClearToolResults:
    """Replaces the results of old tool calls with placeholders.

    It acts once the list exceeds `trigger` tokens or the budget, whichever is lower, or at every
    call of `fit`. The parameters but for `always` are those of Anthropic's context editing,
    "clear_tool_uses".

    Args:
        keep: The number of newest calls whose results stay.
        trigger: The tokens at which it starts to act.
        clear_at_least: The least tokens to free. It does nothing if it would free less, because
            rewriting the prompt cache would then cost more than it saves.
        exclude: Names of tools whose results always stay.
        inputs: Whether the calls' arguments are cleared as well.
        always: Whether it acts on every list, as with a trigger of 0.

    Raises:
        InvalidInputError: A number is negative, `exclude` is not a collection of names, or `always`
            is no boolean.
    """

    keep: int = 3
    trigger: int = 100_000
    clear_at_least: int = 0
    exclude: Collection[str] = ()
    inputs: bool = False
    always: bool = False

    def __post_init__(self) -> None:
        yes_or_no("always", self.always)
        for name in ("keep", "trigger", "clear_at_least"):
            at_least(name, getattr(self, name), 0)
        if isinstance(self.exclude, str) or not isinstance(self.exclude, Collection):
            raise InvalidInputError(f"exclude: expected names of tools, found {self.exclude!r}")

    def plan(self, view: View, /) -> list[Edit]:
        """Plan to clear the results that are older than the newest calls; see `Policy`."""
        if not is_due(view, always=self.always or view.total > self.trigger):
            return []
        pairs = [pair for pair in call_pairs(view) if pair.use.name not in self.exclude]
        old = pairs[: max(len(pairs) - self.keep, 0)]
        swaps = _swaps(view, old, CLEARED, "its tool result is old", inputs=self.inputs)
        freed = sum(view.costs[swap.at] - view.cost_of(swap.message) for swap in swaps)
        return [] if freed < self.clear_at_least else list(swaps)


@dataclass(frozen=True, slots=True)
class LatestToolResult:
    """Clears the results of calls that later calls supersede; by default those made again later.

    It acts once a list exceeds the budget, or at every call of `fit`. A call supersedes the earlier
    ones that have its key; if keys are tuples, also those whose key begins with its own. Calls that
    failed, as far as the dialect marks them, and calls without a result supersede none.

    Args:
        key: Returns the key of a tool call, or None for a call that neither supersedes others nor
            is superseded, as `by_file`; the tool's name and its arguments if not given.
        always: Whether it also acts on a list that fits the budget.

    Raises:
        InvalidInputError: `key` cannot be called, or `always` is no boolean.
    """

    key: CallKey | None = None
    always: bool = False

    def __post_init__(self) -> None:
        if self.key is not None and not callable(self.key):
            raise InvalidInputError(f"key: expected a function of a tool call, found {self.key!r}")
        yes_or_no("always", self.always)

    def plan(self, view: View, /) -> list[Edit]:
        """Plan to clear the results of superseded calls; see `Policy`.

        Raises:
            InvalidInputError: A key is not hashable.
        """
        if not is_due(view, always=self.always):
            return []
        if self.key is None:
            old = _superseded(call_pairs(view), _same_call)
            return list(_swaps(view, old, REPEATED, "the same call was made again later"))
        old = _superseded(call_pairs(view), self.key)
        return list(_swaps(view, old, SUPERSEDED, "a later call superseded it"))


def _superseded(pairs: list[CallPair], key: CallKey) -> list[CallPair]:
    """Return the calls that a later one supersedes, in linear time."""
    later: set[Hashable] = set()
    old: list[CallPair] = []
    for pair in reversed(pairs):
        found = key(pair.use)
        if found is None:
            continue
        try:
            if not later.isdisjoint(_beginnings(found)):
                old.append(pair)
            if not pair.answer.failed:
                later.add(found)
        except TypeError as error:
            raise InvalidInputError(
                f"key: expected it to return a hashable value or None, found {found!r:.80}"
            ) from error
    return old


def _beginnings(key: Hashable) -> list[Hashable]:
    """Return a key and, of a tuple, everything that it begins with."""
    if not isinstance(key, tuple):
        return [key]
    return [key, *(key[:count] for count in range(1, len(key)))]


def _same_call(call: Use) -> Hashable:
    return call.name, call.arguments


def _swaps(
    view: View, pairs: list[CallPair], placeholder: str, reason: str, *, inputs: bool = False
) -> list[Swap]:
    """Return the replacements of messages with results and calls, where they save tokens."""
    held = {at for unit in view.units if unit.protected for at in unit.members}
    texts: dict[int, dict[int, str]] = {}
    calls: dict[int, set[int]] = {}
    for pair in pairs:
        at, place = pair.answered
        if at not in held and pair.answer.text not in _STAND_INS:
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
