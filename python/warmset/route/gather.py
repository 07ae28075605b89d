"""Phase 1 of routing: from the needs of a task to candidates, without a model.

```text
need ─▶ scope, recency, labels ─▶ asks ─▶ the index of items, one call for all of them
                                      └─▶ messages and memories, which lie in the store already
```
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from warmset.compact.distil import MEMORY_TYPES
from warmset.items.ask import NO_NAME, Ask, Question
from warmset.items.existing import MESSAGE, TurnAsk
from warmset.route.candidates import Candidate, Gathered, NeedReport, facts_of, untried
from warmset.route.need import PRIORITIES, When

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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

_SKIPPED: Final = "left out by the policy"
_UNBOUNDED: Final = (1 << 63) - 1
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class _Asked:
    """One need that is looked up."""

    number: int
    need: Need
    ask: Ask
    last: int | None = None


@dataclass(frozen=True, slots=True)
class _Here:
    """What the conversation of a request is like.

    Args:
        turns: The times of its messages, if any need counts them.
        session: The name of the current session.
        asked: The id of the message that is the request, if it was appended before the call.
    """

    turns: Sequence[int]
    session: str | None
    asked: int | None


class Gatherer:
    """Finds the candidates of a task.

    Args:
        sources: The items, memories and messages of a tenant.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def gather(self, spec: TaskSpec, request: Request) -> Gathered:
        """Return the candidates of a task.

        Args:
            spec: What the task needs.
            request: What they are for; with a vector, unless words alone are to be compared.

        Raises:
            StoreError: The store could not be read.
        """
        shelf = self._sources.as_seen()
        needs = spec.required_memory
        counts = spec.decay == "turn" or any(need.turns is not None for need in needs)
        here = self._here(request, counts=counts)
        question = Question(
            text=request.query,
            vector=request.vector,
            weights=self._sources.weights,
            now=None if spec.decay == "turn" else int(request.now.timestamp() * 1_000_000),
            turns=here.turns if spec.decay == "turn" else None,
        )
        reports: dict[int, NeedReport] = {}
        asked: list[_Asked] = []
        for number, need in enumerate(needs):
            skipped = number in request.skipped
            why = _SKIPPED if skipped else self._unmet(need, request, here)
            if why is not None:
                reports[number] = NeedReport(number=number, left=why)
            else:
                ask = _ask_of(need, request, here)
                asked.append(_Asked(number, need, ask, need.turns))
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
            others, matched = self._existing(one, question, request, heirs, here)
            listed += others
            matched += 0 if answer is None else answer.matched
            reports[one.number] = NeedReport(
                number=one.number,
                matched=matched,
                found=len(listed),
                lacking={} if answer is None else answer.lacking,
            )
            found.add(listed)
        candidates = found.ranked(request.earlier)
        ages = spec.decay == "hour" and any(one.known.decay < 1 for one in candidates)
        return Gathered(
            spec=spec,
            candidates=candidates,
            superseded=[one for one in superseded.values() if one[0] not in found],
            needs=[reports[number] for number in sorted(reports)],
            session=here.session,
            asked=here.asked,
            timeless=not ages and all(need.within is None for need in needs),
        )

    def _here(self, request: Request, *, counts: bool) -> _Here:
        existing, conversation = self._sources.existing, request.conversation
        asked = existing.asked(conversation, request.query)
        session = request.session
        if session is None and conversation is not None:
            session = existing.session(conversation)
        return _Here(existing.times(conversation, asked) if counts else [], session, asked)

    def _unmet(self, need: Need, request: Request, here: _Here) -> str | None:
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
            ask = replace(_ask_of(there, request, here), k=1, floor=None)
            one = _Asked(-1, there, ask, there.turns)
            [answer] = self._sources.as_seen().find([ask], Question())
            if not answer.found and not self._existing(one, Question(), request, {}, here)[0]:
                return f"there is no item of type {type_!r}"
        return None

    def _existing(
        self,
        one: _Asked,
        question: Question,
        request: Request,
        heirs: Mapping[str, int],
        here: _Here,
    ) -> tuple[list[Candidate], int]:
        """Return the messages or memories that a need names, and how many match it."""
        need, ask = one.need, one.ask
        existing = self._sources.existing
        if need.type == MESSAGE:
            if ask.labels.keys() - {"session"} or ask.also:
                return [], 0
            turn_ask = TurnAsk(
                conversation=request.conversation,
                scope=need.scope,
                session=request.session,
                last=one.last,
                asked=here.asked,
            )
            found, matched = existing.turns(turn_ask, ask, question, heirs)
        elif need.type in MEMORY_TYPES:
            if ask.labels.keys() - {"session"} or ask.also or need.scope == "prior_sessions":
                return [], 0
            found, matched = existing.known(ask, question, heirs)
        else:
            return [], 0
        asked = question.text is not None
        candidates = [
            Candidate(
                id=item.id,
                known=facts_of(item),
                priority=need.priority,
                needs=(one.number,),
                similarity=similarity if asked else None,
                relevance=(item.score or 0.0) if asked else 1.0,
            )
            for item, similarity in found
        ]
        return candidates, matched


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
        found = list(self._by_id.values())
        if earlier:
            found = [
                replace(one, earlier=tuple(earlier[name]))
                if (name := one.memory_id) in earlier
                else one
                for one in found
            ]
        found.sort(key=lambda one: (one.priority != "essential", -one.worth, one.id))
        return found


def _ask_of(need: Need, request: Request, here: _Here) -> Ask:
    """Return what a need asks for.

    Args:
        need: The need.
        request: What the candidates are for.
        here: What the conversation is like.
    """
    turns, own = here.turns, here.session
    labels = {
        "module": need.all_modules,
        "sections": need.sections,
        "keys": need.keys,
        "entities": need.entities,
    }
    wanted = {name: frozenset(names) for name, names in labels.items() if names}
    also: dict[str, frozenset[str]] = {}
    but: dict[str, frozenset[str]] = {}
    conversation = None
    if need.scope in ("current_session", "prior_sessions"):
        conversation = request.conversation or NO_NAME
    if need.scope == "current_session":
        wanted["session"] = frozenset((NO_NAME,) if own is None else (own, NO_NAME))
    elif need.scope == "prior_sessions":
        but["session"] = frozenset((NO_NAME,) if own is None else (own, NO_NAME))
    elif need.scope == "current_pipeline":
        wanted["pipeline"] = frozenset((request.pipeline or NO_NAME,))
    elif need.scope == "current_error":
        also["keys"] = frozenset((request.error or NO_NAME,))
    since = None
    if need.within is not None:
        since = (request.now - _START - need.within) // _MILLISECOND
    elif need.turns is not None and need.type != MESSAGE and turns:
        since = turns[max(0, len(turns) - need.turns)] // 1_000
    return Ask(
        k=_UNBOUNDED if need.priority == "essential" else MOST,
        types=frozenset((need.type,)),
        conversation=conversation,
        labels=wanted,
        also=also,
        but=but,
        since=since,
        floor=_floor(need),
    )


def _floor(need: Need) -> float | None:
    """Return the least similarity that a need asks for; None if all count."""
    match = need.similarity_match
    floors = [SIMILAR if match is True else match] if match is not False else []
    if need.priority == "conditional":
        when = need.when or When(similarity=SIMILAR)
        floors += [] if when.similarity is None else [when.similarity]
    return max(floors, default=None)


def _of_hits(shelf: Shelf, hits: Sequence[Hit], one: _Asked) -> list[Candidate]:
    number, priority, expected = (one.number,), one.need.priority, untried(one.need.type)
    known = shelf.get_many(hit.id for hit in hits)
    return [
        Candidate(
            id=hit.id,
            known=held,
            priority=priority,
            needs=number,
            similarity=hit.similarity,
            relevance=hit.relevance,
            untried=expected,
        )
        for hit, held in zip(hits, known, strict=True)
        if held is not None
    ]
