"""Random routes against an oracle that looks at every item for every need.

`WARMSET_ROUTES` is how many routes there are; they are drawn from a few worlds of two tenants, each
with items, memories and messages of two conversations with sessions.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from warmset import Memory
from warmset.errors import BudgetTooSmall
from warmset.items import NewItem
from warmset.route import Need, Router, TaskSpec, When
from warmset.tokens import PER_REPLY, message_tokens

ROUTES = int(os.environ.get("WARMSET_ROUTES", "300"))
WORLDS = max(3, ROUTES // 2_000)
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
TYPES = ("document_chunk", "module_output", "error_fix", "note")
WORDS = ("revenue", "margin", "lease", "pension", "tariff", "harbour", "ferry", "quota", "tide")
QUERIES = ("revenue of the ferry", "lease and pension", "tide", "nothing of all that")


@dataclass(slots=True)
class Known:
    """An item as it was put, or a message."""

    name: str
    type: str
    at: datetime
    conversation: str | None = None
    session: str | None = None
    columns: dict[str, set[str]] = field(default_factory=dict)
    dependencies: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    archived: bool = False
    text: str = ""


class World:
    """A store with two tenants, and what one of them has."""

    def __init__(self, path, seed):
        self.random = random.Random(seed)
        self.memory = Memory.open(path, embedder="lexical", durability="os", tenant="ours")
        self.other = Memory.open(path, embedder="lexical", durability="os", tenant="theirs")
        self.known = []
        self.fill(self.other, "theirs", [])
        self.fill(self.memory, "ours", self.known)
        needs = [Need(type="note", scope="global")]
        self.router = Router(
            self.memory,
            specs=[TaskSpec(task_type="t", required_memory=needs, max_context_tokens=1)],
        )

    def some(self, names):
        return self.random.sample(names, min(len(names), self.random.randrange(3)))

    def one(self, names):
        return self.random.choice([None, *names])

    def fill(self, memory, whose, known):
        for conversation in ("c1", "c2"):
            for session in ("s1", "s2"):
                at = NOW - timedelta(days=self.random.randrange(40))
                said = [f"{whose} {self.random.choice(WORDS)} number {n}" for n in range(3)]
                messages = [{"role": "user", "content": one} for one in said]
                ids = memory.conversation(conversation).append(messages, at=at, session=session)
                known += [
                    Known(f"turn:{id_}", "conversation", at, conversation, session, text=text)
                    for id_, text in zip(ids, said, strict=True)
                ]
        new = []
        for n in range(40):
            name = f"{whose}-{n}"
            earlier = [f"{whose}-{m}" for m in range(n)]
            item = NewItem(
                memory_type=self.random.choice(TYPES),
                memory_id=name,
                text=f"{name} "
                + " ".join(self.random.choices(WORDS, k=self.random.randrange(1, 12))),
                conversation=self.one(["c1", "c2"]),
                session_id=self.one(["s1", "s2"]),
                pipeline=self.one(["p1", "p2"]),
                module_context=self.one(["m1", "m2", "m3"]),
                sections=self.some(["x", "y", "z"]),
                keys=self.some(["k1", "k2", "k3"]),
                entities=self.some(["Ada", "Bo"]),
                timestamp=NOW - timedelta(hours=self.random.randrange(1_000)),
                relevance_decay=self.random.choice([1.0, 0.99, 0.5]),
                dependencies=[*self.some(earlier[:8]), *self.some([f"{whose}-gone"])],
                supersedes=self.some(earlier[-3:]) if self.random.random() < 0.2 else (),
                derived_from=self.some(earlier[:5]) if self.random.random() < 0.3 else (),
            )
            new.append(item)
        memory.items.put_many(new)
        archived = {one.memory_id for one in new if self.random.random() < 0.1}
        memory.items.archive(*sorted(archived))
        for one in new:
            labels = {
                "session": {one.session_id} - {None},
                "pipeline": {one.pipeline} - {None},
                "module": {one.module_context} - {None},
                "sections": set(one.sections),
                "keys": set(one.keys),
                "entities": set(one.entities),
            }
            known.append(
                Known(
                    one.memory_id,
                    one.memory_type,
                    one.timestamp,
                    one.conversation,
                    one.session_id,
                    labels,
                    tuple(one.dependencies),
                    tuple(one.supersedes),
                    one.memory_id in archived,
                )
            )

    def need(self):
        draw = self.random
        type_ = draw.choice([*TYPES, "conversation"])
        priority = draw.choice(["essential", "supplementary", "supplementary", "conditional"])
        when = None
        if priority == "conditional":
            when = draw.choice(
                [
                    When(mentions=["ferry"]),
                    When(present=["note"]),
                    When(mentions=["pension", "quota"], present=["error_fix"]),
                ]
            )
        return Need(
            type=type_,
            priority=priority,
            scope=draw.choice(
                ["current_session", "prior_sessions", "global", "current_error", "current_pipeline"]
            ),
            recency=draw.choice([None, None, "last_4_turns", "10d", "300h"]),
            sections=self.some(["x", "y"]) if draw.random() < 0.3 else (),
            modules=self.some(["m1", "m2"]) if draw.random() < 0.3 else (),
            module=self.one(["m3"]) if draw.random() < 0.2 else None,
            keys=self.some(["k1", "k2"]) if draw.random() < 0.3 else (),
            entities=self.some(["Ada"]) if draw.random() < 0.3 else (),
            similarity_match=draw.choice([False, False, 0.2, True]) if type_ in TYPES else False,
            when=when,
        )

    def request(self):
        conversation = self.one(["c1", "c2"])
        turns = said(conversation, self.known)
        is_appended = turns and self.random.random() < 0.25
        return {
            "query": turns[-1].text if is_appended else self.random.choice(QUERIES),
            "conversation": conversation,
            "session": None if conversation is None else self.one(["s1", "s2"]),
            "pipeline": self.one(["p1", "p2"]),
            "error": self.one(["k1", "k3"]),
        }


def superseded(known):
    """Return the names that a newer item that is shown replaces; what is put later is newer."""
    return {
        name
        for at, one in enumerate(known)
        if not one.archived
        for name in one.supersedes
        if name in {earlier.name for earlier in known[:at]}
    }


def standing(name, known):
    """Return the item that stands for a name: the newest one that is shown in its place."""
    place = {one.name: at for at, one in enumerate(known)}
    while True:
        newer = [
            at
            for at, one in enumerate(known)
            if name in one.supersedes and not one.archived and at > place.get(name, -1)
        ]
        if not newer:
            return name
        name = known[max(newer)].name


def said(conversation, known):
    """Return the messages of a conversation."""
    return [one for one in known if one.type == "conversation" and one.conversation == conversation]


def before(request, known):
    """Return the messages before a request, which may have been appended."""
    own = said(request["conversation"], known)
    return own[:-1] if own and own[-1].text == request["query"] else own


def session_of(request, known):
    """Return the session of a request: the newest one, if it names none."""
    own = said(request["conversation"], known)
    return request["session"] or (own[-1].session if own else None)


def is_within(one, need, request, known):  # noqa: PLR0911 - one for each scope
    """Return whether an item is in the scope of a need, as `Need` says."""
    session = session_of(request, known)
    is_message = one.type == "conversation"
    match need.scope:
        case "global":
            return True
        case "current_pipeline":
            return not is_message and request["pipeline"] in one.columns["pipeline"]
        case "current_error":
            return not is_message and request["error"] in one.columns["keys"]
        case "current_session":
            if is_message:
                return one.conversation == request["conversation"] and one.session == session
            return one.conversation in (None, request["conversation"]) and one.session in (
                None,
                session,
            )
        case "prior_sessions":
            if request["conversation"] is None:
                return False
            if is_message:
                return one.conversation == request["conversation"] and one.session != session
            return (
                one.conversation in (None, request["conversation"])
                and one.session is not None
                and one.session != session
            )


def is_recent(one, need, request, known):
    path = before(request, known)
    own = sorted(path, key=lambda m: m.at)
    if need.within is not None:
        return one.at >= NOW - need.within
    if need.turns is None or not own:
        return True
    if one.type == "conversation":
        return one in path[-need.turns :]
    return one.at >= own[max(0, len(own) - need.turns)].at


def matches(one, need, request, known, similar):
    """Return whether an item is a candidate by a need."""
    if one.type != need.type or one.archived:
        return False
    asked = said(request["conversation"], known)[len(before(request, known)) :]
    if one in asked:
        return False
    wanted = {
        "sections": set(need.sections),
        "module": set(need.all_modules),
        "keys": set(need.keys),
        "entities": set(need.entities),
    }
    for column, names in wanted.items():
        if names and not names & one.columns.get(column, set()):
            return False
    floor = 0.3 if need.similarity_match is True else need.similarity_match
    if floor and similar.get(one.name, 0.0) < floor:
        return False
    return is_within(one, need, request, known) and is_recent(one, need, request, known)


def check_reports(payload, spec, request, known):
    """Check how many items match each need, whatever their similarity."""
    old = superseded(known)
    for need, report in zip(spec.required_memory, payload.needs, strict=True):
        if report.left is None:
            wide = replace(need, similarity_match=False)
            there = [one for one in known if matches(one, wide, request, known, {})]
            assert report.matched == sum(one.name not in old for one in there)
        assert (report.left is None) == counts(need, request, known)


def counts(need, request, known):
    """Return whether a need counts for a request."""
    lacks = {
        "current_pipeline": request["pipeline"],
        "current_error": request["error"],
        "prior_sessions": request["conversation"],
        "current_session": request["conversation"] or need.type != "conversation",
    }
    if not lacks.get(need.scope, True):
        return False
    if need.when is None:
        return True
    if need.when.mentions and not any(word in request["query"] for word in need.when.mentions):
        return False
    old = superseded(known)
    for type_ in need.when.present:
        wanted = Need(
            **{
                name: getattr(need, name)
                for name in ("scope", "recency", "sections", "keys", "entities")
            },
            type=type_,
            modules=need.all_modules,
        )
        there = [one for one in known if matches(one, wanted, request, known, {})]
        if not any(one.name not in old for one in there):
            return False
    return True


def check(payload, spec, request, known, similar):
    old = superseded(known)
    met = [
        (one, need)
        for need in spec.required_memory
        if counts(need, request, known)
        for one in known
        if matches(one, need, request, known, similar)
    ]
    expected = {one.name for one, _ in met if one.name not in old}
    essential = {one.name for one, need in met if need.priority == "essential"} - old
    included = [one.memory_id for one in payload.context_payload]
    excluded = [one.memory_id for one in payload.excluded]
    own = [one.memory_id for one in payload.context_payload if one.needs]
    assert len(set(included + excluded)) == len(included) + len(excluded)
    beside = set(included) - set(own)  # only depended on
    out = {one.memory_id for one in payload.excluded if not one.reason.startswith("superseded")}
    strays = [one for one in known if one.name in (set(own) | out) ^ expected]
    assert set(own) | out == expected, (strays, old & {one.name for one in strays}, spec, request)
    replaced = {one.memory_id for one in payload.excluded} - out
    # Of a need with a similarity nobody looks at what is superseded.
    assert replaced <= {one.name for one in known} & old
    check_redundant(payload, included)
    plain = {
        one.name
        for one, need in met
        if not need.similarity_match and one.name in old and one.type != "conversation"
    }
    assert plain - set(included) <= replaced
    assert essential <= set(included)
    assert {
        one.memory_id for one in payload.context_payload if one.classification == "essential"
    } == essential
    by_name = {one.name: one for one in known}
    missing = {(one.memory_id, one.needed_by): one.reason for one in payload.missing}
    for name in included:
        for wanted in by_name[name].dependencies:
            stands = standing(wanted, known)
            assert stands in included or stands == name or (wanted, name) in missing
    for (wanted, name), reason in missing.items():
        assert name in included
        stands = by_name.get(standing(wanted, known))
        if reason == "there is no such item":
            assert stands is None
        elif reason == "it is archived":
            assert stands.archived
        else:
            assert reason == "it is of another conversation or session"
            assert stands.conversation not in (None, request["conversation"]) or stands.session
    for name in beside:
        assert any(
            standing(wanted, known) == name
            for other in included
            for wanted in by_name[other].dependencies
        )
    bound = {"current_session", "prior_sessions"}
    if all(need.scope in bound for need in spec.required_memory):
        assert all(
            by_name[name].conversation in (None, request["conversation"]) for name in included
        )
    if all(need.scope == "current_session" for need in spec.required_memory):
        session = session_of(request, known)
        assert all(by_name[name].session in (None, session) for name in included)


def check_redundant(payload, included):
    """Check that what is left out, since another item says it, is said in the payload."""
    instead = {
        one.memory_id: one.reason.partition(" in ")[2]
        for one in payload.excluded
        if one.reason.startswith(("worked up in ", "said in "))
    }
    for name in instead.values():
        says = name
        while says in instead:
            says = instead[says]
        assert says in included


def total(payload):
    return sum(message_tokens(payload.messages, "o200k_base")) + PER_REPLY


def shown(payload):
    """Return what a payload shows, but for the name of its record."""
    return payload.to_dict() | {"payload_id": None}


def routed(router, request):
    """Return a payload, or the error in its place."""
    try:
        return router.route("t", now=NOW, **request), None
    except BudgetTooSmall as error:
        return None, error


@pytest.mark.parametrize("seed", range(WORLDS))
def test_every_candidate_is_in_a_payload_or_has_a_reason(tmp_path, seed):
    world = World(tmp_path / "store", seed)
    fresh = Router(world.memory, specs=[], plans=0)
    for n in range(max(1, ROUTES // WORLDS)):
        if n % 50 == 49:  # and now and then something changes
            world.memory.items.put(
                NewItem(memory_type="note", text=f"ferry {n}", memory_id=f"new-{n}")
            )
            world.known.append(
                Known(
                    f"new-{n}",
                    "note",
                    datetime.now(UTC),
                    columns={
                        c: set()
                        for c in ("session", "pipeline", "module", "sections", "keys", "entities")
                    },
                )
            )
        needs = [world.need() for _ in range(world.random.randrange(1, 5))]
        tokens = world.random.choice([120, 300, 800, 20_000])
        spec = TaskSpec(
            task_type="t",
            required_memory=needs,
            max_context_tokens=tokens,
            decay=world.random.choice(["hour", "turn"]),
        )
        request = world.request()
        found = world.memory.items.query(request["query"], k=1_000, memory_type=TYPES)
        weight = world.router._sources.weights.lexical
        similar = {one.memory_id: one.score / weight for one in found}
        # The same router, so that a plan of another specification is never taken.
        world.router.specs = fresh.specs = type(world.router.specs)([spec])
        payload, error = routed(world.router, request)
        other, failed = routed(fresh, request)
        assert (error is None) == (failed is None)
        if payload is None:
            assert (error.need, error.have) == (failed.need, failed.have)
            assert error.have == tokens < error.need
            tokens = error.need
            roomy = replace(spec, max_context_tokens=tokens)
            world.router.specs = type(world.router.specs)([roomy])
            payload = world.router.route("t", now=NOW, **request)
        elif n % 4 == 0:
            same = world.router.replay(payload.payload_id)
            assert same.to_dict(messages=True) == payload.to_dict(messages=True)
        else:
            again = world.router.route("t", now=NOW, **request)
            assert shown(payload) == shown(again) == shown(other)
            assert payload.messages == again.messages == other.messages
        assert payload.total_tokens == total(payload) <= tokens
        assert payload.budget_remaining == tokens - payload.total_tokens
        assert "theirs" not in payload.messages[-1]["content"]
        check(payload, spec, request, world.known, similar)
        check_reports(payload, spec, request, world.known)
    world.memory.close()
    world.other.close()
