"""A policy that moves large tool results to a store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError
from warmset.evict.blob_store import check_store
from warmset.evict.policies import at_least, is_due, yes_or_no
from warmset.evict.view import Swap

if TYPE_CHECKING:
    from warmset.evict.blob_store import OffloadStore
    from warmset.evict.view import Edit, View

_OFFLOADED: Final = "[offloaded as "


@dataclass(frozen=True, slots=True)
class OffloadLarge:
    """Moves large tool results to a store, once a list exceeds the budget or at every call.

    A placeholder with the handle and the first and last lines takes the result's place.

    Args:
        over: The least number of characters of a large result.
        lines: The number of lines that stay at the beginning, and at the end.
        store: The store; None uses the one that is passed to `fit`.
        always: Whether it also acts on a list that fits the budget.

    Raises:
        InvalidInputError: `over` or `lines` is out of its range, or `always` is no boolean.
    """

    over: int = 6_000
    lines: int = 20
    store: OffloadStore | None = field(default=None, compare=False)
    always: bool = False

    def __post_init__(self) -> None:
        at_least("over", self.over, 200)
        at_least("lines", self.lines, 0)
        yes_or_no("always", self.always)

    def plan(self, view: View, /) -> list[Edit]:
        """Plan to move the large results of unprotected units to the store; see `Policy`.

        Raises:
            InvalidInputError: There is no store.
        """
        if not is_due(view, always=self.always):
            return []
        edits: list[Edit] = []
        for unit in view.units:
            if not unit.protected:
                edits += [edit for at in unit.members if (edit := self._swap(view, at))]
        return edits

    def _swap(self, view: View, at: int) -> Swap | None:
        if not view.facts[at].results:
            return None
        large = {
            place: answer.text
            for place, answer in enumerate(view.tools.answers(view.messages[at]))
            if len(answer.text) > self.over and not answer.text.startswith(_OFFLOADED)
        }
        if not large:
            return None
        store = self.store or view.store
        if store is None:
            raise InvalidInputError("OffloadLarge: give it a store, or give one to fit()")
        check_store(store)
        handles = {place: store.put(text) for place, text in large.items()}
        texts = {place: self._shown(text, handles[place]) for place, text in large.items()}
        message = view.tools.with_answers(view.messages[at], texts)
        if view.cost_of(message) >= view.costs[at]:
            return None
        reason = f"a result over {self.over} characters went to the store"
        return Swap(at, message, "handle", reason, " ".join(handles.values()))

    def _shown(self, text: str, handle: str) -> str:
        lines = text.splitlines(keepends=True)
        most = self.over // 4
        head = "".join(lines[: self.lines])[:most]
        tail = "".join(lines[max(len(lines) - self.lines, self.lines) :])
        tail = tail[max(len(tail) - most, 0) :]
        note = f"{len(lines)} lines, {len(text)} characters; read the rest by this handle"
        return f"{_OFFLOADED}{handle}: {note}]\n{head}\n[…]\n{tail}"
