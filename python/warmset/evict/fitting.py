"""`fit`: a list within its budget, whole units only, and an account of what left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from warmset.errors import BudgetTooSmall, InvalidInputError
from warmset.evict.desk import Desk
from warmset.evict.fitted import FitResult, Inserted
from warmset.evict.gaps import gap_message, gaps
from warmset.evict.policies import Chain, Salience, TokenBudget, steps
from warmset.evict.slots import Terms
from warmset.evict.view import Note
from warmset.messages import accept, settle
from warmset.tokens import Endpoint, TokenCount, Vocabulary
from warmset.tokens import counter as make_counter
from warmset.tokens.budget import WATERMARK, Budget, input_tokens

if TYPE_CHECKING:
    from warmset.evict.blob_store import OffloadStore
    from warmset.evict.view import Edit, Policy, StandInKind, View
    from warmset.messages import Message, System
    from warmset.tokens import CounterLike

Protect: TypeAlias = Iterable[int] | Callable[[Any], bool]
"""What the caller pins: positions in the list, or a function that tells it of a message."""


def fit(
    messages: Iterable[Any],
    *,
    budget: int | Budget,
    policy: Policy | Chain | None = None,
    dialect: str | None = None,
    counter: CounterLike = None,
    protect: Protect = (),
    system: System | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    store: OffloadStore | None = None,
) -> FitResult:
    """Make a list fit its budget: whole units leave, and what is left is valid if the list was.

    Never leaves: system and developer messages, the task (the first user message; one line of it
    stands for it if it cannot fit), the current user message, tool calls at the end that wait for
    their results, a provider's compaction, and what is pinned. A list that fits comes back as it
    is, unless a policy has a trigger of its own below the budget.

    Args:
        messages: Messages as callers have them; those that stay come out as the same objects.
        budget: Tokens that everything may cost, or a `Budget`.
        policy: What leaves first: `TokenBudget()` if not given. Where a policy does not reach the
            budget, the oldest units follow.
        dialect: How they are written; told by their look if not given.
        counter: The authority on tokens: an encoding, a function of a list of messages, or what
            `warmset.counter` made; o200k_base if not given.
        protect: Positions of messages that must stay, or a function that says so of a message.
        system: A system prompt that travels beside the list; it counts.
        tools: Tool schemas that travel along; they count.
        store: Where what leaves is kept; then every eviction has a handle.

    Returns:
        The messages, their tokens, what left and why, and what stands for it.

    Raises:
        BudgetTooSmall: What must stay does not fit; the error has `need` and `have`.
        SummarizerError: A policy's summarizer failed, and nobody stands in for it.
        InvalidMessageError: A message is malformed.
        InvalidInputError: An option is not usable.
        UnknownDialectError: The name is of no supported dialect.
    """
    listed = isinstance(messages, Iterable) and not isinstance(messages, (str, bytes, Mapping))
    given = list(messages) if listed else []
    plain = accept(given if listed else messages)
    chosen = settle(plain, dialect)
    have = input_tokens(budget)
    count = make_counter(counter)
    # A provider's endpoint is not asked for every placeholder: the final count decides.
    stand_ins = Vocabulary("estimate") if isinstance(count, Endpoint) else count
    empty = count.overhead(None, None)
    desk = Desk(
        plain,
        count,
        Terms(
            overhead=count.overhead(system, tools),
            budget=have,
            watermark=budget.watermark if isinstance(budget, Budget) else WATERMARK,
            dialect=chosen,
            cost_of=lambda message: stand_ins.costs([message])[0],
            store=_place(store),
            pinned=pinned(protect, given),
        ),
    )
    chain = steps(TokenBudget() if policy is None else policy)
    if desk.total > have:
        _make_room(desk, have)
    notes: list[str] = []
    for step in chain:
        planned = _planned(step, desk.view())
        notes += [edit.why for edit in planned if isinstance(edit, Note)]
        desk.carry_out([edit for edit in planned if not isinstance(edit, Note)])
    last = chain[-1]
    order = last if isinstance(last, Salience) else TokenBudget()
    beside = desk.terms.overhead - empty
    if desk.total > have:
        desk.leave_until(order.plan(desk.view(desk.floor)), have)
    while True:
        desk.tidy_end()
        made = _written(desk, given)
        tokens = _plus(count.count([one.message for one in made]), beside)
        if max(desk.total, tokens) <= have:
            break
        # The counter is not additive: the next units of the order leave.
        spoken = desk.terms.overhead + sum(slot.cost for slot in desk.slots)
        less = max(tokens - have, desk.total - have)
        if not desk.carry_out(order.plan(desk.view(spoken - less))):
            raise BudgetTooSmall(max(desk.total, tokens), have)
    return FitResult(
        messages=[one.sent for one in made],
        tokens=tokens,
        budget=have,
        dialect=chosen,
        kept=tuple(slot.origins[0] for slot in desk.slots if slot.kind is None),
        evicted=tuple(desk.gone),
        inserted=tuple(
            Inserted(at, one.kind, one.stands_for, one.handle)
            for at, one in enumerate(made)
            if one.kind is not None
        ),
        orphans=desk.orphans,
        notes=tuple(notes),
    )


def _planned(step: Policy, view: View) -> list[Edit | Note]:
    edits: object = step.plan(view)
    if isinstance(edits, Iterable) and not isinstance(edits, (str, bytes)):
        return list(edits)
    raise InvalidInputError(f"policy: plan must return edits, {step!r:.80} returned {edits!r:.80}")


def _make_room(desk: Desk, have: int) -> None:
    """Offer the task as one line if what must stay does not fit.

    Raises:
        BudgetTooSmall: It does not fit with that either.
    """
    if desk.least() > have:
        desk.shorten_anchor()
        if (need := desk.least()) > have:
            raise BudgetTooSmall(need, have)


@dataclass(frozen=True, slots=True)
class _Written:
    """A message of the list that comes out: as it is counted, and as it is sent."""

    message: Message
    sent: Any
    kind: StandInKind | None = None
    stands_for: tuple[int, ...] = ()
    handle: str | None = None


def _written(desk: Desk, given: Sequence[Any]) -> list[_Written]:
    """Write the list with its stand-ins; messages that stayed are the caller's objects."""
    dialect = desk.terms.dialect
    opened = dict(gaps(desk.slots, dialect))
    made: list[_Written] = []
    for at, slot in enumerate(desk.slots):
        if at in opened:
            filler = gap_message(dialect, opened[at])
            left_out = tuple(range(desk.slots[at - 1].origins[-1] + 1, slot.origins[0]))
            made.append(_Written(filler, filler, "gap", left_out))
        if slot.kind is None:
            made.append(_Written(slot.message, given[slot.origins[0]]))
        else:
            stands_for = (slot.kind, slot.origins, slot.handle)
            made.append(_Written(slot.message, slot.message, *stands_for))
    return made


def _place(store: OffloadStore | None) -> OffloadStore | None:
    if store is None or callable(getattr(store, "put", None)):
        return store
    raise InvalidInputError(f"store: expected an object with put(text), found {store!r:.80}")


def pinned(protect: Protect, given: Sequence[Any]) -> frozenset[int]:
    """Return the positions that the caller pins, negative ones counted from the end."""
    if callable(protect):
        return frozenset(at for at, message in enumerate(given) if protect(message))
    places = range(len(given))
    try:
        return frozenset(places[at] for at in protect)
    except (IndexError, TypeError) as error:
        raise InvalidInputError(
            f"protect: expected positions below {len(given)} or a function, found {protect!r:.80}"
        ) from error


def _plus(count: TokenCount, beside: int) -> TokenCount:
    return TokenCount(count + beside, exact=count.exact and not beside, error=count.error)
