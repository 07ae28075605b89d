"""Lists at the edges of the rules: what stands too early, too late, twice, or nearly in place."""

from __future__ import annotations

import pytest

from warmset import repair, validate
from warmset.messages import alternate, convert
from warmset.messages.anthropic.marks import thinned

ASK = {"role": "user", "content": "q"}


def user(text):
    return {"role": "user", "content": text}


def chat(*ids, **more):
    calls = [
        {"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}} for one in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls} | more


def tool(call, text="ok"):
    return {"role": "tool", "tool_call_id": call, "content": text}


def use(*ids):
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": one, "name": "f", "input": {}} for one in ids],
    }


def result(*ids, text="ok"):
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": one, "content": text} for one in ids],
    }


def test_the_message_of_a_wrong_shape_is_named():
    found = validate([ASK, ASK, {"role": "user", "content": float("nan")}], dialect="openai")
    assert [(one.rule, one.index) for one in found] == [("shape", 2)]


def test_losses_are_in_the_order_of_the_list():
    bad = chat("c")
    bad["tool_calls"][0]["function"]["name"] = "a b"
    marked = [{"type": "text", "text": "t", "cache_control": {"type": "ephemeral"}}]
    made = convert([ASK, bad, tool("c"), user(marked)], source="openai", target="anthropic")
    assert [one.index for one in made.lost] == [1, 3]


def test_a_list_of_which_nothing_is_left_is_reported_at_its_end():
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    made = convert([thought, thought], source="responses", target="openai")
    assert made.messages == [user("(continue)")]
    assert [one.index for one in made.lost] == [0, 1, 1]


def test_an_empty_list_in_an_unknown_field_is_no_loss():
    made = convert([ASK | {"future": []}], source="openai", target="anthropic")
    assert made.lost == ()


def test_a_late_output_is_put_right_behind_its_call():
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    late = {"type": "function_call_output", "call_id": "c", "output": "late"}
    given = [ASK, call, user("meanwhile"), user("and"), late]
    made = convert(given, source="responses", target="openai", lost="drop")
    assert [one["role"] for one in made.messages] == ["user", "assistant", "tool", "user", "user"]
    given[2:2] = [{"role": "assistant", "content": "so"}]
    made = convert(given, source="responses", target="openai", lost="drop")
    assert [one.get("content") for one in made.messages[1:4]] == [None, "late", "so"]


def test_an_early_result_goes_to_the_first_call_of_its_id_behind_it():
    given = [ASK, tool("c", "early"), chat("c"), user("and"), chat("c")]
    made = repair(given, dialect="openai").messages
    assert next(one for one in made if one["role"] == "tool")["content"] == "early"
    assert made.index(tool("c", "early")) < made.index(user("and"))


def test_of_equal_calls_in_one_message_the_first_is_answered_first():
    made = repair([ASK, chat("c", "c"), tool("c", "1"), tool("c", "2")], dialect="openai").messages
    assert [(one["tool_call_id"], one["content"]) for one in made[2:]] == [("c", "1"), ("c_2", "2")]
    made = repair([ASK, use("c", "c"), result("c"), result("c", text="2")], dialect="anthropic")
    found = [one for message in made.messages[2:] for one in message["content"]]
    assert [(one["tool_use_id"], one["content"]) for one in found] == [("c", "ok"), ("c_2", "2")]


def test_of_a_field_that_several_merged_messages_have_the_firsts_stands():
    one = {"role": "assistant", "content": "a", "id": "m1"}
    other = {"role": "assistant", "content": "b", "id": "m2", "model": "m"}
    (made,) = alternate([one, other])
    assert (made["id"], made["model"]) == ("m1", "m")


def test_a_result_answers_the_message_before_it_and_no_earlier_one():
    given = [ASK, use("t"), user("no"), {"role": "assistant", "content": "well"}, result("t")]
    found = validate(given, dialect="anthropic")
    assert [(one.rule, one.index) for one in found] == [("A2", 1), ("A4", 4)]
    again = [ASK, chat("c"), tool("c"), user("and"), tool("c")]
    assert {(one.rule, one.index) for one in validate(again, dialect="openai")} >= {("C1", 4)}


def marked(role, count):
    block = {"type": "text", "text": "t", "cache_control": {"type": "ephemeral"}}
    return {"role": role, "content": [dict(block) for _ in range(count)]}


def marks(message):
    return sum("cache_control" in block for block in message["content"])


@pytest.mark.parametrize(
    ("counts", "left"), [([1, 1, 2], [1, 1, 2]), ([1, 2, 2], [1, 1, 2]), ([2, 3, 3], [2, 0, 2])]
)
def test_the_oldest_marks_leave_and_those_of_the_leading_system_messages_last(counts, left):
    given = [marked(role, n) for role, n in zip(("system", "user", "user"), counts, strict=True)]
    assert [marks(one) for one in thinned(given)] == left
    rules = [one.rule for one in validate(given[1:], dialect="anthropic")]
    assert ("A11" in rules) == (sum(counts[1:]) > 4)


def test_tools_and_system_prompts_count_among_the_marks():
    mark = {"cache_control": {"type": "ephemeral"}}
    given = [marked("user", 3)]
    assert thinned(given, system=[mark]) == given
    assert marks(thinned(given, system=[mark], tools=[mark])[0]) == 2


def test_an_empty_reply_may_end_a_list_only_where_it_begins_a_turn():
    empty = {"role": "assistant", "content": ""}
    assert validate([ASK, empty], dialect="anthropic") == []
    found = validate([ASK, {"role": "assistant", "content": "so"}, empty], dialect="anthropic")
    assert [(one.rule, one.index) for one in found] == [("A8", 2)]


def gemini(role, *parts):
    return {"role": role, "parts": list(parts)}


@pytest.mark.parametrize(
    ("model", "places"),
    [("gemini-3-pro", [3]), ("models/gemini-3.8-flash", [3]), ("gemini-2.5-pro", []), ("", [])],
)
def test_calls_since_the_last_request_are_signed_from_the_third_generation_on(model, places):
    call = {"functionCall": {"name": "f", "args": {}}}
    response = {"functionResponse": {"name": "f", "response": {"output": "o"}}}
    text = {"text": "t"}
    given = [
        gemini("user", text),
        gemini("model", call, call),
        gemini("user", response, response),
        gemini("model", call),
        gemini("user", response),
    ]
    found = validate(given, dialect="gemini", model=model)
    assert [one.index for one in found if one.rule == "G4"] == ([1, 3] if places else [])
    later = [*given[:3], gemini("user", text), *given[3:]]
    found = validate(later, dialect="gemini", model=model)
    assert [one.index for one in found if one.rule == "G4"] == [at + 1 for at in places]


def item(call, own=None):
    made = {"type": "function_call", "call_id": call, "name": "f", "arguments": "{}"}
    return made | ({"id": own} if own else {})


def output(call, text="ok"):
    return {"type": "function_call_output", "call_id": call, "output": text}


def test_an_output_behind_a_reference_to_a_call_stays():
    given = [ASK, item("a"), output("a"), {"type": "item_reference", "id": "fc_1"}, output("z")]
    assert repair(given, dialect="responses").messages == given
    twice = [*given, output("z")]
    assert repair(twice, dialect="responses").messages == given
    early = [*given[:3], output("z"), given[3]]
    assert repair(early, dialect="responses").messages == [*given[:3], given[3]]


def test_a_placeholder_answers_its_call_by_the_new_id():
    for given in ([item("a"), item("a"), output("a")], [item("a"), output("a"), item("a")]):
        whole = repair([ASK, *given], dialect="responses")
        assert {one.rule for one in whole.changes} == {"R2", "R8"}  # nothing is mended twice
        made = whole.messages
        calls = [one["call_id"] for one in made if one.get("type") == "function_call"]
        outputs = [one["call_id"] for one in made if one.get("type") == "function_call_output"]
        assert len(set(calls)) == 2
        assert sorted(outputs) == sorted(calls)
        assert validate(made, dialect="responses") == []


def test_a_placeholder_does_not_part_reasoning_from_what_it_led_to():
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    made = repair([ASK, item("a"), thought, item("b", "fc_1"), output("b")], dialect="responses")
    kinds = [one.get("type") for one in made.messages]
    at = kinds.index("reasoning")
    assert kinds[at + 1] == "function_call"
    assert validate(made.messages, dialect="responses") == []
    last = {"type": "message", "role": "assistant", "id": "msg_1"}
    last["content"] = [{"type": "output_text", "text": "t", "annotations": []}]
    made = repair([ASK, item("a"), thought, last, user("on")], dialect="responses").messages
    kinds = [one.get("type") for one in made]
    assert kinds.index("message") - kinds.index("reasoning") == 1


@pytest.mark.parametrize(
    ("dialect", "given"),
    [
        ("anthropic", [{"role": "system", "content": "x "}, {"role": "assistant", "content": []}]),
        (
            "responses",
            [
                {"type": "reasoning", "id": "rs_b", "summary": []},
                {"type": "reasoning", "summary": []},
                {"type": "web_search_call", "id": "ws_b", "status": "completed"},
                ASK,
            ],
        ),
    ],
)
def test_what_one_change_leaves_behind_is_mended_too(dialect, given):
    made = repair(given, dialect=dialect)
    found = validate(made.messages, dialect=dialect)
    assert [one for one in found if one.severity == "refused"] == []
    assert [one.index for one in made.changes] == sorted(one.index for one in made.changes)
    assert all(one.index < len(given) for one in made.changes)
    assert repair(made.messages, dialect=dialect).changes == []


def test_a_reply_without_its_calls_has_the_field_that_it_needs():
    given = [ASK, chat("c", content=None, refusal="no")]
    del given[1]["content"]
    made = repair(given, dialect="openai", unanswered="drop").messages
    assert made == [ASK, {"role": "assistant", "refusal": "no", "content": None}]
