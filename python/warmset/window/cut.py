"""`Conversation.fit`: cut a stored conversation to a budget, and keep the cut while it fits.

The cut moves only when the budget is exceeded, and then down to the watermark, so that a provider's
prompt cache keeps the front of the list between two cuts. A call takes time only for new messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from warmset.errors import BudgetTooSmall, InvalidInputError, NotFound
from warmset.evict.gaps import ALTERNATING, gap_message, gap_role
from warmset.ingest.turn import id_of
from warmset.messages import text_message
from warmset.messages.sent import Beside
from warmset.state.last_cut import Standing
from warmset.text.decisions import brief_task
from warmset.tokens import PER_REPLY, extra_tokens, message_tokens
from warmset.tokens.budget import WATERMARK, Budget, input_tokens
from warmset.window.cut_result import CutAsk, CutResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from warmset.engine.engine import Engine
    from warmset.evict.gaps import GapRole
    from warmset.messages import Dialect, Message, System
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger


def cut_ask(
    budget: int | Budget,
    pins: Iterable[int],
    *,
    system: System | None,
    tools: Sequence[Mapping[str, Any]] | None,
    model: str | None = None,
) -> CutAsk:
    """Check the arguments of `Conversation.fit`.

    Raises:
        InvalidInputError: An argument is invalid.
    """
    have = input_tokens(budget)
    mark = budget.watermark if isinstance(budget, Budget) else WATERMARK
    if isinstance(pins, (str, bytes)) or not isinstance(pins, Iterable):
        raise InvalidInputError(f"pins: expected ids of messages, found {pins!r:.80}")
    pinned = tuple(sorted({id_of(one) for one in pins}))
    around = Beside.of(system, tools, model)
    low = int(have * mark)
    return CutAsk(budget=have, low=low, pins=pinned, system=system, tools=tools, model=around.model)


def cut_conversation(engine: Engine, ledger: Ledger, ask: CutAsk) -> CutResult:
    """Cut a conversation; see `Conversation.fit`.

    Raises:
        BudgetTooSmall: The messages that must stay do not fit.
        NotFound: A pinned message is not on the current path.
    """
    beside = PER_REPLY + extra_tokens(engine.encoding, system=ask.system, tools=ask.tools)
    pins = _places(ledger, ask.pins)
    key = (ask.budget, ask.low, beside)
    before = ledger.standing
    cutter = _Cutter(engine, ledger, beside, pins)
    if before is not None and (before.key != key or cutter.holds_others(before)):
        before = None
    stood = before is not None and before.start is not None
    made = None if before is None else cutter.again(before, ask.budget)
    moved = stood and made is None
    if made is None:
        made = cutter.anew(ask)
    front = tokens_dropped = 0
    if before is not None:
        same, front, tokens_dropped = cutter.accounts.roll.change(before.sent, made.places)
        if same == len(before.sent) and before.brief == made.brief:
            front = before.tokens  # with the filler messages in it
        elif made.brief or before.brief:
            front = 0
    spoken = made.tokens - beside
    moves = 0 if before is None else before.moves + moved
    ledger.standing = Standing(
        key, made.start, made.held, moves, made.places, spoken, made.brief, pins
    )
    return CutResult(
        tokens=made.tokens,
        budget=ask.budget,
        dialect=cutter.dialect,
        moved=moved,
        moves=moves,
        cached=front,
        rewritten=spoken - front,
        tokens_dropped=tokens_dropped,
        _engine=engine,
        _path=ledger.history.path,
        _length=len(ledger.history.path),
        _places=made.places,
        _fillers=made.fillers,
        _brief=cutter.brief if made.brief else None,
        _ledger=ledger,
        _ask=ask,
        _variants=ledger.variants,
    )


@dataclass(frozen=True, slots=True)
class _Made:
    """A cut: its place, the messages that stay before it, and those after it."""

    start: int
    held: tuple[int, ...]
    places: NDArray[np.int64]
    fillers: dict[int, GapRole]
    tokens: int
    brief: bool


class _Cutter:
    """Cuts one conversation for one call."""

    def __init__(self, engine: Engine, ledger: Ledger, beside: int, pins: tuple[int, ...]) -> None:
        self._engine = engine
        self._ledger = ledger
        self.accounts = ledger.accounts()
        self._beside = beside
        self._pins = pins
        self._end = len(ledger.history.path)
        self._protected = self.accounts.protected(pins)
        self._lost = self.accounts.unsendable(0)
        self.dialect: Dialect = ledger.dialect or "openai"

    def holds_others(self, before: Standing) -> bool:
        """Return whether other messages before the previous cut were pinned for it than are now.

        Those behind it stay in any case: a caller may pin the newest message each time.
        """
        if before.start is None or before.pins == self._pins:
            return False
        count = len(self.accounts.roll)
        first = min(self.accounts.members(before.start)) if before.start < count else self._end
        return _before(before.pins, first) != _before(self._pins, first)

    def again(self, before: Standing, budget: int) -> _Made | None:
        """Keep the previous cut; None if it exceeds the budget now, or is no longer valid."""
        if before.start is None:
            return None
        start = before.start
        held = sorted({*before.held, *(u for u in self._protected if u < start)})
        if self._tokens(start, held, before.brief) > budget:
            return None
        made = self._made(start, tuple(held), before.brief)
        return made if made.tokens <= budget else None

    def anew(self, ask: CutAsk) -> _Made:
        """Choose a new cut: the rest is within the watermark, or at least within the budget.

        Raises:
            BudgetTooSmall: The messages that must stay do not fit.
        """
        if self._tokens(0, (), brief=False) <= ask.budget:
            return self._made(0, (), brief=False)
        for brief in (False, True):
            if brief and self.brief is None:
                break
            for target in (ask.low, ask.budget):
                made = self._cut(target, brief)
                if made is not None:
                    return made
        need = self._made(len(self.accounts.roll), tuple(self._protected), self.brief is not None)
        raise BudgetTooSmall(need.tokens, ask.budget)

    def _cut(self, target: int, brief: bool) -> _Made | None:  # noqa: FBT001
        saved = self._saved if brief else 0
        room = target - self._beside
        while room + saved >= 0:
            try:
                start, tokens = self.accounts.roll.cut(self._protected, room + saved)
            except BudgetTooSmall:
                return None
            held = tuple(unit for unit in self._protected if unit < start)
            made = self._made(start, held, brief)
            if made.tokens <= target:
                return made
            room = tokens - saved - 1  # gaps need filler messages: leave one unit more out
        return None

    def _made(self, start: int, held: tuple[int, ...], brief: bool) -> _Made:  # noqa: FBT001
        places = self.accounts.roll.kept(list(held), start)
        if self._lost:  # what no provider takes
            gone = [at for unit in self._lost for at in self.accounts.members(unit)]
            places = np.setdiff1d(places, np.array(gone, dtype=places.dtype))
        fillers = self._fillers(places)
        encoding = self._engine.encoding
        gaps = sum(_gap_cost(self.dialect, role, encoding) for role in fillers.values())
        tokens = self._tokens(start, held, brief) + gaps
        return _Made(start, held, places, fillers, tokens, brief)

    def _tokens(self, start: int, held: Iterable[int], brief: bool) -> int:  # noqa: FBT001
        """Return the tokens of a cut, without filler messages."""
        cost, kept = self.accounts.cost, {*held}
        spoken = self.accounts.roll.since(start) + sum(map(cost, kept))
        lost = sum(cost(unit) for unit in self._lost if unit >= start or unit in kept)
        return self._beside + spoken - lost - (self._saved if brief else 0)

    def _fillers(self, places: NDArray[np.int64]) -> dict[int, GapRole]:
        if self.dialect not in ALTERNATING:
            return {}
        fillers: dict[int, GapRole] = {}
        for at in np.flatnonzero(np.diff(places) != 1).tolist():
            before, after = (self._entry(int(places[near])).facts.role for near in (at, at + 1))
            role = gap_role(self.dialect, before, after)
            if role is not None:
                fillers[at + 1] = role
        return fillers

    def _entry(self, place: int) -> Entry:
        return self._ledger.entries[self._ledger.history.path[place]]

    @cached_property
    def brief(self) -> tuple[int, Message] | None:
        """The task's place on the path, and its one-line form; None if it cannot be shortened."""
        live = self._ledger.live()
        place = next((at for at, entry in enumerate(live) if entry.facts.request), None)
        current = (self.accounts.asked, self.accounts.said)
        if place is None or place in self._pins or self.accounts.task in current:
            return None
        entry = live[place]
        if entry.facts.keep or len(self.accounts.beside(place)) > 1:
            return None
        text = brief_task(self._engine.text(entry.id))
        message = text_message(self.dialect, "user", text)
        short = message_tokens([message], self._engine.encoding)[0]
        return (place, message) if short < entry.tokens else None

    @cached_property
    def _saved(self) -> int:
        """The tokens that the one-line form of the task saves."""
        if self.brief is None:
            return 0
        place, message = self.brief
        short = message_tokens([message], self._engine.encoding)[0]
        return self._entry(place).tokens - short


def _places(ledger: Ledger, ids: tuple[int, ...]) -> tuple[int, ...]:
    """Return the positions of pinned messages on the current path, ascending.

    Raises:
        NotFound: One is not on it.
    """
    found: list[int] = []
    for id_ in ids:
        place = ledger.place(id_)
        if place is None:
            raise NotFound(f"pins: no message on the current path has id {id_}")
        found.append(place)
    return tuple(sorted(found))


def _before(places: tuple[int, ...], first: int) -> list[int]:
    return [place for place in places if place < first]


@lru_cache(maxsize=64)
def _gap_cost(dialect: Dialect, role: GapRole, encoding: str) -> int:
    return message_tokens([gap_message(dialect, role)], encoding)[0]
