"""`fit`: cut a list to its budget by whole units, and account for every evicted message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from warmset.errors import BudgetTooSmall, InvalidInputError
from warmset.evict.blob_store import check_store
from warmset.evict.desk import Desk
from warmset.evict.fitted import FitResult, Inserted
from warmset.evict.gaps import gap_message, gaps
from warmset.evict.policies import Chain, Salience, TokenBudget, steps
from warmset.evict.slots import Terms
from warmset.evict.view import Note
from warmset.messages import accept, settle
from warmset.messages.bound import BoundThinking
from warmset.messages.sent import Beside
from warmset.tokens import Endpoint, TokenCount, Vocabulary, counter as make_counter
from warmset.tokens.budget import WATERMARK, Budget, input_tokens

if TYPE_CHECKING:
    from warmset.evict.blob_store import OffloadStore
    from warmset.evict.view import Edit, Policy, StandInKind, View
    from warmset.messages import Message, System, Thinking
    from warmset.tokens import CounterLike

IN_LOOP: Final = "the list fits, and nothing may change before a tool loop with thinking"
"""Why the policies of a list that fits were not asked."""

Protect: TypeAlias = Iterable[int] | Callable[[Any], bool]
"""The pinned messages: positions in the list, or a function that decides for each message."""


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
    continues: bool = False,
    model: str | None = "",
    sent: object = None,
) -> FitResult:
    """Make a list fit its budget by evicting whole units; a valid list stays valid.

    Nothing is changed in a list that fits and ends in an unfinished tool loop which begins with
    bound thinking: the loop would have to go on without.

    Never evicted: system and developer messages, the task (the first user message, shortened to one
    line if it cannot fit), the current user message, tool calls at the end that wait for their
    results, a provider's compaction, and pinned messages. A list that fits is returned unchanged,
    unless a policy has its own trigger below the budget, or `always=True`.

    Args:
        messages: Messages as callers have them; those that stay are returned as the same objects,
            unless their thinking leaves.
        budget: The most tokens that everything may have, or a `Budget`.
        policy: Decides what is evicted first; `TokenBudget()` if not given. If the policy does not
            reach the budget, the oldest units are evicted next.
        dialect: The dialect of the messages; detected if not given.
        counter: Counts the tokens: an encoding, a function of a list of messages, or the result of
            `warmset.counter`; o200k_base if not given.
        protect: Positions of messages that must stay, or a function that returns True for a message
            that must stay.
        system: A system prompt that is sent beside the messages; its tokens count.
        tools: Tool schemas that are sent with the call; their tokens count.
        store: Stores the evicted messages, so that their evictions have handles; a tool result that
            is cleared in place has none.
        continues: Whether the list goes on behind messages that the provider has stored, by
            `previous_response_id`, `conversation` or `previous_interaction_id`: results whose call
            is not in the list then answer a stored one, and stay.
        model: The model that the list is for; empty if it is not known. Newer models refuse or drop
            thinking before which something changed, so it is left out of the messages that stay; a
            model that is not known is taken for one of these.
        sent: What was sent last: a window, the keyword arguments of the provider's call, or a list
            of messages. Without it, the list itself is taken for what was sent.

    Returns:
        The messages, their tokens, the evicted messages with reasons, the inserted messages, and
        what became of the thinking.

    Raises:
        BudgetTooSmall: The messages that must stay do not fit; the error has `need` and `have`.
        SummarizerError: A policy's summarizer failed, and it has no fallback.
        InvalidMessageError: A message is malformed.
        InvalidInputError: An option is invalid.
        UnknownDialectError: The dialect is not supported.
    """
    listed = isinstance(messages, Iterable) and not isinstance(messages, (str, bytes, Mapping))
    given = list(messages) if listed else []
    plain = accept(given if listed else messages)
    chosen = settle(plain, dialect)
    have = input_tokens(budget)
    beside = Beside.of(system, tools, model)
    if store is not None:
        check_store(store)
    count = make_counter(counter)
    # A provider's endpoint is not called for every placeholder: the final count decides.
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
            store=store,
            pinned=pinned(protect, given),
            continues=continues,
        ),
    )
    chain = steps(TokenBudget() if policy is None else policy)
    if desk.total > have:
        _make_room(desk, have)
    notes: list[str] = []
    bound = BoundThinking(plain, chosen, beside, sent)
    if bound.loop is not None and desk.total <= have:
        chain, notes = (), [IN_LOOP]
    for step in chain:
        planned = _planned(step, desk.view())
        notes += [edit.why for edit in planned if isinstance(edit, Note)]
        edits = [edit for edit in planned if not isinstance(edit, Note)]
        # A list that fits must not exceed the budget by the filler messages that edits need.
        desk.carry_out(edits, have if desk.total <= have else None)
    last = chain[-1] if chain else None
    order = last if isinstance(last, Salience) else TokenBudget()
    around = desk.terms.overhead - empty
    if desk.total > have:
        desk.leave_until(order.plan(desk.view(desk.floor)), have)
    while True:
        desk.tidy_end()
        made, thinking = _judged(_written(desk, given), bound)
        tokens = _plus(count.count([one.message for one in made]), around)
        if max(desk.total, tokens) <= have:
            break
        # The counter is not additive: evict further units in the same order.
        spoken = desk.terms.overhead + sum(slot.cost for slot in desk.slots)
        less = max(tokens - have, desk.total - have)
        if not desk.carry_out(order.plan(desk.view(spoken - less))):
            raise BudgetTooSmall(max(desk.total, tokens), have)
    return FitResult(
        messages=[one.sent for one in made],
        tokens=tokens,
        budget=have,
        dialect=chosen,
        kept=tuple(one.origin for one in made if one.origin is not None),
        evicted=tuple(desk.gone),
        inserted=tuple(
            Inserted(at, one.kind, one.stands_for, one.handle)
            for at, one in enumerate(made)
            if one.kind is not None
        ),
        orphans=desk.orphans,
        notes=tuple(notes),
        thinking=thinking,
    )


def _planned(step: Policy, view: View) -> list[Edit | Note]:
    edits: object = step.plan(view)
    if isinstance(edits, Iterable) and not isinstance(edits, (str, bytes)):
        return list(edits)
    raise InvalidInputError(f"policy: plan must return edits, {step!r:.80} returned {edits!r:.80}")


def _make_room(desk: Desk, have: int) -> None:
    """Shorten the task to one line if the messages that must stay do not fit.

    Raises:
        BudgetTooSmall: They do not fit even then.
    """
    if desk.least() > have:
        desk.shorten_anchor()
        if (need := desk.least()) > have:
            raise BudgetTooSmall(need, have)


@dataclass(frozen=True, slots=True)
class _Written:
    """A message of the output list: as it is counted, and as it is sent."""

    message: Message
    sent: Any
    kind: StandInKind | None = None
    stands_for: tuple[int, ...] = ()
    handle: str | None = None
    origin: int | None = None

    @property
    def home(self) -> int | None:
        """The position in the input of the message that it is, or of the first that it replaces."""
        if self.origin is not None or self.kind == "gap":
            return self.origin
        return self.stands_for[0] if self.stands_for else None


def _judged(made: list[_Written], bound: BoundThinking) -> tuple[list[_Written], Thinking]:
    """Leave out the thinking before which something changed."""
    judged = bound.judge([one.message for one in made], [one.home for one in made])
    written = [
        old if new is old.message else replace(old, message=new, sent=new)
        for old, new in zip(made, judged.messages, strict=True)
        if new is not None
    ]
    return written, judged.thinking


def _written(desk: Desk, given: Sequence[Any]) -> list[_Written]:
    """Write the output list with inserted messages; those that stayed are the caller's objects."""
    dialect = desk.terms.dialect
    opened = dict(gaps(desk.slots, dialect))
    made: list[_Written] = []
    for at, slot in enumerate(desk.slots):
        if at in opened:
            filler = gap_message(dialect, opened[at])
            left_out = tuple(range(desk.slots[at - 1].origins[-1] + 1, slot.origins[0]))
            made.append(_Written(filler, filler, "gap", left_out))
        if slot.kind is None:
            (origin,) = slot.origins
            made.append(_Written(slot.message, given[origin], origin=origin))
        else:
            stands_for = (slot.kind, slot.origins, slot.handle)
            made.append(_Written(slot.message, slot.message, *stands_for))
    return made


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
