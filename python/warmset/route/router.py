"""The context router: each call of a task gets what the task needs, and says why."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from warmset._support.aio import twin
from warmset._support.keywords import refuse_unknown, spelled_out
from warmset._support.log import event, kind, room
from warmset._support.names import fault_of
from warmset.compact.distil import MEMORY_TYPES as REMEMBERED
from warmset.errors import InvalidInputError, NotFound, SpecError, StoreError
from warmset.evict.policies import at_least
from warmset.items.ask import Ask, Question
from warmset.items.rewards import FIX
from warmset.route.compose import Composer
from warmset.route.desk import Desk, Present
from warmset.route.fixes import REWARD, SIMILARITY, CachedFix, Fixes, Meant, check_share
from warmset.route.gather import Gatherer
from warmset.route.likeness import StoredVectors
from warmset.route.need import MEMORY_TYPES
from warmset.route.outcomes import Outcomes
from warmset.route.payload import Payload
from warmset.route.pipeline import Pipeline
from warmset.route.plans import KEPT as MOST_PLANS, Plans
from warmset.route.policy import held_to
from warmset.route.quoted import Lines
from warmset.route.records import KEPT, Recorder
from warmset.route.registry import TaskSpecs
from warmset.route.replay import replayed
from warmset.route.request import Request, RunOptions, TaskOptions, vector_of
from warmset.route.run import SURE, Run, answer_of, check_call, confidence_of, same_items
from warmset.route.triage import RuleTriage
from warmset.route.verdicts import KeptVerdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Unpack

    from warmset.items import Items
    from warmset.items.item import Origin
    from warmset.route.outcomes import Decision, OutcomeRecord
    from warmset.route.policy import Policy
    from warmset.route.records import PayloadRecord
    from warmset.route.request import RouteKeywords
    from warmset.route.spec import TaskSpec
    from warmset.route.triage import Triage

LOG: Final = room("route")

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
        triage: Judges what the rules leave open, as an `LLMTriage` does; the rules alone judge if
            it is not given.
        plans: How many plans are kept, to be used for the same request as long as nothing changes
            in the store; 0 for none.
        record: Whether each payload leaves a record, for `replay`. A record that cannot be written
            costs no payload: a note in it says so.
        keep_records: How long a record is kept; None for ever.
        policy: Leaves out needs that are not worth their tokens, see `LearnedPolicy`; all needs
            count if it is not given.

    Raises:
        InvalidInputError: The number of plans is negative, or `keep_records` is not more than 0.
        SpecError: A specification is wrong.
        OSError: The folder cannot be read.
    """

    def __init__(
        self,
        memory: Routed,
        *,
        specs: TaskSpecs | Iterable[TaskSpec] | str | PathLike[str] | None = None,
        triage: Triage | None = None,
        policy: Policy | None = None,
        plans: int = MOST_PLANS,
        record: bool = True,
        keep_records: timedelta | None = KEPT,
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
        encoding = self._sources.handle.engine.encoding
        self._desk = Desk(
            self._sources,
            Gatherer(self._sources),
            None if isinstance(triage, RuleTriage) else triage,
            triage if isinstance(triage, RuleTriage) else RuleTriage(StoredVectors(self._sources)),
            Lines(encoding),
            Plans(plans),
            Present(self._sources),
            encoding,
        )
        self._recorder = Recorder(self._sources, keep_records)
        self._records = record
        self._types = {*MEMORY_TYPES, *REMEMBERED}
        self._desk.forget_when_erased()
        self._fixes = Fixes(memory.items)
        self._outcomes = Outcomes(self._sources.handle)
        self._policy = policy

    @spelled_out(TaskOptions, RunOptions)
    def route(self, task: str, *, query: str, **options: Unpack[RouteKeywords]) -> Payload:
        """Return the context of one call.

        The request may have been appended to the conversation before: its newest message is no
        candidate if a user said it and its text is the query, which stands at the end in any case.

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
        because it was worked up in another item, is read in its raw form. Once the conversation of
        the payload was erased, the other one leaves no record.

        Args:
            payload: What the task was given.
            confidence: How sure it is of its answer, 0 to 1; the reasons say it.

        Raises:
            InvalidInputError: It is no payload, or the confidence is out of its range.
            BudgetTooSmall: What is essential does not fit any more.
            StoreError: The store could not be read.
            EmbedderError: The embedder failed.
        """
        if not isinstance(payload, Payload):
            raise InvalidInputError(f"payload: expected a Payload, found {payload!r:.80}")
        again = frozenset(one.memory_id for one in payload.excluded)
        confidence = confidence_of(confidence)
        request = replace(payload.request, again=again, confidence=confidence)
        return self._routed(request, after=payload.trace if request.conversation else None)

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
        check_call(call)
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
            name: The name of the run, under which its outputs are kept, and its verdicts unless the
                router leaves no records.

        Raises:
            InvalidInputError: It is no name.
            StoreError: The store could not be read.
        """
        keep = self._recorder.keep
        kept = KeptVerdicts(self._sources, name, keep) if self._records else None
        return Pipeline(self, self._items, name, kept)

    aroute = twin(route)
    areroute = twin(reroute)
    arun = twin(run)

    def _routed(self, request: Request, after: int | None = None) -> Payload:
        spec = self.specs.get(request.task) if isinstance(request.task, str) else None
        if spec is None:
            known = ", ".join(self.specs) or "none"
            raise InvalidInputError(
                f"task: there is no specification of {request.task!r:.80}; there are {known}"
            )
        redactor = self._sources.handle.redactor
        request = replace(request, query=redactor.text(request.query))
        notes: list[str] = []
        if request.vector is None:
            vector, why = self._sources.vector_or_why(request.query)
            request = replace(request, vector=vector)
            if why is not None:
                notes.append(f"compared by words alone: {why}")
        self._sources.shelf()  # follows what other processes wrote
        self._check_types(spec)
        decision = self._decision(spec, request)
        if decision is None and self._policy is not None:
            notes.append("the policy failed, so that all needs count")
        if decision is not None:
            skipped = frozenset(at for at, keeps in enumerate(decision.kept) if not keeps)
            request = replace(request, skipped=skipped)
        record = partial(self._recorder.write, self._desk, spec, request, after=after)
        composer = Composer(self._desk, spec, request, record=record if self._records else None)
        payload = composer.payload()
        trace = payload.trace or after
        if trace is None and decision is not None and request.conversation is not None:
            trace = self._sources.existing.newest(request.conversation)
        notes += payload.notes
        return replace(payload, decision=decision, trace=trace, notes=tuple(notes))

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

    def learn_fix(
        self,
        error: str,
        fix: str,
        *,
        origin: Origin,
        keys: Sequence[str] = (),
        conversation: str | None = None,
        derived_from: Sequence[str] = (),
        reward: float | None = None,
    ) -> str:
        """Store a fix of an error, as an item of type "error_fix".

        The same fix of the same error, whatever numbers, paths and hosts it has, is one item: what
        is there already stays as it is, with its outcomes.

        Args:
            error: What the error says.
            fix: What to do.
            origin: Whose words the fix has: "user", "assistant", "tool", "import" or "web".
            keys: What the error is known under.
            conversation: The conversation that it belongs to and is erased with.
            derived_from: Names of items that it was made from.
            reward: How well it worked, 0 to 1, if that is known; it counts until there is an
                outcome, unless a stranger says so, and confirms nothing.

        Returns:
            The name of the item.

        Raises:
            InvalidInputError: An argument has a wrong value.
            NotFound: It is derived from something that is not there.
            RedactionError: The redaction hook failed.
            StoreError: It could not be written.
        """
        return self._fixes.learn(
            error,
            fix,
            origin=origin,
            keys=keys,
            conversation=conversation,
            derived_from=derived_from,
            reward=reward,
        )

    def fix_for(
        self,
        error: str,
        *,
        similarity: float = SIMILARITY,
        reward: float = REWARD,
        conversation: str | None = None,
        keys: Iterable[str] = (),
    ) -> CachedFix | None:
        """Return the best fix that is known for an error, without a model's diagnosis.

        The best one has the highest similarity times reward. The similarity is the share of words
        that both errors have, without numbers, paths, hosts and addresses; with an embedder, its
        weighted mean with the cosine of the vectors. Errors with different codes, such as two
        states of HTTP, are different, and so are errors that quote different names. The reward is
        the mean of a Beta posterior with the prior Beta(1, 1):
        `(1 + sum of the rewards) / (2 + their number)`, so 0.5 before anything is known.

        A fix whose origin is "tool", "web" or "import" is text of strangers. It is not returned
        before an outcome of its own was reported, and only while more than 0.5 is expected of it.

        Args:
            error: What the error says.
            similarity: The least similarity, 0 to 1.
            reward: The least reward that is expected, 0 to 1.
            conversation: Only fixes of this conversation, or of none; all of the tenant's if it is
                not given.
            keys: Only fixes with one of these keys.

        Returns:
            The fix; None if none is good enough.

        Raises:
            InvalidInputError: An argument has a wrong value.
            RedactionError: The redaction hook failed.
            EmbedderError: The embedder failed.
            StoreError: The store could not be read.
        """
        return self._fixes.find(
            error, similarity=similarity, reward=reward, conversation=conversation, keys=keys
        )

    def outcome(self, of: Payload | CachedFix | str, reward: float, /) -> tuple[str, ...]:
        """Report how well a call went; each report counts once, whichever process makes it.

        For a fix, the outcome is counted as its own. A payload that a policy had a hand in adds an
        outcome to those that it learns from, once. For a payload it is counted for each fix that
        stood in it, but for those of strangers that were not confirmed yet: which one was applied
        is not known, so report these by name.

        Once the conversation of a payload was erased, nothing is stored of it any more: the outcome
        counts for fixes that are still there, and the policy does not learn from it.

        Args:
            of: What was applied: a fix of `fix_for`, the name of a fix, or the payload of a call.
            reward: How well it went, 0 to 1.

        Returns:
            The names of the fixes that it was counted for; none of those that were erased or
            changed meanwhile.

        Raises:
            InvalidInputError: The reward is none, or it is the outcome of something else.
            NotFound: There is no item of that name.
            ReadOnly: The store is open for reading only.
            StoreError: It could not be written.
        """
        reward = check_share("reward", reward)
        meant = self._meant(of)
        if isinstance(of, Payload) and of.decision is not None:
            self._outcomes.add(
                of.task, of.decision, reward, of.request.conversation, trace=of.trace
            )
        return self._fixes.report(meant, reward)

    def outcomes(self, task: str) -> list[OutcomeRecord]:
        """Return what was reported of payloads of a task that a policy had a hand in.

        The newest 2,000 are kept. They hold no text, and are erased with the conversation of the
        call. `evaluate` says by them what another specification would have earned.

        Args:
            task: The name of the task.

        Returns:
            The outcomes, the oldest first.

        Raises:
            InvalidInputError: It is no name.
            StoreError: The store could not be read.
        """
        if (fault := fault_of(task)) is not None:
            raise InvalidInputError(f"task: {fault}")
        return self._outcomes.of(task)

    def _decision(self, spec: TaskSpec, request: Request) -> Decision | None:
        """Return what the policy says; None without one, or if it fails."""
        if self._policy is None:
            return None
        try:
            records = self._outcomes.of(spec.task_type)
            decision = self._policy.decide(spec, request, records)
            return held_to(spec, decision)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - the caller's code; all needs count then
            task = spec.task_type
            event(
                LOG,
                logging.WARNING,
                "fell_back",
                what="policy",
                to="spec",
                task=task,
                error=kind(error),
            )
            return None

    def _meant(self, of: object) -> list[Meant]:
        """Return what an outcome is of."""
        if isinstance(of, CachedFix):
            return [Meant(of.memory_id, of.id, is_own=True)]
        if isinstance(of, Payload):
            return [Meant(one.memory_id, one.id, is_own=False) for one in of.context_payload]
        if not isinstance(of, str):
            raise InvalidInputError(f"outcome: expected a payload or a fix, found {of!r:.80}")
        held = self._sources.shelf().named(of)
        if held is None:
            raise NotFound(f"there is no item {of!r:.80} that was put")
        if held.names("type") != (FIX,):
            raise InvalidInputError(f"outcome: {of!r:.80} is no item of type {FIX!r}")
        return [Meant(of, held.id, is_own=True)]

    areplay = twin(replay)
    arecord = twin(record)
    apayloads = twin(payloads)
    alearn_fix = twin(learn_fix)
    afix_for = twin(fix_for)
    aoutcome = twin(outcome)
    aoutcomes = twin(outcomes)

    def _check_types(self, spec: TaskSpec) -> None:
        """Refuse types that nobody ever put; what was there once is known from then on."""
        shelf = self._sources.as_seen()
        for number, need in enumerate(spec.required_memory):
            if need.type not in self._types:
                ask = Ask(k=1, types=frozenset((need.type,)), archived=True, superseded=True)
                if not shelf.find([ask], Question())[0].matched:
                    path = f"$.required_memory[{number}].type"
                    raise SpecError(path, f"nothing of type {need.type!r:.80} was ever put")
                self._types.add(need.type)
