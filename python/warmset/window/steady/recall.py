"""What an exchange needs of the messages that its epoch does not show, as one message of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.retrieve.changers import changers_of
from warmset.store.epochs import Insertion
from warmset.window.assemble import marks_of, quote_block
from warmset.window.candidates import gather
from warmset.window.decisions import decisions_of
from warmset.window.newer import lines_with_newer, with_newer
from warmset.window.select import choose_lines, choose_quotes
from warmset.window.steady.index_role import lines_role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.engine.engine import Engine
    from warmset.options import Weights
    from warmset.pick import Picked
    from warmset.retrieve.hits import Found
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger
    from warmset.window.assemble import Block
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
) -> tuple[Insertion, ...]:
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
        room: The most tokens for the messages.

    Returns:
        The message; with `index_role` "system" one for quotations and one for lines; none if
        nothing was found that is good enough and fits.
    """
    pool, live = gather(ledger, found, picked, weights), ledger.live()
    role = lines_role(engine, ledger, call, ask, front=False)
    lines_room = int(room * LINES_SHARE) if ask.options.index_share else 0
    around = 0 if role == "user" else quote_block(engine, call.source, (), ()).tokens
    quoted = choose_quotes(engine, pool, room - lines_room - around)
    listed = epoch.listed
    others = [
        one
        for one in pool.others(decisions_of(engine.cards, ledger), quoted, ask.options.shortlist)
        if not _stands(ledger, epoch, listed, one.id) and (role == "user" or not one.facts.results)
    ]
    lines = choose_lines(engine, (), others, lines_room) if others else ()
    if not lines:  # quotations have their room, too
        quoted = choose_quotes(engine, pool, room)
    verbatim = [live[at] for at in epoch.held] + live[epoch.start :]
    known = [*verbatim, *(live[at] for at in sorted(epoch.quoted))]
    changers = changers_of(engine, ledger)
    quoted, changed = with_newer(engine, ledger, quoted, changers, known, room)
    known += [one for unit in quoted for one in unit]
    lines, more = lines_with_newer(engine, lines, changers, known, lines_room)
    marks = marks_of((*changed, *more), {one.id for one in verbatim})
    while quoted or lines:
        entries = [entry for unit in quoted for entry in unit]
        texts = _texts(engine, call, entries, lines, marks, apart=role != "user")
        if sum(made.tokens + made.index_tokens for made in texts) <= room:
            break
        lines, quoted = (lines[:-1], quoted) if lines else ((), quoted[:-1])
    else:
        return ()
    quotes = places(ledger, [entry.id for entry in entries])
    shown = places(ledger, [entry.id for entry in lines])
    if role == "user":
        one = Insertion(name="recall", at=at, text=texts[0].text, quoted=quotes, listed=shown)
        return (one,)
    said = [Insertion(name="recall", at=at, text=texts[0].text, quoted=quotes)] if quoted else []
    if lines:  # in an Anthropic list, what the user says goes before it
        behind = at + (call.target == "anthropic")
        text = texts[-1].text
        said.append(Insertion(name="listing", at=behind, text=text, listed=shown, role=role))
    return tuple(said)


def _texts(
    engine: Engine,
    call: Call,
    entries: list[Entry],
    lines: Sequence[Entry],
    marks: Mapping[int, str],
    *,
    apart: bool,
) -> list[Block]:
    """Write quotations and lines as one text, or as one each."""
    parts: tuple[tuple[Sequence[Entry], Sequence[Entry]], ...] = ((entries, lines),)
    if apart:
        parts = ((entries, ()), ((), lines))
    return [
        quote_block(engine, call.source, quoted, listed, changed=marks)
        for quoted, listed in parts
        if quoted or listed
    ]


def places(ledger: Ledger, ids: list[int]) -> tuple[int, ...]:
    """Return the positions of messages on the path, ascending."""
    found = (ledger.place(id_) for id_ in ids)
    return tuple(sorted(at for at in found if at is not None))


def _stands(ledger: Ledger, epoch: Epoch, listed: set[int], id_: int) -> bool:
    """Return whether the epoch shows a message or has a line of it."""
    at = ledger.place(id_)
    return at is None or at in listed or epoch.has(at)
