"""Grants more items to a task that needs them, within what is left of the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError
from warmset.route.payload import More

if TYPE_CHECKING:
    from warmset.route.candidates import Candidate
    from warmset.route.desk import Desk
    from warmset.route.request import Request
    from warmset.route.spec import TaskSpec


class Granting:
    """Grants more of the candidates of a payload, within what is left of its budget.

    Args:
        desk: What routes share.
        spec: What the task needs.
        request: What the payload was made for.
        candidates: The candidates that there were.
        shown: Ids of what stands in the payload.
        left: What is left of the budget, in tokens.
    """

    def __init__(
        self,
        desk: Desk,
        spec: TaskSpec,
        request: Request,
        candidates: Sequence[Candidate],
        shown: set[int],
        left: int,
    ) -> None:
        self._desk = desk
        self._spec = spec
        self._request = request
        self._candidates = candidates
        self._shown = shown
        self._left = left

    def __call__(self, wanted: str | Sequence[str]) -> More:
        """Grant further items or refuse them; see `Payload.more`."""
        if isinstance(wanted, str):
            if not wanted.strip():
                raise InvalidInputError("more: expected names, or what is to be known, found ''")
            query = self._desk.sources.handle.redactor.text(wanted)
            vector = self._desk.sources.vector(query)
            request = replace(self._request, query=query, vector=vector)
            found = self._desk.gatherer.gather(self._spec, request).candidates
            some = [one for one in found if (one.similarity or 0.0) > 0]
            some.sort(key=lambda one: (-one.worth, one.id))
            refused = {} if some else {wanted: "no candidate answers it"}
        elif isinstance(wanted, Sequence) and all(isinstance(one, str) for one in wanted):
            by_name = {one.memory_id: one for one in self._candidates}
            names = dict.fromkeys(wanted)
            some = [by_name[name] for name in names if name in by_name]
            refused = {
                name: "it is no candidate of this task" for name in names if name not in by_name
            }
        else:
            raise InvalidInputError(f"more: expected names or a text, found {wanted!r:.80}")
        lines = self._desk.lines(some)
        quotes: list[str] = []
        granted: list[str] = []
        tokens = 0
        for one in some:
            line = lines.get(one.id)
            if one.id in self._shown:
                refused[one.memory_id] = "it is there already"
            elif line is None:
                refused[one.memory_id] = "it was removed meanwhile"
            elif line.tokens > self._left:
                refused[one.memory_id] = (
                    f"it takes {line.tokens} tokens, {self._left} are left of the budget"
                )
            else:
                self._left -= line.tokens
                self._shown.add(one.id)
                quotes.append(line.quote)
                granted.append(one.memory_id)
                tokens += line.tokens
        return More(
            text="".join(quotes),
            granted=tuple(granted),
            refused=refused,
            tokens=tokens,
            budget_remaining=self._left,
        )
