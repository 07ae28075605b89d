"""`Conversation.fit`: the newest that fit, cut where it was cut before."""

from __future__ import annotations

from random import Random

import pytest

from warmset import Budget, Memory, TokenBudget, fit
from warmset.errors import BudgetTooSmall, InvalidInputError, NotFound
from warmset.messages import DIALECTS, validate
from warmset.testing import random_history


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as opened:
        yield opened


def chat(count, start=0):
    roles = ("user", "assistant")
    return [
        {"role": roles[at % 2], "content": f"message {at}: " + "some words " * (at % 7)}
        for at in range(start, start + count)
    ]


def whole(messages, dialect=None):
    return int(fit(messages, budget=10**9, dialect=dialect).tokens)


def test_what_fits_stays_whole(memory):
    conversation = memory.conversation("a")
    conversation.append(chat(9))
    kept = conversation.fit(budget=whole(chat(9)))
    assert kept.messages == chat(9)
    assert kept.tokens == whole(chat(9))
    assert (kept.moved, kept.moves, kept.cached, kept.evicted) == (False, 0, 0, [])
    assert conversation.fit(budget=whole(chat(9)) - 1).evicted


def refused(use):
    """Return what is made, or the arguments of a refusal."""
    try:
        return use()
    except BudgetTooSmall as error:
        return error.args


def expected_cut(messages, budget, **options):
    """Cut at the watermark, else at the budget; with the task whole if there is a way."""
    tries = [
        refused(lambda target=target: fit(messages, budget=target, **options))
        for target in (max(int(budget * 0.7), 1), budget)
    ]
    made = [one for one in tries if not isinstance(one, tuple)]
    whole_task = [one for one in made if not _task(one)]
    return next(iter([*whole_task, *made]), tries[-1])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_first_cut_is_that_of_fit_at_the_watermark(memory, dialect):
    seen = 0
    for seed in range(120):
        history = random_history(seed, dialect)
        messages = history.messages
        total = whole(messages, dialect)
        budget = max(total * Random(seed).randrange(30, 110) // 100, 1)
        conversation = memory.conversation(f"{dialect} {seed}")
        for message in messages:
            conversation.append(message)
        options = {"dialect": conversation.dialect or "openai"}
        places = history.pins if seed % 2 else ()
        pins = [conversation.ids[at] for at in places]
        kept = refused(lambda: conversation.fit(budget=budget, pins=pins))  # noqa: B023
        if total <= budget:
            assert kept.messages == messages
            continue
        expected = expected_cut(messages, budget, protect=places, **options)
        if isinstance(kept, tuple) or isinstance(expected, tuple):
            assert kept == expected
            continue
        seen += 1
        assert kept.messages == expected.messages, seed
        less = kept.tokens - expected.tokens  # thinking that left is still counted in `tokens`
        assert less >= 0 if expected.thinking.removed else less == 0
        assert len(kept.thinking.removed) == len(expected.thinking.removed)
        # An item of thinking that left is no message any more; other messages have the rest.
        changed = () if dialect == "responses" else expected.thinking.changed
        stays = sorted({*expected.kept, *_task(expected), *changed})
        assert kept.ids == [conversation.ids[at] for at in stays]
        assert len(kept) == len(kept.turns) == len(kept.messages)
        assert [turn for turn in kept.turns if turn] == [
            id_ for id_ in kept.ids if id_ in kept.turns
        ]
        assert sorted({*kept.ids, *kept.evicted}) == conversation.ids or dialect == "responses"
        if not validate(messages, **options):
            assert validate(kept.messages, **options) == []
    assert seen > 30


def _task(made):
    return [at for one in made.inserted if one.kind == "summary" for at in one.stands_for]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_front_moves_only_when_the_budget_is_crossed(memory, dialect):
    history = random_history(7, dialect, exchanges=60)
    conversation = memory.conversation("a")
    budget = whole(history.messages, dialect) // 6
    front, moves, crossed = [], 0, 0
    for message in history.messages:
        conversation.append(message)
        try:
            kept = conversation.fit(budget=budget)
        except BudgetTooSmall:
            front = []
            continue
        assert kept.tokens <= budget
        if front and not kept.moved:
            assert kept.messages[: len(front)] == front
            assert kept.moves == moves
        if kept.moved:
            crossed += 1
            assert kept.moves == moves + 1
            assert kept.tokens_dropped > 0
        front, moves = kept.messages, kept.moves
    assert crossed == moves > 2
    spent = whole(history.messages, dialect)
    assert moves <= 1 + spent / (0.3 * budget), "each move should free 30 % of the budget"


def test_an_unmoved_front_is_what_a_prefix_cache_keeps(memory):
    conversation = memory.conversation("a")
    conversation.append(chat(60))
    first = conversation.fit(budget=400)
    assert (first.cached, first.moved) == (0, False)
    again = conversation.fit(budget=400)
    assert again.cached + 3 == again.tokens  # all but what primes the reply
    assert (again.rewritten, again.tokens_dropped) == (0, 0)
    conversation.append({"role": "user", "content": "one more"})
    more = conversation.fit(budget=400)
    assert more.cached == again.cached
    assert more.rewritten == more.tokens - again.tokens
    assert more.messages[:-1] == again.messages


def test_a_watermark_of_the_budget_is_used(memory):
    conversation = memory.conversation("a")
    conversation.append(chat(300))
    room = {"window": 1_000, "max_reply": 0, "safety": 0, "tool_reserve": 0}
    low = conversation.fit(budget=Budget(**room, watermark=0.3))
    high = conversation.fit(budget=Budget(**room, watermark=0.9))
    assert low.tokens <= 300 < high.tokens <= 900


def test_a_branch_is_another_list(memory):
    conversation = memory.conversation("a")
    messages = chat(80)
    conversation.sync(messages)
    conversation.fit(budget=500)
    edited = [*messages[:40], {"role": "user", "content": "another way"}]
    conversation.sync(edited)
    kept = conversation.fit(budget=500)
    assert kept.messages == fit(edited, budget=350).messages
    conversation.sync(messages)
    assert conversation.fit(budget=500).messages == fit(messages, budget=350).messages


def test_it_is_the_same_after_reopening(tmp_path):
    messages = chat(90)
    with Memory.open(tmp_path / "store", embedder="lexical") as opened:
        opened.conversation("a").append(messages)
        before = opened.conversation("a").fit(budget=600)
        shown = before.messages
    with Memory.open(tmp_path / "store", embedder="lexical") as opened:
        kept = opened.conversation("a").fit(budget=600)
        assert kept.messages == shown == fit(messages, budget=420).messages


def test_a_result_that_answers_two_messages_makes_one_unit(memory):
    use = {"type": "tool_use", "name": "f", "input": {}}
    result = {"type": "tool_result", "content": "ok"}
    messages = [
        {"role": "user", "content": "do both"},
        {"role": "assistant", "content": [use | {"id": "a"}]},
        {"role": "assistant", "content": [use | {"id": "b"}]},
        {"role": "user", "content": [result | {"tool_use_id": x} for x in "ab"]},
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
        {"role": "user", "content": "thanks"},
    ]
    conversation = memory.conversation("a")
    for message in messages:
        conversation.append(message)
    kept = conversation.fit(budget=whole(messages, "anthropic") - 1)
    assert [conversation.ids.index(id_) for id_ in kept.evicted] == [1, 2, 3]


def test_what_is_appended_after_a_cut_is_not_among_what_it_leaves_out(memory):
    conversation = memory.conversation("a")
    ids = conversation.append(chat(20))
    kept = conversation.fit(budget=whole(chat(20)) - 1)
    conversation.append(chat(4, start=20))
    assert kept.evicted
    assert sorted([*kept.ids, *kept.evicted]) == ids


def test_a_task_that_does_not_fit_becomes_one_line(memory):
    conversation = memory.conversation("a")
    task = {"role": "user", "content": "Build the tower. " + "Brick by brick. " * 500}
    messages = [task, *chat(20, start=1), {"role": "user", "content": "and now?"}]
    conversation.append(messages)
    kept = conversation.fit(budget=300)
    assert kept.messages[0]["content"].startswith("(The task, shortened) Build the tower")
    assert kept.messages == fit(messages, budget=210, policy=TokenBudget()).messages
    assert conversation.fit(budget=300).messages == kept.messages


def test_pins_stay(memory):
    conversation = memory.conversation("a")
    ids = conversation.append(chat(100))
    kept = conversation.fit(budget=300, pins=[ids[10], ids[11]])
    assert {ids[10], ids[11]} <= set(kept.ids)
    assert sorted([*kept.ids, *kept.evicted]) == ids
    with pytest.raises(NotFound, match="pins"):
        conversation.fit(budget=300, pins=[10**9])
    with pytest.raises(InvalidInputError):
        conversation.fit(budget=300, pins=["first"])


def test_what_must_stay_is_said(memory):
    conversation = memory.conversation("a")
    conversation.append({"role": "user", "content": "words " * 200})
    with pytest.raises(BudgetTooSmall) as caught:
        conversation.fit(budget=50)
    assert caught.value.have == 50
    assert conversation.fit(budget=caught.value.need).tokens == caught.value.need


def test_system_and_tools_count(memory):
    conversation = memory.conversation("a")
    conversation.append(chat(50))
    tools = [{"name": "look", "description": "Look something up."}]
    bare = conversation.fit(budget=10_000)
    full = conversation.fit(budget=10_000, system="Be brief.", tools=tools)
    assert full.tokens > bare.tokens


def test_an_empty_conversation(memory):
    kept = memory.conversation("nothing").fit(budget=100)
    assert (kept.messages, kept.ids, kept.evicted, len(kept)) == ([], [], [], 0)


def test_what_a_branch_changed_is_not_called_cached(memory):
    conversation = memory.conversation("a")
    messages = [{"role": "user", "content": "task"}, *chat(21, start=1)]
    conversation.sync(messages)
    before = conversation.fit(budget=300)
    edited = [one | {"content": f"{one['content']} edited"} for one in messages[5:]]
    conversation.sync([*messages[:5], *edited])
    after = conversation.fit(budget=300)
    same = 0
    for one, other in zip(before.messages, after.messages, strict=False):
        if one != other:
            break
        same += 1
    assert after.cached == whole(after.messages[:same]) - 3
    assert after.rewritten == after.tokens - 3 - after.cached
    assert (after.moved, after.moves) == (False, 0)


def calls(*ids):
    made = [
        {"id": id_, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id_ in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(id_):
    return {"role": "tool", "tool_call_id": id_, "content": "r " * 20}


@pytest.mark.parametrize(
    "lost",
    [
        [calls("a", "b"), {"role": "user", "content": "hurry"}, result("a")],
        [calls("a", "b"), result("b")],
        [calls("a")],
        [result("a")],
    ],
    ids=["late", "half answered", "not answered", "not called"],
)
def test_what_no_provider_takes_is_in_no_cut(memory, lost):
    task = {"role": "user", "content": "task " * 5}
    listed = [task, *chat(3), *lost, *chat(8)]
    sendable = [one for one in listed if one["role"] != "tool" and "tool_calls" not in one]
    conversation, cuts = memory.conversation("log"), 0
    for message in listed:
        conversation.append(message)
    for budget in range(30, whole(listed) + 2, 7):
        kept = refused(lambda: conversation.fit(budget=budget))  # noqa: B023
        if isinstance(kept, tuple):
            continue
        cuts += 1
        assert kept.tokens == whole(kept.messages) <= budget
        assert validate(kept.messages, dialect="openai") == []
        if whole(sendable) <= budget:
            assert kept.messages == sendable
    assert cuts > 10


def test_cuts_that_show_the_same_are_told_from_others_without_reading_them(memory, monkeypatch):
    conversation = memory.conversation("a")
    task = {"role": "user", "content": "Build the tower. " + "Brick by brick. " * 500}
    conversation.append([task, *chat(20, start=1), {"role": "user", "content": "and now?"}])
    whole_list, again = (conversation.fit(budget=10**6).sent for _ in range(2))
    short, shorter = (conversation.fit(budget=budget).sent for budget in (400, 200))
    with monkeypatch.context() as patched:
        patched.setattr(memory._engine.copies, "messages", None)
        assert whole_list == again
        assert whole_list != short
        assert short != shorter
    assert short == conversation.fit(budget=400).sent
    assert list(short.messages) == short.messages
    assert short.messages != list(shorter.messages)
    places = [conversation.fit(budget=10**6).ids[at] for at in (3, 10)]  # as long as each other
    one, two = (conversation.fit(budget=400, pins=[id_]) for id_ in places)
    assert len(one) == len(two)
    assert one.sent != two.sent
    other = memory.conversation("b")
    other.append([task, *chat(20, start=1), {"role": "user", "content": "And now?"}])
    apart = other.fit(budget=10**6).sent
    assert len(apart.messages) == len(whole_list.messages)
    assert apart.messages != whole_list.messages
    assert hash(whole_list.messages) == hash(again.messages)


def test_a_pin_behind_the_cut_leaves_it_where_it_is(memory):
    log = memory.conversation("log")
    log.append([{"role": "user", "content": f"Line {at}: " + "word " * 20} for at in range(60)])
    made = log.fit(budget=900, pins=[log.ids[3]])
    last, moved = made.ids, 0
    for at in range(4):
        log.append({"role": "user", "content": f"More {at}."})
        again = log.fit(budget=900, pins=[log.ids[3], log.ids[-1]])
        assert again.ids == [*last, log.ids[-1]]
        last, moved = again.ids, moved + again.moved
    assert moved == 0
    first = next(id_ for id_ in last if id_ > log.ids[3])
    assert log.fit(budget=900, pins=[log.ids[3], first]).cached, "the first one behind it"
    assert log.fit(budget=900, pins=[log.ids[4]]).ids != last, "another one before it"
    made = log.fit(budget=900, pins=[log.ids[4]])
    log.append({"role": "user", "content": "word " * 600})
    assert log.fit(budget=900, pins=[log.ids[4]]).moves == made.moves + 1
