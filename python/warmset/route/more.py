"""Grants more items to a task that needs them, within what is left of the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from warmset._support.locks import guarded, lock
from warmset.errors import InvalidInputError
from warmset.route.closures import Closures, removed
from warmset.route.found import THERE, Found
from warmset.route.payload import More

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.route.candidates import Candidate, Gathered
    from warmset.route.desk import Desk
    from warmset.route.quoted import Line
    from warmset.route.request import Request
    from warmset.route.spec import TaskSpec

_MOST_NAMED: Final = 8
"""Names of what something depends on that a refusal has."""


@guarded("self.lock", writes=("_left",), fields=("_shown",), calls=("take", "spend"))
class Granting:
    """Grants more of the candidates of a payload, within what is left of its budget.

    Who grants holds the lock from the look at what is left to its spending.

    Args:
        desk: What routes share.
        spec: What the task needs.
        request: What the payload was made for.
        gathered: The candidates that there were, and the current session.
        shown: Ids of what stands in the payload.
        left: What is left of the budget, in tokens.
    """

    def __init__(
        self,
        desk: Desk,
        spec: TaskSpec,
        request: Request,
        gathered: Gathered,
        shown: set[int],
        left: int,
    ) -> None:
        self._desk = desk
        self._spec = spec
        self._request = request
        self._gathered = gathered
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
                missing=found.missed_by(taken),
            )

    def find(self, request: str | None, names: Sequence[str]) -> Found:
        """Return what could be granted: what has these names, then what answers a request.

        Raises:
            StoreError: The store could not be read.
            EmbedderError: The embedder failed.
        """
        self._desk.sources.shelf()  # follows what happened since
        refused: dict[str, str] = {}
        by_name = {one.memory_id: one for one in self._gathered.candidates}
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
        return self._closed(list(some.values()), named, refused)

    def _closed(
        self, candidates: list[Candidate], named: frozenset[str], refused: dict[str, str]
    ) -> Found:
        """Return what could be granted, with what it depends on as that is now."""
        now = replace(self._gathered, candidates=())
        closed = Closures(self._desk, self._request, now).of(candidates)
        every = [*candidates, *closed.depended]
        lines = self._desk.lines(every)
        gone = frozenset(one.id for one in every if one.id not in lines)
        return Found(
            candidates,
            named,
            lines,
            refused,
            depended={one.id: one for one in every if one.id in lines},
            closures={id_: ids - gone for id_, ids in closed.closures.items()},
            missing=[*closed.missing, *removed(every, closed.closures, gone)],
        )

    def take(
        self,
        found: Found,
        cost: Callable[[Sequence[Line]], int],
        room: int,
        *,
        most: int | None = None,
    ) -> list[Candidate]:
        """Return what is granted, which is shown from now on, and say why the rest is refused.

        After each candidate comes what it depends on, unless that is shown already.

        Args:
            found: What could be granted.
            cost: Returns the tokens that some lines take together.
            room: The most tokens that they may take.
            most: The most candidates that are granted, beside what comes along with them; None for
                all that fit.
        """
        taken: list[Candidate] = []
        lines: list[Line] = []
        there, granted = set(self._shown), 0
        for one in found.candidates:
            if one.id in there and one.id not in self._shown:  # it came along with another one
                continue
            some = found.with_dependencies(one, there)
            new = [line for each in some if (line := found.lines.get(each.id)) is not None]
            tokens = _tokens(new)
            if one.id in there:
                why = THERE
            elif one.id not in found.lines:
                why = "it was removed meanwhile"
            elif granted == most:
                why = f"at most {most} are granted at once"
            elif tokens > room or cost([*lines, *new]) > room:
                left = max(0, room - cost(lines))
                beside = _listed([other.memory_id for other in some[1:]])
                why = f"it takes {tokens} tokens{beside}, {left} are left of the budget"
            else:
                granted += 1
                taken += some
                lines += new
                there.update(each.id for each in some)
                continue
            found.refused[one.memory_id] = why
        self._shown |= there
        return taken

    def spend(self, tokens: int) -> None:
        """Count what was said against the budget."""
        self._left -= tokens


def _tokens(lines: Sequence[Line]) -> int:
    return sum(line.tokens for line in lines)


def _listed(names: Sequence[str]) -> str:
    """Return what is said of what something depends on."""
    rest = len(names) - _MOST_NAMED
    listed = [*names[:_MOST_NAMED], *([f"{rest} more"] if rest > 0 else [])]
    return f" with what it depends on ({', '.join(listed)})" if names else ""
