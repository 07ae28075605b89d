"""Mode "auto": a growing list or a list for each request, whichever the next calls cost less with.

The mode changes only when an exchange begins, and only if the other one is at least 20 % cheaper,
because the change itself costs the prompt cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.messages.thinking import THOUGHTS
from warmset.money import prices_of
from warmset.money.forecast import CALLS, Rhythm, growing_cost, renewed_cost
from warmset.window.steady.record import standing
from warmset.window.steady.resume import resume
from warmset.window.steady.write import epoch_tokens
from warmset.window.stored_choices import last_for

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.money import Prices
    from warmset.options import Mode
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger
    from warmset.window.render import Call
    from warmset.window.request import Ask, Request
    from warmset.window.steady.resume import Plan

CHEAPER: Final = 0.20
"""The share by which the other mode must be cheaper."""

LOOKED_AT: Final = 256
"""The newest messages from which the rhythm is read."""


@dataclass(frozen=True, slots=True)
class Weighing:
    """A choice that depends on the tokens of a list that is made for the request.

    Args:
        current: The mode so far; None at first.
        prices: The model's prices.
        rhythm: How the calls follow each other.
        budget: The most tokens of a list.
        growing: What the next calls cost with a growing list.
    """

    current: Mode | None
    prices: Prices
    rhythm: Rhythm
    budget: int
    growing: float

    def mode(self, tokens: int) -> Mode:
        """Return the mode.

        Args:
            tokens: The tokens of a list that is made for the request, at least or exactly.
        """
        renewed = renewed_cost(self.prices, self.rhythm, tokens=tokens, budget=self.budget)
        if self.current == "jit":
            return "steady" if self.growing <= renewed * (1 - CHEAPER) else "jit"
        return "jit" if renewed <= self.growing * (1 - CHEAPER) else "steady"


def weigh(
    engine: Engine, ledger: Ledger, ask: Ask, call: Call, request: Request, now: float
) -> Mode | Weighing:
    """Return the mode of a window, or what it depends on; the caller holds the engine's lock.

    Without prices, that is "steady" where the conversation has thinking or reasoning, else "jit".

    Args:
        engine: The store.
        ledger: The conversation.
        ask: The arguments of the window.
        call: The call that the list is for.
        request: The request.
        now: The time of the call, in seconds since 1970 UTC.
    """
    plan = resume(engine, ledger, call, request)
    current, asked = ledger.auto or (None, None)
    if asked != request.key:  # the exchange begins, unless another process began it
        if (begun := _begun(engine, ledger, request, plan)) is not None:
            return begun
    elif current is not None:
        return current
    if current is None and standing(engine, ledger, plan.key) is not None:
        current = "steady"  # another process made the last list
    prices = _prices(ask)
    if prices is None:
        return "steady" if _thinks(engine, ledger, call) else "jit"
    rhythm = rhythm_of(ledger.live(), now)
    growing = growing_cost(
        prices,
        rhythm,
        tokens=epoch_tokens(engine, ledger, call, plan.now),
        budget=call.budget,
        swap_at=ask.options.swap_at,
        swap_to=ask.options.swap_to,
    )
    return Weighing(current, prices, rhythm, call.budget, growing)


def _begun(engine: Engine, ledger: Ledger, request: Request, plan: Plan) -> Mode | None:
    """Return the mode of the exchange's last window in another process; None if there is none."""
    steady = plan.recorded is not None and not plan.begins
    jit = last_for(engine, ledger, request)
    chain = engine.epochs_of(ledger.tenant, ledger.name).chain(plan.key)
    if jit is not None and not (steady and chain and chain[-1].id > jit.id):
        return "jit"
    return "steady" if steady else None


def rhythm_of(live: list[Entry], now: float) -> Rhythm:
    """Return how the last calls of a conversation followed each other.

    Args:
        live: Its messages.
        now: The time of the next call, in seconds since 1970 UTC.
    """
    newest = live[-LOOKED_AT:]
    replies = [at for at, one in enumerate(newest) if one.facts.role == "assistant"]
    calls = [at for at in replies if at == 0 or newest[at - 1].facts.role != "assistant"]
    gaps: list[float] = []
    begins: list[bool] = []
    for before, at in zip(reversed(calls[:-1]), reversed(calls[1:]), strict=True):
        gaps.append(max(newest[at].at - newest[before].at, 0.0))
        asked = newest[at - 1].facts
        begins.append(asked.request and not asked.results)
    idle = max(now - newest[calls[-1]].at, 0.0) if calls else None
    counted = newest[calls[-CALLS] if len(calls) > CALLS else 0 :]
    growth = sum(one.tokens for one in counted) / max(min(len(calls), CALLS), 1)
    return Rhythm(idle, gaps[: CALLS - 1], begins[: CALLS - 1], growth)


def _prices(ask: Ask) -> Prices | None:
    options = ask.options
    if options.prices is not None or options.model is None:
        return options.prices
    return prices_of(options.model)


def _thinks(engine: Engine, ledger: Ledger, call: Call) -> bool:
    """Return whether any of the newest replies has thinking or reasoning."""
    ours = THOUGHTS.get(call.source)
    if ours is None:
        return False
    ids = [one.id for one in ledger.live()[-LOOKED_AT:] if one.facts.role == "assistant"]
    read, _ = engine.copies.get(ids)
    return any(map(ours.count, read))
