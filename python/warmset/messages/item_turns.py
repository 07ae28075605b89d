"""Turns of a list of items, in which every call and every result stands for itself.

What the model made in a row with a call is one turn, and a result belongs right behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.messages.turns import Call, Result, Turn
from warmset.messages.writable import parts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warmset.messages.turns import Image, Losses, Text


class ItemTurns:
    """Collects the turns of a list that is read item by item.

    Args:
        losses: Where is reported what is left out.
        noun: What the dialect calls a result, as "output".
    """

    def __init__(self, losses: Losses, noun: str) -> None:
        self._turns: list[Turn] = []
        self._losses = losses
        self._noun = noun
        self._late: dict[int, list[Turn]] = {}  # by place of a turn: results that stood elsewhere
        self._places: dict[str, int] = {}  # by call id: the place of its turn
        self._called: set[str] = set()  # ids of calls that a result may follow here
        self._gone: set[str] = set()  # ids of calls that are left out

    def __iter__(self) -> Iterator[Turn]:
        """Yield the turns, late results behind their calls."""
        for place, turn in enumerate(self._turns):
            yield turn
            yield from self._late.get(place, ())

    def add(self, turn: Turn) -> None:
        """Add what somebody says or calls."""
        if turn.role != "assistant" or self._after_result():
            self._called = set()
        self._turns.append(turn)
        for part in parts_of(turn):
            if isinstance(part, Call):
                self._called.add(part.id)
                self._places[part.id] = len(self._turns) - 1
                self._gone.discard(part.id)

    def leave_out(self, call: str) -> None:
        """Remember that a call is left out, so that its result is left out as well."""
        self._gone.add(call)

    def add_nothing(self, index: int) -> None:
        """Add a turn of the user's of which nothing is left."""
        self._turns.append(Turn(index, "user", ()))

    def add_result(
        self,
        call: str,
        index: int,
        read: Callable[[], tuple[str | tuple[Text | Image, ...], bool]],
    ) -> None:
        """Add a result; it is late if its call does not stand right before it.

        Args:
            call: The id of the call that it answers.
            index: The position of its item.
            read: Returns what it says and whether it is an error; called if the result stays.
        """
        if call in self._gone or call not in self._places:
            why = "which is lost itself" if call in self._gone else "which is not in the list"
            self._losses.content(index, f"the {self._noun} of call {call!r}, {why},")
            self.add_nothing(index)
            return
        content, is_error = read()
        result = (Result(call, content, is_error),)
        if call in self._called:
            self._turns.append(Turn(index, "user", result))
            return
        what = f"the place of the {self._noun} that stands apart from {call!r}"
        self._losses.content(index, what)
        self._late.setdefault(self._places[call], []).append(Turn(index, "user", result))
        self.add_nothing(index)

    def _after_result(self) -> bool:
        """Tell whether the list stands behind a result, where the model begins another turn."""
        said = next((turn for turn in reversed(self._turns) if turn.content != ()), None)
        return said is not None and said.role != "assistant"
