"""The working copy of a list, on which the edits of policies are applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError
from warmset.evict.edits import check_fold, check_swap, read_stand_in, touched_by
from warmset.evict.fitted import Evicted
from warmset.evict.gaps import GapRole, gap_message, gaps, how_many
from warmset.evict.slots import Slot, Terms, read, written
from warmset.evict.view import Leave, Swap, UnitView, View
from warmset.messages import (
    LANGUAGES,
    anchor,
    answering_stored,
    exchange_start,
    last_said,
    loop_start,
    units,
)
from warmset.text.decisions import brief_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset.evict.view import Edit, StandInKind
    from warmset.messages import Facts, Message, UnitKind
    from warmset.tokens import Counter


MOST: Final = 1 << 62
"""The highest token count of one message; larger counts are capped."""


class Desk:
    """The working copy of a list.

    Args:
        messages: Well-formed messages of one dialect.
        counter: Counts their tokens.
        terms: The parameters that do not change.
    """

    def __init__(self, messages: Sequence[Message], counter: Counter, terms: Terms) -> None:
        self.terms = terms
        self.gone: list[Evicted] = []
        known = [read(message, terms.dialect) for message in messages]
        self._task, self._asked = anchor(known), exchange_start(known)
        self._said = last_said(known)
        held = self._held(known)
        held.update(answering_stored(known, terms.dialect, continues=terms.continues))
        since = -1 if self._asked is None else self._asked
        # Units are those of the caller's list: evictions make messages of different units
        # neighbours.
        self._units: list[tuple[UnitKind, bool]] = []
        home = [0] * len(known)
        parted = units(known)
        self.orphans = tuple(at for u in parted if u.kind == "orphan" for at in u.members)
        for number, unit in enumerate(parted):
            waits = unit.open and unit.members[-1] > since
            self._units.append((unit.kind, waits or not held.isdisjoint(unit.members)))
            for at in unit.members:
                home[at] = number
        costs = [min(cost, MOST) for cost in counter.costs(messages)]
        self.slots = [
            Slot(messages[at], known[at], costs[at], home[at], (at,)) for at in range(len(known))
        ]
        self._count = len(messages)
        self._view: View | None = None
        self._gap_costs: dict[GapRole, int] = {}

    @property
    def total(self) -> int:
        """All tokens, those of filler messages in gaps included."""
        return self._total(self.slots)

    def _total(self, slots: Sequence[Slot]) -> int:
        fillers = sum(self._gap_cost(role) for _, role in gaps(slots, self.terms.dialect))
        return self.terms.overhead + sum(slot.cost for slot in slots) + fillers

    def _gap_cost(self, role: GapRole) -> int:
        if role not in self._gap_costs:
            self._gap_costs[role] = self.terms.cost_of(gap_message(self.terms.dialect, role))
        return self._gap_costs[role]

    def leave_until(self, edits: Sequence[Edit], budget: int) -> None:
        """Evict units one after the other until the rest and its filler messages fit.

        Args:
            edits: Every unit that may leave, in the order of eviction.
            budget: The most tokens that everything may have.
        """
        units_ = self.view().units
        order = [units_[edit.unit].members for edit in edits if isinstance(edit, Leave)]
        count = how_many(self.slots, order, self.terms.dialect, self._gap_cost, self.total - budget)
        self.carry_out(edits[:count])

    def tidy_end(self) -> None:
        """Make the last message valid at the end, if it was not the last before."""
        if not self.slots or self.slots[-1].kind is not None:
            return
        old = self.slots[-1]
        message = LANGUAGES[self.terms.dialect].ending(old.message)
        if old.origins != (self._count - 1,) and message is not old.message:
            self.slots[-1] = self._stand_in(message, old.unit, old.origins, "placeholder")
            reason = "it stands last now, and has white space at its end"
            self.gone.append(Evicted(old.origins, old.cost, reason))
            self._view = None

    @property
    def floor(self) -> int:
        """The tokens of everything that must stay, without filler messages."""
        protected = (unit.cost for unit in self.view().units if unit.protected)
        return self.terms.overhead + sum(protected)

    def least(self) -> int:
        """Return the tokens that are left after everything evictable was evicted."""
        held = {at for unit in self.view().units if unit.protected for at in unit.members}
        return self._total([slot for at, slot in enumerate(self.slots) if at in held])

    def shorten_anchor(self) -> bool:
        """Shorten the task to one line, if that is shorter and the task may change.

        Returns:
            Whether it was replaced.
        """
        if self._task is None or self._task == self._asked:
            return False
        first = next(at for at, slot in enumerate(self.slots) if self._task in slot.origins)
        old = self.slots[first]
        alone = sum(slot.unit == old.unit for slot in self.slots) == 1
        if not alone or old.facts.keep or not self.terms.pinned.isdisjoint(old.origins):
            return False
        message = LANGUAGES[self.terms.dialect].grammar.say("user", brief_task(old.facts.text))
        short = self._stand_in(message, old.unit, old.origins, "summary")
        if short.cost >= old.cost:
            return False
        self._forget([first], "the task did not fit whole")
        self.slots[first] = short
        self._view = None
        return True

    def view(self, budget: int | None = None) -> View:
        """Return the view of the list that a policy gets.

        Args:
            budget: A budget that replaces the one of the terms, for a second try.
        """
        if self._view is None or (budget is not None and budget != self._view.budget):
            self._view = self._look(self.terms.budget if budget is None else budget)
        return self._view

    def _look(self, budget: int) -> View:
        members: dict[int, list[int]] = {}
        for at, slot in enumerate(self.slots):
            members.setdefault(slot.unit, []).append(at)
        costs = [slot.cost for slot in self.slots]
        return View(
            messages=[slot.message for slot in self.slots],
            origins=[slot.origins for slot in self.slots],
            facts=[slot.facts for slot in self.slots],
            costs=costs,
            units=[
                UnitView(
                    members=tuple(places),
                    kind=self._units[number][0],
                    cost=sum(costs[at] for at in places),
                    protected=self._units[number][1],
                )
                for number, places in members.items()
            ],
            overhead=self.terms.overhead,
            budget=budget,
            watermark=self.terms.watermark,
            dialect=self.terms.dialect,
            tools=LANGUAGES[self.terms.dialect].tools,
            cost_of=self.terms.cost_of,
            store=self.terms.store,
        )

    def _held(self, known: Sequence[Facts]) -> set[int]:
        """Return the positions of messages that must stay regardless of their unit."""
        held = {at for at, fact in enumerate(known) if fact.is_system or fact.keep}
        opening = loop_start(known)
        held |= set() if opening is None else {opening}
        said = (self._task, self._asked, self._said)
        if self._asked is None:  # nobody asked: the newest message is the subject of the call
            spoken = (at for at in reversed(range(len(known))) if not known[at].is_system)
            held.update(list(spoken)[:1])
        return held | self.terms.pinned | {at for at in said if at is not None}

    def carry_out(self, edits: Iterable[Edit], within: int | None = None) -> bool:
        """Apply edits that were planned on the latest view.

        Args:
            edits: The edits; those of protected units are ignored.
            within: Tokens that the result may have; the edits are not applied if it has more, which
                filler messages may cause. None for any number.

        Returns:
            Whether anything changed.

        Raises:
            InvalidInputError: An edit names a unit or message that does not exist, or two edits
                name the same one.
        """
        view = self.view()
        home = {at: unit for unit in view.units for at in unit.members}
        slots: list[Slot | None] = list(self.slots)
        done: set[int] = set()
        gone = len(self.gone)
        for edit in edits:
            touched = touched_by(edit, view)
            if any(home[at].protected for at in touched):
                continue
            if not done.isdisjoint(touched):
                raise InvalidInputError(f"policy: {edit!r:.120} changes what was changed before")
            done.update(touched)
            self._carry_out(edit, view, slots)
        if not done:
            return False
        rest = [slot for slot in slots if slot is not None]
        if within is not None and self._total(rest) > within:
            del self.gone[gone:]
            return False
        self.slots, self._view = rest, None
        return True

    def _carry_out(self, edit: Edit, view: View, slots: list[Slot | None]) -> None:
        if isinstance(edit, Swap):
            old = self.slots[edit.at]
            made = self._stand_in(edit.message, old.unit, old.origins, edit.kind, edit.handle)
            check_swap(edit, old.facts, made.facts)
            slots[edit.at] = made
            if old.kind is None:
                self.gone.append(Evicted(old.origins, old.cost, edit.reason, edit.handle))
            return
        if isinstance(edit, Leave):
            self._forget(view.units[edit.unit].members, edit.reason)
            for at in view.units[edit.unit].members:
                slots[at] = None
            return
        members = sorted(at for number in edit.units for at in view.units[number].members)
        origins = tuple(sorted(one for at in members for one in self.slots[at].origins))
        handle = " ".join(one for one in edit.handles if one) or None
        made = self._stand_in(edit.message, len(self._units), origins, edit.kind, handle)
        check_fold(edit, made.facts)
        for place, number in enumerate(edit.units):
            stored = (edit.handles[place],) if edit.handles else ()
            self._forget(view.units[number].members, edit.reason, *stored)
        for at in members:
            slots[at] = None
        slots[members[0]] = made
        self._units.append(("user", False))

    def _forget(self, members: Iterable[int], reason: str, *stored: str | None) -> None:
        """Record that messages left; those that a replacement stands for left before.

        Args:
            members: Positions of their slots.
            reason: Why they left.
            stored: Their handle, if the policy stored them itself; None if they have none.
        """
        real = [self.slots[at] for at in members if self.slots[at].kind is None]
        if not real:
            return
        indices = tuple(sorted(one for slot in real for one in slot.origins))
        handle = stored[0] if stored else None
        if not stored and self.terms.store is not None:
            handle = self.terms.store.put(written(slot.message for slot in real))
        self.gone.append(Evicted(indices, sum(slot.cost for slot in real), reason, handle))

    def _stand_in(
        self,
        message: Message,
        unit: int,
        origins: tuple[int, ...],
        kind: StandInKind,
        handle: str | None = None,
    ) -> Slot:
        known = read_stand_in(message, self.terms.dialect)
        return Slot(message, known, self.terms.cost_of(message), unit, origins, kind, handle)
