"""The arguments and the result of `Conversation.fit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from warmset.evict.gaps import gap_message
from warmset.messages.prefix import PrefixHash
from warmset.state.branches import ROOT
from warmset.state.sent_lists import SentList
from warmset.window.listed import marked
from warmset.window.thinking import judge_turns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from warmset.engine.engine import Engine
    from warmset.evict.gaps import GapRole
    from warmset.messages import Dialect, Message, System, Thinking
    from warmset.messages.canonical import Variant
    from warmset.messages.thinking import Judged
    from warmset.state.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class CutAsk:
    """The checked arguments of `Conversation.fit`.

    Args:
        budget: The most tokens that the call's input may have.
        low: When the budget is exceeded, units are removed until the rest has at most this many
            tokens.
        pins: Ids of messages that must stay.
        system: A system prompt that is sent beside the messages.
        tools: Tool schemas that are sent with the call.
        model: The model that answers; empty if it is not known.
    """

    budget: int
    low: int
    pins: tuple[int, ...]
    system: System | None
    tools: Sequence[Mapping[str, object]] | None
    model: str = ""


@dataclass(frozen=True)
class CutResult:
    """The part of a conversation that fits a budget, and what the cut costs a prompt cache.

    Args:
        tokens: The tokens of the call, system prompt and tools included; less where `thinking` says
            that thinking left.
        budget: The budget in tokens.
        dialect: The dialect of the messages.
        moved: Whether the cut moved in this call.
        moves: How often the cut has moved since the conversation was opened, or since `fit` was
            called with other arguments.
        cached: Tokens at the front that are the same as in the last call: a provider's prompt cache
            can reuse them.
        rewritten: Tokens after them, which are new or differ from the last call; they are the price
            of a moved cut and of new messages.
        tokens_dropped: Tokens of messages that the last call showed and this one does not.
    """

    tokens: int
    budget: int
    dialect: Dialect
    moved: bool
    moves: int
    cached: int
    rewritten: int
    tokens_dropped: int
    _engine: Engine | None = field(repr=False)
    _path: list[int] = field(repr=False)
    _length: int = field(repr=False)
    _places: NDArray[np.int64] = field(repr=False)
    _fillers: dict[int, GapRole] = field(repr=False)
    _brief: tuple[int, Message] | None = field(repr=False)
    _ledger: Ledger | None = field(repr=False)
    _ask: CutAsk = field(repr=False)
    _variants: Mapping[int, Variant] = field(repr=False)

    def __len__(self) -> int:
        return len(self.messages)

    @cached_property
    def ids(self) -> list[int]:
        """Ids of the messages that stay, in order; not those of messages of thinking that left.

        Raises:
            StoreError: A message could not be read.
        """
        return [id_ for _, id_ in self._kept if id_ != ROOT]

    @property
    def planned(self) -> int:
        """The number of messages before thinking leaves them; nothing is read for it."""
        return len(self._places) + len(self._fillers)

    @property
    def is_whole(self) -> bool:
        """Whether no message was left out or shortened for the budget; nothing is read for it."""
        return len(self._places) == self._length and self._brief is None

    def __getstate__(self) -> dict[str, Any]:
        read = {"ids": self.ids, "evicted": self.evicted, "_judged": self._judged}
        return {**self.__dict__, **read, "_engine": None, "_ledger": None, "_path": []}

    @property
    def own(self) -> Iterator[Message]:
        """The messages that are no stored ones, in order: filler messages, the task in one line."""
        for at, place in enumerate(self._places.tolist()):
            if at in self._fillers:
                yield gap_message(self.dialect, self._fillers[at])
            if self._brief is not None and self._brief[0] == place:
                yield self._brief[1]

    @property
    def turns(self) -> list[int]:
        """The id of each of `messages`; 0 for a filler message, and for the task in one line."""
        return [turn for turn, _ in self._kept]

    @property
    def _kept(self) -> list[tuple[int, int]]:
        pairs = zip(self._rows, self._judged.messages, strict=True)
        return [row for row, message in pairs if message is not None]

    @cached_property
    def _rows(self) -> list[tuple[int, int]]:
        """What each message is before thinking leaves them: a turn, and the turn it stands for.

        A copy without a store has them, because its ids were read.
        """
        made: list[tuple[int, int]] = []
        for at, place in enumerate(self._places.tolist()):
            id_ = self._path[place]
            made += [(ROOT, ROOT)] * (at in self._fillers)
            brief = self._brief is not None and self._brief[0] == place
            made.append((ROOT if brief else id_, id_))
        return made

    @cached_property
    def evicted(self) -> list[int]:
        """Ids of the messages of the current path that are left out for the budget, in order."""
        left_out = np.ones(self._length, dtype=bool)
        left_out[self._places] = False
        return [self._path[at] for at in np.flatnonzero(left_out).tolist()]

    @cached_property
    def messages(self) -> list[Any]:
        """The messages to send: copies, read on first access, and filler messages for gaps.

        Raises:
            StoreError: A message could not be read.
        """
        return [one for one in self._judged.messages if one is not None]

    @property
    def thinking(self) -> Thinking:
        """What became of the model's thinking in the messages; they are read for it.

        Raises:
            StoreError: A message could not be read.
        """
        return self._judged.thinking

    @cached_property
    def sent(self) -> SentList:
        """What a reply to the messages is made behind; `Conversation.append(window=)` reads it."""
        return SentList(
            dialect=self.dialect,
            messages=Later(self),
            system=self._ask.system,
            tools=self._ask.tools,
            model=self._ask.model,
            until=self._path[self._length - 1] if self._length else ROOT,
            undetermined=self._ledger is not None and self._ledger.dialect is None,
        )

    @cached_property
    def _judged(self) -> Judged:
        assert self._ledger is not None  # noqa: S101 - a copy without one has its messages
        system, tools, model = self._ask.system, self._ask.tools, self._ask.model
        after = PrefixHash(system=system, tools=tools, model=model)
        entries, variants = self._ledger.entries, self._variants
        turns = [turn for turn, _ in self._rows]
        plain = marked(variants, self._read(), turns, self.dialect, system=system, tools=tools)
        return judge_turns(entries, variants, self.dialect, after, plain, turns, model)

    def shows_the_same(self, other: CutResult) -> bool:
        """Return whether another cut of the conversation keeps the same messages, in one order."""
        mine, their = self._path, other._path
        if not np.array_equal(self._places, other._places) or self._fillers != other._fillers:
            return False
        if (self._brief and self._brief[0]) != (other._brief and other._brief[0]):
            return False
        return mine is their or self._rows == other._rows

    def _read(self) -> list[Message]:
        made: list[Message] = []
        brief = None if self._brief is None else self._brief[0]
        places = [place for place in self._places.tolist() if place != brief]
        assert self._engine is not None  # noqa: S101 - a copy without one has its messages
        read = iter(self._engine.copies.messages([self._path[place] for place in places]))
        for at, place in enumerate(self._places.tolist()):
            if at in self._fillers:
                made.append(gap_message(self.dialect, self._fillers[at]))
            if self._brief is not None and self._brief[0] == place:
                made.append(self._brief[1])
            else:
                made.append(next(read))
        return made


class Later(Sequence[Any]):
    """The messages of a cut, read when they are needed; equal to those of an equal cut."""

    def __init__(self, cut: CutResult) -> None:
        self._cut = cut

    def __getitem__(self, at: Any) -> Any:
        return self._cut.messages[at]

    def __len__(self) -> int:
        return len(self._cut.messages)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Later):
            mine, their = self._cut, other._cut
            if mine.planned != their.planned:
                return False
            if mine.shows_the_same(their):
                return list(mine.own) == list(their.own)
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(self._cut.planned)
