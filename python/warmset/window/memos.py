"""Memories, and turns of other conversations, as a window quotes them.

```text
system ─ pinned │ task ─ summary │ recalled │ index, quotes │ recent units │ request …
   stable front                  │        retrieved         │     verbatim tail
```

They are data in a message of the user, each with its name, its origin and its day; pinned ones
stand in the system prompt if that is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from warmset import messages
from warmset.errors import Erased, NotFound
from warmset.items.index import item_index
from warmset.items.item import made_at, name_of, origin_of, origin_of_message, spoken
from warmset.quote.cache import Line
from warmset.quote.format import memory_quote
from warmset.state.branches import ROOT
from warmset.text.markup import MEMORY_CLOSING, PINNED, RECALLED
from warmset.tokens import message_tokens
from warmset.window.render import frame_tokens, render, total
from warmset.window.result import MemoryChoice, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset.engine.engine import Engine
    from warmset.items.item import Origin
    from warmset.messages import Dialect, Message
    from warmset.state.ledger import Ledger
    from warmset.store.derived import Made
    from warmset.window.assemble import Assembled
    from warmset.window.render import Call
    from warmset.window.result import MemoryReason, PartName

OPENINGS: Final = {"pinned": PINNED, "recalled": RECALLED}


@dataclass(frozen=True, slots=True)
class Memo:
    """A memory, or a turn of another conversation.

    Args:
        id: The id of its record.
        name: Its name.
        line: The line or lines that quote it.
        origin: Whose words these are; None if that is not known.
        conversation: The conversation that it belongs to; None if it belongs to the tenant.
        sources: Ids of the records that it was made from, and says no more than.
        said: Its words, as `spoken` returns them.
        score: Its score for the request; None without one.
    """

    id: int
    name: str
    line: Line
    origin: Origin | None
    conversation: str | None
    sources: tuple[int, ...]
    said: str
    score: float | None = None

    def choice(self, reason: MemoryReason, *, shown: bool) -> MemoryChoice:
        """Return why it is in a window or not."""
        return MemoryChoice(
            id=self.id,
            memory_id=self.name,
            tokens=self.line.tokens,
            shown=shown,
            reason=reason,
            origin=self.origin,
            conversation=self.conversation,
            score=self.score,
        )


class MemoBlock(NamedTuple):
    """Memories as one text.

    Args:
        text: The text, marked as data.
        ids: The ids of their records.
        tokens: The tokens of the message that shows it.
    """

    text: str
    ids: tuple[int, ...]
    tokens: int


def memory_memo(engine: Engine, made: Made, text: str, score: float | None = None) -> Memo:
    """Return a memory as it is quoted."""
    name, origin = name_of(made), origin_of(made)
    said = memory_quote(name, origin, made_at(made), text)
    line = Line(said, engine.count(said))
    # One that was revised says something else than what it was made of.
    sources = () if made.fields.get("replaces") else made.sources
    return Memo(made.id, name, line, origin, made.conversation, sources, spoken(text), score)


def turn_memo(engine: Engine, id_: int, score: float | None = None) -> Memo | None:
    """Return a turn of another conversation as it is quoted; None if it says nothing.

    Instructions of that conversation are nobody's words.

    Raises:
        NotFound: There is no such message.
        StoreError: It could not be read.
    """
    with engine.lock:
        ledger = engine.owner(id_)
        entry = ledger.entries[id_]
    text = "" if entry.facts.is_system or entry.blank else engine.text(id_)
    if not text.strip():
        return None
    name, origin = f"turn:{id_}", origin_of_message(entry.facts, text)
    said = memory_quote(f'{name} of "{ledger.name}"', origin, entry.at, text)
    line = Line(said, engine.count(said))
    return Memo(id_, name, line, origin, ledger.name, (), spoken(text), score)


def memos_of(engine: Engine, ledger: Ledger, ids: Iterable[int]) -> list[Memo]:
    """Return what earlier windows showed, without what is gone; not under the engine's lock."""
    index, found = item_index(engine, ledger.tenant, None), list[Memo]()
    for id_ in ids:
        with index.lock:
            made = index.refresh().get(id_)
            text = "" if made is None else index.text(id_)
        if made is not None:
            found.append(memory_memo(engine, made, text))
            continue
        try:
            turn = turn_memo(engine, id_) if engine.knows(id_) else None
        except (Erased, NotFound):
            turn = None
        if turn is not None:
            found.append(turn)
    return found


def memo_block(
    engine: Engine, dialect: Dialect, memos: Sequence[Memo], *, pinned: bool
) -> MemoBlock:
    """Write memories as one text, in the order of their ids.

    Args:
        engine: Has the vocabulary to count with.
        dialect: The dialect of the message that will show it.
        memos: The memories.
        pinned: Whether they are the pinned ones.
    """
    ordered = sorted(memos, key=lambda one: one.id)
    ends = [engine.cards.plain(OPENINGS["pinned" if pinned else "recalled"])]
    ends.append(engine.cards.plain(MEMORY_CLOSING))
    text = "".join([ends[0].text, *(one.line.text for one in ordered), ends[1].text])
    ids = tuple(one.id for one in ordered)
    if engine.encoding == "estimate":  # each count is rounded
        message = messages.text_message(dialect, "user", text)
        return MemoBlock(text, ids, message_tokens([message], engine.encoding)[0])
    tokens = sum(line.tokens for line in (*ends, *(one.line for one in ordered)))
    return MemoBlock(text, ids, tokens + frame_tokens(dialect, engine.encoding))


def fitting(
    engine: Engine, dialect: Dialect, memos: Sequence[Memo], room: int, *, pinned: bool
) -> tuple[list[Memo], list[Memo]]:
    """Choose memories that fit, the first ones first; one that does not fit is skipped.

    Args:
        engine: Has the vocabulary to count with.
        dialect: The dialect of the message that will show them.
        memos: The memories, the most important first.
        room: The most tokens of that message.
        pinned: Whether they are the pinned ones.

    Returns:
        Those that fit, and the others.
    """
    chosen, left = list[Memo](), list[Memo]()
    for one in memos:
        more = [*chosen, one]
        if memo_block(engine, dialect, more, pinned=pinned).tokens <= room:
            chosen = more
        else:
            left.append(one)
    return chosen, left


def with_block(
    engine: Engine, call: Call, made: Assembled, block: MemoBlock, *, name: PartName, at: int
) -> Assembled:
    """Return a list with memories as one more message of the user.

    Args:
        engine: Has the vocabulary to count with.
        call: The call that the list is for.
        made: The list.
        block: The memories.
        name: The name of the part.
        at: The number of messages before it.
    """
    said = messages.text_message(call.source, "user", block.text)
    plain = [*made.plain[:at], said, *made.plain[at:]]
    done = render(call, plain)
    alike = call.source == call.target != "anthropic" and engine.encoding != "estimate"
    tokens = made.tokens + block.tokens if alike else total(engine, call, done, made.known)
    front = sum(part.name == "system" for part in made.parts[:2])
    return replace(
        made,
        messages=done.messages,
        system=done.system,
        tokens=tokens,
        parts=(*made.parts[:front], Part(name, block.tokens, block.ids), *made.parts[front:]),
        plain=plain,
        turns=[*made.turns[:at], ROOT, *made.turns[at:]],
        lost=done.lost,
    )


def check_there(engine: Engine, ids: Iterable[int]) -> None:
    """Refuse to show what was erased meanwhile; the caller holds the engine's lock.

    Raises:
        Erased: One was.
    """
    for id_ in ids:
        if id_ not in engine.derived and not engine.knows(id_):
            raise Erased(id_)


def behind_system(plain: Sequence[Message]) -> int:
    """Return how many messages of instructions a list begins with."""
    instructing = ("system", "developer")
    return sum(1 for _ in takewhile(lambda one: one.get("role") in instructing, plain))
