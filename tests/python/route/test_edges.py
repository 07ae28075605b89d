"""Exact boundaries of routes, and what meets in them: scopes, heirs, archives, thresholds, keys."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from warmset.errors import BudgetTooSmall
from warmset.items import NewItem
from warmset.route import Need, Router, RuleTriage, TaskSpec, Verdict, When
from warmset.route.gather import MOST

NOW = datetime(2026, 11, 1, tzinfo=UTC)
CURRENT = Need(type="note", scope="current_session")
GLOBAL = Need(type="note", scope="global")


class Counting(RuleTriage):
    """Counts how often it judges."""

    calls = 0

    def judge(self, request, candidates, text):
        self.calls += 1
        return super().judge(request, candidates, text)


def router(memory, *needs, tokens=2_000, triage=None):
    spec = TaskSpec(task_type="t", required_memory=needs, max_context_tokens=tokens)
    return Router(memory, specs=[spec], triage=triage, record=False)


def put(memory, name, text=None, **fields):
    text = f"The ferry {name} sails." if text is None else text
    fields = {"memory_type": "note", **fields}
    return memory.items.put(NewItem(text=text, memory_id=name, **fields))


def names(payload):
    return {one.memory_id for one in payload.context_payload}


def missing(payload):
    return {one.memory_id: one.reason for one in payload.missing}


def other(memory, name, **fields):
    """Put an item of another type, which no need names."""
    return put(memory, name, memory_type="beside", **fields)


def test_what_is_archived_does_not_come_along(memory):
    other(memory, "old")
    put(memory, "a", dependencies=["old"])
    assert names(router(memory, GLOBAL).route("t", query="ferry")) == {"a", "old"}
    memory.items.archive("old")
    payload = router(memory, GLOBAL).route("t", query="ferry")
    assert (names(payload), missing(payload)) == ({"a"}, {"old": "it is archived"})


def test_what_was_put_again_stands_for_itself(memory):
    other(memory, "x")
    other(memory, "y", supersedes=["x"])
    put(memory, "a", dependencies=["x"])
    assert names(router(memory, GLOBAL).route("t", query="ferry")) == {"a", "y"}
    other(memory, "x", text="The ferry is new again.")
    assert names(router(memory, GLOBAL).route("t", query="ferry")) == {"a", "x"}


def test_an_item_that_replaces_what_it_depends_on_needs_nothing(memory):
    other(memory, "x")
    put(memory, "a", dependencies=["x"], supersedes=["x"])
    payload = router(memory, GLOBAL).route("t", query="ferry")
    assert (names(payload), missing(payload)) == ({"a"}, {})


@pytest.mark.parametrize(
    ("fields", "comes"),
    [
        ({}, True),
        ({"conversation": "c"}, True),
        ({"conversation": "c", "session_id": "s2"}, True),
        ({"conversation": "c", "session_id": "s1"}, False),
        ({"conversation": "d"}, False),
    ],
)
def test_what_comes_along_keeps_to_the_session(memory, fields, comes):
    chat = memory.conversation("c")
    chat.append({"role": "user", "content": "hello"}, session="s1", at=NOW - timedelta(days=1))
    chat.append({"role": "user", "content": "hello"}, session="s2", at=NOW)
    other(memory, "x", **fields)
    put(memory, "a", conversation="c", session_id="s2", dependencies=["x"])
    payload = router(memory, CURRENT).route("t", query="ferry", conversation="c")
    assert names(payload) == ({"a", "x"} if comes else {"a"})
    why = "it is of another conversation or session"
    assert missing(payload) == ({} if comes else {"x": why})
    wide = router(memory, GLOBAL).route("t", query="ferry", conversation="c")
    assert names(wide) == {"a", "x"}
    both = router(memory, CURRENT, GLOBAL).route("t", query="ferry", conversation="c")
    assert names(both) == {"a", "x"}
    prior = Need(type="note", scope="prior_sessions")
    put(memory, "b", conversation="c", session_id="s1", dependencies=["x"])
    earlier = router(memory, prior).route("t", query="ferry", conversation="c")
    assert names(earlier) == ({"b"} if fields.get("conversation") == "d" else {"b", "x"})


@pytest.mark.parametrize(
    ("scope", "taken"),
    [("current_session", {2}), ("prior_sessions", {0, 1}), ("global", {0, 1, 2})],
)
def test_messages_are_taken_of_the_sessions_of_the_scope(memory, scope, taken):
    chat = memory.conversation("c")
    ids = []
    for n in range(3):
        message = {"role": "user", "content": f"The ferry sails in s{n}."}
        ids += chat.append(message, session=f"s{n}", at=NOW + timedelta(days=n))
    made = router(memory, Need(type="conversation", scope=scope))
    payload = made.route("t", query="When does the ferry sail?", conversation="c")
    assert {ids.index(one.id) for one in payload.context_payload} == taken


def test_what_was_left_out_is_read_again_however_little_it_is_worth(memory):
    for n in range(60):
        put(memory, f"n{n}", text=f"The ferry {n} sails to harbour {n * 7} at noon.")
    put(memory, "rare", text="Quota 9.")
    made = router(memory, GLOBAL, tokens=150)
    first = made.route("t", query="ferry harbour")
    assert "rare" not in names(first)
    request = first.request
    payload = made._routed(
        type(request)(task="t", query=request.query, now=request.now, again=frozenset({"rare"}))
    )
    assert "rare" in names(payload)
    must = Need(type="note", scope="global", priority="essential", keys=("k",))
    put(memory, "must", keys=["k"])
    made = router(memory, must, GLOBAL)
    payload = made._routed(
        type(request)(task="t", query="ferry", now=request.now, again=frozenset({"must"}))
    )
    assert payload.context_payload[0].classification == "essential"


def test_sessions_and_what_was_left_out_make_other_plans(memory):
    chat = memory.conversation("c")
    for session in ("s1", "s2"):
        chat.append({"role": "user", "content": "hello"}, session=session)
    put(memory, "a", conversation="c", session_id="s1")
    triage = Counting()
    made = router(memory, CURRENT, triage=triage)
    assert names(made.route("t", query="q", conversation="c", session="s1", now=NOW)) == {"a"}
    assert names(made.route("t", query="q", conversation="c", session="s2", now=NOW)) == set()
    first = made.route("t", query="q", conversation="c", session="s1", now=NOW)
    before = triage.calls
    made._routed(
        type(first.request)(
            task="t", query="q", conversation="c", session="s1", now=NOW, again=frozenset({"z"})
        )
    )
    assert triage.calls == before + 1


def test_recency_in_turns_begins_with_the_fifth_newest_message(memory):
    chat = memory.conversation("c")
    for n in range(8):
        chat.append({"role": "user", "content": f"hello {n}"}, at=NOW + timedelta(minutes=n))
    for n in range(8):
        put(memory, f"n{n}", timestamp=NOW + timedelta(minutes=n))
    need = Need(type="note", scope="global", recency="last_5_turns")
    payload = router(memory, need).route("t", query="ferry", conversation="c")
    assert names(payload) == {f"n{n}" for n in range(3, 8)}


def test_of_two_thresholds_the_higher_one_holds(memory):
    put(memory, "near", text="The ferry, a boat.")
    put(memory, "far", text="The ferry at noon.")

    def found(similarity_match, when):
        need = Need(
            type="note",
            scope="global",
            priority="conditional",
            similarity_match=similarity_match,
            when=when,
        )
        return names(router(memory, need).route("t", query="ferry boat"))

    far, near = sorted(one.score for one in memory.items.query("ferry boat"))
    between = (far + near) / 2
    assert far < 0.3 < near
    assert found(False, When(similarity=0.01)) == {"near", "far"}
    assert found(0.01, When(similarity=between)) == {"near"}
    assert found(between, When(similarity=0.01)) == {"near"}
    assert found(False, None) == {"near"}  # the usual threshold, 0.3


def test_what_worked_better_goes_first(memory):
    put(memory, "a", text="The ferry is late.", reward=0.2)
    put(memory, "b", text="The ferry was late.", reward=0.9)
    made = router(memory, GLOBAL).route("t", query="ferry")
    assert [one.memory_id for one in made.context_payload] == ["b", "a"] or names(made) == {"b"}
    put(memory, "c", text="Ferry quotas of May.", reward=0.0)
    made = router(memory, GLOBAL).route("t", query="ferry")
    assert [one.memory_id for one in made.context_payload][-1] == "c"


def test_sources_of_sources_are_worked_up_as_well(memory):
    put(memory, "raw", text="Sales of 45.")
    other(memory, "middle", text="Sales grew.", derived_from=["raw"])
    put(memory, "out", text="Growth.", memory_type="module_output", derived_from=["middle"])
    needs = (
        GLOBAL,
        Need(type="beside", scope="global"),
        Need(type="module_output", scope="global"),
    )
    assert names(router(memory, *needs).route("t", query="sales")) == {"out"}


def test_a_type_that_was_there_once_is_known(memory):
    put(memory, "a")
    made = router(memory, GLOBAL)
    made.route("t", query="ferry")
    memory.items.erase("a")
    assert made.route("t", query="ferry").context_payload == ()


def test_a_time_without_a_zone_is_utc(memory):
    put(memory, "a", timestamp=NOW, relevance_decay=0.5)
    made = router(memory, GLOBAL)
    one = made.route("t", query="ferry", now=datetime(2026, 11, 1, 1))  # noqa: DTZ001 - the point
    two = made.route("t", query="ferry", now=NOW + timedelta(hours=1))
    assert one.request.now.tzinfo is UTC
    assert one.context_payload[0].relevance == two.context_payload[0].relevance


def test_the_budget_of_a_query_alone(memory):
    put(memory, "a")
    need = Need(type="note", scope="global", keys=("nothing",))
    empty = router(memory, need).route("t", query="ferry")
    framed = router(memory, GLOBAL).route("t", query="ferry")
    frame = framed.total_tokens - framed.context_payload[0].tokens
    assert router(memory, GLOBAL).route("t", query="ferry", budget=frame).context_payload == ()
    with pytest.raises(BudgetTooSmall) as caught:
        router(memory, GLOBAL).route("t", query="ferry", budget=frame - 1)
    assert (caught.value.need, caught.value.have) == (frame, frame - 1)
    assert empty.total_tokens < frame


def test_a_name_does_not_break_its_line(memory):
    put(memory, "a\u2028#b (note): x", sections=["s\x85t"])
    content = router(memory, GLOBAL).route("t", query="ferry").messages[-1]["content"]
    assert len([line for line in content.splitlines() if line.startswith("#")]) == 1


def test_messages_are_not_kept_as_quotes(memory):
    memory.conversation("c").append({"role": "user", "content": "The ferry sails."})
    put(memory, "a")
    made = router(memory, GLOBAL, Need(type="conversation", scope="global"))
    made.route("t", query="ferry")
    assert len(made._desk.kept._kept) == 1  # of the item, whose removal is seen


class Sceptic:
    """Has no use for one item."""

    def judge(self, request, candidates, text):  # noqa: ARG002 - as every triage is called
        irrelevant = Verdict("irrelevant", "of no use")
        return {one.id: irrelevant for one in candidates if one.memory_id == "b"}


@pytest.mark.parametrize(("spare", "granted"), [(1, ("b",)), (0, ("b",)), (-1, ())])
def test_more_is_granted_to_the_token(memory, spare, granted):
    put(memory, "a")
    put(memory, "b")
    whole = router(memory, GLOBAL).route("t", query="ferry")
    tokens = {one.memory_id: one.tokens for one in whole.context_payload}
    made = router(memory, GLOBAL, triage=Sceptic())
    payload = made.route("t", query="ferry", budget=whole.total_tokens + spare)
    assert (names(payload), payload.budget_remaining) == ({"a"}, tokens["b"] + spare)
    more = payload.more(["b"])
    assert more.granted == granted
    assert more.budget_remaining == (spare if granted else tokens["b"] + spare)
    why = "it is there already" if granted else f"it takes {tokens['b']} tokens, {tokens['b'] - 1} "
    assert payload.more(["b"]).refused["b"].startswith(why)


def test_messages_match_a_need_whatever_their_similarity(memory):
    said = ("The ferry sails at noon.", "Quotas end in May.", "The tide turns at six.")
    memory.conversation("c").append([{"role": "user", "content": text} for text in said])
    near = Need(type="conversation", scope="global", similarity_match=0.2)
    payload = router(memory, near).route("t", query="noon ferry", conversation="c")
    [report] = payload.needs
    assert (report.matched, report.found) == (3, 1)
    assert "1 of 3 items" in payload.explain()
    latest = Need(type="conversation", recency="last_2_turns", similarity_match=0.2)
    [report] = router(memory, latest).route("t", query="noon ferry", conversation="c").needs
    assert (report.matched, report.found) == (2, 0)


def test_memories_match_a_need_whatever_their_similarity_and_number(memory):
    for text in ("The ferry sails at noon.", "Quotas end in May.", "The tide turns at six."):
        memory.remember(text)
    memory.remember("The harbour is closed.", memory_type="decision")
    near = Need(type="fact", scope="global", similarity_match=0.2)
    [report] = router(memory, near).route("t", query="noon ferry").needs
    assert (report.matched, report.found) == (3, 1)
    for n in range(MOST):
        memory.remember(f"Ship {n} has number {n * 7}.")
    [report] = router(memory, Need(type="fact", scope="global")).route("t", query="ferry").needs
    assert (report.matched, report.found) == (MOST + 3, MOST)


SAID = Need(type="conversation", scope="global")


def test_a_request_that_was_appended_stands_once(memory):
    chat = memory.conversation("c")
    chat.append({"role": "user", "content": "Is there a harbour?"})
    chat.append({"role": "assistant", "content": "At Dunmore."})
    [asked] = chat.append({"role": "user", "content": "When does the ferry sail? "})
    one = router(memory, SAID)
    payload = one.route("t", query="When does the ferry sail?", conversation="c")
    assert f"turn:{asked}" not in {*names(payload), *(out.memory_id for out in payload.excluded)}
    assert (len(payload.context_payload), payload.needs[0].matched) == (2, 2)
    other = one.route("t", query="When does it sail?", conversation="c")
    assert f"turn:{asked}" in names(other)
    for given in ({}, {"conversation": "d"}):  # who asks in another place does not mean this turn
        payload = one.route("t", query="When does the ferry sail?", **given)
        assert f"turn:{asked}" in names(payload)
    chat.append({"role": "assistant", "content": "When does the ferry sail?"})  # said by another
    payload = one.route("t", query="When does the ferry sail?", conversation="c")
    assert payload.needs[0].matched == 4


def test_a_request_that_was_appended_takes_no_place_of_the_last_turns(memory):
    chat = memory.conversation("c")
    first, second = chat.append(
        [
            {"role": "user", "content": "The ferry sails at noon."},
            {"role": "assistant", "content": "I see."},
        ]
    )
    put(memory, "a", "Quotas end in May.")
    asked = [
        Need(type="conversation", recency="last_2_turns"),
        Need(type="note", scope="global", recency="last_1_turns"),
    ]
    before = router(memory, *asked).route("t", query="And when back?", conversation="c")
    assert names(before) == {f"turn:{first}", f"turn:{second}", "a"}
    chat.append({"role": "user", "content": "And when back?"})
    after = router(memory, *asked).route("t", query="And when back?", conversation="c")
    assert after.messages == before.messages


def test_a_request_that_was_appended_makes_no_type_present(memory):
    memory.conversation("c").append({"role": "user", "content": "A ferry?"})
    put(memory, "a")
    need = Need(type="note", priority="conditional", when=When(present=["conversation"]))
    made = router(memory, need)
    assert names(made.route("t", query="A ferry?", conversation="c")) == set()
    assert names(made.route("t", query="A boat?", conversation="c")) == {"a"}


def test_a_request_that_was_appended_is_not_granted_once_more(memory):
    [asked] = memory.conversation("c").append({"role": "user", "content": "A ferry at noon?"})
    payload = router(memory, SAID).route("t", query="A ferry at noon?", conversation="c")
    more = payload.more("ferry noon")
    assert (more.granted, more.refused) == ((), {f"turn:{asked}": "it is there already"})
