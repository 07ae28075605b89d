"""Mode "auto": a growing list or a list for each request, whichever the next calls cost less with.

The mode changes only when an exchange begins, and only if the other one is at least 20 % cheaper,
because the change itself costs the prompt cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.messages.thinking import THOUGHTS
from warmset.money.forecast import growing_cost, renewed_cost
from warmset.window.rhythm import LOOKED_AT, rhythm_of
from warmset.window.steady.record import standing
from warmset.window.steady.resume import resume
from warmset.window.steady.write import epoch_tokens
from warmset.window.stored_choices import last_for

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.money import Prices
    from warmset.money.forecast import Rhythm
    from warmset.options import Mode
    from warmset.state.ledger import Ledger
    from warmset.window.render import Call
    from warmset.window.request import Ask, Request
    from warmset.window.steady.resume import Plan

CHEAPER: Final = 0.20
"""The share by which the other mode must be cheaper."""


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
    prices = ask.options.known_prices
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


def _thinks(engine: Engine, ledger: Ledger, call: Call) -> bool:
    """Return whether any of the newest replies has thinking or reasoning."""
    ours = THOUGHTS.get(call.source)
    if ours is None:
        return False
    ids = [one.id for one in ledger.live()[-LOOKED_AT:] if one.facts.role == "assistant"]
    read, _ = engine.copies.get(ids)
    return any(map(ours.count, read))
