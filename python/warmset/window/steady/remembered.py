"""Memories, and turns of other conversations, in a list that only grows.

Pinned ones stand in its front, and change when an epoch begins. What a request asks for is one more
message before it, and stays; all of them together stay within their share of the budget.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from warmset.messages import facts
from warmset.store.epochs import Insertion
from warmset.window.memos import memo_block, memos_of
from warmset.window.pinned import Pins, fitted, pinned_block, pinned_now, share_of
from warmset.window.recalled import Asked, asked_for, choose, repeated, texts_of
from warmset.window.result import MemoryChoice
from warmset.window.steady.recall import ROOM_SHARE
from warmset.window.steady.write import in_list, insertion_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from warmset.engine.engine import Engine
    from warmset.retrieve.searcher import Searcher
    from warmset.state.ledger import Ledger
    from warmset.window.recalled import Chosen
    from warmset.window.render import Call
    from warmset.window.request import Ask, Request
    from warmset.window.steady.epoch import Epoch


@dataclass(frozen=True, slots=True)
class Front:
    """The memories that are pinned now, for the front of an epoch that begins.

    Args:
        pins: The memories.
        ways: All that fit their share, and fewer and fewer of them, as messages of ours.
    """

    pins: Pins
    ways: tuple[Insertion, ...] = ()

    @property
    def whole(self) -> Insertion | None:
        """The message with all of them; None if nothing is pinned."""
        return self.ways[0] if self.ways else None


def front_of(engine: Engine, ledger: Ledger, ask: Ask, call: Call) -> Front:
    """Return what is pinned now; not under the engine's lock."""
    pinned = pinned_now(engine, ledger) if ask.options.memories else []
    pins = fitted(engine, call, ask, pinned)
    ways = list[Insertion]()
    for count in range(len(pins.shown), 0, -1):
        block = pinned_block(engine, call, pins.shown[:count], pins.role)
        if block is not None:
            role = pins.role
            one = Insertion(name="pinned", at=0, text=block.text, memories=block.ids, role=role)
            ways.append(one)
    return Front(pins, tuple(ways))


def asked_of(
    engine: Engine,
    searcher: Searcher,
    ledger: Ledger,
    ask: Ask,
    request: Request,
    epoch: Epoch,
    front: Front,
) -> Asked:
    """Search what a request asks for and the list does not have; not under the engine's lock.

    Behind a provider's compaction nothing may be put in front, so that pinned memories are quoted
    with the first request that follows.
    """
    asked = asked_for(engine, searcher, ledger, ask, request).without(epoch.memories)
    compacted = any(one.name == "compaction" for one in epoch.insertions)
    if not compacted or epoch.pinned is not None:
        return asked
    pinned = [one for one in front.pins.shown if one.id not in epoch.memories]
    rest = asked.without(one.id for one in pinned)
    return replace(rest, good=(*pinned, *rest.good))


def room_for(engine: Engine, call: Call, ask: Ask, epoch: Epoch, left: int) -> int:
    """Return the most tokens that the memories of one more message may have.

    Args:
        engine: Has the vocabulary to count with.
        call: The call that the list is for.
        ask: The arguments of the window.
        epoch: The epoch, with the memories that the list has.
        left: The tokens that the list leaves.
    """
    ours = [one for one in epoch.insertions if one.memories]
    taken = sum(insertion_tokens(engine, call, one) for one in ours)
    taken += sum(engine.count(one.text) for one in ours if not in_list(one))
    return max(min(share_of(ask) - taken, int(left * ROOM_SHARE)), 0)


def chosen_for(
    engine: Engine, ledger: Ledger, call: Call, asked: Asked, epoch: Epoch, room: int
) -> Chosen:
    """Choose what one more message quotes.

    Args:
        engine: The store.
        ledger: The conversation.
        call: The call that the list is for.
        asked: What the request asks for.
        epoch: The epoch.
        room: The most tokens of the message.
    """
    path = ledger.history.path
    shown = [path[at] for at in (*epoch.held, *range(epoch.start, len(path)))]
    quoted = [path[at] for at in sorted(epoch.quoted)]

    def said() -> Iterator[str]:
        yield from texts_of(engine, (*shown, *quoted))
        for one in epoch.insertions:
            yield one.text
            yield from (facts(message, call.target).text for message in one.messages)

    known = {*shown, *quoted}
    return choose(engine, call.source, asked, shown=known, said=said(), most=room)


def insertion_of(engine: Engine, call: Call, chosen: Chosen, at: int) -> tuple[Insertion, ...]:
    """Return the message that quotes memories before a request; none for no memories."""
    if not chosen.shown:
        return ()
    block = memo_block(engine, call.source, chosen.shown, pinned=False)
    return (Insertion(name="memories", at=at, text=block.text, memories=block.ids),)


def unrepeated(
    engine: Engine, ledger: Ledger, chosen: Chosen, recall: Sequence[Insertion]
) -> Chosen:
    """Leave out the memories that the turns which are recalled with them say as well."""
    path = ledger.history.path
    quoted = [path[at] for one in recall for at in one.quoted]
    return chosen.without(repeated(chosen.shown, texts_of(engine, quoted), set(quoted)))


def choices_of(
    engine: Engine, ledger: Ledger, front: Front, chosen: Chosen, before: Epoch | None, now: Epoch
) -> list[MemoryChoice]:
    """Return why memories are in a list or not; not under the engine's lock.

    Args:
        engine: The store.
        ledger: The conversation.
        front: What is pinned now.
        chosen: What was chosen for this request.
        before: The epoch as it was recorded last; None if there was none.
        now: The epoch of the list.
    """
    there, pinned = now.memories, now.pinned
    fixed = set[int]() if pinned is None else {*pinned.memories}
    fresh = {one.id for one in chosen.shown}
    found = list[MemoryChoice]()
    for one in memos_of(engine, ledger, sorted(there - fresh)):
        found.append(one.choice("pinned" if one.id in fixed else "kept", shown=True))
    for one in chosen.shown:
        shown = one.id in there
        found.append(one.choice("recalled" if shown else "over_budget", shown=shown))
    found += [one for one in chosen.left if one.id not in there]
    if before is None or now.number != before.number:
        seen = {one.id for one in found}
        found += [one for one in front.pins.left if one.id not in seen]
        out = (one for one in front.pins.shown if one.id not in seen)
        found += [one.choice("over_budget", shown=False) for one in out]
    return found
