"""A lazy sequence of a conversation's messages, each read on access."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.messages import Message
    from warmset.prepare.stored import Ready
    from warmset.state.ledger import Ledger


class Reading(Sequence["Message"]):
    """The messages that a window would show, with a summary in front if there is one.

    Args:
        engine: The store, from which messages are read.
        ledger: The conversation.
        ready: The summary; None to show everything.
    """

    def __init__(self, engine: Engine, ledger: Ledger, ready: Ready | None) -> None:
        self._engine = engine
        path = ledger.history.path
        self._rows: list[int | Message] = list(path)
        if ready is not None:
            front = [path[at] for at in ready.held if at < ready.place]
            back = [path[at] for at in ready.held if at > ready.place]
            self._rows = [*front, ready.message, *back, *path[ready.boundary :]]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Message: ...

    @overload
    def __getitem__(self, at: slice) -> list[Message]: ...

    def __getitem__(self, at: int | slice) -> Message | list[Message]:
        if isinstance(at, slice):
            return [self._read(row) for row in self._rows[at]]
        return self._read(self._rows[at])

    def _read(self, row: int | Message) -> Message:
        return self._engine.message(row) if isinstance(row, int) else row
