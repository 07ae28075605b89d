"""Writes the list of an epoch, and counts it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warmset.evict.gaps import ALTERNATING, gap_message, gap_role
from warmset.messages import facts, text_message
from warmset.state.branches import ROOT
from warmset.state.prompt_prefix import Known, mark_of
from warmset.tokens import PER_MESSAGE, PER_REPLY, extra_tokens, message_tokens
from warmset.window.assemble import Assembled, Draft, verbatim
from warmset.window.layout import Frame
from warmset.window.pinned import system_with
from warmset.window.render import frame_tokens, render, request_behind, total
from warmset.window.result import Part
from warmset.window.steady.epoch import FRONT
from warmset.window.thinking import without_unbound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.engine.engine import Engine
    from warmset.messages import Message, Thinking
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger
    from warmset.store.epochs import Insertion
    from warmset.window.choices import Settled
    from warmset.window.render import Call
    from warmset.window.result import PartName
    from warmset.window.steady.epoch import Epoch


def beside_tokens(engine: Engine, call: Call) -> int:
    """Return the tokens of a call besides the conversation's messages and ours."""
    tokens = PER_REPLY + extra_tokens(engine.encoding, system=call.system, tools=call.tools)
    if call.request is None:
        return tokens
    return tokens + PER_MESSAGE + engine.cards.plain(call.request).tokens


def epoch_tokens(engine: Engine, ledger: Ledger, call: Call, epoch: Epoch) -> int:
    """Return about how many tokens an epoch's list has; filler messages do not count."""
    accounts, live = ledger.accounts(), ledger.live()
    tokens = beside_tokens(engine, call) + sum(live[at].tokens for at in epoch.held)
    if epoch.start < len(live):
        first = accounts.home(epoch.start)
        tokens += accounts.roll.since(first)
        tokens -= sum(accounts.cost(unit) for unit in accounts.unsendable(first))
    return tokens + sum(insertion_tokens(engine, call, one) for one in epoch.insertions)


def in_list(one: Insertion) -> bool:
    """Return whether a message of ours stands in the list, and not in the system prompt."""
    return one.name != "pinned" or one.role == "user"


def with_pinned(call: Call, epoch: Epoch) -> Call:
    """Return the call of an epoch: its system prompt ends with what is pinned there."""
    one = epoch.pinned
    if one is None or in_list(one):
        return call
    return replace(call, system=system_with(call.system, one.text))


def written_tokens(engine: Engine, ledger: Ledger, call: Call, epoch: Epoch) -> int:
    """Return about how many tokens an epoch's list has; exactly, where it might fit the budget.

    Neighbours that are merged have fewer tokens than they are counted with.
    """
    tokens = epoch_tokens(engine, ledger, call, epoch)
    shown = len(epoch.held) + len(epoch.insertions) + epoch.count - epoch.start
    frames = (shown + 1) * frame_tokens(call.source, engine.encoding)
    if not tokens - frames <= call.budget < tokens:
        return tokens
    return write(engine, ledger, call, epoch).tokens


def insertion_tokens(engine: Engine, call: Call, one: Insertion) -> int:
    """Return the tokens of a message of ours, or of a compaction."""
    if one.name == "compaction":
        return sum(message_tokens(list(one.messages), engine.encoding)) + one.hidden
    if not in_list(one):  # it is counted with the system prompt
        return 0
    return engine.cards.plain(one.text).tokens + frame_tokens(call.source, engine.encoding)


def sent_tokens(engine: Engine, ledger: Ledger, call: Call, epoch: Epoch) -> int:
    """Return how many tokens an epoch's list has, without the thinking that leaves it."""
    return sendable(engine, ledger, call, epoch)[0].tokens


def sendable(
    engine: Engine, ledger: Ledger, call: Call, epoch: Epoch, summary: Settled | None = None
) -> tuple[Assembled, Thinking]:
    """Return the list of an epoch as it is sent, and what became of the thinking.

    The arguments and errors are those of `write`.
    """
    made = write(engine, ledger, call, epoch, summary)
    return without_unbound(engine, ledger, call, made, epoch.moved)


class _List:
    """The messages of a list in the conversation's dialect, with filler messages between them."""

    def __init__(self, call: Call, ours: Mapping[tuple[str, str], Message]) -> None:
        self._call = call
        self._ours = ours
        self.messages: list[Message] = []
        self.turns: list[int] = []
        self._place: int | None = None
        self._role = ""

    def say(
        self, message: Message, role: str, *, turn: int = ROOT, place: int | None = None
    ) -> None:
        """Add a message.

        Args:
            message: The message.
            role: Its role, as in `Facts`.
            turn: Its id; `ROOT` for one that is no turn.
            place: Its position on the path; None for one that is no turn.
        """
        near = self._place is not None and place == self._place + 1
        filler = None if near or not self._role else self._filler(role)
        if filler is not None:
            self._add(filler, ROOT)
        self._add(message, turn)
        self._place, self._role = place, role

    def insert(self, one: Insertion) -> None:
        """Add a message of ours, or a compaction, right behind which its list goes on."""
        if one.name == "compaction":
            for message in one.messages:
                self._add(message, ROOT)
                self._role = facts(message, self._call.source).role
            self._place = one.at - 1
            return
        self.say(self._ours[one.role, one.text], one.role)

    def ask(self, text: str) -> None:
        """Add a request that is no turn."""
        dialect = self._call.source
        request = text_message(dialect, "user", text)
        for message in request_behind(dialect, self.messages, request):
            self._add(message, ROOT)

    def _filler(self, role: str) -> Message | None:
        """Return the filler before a message; neighbours of the user are merged, or accepted."""
        dialect, before = self._call.source, self._role
        if dialect not in ALTERNATING or (before, role) == ("user", "user"):
            return None
        needed = gap_role(dialect, before, role)
        return None if needed is None else gap_message(dialect, needed)

    def _add(self, message: Message, turn: int) -> None:
        self.messages.append(message)
        self.turns.append(turn)


def write(
    engine: Engine, ledger: Ledger, call: Call, epoch: Epoch, summary: Settled | None = None
) -> Assembled:
    """Write the list of an epoch; the caller holds the engine's lock.

    Results without a call, and old calls without a result, are left out: no provider takes them.

    Args:
        engine: The store, from which messages are read.
        ledger: The conversation.
        call: The call that the list is for.
        epoch: The epoch.
        summary: The summary that the list shows for the first time.

    Raises:
        ConversionError: The target dialect cannot express the messages.
        StoreError: A message could not be read.
    """
    live, known = ledger.live(), Known()
    lead, behind = _held(ledger, epoch)
    held = live.at((*lead, *behind))
    places = _sendable(ledger, epoch.start)
    tail = live.at(places)
    read = iter(verbatim(engine, [*held, *tail], known))
    said = _List(call, _ours(engine, call, epoch, known))
    recalls = [one for one in epoch.insertions if one.name not in FRONT]

    def show(place: int, entry: Entry) -> None:
        said.say(next(read), entry.facts.role, turn=entry.id, place=place)

    for at in lead:
        show(at, live[at])
    for one in epoch.insertions:
        if one.name in FRONT and in_list(one):
            said.insert(one)
    for at in behind:
        show(at, live[at])
    for at, entry in zip(places, tail, strict=True):
        while recalls and recalls[0].at <= at:
            said.insert(recalls.pop(0))
        show(at, entry)
    for one in recalls:
        said.insert(one)
    if call.request is not None:
        said.ask(call.request)
    done = render(call, said.messages)
    tokens = total(engine, call, done, known) + sum(one.hidden for one in epoch.insertions)
    draft = _draft(ledger, epoch, held, tail, summary)
    parts = _parts(engine, ledger, call, epoch, held, tail)
    made = Assembled(
        done.messages, done.system, tokens, parts, draft, said.messages, said.turns, known
    )
    return replace(made, lost=done.lost)


def _ours(engine: Engine, call: Call, epoch: Epoch, known: Known) -> dict[tuple[str, str], Message]:
    """Return our messages by their roles and texts, and add them to `known`."""
    shown = (one for one in epoch.insertions if one.name != "compaction" and in_list(one))
    texts = {(one.role, one.text): one for one in shown}
    made: dict[tuple[str, str], Message] = {
        (role, text): text_message(call.source, role, text) for role, text in texts
    }
    tokens = [insertion_tokens(engine, call, one) for one in texts.values()]
    known.add(list(made.values()), list(map(mark_of, made.values())), tokens)
    return made


def _draft(
    ledger: Ledger, epoch: Epoch, held: list[Entry], tail: list[Entry], summary: Settled | None
) -> Draft:
    live = ledger.live()
    frame = Frame([], [held] if held else [], [tail] if tail else [], [])
    quoted = tuple((live[at],) for at in sorted(epoch.quoted))
    lines = tuple(live[at] for at in sorted(epoch.listed))
    return Draft(frame, quoted=quoted, lines=lines, summary=summary)


def _held(ledger: Ledger, epoch: Epoch) -> tuple[list[int], list[int]]:
    """Return the positions of the held messages before and after the summary and the index."""
    accounts = ledger.accounts()
    parts = epoch.held[: epoch.lead], epoch.held[epoch.lead :]
    lead, behind = ([at for at in one if not accounts.is_left(accounts.home(at))] for one in parts)
    return lead, behind


def _sendable(ledger: Ledger, start: int) -> list[int]:
    """Return the positions from one on, without those of units that no provider takes."""
    accounts, count = ledger.accounts(), len(ledger.history.path)
    if start >= count:
        return []
    gone = {
        at for unit in accounts.unsendable(accounts.home(start)) for at in accounts.members(unit)
    }
    return [at for at in range(start, count) if at not in gone]


def _parts(
    engine: Engine,
    ledger: Ledger,
    call: Call,
    epoch: Epoch,
    held: list[Entry],
    tail: list[Entry],
) -> tuple[Part, ...]:
    path = ledger.history.path
    hidden = path[: epoch.start]
    for at in reversed(epoch.held):
        del hidden[at]

    def ours(name: str) -> int:
        return sum(
            insertion_tokens(engine, call, one) for one in epoch.insertions if one.name == name
        )

    def verbatim_part(name: PartName, entries: list[Entry]) -> Part:
        return Part(name, sum(one.tokens for one in entries), tuple(one.id for one in entries))

    listed = tuple(path[at] for at in sorted(epoch.listed))
    quoted = tuple(path[at] for at in sorted(epoch.quoted))
    # A line may speak of messages that have left the path since, from its end on.
    dated = sorted({at for one in epoch.insertions for at in one.dated if at < len(path)})
    memories = [one for one in epoch.insertions if one.name == "memories"]
    quoted_memories = tuple(id_ for one in memories for id_ in one.memories)
    pinned = epoch.pinned
    parts = [
        Part("system", extra_tokens(engine.encoding, system=call.system, tools=call.tools)),
        Part("pinned", ours("pinned"), () if pinned is None else pinned.memories),
        verbatim_part("anchor", held),
        Part("dates", ours("anchor_day") + ours("day"), tuple(path[at] for at in dated)),
        Part("summary", ours("summary") + ours("compaction"), tuple(hidden)),
        Part("memories", ours("memories"), quoted_memories),
        Part("index", ours("index") + ours("listing"), listed),
        Part("retrieved", ours("recall"), quoted),
        verbatim_part("recent", tail),
    ]
    if call.request is not None:
        parts.append(Part("request", PER_MESSAGE + engine.count(call.request)))
    return tuple(part for part in parts if part.tokens)
