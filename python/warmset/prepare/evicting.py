"""Builds the window if no summary is ready in time: the newest units that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.errors import BudgetTooSmall
from warmset.messages import text_message
from warmset.state.branches import ROOT
from warmset.tokens import PER_MESSAGE, PER_REPLY, extra_tokens
from warmset.window.assemble import Assembled, Draft
from warmset.window.cut import cut_conversation
from warmset.window.cut_result import CutAsk
from warmset.window.layout import Frame
from warmset.window.render import render, total
from warmset.window.result import Part

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.state.ledger import Ledger
    from warmset.window.render import Call

_TRIES = 5


def evicted(engine: Engine, ledger: Ledger, call: Call, low: int) -> tuple[Assembled, int]:
    """Leave out the oldest units, and keep the previous cut while it fits.

    Args:
        engine: The store, from which texts are read.
        ledger: The conversation.
        call: The call that the messages are for.
        low: A new cut leaves at most this many tokens.

    Returns:
        The window, and the number of messages that it leaves out.

    Raises:
        BudgetTooSmall: The messages that must stay do not fit.
        ConversionError: The target dialect cannot express the messages.
        StoreError: A message could not be read.
    """
    request = 0 if call.request is None else PER_MESSAGE + engine.count(call.request)
    have, over, need = call.budget - request, 0, 0
    for _ in range(_TRIES):
        made, count = _cut(engine, ledger, call, have - over, min(low - request, have) - over)
        if made.tokens <= call.budget:
            return made, count
        need = made.tokens
        over += (
            need - call.budget
        )  # the list in the target dialect has more tokens than its messages
    raise BudgetTooSmall(need, call.budget)


def _cut(engine: Engine, ledger: Ledger, call: Call, have: int, low: int) -> tuple[Assembled, int]:
    if have <= 0:
        raise BudgetTooSmall(call.budget - have, call.budget)
    last = tuple(ledger.history.path[-1:])  # the newest message is the subject of the call
    ask = CutAsk(budget=have, low=max(low, 0), pins=last, system=call.system, tools=call.tools)
    kept = cut_conversation(engine, ledger, ask)
    plain, turns = kept.messages.copy(), kept.turns
    around = extra_tokens(engine.encoding, system=call.system, tools=call.tools)
    parts = [Part("recent", kept.tokens - around - PER_REPLY, tuple(kept.ids))]
    if call.request is not None:
        plain.append(text_message(call.source, "user", call.request))
        turns.append(ROOT)
        parts.append(Part("request", PER_MESSAGE + engine.count(call.request)))
    done = render(call, plain)
    if around:
        parts.insert(0, Part("system", around))
    frame = Frame([], [], [[ledger.entries[id_]] for id_ in kept.ids], [])
    tokens = total(engine, call, done)
    draft = Draft(frame)
    made = Assembled(
        done.messages, done.system, tokens, tuple(parts), draft, plain, turns, lost=done.lost
    )
    return made, len(kept.evicted)
