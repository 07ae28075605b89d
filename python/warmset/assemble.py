"""From the chosen turns to the messages of one call: quoted, ordered, counted, made to fit.

What is planned with costs of single turns is counted again on the final messages, by the same
counter as everything else, and the weakest choices leave until that count is within the budget.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from warmset import messages
from warmset.counting import PER_REPLY, extra_tokens, message_tokens
from warmset.errors import BudgetTooSmall
from warmset.notes import brief_task
from warmset.window import INDEX_TITLE, Part, PartName, block, index_line, quotes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.engine import Engine
    from warmset.layout import Frame
    from warmset.ledger import Entry
    from warmset.messages import Dialect, Message, System


_TAIL: Final = ("recent", "current", "request")

Piece: TypeAlias = tuple[PartName, list["Message"], tuple[int, ...]]
"""A part's name, its messages, and the ids that it shows."""


@dataclass(frozen=True, slots=True)
class Call:
    """What the messages are for.

    Args:
        source: How the conversation is written.
        target: How the window is to be written.
        system: A system prompt beside the conversation.
        tools: Tool schemas that travel along.
        request: A text to send last, if the request is no message of the conversation.
        budget: Tokens that it may cost.
    """

    source: Dialect
    target: Dialect
    system: System | None
    tools: Sequence[Mapping[str, Any]] | None
    request: str | None
    budget: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A window before it is checked against the budget.

    Args:
        frame: What is shown verbatim.
        quoted: Units that are quoted, the best first.
        lines: Messages in the scoped index, the best first.
    """

    frame: Frame
    quoted: tuple[tuple[Entry, ...], ...] = ()
    lines: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Assembled:
    """Messages of one call with what they cost."""

    messages: list[Message]
    system: System | None
    tokens: int
    parts: tuple[Part, ...]
    draft: Draft


def assemble(engine: Engine, call: Call, draft: Draft) -> Assembled:
    """Write the messages of a draft, and drop its weakest choices until they fit.

    Args:
        engine: Where texts are read.
        call: What the messages are for.
        draft: What they should show.

    Returns:
        The messages, within the budget.

    Raises:
        BudgetTooSmall: Nothing is left to drop, and they do not fit.
        ConversionError: The target dialect cannot say them.
    """
    while True:
        made = write(engine, call, draft)
        if made.tokens <= call.budget:
            return made
        weaker = _weaker(draft)
        if weaker is None:
            raise BudgetTooSmall(made.tokens, call.budget)
        draft = weaker


def write(engine: Engine, call: Call, draft: Draft) -> Assembled:
    """Write the messages of a draft, whatever they cost.

    Raises:
        ConversionError: The target dialect cannot say them.
    """
    frame = draft.frame
    pieces: list[Piece] = []

    def verbatim(name: PartName, units: list[list[Entry]]) -> None:
        ids = sorted(entry.id for unit in units for entry in unit)
        if ids:
            pieces.append((name, [engine.message(id_) for id_ in ids], tuple(ids)))

    verbatim("system", frame.system)
    if frame.brief:
        task = frame.anchor[0][0]
        line = brief_task(engine.text(task.id))
        pieces.append(("anchor", [messages.text_message(call.source, "user", line)], (task.id,)))
    else:
        verbatim("anchor", frame.anchor)
    shown = sorted((e for unit in draft.quoted for e in unit), key=lambda entry: entry.id)
    lines = sorted(draft.lines, key=lambda entry: entry.id)
    if shown or lines:
        index = "".join(index_line(entry, engine.text(entry.id)) for entry in lines)
        text = block(index, quotes([(entry, engine.text(entry.id)) for entry in shown]))
        ids = tuple(entry.id for entry in (*lines, *shown))
        pieces.append(("retrieved", [messages.text_message(call.source, "user", text)], ids))
    verbatim("recent", frame.recent)
    verbatim("current", frame.current)
    if call.request is not None:
        pieces.append(("request", [messages.text_message(call.source, "user", call.request)], ()))
    return _finish(engine, call, draft, pieces)


def _finish(
    engine: Engine,
    call: Call,
    draft: Draft,
    pieces: list[Piece],
) -> Assembled:
    plain = _in_order(pieces)
    done = render(call, plain)
    tokens = total(engine, call, done)
    parts: list[Part] = []
    beside = extra_tokens(engine.encoding, system=call.system, tools=call.tools)
    if beside:
        parts.append(Part("system", beside))
    for name, part, ids in pieces:
        cost = sum(message_tokens(part, engine.encoding))
        if name == "retrieved" and draft.lines:
            index = "".join(index_line(e, engine.text(e.id)) for e in draft.lines)
            of_index = engine.count(index) + engine.count(INDEX_TITLE)
            count = len(draft.lines)
            parts.append(Part("index", of_index, ids[:count]))
            parts.append(Part("retrieved", cost - of_index, ids[count:]))
        else:
            parts.append(Part(name, cost, ids))
    return Assembled(done.messages, done.system, tokens, tuple(parts), draft)


def _in_order(pieces: list[Piece]) -> list[Message]:
    """Return the messages of all pieces; a result that came late lies among recent messages."""
    tail = [
        (id_, message)
        for name, part, ids in pieces
        if name in _TAIL[:2]
        for id_, message in zip(ids, part, strict=True)
    ]
    tail.sort(key=itemgetter(0))
    before = [m for name, part, _ in pieces if name not in _TAIL for m in part]
    after = [m for name, part, _ in pieces if name == "request" for m in part]
    return [*before, *(message for _, message in tail), *after]


def render(call: Call, plain: list[Message]) -> messages.Converted:
    """Say messages in the target dialect, the system prompt where that dialect has it.

    Raises:
        ConversionError: Something would be lost.
    """
    if call.source == call.target == "anthropic":
        return messages.Converted(messages.alternate(plain), call.system)
    if call.source == call.target:
        if call.system is None:
            return messages.Converted(plain, None)
        head: Message = {"role": "system", "content": call.system}
        return messages.Converted([head, *plain], None)
    if call.source == "openai" and call.system is not None:
        plain = [{"role": "system", "content": call.system}, *plain]
    beside = call.system if call.source == "anthropic" else None
    return messages.convert(plain, source=call.source, target=call.target, system=beside)


def total(engine: Engine, call: Call, done: messages.Converted) -> int:
    """Count what a call costs in all."""
    counted = sum(message_tokens(done.messages, engine.encoding)) + PER_REPLY
    return counted + extra_tokens(engine.encoding, system=done.system, tools=call.tools)


def _weaker(draft: Draft) -> Draft | None:
    """Drop the weakest choice of a draft: a line, a quote, a recent unit, a tool step."""
    frame = draft.frame
    if draft.lines:
        return replace(draft, lines=draft.lines[:-1])
    if draft.quoted:
        return replace(draft, quoted=draft.quoted[:-1])
    if frame.recent:
        return replace(draft, frame=replace(frame, recent=frame.recent[1:]))
    if len(frame.current) > 2:  # noqa: PLR2004 - the request and the last unit stay
        current = [frame.current[0], *frame.current[2:]]
        return replace(draft, frame=replace(frame, current=current))
    return None
