"""The context router: each call of a task gets what the task needs, and says why."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

from warmset._support.aio import twin
from warmset.compact.distil import MEMORY_TYPES as REMEMBERED
from warmset.errors import InvalidInputError, SpecError
from warmset.items.ask import Ask, Question
from warmset.route.compose import Composer
from warmset.route.desk import Desk, Present
from warmset.route.gather import Gatherer
from warmset.route.need import MEMORY_TYPES
from warmset.route.quoted import Lines
from warmset.route.records import KEPT, Recorder
from warmset.route.registry import TaskSpecs
from warmset.route.replay import replayed
from warmset.route.request import Request
from warmset.route.triage import RuleTriage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from warmset.embed import Vectors
    from warmset.items import Items
    from warmset.messages import Dialect
    from warmset.route.payload import Payload
    from warmset.route.records import PayloadRecord
    from warmset.route.spec import TaskSpec
    from warmset.route.triage import Triage


class Routed(Protocol):
    """What a router works on: a `Memory`."""

    @property
    def items(self) -> Items:
        """What competes for a window."""
        ...


class Router:
    """Routes what a memory has to tasks.

    Args:
        memory: The open memory.
        specs: The specifications: a registry, a list, or the folder that they lie in; those that
            come with the package if not given.
        triage: Judges the candidates; rules do if it is not given.
        record: Whether each payload leaves a record, for `replay`. A record that cannot be written
            costs no payload: a note in it says so.
        keep_records: How long a record is kept; None for ever.

    Raises:
        SpecError: A specification is wrong.
        InvalidInputError: `keep_records` is not more than 0.
        OSError: The folder cannot be read.
    """

    def __init__(
        self,
        memory: Routed,
        *,
        specs: TaskSpecs | Iterable[TaskSpec] | str | PathLike[str] | None = None,
        triage: Triage | None = None,
        record: bool = True,
        keep_records: timedelta | None = KEPT,
    ) -> None:
        if specs is None:
            specs = TaskSpecs.shipped()
        elif isinstance(specs, (str, PathLike)):
            specs = TaskSpecs.read(specs)
        elif not isinstance(specs, TaskSpecs):
            specs = TaskSpecs(specs)
        self.specs = specs
        self._sources = memory.items.sources
        encoding = self._sources.handle.engine.encoding
        self._desk = Desk(
            self._sources,
            Gatherer(self._sources),
            RuleTriage() if triage is None else triage,
            Lines(encoding),
            Present(self._sources),
            encoding,
        )
        self._recorder = Recorder(self._sources, keep_records)
        self._records = record
        self._removals = 0

    def route(
        self,
        task: str,
        *,
        query: str,
        query_vector: Vectors | None = None,
        conversation: str | None = None,
        session: str | None = None,
        pipeline: str | None = None,
        error: str | None = None,
        budget: int | None = None,
        dialect: Dialect = "openai",
        system: Any = None,
        tools: Sequence[Mapping[str, Any]] = (),
        now: datetime | None = None,
    ) -> Payload:
        """Return the context of one call.

        Args:
            task: The name of the task, which a specification has.
            query: What the task is asked; it stands last.
            query_vector: The vector of the query, shape (dim,); it is then not embedded.
            conversation: The conversation that the call belongs to.
            session: Its session; the newest if not given.
            pipeline: The run of modules that the call is part of.
            error: A key of the error that is to be diagnosed.
            budget: The most tokens of the call; the specification's if not given.
            dialect: The dialect of the messages.
            system: The system prompt of the call.
            tools: The tools of the call.
            now: The time that ages are counted up to; the time of the call if not given.

        Raises:
            BudgetTooSmall: What is essential does not fit.
            SpecError: A need names a type of which nothing was ever put.
            InvalidInputError: An argument is out of its range, or no specification has that name.
            StoreError: The store could not be read.
            EmbedderError: The embedder failed.
        """
        spec = self.specs.get(task) if isinstance(task, str) else None
        if spec is None:
            known = ", ".join(self.specs) or "none"
            raise InvalidInputError(
                f"task: there is no specification of {task!r:.80}; there are {known}"
            )
        request = Request(
            task=task,
            query=query,
            vector=query_vector,
            conversation=conversation,
            session=session,
            pipeline=pipeline,
            error=error,
            budget=budget,
            dialect=dialect,
            system=system,
            tools=tools,
            now=datetime.now(UTC) if now is None else now,
        )
        redactor = self._sources.handle.redactor
        request = replace(request, query=redactor.text(request.query))
        self._forget_removed()
        self._check_types(spec)
        record = partial(self._recorder.write, self._desk, spec, request)
        return Composer(
            self._desk, spec, request, record=record if self._records else None
        ).payload()

    def replay(self, payload_id: str, /) -> Payload:
        """Make a payload again as it was, though items came, went or changed since.

        The items are read as of then, and judged, chosen, ordered and counted anew. What they were
        found by comes from the record: how similar each was to the query depends on all items of
        that time. So do a model's verdicts. Tools are counted, and not on record; a system prompt
        that the redaction hook changes stands in it as changed.

        Args:
            payload_id: The `payload_id` of the payload.

        Returns:
            The same payload. Its `more` grants what is there now.

        Raises:
            Erased: Items that it was decided from were erased since; `ids` names all of them.
            NotFound: There is no such record (any more), or an older version of an item is gone
                because the store was compacted.
            NewerFormat: The record has another format.
            StoreError: The store could not be read.
        """
        return replayed(self._desk, payload_id, self._recorder.read(payload_id))

    def record(self, payload_id: str, /) -> PayloadRecord:
        """Return what is on record of a payload, without reading any item.

        Args:
            payload_id: The `payload_id` of the payload.

        Raises:
            NotFound: There is no such record, or not any more.
            NewerFormat: The record has another format.
            StoreError: The store could not be read.
        """
        return self._recorder.record(payload_id)

    def payloads(
        self, *, task: str | None = None, conversation: str | None = None, k: int = 20
    ) -> list[PayloadRecord]:
        """List the records of payloads, the newest first.

        Args:
            task: Only of this task.
            conversation: Only of this conversation.
            k: The most records.

        Raises:
            InvalidInputError: `k` is less than 1.
            NewerFormat: A record has another format.
            StoreError: The store could not be read.
        """
        return self._recorder.listed(task=task, conversation=conversation, k=k)

    areplay = twin(replay)
    arecord = twin(record)
    apayloads = twin(payloads)

    def _forget_removed(self) -> None:
        removals = self._sources.shelf().removals
        if removals != self._removals:
            self._removals = removals
            self._desk.kept.forget()

    def _check_types(self, spec: TaskSpec) -> None:
        """Refuse types that nobody ever put."""
        known = {*MEMORY_TYPES, *REMEMBERED}
        shelf = self._sources.shelf()
        for number, need in enumerate(spec.required_memory):
            if need.type not in known:
                ask = Ask(k=1, types=frozenset((need.type,)), archived=True, superseded=True)
                if not shelf.find([ask], Question())[0].matched:
                    path = f"$.required_memory[{number}].type"
                    raise SpecError(path, f"nothing of type {need.type!r:.80} was ever put")
