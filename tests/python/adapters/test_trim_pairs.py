"""What `trim_messages` adds: tool calls and their results stay or leave together."""

import pytest
from hypothesis import example, given, settings, strategies as st

from warmset.adapters.langchain import trim_messages
from warmset.errors import InvalidInputError


def user(text="?"):
    return {"role": "user", "content": text}


def said(text="!"):
    return {"role": "assistant", "content": text}


def calling(*ids, content=None):
    uses = [{"id": each, "function": {"name": "f", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": content, "tool_calls": uses}


def result(of, text="42"):
    return {"role": "tool", "tool_call_id": of, "content": text}


SYSTEM = {"role": "system", "content": "Be brief."}
TALK = [user(), calling("a", "b"), result("b"), result("a"), said(), user(), said()]


def places(kept, talk):
    """Return where the caller's own objects stand in the list."""
    return [next(i for i, each in enumerate(talk) if each is message) for message in kept]


@pytest.mark.parametrize(
    ("strategy", "budget", "expected"),
    [
        ("last", 3, [4, 5, 6]),
        ("last", 4, [4, 5, 6]),
        ("last", 5, [4, 5, 6]),
        ("last", 6, [1, 2, 3, 4, 5, 6]),
        ("last", 7, [0, 1, 2, 3, 4, 5, 6]),
        ("first", 1, [0]),
        ("first", 2, [0]),
        ("first", 3, [0]),
        ("first", 4, [0, 1, 2, 3]),
        ("first", 0, []),
    ],
)
def test_a_cut_inside_of_an_exchange_moves_towards_the_kept_end(strategy, budget, expected):
    kept = trim_messages(TALK, max_tokens=budget, token_counter=len, strategy=strategy)
    assert places(kept, TALK) == expected


def test_an_end_that_was_asked_for_parts_nothing():
    kept = trim_messages(TALK[:4], max_tokens=9, token_counter=len, end_on="ai")
    assert kept == []  # the call's results would be left behind it
    kept = trim_messages(TALK, max_tokens=9, token_counter=len, strategy="first", end_on="tool")
    assert places(kept, TALK) == [0, 1, 2, 3]


def test_a_start_that_was_asked_for_parts_nothing():
    talk = [calling("a"), user("meanwhile"), result("a"), said(), user(), said()]
    kept = trim_messages(talk, max_tokens=5, token_counter=len, start_on="human")
    assert places(kept, talk) == [4, 5]
    kept = trim_messages(talk, max_tokens=5, token_counter=len)
    assert places(kept, talk) == [3, 4, 5]


def test_results_without_a_call_are_left_out():
    talk = [result("x"), user(), result("y"), calling("a"), result("a"), result("a"), said()]
    assert places(trim_messages(talk, max_tokens=9, token_counter=len), talk) == [1, 3, 4, 6]
    first = trim_messages(talk, max_tokens=9, token_counter=len, strategy="first", end_on="tool")
    assert places(first, talk) == [1, 3, 4]


def test_an_unanswered_call_stays_open():
    talk = [user(), calling("a", "b"), result("a")]
    assert trim_messages(talk, max_tokens=2, token_counter=len) == talk[1:]
    assert trim_messages(talk, max_tokens=1, token_counter=len) == []
    assert trim_messages(talk, max_tokens=3, token_counter=len) == talk
    assert trim_messages(talk[:2], max_tokens=1, token_counter=len) == [talk[1]]
    far = [calling("a"), *[user() for _ in range(99)], result("a")]
    assert trim_messages(far, max_tokens=50, token_counter=len, strategy="first") == []
    assert trim_messages(far, max_tokens=50, token_counter=len) == []
    assert trim_messages(far, max_tokens=101, token_counter=len) == far


def test_the_system_message_stays_when_nothing_else_fits():
    talk = [SYSTEM, calling("a"), result("a")]
    options = {"token_counter": len, "include_system": True}
    assert trim_messages(talk, max_tokens=2, **options) == [SYSTEM]
    assert trim_messages(talk, max_tokens=0, **options) == [SYSTEM]
    assert trim_messages(talk, max_tokens=3, **options) == talk


def letters(messages):
    return sum(len(message["content"] or "") for message in messages)


def test_no_message_of_an_exchange_is_shortened():
    options = {"max_tokens": 6, "token_counter": letters, "allow_partial": True}
    options["text_splitter"] = list
    talk = [user("before"), calling("a"), result("a", "a long result"), user("yes")]
    assert trim_messages(talk, **options) == [user("yes")]
    assert trim_messages(talk, **options, pairs=False)[0] == result("a", "ult")
    talk = [user("a long request"), calling("a"), result("a", "42"), user("yes")]
    assert trim_messages(talk, **options) == [user("t"), *talk[1:]]
    talk = [user("yes"), calling("a", content="thinking aloud"), result("a", "42")]
    assert trim_messages(talk, **options, strategy="first") == [user("yes")]
    open_call = calling("a", content="thinking aloud")
    assert trim_messages([open_call], **options) == []
    assert trim_messages([user("yes"), user("again")], **options) == [user("s"), user("again")]


@pytest.mark.parametrize("strategy", ["first", "last"])
def test_no_text_is_split_that_leaves_with_an_exchange(strategy):
    split = []
    talk = [user("yes"), calling("a"), user("a long remark"), result("a"), user("yes")]
    kept = trim_messages(
        talk,
        max_tokens=6,
        token_counter=letters,
        strategy=strategy,
        allow_partial=True,
        text_splitter=lambda text: split.append(text) or [text],
    )
    assert places(kept, talk) == [4 if strategy == "last" else 0]
    assert split == []


def test_blocks_of_anthropics_and_old_functions_are_exchanges_too():
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f"}]}
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}
    old = {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": ""}}
    told = {"role": "function", "name": "f", "content": "42"}
    for talk in ([use, answer, said()], [old, told, said()]):
        assert trim_messages(talk, max_tokens=2, token_counter=len) == talk[2:]
        assert trim_messages(talk, max_tokens=1, token_counter=len, strategy="first") == []


def test_a_call_in_two_forms_is_one_call():
    both = {**calling("a"), "content": [{"type": "tool_use", "id": "a", "name": "f"}]}
    talk = [both, result("a"), result("a"), said()]
    kept = trim_messages(talk, max_tokens=9, token_counter=len)
    assert places(kept, talk) == [0, 1, 3]


def test_a_call_without_an_id_is_answered_by_nothing():
    bare = [{"function": {"name": "f", "arguments": "{}"}}]
    for uses in (bare, [{**bare[0], "id": None}]):
        call = {"role": "assistant", "content": "", "tool_calls": uses}
        talk = [user(), call, result("None"), user(), said()]
        assert places(trim_messages(talk, max_tokens=9, token_counter=len), talk) == [0, 1, 3, 4]
        kept = trim_messages(talk, max_tokens=2, token_counter=len, strategy="first")
        assert places(kept, talk) == [0, 1]


def test_langchains_objects_are_paired_and_come_out_as_they_are():
    messages = pytest.importorskip("langchain_core.messages", reason="reads its objects")
    call = {"name": "f", "args": {}, "id": "a"}
    talk = [
        messages.HumanMessage("?"),
        messages.AIMessage("", tool_calls=[call]),
        messages.ToolMessage("42", tool_call_id="a"),
        messages.AIMessage("!"),
    ]
    for counter in (len, "approximate"):
        budget = 2 if counter is len else 14
        kept = trim_messages(talk, max_tokens=budget, token_counter=counter)
        assert places(kept, talk) == [3]
    assert places(trim_messages(talk, max_tokens=3, token_counter=len), talk) == [1, 2, 3]
    wrong = {"name": "f", "args": "{", "id": "a", "error": None, "type": "invalid_tool_call"}
    talk[1] = messages.AIMessage("", invalid_tool_calls=[wrong])
    assert places(trim_messages(talk, max_tokens=2, token_counter=len), talk) == [3]
    assert places(trim_messages(talk, max_tokens=4, token_counter=len), talk) == [0, 1, 2, 3]


# --- any list, against a plain reading of the rule ---------------------------------------------


def partners(talk):
    """Return the groups of positions that belong together, and the orphans."""
    group = {index: {index} for index in range(len(talk))}
    orphans = set()
    for index, message in enumerate(talk):
        if message["role"] != "tool":
            continue
        for caller in (i for i in range(index - 1, -1, -1) if "tool_calls" in talk[i]):
            made = [use["id"] for use in talk[caller]["tool_calls"]]
            answered = [talk[i]["tool_call_id"] for i in group[caller] if i != caller]
            if made.count(message["tool_call_id"]) > answered.count(message["tool_call_id"]):
                group[caller].add(index)
                for member in group[caller]:
                    group[member] = group[caller]
                break
        else:
            orphans.add(index)
    return [sorted(members) for members in group.values()], orphans


def plain_rule(talk, budget, cost, strategy, start_on, end_on, *, system):
    """Cut, then move the cut step by step until nothing forbids it."""
    groups, orphans = partners(talk)
    kinds = {"user": "human", "assistant": "ai"}
    kind = [kinds.get(message["role"], message["role"]) for message in talk]

    def parted(edge):
        return any(members[0] < edge <= members[-1] for members in groups)

    def last_allowed(end, wanted):
        while end and (
            (wanted and kind[end - 1] not in wanted) or parted(end) or end - 1 in orphans
        ):
            end -= 1
        return end

    begin, end, head = 0, len(talk), []
    if strategy == "first":
        while sum(map(cost, talk[:end])) > budget and end:
            end -= 1
        end = last_allowed(end, end_on)
    else:
        end = last_allowed(end, end_on)
        if system and end and kind[0] == "system":
            head, begin = [0], 1
            budget = max(0, budget - cost(talk[0]))
        while begin < end and sum(map(cost, talk[begin:end])) > budget:
            begin += 1
        while begin < end and (
            (start_on and kind[begin] not in start_on) or parted(begin) or begin in orphans
        ):
            begin += 1
    return head + [index for index in range(begin, end) if index not in orphans]


@st.composite
def talks(draw):
    """Lists with parallel, late, missing, doubled and strange results, and ids used again."""
    rng = draw(st.randoms(use_true_random=False))
    late = draw(st.sampled_from([0, 1, 3, 20]))
    talk, due = [], []
    if draw(st.booleans()):
        talk.append(dict(SYSTEM))
    for _ in range(draw(st.sampled_from([0, 1, 5, 12, 60]))):
        kind = rng.random()
        if kind < 0.3:
            ids = [f"c{rng.randint(0, 4)}" for _ in range(rng.randint(1, 3))]
            talk.append(calling(*ids))
            due += ids
        elif kind < 0.6 and due and rng.random() * 20 > late:
            talk.append(result(due.pop(rng.randrange(len(due)))))
        elif kind < 0.63:
            talk.append(result(f"c{rng.randint(0, 9)}"))
        else:
            talk.append(rng.choice([user, said])("x" * rng.randint(0, 9)))
    return talk


def each(message: dict) -> int:
    return 1 + len(message["content"] or "")


def in_all(messages):
    return sum(map(each, messages))


def in_all_and_some(messages):
    return 3 + in_all(messages)


@example(
    talk=[
        *[
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c0", "function": {"name": "f", "arguments": "{}"}}],
            }
        ]
        * 4,
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
    ],
    share=0.5,
    strategy="last",
    start_on=None,
    end_on=None,
    system=False,
)
@settings(max_examples=400, deadline=None)
@given(
    talk=talks(),
    share=st.floats(-0.05, 1.1),
    strategy=st.sampled_from(["first", "last"]),
    start_on=st.sampled_from([None, ["human"], ["ai", "tool"]]),
    end_on=st.sampled_from([None, ["human"], ["ai"], ["tool", "human"]]),
    system=st.booleans(),
)
def test_the_cut_is_the_plain_rule_s(talk, share, strategy, start_on, end_on, system):
    budget = int(share * in_all(talk))
    options = {"max_tokens": budget, "strategy": strategy, "end_on": end_on}
    if strategy == "last":
        options |= {"start_on": start_on, "include_system": system}
    copy = [dict(message) for message in talk]
    expected = plain_rule(talk, budget, each, strategy, start_on, end_on, system=system)
    for counter in (each, in_all):
        kept = trim_messages(talk, token_counter=counter, **options)
        assert [id(message) for message in kept] == [id(talk[index]) for index in expected]
    assert talk == copy


@settings(max_examples=200, deadline=None)
@given(
    talk=talks(),
    share=st.floats(0, 1.1),
    strategy=st.sampled_from(["first", "last"]),
    counter=st.sampled_from([in_all, in_all_and_some]),
)
def test_what_is_kept_is_within_the_budget_and_whole(talk, share, strategy, counter):
    budget = int(share * counter(talk))
    kept = trim_messages(
        talk,
        max_tokens=budget,
        token_counter=counter,
        strategy=strategy,
        allow_partial=True,
        text_splitter=list,
    )
    assert not kept or counter(kept) <= budget
    own = {id(message): index for index, message in enumerate(talk)}
    found = [own[id(message)] for message in kept if id(message) in own]
    assert found == sorted(found)
    strange = [message for message in kept if id(message) not in own]
    assert len(strange) <= 1
    assert all(message["role"] != "tool" and "tool_calls" not in message for message in strange)
    groups, orphans = partners(talk)
    assert not orphans & set(found)
    assert all(set(members) <= set(found) or not set(members) & set(found) for members in groups)


@settings(max_examples=200, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 30), max_size=400),
    share=st.floats(0, 1.05),
    shape=st.sampled_from(["sum", "primed", "square", "steps"]),
    strategy=st.sampled_from(["first", "last"]),
)
def test_any_monotone_counter_finds_the_longest_that_fits(sizes, share, shape, strategy):
    talk = [user("x" * size) for size in sizes]

    def counter(messages):
        total = letters(messages)
        shapes = {"sum": total, "primed": total + 5, "square": total**2, "steps": total // 50}
        return shapes[shape]

    budget = int(share * counter(talk))
    options = {"max_tokens": budget, "token_counter": counter, "strategy": strategy}
    assert trim_messages(talk, **options) == trim_messages(talk, **options, pairs=False)


def test_a_counter_of_lists_reads_little():
    talk = [user("x" * 40) for _ in range(10_000)]
    read = []

    def counter(messages):
        read.append(len(messages))
        return letters(messages)

    kept = trim_messages(talk, max_tokens=40 * 500, token_counter=counter)
    assert len(kept) == 500
    assert sum(read) < 5 * 500
    read.clear()
    count = lambda messages: read.append(len(messages)) or len(messages)  # noqa: E731
    assert len(trim_messages(talk, max_tokens=500, token_counter=count)) == 500
    assert sum(read) < 3.5 * 500  # no list that is too long by one is tried for nothing
    read.clear()
    assert len(trim_messages(talk, max_tokens=10**9, token_counter=counter)) == 10_000
    assert sum(read) < 1.1 * 10_000


def test_a_short_list_is_counted_as_a_whole_once():
    for count in (2, 63, 64):
        read = []
        kept = trim_messages(
            [user() for _ in range(count)],
            max_tokens=count - 1,
            token_counter=lambda messages, read=read: read.append(len(messages)) or len(messages),
        )
        assert (len(kept), read.count(count)) == (count - 1, 1)


def test_a_counter_that_adds_nothing_up_is_still_bisected():
    talk = [user() for _ in range(4_096)]
    calls = []

    def counter(messages):
        calls.append(1)
        return 0 if len(messages) <= 1_234 else 10**6 + len(messages)

    assert len(trim_messages(talk, max_tokens=5, token_counter=counter)) == 1_234
    assert len(calls) < 150


@pytest.mark.parametrize("pairs", [True, False])
def test_a_malformed_message_is_refused_in_words(pairs):
    bad = [
        {"role": "whale", "content": "x"},
        {"content": "x"},
        {"role": "tool", "content": "x"},
        {"role": "user"},
        {"role": "user", "content": 3},
    ]
    for message in bad:
        with pytest.raises(InvalidInputError, match=r"message 1: .+"):
            trim_messages([user(), message], max_tokens=5, token_counter=len, pairs=pairs)


def test_an_assistant_may_leave_content_out_as_providers_let_it():
    call = calling("a")
    del call["content"]
    talk = [user(), call, result("a")]
    estimate = {"max_tokens": 99, "token_counter": "approximate"}
    assert trim_messages(talk, **estimate) == talk
    with pytest.raises(InvalidInputError, match="message 1"):
        trim_messages(talk, **estimate, pairs=False)
