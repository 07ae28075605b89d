"""Grants more items to a task that needs them, within what is left of the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from warmset._support.locks import guarded, lock
from warmset.errors import InvalidInputError
from warmset.route.found import THERE, Found
from warmset.route.payload import More

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.route.candidates import Candidate
    from warmset.route.desk import Desk
    from warmset.route.quoted import Line
    from warmset.route.request import Request
    from warmset.route.spec import TaskSpec


@guarded("self.lock", writes=("_left",), fields=("_shown",), calls=("take", "spend"))
class Granting:
    """Grants more of the candidates of a payload, within what is left of its budget.

    Who grants holds the lock from the look at what is left to its spending.

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
        self.lock = lock("tools")
        self._shown = shown
        self._left = left

    @property
    def left(self) -> int:
        """What is left of the budget, in tokens."""
        return max(0, self._left)

    @property
    def encoding(self) -> str:
        """The vocabulary that tokens are counted with."""
        return self._desk.encoding

    def __call__(self, wanted: str | Sequence[str]) -> More:
        """Grant further items or refuse them; see `Payload.more`."""
        if isinstance(wanted, str):
            if not wanted.strip():
                raise InvalidInputError("more: expected names, or what is to be known, found ''")
            found = self.find(wanted, ())
        elif isinstance(wanted, Sequence) and all(isinstance(one, str) for one in wanted):
            found = self.find(None, wanted)
        else:
            raise InvalidInputError(f"more: expected names or a text, found {wanted!r:.80}")
        with self.lock:
            taken = self.take(found, _tokens, self.left)
            lines = [found.lines[one.id] for one in taken]
            tokens = _tokens(lines)
            self.spend(tokens)
            return More(
                text="".join(line.quote for line in lines),
                granted=tuple(one.memory_id for one in taken),
                refused=found.refused,
                tokens=tokens,
                budget_remaining=self.left,
            )

    def find(self, request: str | None, names: Sequence[str]) -> Found:
        """Return what could be granted: what has these names, then what answers a request.

        Raises:
            StoreError: The store could not be read.
            EmbedderError: The embedder failed.
        """
        self._desk.sources.shelf()  # follows what happened since
        refused: dict[str, str] = {}
        by_name = {one.memory_id: one for one in self._candidates}
        some: dict[int, Candidate] = {}
        for name in dict.fromkeys(names):
            known = by_name.get(name) or by_name.get(name.removeprefix("#"))
            if known is None:
                refused[name] = "it is no candidate of this task"
            else:
                some[known.id] = known
        named = frozenset(one.memory_id for one in some.values())
        if request is not None:
            query = self._desk.sources.handle.redactor.text(request)
            vector = self._desk.sources.vector(query)
            asked = replace(self._request, query=query, vector=vector, skipped=frozenset())
            gathered = self._desk.gatherer.gather(self._spec, asked).candidates
            answers = [one for one in gathered if (one.similarity or 0.0) > 0]
            answers.sort(key=lambda one: (-one.worth, one.id))
            for one in answers:
                some.setdefault(one.id, one)
            if not answers:
                refused[request] = "no candidate answers it"
        candidates = list(some.values())
        return Found(candidates, named, self._desk.lines(candidates), refused)

    def take(
        self,
        found: Found,
        cost: Callable[[Sequence[Line]], int],
        room: int,
        *,
        most: int | None = None,
    ) -> list[Candidate]:
        """Return what is granted, which is shown from now on, and say why the rest is refused.

        Args:
            found: What could be granted.
            cost: Returns the tokens that some lines take together.
            room: The most tokens that they may take.
            most: The most candidates that are granted; None for all that fit.
        """
        taken: list[Candidate] = []
        lines: list[Line] = []
        for one in found.candidates:
            line = found.lines.get(one.id)
            if one.id in self._shown:
                why = THERE
            elif line is None:
                why = "it was removed meanwhile"
            elif len(taken) == most:
                why = f"at most {most} are granted at once"
            elif line.tokens > room or cost([*lines, line]) > room:
                left = max(0, room - cost(lines))
                why = f"it takes {line.tokens} tokens, {left} are left of the budget"
            else:
                taken.append(one)
                lines.append(line)
                continue
            found.refused[one.memory_id] = why
        self._shown.update(one.id for one in taken)
        return taken

    def spend(self, tokens: int) -> None:
        """Count what was said against the budget."""
        self._left -= tokens


def _tokens(lines: Sequence[Line]) -> int:
    return sum(line.tokens for line in lines)
