"""Phase 1 of routing: from the needs of a task to candidates, without a model.

```text
need ─▶ scope, recency, labels ─▶ asks ─▶ the index of items, one call for all of them
                                      └─▶ messages and memories, which lie in the store already
```
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from warmset.compact.distil import MEMORY_TYPES
from warmset.items.ask import NO_NAME, Ask, Question
from warmset.items.existing import MESSAGE, TurnAsk
from warmset.route.candidates import Candidate, Gathered, NeedReport, labels_of, of_item
from warmset.route.need import PRIORITIES, When

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from warmset._core import Held
    from warmset.items.ask import Hit
    from warmset.items.items import Sources
    from warmset.items.shelf import Shelf
    from warmset.route.need import Need
    from warmset.route.request import Request
    from warmset.route.spec import TaskSpec

MOST: Final = 256
"""The most candidates of a need that is not essential: the newest, or the most similar."""

SIMILAR: Final = 0.3
"""The least similarity that counts where a specification gives no threshold."""

_UNBOUNDED: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class _Asked:
    """One need that is looked up."""

    number: int
    need: Need
    ask: Ask
    last: int | None = None


class Gatherer:
    """Finds the candidates of a task.

    Args:
        sources: The items, memories and messages of a tenant.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def gather(self, spec: TaskSpec, request: Request) -> Gathered:
        """Return the candidates of a task.

        Raises:
            StoreError: The store could not be read.
            EmbedderError: The embedder failed.
        """
        shelf = self._sources.shelf()
        vector = self._sources.vector(request.query) if request.vector is None else request.vector
        turns = self._sources.existing.times(request.conversation)
        question = Question(
            text=request.query,
            vector=vector,
            weights=self._sources.weights,
            now=None if spec.decay == "turn" else int(request.now.timestamp() * 1_000_000),
            turns=turns if spec.decay == "turn" else None,
        )
        reports: dict[int, NeedReport] = {}
        asked: list[_Asked] = []
        for number, need in enumerate(spec.required_memory):
            why = self._unmet(need, request, turns)
            if why is not None:
                reports[number] = NeedReport(number=number, left=why)
            else:
                asked.append(_Asked(number, need, self._ask(need, request, turns), need.turns))
        put = [one for one in asked if one.need.type != MESSAGE]
        answers = dict(
            zip(
                (one.number for one in put),
                shelf.find([one.ask for one in put], question) if put else (),
                strict=True,
            )
        )
        heirs = shelf.heirs()
        found = _Union()
        superseded: dict[int, tuple[int, str, int]] = {}
        for one in asked:
            listed: list[Candidate] = []
            answer = answers.get(one.number)
            if answer is not None:
                listed += _of_hits(shelf, answer.found, one)
                for held in filter(None, map(shelf.get, answer.superseded)):
                    heir = heirs.get(held.memory_id)
                    if heir is not None:
                        superseded[held.id] = (held.id, held.memory_id, heir)
            others = self._existing(one, question, request, heirs)
            listed += others
            matched = 0 if answer is None else answer.matched
            reports[one.number] = NeedReport(
                number=one.number,
                matched=matched + len(others),
                found=len(listed),
                lacking={} if answer is None else answer.lacking,
            )
            found.add(listed)
        return Gathered(
            candidates=found.ranked(request.earlier),
            superseded=[one for one in superseded.values() if one[0] not in found],
            needs=[reports[number] for number in sorted(reports)],
            vector=vector,
        )

    def _ask(self, need: Need, request: Request, turns: Sequence[int]) -> Ask:
        """Return what a need asks for."""
        labels = {
            "module": need.all_modules,
            "sections": need.sections,
            "keys": need.keys,
            "entities": need.entities,
        }
        wanted = {name: frozenset(names) for name, names in labels.items() if names}
        but: dict[str, frozenset[str]] = {}
        conversation = session = None
        if need.scope in ("current_session", "prior_sessions"):
            conversation = request.conversation or NO_NAME
        if need.scope == "current_session":
            own = self._session(request)
            wanted["session"] = frozenset((NO_NAME,) if own is None else (own, NO_NAME))
        elif need.scope == "prior_sessions":
            own = self._session(request)
            but["session"] = frozenset((NO_NAME,) if own is None else (own, NO_NAME))
        elif need.scope == "current_pipeline":
            wanted["pipeline"] = frozenset((request.pipeline or NO_NAME,))
        elif need.scope == "current_error":
            wanted["keys"] = frozenset((request.error or NO_NAME,))
        since = None
        if need.within is not None:
            since = int((request.now - need.within).timestamp() * 1_000)
        elif need.turns is not None and need.type != MESSAGE and turns:
            since = turns[max(0, len(turns) - need.turns)] // 1_000
        return Ask(
            k=_UNBOUNDED if need.priority == "essential" else MOST,
            types=frozenset((need.type,)),
            conversation=conversation,
            session=session,
            labels=wanted,
            but=but,
            since=since,
            floor=_floor(need),
        )

    def _session(self, request: Request) -> str | None:
        if request.session is not None or request.conversation is None:
            return request.session
        return self._sources.existing.session(request.conversation)

    def _unmet(self, need: Need, request: Request, turns: Sequence[int]) -> str | None:
        """Return why a need is left out; None if it counts."""
        lacks = {
            "current_pipeline": request.pipeline,
            "current_error": request.error,
            "prior_sessions": request.conversation,
            "current_session": request.conversation or need.type != MESSAGE,
        }
        if need.scope in lacks and not lacks[need.scope]:
            named = {"current_pipeline": "pipeline", "current_error": "error"}
            return f"the request names no {named.get(need.scope, 'conversation')}"
        if need.when is None:
            return None
        query = request.query.casefold()
        mentions = need.when.mentions
        if mentions and not any(phrase.casefold() in query for phrase in mentions):
            return "the query mentions none of its words"
        for type_ in need.when.present:
            there = replace(need, type=type_, when=None, similarity_match=False)
            ask = replace(self._ask(there, request, turns), k=1, floor=None)
            one = _Asked(-1, there, ask, there.turns)
            [answer] = self._sources.shelf().find([ask], Question())
            if not answer.found and not self._existing(one, Question(), request, {}):
                return f"there is no item of type {type_!r}"
        return None

    def _existing(
        self, one: _Asked, question: Question, request: Request, heirs: Mapping[str, int]
    ) -> list[Candidate]:
        """Return the messages or memories that a need names."""
        need, ask = one.need, one.ask
        existing = self._sources.existing
        if need.type == MESSAGE:
            if ask.labels.keys() - {"session"}:
                return []
            turn_ask = TurnAsk(
                conversation=request.conversation,
                scope=need.scope,
                session=request.session,
                last=one.last,
            )
            found = existing.turns(turn_ask, ask, question, heirs)
        elif need.type in MEMORY_TYPES:
            if ask.labels.keys() - {"session"} or need.scope == "prior_sessions":
                return []
            found = existing.known(ask, question, heirs)
        else:
            return []
        asked = question.text is not None
        return [
            of_item(
                item,
                priority=need.priority,
                needs=(one.number,),
                similarity=item.score if asked else None,
                relevance=(item.score or 0.0) if asked else 1.0,
            )
            for item in found
        ]


class _Union:
    """Candidates of several needs, each once."""

    def __init__(self) -> None:
        self._by_id: dict[int, Candidate] = {}

    def __contains__(self, id_: object) -> bool:
        return id_ in self._by_id

    def add(self, found: Iterable[Candidate]) -> None:
        for one in found:
            known = self._by_id.get(one.id)
            if known is None:
                self._by_id[one.id] = one
            else:
                best = min(known, one, key=lambda any_: PRIORITIES.index(any_.priority))
                self._by_id[one.id] = replace(best, needs=(*known.needs, *one.needs))

    def ranked(self, earlier: Mapping[str, Sequence[str]]) -> list[Candidate]:
        """Return essential ones first, then by worth, ties by id.

        Args:
            earlier: By name, the tasks that had no use for an item.
        """
        found = [
            replace(one, earlier=tuple(earlier[one.memory_id])) if one.memory_id in earlier else one
            for one in self._by_id.values()
        ]
        found.sort(key=lambda one: (one.priority != "essential", -one.worth, one.id))
        return found


def _floor(need: Need) -> float | None:
    """Return the least similarity that a need asks for; None if all count."""
    match = need.similarity_match
    floors = [SIMILAR if match is True else match] if match is not False else []
    if need.priority == "conditional":
        when = need.when or When(similarity=SIMILAR)
        floors += [] if when.similarity is None else [when.similarity]
    return max(floors, default=None)


def _of_hits(shelf: Shelf, hits: Iterable[Hit], one: _Asked) -> list[Candidate]:
    found = ((hit, shelf.get(hit.id)) for hit in hits)
    return [_of_held(held, hit, one) for hit, held in found if held is not None]


def _of_held(held: Held, hit: Hit, one: _Asked) -> Candidate:
    return Candidate(
        id=held.id,
        memory_id=held.memory_id,
        memory_type=one.need.type,
        priority=one.need.priority,
        needs=(one.number,),
        similarity=hit.similarity,
        relevance=hit.relevance,
        tokens=held.tokens,
        at=held.at,
        origin=held.origin,
        dependencies=held.dependencies,
        derived_from=held.derived_from,
        reward=held.reward,
        confidence=held.confidence,
        labels=labels_of(
            {
                name: held.names(name)
                for name in ("session", "module", "pipeline", "sections", "keys", "entities")
            }
        ),
    )
