"""Lines with days in a list that only grows.

A line is added with the messages behind it, and stays where it was first sent. What stands before a
message that was sent, or before a reply with thinking, is never changed; what could not be dated
then is dated by the next line: `[above: Sun 7 May 2023]`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warmset.store.epochs import Insertion
from warmset.text.timestamps import day_of
from warmset.window.days import above_line, is_closed, line_before, may_stand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.engine.engine import Engine
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger
    from warmset.window.steady.epoch import Epoch


def with_days(engine: Engine, ledger: Ledger, epoch: Epoch, sent: int) -> Epoch:
    """Return an epoch with lines where the day changes; the caller holds the engine's lock.

    Args:
        engine: The store, from which texts are read.
        ledger: The conversation.
        epoch: The epoch.
        sent: The number of its messages that were sent already.
    """
    live = ledger.live()
    first, since = max(sent, epoch.start), _stated(epoch)
    thinking = (at for at in range(len(live) - 1, first - 1, -1) if live[at].behind is not None)
    first = next(thinking, first - 1) + 1
    day = _first_day(live, epoch) if since is None else day_of(live[since].at)
    made: list[Insertion] = []
    for at in _places(ledger, first, epoch):
        if day_of(live[at].at) == day:
            continue
        made.append(_line(engine, live, epoch, at, above=since is None))
        since, day = at, day_of(live[at].at)
    return replace(epoch, insertions=(*epoch.insertions, *made)) if made else epoch


def anchor_day(engine: Engine, ledger: Ledger, held: Sequence[int]) -> Insertion:
    """Return the line behind the task in a list that is made anew.

    Args:
        engine: The store, from which texts are read.
        ledger: The conversation.
        held: The positions of the messages that begin the list: instructions, and the task.
    """
    live = ledger.live()
    task = [at for at in held if not live[at].facts.is_system]
    text = above_line(engine.cards, [live[at] for at in task]).text
    return Insertion(name="anchor_day", at=0, text=text, dated=tuple(task))


def _stated(epoch: Epoch) -> int | None:
    """Return the position of the message whose day was stated last; None if there is none."""
    return next((one.at for one in reversed(epoch.insertions) if one.name == "day"), None)


def _first_day(live: Sequence[Entry], epoch: Epoch) -> int | None:
    """Return the day with which a list begins; None if nothing was said or a line states it."""
    if any(one.name == "anchor_day" for one in epoch.insertions):
        return None
    shown = _shown(live, epoch, len(live))
    return day_of(live[shown[0]].at) if shown else None


def _shown(live: Sequence[Entry], epoch: Epoch, end: int) -> list[int]:
    """Return the positions that are shown before one, without those of system messages."""
    places = (*epoch.held, *range(epoch.start, end))
    return [at for at in places if not live[at].facts.is_system]


def _places(ledger: Ledger, first: int, epoch: Epoch) -> list[int]:
    """Return the positions, from one on, before which a line may stand."""
    live, accounts = ledger.live(), ledger.accounts()
    found: list[int] = []
    asked, until = accounts.asked_at, len(live)
    if asked is not None and not is_closed(live[max(first, asked + 1) :]):
        until = asked + 1
    for at in range(first, until):
        home = accounts.home(at)
        whole = accounts.members(home)[0] == at and accounts.boundary(home) == home
        if whole and may_stand(live[at - 1] if at > epoch.start else None, live[at]):
            found.append(at)
    return found


def _line(
    engine: Engine, live: Sequence[Entry], epoch: Epoch, at: int, *, above: bool
) -> Insertion:
    """Return the line before a message; the first one of a list says what stands above it, too."""
    day, end = day_of(live[at].at), at + 1
    while end < len(live) and day_of(live[end].at) == day and not live[end].facts.is_system:
        end += 1
    text = line_before(engine.cards, live[at:end]).text
    dated = range(at, end)
    undated: list[int] = []
    if above and not any(one.name == "anchor_day" for one in epoch.insertions):
        undated = _shown(live, epoch, at)
    if undated:
        earlier = above_line(engine.cards, [live[place] for place in undated])
        text = f"{earlier.text}\n{text}"
    return Insertion(name="day", at=at, text=text, dated=(*undated, *dated))
