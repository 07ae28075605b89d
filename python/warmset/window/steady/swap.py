"""How the next epoch begins: what must stay, a summary, an index, and the newest units.

The list is planned to have `swap_to` of the budget, so that many calls fit until the next swap; or
more, where the model's prompt cache takes no list that short and that costs less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from warmset.errors import BudgetTooSmall
from warmset.money.forecast import anew_tokens, epoch_cost, middle_of
from warmset.options import DECISIONS
from warmset.state.branches import ROOT
from warmset.store.epochs import Insertion
from warmset.window.assemble import quote_block
from warmset.window.days import several_days
from warmset.window.decisions import decisions_of
from warmset.window.rhythm import rhythm_of
from warmset.window.select import choose_lines
from warmset.window.steady.days import anchor_day, with_days
from warmset.window.steady.epoch import Epoch
from warmset.window.steady.index_role import lines_role
from warmset.window.steady.recall import places
from warmset.window.steady.write import (
    beside_tokens,
    insertion_tokens,
    sent_tokens,
    with_pinned,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.engine.engine import Engine
    from warmset.state.ledger import Ledger
    from warmset.window.assemble import Assembled
    from warmset.window.choices import Settled
    from warmset.window.render import Call
    from warmset.window.request import Ask
    from warmset.window.summaries import Returned

MOST: Final = 256
"""The most units that are looked at for the index besides decisions, newest first."""

LINES_SHARE: Final = 0.10
"""The share of the budget that the lines of decisions and of left-out units may take."""

NEAR: Final = 16
"""Tokens: how near to each other a plan that is long enough and one that is not are found."""

MORE: Final = "{count} more decisions are not shown; the tool search_turns finds them.\n"


@dataclass(frozen=True, slots=True)
class Swap:
    """The next epoch, and what its list shows.

    Args:
        epoch: The epoch.
        summary: The summary that it shows; None if there is none.
        between: The number of messages behind the summary's boundary that are not shown.
        over: Whether what must stay exceeds `swap_to` of the budget.
        returned: What a provider returned in the place of the messages before; None without one.
    """

    epoch: Epoch
    summary: Settled | None
    between: int
    over: bool
    returned: Returned | None = None


def swapped(
    engine: Engine,
    ledger: Ledger,
    call: Call,
    ask: Ask,
    last: Epoch,
    *,
    why: str,
    summary: Settled | None,
    spare: int,
    pinned: Sequence[Insertion] = (),
) -> Swap:
    """Plan the next epoch; the caller holds the engine's lock.

    Args:
        engine: The store, from which texts are read.
        ledger: The conversation.
        call: The call that the list is for.
        ask: The arguments of the window.
        last: The epoch that ends.
        why: Why it ends.
        summary: The summary that is ready; None if there is none.
        spare: Tokens that the list must leave for what is recalled.
        pinned: The pinned memories, and fewer and fewer of them, for a list that has no room.

    Raises:
        BudgetTooSmall: The messages that must stay do not fit.
    """
    target = max(int(call.budget * ask.options.swap_to) - spare, 0)
    plan = _Plan(engine, ledger, call, ask, last, why, pinned)
    made = plan.best(summary, target)
    longer = _for_cache(plan, made, summary, target, spare)
    return made if longer is None else longer


def _for_cache(
    plan: _Plan, made: Swap, summary: Settled | None, target: int, spare: int
) -> Swap | None:
    """Return the shortest epoch that the model's prompt cache takes, if that costs less.

    Args:
        plan: Makes plans.
        made: The epoch that begins otherwise.
        summary: The summary that is ready.
        target: The tokens with which that epoch was planned.
        spare: The most tokens that are recalled behind it.

    Returns:
        The epoch; None if the cache takes the other one as well, or that costs less.
    """
    ledger, options, budget = plan.ledger, plan.ask.options, plan.call.budget
    prices, live = options.known_prices, ledger.live()
    if prices is None or not live:
        return None
    rhythm, tokens = rhythm_of(live, live[-1].at), plan.sent(made)
    swap_at, swap_to = options.swap_at, options.swap_to
    cost = partial(epoch_cost, prices, rhythm, budget=budget, swap_at=swap_at)
    least = anew_tokens(
        prices, rhythm, tokens=tokens, budget=budget, swap_at=swap_at, swap_to=swap_to
    )
    if least <= tokens:
        return None
    few, enough = target, budget - spare
    longer, more = plan.best(summary, enough), min(spare, plan.recalled())
    while enough - few > NEAR:
        middle = (few + enough) // 2
        one = plan.best(summary, middle)
        if plan.sent(one) + more < least:
            few = middle
        else:
            longer, enough = one, middle
    begun = plan.sent(longer)
    fits = begun <= middle_of(budget, swap_at=swap_at, swap_to=swap_to)
    return longer if fits and cost(tokens=begun) < cost(tokens=tokens) else None


class _Plan:
    """Plans of one swap, from the fullest to the smallest."""

    def __init__(
        self,
        engine: Engine,
        ledger: Ledger,
        call: Call,
        ask: Ask,
        last: Epoch,
        why: str,
        pinned: Sequence[Insertion],
    ) -> None:
        self._engine, self.ledger, self.ask, self.call = engine, ledger, ask, call
        self._fewer = pinned
        self._pinned = pinned[0] if pinned else None
        shown = Epoch() if self._pinned is None else Epoch(insertions=(self._pinned,))
        self._call = with_pinned(call, shown)
        self._last, self._why = last, why
        accounts, last_unit = ledger.accounts(), len(ledger.accounts()) - 1
        newest = (last_unit,) if last_unit >= 0 else ()
        self._stays = sorted(set(accounts.protected(newest)))
        self._dates = ask.options.dates == "lines"
        self._lines_room = int(call.budget * LINES_SHARE) if ask.options.index_share else 0

    def best(self, summary: Settled | None, target: int) -> Swap:
        """Return the fullest epoch of so many tokens, or of what must stay.

        Args:
            summary: The summary that is ready; None if there is none.
            target: The tokens of its list.

        Raises:
            BudgetTooSmall: The messages that must stay do not fit.
        """
        tries: list[tuple[Settled | None, bool, int]] = [(summary, True, target)]
        if summary is not None:
            tries += [(summary, False, target), (None, True, target)]
        tries.append((None, False, target))
        if (most := self.most(summary)) > target:  # what must stay has more: a little goes with it
            tries += [(summary, True, most), (summary, False, most)]
        for shown, lines, most in tries:
            room = most
            for _ in range(4):  # what is written may have a few tokens more than planned
                made = self.made(shown, room, lines=lines)
                if made is None:
                    break
                tokens = self._written(made).tokens
                if tokens <= most:
                    return replace(made, over=most > target)
                room -= tokens - most
        tokens = 0
        for dates, front in ((True, None), *((False, one) for one in self._fewer), (False, None)):
            least = self.smallest(dates=dates, pinned=self._pinned if dates else front)
            tokens = self._written(least).tokens
            if tokens <= self.call.budget:
                return least
        raise BudgetTooSmall(tokens, self.call.budget)

    def _written(self, made: Swap) -> Assembled:
        call = with_pinned(self.call, made.epoch)
        return write(self._engine, self.ledger, call, made.epoch)

    def sent(self, made: Swap) -> int:
        """Return the tokens of an epoch's list without the thinking that leaves it."""
        call = with_pinned(self.call, made.epoch)
        return sent_tokens(self._engine, self.ledger, call, made.epoch)

    def recalled(self) -> int:
        """Return the tokens that were recalled when the last epoch began."""
        epochs = self._engine.epochs_of(self.ledger.tenant, self.ledger.name)
        chain = epochs.chain((self.call.target, self.call.model))
        first = chain[0].step.count if chain else 0
        ours = [one for one in self._last.insertions if one.name == "recall" and one.at < first]
        return sum(insertion_tokens(self._engine, self.call, one) for one in ours)

    def least(self) -> int:
        """Return the tokens of the messages that must stay."""
        accounts = self.ledger.accounts()
        return beside_tokens(self._engine, self._call) + sum(map(accounts.cost, self._stays))

    def most(self, summary: Settled | None) -> int:
        """Return the tokens of a list that shows little but what must stay."""
        shown = 0 if summary is None else summary.tokens
        shown += sum(insertion_tokens(self._engine, self._call, one) for one in self._front())
        return min(self.least() + shown + self._lines_room, self._call.budget)

    def made(self, summary: Settled | None, most: int, *, lines: bool) -> Swap | None:
        """Return an epoch of about that many tokens; None if what must stay has more.

        Args:
            summary: The summary to show.
            most: The most tokens of the list.
            lines: Whether it has an index.
        """
        front = [*self._anchor_day(), *self._front()]
        if summary is not None:
            front.append(Insertion(name="summary", at=0, text=summary.text))
        free = most - self.least()
        free -= sum(insertion_tokens(self._engine, self._call, one) for one in front)
        if free < 0:
            return None
        reserve = min(self._lines_room, free // 2) if lines else 0
        boundary = 0 if summary is None else summary.boundary
        start = self._start(free - reserve, boundary)
        if reserve:
            index = self._index(start, self._held(start), boundary, reserve)
            if index is None:
                start = self._start(free, boundary)
            else:
                front.append(index)
        return self._swap(start, front, summary, dates=self._dates)

    def _front(self) -> list[Insertion]:
        """Return the pinned memories, as a list."""
        return [] if self._pinned is None else [self._pinned]

    def smallest(self, *, dates: bool, pinned: Insertion | None) -> Swap:
        """Return an epoch that shows nothing but what must stay, its days, and what is pinned."""
        front = self._anchor_day() if dates else []
        front += [] if pinned is None else [pinned]
        made = self._swap(self._start(0, 0), front, None, dates=dates and self._dates)
        return replace(made, over=True)

    def _swap(
        self, start: int, front: list[Insertion], summary: Settled | None, *, dates: bool
    ) -> Swap:
        held, boundary = self._held(start), 0 if summary is None else summary.boundary
        if not self._begins_with_task(held):
            front = [one for one in front if one.name != "anchor_day"]
        between = sum(at not in held for at in range(boundary, start))
        epoch = Epoch(
            number=self._last.number + (1 if self._last.token else 0),
            why=self._why,
            start=start,
            held=held,
            lead=self._lead(held),
            insertions=tuple(replace(one, at=start) for one in front),
            count=self._last.count,
            head=self._last.head or ROOT,
            beside=self._last.beside,
            asked=self._last.asked,
            token=self._last.token,
        )
        if dates:
            epoch = with_days(self._engine, self.ledger, epoch, start)
        return Swap(epoch, summary, between, over=False)

    def _anchor_day(self) -> list[Insertion]:
        """Return the line with the day of the task, if the conversation has several days."""
        if not self._dates:
            return []
        live, held = self.ledger.live(), self._held(len(self.ledger.history.path))
        if not several_days(live, ()) or not self._begins_with_task(held):
            return []
        return [anchor_day(self._engine, self.ledger, held[: self._lead(held)])]

    def _begins_with_task(self, held: tuple[int, ...]) -> bool:
        """Return whether the task is among the messages that begin the list."""
        live = self.ledger.live()
        return any(not live[at].facts.is_system for at in held[: self._lead(held)])

    def _start(self, free: int, boundary: int) -> int:
        """Return the position of the first of the newest units that fit, behind a boundary."""
        accounts, count = self.ledger.accounts(), len(self.ledger.history.path)
        room = free + sum(map(accounts.cost, self._stays))
        first, _ = accounts.roll.cut(self._stays, room)
        units = len(accounts.roll)
        while first < units and accounts.boundary(first) < first:
            first += 1  # a unit before it has a member behind it
        start = accounts.unit(first).members[0] if first < units else count
        return max(start, min(boundary, count))

    def _held(self, start: int) -> tuple[int, ...]:
        accounts = self.ledger.accounts()
        found = {at for unit in self._stays for at in accounts.members(unit) if at < start}
        return tuple(sorted(found))

    def _lead(self, held: tuple[int, ...]) -> int:
        """Return how many of the held messages begin the list: instructions, and the task."""
        accounts, live = self.ledger.accounts(), self.ledger.live()
        task = () if accounts.task is None else accounts.members(accounts.task)
        lead = 0
        while lead < len(held) and (live[held[lead]].facts.is_system or held[lead] in task):
            lead += 1
        return lead

    def _index(
        self, start: int, held: tuple[int, ...], boundary: int, room: int
    ) -> Insertion | None:
        """List the newest decisions that hold and are not shown, and units that no summary has.

        Decisions that a later one supersedes get no line.
        """
        live, shown = self.ledger.live(), set(held)
        role = lines_role(self._engine, self.ledger, self._call, self.ask, front=True)
        decided = decisions_of(self._engine.cards, self.ledger)
        hidden = [at for at in reversed(decided.places) if at < start and at not in shown]
        holding = [at for at in hidden if decided.holds(at)]
        decisions = [live[at] for at in holding[:DECISIONS]]
        shown.update(at for at in hidden if not decided.holds(at))
        others = (live[at] for at in range(start - 1, boundary - 1, -1) if at not in shown)
        said = (one for one in others if not one.facts.is_system and not one.blank)
        rest = (one for one in said if role == "user" or not one.facts.results)
        head = self._engine.cards.plain(MORE.format(count=len(holding))).tokens
        lines = choose_lines(self._engine, decisions, list(islice(rest, MOST)), room - head)
        while lines:
            ids = [one.id for one in lines]
            left = len(holding) - sum(one.id in set(ids) for one in decisions)
            more = MORE.format(count=left) if left else ""
            made = quote_block(self._engine, self._call.source, (), lines, more)
            if made.tokens + made.index_tokens <= room:
                listed = places(self.ledger, ids)
                return Insertion(name="index", at=start, text=made.text, listed=listed, role=role)
            lines = lines[:-1]
        return None
