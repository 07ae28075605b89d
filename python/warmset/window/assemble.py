"""Assembles the messages of one call from the chosen turns, within the budget.

Turns are chosen by their single token counts. The final messages are counted again as a whole, and
the weakest choices are dropped until that count is within the budget.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from warmset import messages
from warmset.errors import BudgetTooSmall
from warmset.evict.gaps import gap_message, gap_role
from warmset.quote.cache import NONE, Line
from warmset.quote.format import INDEX_TITLE, changed_line
from warmset.state.branches import ROOT
from warmset.state.prompt_prefix import Known
from warmset.text.decisions import brief_task
from warmset.text.markup import CLOSING, OPENING
from warmset.tokens import PER_REPLY, extra_tokens, message_tokens
from warmset.window.days import above_line, is_closed, tail_lines
from warmset.window.layout import protected
from warmset.window.memos import memo_block
from warmset.window.render import frame_tokens, render, request_behind, total
from warmset.window.result import Part, PartName

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from warmset.engine.engine import Engine
    from warmset.messages import Dialect, Lost, Message, System
    from warmset.state.entry import Entry
    from warmset.window.choices import Settled, Unused
    from warmset.window.days import DayLine
    from warmset.window.layout import Frame
    from warmset.window.memos import Memo
    from warmset.window.render import Call


NO_ROOM: Final = "the budget has no room for it beside what is shown verbatim"
"""Why a summary that is ready is not shown."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Messages of a window, and the parts that they show; several parts may share one message.

    Args:
        parts: The parts.
        messages: The messages.
        turns: The id of each message; `ROOT` for one that is no turn.
        in_place: The role of each message that stands in the order of the conversation, behind what
            was retrieved; None where the piece stands as a whole.
        before: The id of the message that a line with a day stands before; None for other pieces.
    """

    parts: tuple[Part, ...]
    messages: list[Message]
    turns: tuple[int, ...] = (ROOT,)
    in_place: tuple[str, ...] | None = None
    before: int | None = None


class Block(NamedTuple):
    """Quoted turns and index lines as one text.

    Args:
        text: The text, marked as data.
        message: The user message that shows it.
        index_tokens: The tokens of the index.
        tokens: The tokens of the rest of the message.
    """

    text: str
    message: Message
    index_tokens: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A window before it is checked against the budget.

    Args:
        frame: The units that are shown verbatim.
        quoted: Units that are quoted, the best first.
        lines: Messages in the scoped index, the best first.
        summary: The summary that is shown after the task.
        without: Why no summary is shown, if one is ready.
        dates: The lines beside the verbatim messages that name their days.
        changed: Ids of quoted and listed messages of which a value was changed later, each with the
            id of the message that changed it.
        memories: Memories, and turns of other conversations, that are quoted, the best first.
        least: The score that a hit needed to be quoted; None if nothing was retrieved.
        unused: Why no more is quoted; None if nothing was retrieved.
    """

    frame: Frame
    quoted: tuple[tuple[Entry, ...], ...] = ()
    lines: tuple[Entry, ...] = ()
    summary: Settled | None = None
    without: str | None = None
    dates: tuple[DayLine, ...] = ()
    changed: tuple[tuple[int, int], ...] = ()
    memories: tuple[Memo, ...] = ()
    least: float | None = None
    unused: Unused | None = None


@dataclass(frozen=True, slots=True)
class Assembled:
    """The messages of one call, their tokens, and the digests of those that are verbatim.

    `plain` are the messages before they were converted, and `turns` the id of each of them; `ROOT`
    for one that is no turn. `lost` is what the conversion to another dialect left out.
    """

    messages: list[Message]
    system: System | None
    tokens: int
    parts: tuple[Part, ...]
    draft: Draft
    plain: Sequence[Message]
    turns: Sequence[int]
    known: Known = field(default_factory=Known)
    lost: tuple[Lost, ...] = ()


def verbatim(engine: Engine, entries: Sequence[Entry], known: Known) -> list[Message]:
    """Read messages that are shown verbatim, and add them to `known`.

    Raises:
        StoreError: A message could not be read.
    """
    ids, tokens = [entry.id for entry in entries], [entry.tokens for entry in entries]
    return verbatim_ids(engine, ids, tokens, known)


def verbatim_ids(
    engine: Engine, ids: Sequence[int], tokens: Sequence[int], known: Known
) -> list[Message]:
    """Read messages by their ids, each with what it costs; see `verbatim`."""
    read, marks = engine.copies.get(ids)
    known.add(read, marks, tokens)
    return read


def assemble(engine: Engine, call: Call, draft: Draft) -> Assembled:
    """Write the messages of a draft, and drop its weakest choices until they fit the budget.

    Args:
        engine: The store, from which texts are read.
        call: The call that the messages are for.
        draft: The turns that they should show.

    Returns:
        The messages, within the budget.

    Raises:
        BudgetTooSmall: They do not fit, and nothing is left to drop.
        ConversionError: The target dialect cannot express them.
    """
    while True:
        made = write(engine, call, draft)
        if made.tokens <= call.budget:
            return made
        weaker = _weaker(engine, draft)
        if weaker is None and draft.frame.anchor and not draft.frame.brief:
            # Filler messages took what the task needs; the loop ends, for a task is brief once.
            brief = replace(draft, frame=replace(draft.frame, brief=True))
            weaker = brief if write(engine, call, brief).tokens < made.tokens else None
        if weaker is None:
            raise BudgetTooSmall(made.tokens, call.budget)
        draft = weaker


def write(engine: Engine, call: Call, draft: Draft) -> Assembled:
    """Write the messages of a draft, regardless of the budget.

    Raises:
        ConversionError: The target dialect cannot express them.
    """
    frame = draft.frame
    pieces: list[Piece] = []
    known = Known()

    def show(name: PartName, units: list[Sequence[Entry]], *, in_place: bool = False) -> None:
        entries = sorted((entry for unit in units for entry in unit), key=attrgetter("id"))
        if entries:
            ids = tuple(entry.id for entry in entries)
            tokens = sum(entry.tokens for entry in entries)
            read = verbatim(engine, entries, known)
            roles = tuple(entry.facts.role for entry in entries)
            part = Part(name, tokens, ids)
            pieces.append(Piece((part,), read, ids, roles if in_place else None))

    show("system", frame.system)
    if frame.brief:
        task = frame.anchor[0][0]
        line = engine.cards.plain(brief_task(engine.text(task.id)))
        pieces.append(_user_piece(engine, call, "anchor", line, (task.id,)))
    else:
        show("anchor", frame.anchor)
    for day in draft.dates:
        line = engine.cards.plain(day.text)
        piece = _user_piece(engine, call, "dates", line, day.ids)
        pieces.append(replace(piece, before=day.before))
    if draft.summary is not None:
        line = Line(draft.summary.text, draft.summary.tokens)
        pieces.append(_user_piece(engine, call, "summary", line, draft.summary.ids))
    if draft.memories:
        block = memo_block(engine, call.source, draft.memories, pinned=False)
        part = Part("memories", block.tokens, block.ids)
        said = messages.text_message(call.source, "user", block.text)
        pieces.append(Piece((part,), [said]))
    if draft.quoted or draft.lines:
        pieces.append(_retrieved(engine, call, draft))
    show("system", frame.placed, in_place=True)
    show("recent", frame.recent, in_place=True)
    show("current", frame.current, in_place=True)
    if call.request is not None:
        line = engine.cards.plain(call.request)
        pieces.append(_user_piece(engine, call, "request", line, ()))
    ordered = _in_order(call.source, pieces)
    plain = [message for _, message in ordered]
    done = render(call, plain)
    beside = extra_tokens(engine.encoding, system=call.system, tools=call.tools)
    parts = [part for piece in pieces for part in piece.parts]
    tokens = (
        sum(part.tokens for part in parts) + beside + PER_REPLY
        if call.source == call.target != "anthropic" and engine.encoding != "estimate"
        else total(
            engine, call, done, known
        )  # conversion merges or rewrites messages, or counts are rounded
    )
    if beside:
        parts.insert(0, Part("system", beside))
    turns = [id_ for id_, _ in ordered]
    made = Assembled(done.messages, done.system, tokens, tuple(parts), draft, plain, turns, known)
    return replace(made, lost=done.lost)


def marks_of(changed: Iterable[tuple[int, int]], verbatim: Collection[int]) -> dict[int, str]:
    """Return the lines behind messages of which a value was changed later, by id.

    Args:
        changed: Ids of the messages, each with that of the one that changed it.
        verbatim: Ids of messages that are shown verbatim.
    """
    return {old: changed_line(new, below=new in verbatim) for old, new in changed}


def day_lines(engine: Engine, frame: Frame) -> tuple[DayLine, ...]:
    """Return the lines with the days of the messages that are shown verbatim, in order."""
    cards = engine.cards
    anchor = [entry for unit in frame.anchor for entry in unit]
    since = [entry for unit in frame.current for entry in unit][1:]
    until = None if is_closed(since) else frame.current[0][0].id
    units = (*frame.placed, *frame.recent, *frame.current)
    above = [above_line(cards, anchor)] if anchor else []
    return (*above, *tail_lines(cards, units, until=until))


def day_tokens(engine: Engine, call: Call, draft: Draft) -> int:
    """Return the tokens of the lines with days, as they are counted in a window."""
    lines = [engine.cards.plain(day.text).tokens for day in draft.dates]
    return sum(lines) + frame_tokens(call.source, engine.encoding) * len(lines)


def _user_piece(
    engine: Engine, call: Call, name: PartName, line: Line, ids: tuple[int, ...]
) -> Piece:
    """Make a user message of a text."""
    part = Part(name, frame_tokens(call.source, engine.encoding) + line.tokens, ids)
    return Piece((part,), [messages.text_message(call.source, "user", line.text)])


def quote_block(
    engine: Engine,
    dialect: Dialect,
    quoted: Iterable[Entry],
    lines: Iterable[Entry],
    head: str = "",
    changed: Mapping[int, str] = NONE,
) -> Block:
    """Write an index and quoted turns as one text, in the order of the conversation.

    Args:
        engine: The store, from which texts are read.
        dialect: The dialect of the user message that will show it.
        quoted: The messages to quote.
        lines: The messages to list, one line each.
        head: A line before the index.
        changed: By id, the line behind a message of which a value was changed later.
    """
    cards = engine.cards
    shown, listed = sorted(quoted, key=attrgetter("id")), sorted(lines, key=attrgetter("id"))
    index = [cards.plain(INDEX_TITLE)] if listed else []
    for one in listed:
        index.append(cards.line(one))
        if one.id in changed:
            index.append(cards.plain(changed[one.id]))
    index = [cards.plain(head), *index] if head else index
    turns = cards.quotes(shown, changed)
    ends = [cards.plain(OPENING), cards.plain(CLOSING)]
    text = "".join(line.text for line in (ends[0], *index, *turns, ends[1]))
    of_index = sum(line.tokens for line in index)
    message = messages.text_message(dialect, "user", text)
    spoken = sum(line.tokens for line in (*ends, *turns))
    spoken += frame_tokens(dialect, engine.encoding)
    if engine.encoding == "estimate":  # each count is rounded
        spoken = message_tokens([message], engine.encoding)[0] - of_index
    return Block(text, message, of_index, spoken)


def _retrieved(engine: Engine, call: Call, draft: Draft) -> Piece:
    """Write the scoped index and the quoted turns, as one message."""
    shown = sorted((e for unit in draft.quoted for e in unit), key=attrgetter("id"))
    lines = sorted(draft.lines, key=attrgetter("id"))
    marks = marks_of(draft.changed, {one.id for unit in draft.frame.units() for one in unit})
    made = quote_block(engine, call.source, shown, lines, changed=marks)
    parts = [Part("index", made.index_tokens, tuple(entry.id for entry in lines))] if lines else []
    parts.append(Part("retrieved", made.tokens, tuple(entry.id for entry in shown)))
    return Piece(tuple(parts), [made.message])


def _in_order(dialect: Dialect, pieces: list[Piece]) -> list[tuple[int, Message]]:
    """Return the messages of all pieces, each with its turn's id.

    Those in place are sorted, as a late tool result; what was said before the task stands before
    it.
    """
    tail = [
        (id_, id_, role, message)
        for piece in pieces
        if piece.in_place is not None
        for id_, role, message in zip(piece.turns, piece.in_place, piece.messages, strict=True)
    ]
    days = [(one.before, ROOT, "user", one.messages[0]) for one in pieces if one.before is not None]
    tail = sorted([*days, *tail], key=itemgetter(0))  # of the same place, the day comes first
    request = [piece for piece in pieces if piece.parts[-1].name == "request"]
    said: list[tuple[int, Message]] = []
    for piece in pieces:
        if piece.parts[-1].name == "anchor":
            first = piece.parts[-1].ids[0]
            said += [(id_, message) for at, id_, _, message in tail if at < first]
            tail = [placed for placed in tail if placed[0] > first]
        if piece.in_place is None and piece.before is None and piece not in request:
            said += zip(piece.turns, piece.messages, strict=True)
    before = "user" if said else ""
    for _, id_, role, message in tail:
        filler = gap_role(dialect, before, role) if "system" in (before, role) else None
        if filler is not None:
            said.append((ROOT, gap_message(dialect, filler)))
        said.append((id_, message))
        before = role
    for piece in request:
        listed = [message for _, message in said]
        added = request_behind(dialect, listed, piece.messages[0])
        said += [(ROOT, message) for message in added]
    return said


def _weaker(engine: Engine, draft: Draft) -> Draft | None:
    """Drop the weakest choice.

    That is a line, a memory, a quote, the summary, a recent unit, days, or a tool step.
    """
    frame = draft.frame
    if draft.lines or draft.memories:
        memories = draft.memories if draft.lines else draft.memories[:-1]
        return replace(draft, lines=draft.lines[:-1], memories=memories)
    if draft.quoted:
        return replace(draft, quoted=draft.quoted[:-1], unused="over_budget")
    if draft.summary is not None:
        return replace(draft, summary=None, without=NO_ROOM)
    if frame.recent or draft.dates:
        fewer = replace(frame, recent=frame.recent[1:])
        dates = day_lines(engine, fewer) if draft.dates and frame.recent else ()
        return replace(draft, frame=fewer, dates=dates)
    for at in sorted(set(range(len(frame.current))) - protected(frame)):
        current = [*frame.current[:at], *frame.current[at + 1 :]]
        return replace(draft, frame=replace(frame, current=current))
    return None
