"""One request for a payload, checked, and the options that say what it is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypedDict

import numpy as np

from warmset._support.names import fault_of
from warmset.errors import InvalidInputError
from warmset.messages import known_dialect

if TYPE_CHECKING:
    from warmset.embed import Vectors
    from warmset.messages import Dialect

MOST_BUDGET: Final = 2**63 - 1
"""The most tokens of a call."""


class TaskKeywords(TypedDict, total=False):
    """`TaskOptions` as keyword arguments."""

    query_vector: Vectors | None
    conversation: str | None
    session: str | None
    error: str | None
    budget: int | None
    dialect: Dialect
    system: Any
    tools: Sequence[Mapping[str, Any]]
    now: datetime | None


class RouteKeywords(TaskKeywords, total=False):
    """`TaskOptions` and `RunOptions` as keyword arguments."""

    pipeline: str | None
    earlier: Mapping[str, Sequence[str]] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions:
    """What one call of a task is for.

    Args:
        query_vector: The vector of the query, shape (dim,); it is then not embedded.
        conversation: The conversation that the call belongs to.
        session: Its session; the newest if not given.
        error: A key of the error that is to be diagnosed.
        budget: The most tokens of the call; the specification's if not given.
        dialect: The dialect of the messages.
        system: The system prompt of the call.
        tools: The tools of the call.
        now: The time that ages are counted up to; the time of the call if not given. Without a
            time zone it is UTC.
    """

    query_vector: Vectors | None = None
    conversation: str | None = None
    session: str | None = None
    error: str | None = None
    budget: int | None = None
    dialect: Dialect = "openai"
    system: Any = None
    tools: Sequence[Mapping[str, Any]] = ()
    now: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The run of modules that a call is part of; a `Pipeline` gives both.

    Args:
        pipeline: The name of the run.
        earlier: By the name of an item, the tasks of the run that had no use for it: each halves
            what the item is worth, and none keeps it out.
    """

    pipeline: str | None = None
    earlier: Mapping[str, Sequence[str]] | None = None


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
        again: Names of items that an earlier payload of the task left out.
        confidence: How sure the task was of its answer with that payload, 0 to 1.
        earlier: By name, the tasks of the pipeline that had no use for an item.
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
    again: frozenset[str] = frozenset()
    confidence: float | None = None
    earlier: Mapping[str, Sequence[str]] = field(default_factory=dict)
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
        if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int)):
            raise InvalidInputError(f"budget: expected a number of tokens, found {budget!r:.80}")
        if budget is not None and not 1 <= budget <= MOST_BUDGET:
            raise InvalidInputError(f"budget: expected 1 to {MOST_BUDGET:,} tokens")
        object.__setattr__(self, "dialect", known_dialect(self.dialect))
        if self.dialect in ("openai", "responses") and not isinstance(self.system, str | None):
            raise InvalidInputError(
                f"system: expected a text, as messages of {self.dialect} have it, "
                f"found {self.system!r:.80}"
            )
        if not isinstance(self.now, datetime):
            raise InvalidInputError(f"now: expected a datetime, found {self.now!r:.80}")
        if self.now.tzinfo is None:
            object.__setattr__(self, "now", self.now.replace(tzinfo=UTC))
        object.__setattr__(self, "earlier", _earlier(self.earlier))


def vector_of(given: object) -> Vectors | None:
    """Return the vector of a query.

    Raises:
        InvalidInputError: It is no row of finite numbers.
    """
    if given is None:
        return None
    try:
        vector = np.asarray(given, np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"query_vector: expected numbers, found {given!r:.80}") from error
    if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all():
        raise InvalidInputError(
            f"query_vector: expected finite numbers of shape (dim,), found shape {vector.shape}"
        )
    return vector


def _earlier(given: object) -> dict[str, tuple[str, ...]]:
    """Return tasks by the names of items, each once."""
    if given is None:
        return {}
    if isinstance(given, Mapping) and all(
        isinstance(name, str)
        and isinstance(tasks, Sequence)
        and not isinstance(tasks, str)
        and all(isinstance(task, str) for task in tasks)
        for name, tasks in given.items()
    ):
        return {name: tuple(dict.fromkeys(tasks)) for name, tasks in given.items() if tasks}
    raise InvalidInputError(f"earlier: expected lists of tasks by names, found {given!r:.80}")
