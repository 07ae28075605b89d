"""What a router hands out: the context of one call, and why each item is in it or not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, overload

from warmset._support.shown import plain, table
from warmset.messages import known_dialect
from warmset.route.tool import PayloadTools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from warmset.messages import Dialect, Message
    from warmset.route.candidates import Classification, NeedReport
    from warmset.route.judgement import TriageReport
    from warmset.route.more import Granting
    from warmset.route.outcomes import Decision
    from warmset.route.request import Request

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""What a name or a reason must not do to a terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Included:
    """An item that stands in a payload.

    Args:
        memory_id: Its name.
        memory_type: Its type.
        classification: "essential" or "supplementary".
        tokens: What it takes, with the line that names it.
        reason: Why it is there.
        relevance: Its similarity with the query times what its age leaves of it.
        needs: The numbers of the needs that name it; none if another item depends on it.
        id: The id of its record.
    """

    memory_id: str
    memory_type: str
    classification: Classification
    tokens: int
    reason: str
    relevance: float
    needs: tuple[int, ...] = ()
    id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluded:
    """A candidate that does not stand in a payload.

    Args:
        memory_id: Its name.
        classification: What it is for the task.
        reason: Why it was left out.
        relevance: Its similarity with the query times what its age leaves of it.
    """

    memory_id: str
    classification: Classification
    reason: str
    relevance: float = 0.0


class Exclusions(Sequence[Excluded]):
    """What does not stand in a payload; worked out when it is first looked at.

    Args:
        work_out: Returns them; it reads nothing.
    """

    def __init__(self, work_out: Callable[[], Iterable[Excluded]]) -> None:
        self._work_out = work_out

    @cached_property
    def _all(self) -> tuple[Excluded, ...]:
        return tuple(self._work_out())

    @overload
    def __getitem__(self, at: int, /) -> Excluded: ...
    @overload
    def __getitem__(self, at: slice, /) -> tuple[Excluded, ...]: ...
    def __getitem__(self, at: int | slice, /) -> Excluded | tuple[Excluded, ...]:
        return self._all[at]

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Excluded]:
        return iter(self._all)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Exclusions):
            return self._all == other._all
        return self._all == other

    def __hash__(self) -> int:
        return hash(self._all)

    def __repr__(self) -> str:
        return repr(self._all)


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Something that an item depends on and that is not there.

    Args:
        memory_id: The name of what is missing.
        needed_by: The name of the item.
        reason: Why it is not there.
    """

    memory_id: str
    needed_by: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class More:
    """What was granted beyond a payload.

    Args:
        text: The granted items, quoted as in the payload; empty if none was.
        granted: Their names.
        refused: By name, or by the request, why the others were not.
        tokens: What the text takes.
        budget_remaining: What is left of the budget after that.
        missing: What granted items depend on and what is not there.
    """

    text: str
    granted: tuple[str, ...]
    refused: dict[str, str]
    tokens: int
    budget_remaining: int
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """The context of one call of a task.

    Args:
        task: The name of the task.
        request: What it was made for.
        context_payload: What stands in it, in its order.
        excluded: The other candidates, each with the reason.
        missing: What items in it depend on and what is not there.
        needs: What came of each need of the specification.
        triage: Who judged the candidates, and what that took.
        messages: The messages to send: the items quoted as data, the query last.
        system: The system prompt to send beside them; None if it is among the messages, or none
            was given.
        dialect: The dialect of the messages.
        total_tokens: The tokens of the call, system prompt and tools included.
        budget_remaining: What is left of the budget.
        decision: Which needs it was made for, if a policy decided; see `Router.outcome`.
        payload_id: The name of its record, for `Router.replay`; None if there is none.
        notes: What did not work while it was made and what became of that.
        trace: The id of a record that is erased with the conversation: that of the payload, or else
            the newest message; None if there is none.
    """

    task: str
    request: Request = field(repr=False, compare=False)
    context_payload: tuple[Included, ...]
    excluded: Sequence[Excluded]
    missing: tuple[Missing, ...]
    needs: tuple[NeedReport, ...]
    triage: TriageReport
    messages: list[Message]
    system: Any
    dialect: Dialect
    total_tokens: int
    budget_remaining: int
    decision: Decision | None = None
    _more: Granting = field(repr=False, compare=False)
    payload_id: str | None = None
    notes: tuple[str, ...] = ()
    trace: int | None = field(default=None, repr=False, compare=False)

    def more(self, wanted: str | Sequence[str], /) -> More:
        """Grant further items within what is left of the budget, or refuse them.

        With an item comes what it depends on and what does not stand in the payload yet. If both do
        not fit, the item is refused.

        Args:
            wanted: The names of candidates, as a list; or, as a text, what is still to be known:
                the items of the task's needs that answer it are granted, the best first.

        Returns:
            What was granted; what is left of the budget shrinks with each call.

        Raises:
            InvalidInputError: It is neither.
        """
        return self._more(wanted)

    def tools(self, dialect: str | None = None, *, strict: bool = False) -> PayloadTools:
        """Return a tool with which the model asks for more by itself, as `more` grants it.

        Send `definitions` as tools of the request, beside your own, and answer every call that
        `handles` accepts with `run`. Give `definitions` to `Router.route` as tools, too, so that
        they are counted.

        Args:
            dialect: The dialect of the tool, the calls and the answers; the payload's if not given.
            strict: Whether the API should enforce the schema, where it can.

        Raises:
            UnknownDialectError: There is no such dialect.
        """
        chosen = self.dialect if dialect is None else known_dialect(dialect)
        return PayloadTools(self._more, dialect=chosen, strict=strict)

    def to_dict(self, *, messages: bool = False) -> dict[str, Any]:
        """Return it as plain JSON values.

        Args:
            messages: Whether the messages and the system prompt are in it, with all texts.
        """
        said = {"messages": self.messages, "system": self.system} if messages else {}
        return {
            "task": self.task,
            "payload_id": self.payload_id,
            "context_payload": plain(self.context_payload),
            "total_tokens": self.total_tokens,
            "budget_remaining": self.budget_remaining,
            "excluded": plain(tuple(self.excluded)),
            "missing": plain(self.missing),
            "needs": plain(self.needs),
            "triage": plain(self.triage),
            "notes": list(self.notes),
            "dialect": self.dialect,
            **said,
        }

    def explain(self) -> str:
        """Return a table for the terminal: each candidate, what it is for the task, and why."""
        rows: list[tuple[str, ...]] = [
            ("in", one.memory_id, one.classification, str(one.tokens), one.reason)
            for one in self.context_payload
        ]
        rows += [
            ("out", one.memory_id, one.classification, "", one.reason) for one in self.excluded
        ]
        rows += [
            ("none", one.memory_id, "", "", f"{one.needed_by} needs it; {one.reason}")
            for one in self.missing
        ]
        left = self.budget_remaining
        name = "" if self.payload_id is None else f" (payload {self.payload_id})"
        lines = [f"{self.task}{name}: {self.total_tokens:,} tokens, {left:,} left of the budget"]
        rows = [tuple(_CONTROL.sub(" ", cell) for cell in row) for row in rows]
        heads = ("", "item", "for the task", "tokens", "why")
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        for row in (heads, *rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            lines.append("  ".join(cells).rstrip())
        for one in self.needs:
            state = one.left or f"{one.found} of {one.matched} items"
            lacks = "".join(f"; {count} have no {name}" for name, count in one.lacking.items())
            lines.append(f"need {one.number}: {state}{lacks}")
        lines.append(self.triage.line())
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(_CONTROL.sub(" ", line) for line in lines)

    def _repr_html_(self) -> str:
        rows = [
            (one.memory_id, one.classification, one.tokens, one.reason)
            for one in self.context_payload
        ]
        rows += [(one.memory_id, one.classification, 0, one.reason) for one in self.excluded]
        title = f"{self.task}: {self.total_tokens} tokens"
        return table(title, ("item", "for the task", "tokens", "why"), rows)
