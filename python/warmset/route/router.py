"""The context router: each call of a task gets what the task needs, and says why."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from warmset._support.aio import twin
from warmset._support.keywords import refuse_unknown, spelled_out
from warmset.compact.distil import MEMORY_TYPES as REMEMBERED
from warmset.errors import InvalidInputError, SpecError
from warmset.evict.policies import at_least
from warmset.items.ask import Ask, Question
from warmset.route.compose import Composer
from warmset.route.desk import Desk
from warmset.route.gather import Gatherer
from warmset.route.need import MEMORY_TYPES
from warmset.route.pipeline import Pipeline
from warmset.route.plans import KEPT, Plans
from warmset.route.quoted import Lines
from warmset.route.registry import TaskSpecs
from warmset.route.request import Request, RunOptions, TaskOptions, vector_of
from warmset.route.run import SURE, Run, answer_of, confidence_of, same_items
from warmset.route.triage import RuleTriage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Unpack

    from warmset.items import Items
    from warmset.route.payload import Payload
    from warmset.route.request import RouteKeywords
    from warmset.route.spec import TaskSpec
    from warmset.route.triage import Triage

R = TypeVar("R")


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
        plans: How many plans are kept, to be used for the same request as long as nothing changes
            in the store; 0 for none.

    Raises:
        InvalidInputError: The number of plans is negative.
        SpecError: A specification is wrong.
        OSError: The folder cannot be read.
    """

    def __init__(
        self,
        memory: Routed,
        *,
        specs: TaskSpecs | Iterable[TaskSpec] | str | PathLike[str] | None = None,
        triage: Triage | None = None,
        plans: int = KEPT,
    ) -> None:
        at_least("plans", plans, 0)
        if specs is None:
            specs = TaskSpecs.shipped()
        elif isinstance(specs, (str, PathLike)):
            specs = TaskSpecs.read(specs)
        elif not isinstance(specs, TaskSpecs):
            specs = TaskSpecs(specs)
        self.specs = specs
        self._items = memory.items
        self._sources = memory.items.sources
        self._desk = Desk(
            self._sources,
            Gatherer(self._sources),
            RuleTriage() if triage is None else triage,
            Lines(self._sources.handle.engine.encoding),
            Plans(plans),
        )
        self._removals = 0
        self._types = {*MEMORY_TYPES, *REMEMBERED}
        self._desk.forget_when_erased()

    @spelled_out(TaskOptions, RunOptions)
    def route(self, task: str, *, query: str, **options: Unpack[RouteKeywords]) -> Payload:
        """Return the context of one call.

        Args:
            task: The name of the task, which a specification has.
            query: What the task is asked; it stands last.
            options: The fields of `TaskOptions` and of `RunOptions`.

        Raises:
            BudgetTooSmall: What is essential does not fit.
            SpecError: A need names a type of which nothing was ever put.
            InvalidInputError: An argument is out of its range, or no specification has that name.
            StoreError: The store could not be read.
            EmbedderError: The embedder failed.
        """
        refuse_unknown(options, "route", TaskOptions, RunOptions)
        given = dict[str, Any](options)
        given["now"] = given.get("now") or datetime.now(UTC)
        vector = vector_of(given.pop("query_vector", None))
        request = Request(task=task, query=query, vector=vector, **given)
        return self._routed(request)

    def reroute(self, payload: Payload, confidence: float) -> Payload:
        """Return another payload for a task that is unsure of its answer.

        What the first one left out, but for what is superseded, gets half of the room that is not
        taken by essential items; the rest stays for what stood there. So what was redundant,
        because it was worked up in another item, is read in its raw form.

        Args:
            payload: What the task was given.
            confidence: How sure it is of its answer, 0 to 1; the reasons say it.

        Raises:
            InvalidInputError: The confidence is out of its range.
            BudgetTooSmall: What is essential does not fit any more.
            StoreError: The store could not be read.
            EmbedderError: The embedder failed.
        """
        again = frozenset(one.memory_id for one in payload.excluded)
        confidence = confidence_of(confidence)
        return self._routed(replace(payload.request, again=again, confidence=confidence))

    @spelled_out(TaskOptions, RunOptions)
    def run(
        self,
        task: str,
        call: Callable[[Payload], tuple[R, float]],
        *,
        query: str,
        threshold: float = SURE,
        **options: Unpack[RouteKeywords],
    ) -> Run[R]:
        """Call a task with its context, and once more with another one if it is unsure.

        Args:
            task: The name of the task.
            call: Takes a payload and returns the answer, and how sure it is of it, 0 to 1.
            query: What the task is asked.
            threshold: The confidence under which the task is called again; see `reroute`. It is not
                if nothing was left out, or the other payload has the same items.
            options: As in `route`.

        Returns:
            The surer of the answers, the first one of two alike; with its payload.

        Raises:
            InvalidInputError: The call returned something else, or see `route`.
        """
        confidence_of(threshold, "threshold")
        payload = self.route(task, query=query, **options)
        answer, confidence = answer_of(call(payload))
        first = Run(answer=answer, confidence=confidence, payload=payload)
        if confidence >= threshold:
            return first
        other = self.reroute(payload, confidence)
        if same_items(other, payload):
            return first
        answer, confidence = answer_of(call(other))
        second = Run(answer=answer, confidence=confidence, payload=other, rerouted=True)
        return second if second.confidence > first.confidence else replace(first, rerouted=True)

    def pipeline(self, name: str) -> Pipeline:
        """Return a run of modules, which carries verdicts and outputs from one to the next.

        Args:
            name: The name of the run, under which its outputs are kept.

        Raises:
            InvalidInputError: It is no name.
        """
        return Pipeline(self, self._items, name)

    aroute = twin(route)
    areroute = twin(reroute)
    arun = twin(run)

    def _routed(self, request: Request) -> Payload:
        spec = self.specs.get(request.task) if isinstance(request.task, str) else None
        if spec is None:
            known = ", ".join(self.specs) or "none"
            raise InvalidInputError(
                f"task: there is no specification of {request.task!r:.80}; there are {known}"
            )
        redactor = self._sources.handle.redactor
        request = replace(request, query=redactor.text(request.query))
        if request.vector is None:
            request = replace(request, vector=self._sources.vector(request.query))
        self._forget_removed()
        self._check_types(spec)
        return Composer(self._desk, spec, request).payload()

    def _forget_removed(self) -> None:
        removals = self._sources.shelf().removals
        if removals != self._removals:
            self._removals = removals
            self._desk.forget()

    def _check_types(self, spec: TaskSpec) -> None:
        """Refuse types that nobody ever put; what was there once is known from then on."""
        shelf = self._sources.shelf()
        for number, need in enumerate(spec.required_memory):
            if need.type not in self._types:
                ask = Ask(k=1, types=frozenset((need.type,)), archived=True, superseded=True)
                if not shelf.find([ask], Question())[0].matched:
                    path = f"$.required_memory[{number}].type"
                    raise SpecError(path, f"nothing of type {need.type!r:.80} was ever put")
                self._types.add(need.type)
