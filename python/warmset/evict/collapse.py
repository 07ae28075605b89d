"""A policy that writes old tool calls with their results as one line each."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from warmset.evict.blob_store import check_store
from warmset.evict.call_pairs import call_pairs
from warmset.evict.gaps import gap_message, gap_role
from warmset.evict.policies import at_least, is_due, yes_or_no
from warmset.evict.slots import COLLAPSED, is_collapsed, written
from warmset.evict.view import Fold
from warmset.messages import LANGUAGES, loop_start
from warmset.messages.text import joined

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from warmset.evict.blob_store import OffloadStore
    from warmset.evict.call_pairs import CallPair
    from warmset.evict.view import Edit, UnitView, View
    from warmset.messages import Message


@dataclass(frozen=True, slots=True)
class CollapseCalls:
    """Writes old tool calls with their results as one line each: `tool(arguments) → result`.

    It acts once a list exceeds the budget, or at every call of `fit`. One user message takes the
    place of calls that follow each other; later calls are added to it. A line has the call's
    arguments and its result, both shortened, and the handle of the original if there is a store.
    What the assistant said beside the calls is shortened to a line too; its reasoning leaves.

    Calls stay as they are if their line would not save tokens, if a result is missing, if a user's
    text is beside a result, or if they are in an unfinished tool loop that begins with reasoning.

    Args:
        keep: The number of newest units of calls that stay as they are.
        argument_chars: The most characters of a call's arguments.
        result_chars: The most characters of a result, and of what the assistant said.
        store: The store of the originals; None uses the one that is passed to `fit`.
        always: Whether it also acts on a list that fits the budget.

    Raises:
        InvalidInputError: A number is out of its range, or `always` is no boolean.
    """

    keep: int = 3
    argument_chars: int = 120
    result_chars: int = 160
    store: OffloadStore | None = field(default=None, compare=False)
    always: bool = False

    def __post_init__(self) -> None:
        at_least("keep", self.keep, 0)
        at_least("argument_chars", self.argument_chars, 1)
        at_least("result_chars", self.result_chars, 1)
        if self.store is not None:
            check_store(self.store)
        yes_or_no("always", self.always)

    def plan(self, view: View, /) -> list[Edit]:
        """Plan to replace old calls and results with their lines; see `Policy`."""
        if not is_due(view, always=self.always):
            return []
        store = self.store or view.store
        fillers = _Fillers(view)
        made: dict[int, _Lines] = {}
        for number, pairs in _old_calls(view, self.keep):
            unit = view.units[number]
            most = unit.cost - fillers.beside(unit)
            found = self._lines(view, unit, pairs)
            if view.cost_of(_message(view, [found.text])) >= most:
                continue
            if store is not None:
                handle = store.put(written(view.messages[at] for at in unit.members))
                found = self._lines(view, unit, pairs, handle)
                if view.cost_of(_message(view, [found.text])) >= most:
                    continue
            made[number] = found
        folds = (_fold(view, run, made) for run in _runs(view, made))
        return [fold for fold in folds if fold is not None]

    def _lines(
        self, view: View, unit: UnitView, pairs: Sequence[CallPair], handle: str | None = None
    ) -> _Lines:
        said = " ".join(_said(view, at) for at in unit.members)
        lines = [one] if (one := _one_line(said, self.result_chars)) else []
        for pair in pairs:
            arguments = _one_line(pair.use.arguments, self.argument_chars)
            result = _one_line(pair.answer.text, self.result_chars) or "(empty)"
            line = f"{_one_line(pair.use.name, self.argument_chars)}({arguments}) → {result}"
            lines.append(line if handle is None else f"{line} [{handle}]")
        return _Lines("\n".join(lines), handle)


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of a unit, and the handle of its original."""

    text: str
    handle: str | None


class _Fillers:
    """The tokens of the filler messages that a collapsed unit may need around it."""

    def __init__(self, view: View) -> None:
        def cost(before: str, after: str) -> int:
            role = gap_role(view.dialect, before, after)
            return 0 if role is None else view.cost_of(gap_message(view.dialect, role))

        self._side = cost("user", "user")
        self._inner = max(self._side, cost("assistant", "assistant"))

    def beside(self, unit: UnitView) -> int:
        """Return the most tokens of them: at both sides, and where other messages stood between."""
        parted = sum(one + 1 < other for one, other in pairwise(unit.members))
        return 2 * self._side + parted * self._inner


def _old_calls(view: View, keep: int) -> Iterator[tuple[int, list[CallPair]]]:
    """Yield the units of calls that may be collapsed, each with its calls and results."""
    home = {at: number for number, unit in enumerate(view.units) for at in unit.members}
    pairs: dict[int, list[CallPair]] = {}
    for pair in call_pairs(view):
        pairs.setdefault(home[pair.called[0]], []).append(pair)
    calling = [
        number
        for number, unit in enumerate(view.units)
        if any(view.facts[at].calls for at in unit.members)
    ]
    loop = loop_start(view.facts)
    for number in calling[: max(len(calling) - keep, 0)]:
        unit = view.units[number]
        known = [view.facts[at] for at in unit.members]
        calls = sum(len(fact.calls) for fact in known)
        whole = calls == sum(len(fact.results) for fact in known) == len(pairs.get(number, ()))
        if not (
            unit.protected
            or not whole
            or any(fact.request for fact in known)
            or (loop is not None and unit.members[-1] >= loop)
        ):
            yield number, pairs[number]


def _runs(view: View, made: Mapping[int, _Lines]) -> list[list[int]]:
    """Return the units that follow each other, each run with one that is collapsed now."""
    runs: list[list[int]] = []
    for number, unit in enumerate(view.units):
        earlier = not unit.protected and is_collapsed(view.facts[unit.members[0]])
        if number not in made and not earlier:
            continue
        follows = bool(runs) and runs[-1][-1] == number - 1
        if follows and view.units[number - 1].members[-1] + 1 == unit.members[0]:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [run for run in runs if not made.keys().isdisjoint(run)]


def _fold(view: View, run: Sequence[int], made: Mapping[int, _Lines]) -> Fold | None:
    texts = [
        made[number].text
        if number in made
        else view.facts[view.units[number].members[0]].text.removeprefix(f"{COLLAPSED}\n")
        for number in run
    ]
    message = _message(view, texts)
    if view.cost_of(message) >= sum(view.units[number].cost for number in run):
        return None  # a counter may count a list higher than its messages
    handles = tuple(made[number].handle if number in made else None for number in run)
    reason = "its calls are shown as one line each"
    return Fold(tuple(run), message, reason, "collapsed", handles)


def _message(view: View, texts: Sequence[str]) -> Message:
    return LANGUAGES[view.dialect].grammar.say("user", "\n".join((COLLAPSED, *texts)))


def _said(view: View, at: int) -> str:
    """Return what the assistant says in a message, without its calls; facts have no reasoning."""
    fact = view.facts[at]
    if fact.role != "assistant":
        return ""
    text = fact.text
    for use in view.tools.uses(view.messages[at]):
        text = text.replace(joined([f"{use.name}({use.arguments})"]), "", 1)
    return text


def _one_line(text: str, most: int) -> str:
    """Return the beginning of a text, its white space as single spaces."""
    line = " ".join(joined([text]).split(None, most))
    return line if len(line) <= most else f"{line[:most].rstrip()}…"
