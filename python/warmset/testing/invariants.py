"""The invariants of every eviction: one function each, which returns a complaint or None."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from warmset.messages import LANGUAGES, validate
from warmset.testing.links import see, without_thinking
from warmset.testing.oracle import current, opening, together
from warmset.testing.shown import shown

if TYPE_CHECKING:
    from warmset.messages import Dialect, Message, Violation
    from warmset.testing.links import Seen


class Given:
    """The input list of an evictor, and what a naive reader sees of it, read once.

    Args:
        messages: The messages.
        dialect: The dialect of the messages.
    """

    def __init__(self, messages: Sequence[Message], dialect: Dialect) -> None:
        self.messages = messages
        self.dialect: Dialect = dialect

    @cached_property
    def seen(self) -> list[Seen]:
        """What the naive reader sees of each message."""
        return [see(message, self.dialect) for message in self.messages]

    @cached_property
    def asked(self) -> list[int]:
        """Positions of the messages with a user's text."""
        return [at for at, one in enumerate(self.seen) if one.asks]

    @property
    def asks_now(self) -> list[int]:
        """The current request, in a message without tool results if there is one."""
        return [at for at in (current(self.seen),) if at >= 0]

    @cached_property
    def units(self) -> list[list[int]]:
        """Positions that belong together."""
        return together(self.messages, self.dialect)

    @cached_property
    def valid(self) -> bool:
        """Whether a provider accepts the list."""
        return not refusals(self.messages, self.dialect)

    @cached_property
    def open(self) -> list[int]:
        """Positions of the units after the last request with calls that wait for results."""
        since = current(self.seen)
        found: list[int] = []
        for unit in self.units:
            calls = sum(len(self.seen[at].calls) for at in unit)
            answers = sum(len(self.seen[at].answers) for at in unit)
            if calls > answers and unit[-1] > since:
                found += unit
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of an evictor for a list.

    Args:
        given: The input list.
        made: The output list.
        places: For each output message, its position in the input; None for an inserted message, -1
            for one that is neither.
        covered: Positions of messages that an inserted message replaces.
        budget: The budget in tokens.
        tokens: The tokens of the output, by the counter of the check.
        tokens_given: The tokens of the input.
        pins: Positions that had to stay.
        overhead: Tokens that the counter adds for every list, besides its messages.
        bare: Positions of messages that stayed without their thinking, or without the id that they
            share with reasoning which left.
    """

    given: Given
    made: Sequence[Any]
    places: Sequence[int | None]
    budget: int
    tokens: int
    tokens_given: int
    pins: tuple[int, ...] = ()
    covered: frozenset[int] = frozenset()
    overhead: int = 0
    bare: frozenset[int] = frozenset()

    @property
    def kept(self) -> set[int]:
        """Positions in the input list of the messages that stayed."""
        return {at for at in self.places if at is not None and at >= 0}


def needed(given: Given) -> set[int]:
    """Return the positions of messages that must stay, without the task and pins."""
    system = {at for at, one in enumerate(given.seen) if one.who == "system"}
    return system | {*given.asked[-1:], *given.asks_now, *given.open, *opening(given.seen)}


def fits_the_budget(outcome: Outcome) -> str | None:
    """1: the output has at most the budget's tokens."""
    if outcome.tokens <= outcome.budget:
        return None
    why = f"it costs {outcome.tokens} tokens, over the budget of {outcome.budget}"
    spoken = outcome.tokens - outcome.overhead
    if spoken > outcome.budget:
        return why
    return (
        f"{why}: {spoken} for its messages, and {outcome.overhead} that the counter adds for every "
        "list; leave room for them, or check with counter= that adds none"
    )


def _reasoning_that_left(outcome: Outcome) -> set[int]:
    """Return the items of reasoning that left alone, and what stayed of their units is bare.

    What was made with it may not stay as it was: the provider asks for the reasoning by its id.
    """
    seen, found = outcome.given.seen, set[int]()
    for at, one in enumerate(seen):
        behind = at + 1
        while behind < len(seen) and seen[behind].reasons:
            behind += 1
        made = behind < len(seen) and seen[behind].who == "assistant" and seen[behind].stem
        if (
            one.reasons
            and at not in outcome.kept
            and (not made or behind in outcome.bare | outcome.covered)
        ):
            found.add(at)
    return found


def keeps_what_must_stay(outcome: Outcome) -> str | None:
    """2: system messages, the request, pins and open calls at the end stay.

    The task is not checked here: if it cannot fit, one line of it may replace it.
    """
    must = needed(outcome.given) | {*outcome.pins}
    missing = sorted(must - outcome.kept - _reasoning_that_left(outcome))
    return f"messages {missing} had to stay" if missing else None


def shows_the_task(outcome: Outcome) -> str | None:
    """2: the first request stays, or an inserted message replaces it."""
    asked = outcome.given.asked
    if not asked or asked[0] in outcome.kept | outcome.covered:
        return None
    return f"the task, message {asked[0]}, left and nothing stands for it"


def keeps_units_whole(outcome: Outcome) -> str | None:
    """3: a call and its results, parallel ones too, stay or leave together.

    A message that was replaced counts as kept, and so does reasoning that left alone.
    """
    there = outcome.kept | outcome.covered
    left = _reasoning_that_left(outcome)
    for unit in outcome.given.units:
        stayed = [at for at in unit if at in there or (at in left and there & {*unit})]
        if stayed and stayed != unit:
            named = ", ".join(_calls(outcome.given, unit))
            return f"messages {unit} belong together ({named}), only {stayed} stayed"
    return None


def _calls(given: Given, unit: Sequence[int]) -> list[str]:
    """Return the names and ids of a unit's calls; without calls, its reasoning binds it."""
    tools = LANGUAGES[given.dialect].tools
    uses = [use for at in unit for use in tools.uses(given.messages[at])]
    return [f"{use.name} {use.id}" for use in uses] or ["items of one response"]


def keeps_the_order(outcome: Outcome) -> str | None:
    """4: messages that stay are in their order, and unchanged but for thinking that left."""
    places = [at for at in outcome.places if at is not None and at >= 0]
    if places != sorted(set(places)):
        return f"messages stand in the order {places}"
    for message, at in zip(outcome.made, outcome.places, strict=True):
        if at is None or at < 0 or message == outcome.given.messages[at]:
            continue
        if at not in outcome.bare or message != without_thinking(outcome.given.messages[at]):
            return f"message {at} was changed"
    return None


def invents_nothing(outcome: Outcome) -> str | None:
    """4: every output message was in the input, or is listed as inserted."""
    pairs = zip(outcome.made, outcome.places, strict=True)
    strange = [message for message, at in pairs if at == -1]
    return f"nobody gave it this message: {shown(strange[0])}" if strange else None


def refusals(messages: Sequence[Message], dialect: Dialect) -> list[Violation]:
    """Return the violations for which a provider refuses a list."""
    found = validate(messages, dialect=dialect)
    return [one for one in found if one.severity == "refused"]


def stays_valid(outcome: Outcome) -> str | None:
    """5: a list that a provider accepts stays valid."""
    if not outcome.given.valid:
        return None
    broken = refusals(outcome.made, outcome.given.dialect)
    return f"the provider would refuse it: {broken[0].rule}, {broken[0].why}" if broken else None


def leaves_what_fits_alone(outcome: Outcome) -> str | None:
    """8: a list that fits is returned unchanged."""
    if outcome.tokens_given > outcome.budget or list(outcome.made) == list(outcome.given.messages):
        return None
    return f"it cost {outcome.tokens_given} of {outcome.budget} tokens and was changed"


Invariant: TypeAlias = Callable[[Outcome], str | None]

INVARIANTS: Final[tuple[Invariant, ...]] = (
    fits_the_budget,
    keeps_what_must_stay,
    shows_the_task,
    keeps_units_whole,
    keeps_the_order,
    invents_nothing,
    stays_valid,
    leaves_what_fits_alone,
)
"""The invariants that one outcome can show; `check_evictor` adds those that need several."""

INVARIANTS_WITHOUT_TASK: Final[tuple[Invariant, ...]] = tuple(
    one for one in INVARIANTS if one is not shows_the_task
)
"""`INVARIANTS` for trimmers that do not promise to keep the first request."""
