"""Builds windows in which a summary replaces the front of the conversation.

```text
system ─ task │ summary │ what was held before the boundary │ units behind the boundary, as they are
```

The summary takes the place of the first message that it replaces. If the rest is still too large,
the oldest units after the boundary are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from warmset.errors import BudgetTooSmall
from warmset.evict.gaps import ALTERNATING, gap_message, gap_role
from warmset.messages import text_message
from warmset.state.branches import ROOT
from warmset.state.prompt_prefix import Known
from warmset.tokens import PER_MESSAGE, PER_REPLY, extra_tokens
from warmset.window.assemble import Assembled, Draft, verbatim
from warmset.window.layout import Frame
from warmset.window.render import render, request_behind, total
from warmset.window.result import Part

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.messages import Message
    from warmset.prepare.stored import Ready
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger
    from warmset.state.unit_costs import Accounts
    from warmset.window.render import Call

_TRIES = 8
"""How often further units are left out because the list in the provider's format has more
tokens."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The units that are left out after a boundary.

    Args:
        boundary: The boundary; the cut is invalid for any other one.
        start: The first unprotected unit that stays.
    """

    boundary: int
    start: int


def beside(engine: Engine, call: Call) -> int:
    """Return the tokens of a call besides the conversation's messages."""
    tokens = PER_REPLY + extra_tokens(engine.encoding, system=call.system, tools=call.tools)
    return (
        tokens
        if call.request is None
        else tokens + PER_MESSAGE + engine.cards.plain(call.request).tokens
    )


def size(ledger: Ledger, ready: Ready | None, around: int) -> int:
    """Return the tokens of a window with or without a summary; filler messages do not count.

    Args:
        ledger: The conversation.
        ready: The summary.
        around: The tokens of the call besides the conversation's messages.
    """
    accounts = ledger.accounts()
    if ready is None:
        return around + accounts.roll.since(0)
    return around + _front(ledger, ready) + accounts.roll.since(accounts.home(ready.boundary))


def cut(ledger: Ledger, ready: Ready, room: int) -> Cut:
    """Leave out the oldest units after a boundary, so that the rest fits.

    Args:
        ledger: The conversation.
        ready: The summary of the messages before the boundary.
        room: The most tokens for the summary and the messages.

    Raises:
        BudgetTooSmall: The messages that must stay do not fit.
    """
    accounts = ledger.accounts()
    last = len(accounts) - 1  # the newest unit is the subject of the call
    stays = {*accounts.protected((last,)), *(accounts.home(at) for at in ready.held)}
    start, _ = accounts.roll.cut(sorted(stays), max(room - ready.tokens, 0))
    return Cut(ready.boundary, max(start, accounts.home(ready.boundary)))


def write(engine: Engine, ledger: Ledger, call: Call, ready: Ready, left: Cut | None) -> Assembled:
    """Write the messages of a window with a summary.

    Raises:
        ConversionError: The target dialect cannot express them.
        StoreError: A message could not be read.
    """
    live, accounts = ledger.live(), ledger.accounts()
    front = [live[at] for at in ready.held if at < ready.place]
    places = [at for at in ready.held if at > ready.place]
    places += _behind(accounts, ready, left)
    dialect = call.source
    fills = dialect in ALTERNATING
    plain: list[Message] = []
    turns: list[int] = []
    before: tuple[int, str] | None = None  # position and role

    def say(at: int, role: str, message: Message, turn: int) -> None:
        nonlocal before
        if fills and before is not None and before[0] + 1 != at:
            filler = gap_role(dialect, before[1], role)
            if filler is not None:
                plain.append(gap_message(dialect, filler))
                turns.append(ROOT)
        plain.append(message)
        turns.append(turn)
        before = (at, role)

    tail = [live[at] for at in places]
    known = Known()
    read = iter(verbatim(engine, [*front, *tail], known))
    for at, entry in zip(ready.held, front, strict=False):
        say(at, entry.facts.role, next(read), entry.id)
    say(-2, "user", ready.message, ROOT)
    for at, entry in zip(places, tail, strict=True):
        say(at, entry.facts.role, next(read), entry.id)
    if call.request is not None:
        request = text_message(call.source, "user", call.request)
        plain += request_behind(call.source, plain, request)
        turns += [ROOT] * (len(plain) - len(turns))
    done = render(call, plain)
    parts = _parts(engine, call, ready, front, tail)
    tokens = total(engine, call, done, known)
    frame = Frame([], [front], [tail], [])
    made = Assembled(done.messages, done.system, tokens, parts, Draft(frame), plain, turns, known)
    return replace(made, lost=done.lost)


def fitted(
    engine: Engine, ledger: Ledger, call: Call, ready: Ready, left: Cut | None, low: int
) -> tuple[Assembled, Cut | None]:
    """Write a window, leaving out further units until it is within the budget.

    Args:
        engine: The store, from which texts are read.
        ledger: The conversation.
        call: The call that the messages are for.
        ready: The summary.
        left: The units that are left out already.
        low: If units are left out, then until the rest has at most this many tokens.

    Returns:
        The window, and the units that it leaves out.

    Raises:
        BudgetTooSmall: The messages that must stay do not fit.
        ConversionError: The target dialect cannot express the messages.
        StoreError: A message could not be read.
    """
    around = beside(engine, call)
    made = write(engine, ledger, call, ready, left)
    for target in (low, call.budget):
        room = target - around
        for _ in range(_TRIES):
            if made.tokens <= call.budget:
                return made, left
            try:
                left = cut(ledger, ready, room)
            except BudgetTooSmall:
                break
            made = write(engine, ledger, call, ready, left)
            room -= max(made.tokens - call.budget, 0) + 1
    raise BudgetTooSmall(made.tokens, call.budget)


def _front(ledger: Ledger, ready: Ready) -> int:
    live = ledger.live()
    return ready.tokens + sum(live[at].tokens for at in ready.held)


def _behind(accounts: Accounts, ready: Ready, left: Cut | None) -> list[int]:
    """Return the positions of the messages that are sent after the boundary, ascending.

    Results without a call, and old calls without a result, are excluded: every provider rejects
    them.
    """
    first = accounts.home(ready.boundary)
    start = first if left is None or left.boundary != ready.boundary else max(left.start, first)
    stays = [unit for unit in accounts.protected((len(accounts) - 1,)) if first <= unit < start]
    places = accounts.roll.kept(stays, start)
    lost = accounts.unsendable(first)
    if lost:
        gone = [at for unit in lost for at in accounts.unit(unit).members]
        places = np.setdiff1d(places, np.array(gone, dtype=places.dtype))
    found: list[int] = places.tolist()
    return found


def _parts(
    engine: Engine, call: Call, ready: Ready, front: list[Entry], tail: list[Entry]
) -> tuple[Part, ...]:
    parts = [
        Part("anchor", sum(entry.tokens for entry in front), tuple(entry.id for entry in front)),
        Part("summary", ready.tokens, ready.settled.ids),
        Part("recent", sum(entry.tokens for entry in tail), tuple(entry.id for entry in tail)),
    ]
    parts = [part for part in parts if part.tokens]
    if call.request is not None:
        parts.append(Part("request", PER_MESSAGE + engine.count(call.request)))
    around = extra_tokens(engine.encoding, system=call.system, tools=call.tools)
    return (Part("system", around), *parts) if around else tuple(parts)
