"""How the next epoch begins: what must stay, a summary, an index, and the newest units.

The list is planned to have `swap_to` of the budget, so that many calls fit until the next swap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from warmset.errors import BudgetTooSmall
from warmset.options import DECISIONS
from warmset.state.branches import ROOT
from warmset.store.epochs import Insertion
from warmset.window.assemble import quote_block
from warmset.window.days import several_days
from warmset.window.decisions import decisions_of
from warmset.window.select import choose_lines
from warmset.window.steady.days import anchor_day, with_days
from warmset.window.steady.epoch import Epoch
from warmset.window.steady.index_role import lines_role
from warmset.window.steady.recall import places
from warmset.window.steady.write import beside_tokens, insertion_tokens, with_pinned, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.engine.engine import Engine
    from warmset.state.ledger import Ledger
    from warmset.window.choices import Settled
    from warmset.window.render import Call
    from warmset.window.request import Ask
    from warmset.window.summaries import Returned

MOST: Final = 256
"""The most units that are looked at for the index besides decisions, newest first."""

LINES_SHARE: Final = 0.10
"""The share of the budget that the lines of decisions and of left-out units may take."""

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
    plan = _Plan(engine, ledger, call, ask, last, why, pinned[0] if pinned else None)
    tries: list[tuple[Settled | None, bool, int]] = [(summary, True, target)]
    if summary is not None:
        tries += [(summary, False, target), (None, True, target)]
    tries.append((None, False, target))
    if (most := plan.most(summary)) > target:  # what must stay has more: a little goes with it
        tries += [(summary, True, most), (summary, False, most)]
    for shown, lines, most in tries:
        room = most
        for _ in range(4):  # what is written may have a few tokens more than planned
            made = plan.made(shown, room, lines=lines)
            if made is None:
                break
            tokens = write(engine, ledger, with_pinned(call, made.epoch), made.epoch).tokens
            if tokens <= most:
                return replace(made, over=most > target)
            room -= tokens - most
    tokens = 0
    for dates, front in ((True, None), *((False, one) for one in pinned), (False, None)):
        least = plan.smallest(dates=dates, pinned=pinned[0] if dates and pinned else front)
        tokens = write(engine, ledger, with_pinned(call, least.epoch), least.epoch).tokens
        if tokens <= call.budget:
            return least
    raise BudgetTooSmall(tokens, call.budget)


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
        pinned: Insertion | None,
    ) -> None:
        self._engine, self._ledger, self._ask = engine, ledger, ask
        self._pinned = pinned
        shown = Epoch() if pinned is None else Epoch(insertions=(pinned,))
        self._call = with_pinned(call, shown)
        self._last, self._why = last, why
        accounts, last_unit = ledger.accounts(), len(ledger.accounts()) - 1
        newest = (last_unit,) if last_unit >= 0 else ()
        self._stays = sorted(set(accounts.protected(newest)))
        self._dates = ask.options.dates == "lines"
        self._lines_room = int(call.budget * LINES_SHARE) if ask.options.index_share else 0

    def least(self) -> int:
        """Return the tokens of the messages that must stay."""
        accounts = self._ledger.accounts()
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
            epoch = with_days(self._engine, self._ledger, epoch, start)
        return Swap(epoch, summary, between, over=False)

    def _anchor_day(self) -> list[Insertion]:
        """Return the line with the day of the task, if the conversation has several days."""
        if not self._dates:
            return []
        live, held = self._ledger.live(), self._held(len(self._ledger.history.path))
        if not several_days(live, ()) or not self._begins_with_task(held):
            return []
        return [anchor_day(self._engine, self._ledger, held[: self._lead(held)])]

    def _begins_with_task(self, held: tuple[int, ...]) -> bool:
        """Return whether the task is among the messages that begin the list."""
        live = self._ledger.live()
        return any(not live[at].facts.is_system for at in held[: self._lead(held)])

    def _start(self, free: int, boundary: int) -> int:
        """Return the position of the first of the newest units that fit, behind a boundary."""
        accounts, count = self._ledger.accounts(), len(self._ledger.history.path)
        room = free + sum(map(accounts.cost, self._stays))
        first, _ = accounts.roll.cut(self._stays, room)
        units = len(accounts.roll)
        while first < units and accounts.boundary(first) < first:
            first += 1  # a unit before it has a member behind it
        start = accounts.unit(first).members[0] if first < units else count
        return max(start, min(boundary, count))

    def _held(self, start: int) -> tuple[int, ...]:
        accounts = self._ledger.accounts()
        found = {at for unit in self._stays for at in accounts.members(unit) if at < start}
        return tuple(sorted(found))

    def _lead(self, held: tuple[int, ...]) -> int:
        """Return how many of the held messages begin the list: instructions, and the task."""
        accounts, live = self._ledger.accounts(), self._ledger.live()
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
        live, shown = self._ledger.live(), set(held)
        role = lines_role(self._engine, self._ledger, self._call, self._ask, front=True)
        decided = decisions_of(self._engine.cards, self._ledger)
        hidden = [at for at in reversed(decided.places) if at < start and at not in shown]
        decisions = [live[at] for at in hidden if decided.holds(at)]
        shown.update(at for at in hidden if not decided.holds(at))
        others = [live[at] for at in range(start - 1, boundary - 1, -1) if at not in shown]
        rest = [one for one in others if not one.facts.is_system and not one.blank]
        if role != "user":
            rest = [one for one in rest if not one.facts.results]
        head = self._engine.cards.plain(MORE.format(count=len(decisions))).tokens
        lines = choose_lines(self._engine, decisions[:DECISIONS], rest[:MOST], room - head)
        while lines:
            ids = [one.id for one in lines]
            left = len(decisions) - sum(one.id in set(ids) for one in decisions)
            more = MORE.format(count=left) if left else ""
            made = quote_block(self._engine, self._call.source, (), lines, more)
            if made.tokens + made.index_tokens <= room:
                listed = places(self._ledger, ids)
                return Insertion(name="index", at=start, text=made.text, listed=listed, role=role)
            lines = lines[:-1]
        return None
