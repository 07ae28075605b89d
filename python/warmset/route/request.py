"""One request for a payload, checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from warmset._support.names import fault_of
from warmset.errors import InvalidInputError
from warmset.messages import known_dialect

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.embed import Vectors
    from warmset.messages import Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a payload is made for.

    Args:
        task: The name of the task.
        query: What the task is asked.
        vector: The vector of the query, shape (dim,); None to compare words alone.
        conversation: The conversation that it belongs to.
        session: Its session; None for the newest.
        pipeline: The run of modules that it is part of.
        error: A key of the error that is to be diagnosed.
        budget: The most tokens of the call; None for the specification's.
        dialect: The dialect of the messages.
        system: A system prompt that is sent with them.
        tools: Tools that are sent with them.
        now: The time that ages are counted up to.
        skipped: The numbers of needs that a policy leaves out.
    """

    task: str
    query: str
    vector: Vectors | None = None
    conversation: str | None = None
    session: str | None = None
    pipeline: str | None = None
    error: str | None = None
    budget: int | None = None
    dialect: Dialect = "openai"
    system: Any = None
    tools: Sequence[Mapping[str, Any]] = ()
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    skipped: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if not isinstance(self.query, str) or not self.query.strip():
            raise InvalidInputError(f"query: expected a text, found {self.query!r:.80}")
        for name in ("conversation", "session", "pipeline", "error"):
            given = getattr(self, name)
            if given is not None and (fault := fault_of(given)) is not None:
                raise InvalidInputError(f"{name}: {fault}")
        if self.session is not None and self.conversation is None:
            raise InvalidInputError("session: give the conversation that it is a session of, too")
        budget = self.budget
        if budget is not None and (
            isinstance(budget, bool) or not isinstance(budget, int) or budget < 1
        ):
            raise InvalidInputError(f"budget: expected at least 1 token, found {budget!r:.80}")
        object.__setattr__(self, "dialect", known_dialect(self.dialect))
