"""The stages of building a window: pass small lists, choose what stays, choose what is quoted."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from warmset import messages
from warmset.errors import BudgetTooSmall
from warmset.messages import known_dialect
from warmset.options import (
    FILL_SHARE,
    MAX_PICKED,
    RECENT_SHARE,
    SMALL_BUDGET,
    SMALL_MESSAGES,
    SMALL_TOKENS,
    grown,
)
from warmset.pick import Candidate, Picked, ScorePicker, ask_picker
from warmset.retrieve.changers import changers_of
from warmset.state.branches import ROOT
from warmset.state.prompt_prefix import Known
from warmset.text.decisions import brief_task
from warmset.tokens import PER_MESSAGE, PER_REPLY, extra_tokens
from warmset.window.assemble import Assembled, Draft, day_lines, day_tokens, verbatim_ids, write
from warmset.window.candidates import gather
from warmset.window.choices import Frozen, Settled
from warmset.window.days import several_days
from warmset.window.decisions import decisions_of
from warmset.window.layout import Frame, cost, frame, must_stay, protected
from warmset.window.memos import memo_block
from warmset.window.newer import lines_with_newer, with_newer
from warmset.window.render import Call, beside_system, render, request_behind, total
from warmset.window.result import Part
from warmset.window.select import choose_lines, choose_quotes, lines_tokens
from warmset.window.summary_slot import settle, summary_tokens
from warmset.window.tool_shapes import shaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.engine.engine import Engine
    from warmset.messages import Dialect
    from warmset.options import Weights
    from warmset.pick import Picker
    from warmset.retrieve.hits import Found
    from warmset.state.entries import Live
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger
    from warmset.window.candidates import Pool
    from warmset.window.choices import Unused
    from warmset.window.request import Ask, Request


def call_of(engine: Engine, ledger: Ledger, ask: Ask, request: Request) -> Call:
    """Return the call that the messages are for.

    Raises:
        UnknownDialectError: The requested dialect is not known.
    """
    wanted = None if ask.options.dialect is None else known_dialect(ask.options.dialect)
    source = ledger.dialect or _read_as(engine, ledger, wanted)
    target, given = wanted or source, ask.options.tools
    tools = None if given is None else shaped(given, target)
    options = ask.options
    return Call(
        source, target, options.system, tools, request.send, ask.budget, options.model or ""
    )


def _read_as(engine: Engine, ledger: Ledger, wanted: Dialect | None) -> Dialect:
    """Return the dialect as which to read messages that are valid in several dialects.

    That is the wanted one, if every message is valid in it.
    """
    if wanted is None or wanted == "openai":
        return "openai"
    path = ledger.history.path
    checked, fits = ledger.valid_in.get(wanted, (ROOT, True))
    place = ledger.place(checked)
    fresh = path[:] if place is None else path[place + 1 :]
    if (fits or place is None) and fresh:
        read, _ = engine.copies.get(fresh)
        fits = messages.well_formed(read, wanted)
    if fresh:
        ledger.valid_in[wanted] = (fresh[-1], fits)
    return wanted if fits else "openai"


def whole(engine: Engine, live: Live, call: Call) -> Assembled:
    """Write a whole conversation, as it would be sent without warmset.

    The messages are the appended ones, unchanged.
    """
    known, ids, tokens_of = Known(), live.ids(), live.tokens()
    plain = verbatim_ids(engine, ids, tokens_of, known)
    parts = [Part("all", sum(tokens_of), tuple(ids))]
    if call.request is not None:
        request = messages.text_message(call.source, "user", call.request)
        plain += request_behind(call.source, plain, request)
        parts.append(Part("request", PER_MESSAGE + engine.count(call.request)))
    if beside := extra_tokens(engine.encoding, system=call.system, tools=call.tools):
        parts.insert(0, Part("system", beside))
    done = (
        beside_system(plain, call.system)
        if call.source == call.target == "anthropic" and call.request is None
        else render(call, plain)
    )
    empty = Draft(Frame([], [], [], [live]))
    tokens = total(engine, call, done, known)
    turns = [*ids, *[ROOT] * (len(plain) - len(ids))]
    made = Assembled(done.messages, done.system, tokens, tuple(parts), empty, plain, turns, known)
    return replace(made, lost=done.lost)


def cost_of_all(engine: Engine, ledger: Ledger, call: Call) -> int:
    """Return the tokens of the whole conversation without reading its messages."""
    return ledger.accounts().roll.since(0) + _beside(engine, call)


def untouched(ledger: Ledger, ask: Ask, tokens: int, call: Call) -> Live | None:
    """Return all entries that a provider takes if the list is sent unchanged, else None.

    In mode "jit" that is a list of few messages and few tokens that is within the budget; in mode
    "full" it is every list.
    """
    live = ledger.sendable()
    if ask.mode == "jit" and tokens < SMALL_TOKENS and tokens <= call.budget:
        count = sum(not entry.facts.is_system for entry in live) + (call.request is not None)
        return live if count < SMALL_MESSAGES else None
    return live if ask.mode == "full" else None


def least_tokens(engine: Engine, call: Call, base: Draft) -> int:
    """Return the tokens that a window has at least: those of its verbatim messages."""
    return _beside(engine, call) + sum(cost(unit) for unit in base.frame.units())


def stay(
    engine: Engine,
    ledger: Ledger,
    ask: Ask,
    request: Request,
    call: Call,
    *,
    kept: Frozen | None,
    offered: Settled | None = None,
) -> Draft:
    """Choose the units that are shown verbatim, and the summary after the task.

    Args:
        engine: The store, from which texts are read.
        ledger: The conversation.
        ask: The arguments of the window.
        request: The request.
        call: The call that the messages are for.
        kept: The choices of the exchange's last window.
        offered: The summary that is ready.

    Returns:
        A draft with the stable front and the tail, without retrieved turns.

    Raises:
        BudgetTooSmall: The messages that must stay do not fit.
    """
    recency = ask.mode == "recency"
    since = None if kept is None else kept.since
    recent = len(ledger.entries) if recency else ask.options.recent
    if kept is not None and since is None:
        recent = 0
    parts = frame(ledger, recent=recent, since=since, appended=request.send is None)
    fixed = _beside(engine, call) + sum(cost(unit) for unit in parts.instructions())
    task = _task(engine, parts)
    if parts.anchor and fixed + task + must_stay(parts) > call.budget:
        shortened = replace(parts, brief=True)
        if _task(engine, shortened) < task:
            parts, task = shortened, _task(engine, shortened)
    need = fixed + task + must_stay(parts)
    if need > call.budget:
        raise BudgetTooSmall(max(need, _least(engine, call, parts)), call.budget)
    room = call.budget - fixed - task
    share = 1.0 if recency or kept is not None else RECENT_SHARE
    if request.text and share < 1:  # within an exchange what was shown stays
        share *= grown(call.budget) ** 2
    made = settle(engine, call, parts, room, share, kept=kept, offered=offered)
    return made if recency else _dated(engine, ledger, ask, made)


def _least(engine: Engine, call: Call, parts: Frame) -> int:
    """Return the tokens of the smallest window, as they are counted on the written messages."""
    stays = protected(parts)
    current = [unit for at, unit in enumerate(parts.current) if at in stays]
    return write(engine, call, Draft(replace(parts, recent=[], current=current))).tokens


def quote_and_index(
    engine: Engine,
    ledger: Ledger,
    call: Call,
    ask: Ask,
    base: Draft,
    found: Found,
    picked: Picked,
    weights: Weights,
) -> Draft:
    """Choose the turns to quote and the lines of the scoped index within the remaining budget.

    Quotes and index share the tokens that the verbatim parts leave; a quoted turn gets no line. The
    index begins with the newest decisions of the conversation that no later one supersedes, so that
    they are not lost where the request does not ask for them.
    """
    parts = base.frame
    stable = sum(cost(unit) for unit in (*parts.instructions(), *parts.recent, *parts.current))
    stable += _task(engine, parts) + _beside(engine, call) + PER_MESSAGE
    stable += summary_tokens(engine, call, base.summary) + day_tokens(engine, call, base)
    if base.memories:
        stable += memo_block(engine, call.source, base.memories, pinned=False).tokens
    left = max(call.budget - stable, 0)
    share = ask.options.index_share * grown(call.budget)
    reserve = int(left * share)
    with engine.lock:
        fits = cost_of_all(engine, ledger, call) <= call.budget
        fill = None if fits else int((left - reserve) * FILL_SHARE)
        pool = gather(ledger, found, picked, weights, fill)
        changers, held = changers_of(engine, ledger), decisions_of(engine.cards, ledger)
    if pool.filled:
        left = int(left * FILL_SHARE)
    quoted = choose_quotes(engine, pool, left - reserve)
    lines: tuple[Entry, ...] = ()
    room = min(int(call.budget * share), reserve)
    if reserve:
        shown = {one.id for unit in (*parts.units(), *quoted) for one in unit}
        others = pool.others(held, quoted, ask.options.shortlist)
        lines = choose_lines(engine, pool.decisions(held, shown), others, room)
        spare = reserve - lines_tokens(engine, lines)
        if 2 * spare > reserve and len(quoted) < len(pool.units):
            quoted = choose_quotes(engine, pool, left - reserve + spare)
            shown = {one.id for unit in quoted for one in unit}
            lines = tuple(entry for entry in lines if entry.id not in shown)
    why = _unused(found, picked, pool, len(quoted))
    verbatim = [one for unit in parts.units() for one in unit]
    quotes_room = left - lines_tokens(engine, lines)
    with engine.lock:
        quoted, changed = with_newer(engine, ledger, quoted, changers, verbatim, quotes_room)
        known = (*verbatim, *(one for unit in quoted for one in unit))
        there = {one.id for one in known}
        lines = tuple(entry for entry in lines if entry.id not in there)
        lines, more = lines_with_newer(engine, lines, changers, known, room)
    draft = replace(
        base,
        quoted=quoted,
        lines=lines,
        changed=(*changed, *more),
        least=pool.least,
        unused=why,
    )
    if call.budget >= SMALL_BUDGET:
        return draft
    return _dated(engine, ledger, ask, _more_recent(engine, ledger, call, draft, ask, left))


def _dated(engine: Engine, ledger: Ledger, ask: Ask, draft: Draft) -> Draft:
    """Return a draft with the lines that name the days of its verbatim messages."""
    if ask.options.dates == "none":
        return draft
    shown = (entry for unit in draft.frame.units() for entry in unit)
    with engine.lock:
        several = several_days(ledger.live(), shown)
    dates = day_lines(engine, draft.frame) if several else ()
    return replace(draft, dates=dates)


def _more_recent(
    engine: Engine, ledger: Ledger, call: Call, draft: Draft, ask: Ask, left: int
) -> Draft:
    """Show recent units that a small budget left out, in room that retrieval leaves.

    Args:
        engine: The store, from which texts are read.
        ledger: The conversation.
        call: The call that the messages are for.
        draft: The window so far.
        ask: Has the number of recent units that are wanted.
        left: Tokens that the verbatim parts of the draft leave.
    """
    parts = draft.frame
    with engine.lock:
        wanted = frame(
            ledger, recent=ask.options.recent, since=None, appended=call.request is None
        ).recent
    oldest = parts.recent[0][0].id if parts.recent else math.inf
    older = [unit for unit in wanted if unit[0].id < oldest]
    if not older:
        return draft
    taken = sum(cost(unit) for unit in parts.recent)
    room = int((left + taken) * RECENT_SHARE) - taken
    if cost(older[-1]) > room:
        return draft
    room = min(room, int(call.budget * FILL_SHARE) - write(engine, call, draft).tokens)
    added: list[Sequence[Entry]] = []
    for unit in reversed(older):
        room -= cost(unit)
        if room < 0:
            break
        added.insert(0, unit)
    shown = {entry.id for unit in added for entry in unit}
    return replace(
        draft,
        frame=replace(parts, recent=[*added, *parts.recent]),
        quoted=tuple(unit for unit in draft.quoted if unit[0].id not in shown),
        lines=tuple(entry for entry in draft.lines if entry.id not in shown),
    )


def _unused(found: Found, picked: Picked, pool: Pool, quoted: int) -> Unused:
    """Return why no more units are quoted."""
    if quoted < len(pool.units):
        return "over_budget"
    if picked.by != "score":
        return "not_picked"
    if pool.least == math.inf:
        return "no_match"
    return "below_cut" if found.scores and found.scores[-1] < pool.least else "complete"


def _beside(engine: Engine, call: Call) -> int:
    """Return the tokens of a call besides the conversation's messages."""
    tokens = PER_REPLY + extra_tokens(engine.encoding, system=call.system, tools=call.tools)
    if call.request is None:
        return tokens
    return tokens + PER_MESSAGE + engine.cards.plain(call.request).tokens


def _task(engine: Engine, parts: Frame) -> int:
    """Return the tokens of the anchor, whole or as one line."""
    if parts.brief:
        return PER_MESSAGE + engine.count(brief_task(engine.text(parts.anchor[0][0].id)))
    return sum(cost(unit) for unit in parts.anchor)


def pick(picker: Picker | None, ask: Ask, request: Request, found: Found) -> Picked:
    """Pick turns from the hits, by the picker or by score."""
    if picker is None or isinstance(picker, ScorePicker):
        return Picked(tuple(found.ids), "score")
    candidates = [
        Candidate(hit.id, hit.speaker or hit.role, hit.summary, hit.decision, hit.score)
        for hit in found[: ask.options.shortlist]
    ]
    limit: int = getattr(picker, "max_picked", MAX_PICKED)
    limit = limit if ask.options.max_picked is None else ask.options.max_picked
    picked = ask_picker(picker, request.text, candidates, limit=limit)
    return replace(picked, ids=tuple(found.ids)) if picked.by == "score" else picked


def freeze(key: tuple[object, ...], found: Found, picked: Picked, draft: Draft) -> Frozen:
    """Return the choices of a window, for the next window of the same exchange."""
    recent = [entry.id for unit in draft.frame.recent for entry in unit]
    return Frozen(
        key=key,
        found=found,
        picked=picked,
        quoted=tuple(unit[0].id for unit in draft.quoted),
        lines=draft.lines,
        since=min(recent) if recent else None,
        summary=draft.summary,
        changed=draft.changed,
        least=draft.least,
        unused=draft.unused,
        memories=tuple(one.id for one in draft.memories),
    )


def again(ledger: Ledger, base: Draft, frozen: Frozen) -> Draft:
    """Repeat the choices of the exchange's last window."""
    shown = {entry.id for unit in base.frame.units() for entry in unit}
    lines = tuple(entry for entry in frozen.lines if entry.id in ledger.entries)
    # A quoted call may have got its result meanwhile, and be shown in the exchange with it.
    quoted = (unit for unit in ledger.together(frozen.quoted) if unit and unit[0].id not in shown)
    return replace(
        base,
        quoted=tuple(quoted),
        lines=lines,
        changed=frozen.changed,
        least=frozen.least,
        unused=frozen.unused,
    )
