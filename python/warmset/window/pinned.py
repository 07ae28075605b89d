"""Pinned memories: which a window shows, and where they stand.

They change when an exchange begins and not within it, and take their share of the budget before
anything else is chosen. They never make a budget too small: where what must stay leaves no room,
the oldest of them are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from warmset.items.index import item_index
from warmset.store.choices import decode_choices
from warmset.tokens import extra_tokens
from warmset.window.memos import (
    Memo,
    MemoBlock,
    behind_system,
    memo_block,
    memory_memo,
    memos_of,
    with_block,
)
from warmset.window.result import MemoryChoice
from warmset.window.stored_choices import last_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.engine.engine import Engine
    from warmset.messages import System
    from warmset.state.ledger import Ledger
    from warmset.window.assemble import Assembled
    from warmset.window.options import PinnedRole
    from warmset.window.render import Call
    from warmset.window.request import Ask, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """The pinned memories of a window.

    Args:
        engine: Has the vocabulary to count with.
        call: The call that the window is for, without them.
        role: Where they stand.
        shown: Those that are shown, the newest first.
        left: Why the others are not.
    """

    engine: Engine
    call: Call
    role: PinnedRole = "user"
    shown: tuple[Memo, ...] = ()
    left: tuple[MemoryChoice, ...] = field(default=())

    @property
    def block(self) -> MemoBlock | None:
        """The text that shows them; None if none is shown."""
        return pinned_block(self.engine, self.call, self.shown, self.role)

    @property
    def tokens(self) -> int:
        """What they take of the budget."""
        block = self.block
        return 0 if block is None else block.tokens

    @property
    def beside(self) -> Call:
        """The call as the rest of the window is made for it: with the budget that they leave."""
        block = self.block
        if block is None:
            return self.call
        if self.role == "system":
            return replace(self.call, system=system_with(self.call.system, block.text))
        return replace(self.call, budget=self.call.budget - block.tokens)

    @property
    def choices(self) -> list[MemoryChoice]:
        """Why each is shown or not."""
        return [*(one.choice("pinned", shown=True) for one in self.shown), *self.left]

    def fewer(self, over: int) -> Pins | None:
        """Leave out the oldest ones until so many tokens are free; None if there are none."""
        if not self.shown:
            return None
        kept, most = list(self.shown), self.tokens - over
        while kept:
            kept.pop()
            block = pinned_block(self.engine, self.call, kept, self.role)
            if block is None or block.tokens <= most:
                break
        out = (one.choice("over_budget", shown=False) for one in self.shown[len(kept) :])
        return replace(self, shown=tuple(kept), left=(*self.left, *out))

    def added(self, made: Assembled) -> Assembled:
        """Return a window with them before all other messages but instructions."""
        block = self.block
        if block is None or self.role == "system":
            return made
        at = behind_system(made.plain)
        return with_block(self.engine, self.call, made, block, name="pinned", at=at)


def pins_of(engine: Engine, ledger: Ledger, ask: Ask, request: Request, call: Call) -> Pins:
    """Return the pinned memories of a window; not under the engine's lock.

    Args:
        engine: The store.
        ledger: The conversation.
        ask: The arguments of the window.
        request: The request, with which an exchange begins.
        call: The call that the window is for.
    """
    role = ask.options.pinned_role
    if not ask.options.memories:
        return Pins(engine=engine, call=call, role=role)
    return fitted(engine, call, ask, _of_exchange(engine, ledger, request))


def pinned_now(engine: Engine, ledger: Ledger) -> list[Memo]:
    """Return what is pinned now, the newest first; not under the engine's lock."""
    with engine.lock:
        none = not engine.derived.version("distilled", ledger.tenant)
    if none:
        return []
    index = item_index(engine, ledger.tenant, None)
    with index.lock:
        found = [(made, index.text(made.id)) for made in index.pinned(ledger.name)]
    return [memory_memo(engine, made, text) for made, text in found]


def fitted(engine: Engine, call: Call, ask: Ask, pinned: Sequence[Memo]) -> Pins:
    """Choose the pinned memories that fit the share, the newest first."""
    role, room = ask.options.pinned_role, share_of(ask)
    shown, left = list[Memo](), list[MemoryChoice]()
    for one in pinned:
        if any(one.said == other.said for other in shown):
            left.append(one.choice("already_in_window", shown=False))
            continue
        block = pinned_block(engine, call, [*shown, one], role)
        if block is not None and block.tokens <= room:
            shown.append(one)
        else:
            left.append(one.choice("over_share", shown=False))
    return Pins(engine=engine, call=call, role=role, shown=tuple(shown), left=tuple(left))


def share_of(ask: Ask) -> int:
    """Return the most tokens that memories, and turns of other conversations, may have."""
    return int(ask.budget * ask.options.memories)


def pinned_block(
    engine: Engine, call: Call, shown: Sequence[Memo], role: PinnedRole
) -> MemoBlock | None:
    """Return the text that shows pinned memories, with what it takes; None for no memories."""
    if not shown:
        return None
    block = memo_block(engine, call.source, shown, pinned=True)
    if role == "user":
        return block
    with_it = system_with(call.system, block.text)
    tokens = extra_tokens(engine.encoding, system=with_it, tools=call.tools)
    tokens -= extra_tokens(engine.encoding, system=call.system, tools=call.tools)
    return block._replace(tokens=tokens)


def system_with(system: System | None, text: str) -> System:
    """Return a system prompt with a text at its end."""
    if not system:
        return text
    if isinstance(system, str):
        return f"{system}\n\n{text}"
    return [*system, {"type": "text", "text": text}]


def _of_exchange(engine: Engine, ledger: Ledger, request: Request) -> list[Memo]:
    """Return what was pinned when the exchange began, here or in another process."""
    now = pinned_now(engine, ledger)
    with engine.lock:
        known = ledger.pinned
        if known is None or known[0] != request.key:
            stored = last_for(engine, ledger, request)
            read = None if stored is None else decode_choices(stored)
            ids = tuple(one.id for one in now) if read is None else tuple(read.pinned)
            known = ledger.pinned = request.key, ids
    there = {one.id: one for one in now}
    gone = [id_ for id_ in known[1] if id_ not in there]
    if gone:
        there |= {one.id: one for one in memos_of(engine, ledger, gone)}
    return [there[id_] for id_ in known[1] if id_ in there]
