"""What an exchange needs of the messages that its epoch does not show, as one message of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.store.epochs import Insertion
from warmset.window.assemble import quote_block
from warmset.window.candidates import gather
from warmset.window.select import choose_lines, choose_quotes

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.options import Weights
    from warmset.pick import Picked
    from warmset.retrieve.hits import Found
    from warmset.state.ledger import Ledger
    from warmset.window.render import Call
    from warmset.window.request import Ask
    from warmset.window.steady.epoch import Epoch

ROOM_SHARE: Final = 0.25
"""The share of the tokens that an epoch has left which one recall may take."""

LINES_SHARE: Final = 0.25
"""The share of a recall that index lines may take."""


def room_of(call: Call, ask: Ask, tokens: int) -> int:
    """Return the most tokens that a recall may have.

    Args:
        call: The call.
        ask: The arguments of the window.
        tokens: The tokens of the list without the recall.
    """
    share = int(call.budget * ask.options.recall_share)
    return max(min(share, int((call.budget - tokens) * ROOM_SHARE)), 0)


def recalled(
    engine: Engine,
    ledger: Ledger,
    call: Call,
    ask: Ask,
    epoch: Epoch,
    found: Found,
    picked: Picked,
    weights: Weights,
    *,
    at: int,
    room: int,
) -> Insertion | None:
    """Choose what is recalled for a request; the caller holds the engine's lock.

    Args:
        engine: The store, from which texts are read.
        ledger: The conversation.
        call: The call that the list is for.
        ask: The arguments of the window.
        epoch: The epoch, which shows or quotes nothing of what was found.
        found: The hits of the search.
        picked: The hits that were picked.
        weights: Has the weight of decisions.
        at: The position of the request.
        room: The most tokens for the message.

    Returns:
        The message; None if nothing was found that is good enough and fits.
    """
    pool = gather(ledger, found, picked, weights)
    lines_room = int(room * LINES_SHARE) if ask.options.index_share else 0
    quoted = choose_quotes(engine, pool, room - lines_room)
    listed = epoch.listed
    others = [
        one
        for one in pool.others(engine.cards, quoted, ask.options.shortlist)
        if not _stands(ledger, epoch, listed, one.id)
    ]
    lines = choose_lines(engine, (), others, lines_room) if others else ()
    if not lines:  # quotations have their room, too
        quoted = choose_quotes(engine, pool, room)
    while quoted or lines:
        entries = [entry for unit in quoted for entry in unit]
        made = quote_block(engine, call.source, entries, lines)
        if made.tokens + made.index_tokens <= room:
            break
        lines, quoted = (lines[:-1], quoted) if lines else ((), quoted[:-1])
    else:
        return None
    return Insertion(
        name="recall",
        at=at,
        text=made.text,
        quoted=places(ledger, [entry.id for entry in entries]),
        listed=places(ledger, [entry.id for entry in lines]),
    )


def places(ledger: Ledger, ids: list[int]) -> tuple[int, ...]:
    """Return the positions of messages on the path, ascending."""
    found = (ledger.place(id_) for id_ in ids)
    return tuple(sorted(at for at in found if at is not None))


def _stands(ledger: Ledger, epoch: Epoch, listed: set[int], id_: int) -> bool:
    """Return whether the epoch shows a message or has a line of it."""
    at = ledger.place(id_)
    return at is None or at in listed or epoch.has(at)
