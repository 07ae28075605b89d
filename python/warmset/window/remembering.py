"""What one window of mode "jit" shows of memories and of other conversations, and why.

Within an exchange the same ones are shown again, as long as they are there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warmset.window.memos import check_there, memo_block, memos_of, with_block
from warmset.window.pinned import share_of
from warmset.window.recalled import Asked, Chosen, asked_for, choose, kept, repeated, texts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset.engine.engine import Engine
    from warmset.retrieve.searcher import Searcher
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger
    from warmset.window.assemble import Assembled, Draft
    from warmset.window.pinned import Pins
    from warmset.window.render import Call
    from warmset.window.request import Ask, Request
    from warmset.window.result import MemoryChoice, MemoryReason


class Remembering:
    """The memories of one window.

    Args:
        engine: The store.
        searcher: Searches the other conversations.
        ledger: The conversation.
        ask: The arguments of the window.
        request: The request.
        pins: The pinned memories.
    """

    def __init__(
        self,
        engine: Engine,
        searcher: Searcher,
        ledger: Ledger,
        ask: Ask,
        request: Request,
        pins: Pins,
    ) -> None:
        self._engine, self._searcher, self._ledger = engine, searcher, ledger
        self._ask, self._request, self._pins = ask, request, pins
        self._chosen = Chosen()
        self._again = False
        self.note: str | None = None

    @property
    def wanted(self) -> bool:
        """Whether the window quotes what its request asks for."""
        options = self._ask.options
        return bool(options.memories and self._request.text and self._ask.mode == "jit")

    @property
    def beside_whole(self) -> bool:
        """Whether a list that is sent whole gets them, too: if other conversations are asked."""
        return self.wanted and self._ask.options.scope == "tenant"

    def choose(self, call: Call, base: Draft, left: int, again: tuple[int, ...] | None) -> Draft:
        """Return a draft with the memories to quote; not under the engine's lock.

        Args:
            call: The call that the window is for.
            base: What it shows verbatim.
            left: The tokens that this leaves; half of them are for the conversation's turns.
            again: What the exchange's last window quoted; None if this is its first one.
        """
        shown = [entry for unit in base.frame.units() for entry in unit]
        self._choose(call, shown, left // 2, again)
        return replace(base, memories=self._chosen.shown)

    def unrepeated(self, draft: Draft) -> Draft:
        """Leave out of a draft the memories that its quoted turns say as well."""
        quoted = [entry.id for unit in draft.quoted for entry in unit]
        frame = [entry.id for unit in draft.frame.units() for entry in unit]
        if self._again or not draft.memories or not quoted:
            return draft
        said = texts_of(self._engine, quoted)
        self._chosen = self._chosen.without(repeated(draft.memories, said, {*quoted, *frame}))
        return replace(draft, memories=self._chosen.shown)

    def beside(
        self, call: Call, made: Assembled, live: Sequence[Entry], again: tuple[int, ...] | None
    ) -> Assembled:
        """Return a list that is sent whole, with the memories to quote before its request.

        Args:
            call: The call that the list is for.
            made: The list.
            live: Its messages.
            again: What the exchange's last window quoted; None if this is its first one.
        """
        self._choose(call, live, call.budget - made.tokens, again)
        if not self._chosen.shown:
            return made
        turns, asked = list(made.turns), self._request.id
        at = len(turns) - 1 if asked is None else turns.index(asked)
        block = memo_block(self._engine, call.source, self._chosen.shown, pinned=False)
        done = with_block(self._engine, call, made, block, name="memories", at=at)
        if done.tokens <= call.budget:
            return done
        self._chosen = Chosen((), self._chosen.left)
        return made

    def choices(self, made: Assembled | None) -> list[MemoryChoice]:
        """Return why each memory is shown or not; the caller holds the engine's lock.

        Args:
            made: The window; None for a list that is sent whole.

        Raises:
            Erased: One was erased meanwhile.
        """
        chosen = self._chosen.shown
        there = {one.id for one in (chosen if made is None else made.draft.memories)}
        check_there(self._engine, {*there, *(one.id for one in self._pins.shown)})
        found = self._pins.choices
        why: MemoryReason = "kept" if self._again else "recalled"
        for one in chosen:
            shown = one.id in there
            reason: MemoryReason = why if shown else "over_budget"
            found.append(one.choice(reason, shown=shown))
        return [*found, *self._chosen.left]

    def give_up(self) -> None:
        """Quote nothing: the list is sent whole."""
        out = (one.choice("whole_list", shown=False) for one in self._chosen.shown)
        self._chosen = Chosen((), (*out, *self._chosen.left))

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of what is quoted."""
        return tuple(one.id for one in self._chosen.shown)

    def _choose(
        self, call: Call, shown: Iterable[Entry], left: int, again: tuple[int, ...] | None
    ) -> None:
        self._again = again is not None
        if again is not None:
            self._chosen = kept(memos_of(self._engine, self._ledger, again))
            return
        asked = self._asked()
        ids, pinned = [entry.id for entry in shown], self._pins.shown
        said = (*(one.said for one in pinned), *texts_of(self._engine, ids if asked.good else ()))
        self._chosen = choose(
            self._engine,
            call.source,
            asked,
            shown={*ids, *(one.id for one in pinned)},
            said=said,
            most=max(min(share_of(self._ask) - self._pins.tokens, left), 0),
        )

    def _asked(self) -> Asked:
        if not self.wanted:
            return Asked()
        asked = asked_for(self._engine, self._searcher, self._ledger, self._ask, self._request)
        self.note = asked.note
        return asked.without(one.id for one in self._pins.choices)
