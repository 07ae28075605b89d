"""When a provider is asked to compact a list, and whether the next list begins with the result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warmset.window.steady.compacted import at_compaction, behind, obstacle, sent_out
from warmset.window.steady.record import RECORDED
from warmset.window.steady.swap import Swap

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.state.ledger import Ledger
    from warmset.window.render import Call
    from warmset.window.request import Ask
    from warmset.window.result import Compaction
    from warmset.window.steady.resume import Plan
    from warmset.window.steady.windows import Made
    from warmset.window.summaries import Compactions


def by_provider(
    engine: Engine,
    ledger: Ledger,
    call: Call,
    ask: Ask,
    plan: Plan,
    provider: Compactions,
    why: str | None,
    *,
    hard: str,
) -> tuple[Swap | None, str | None]:
    """Use what the provider returned, or put off the next epoch while the provider can be asked.

    What arrived is used in the first list since, wherever that is in an exchange: later, a model
    might not take the thinking of the replies since the list that was compacted.

    Args:
        engine: The store.
        ledger: The conversation.
        call: The call that the list is for.
        ask: The arguments of the window.
        plan: The epoch before anything is recalled.
        provider: The provider's compactions.
        why: Why a new epoch begins without them; None if the list can grow.
        hard: The reason that cannot be put off.

    Returns:
        The next epoch behind a compaction, if one is used; and why a new epoch begins, or None.
    """
    with engine.lock:
        epochs = engine.epochs_of(ledger.tenant, ledger.name)
        tokens = {one.step.token for one in epochs.chain(plan.key)}
    one = provider.arrived(tokens, wait=why == hard)
    if one is not None:
        with engine.lock:
            if not plan.stands(engine, ledger):
                return None, why
            found = behind(engine, ledger, call, plan, one, soft_line(call, ask))
        if isinstance(found, str):
            provider.give_up(found)
        elif found is not None:
            return Swap(found, None, 0, over=False, returned=one), found.why
        return None, None if found is None else why
    if why == hard:
        provider.give_up("the list reached the budget first")
    elif why is not None:
        with engine.lock:
            blocked = obstacle(ledger, call)
        why = why if blocked or provider.obstacle(call) else None
    return None, why


def at_last_compaction(
    engine: Engine, ledger: Ledger, call: Call, ask: Ask, plan: Plan
) -> Swap | None:
    """Return an epoch that begins with a compaction that came with a reply; None if none does.

    The caller holds the engine's lock.

    Args:
        engine: The store.
        ledger: The conversation.
        call: The call that the list is for.
        ask: The arguments of the window.
        plan: The epoch before anything is recalled.
    """
    most = int(call.budget * (ask.options.swap_to + ask.options.swap_at) / 2)
    found = at_compaction(engine, ledger, call, plan, most)
    return None if found is None else Swap(found, None, 0, over=False)


def soft_line(call: Call, ask: Ask) -> int:
    """Return the tokens of a list from which on it is made anew when an exchange begins."""
    return int(call.budget * ask.options.swap_at)


def ask_provider(
    engine: Engine, ledger: Ledger, ask: Ask, found: Made, provider: Compactions
) -> None:
    """Take note of a used compaction; ask for one if the list came near the budget.

    Args:
        engine: The store.
        ledger: The conversation.
        ask: The arguments of the window.
        found: The list that is returned.
        provider: The provider's compactions.
    """
    call, swap = found.call, found.swap
    if found.outcome != RECORDED:
        return
    if swap is not None and swap.returned is not None:
        provider.applied(swap.returned)
    if found.made.tokens < soft_line(call, ask) or provider.obstacle(call):
        return
    with engine.lock:
        if engine.ledger(ledger.tenant, ledger.name) is not ledger or obstacle(ledger, call):
            return
        if ledger.history.head != found.now.head:
            return
        token = engine.epochs_of(ledger.tenant, ledger.name).last(found.plan.key)
        sent = sent_out(engine, ledger, call, found.now, found.made, token)
    if sent is not None:
        provider.ask(sent, call.budget)


def compaction_of(shown: Compaction, found: Made) -> Compaction:
    """Return the report of a preparation with the provider's compaction that a list shows.

    Args:
        shown: The report without it.
        found: The list.
    """
    stands = next((one for one in found.now.insertions if one.name == "compaction"), None)
    if stands is None or not stands.messages:
        return shown
    returned = None if found.swap is None else found.swap.returned
    saved = 0 if returned is None else returned.before - returned.tokens
    used = returned is not None
    return replace(shown, boundary=stands.at, applied=used, tokens_saved=saved, why=None)
