"""Which messages a window shows verbatim: the stable head, the recent units, the current exchange.

```text
system ─ anchor │ … earlier turns … │ recent units │ request, and the tool steps since
   stable head  │ shown if retrieved │          verbatim tail
```

A system message behind the first turn keeps its place among the messages of the tail. The head, the
request and the last unit must stay. The tail's other units are left out oldest first.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from warmset._core import keep_newest
from warmset.messages import last_said, loop_start
from warmset.options import NEWEST_SHARE, RECENT_SHARE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.messages import Unit
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Frame:
    """The units of a conversation by their place in a window; each unit is a sequence of entries.

    Args:
        system: System and developer messages that begin the conversation.
        anchor: The first request, unless it is the current one.
        recent: The units before the current request, oldest first.
        current: The current request's unit and all units since; empty if the request is not
            appended.
        brief: Whether the anchor is shortened to one line, because it does not fit as a whole.
        placed: System and developer messages behind the first turn, compactions of the provider's,
            and results of stored calls; each keeps its place among the messages that are shown.
    """

    system: list[Sequence[Entry]]
    anchor: list[Sequence[Entry]]
    recent: list[Sequence[Entry]]
    current: list[Sequence[Entry]]
    brief: bool = False
    placed: list[Sequence[Entry]] = field(default_factory=list)

    def units(self) -> list[Sequence[Entry]]:
        """Return all units of the frame."""
        return [*self.instructions(), *self.anchor, *self.recent, *self.current]

    def instructions(self) -> list[Sequence[Entry]]:
        """Return the units of system and developer messages."""
        return [*self.system, *self.placed]


def frame(ledger: Ledger, *, recent: int, since: int | None, appended: bool) -> Frame:
    """Divide the current path of a conversation into the parts of a window.

    Args:
        ledger: The conversation.
        recent: The number of units before the request that are recent.
        since: The id of the oldest recent message, to keep an earlier choice; replaces `recent`.
        appended: Whether the request is a message of the conversation, and not a text to send last.

    Returns:
        The frame. Tool results without a call, and old calls without a result, are in no part of
        it.
    """
    live, accounts = ledger.live(), ledger.accounts()
    asked = accounts.asked_at if appended else None

    def entries(unit: Unit) -> list[Entry]:
        return [live[place] for place in unit.members]

    def is_sent(unit: Unit) -> bool:
        # Every provider rejects a result without its call, and an old call without its result.
        return unit.kind not in {"orphan", "system"} and not unit.open

    if appended and accounts.asked_at is None and accounts.newest is not None:
        newest = accounts.unit(accounts.newest)  # nobody asked: it is the subject of the call
        asked, recent = newest.members[0], max(recent - 1, 0)
    lost = set(accounts.unsendable(0))  # reasoning that nothing was made with, besides those
    numbers = [] if asked is None else accounts.since(asked)
    now = [accounts.unit(number) for number in numbers if number not in lost]
    current = [unit for unit in now if unit.kind not in {"orphan", "system"}]
    taken = {unit.members[0] for unit in now}
    fixed = [accounts.unit(number) for number in accounts.fixed]
    kept = [unit for unit in fixed if unit.kind != "system" and unit.members[0] not in taken]
    taken |= {unit.members[0] for unit in kept}
    task = None if accounts.task is None else accounts.unit(accounts.task)
    first = [] if task is None or task.members[0] in taken or not is_sent(task) else [task]
    taken |= {unit.members[0] for unit in first}
    latest: list[Unit] = []
    for number in range(len(accounts.roll) - 1, -1, -1):
        unit = accounts.unit(number)
        enough = len(latest) >= recent if since is None else live[unit.members[0]].id < since
        if enough:
            break
        if unit.members[0] not in taken and is_sent(unit) and number not in lost:
            latest.append(unit)
    latest.reverse()
    leading = next((at for at, one in enumerate(live) if not one.facts.is_system), len(live))
    systems = [accounts.unit(number) for number in accounts.systems]
    return Frame(
        system=[entries(unit) for unit in systems if unit.members[0] < leading],
        placed=[
            entries(unit)
            for unit in (*systems, *kept)
            if unit.kind != "system" or unit.members[0] > leading
        ],
        anchor=[entries(unit) for unit in first],
        recent=[entries(unit) for unit in latest],
        current=[entries(unit) for unit in current],
    )


def fit_tail(parts: Frame, room: int, share: float = RECENT_SHARE) -> Frame:
    """Leave out the oldest units of the tail until the rest fits.

    Args:
        parts: The frame.
        room: Tokens for everything but the head.
        share: The share of the remaining room that recent units may take. The newest one may take
            `NEWEST_SHARE`, so that a request which continues it is understood.

    Returns:
        The frame with the tail that fits: as much of the current exchange as possible, then recent
        units.

    Raises:
        BudgetTooSmall: Even the units that must stay do not fit; see `must_stay`.
    """
    stays = protected(parts)
    must = [place in stays for place in range(len(parts.current))]
    current = _newest(parts.current, must, room)
    left = max(room - sum(cost(unit) for unit in current), 0)
    free = int(left * share)
    newest = cost(parts.recent[-1]) if parts.recent else 0
    if free < newest <= int(left * NEWEST_SHARE):
        recent = parts.recent[-1:]
    else:
        recent = _newest(parts.recent, [False] * len(parts.recent), free)
    return replace(parts, recent=recent, current=current)


def _newest(units: list[Sequence[Entry]], must: list[bool], room: int) -> list[Sequence[Entry]]:
    """Return the units that must stay, and the newest others that fit."""
    costs = [cost(unit) for unit in units]
    if sum(costs) <= room:
        return units
    return [units[place] for place in keep_newest(costs, must, room).tolist()]


def must_stay(parts: Frame) -> int:
    """Return the tokens of the request, the last unit, and reasoning that must stay."""
    stays = protected(parts)
    return sum(cost(unit) for at, unit in enumerate(parts.current) if at in stays)


def protected(parts: Frame) -> set[int]:
    """Return the positions of the units of the current exchange that must stay."""
    known = [entry.facts for unit in parts.current for entry in unit]
    homes = [at for at, unit in enumerate(parts.current) for _ in unit]
    others = (loop_start(known), last_said(known))
    stays = {at for at, fact in enumerate(known) if fact.is_system or fact.keep}
    stays.update(at for at in others if at is not None)
    return {0, len(parts.current) - 1} | {homes[at] for at in stays}


def cost(unit: Sequence[Entry]) -> int:
    """Return the tokens of a unit shown verbatim."""
    return sum(entry.tokens for entry in unit)
