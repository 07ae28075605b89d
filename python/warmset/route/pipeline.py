"""A run of modules, one after the other, each with a payload of its own.

```text
route a module ─▶ its call ─▶ output, with what it was made from ─▶ route the next one
      ▲                                                                │
      └── what had no use for whom: worth less, never left out ◀───────┘
```

A module that comes later gets the outputs: where both an output and what it was made from are
candidates, the output stands for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, get_args

from warmset._support.aio import twin
from warmset._support.keywords import refuse_unknown, spelled_out
from warmset._support.locks import guarded, lock
from warmset._support.names import fault_of
from warmset.errors import InvalidInputError
from warmset.items import NewItem
from warmset.options import CONFIDENCE
from warmset.route.candidates import Classification
from warmset.route.payload import Payload
from warmset.route.request import TaskOptions
from warmset.route.run import SURE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from typing import Unpack

    from warmset.items import Items
    from warmset.route.request import RouteKeywords, TaskKeywords
    from warmset.route.run import Run
    from warmset.route.verdicts import KeptVerdicts

R = TypeVar("R")


class Routes(Protocol):
    """What a pipeline asks for payloads: a `Router`."""

    def route(self, task: str, *, query: str, **options: Unpack[RouteKeywords]) -> Payload:
        """Return the context of one call; see `Router.route`."""
        ...

    def run(
        self,
        task: str,
        call: Callable[[Payload], tuple[R, float]],
        *,
        query: str,
        threshold: float = SURE,
        **options: Unpack[RouteKeywords],
    ) -> Run[R]:
        """Call a task with its context; see `Router.run`."""
        ...


@guarded("self._lock", fields=("_verdicts",))
class Pipeline:
    """A run of modules; make one with `Router.pipeline`.

    Outputs are durable items of type "module_output" under the name of the run. What modules had no
    use for is kept beside the records of payloads, as long as those, and read when the object is
    made: so another process may go on with the run. Without records it is kept as long as the
    object.

    Args:
        router: Makes the payloads.
        items: Keeps the outputs.
        name: The name of the run.
        kept: Keeps the verdicts; only the object does if it is not given.

    Raises:
        InvalidInputError: It is no name.
        StoreError: The verdicts could not be read.
    """

    def __init__(
        self, router: Routes, items: Items, name: str, kept: KeptVerdicts | None = None
    ) -> None:
        if (fault := fault_of(name)) is not None:
            raise InvalidInputError(f"pipeline: {fault}")
        self._router = router
        self._items = items
        self._lock = lock("pipeline")
        self._kept = kept
        self._verdicts: dict[str, dict[str, Classification]] = {} if kept is None else kept.read()
        self.name = name

    @spelled_out(TaskOptions)
    def route(self, task: str, *, query: str, **options: Unpack[TaskKeywords]) -> Payload:
        """Return the context of one call of a module.

        Args:
            task: The name of the module, which is that of its task.
            query: What it is asked.
            options: The fields of `TaskOptions`.

        Raises:
            WarmsetError: As `Router.route`.
        """
        refuse_unknown(options, "route", TaskOptions)
        earlier = self._no_use(task)
        payload = self._router.route(
            task, query=query, pipeline=self.name, earlier=earlier, **options
        )
        self._note(task, payload)
        return payload

    @spelled_out(TaskOptions)
    def run(
        self,
        task: str,
        call: Callable[[Payload], tuple[R, float]],
        *,
        query: str,
        threshold: float = SURE,
        **options: Unpack[TaskKeywords],
    ) -> Run[R]:
        """Call a module with its context, and once more if it is unsure; see `Router.run`.

        Args:
            task: The name of the module.
            call: Takes a payload and returns the answer, and how sure it is of it, 0 to 1.
            query: What it is asked.
            threshold: The confidence under which it is called again.
            options: The fields of `TaskOptions`.

        Raises:
            WarmsetError: As `Router.run`.
        """
        refuse_unknown(options, "run", TaskOptions)
        earlier = self._no_use(task)
        made = self._router.run(
            task,
            call,
            query=query,
            threshold=threshold,
            pipeline=self.name,
            earlier=earlier,
            **options,
        )
        self._note(task, made.payload)
        return made

    def output(
        self,
        task: str,
        text: str | None = None,
        *,
        data: Any = None,
        derived_from: Payload | Iterable[str] = (),
        memory_id: str | None = None,
        summary: str | None = None,
        conversation: str | None = None,
        session_id: str | None = None,
        timestamp: datetime | None = None,
        sections: Sequence[str] = (),
        keys: Sequence[str] = (),
        entities: Sequence[str] = (),
        relevance_decay: float = 1.0,
        confidence: float = CONFIDENCE,
        meta: Mapping[str, Any] | None = None,
    ) -> str:
        """Keep what a module made; an output of the same name is another version of it.

        Args:
            task: The name of the module.
            text: Its output; this or `data`.
            data: Plain JSON in place of a text.
            derived_from: What it was made from: names, or the payload of the call. It is erased
                with any of it, and its origin is no more trusted.
            memory_id: Its name; the run and the module, with a slash between them, if not given.
            summary: What it says, in few words.
            conversation: The conversation that it belongs to and is erased with; that of the
                payload if not given.
            session_id: The session of the conversation; of none if not given.
            timestamp: When it was made; the time of the call if not given. Without a time zone it
                is UTC.
            sections: Labels of sections.
            keys: What it is known under.
            entities: Whom or what it names.
            relevance_decay: What its relevance is multiplied by for each hour, or turn, of its age;
                over 0 to 1.
            confidence: How certain it is, from 0 to 1.
            meta: Your own fields, plain JSON.

        Returns:
            Its name.

        Raises:
            NotFound: It was made from something that is not there.
            InvalidInputError: A field has a wrong value.
            StoreError: It could not be written.
        """
        if isinstance(derived_from, Payload):
            conversation = conversation or derived_from.request.conversation
            names = [one.memory_id for one in derived_from.context_payload]
        elif isinstance(derived_from, str) or not isinstance(derived_from, Iterable):
            raise InvalidInputError(
                f"derived_from: expected a payload or a list of names, found {derived_from!r:.80}"
            )
        else:
            names = list(derived_from)
        memory_id = f"{self.name}/{task}" if memory_id is None else memory_id
        return self._items.put(
            NewItem(
                memory_type="module_output",
                text=text,
                data=data,
                memory_id=memory_id,
                summary=summary,
                conversation=conversation,
                session_id=session_id,
                timestamp=timestamp,
                module_context=task,
                pipeline=self.name,
                sections=sections,
                keys=keys,
                entities=entities,
                relevance_decay=relevance_decay,
                derived_from=[name for name in names if name != memory_id],
                origin="assistant",
                confidence=confidence,
                meta=meta,
            )
        )

    def judge(self, task: str, classification: Classification, *memory_ids: str) -> None:
        """Say what items are for a module, in place of what was judged.

        Args:
            task: The name of the module.
            classification: "essential", "supplementary", "redundant", or "irrelevant": then the
                items are worth less to the modules that come later.
            memory_ids: The names of the items.

        Raises:
            InvalidInputError: The word is none of these, or a name is none.
            StoreError: The store could not be read.
        """
        if classification not in get_args(Classification):
            known = ", ".join(get_args(Classification))
            raise InvalidInputError(
                f"classification: expected one of {known}, found {classification!r:.80}"
            )
        for field, given in (("task", task), *(("memory_ids", name) for name in memory_ids)):
            if (fault := fault_of(given)) is not None:
                raise InvalidInputError(f"{field}: {fault}")
        new = self._said(task, dict.fromkeys(memory_ids, classification))
        if new and self._kept is not None:
            for conversation, names in self._kept.by_conversation(new).items():
                self._kept.write(task, dict.fromkeys(names, classification), conversation)

    def verdicts(self) -> dict[str, dict[str, Classification]]:
        """Return what each item was for each module so far, by the item's name."""
        with self._lock:
            return {name: dict(said) for name, said in self._verdicts.items()}

    aroute = twin(route)
    arun = twin(run)
    aoutput = twin(output)

    def _no_use(self, task: str) -> dict[str, list[str]]:
        """Return the other modules that had no use for an item, by its name."""
        with self._lock:
            found = {
                name: [one for one, word in said.items() if word == "irrelevant" and one != task]
                for name, said in self._verdicts.items()
            }
        return {name: tasks for name, tasks in found.items() if tasks}

    def _note(self, task: str, payload: Payload) -> None:
        words: dict[str, Classification] = {
            one.memory_id: one.classification for one in payload.context_payload
        }
        words |= {one.memory_id: one.classification for one in payload.excluded}
        new = self._said(task, words)
        if new and self._kept is not None:
            self._kept.write(task, new, payload.request.conversation)

    def _said(self, task: str, words: Mapping[str, Classification]) -> dict[str, Classification]:
        """Note what items are for a module, and return what is new of it."""
        with self._lock:
            new: dict[str, Classification] = {
                name: word
                for name, word in words.items()
                if self._verdicts.get(name, {}).get(task) != word
            }
            for name, word in new.items():
                self._verdicts.setdefault(name, {})[task] = word
        return new
