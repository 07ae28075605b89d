"""What a policy plans, by itself and at budgets that are met exactly, against trying everything."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from agent_lists import count, said, session, step

from warmset import (
    BlobStore,
    Chain,
    CollapseCalls,
    HeadTail,
    LatestToolResult,
    OffloadLarge,
    Salience,
    SlidingWindow,
    Summarize,
    TokenBudget,
    fit,
    retry_on_overflow,
)
from warmset.errors import BudgetTooSmall, NotFound
from warmset.evict import ClearToolResults, Fold, Leave, Swap
from warmset.evict.gaps import how_many_leave
from warmset.messages import DIALECTS
from warmset.native import ColdStore
from warmset.testing import random_history

LARGE = 10**6
FILLER = "(Earlier messages were left out.)"


class Spy:
    """A policy that keeps the view and changes nothing."""

    def plan(self, view):
        self.view = view
        return []


def view_of(messages, **options):
    spy = Spy()
    fit(messages, budget=LARGE, policy=spy, **options)
    return spy.view


def views():
    """Views of made-up lists in all dialects."""
    for seed in range(8):
        for dialect in DIALECTS:
            history = random_history(seed, dialect)
            yield view_of(history.messages, dialect=dialect, protect=history.pins), Random(seed)


def leaving(plan):
    assert all(isinstance(one, Leave) for one in plan)
    return [one.unit for one in plan]


def held(view):
    return sum(unit.cost for unit in view.units if unit.protected)


def suffixes(view):
    """Return the sizes of a list without its oldest unprotected units, and who leaves for each."""
    gone, sizes = [], {view.total: []}
    for at, unit in enumerate(view.units):
        if not unit.protected:
            gone.append(at)
            sizes.setdefault(view.total - sum(view.units[one].cost for one in gone), list(gone))
    return sizes


# --- by age, by place, by score ------------------------------------------------------------------


def test_the_oldest_leave_and_no_more_than_must():
    for view, _ in views():
        sizes = suffixes(view)
        for budget in sorted(one + off for one in sizes for off in (-1, 0, 1)):
            fits = [gone for size, gone in sizes.items() if size <= budget]
            wanted = min(fits, key=len) if fits else view.unprotected()
            assert leaving(TokenBudget().plan(replace(view, budget=budget))) == wanted


@pytest.mark.parametrize("always", [False, True])
def test_the_ends_stay_however_many_units_they_are(always):
    for view, _ in views():
        spoken = [at for at, unit in enumerate(view.units) if unit.kind != "system"]
        tight = replace(view, budget=view.total - 1)
        for k in range(1, len(spoken) + 4):
            for head in range(len(spoken) + 3):
                stay = {*spoken[:head], *spoken[max(len(spoken) - k, 0) :]}
                free = {at for at in spoken if not view.units[at].protected}
                policy = (
                    HeadTail(k, head, always=always) if head else SlidingWindow(k, always=always)
                )
                plan = set(leaving(policy.plan(tight)))
                assert plan == free - stay, (k, head)
                exactly = policy.plan(replace(view, budget=view.total))
                assert bool(exactly) == (always and bool(free - stay))


def test_filler_messages_are_no_units_of_a_window():
    messages = [
        said("user", "task"),
        said("assistant", FILLER),
        said("user", "one"),
        said("assistant", "two"),
        said("user", FILLER),
        said("assistant", "three"),
        said("user", "four"),
    ]
    view = view_of(messages, dialect="anthropic")
    tight = replace(view, budget=1)
    assert leaving(SlidingWindow(2).plan(tight)) == [1, 2, 3, 4]
    assert leaving(SlidingWindow(3).plan(tight)) == [1, 2]
    assert leaving(SlidingWindow(5).plan(tight)) == []
    assert leaving(HeadTail(1, 2).plan(tight)) == [3, 4, 5]


def test_the_lowest_scores_leave_and_no_more_than_must():
    for view, rng in views():
        scores = [rng.choice([0.0, 0.5, 1.0, 2.0]) for _ in view.messages]
        worth = [max(scores[at] for at in unit.members) for unit in view.units]
        order = sorted(view.unprotected(), key=lambda at: (worth[at], at))
        sizes = [
            view.total - sum(view.units[at].cost for at in order[:n]) for n in range(len(order) + 1)
        ]
        for budget in sorted({one + off for one in sizes for off in (-1, 0, 1)}):
            need = next((n for n, size in enumerate(sizes) if size <= budget), len(order))
            plan = leaving(Salience(scores).plan(replace(view, budget=budget)))
            assert sorted(plan) == sorted(order[:need])


def test_scores_by_position_are_those_of_the_list_that_was_given():
    messages = [said("user", "task"), *step(1), *step(2)]
    messages += [said("assistant", f"word {at}") for at in range(4)]
    messages.append(said("user", "now"))
    scores = [9, 1, 1, 2, 2, 5, 0, 5, 4, 9]
    chain = Chain(SlidingWindow(6, always=True), Salience(scores))
    made = fit(messages, budget=count(messages[3:]) + count(messages[:1]) - 3 - 1, policy=chain)
    assert [one.indices for one in made.evicted] == [(1, 2), (6,)]


def test_what_scores_leave_too_large_leaves_by_score():
    """A counter that counts lists higher than their messages makes another round necessary."""
    messages = [said("user", "task"), *(said("assistant", "w" * 40) for _ in range(6))]
    messages.append(said("user", "now"))

    def counter(given):
        return sum(len(one["content"]) for one in given) + (30 if len(given) > 2 else 0)

    made = fit(messages, budget=100, counter=counter, policy=Salience([9, 5, 4, 3, 2, 1, 0, 9]))
    assert [at for one in made.evicted for at in one.indices] == [6, 5, 4, 3, 2]


# --- filler messages -----------------------------------------------------------------------------


def test_as_many_groups_leave_as_free_enough_tokens():
    """Every number of groups is tried, and the list is written out for each."""
    for seed in range(60):
        rng = Random(seed)
        costs = [rng.randint(1, 9) for _ in range(rng.randint(3, 12))]
        roles = [rng.choice("ua") for _ in costs]
        extra = rng.choice([0, 3, 12])

        def gap(one, other, roles=roles, extra=extra):
            return extra if one + 1 < other and roles[one] == roles[other] else 0

        places = list(range(len(costs)))
        rng.shuffle(places)
        groups = []
        while places:
            groups.append(sorted(places.pop() for _ in range(min(rng.randint(1, 3), len(places)))))
        groups = groups[: rng.randint(1, len(groups))]

        def size(number, costs=costs, groups=groups, gap=gap):
            gone = {at for group in groups[:number] for at in group}
            rest = [at for at in range(len(costs)) if at not in gone]
            return sum(costs[at] for at in rest) + sum(gap(a, b) for a, b in pairwise(rest))

        sizes = [size(number) for number in range(len(groups) + 1)]
        for budget in {one + off for one in sizes for off in (-1, 0, 1)}:
            wanted = next((n for n, one in enumerate(sizes) if one <= budget), len(groups))
            assert how_many_leave(costs, groups, gap, sizes[0] - budget) == wanted


def test_filler_messages_stand_for_all_that_left_between_neighbours():
    roles = ("assistant", "user") * 4
    messages = [said("user", "task")]
    messages += [said(role, f"{at} " + "w " * 30) for at, role in enumerate(roles)]
    messages.append(said("user", "now"))
    keep = (0, 3, 7, 9)
    made = fit(
        messages,
        budget=count([messages[at] for at in keep]) + 60,
        dialect="anthropic",
        policy=SlidingWindow(1, always=True),
        protect=keep,
    )
    fillers = [one for one in made.inserted if one.kind == "gap"]
    assert fillers
    gone = {at for one in made.evicted for at in one.indices}
    for one in fillers:
        before, after = made.messages[one.index - 1], made.messages[one.index + 1]
        places = messages.index(before), messages.index(after)
        assert one.stands_for == tuple(range(places[0] + 1, places[1]))
        assert gone.issuperset(one.stands_for)


def test_neighbours_of_the_list_that_was_given_get_no_filler_message():
    messages = [said("user", "task"), said("assistant", "old " * 40), said("user", "one")]
    messages += [said("user", "two"), said("assistant", "three"), said("user", "four")]
    made = fit(messages, budget=count(messages) - 1, dialect="anthropic", protect=[2, 3])
    assert [(one.index, one.stands_for) for one in made.inserted] == [(1, (1,))]
    whole = fit(messages, budget=count(messages), dialect="anthropic")
    assert whole.messages == messages
    assert whole.inserted == ()
    pairs = list(pairwise(made.messages))
    assert (messages[2], messages[3]) in pairs


TINY = [
    said("user", "a"),
    said("assistant", "b"),
    said("user", "c"),
    said("assistant", "d"),
    said("user", "e"),
]
"""A list of which a filler message has more tokens than the message for which it stands."""


class First:
    """Evicts one unit, whether the list fits or not."""

    def __init__(self, unit):
        self.unit = unit

    def plan(self, view):
        return [Leave(self.unit, "on trial")] if len(view.units) == len(TINY) else []


def test_edits_may_not_take_a_list_that_fits_over_its_budget():
    total = count(TINY, "anthropic")
    made = fit(TINY, budget=LARGE, dialect="anthropic", policy=First(3))
    [gap] = made.inserted
    assert (gap.kind, gap.stands_for) == ("gap", (3,))
    larger = int(made.tokens)
    assert larger > total, "or the test says nothing"
    at = fit(TINY, budget=larger, dialect="anthropic", policy=First(3))
    assert at.messages == made.messages, "it fits exactly"
    for budget in (larger - 1, total):
        kept = fit(TINY, budget=budget, dialect="anthropic", policy=First(3))
        assert kept.messages == TINY
        assert (kept.evicted, kept.inserted) == ((), ())


# --- what must stay ------------------------------------------------------------------------------


def test_the_task_is_shortened_only_where_it_does_not_fit():
    task = said("user", "Find the bug. " + "It is somewhere in here. " * 30)
    messages = [task, said("assistant", "ok"), said("user", "go on")]
    exactly = count([task, messages[2]])
    made = fit(messages, budget=exactly)
    assert made.messages == [task, messages[2]]
    made = fit(messages, budget=exactly - 1)
    assert made.inserted[0].kind == "summary"
    assert made.tokens < exactly - 1
    least = count([made.messages[0], messages[2]])
    assert fit(messages, budget=least).messages == [made.messages[0], messages[2]]
    with pytest.raises(BudgetTooSmall) as error:
        fit(messages, budget=least - 1)
    assert (error.value.need, error.value.have) == (least, least - 1)
    with pytest.raises(BudgetTooSmall) as error:
        fit(messages, budget=exactly - 1, protect=[0])
    assert error.value.need == exactly


@pytest.mark.parametrize("system", [None, "Be brief, and kind."])
def test_a_list_of_exactly_the_budget_is_returned_as_it_is(system):
    messages = session()
    whole = int(fit(messages, budget=LARGE, system=system).tokens)
    for policy in (None, SlidingWindow(1), HeadTail(1), Salience({}), CollapseCalls(keep=0)):
        made = fit(messages, budget=whole, system=system, policy=policy)
        assert made.messages == messages
        assert made.tokens == whole
        less = fit(messages, budget=whole - 1, system=system, policy=policy)
        assert less.messages != messages
        assert less.tokens < whole
        again = fit(messages, budget=int(less.tokens), system=system, policy=TokenBudget())
        assert again.tokens <= less.tokens


def test_an_old_call_without_a_result_may_leave():
    lost = step(1)[0]
    messages = [said("user", "task"), lost, said("user", "and now?"), said("assistant", "hm")]
    made = fit(messages, budget=count(messages) - 1, policy=SlidingWindow(1))
    assert lost not in made.messages
    waits = [*messages, step(2)[0]]
    made = fit(waits, budget=count(waits) - 1)
    assert waits[-1] in made.messages


# --- one policy each -----------------------------------------------------------------------------


def test_calls_become_lines_only_where_that_saves_tokens():
    def counter(own):
        def sizes(messages):
            return sum(own if one.get("tool_calls") else len(one["content"]) for one in messages)

        return sizes

    messages = [said("user", "t"), *step(1, result="r" * 50), said("user", "now")]
    policy = CollapseCalls(keep=0, always=True)
    made = fit(messages, budget=LARGE, counter=counter(LARGE // 2), policy=policy)
    line = len(made.messages[1]["content"])
    for own, replaced in ((line - 50, False), (line - 50 + 1, True)):
        made = fit(messages, budget=LARGE, counter=counter(own), policy=policy)
        assert bool(made.inserted) == replaced


def test_a_line_is_cut_behind_its_most_characters():
    for length, cut in ((10, False), (11, True)):
        messages = [said("user", "t"), *step(1, result="r" * length), *step(2), said("user", "now")]
        policy = CollapseCalls(keep=1, result_chars=10, always=True)
        made = fit(messages, budget=LARGE, policy=policy, counter=lambda given: 9 * len(given))
        line = made.messages[1]["content"].splitlines()[1]
        assert line.partition(" → ")[2] == "r" * 10 + "…" * cut


def test_calls_with_something_between_them_are_two_runs():
    """A result that comes late makes units of which the members do not follow each other."""
    one, other = step(1), step(2)
    messages = [said("user", "task"), *one, said("user", "stop"), *other, said("user", "now")]
    policy = CollapseCalls(keep=0, always=True)
    made = fit(messages, budget=LARGE, policy=policy)
    assert [x.stands_for for x in made.inserted] == [(1, 2), (4, 5)]
    late = [
        said("user", "task"),
        one[0],
        said("assistant", "hm"),
        one[1],
        *other,
        said("user", "x"),
    ]
    made = fit(late, budget=LARGE, policy=policy)
    texts = [x["content"] for x in made.messages]
    assert texts.index("hm") != len(texts) - 2 or len(made.inserted) == 2
    for x in made.inserted:
        gone = {at for each in made.evicted for at in each.indices}
        assert gone.issuperset(x.stands_for)


@pytest.mark.parametrize("length", [199, 200, 201])
def test_a_result_over_its_most_characters_goes_to_the_store(length):
    messages = [said("user", "t"), *step(1, result="r" * length), said("user", "now")]
    policy = OffloadLarge(over=200, store=BlobStore(), always=True)
    made = fit(messages, budget=LARGE, policy=policy, counter=sizes)
    assert bool(made.inserted) == (length > 200)


def sizes(messages):
    """Count a message as nothing if it is a stand-in with a handle, and else as its characters."""
    return sum(len(one["content"] or "") for one in messages if "[offloaded" not in str(one))


@pytest.mark.parametrize(("lines", "head", "tail"), [(1, 1, 1), (2, 2, 1), (3, 3, 0), (9, 3, 0)])
def test_a_line_of_the_head_is_not_shown_in_the_tail_again(lines, head, tail):
    parts = ["first\n", "b" * 300 + "\n", "last"]
    policy = OffloadLarge(over=200, lines=lines, store=BlobStore(), always=True)
    messages = [said("user", "t"), *step(1, result="".join(parts)), said("user", "now")]
    made = fit(messages, budget=LARGE, policy=policy, counter=sizes)
    shown = made.messages[2]["content"].partition("\n")[2]
    begin, _, end = shown.partition("\n[…]\n")
    assert begin == "".join(parts[:head])[:50]
    assert end == "".join(parts[len(parts) - tail :] if tail else [])[-50:]


def test_a_placeholder_takes_the_place_of_what_is_longer():
    placeholder = "[old tool result cleared]"
    for more, replaced in ((0, False), (1, True)):
        result = "r" * (len(placeholder) + more)
        messages = [said("user", "t"), *step(1, result=result), said("user", "now")]
        policy = ClearToolResults(keep=0, trigger=0)
        made = fit(messages, budget=LARGE, policy=policy, counter=sizes)
        assert bool(made.inserted) == replaced


def test_a_call_that_failed_supersedes_none():
    def call(id_, failed):
        use = {"type": "tool_use", "id": id_, "name": "read", "input": {"path": "a"}}
        result = {"type": "tool_result", "tool_use_id": id_, "content": f"text {id_} " * 30}
        result |= {"is_error": True} if failed else {}
        return [said("assistant", [use]), said("user", [result])]

    for failed in (False, True):
        messages = [
            said("user", "t"),
            *call("one", False),
            *call("two", failed),
            said("user", "now"),
        ]
        made = fit(
            messages, budget=LARGE, dialect="anthropic", policy=LatestToolResult(always=True)
        )
        assert bool(made.inserted) == (not failed)


def test_a_result_belongs_to_the_latest_call_of_its_id():
    messages = [
        said("user", "t"),
        step(1, query="old")[0],
        *step(1, query="new"),
        said("user", "x"),
    ]
    made = fit(messages, budget=LARGE, policy=CollapseCalls(keep=0, always=True))
    [line] = [one["content"] for one in made.messages if "→" in str(one["content"])]
    assert "new" in line
    assert "old" not in line


def test_a_summary_is_made_above_the_mark_and_only_if_it_is_shorter():
    messages = [said("user", "task"), *(said("assistant", "word " * 20) for _ in range(8))]
    messages.append(said("user", "now"))
    whole = count(messages)
    asked = []

    def short(given, *, max_tokens):  # noqa: ARG001 - a summarizer's
        asked.append(list(given))
        return "word after word"

    policy = Summarize(watermark=0.5, summarizer=short, keep=1)
    assert not fit(messages, budget=2 * whole, policy=policy).inserted
    assert not asked
    made = fit(messages, budget=2 * whole - 2, policy=policy)
    assert made.inserted[0].kind == "summary"
    again = [
        *made.messages[:-1],
        *(said("assistant", "more " * 20) for _ in range(8)),
        messages[-1],
    ]
    asked.clear()
    fit(again, budget=count(again) + 1, policy=policy)
    [given] = asked
    body = [one for one in given if one["content"].startswith("more")]
    assert len(body) == 8
    assert sum("(Summary of earlier messages)" in one["content"] for one in given) == 1
    view = view_of(messages)
    old = sum(view.costs[1:-1])
    for cost, used in ((old - 1, True), (old, False)):
        costly = replace(view, budget=1, cost_of=lambda _message, cost=cost: cost)
        plan = policy.plan(costly)
        assert any(isinstance(one, Fold) for one in plan) == used


@pytest.mark.parametrize("keep", [0, 1, 3, 5])
def test_a_summary_stands_for_all_but_the_newest_units(keep):
    def short(_given, *, max_tokens):  # noqa: ARG001 - a summarizer's
        return "word after word"

    view = view_of(session(6))
    spoken = [at for at, unit in enumerate(view.units) if unit.kind != "system"]
    newest = spoken[len(spoken) - keep :] if keep else []
    old = [at for at in view.unprotected() if at not in newest]
    plan = Summarize(summarizer=short, keep=keep).plan(replace(view, budget=view.total - 1))
    assert [one.units for one in plan if isinstance(one, Fold)] == [tuple(old)]
    assert (old == view.unprotected()) == (keep < 2)


def test_excluded_calls_do_not_count_among_the_newest():
    messages = [said("user", "go"), *step(0), *step(1), *step(2, tool="note"), said("user", "on")]
    view = view_of(messages)
    for keep, old in ((0, [2, 4]), (1, [2]), (2, [])):
        policy = ClearToolResults(keep=keep, trigger=0, exclude=["note"])
        assert [one.at for one in policy.plan(view)] == old


def test_retries_are_as_many_as_asked_for_each_with_less():
    tried = []

    def call(budget):
        tried.append(budget)
        raise ValueError("prompt is too long")

    with pytest.raises(ValueError, match="too long"):
        retry_on_overflow(call, budget=1_000, attempts=3, step=0.5)
    assert tried == [1_000, 500, 250, 125]
    tried.clear()
    with pytest.raises(ValueError, match="too long"):
        retry_on_overflow(call, budget=1_000, attempts=0)
    assert tried == [1_000]
    tried.clear()
    with pytest.raises(ValueError, match="too long"):
        retry_on_overflow(call, budget=4, attempts=4, step=0.5)
    assert tried == [4, 2, 1, 1, 1], "a budget is at least a token"


def test_two_stores_on_the_same_file_have_a_text_once():
    cold = ColdStore.open(None)
    one, other = BlobStore(cold), BlobStore(cold)
    handle = one.put("a text")
    assert other.put("a text") == handle
    assert len(cold.page(1)) == 1
    assert other.read(handle) == "a text"


def texts(cold):
    return [record for record in cold.page(1) if record.kind == "item"]


def test_an_erased_text_is_not_there_and_can_be_put_again():
    cold = ColdStore.open(None)
    one, other = BlobStore(cold), BlobStore(cold)
    handle = one.put("a text")
    assert other.read(handle) == "a text"
    cold.erase(records=[1])
    for store in (one, other):
        with pytest.raises(NotFound, match="no handle"):
            store.read(handle)
    assert one.put("a text") == handle
    assert one.read(handle) == other.read(handle) == "a text"
    assert other.put("a text") == handle
    (text,) = texts(cold)
    # The same text twice, as two processes may put it at once: the other one is read.
    (twin,) = cold.append([("item", text.key, b"", b"a text")])
    with pytest.raises(NotFound):
        one.read("blob:another")  # it has seen the other one then
    cold.erase(records=[text.seq])
    assert one.read(handle) == other.read(handle) == "a text"
    assert one.put("a text") == handle
    assert [record.seq for record in texts(cold)] == [twin]


def test_a_swap_keeps_to_one_message():
    messages = session(2)
    view = view_of(messages)
    plan = ClearToolResults(keep=1, trigger=0).plan(view)
    assert [(one.at, one.kind) for one in plan if isinstance(one, Swap)] == [(3, "placeholder")]


def test_a_list_that_fits_exactly_keeps_the_thinking_of_its_loop():
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    call = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "r" * 40}
    loop = [said("assistant", [thought, call]), said("user", [result])]
    talk = [said("user", "task"), said("assistant", "ok " * 30), said("user", "do it")]
    messages = [*talk, *loop]
    whole = count(messages, "anthropic")
    policy = SlidingWindow(1, always=True)
    for budget in (whole, whole + 1):
        made = fit(messages, budget=budget, dialect="anthropic", policy=policy)
        assert made.messages == messages
        assert made.notes
    finished = [*messages, said("assistant", "done"), said("user", "thanks")]
    made = fit(finished, budget=LARGE, dialect="anthropic", policy=policy)
    assert len(made.messages) < len(finished)
    assert not made.notes


def test_a_summary_is_no_neighbour_of_what_stood_beside_the_messages_it_replaces():
    messages = [said("user", "task"), said("assistant", "word " * 60), said("user", "now")]

    def short(_given, *, max_tokens):  # noqa: ARG001 - a summarizer's
        return "word after word"

    policy = Summarize(watermark=0.5, summarizer=short, keep=1)
    made = fit(messages, budget=count(messages, "anthropic"), dialect="anthropic", policy=policy)
    assert [one.kind for one in made.inserted] == ["gap", "summary", "gap"]
    assert [one["role"] for one in made.messages] == ["user", "assistant"] * 2 + ["user"]
    assert made.messages[1]["content"] == FILLER


def test_the_newest_message_stays_where_nobody_asked():
    messages = [said("system", "Be brief."), *(said("assistant", f"{at} " * 20) for at in range(4))]
    made = fit(messages, budget=count([messages[0], messages[-1]]))
    assert made.messages == [messages[0], messages[-1]]
    made = fit(messages, budget=count(messages) - 1, policy=Salience([0, 4, 3, 2, 1]))
    assert made.messages[-1] == messages[-1]


def test_white_space_at_the_end_of_the_last_message_is_the_callers():
    messages = [said("user", "task"), said("assistant", "old " * 40), said("user", "go on")]
    messages.append(said("assistant", "so "))
    made = fit(messages, budget=count(messages, "anthropic") - 1, dialect="anthropic", protect=[3])
    assert made.messages[-1] is messages[-1]
    assert len(made.evicted) == 1


def test_another_round_frees_what_filler_messages_take():
    """The final count is lower than the messages' own, which have to fit as well."""
    messages = [said("user", "task"), *(said("assistant", f"{at} " * 20) for at in range(6))]
    messages.append(said("user", "now"))

    def counter(given):
        return sum(len(one["content"]) for one in given) // (2 if len(given) > 1 else 1)

    alone = [len(one["content"]) for one in messages]
    for budget in range(sum(alone) // 3, sum(alone), 7):
        made = fit(messages, budget=budget, counter=counter)
        assert sum(len(one["content"]) for one in made.messages) <= budget
        assert made.messages[-1] == messages[-1]


def test_calls_of_one_id_in_a_message_are_answered_in_their_order():
    first, second = step(1, query="first")[0], step(1, query="second")[0]
    both = {**first, "tool_calls": [*first["tool_calls"], *second["tool_calls"]]}
    results = [{"role": "tool", "tool_call_id": "c1", "content": f"{one} result"} for one in "ab"]
    messages = [said("user", "t"), both, *results, said("user", "now")]
    policy = CollapseCalls(keep=0, always=True)
    made = fit(messages, budget=LARGE, policy=policy, counter=lambda given: 99 * len(given))
    lines = made.messages[1]["content"].splitlines()[1:]
    assert ["first" in lines[0], "a result" in lines[0]] == [True, True]
    assert ["second" in lines[1], "b result" in lines[1]] == [True, True]
