"""`check_prefix`: the first change between requests, what it costs, which thinking it breaks."""

from __future__ import annotations

import copy
import json
import random

import pytest
from prefix_oracle import first_other

from warmset.errors import InvalidInputError, UnknownDialectError
from warmset.money import Prices, Surcharge, prices_of
from warmset.testing import PrefixError, assert_append_only, check_prefix
from warmset.tokens import count_tokens, extra_tokens, message_tokens

MODEL = "claude-fable-5-2"
MARK = {"cache_control": {"type": "ephemeral"}}
LONG = "Plan trips by train. Answer briefly, with times and prices. " * 150
TOOL = {"name": "trains", "input_schema": {"type": "object", "properties": {"day": {}}}}
THOUGHT = {"type": "thinking", "thinking": "Canals first.", "signature": "c2ln"}
REPLY = {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "Take the train."}]}


def user(text, **more):
    return {"role": "user", "content": text, **more}


def anthropic(messages, **more):
    return {
        "model": MODEL,
        "max_tokens": 100,
        "system": [{"type": "text", "text": LONG, **MARK}],
        "tools": [TOOL],
        "messages": messages,
        **more,
    }


FIRST = anthropic([user("Plan a weekend.")])
SECOND = anthropic([user("Plan a weekend."), REPLY, user("And on Sunday?")])


def one(before, after, **options):
    result = check_prefix([before, after], **options)
    [found] = result.diffs
    assert result.ok == found.ok
    return found


def edited(request, path, value):
    """Return a copy of a request with another value at a path."""
    made = copy.deepcopy(request)
    *way, last = path
    inner = made
    for step in way:
        inner = inner[step]
    inner[last] = value
    return made


def test_a_list_that_grows_passes_and_its_tokens_can_come_from_the_cache():
    found = one(FIRST, SECOND)
    assert (found.change, found.changed, found.thinking, found.lost) == (None, (), (), 0)
    assert found.ok
    assert found.append_only
    assert found.money == 0
    encoding = "estimate"
    beside = extra_tokens(encoding, system=FIRST["system"], tools=FIRST["tools"])
    assert found.same == beside + sum(message_tokens(FIRST["messages"], encoding))
    assert found.dialect == "anthropic"
    assert found.model == MODEL


def test_equal_requests_pass():
    assert one(SECOND, SECOND).ok
    assert check_prefix([FIRST]).ok
    assert check_prefix([]).ok


def test_a_changed_system_prompt_loses_all_and_breaks_the_thinking():
    after = edited(SECOND, ("system", 0, "text"), LONG.replace("Plan", "Book", 1))
    found = one(FIRST, after)
    assert found.change.place == "system[0].text"
    assert (found.change.kind, found.change.character) == ("changed", 0)
    assert found.change.before.startswith("Plan trips by train.")
    assert found.change.after.startswith("Book trips")
    assert found.changed == ("system",)
    assert found.same == extra_tokens("estimate", tools=[TOOL])
    total = one(FIRST, SECOND).same
    prices = prices_of(MODEL)
    assert found.same < prices.cache_min
    assert found.lost == total
    assert found.money == pytest.approx(total * (prices.written - prices.cache_read) / 1e6)
    [thinking] = found.thinking
    assert thinking.place == "messages[1].content[0]"
    assert thinking.why == "the system prompt before it is another one"
    assert thinking.consequence == "refused"


def test_tools_stand_before_the_system_prompt():
    after = edited(SECOND, ("tools", 0, "input_schema", "properties", "day"), {"type": "string"})
    after["system"][0]["text"] = "another"
    found = one(FIRST, after)
    assert found.change.place == "tools[0].input_schema.properties.day.type"
    assert found.change.kind == "added"
    assert found.changed == ("tools", "system")
    assert found.same == 0
    assert found.thinking


@pytest.mark.parametrize(
    ("tools", "place", "kind"),
    [
        ([TOOL, {"name": "buses", "input_schema": {}}], "tools[1]", "added"),
        ([{"name": "buses", "input_schema": {}}, TOOL], "tools[0]", "added"),
        ([], "tools[0]", "left out"),
        ([{"input_schema": TOOL["input_schema"], "name": "trains"}], "tools[0]", "reordered"),
    ],
)
def test_a_changed_list_of_tools_is_found(tools, place, kind):
    found = one(FIRST, {**SECOND, "tools": tools})
    assert (found.change.place, found.change.kind) == (place, kind)
    assert found.changed == ("tools",)
    assert "tools" in str(check_prefix([FIRST, {**SECOND, "tools": tools}]))


def test_two_tools_in_another_order():
    other = {"name": "buses", "input_schema": {}}
    found = one({**FIRST, "tools": [TOOL, other]}, {**SECOND, "tools": [other, TOOL]})
    assert (found.change.place, found.change.kind) == ("tools[0]", "reordered")


def test_the_first_and_the_last_byte_of_a_message_are_found():
    for text, character in (("Xlan a weekend.", 0), ("Plan a weekend!", 14)):
        found = one(FIRST, edited(SECOND, ("messages", 0, "content"), text))
        assert found.change.place == "messages[0].content"
        assert found.change.character == character
        assert found.thinking[0].why == "the messages before it are others"
        assert (
            found.same == one(FIRST, SECOND).same - message_tokens(FIRST["messages"], "estimate")[0]
        )
    grown = edited(SECOND, ("messages", 0, "content"), "Plan a weekend..")
    assert one(FIRST, grown).change.character == 15


def test_long_texts_are_cut_around_the_change():
    text = "a" * 100 + "X" + "b" * 100
    found = one(
        anthropic([user(text)]), anthropic([user(text.replace("X", "Y"))], system=FIRST["system"])
    )
    assert found.change.before == "…" + "a" * 24 + "X" + "b" * 23 + "…"
    assert found.change.after == "…" + "a" * 24 + "Y" + "b" * 23 + "…"
    assert found.change.character == 100


def test_keys_in_another_order_are_a_change():
    after = edited(SECOND, ("messages", 0), {"content": "Plan a weekend.", "role": "user"})
    found = one(FIRST, after)
    assert (found.change.place, found.change.kind) == ("messages[0]", "reordered")
    assert (found.change.before, found.change.after) == ("role, content", "content, role")
    assert found.change.character is None


def test_a_number_of_another_type_is_a_change():
    call = {"type": "tool_use", "id": "a", "name": "trains", "input": {"day": 1, "all": True}}
    before = anthropic([user("x"), {"role": "assistant", "content": [call]}])
    for value in (1.0, True, "1"):
        after = edited(before, ("messages", 1, "content", 0, "input", "day"), value)
        assert one(before, after).change.place == "messages[1].content[0].input.day"


def test_cache_marks_that_move_are_no_change():
    marked = [{"type": "text", "text": "Plan a weekend.", **MARK}]
    before = edited(FIRST, ("messages", 0, "content"), marked)
    found = one(before, SECOND)
    assert found.ok
    assert found.marks_moved
    assert one(FIRST, edited(SECOND, ("messages", 0, "content"), marked)).ok
    assert not one(FIRST, SECOND).marks_moved
    assert one({**FIRST, **MARK}, SECOND).marks_moved
    assert one({**FIRST, "system": LONG}, SECOND).ok


def test_a_field_of_a_tool_that_is_named_like_a_mark_is_no_mark():
    schema = {"type": "object", "properties": {"cache_control": {"type": "string"}}}
    before = {**FIRST, "tools": [{"name": "t", "input_schema": schema}]}
    after = copy.deepcopy(before)
    after["tools"][0]["input_schema"]["properties"]["cache_control"]["type"] = "number"
    assert one(before, after).change.place.endswith("properties.cache_control.type")


def test_a_string_equals_one_block_and_not_two():
    blocks = [{"type": "text", "text": "Plan a weekend."}, {"type": "text", "text": "Please."}]
    found = one(edited(SECOND, ("messages", 0, "content"), blocks), SECOND)
    assert found.change.place == "messages[0].content"


def test_blocks_that_are_appended_to_the_last_message_are_no_change_for_anthropic():
    before = anthropic([user([{"type": "text", "text": "a"}])])
    after = anthropic([user([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])])
    assert one(before, after).ok
    assert not one(
        anthropic([*before["messages"], REPLY]), anthropic([*after["messages"], REPLY])
    ).ok
    assert not one(before, anthropic([user("ab")])).ok
    chat = [{**request, "messages": request["messages"]} for request in (before, after)]
    for request in chat:
        del request["system"], request["tools"]
    found = one(*chat, dialect="openai")
    assert found.change.place == "messages[0].content[1]"
    assert found.change.kind == "added"
    assert found.same > 0


def test_the_front_has_whole_blocks_only():
    blocks = [{"type": "text", "text": f"{n} " + "word " * 50} for n in range(4)]
    before = anthropic([user(blocks), REPLY, user("x")])
    after = edited(before, ("messages", 0, "content", 2, "text"), "2 " + "word " * 49)
    beside = extra_tokens("estimate", system=FIRST["system"], tools=[TOOL])
    expected = message_tokens([user(blocks[:2])], "estimate")[0]
    found = one(before, after)
    assert found.change.place == "messages[0].content[2].text"
    assert found.same == beside + expected


def test_a_shorter_list_loses_nothing_but_is_no_longer_the_same_conversation():
    found = one(SECOND, FIRST)
    assert (found.change.place, found.change.kind) == ("messages[1]", "left out")
    assert (found.lost, found.money, found.thinking) == (0, 0, ())
    assert not found.append_only


def test_messages_that_were_left_out_or_put_between_are_named():
    long = [user("a"), {"role": "assistant", "content": "b"}, user("c")]
    window = one(anthropic(long), anthropic([*long[2:], REPLY, user("d")]))
    assert (window.change.place, window.change.kind) == ("messages[0]", "left out")
    between = one(anthropic(long), anthropic([long[0], user("x"), *long[1:]]))
    assert (between.change.place, between.change.kind) == ("messages[1]", "added")


def test_thinking_that_was_left_out_breaks_the_thinking_behind_it():
    second = {**THOUGHT, "signature": "dHdv"}
    later = {"role": "assistant", "content": [second, {"type": "text", "text": "Brunch."}]}
    before = anthropic([*SECOND["messages"], later, user("Thanks.")])
    text = {"role": "assistant", "content": REPLY["content"][1:]}
    found = one(before, edited(before, ("messages", 1), text))
    assert (found.change.place, found.change.kind) == ("messages[1].content[0]", "left out")
    [thinking] = found.thinking
    assert thinking.place == "messages[3].content[0]"
    assert thinking.why == "thinking before it left, or moved"
    without = anthropic([user("Plan a weekend."), text, user("And on Sunday?")])
    found = one(SECOND, without)
    assert not found.append_only
    assert found.thinking == ()


@pytest.mark.parametrize(
    ("model", "more", "consequence"),
    [
        ("claude-fable-5-2", {}, "refused"),
        ("claude-mythos-5-1", {}, "refused"),
        ("claude-fable-5-1", {}, "refused or dropped"),
        ("claude-opus-5-5-20261001", {}, "refused or dropped"),
        ("", {}, "refused or dropped"),
        (
            "claude-fable-5-2",
            {"block_binding": {"prefix_mismatch_behavior": "drop_block"}, "type": "adaptive"},
            "dropped",
        ),
        ("claude-sonnet-4-5", {}, None),
    ],
)
def test_what_becomes_of_thinking_is_decided_by_model_and_setting(model, more, consequence):
    before, after = copy.deepcopy(FIRST), edited(SECOND, ("messages", 0, "content"), "Other.")
    for request in (before, after):
        request["model"] = model
        request["thinking"] = more or {"type": "adaptive"}
    found = one(before, after)
    assert [one.consequence for one in found.thinking] == ([consequence] if consequence else [])
    assert found.changed == ("messages",)


def test_another_model_loses_all_and_its_thinking_is_dropped():
    found = one(SECOND, {**SECOND, "model": "claude-opus-5-5"})
    assert (found.change.place, found.changed, found.same) == ("model", ("model",), 0)
    assert [one.consequence for one in found.thinking] == ["dropped"]
    assert found.thinking[0].why == "another model made it"
    assert one(SECOND, {**SECOND, "model": f"{MODEL}-20261101"}).ok
    named = one(SECOND, {**SECOND, "model": "claude-opus-5-5"}, model="claude-opus-5-5")
    assert named.changed == ("model",)
    assert named.thinking == ()


@pytest.mark.parametrize(
    ("parameter", "value", "loses"),
    [
        ("tool_choice", {"type": "any"}, "messages"),
        ("thinking", {"type": "adaptive"}, "messages"),
        ("output_config", {"effort": "low"}, "messages"),
        ("speed", "fast", "system"),
        ("output_config", {"format": {"type": "json_schema"}}, "all"),
        ("temperature", 0.5, None),
        ("max_tokens", 7, None),
        ("metadata", {"user_id": "u"}, None),
    ],
)
def test_parameters_of_anthropic_lose_what_stands_behind_them(parameter, value, loses):
    found = one(FIRST, {**SECOND, parameter: value})
    tools = extra_tokens("estimate", tools=[TOOL])
    both = extra_tokens("estimate", tools=[TOOL], system=FIRST["system"])
    kept = {"messages": both, "system": tools, "all": 0, None: one(FIRST, SECOND).same}
    assert found.same == kept[loses]
    assert found.append_only == (loses is None)
    assert found.thinking == ()
    if loses:
        assert found.change.place.startswith(parameter)


# --- other dialects ---------------------------------------------------------------------------

REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Take the train.", "annotations": []}],
}


def responses(items, **more):
    tool = {"type": "function", "name": "trains", "parameters": {"type": "object"}}
    return {"model": "gpt-6-sol", "instructions": LONG, "tools": [tool], "input": items, **more}


R_FIRST = responses([user("Plan a weekend.")])
R_SECOND = responses([user("Plan a weekend."), REASONING, SAID, user("And on Sunday?")])


def test_reasoning_is_dropped_where_its_prefix_changed():
    assert one(R_FIRST, R_SECOND).ok
    for change, place, why in (
        ({"instructions": "Other."}, "instructions", "the system prompt before it is another one"),
        ({"tools": []}, "tools[0]", "the tools are others"),
        (
            {"text": {"format": {"type": "json_object"}}},
            "text.format",
            "text.format is another one",
        ),
    ):
        found = one(R_FIRST, {**R_SECOND, **change})
        assert found.change.place == place
        [thinking] = found.thinking
        assert (thinking.place, thinking.consequence) == ("input[1]", "dropped")
        assert thinking.why == why
        assert found.same < one(R_FIRST, R_SECOND).same
    found = one(R_FIRST, edited(R_SECOND, ("input", 0, "content"), "Plan a week."))
    assert found.change.place == "input[0].content"
    assert found.change.character == 11
    assert len(found.thinking) == 1


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("reasoning", {"effort": "low"}),
        ("prompt_cache_key", "k"),
        ("service_tier", "flex"),
        ("text", {"verbosity": "low"}),
    ],
)
def test_parameters_of_openai_lose_all(parameter, value):
    found = one(R_FIRST, {**R_SECOND, parameter: value})
    assert found.same == 0
    assert found.change.place.startswith(parameter)
    assert found.thinking == ()


def test_instructions_are_not_cached_from_gpt_6_2_on():
    for model, ok in (
        ("gpt-6.2-sol", True),
        ("gpt-6.10", True),
        ("gpt-6.1-sol", False),
        ("", False),
    ):
        before, after = ({**one, "model": model} for one in (R_FIRST, R_SECOND))
        found = one(before, {**after, "instructions": "Other."}, dialect="responses")
        assert found.ok == ok
        assert bool(found.thinking) == (not ok)


def test_a_list_behind_a_stored_one_is_not_compared():
    after = responses([user("And on Sunday?")], previous_response_id="resp_1")
    found = one(R_FIRST, after)
    assert found.ok
    assert "stored" in found.notes[0]
    assert not one(R_FIRST, {**after, "tools": []}).ok
    assert not one(R_FIRST, {**after, "previous_response_id": None}).ok


def test_a_provider_compaction_is_noted_and_its_thinking_not_judged():
    compaction = {"type": "compaction", "encrypted_content": "xyz"}
    found = one(R_SECOND, responses([compaction, REASONING, SAID, user("And on Sunday?")]))
    assert found.thinking == ()
    assert "compaction" in found.notes[0]
    assert not found.append_only


def test_chat_gemini_and_interactions_are_read():
    system = {"role": "system", "content": "Be brief."}
    before = {"model": "gpt-6-sol", "messages": [system, user("a")]}
    after = {**before, "messages": [system, user("a"), {"role": "assistant", "content": "b"}]}
    assert one(before, after).dialect == "openai"
    assert one(before, after).ok
    found = one(before, {**after, "response_format": {"type": "json_object"}})
    assert found.change.place == "response_format"
    said = {"parts": [{"text": "a"}], "role": "user"}
    gemini = {"model": "gemini-3.5-flash", "contents": "a", "config": {"system_instruction": "x"}}
    found = one(gemini, {**gemini, "contents": [said, {"role": "model", "parts": [{"text": "b"}]}]})
    assert found.ok
    assert found.dialect == "gemini"
    body = {"contents": [said], "systemInstruction": "y"}
    assert one(gemini, {"model": gemini["model"], **body}).changed == ("config.system_instruction",)
    steps = [{"type": "user_input", "content": [{"type": "text", "text": "a"}]}]
    inter = {"model": "gemini-3.5-flash", "system_instruction": "x", "input": steps}
    found = one(inter, {**inter, "input": [*steps, *steps]})
    assert (found.ok, found.dialect) == (True, "interactions")
    assert one(inter, {**inter, "system_instruction": "y"}).change.place == "system_instruction"


def test_sdk_objects_and_arguments_that_were_not_given_are_read():
    types = pytest.importorskip("anthropic.types")
    omit = pytest.importorskip("anthropic").omit
    block = types.TextBlock(type="text", text="Take the train.")
    thought = types.ThinkingBlock(type="thinking", thinking="Canals first.", signature="c2ln")
    reply = {"role": "assistant", "content": [thought, block]}
    after = anthropic([user("Plan a weekend."), reply, user("And on Sunday?")], tool_choice=omit)
    assert one(FIRST, after).ok
    other = thought.model_copy(update={"signature": "dHdv"})
    later = {"role": "assistant", "content": [other, block]}
    grown = anthropic([*after["messages"], later, user("Thanks.")])
    assert one(after, grown).ok
    assert one(SECOND, after).change.kind == "reordered"  # the SDK writes the signature first
    genai = pytest.importorskip("google.genai.types")
    content = genai.Content(role="user", parts=[genai.Part(text="a")])
    config = genai.GenerateContentConfig(system_instruction="x")
    request = {"model": "gemini-3.5-flash", "contents": [content], "config": config}
    plain = {**request, "contents": "a", "config": {"system_instruction": "x"}}
    assert one(plain, request).ok


def test_lists_of_messages_alone_are_requests():
    assert one(FIRST["messages"], SECOND["messages"]).ok
    found = one(FIRST["messages"], [user("Other."), *SECOND["messages"][1:]], model=MODEL)
    assert found.change.place == "messages[0].content"
    assert found.model == MODEL
    assert found.thinking[0].consequence == "refused"


def test_the_api_of_a_request_is_known_by_its_fields():
    for request, dialect in (
        ({"model": "claude-opus-5-5", "messages": [user("a")]}, "anthropic"),
        ({"messages": [user("a")], "system": "x"}, "anthropic"),
        ({"messages": [user("a")], "tools": [TOOL]}, "anthropic"),
        ({"messages": [user("a")], "tools": [{"type": "function", "function": {}}]}, "openai"),
        ({"messages": [user("a")]}, "openai"),
        ({"model": "gpt-6-sol", "input": "ab"}, "responses"),
        ({"model": "gemini-3.5-flash", "input": "ab"}, "interactions"),
        ({"input": [{"type": "user_input", "content": []}]}, "interactions"),
        ({"contents": "ab"}, "gemini"),
    ):
        assert one(request, request).dialect == dialect
    said = [{"role": "user", "content": "ab"}]
    assert one({"model": "gpt-6", "input": "ab"}, {"model": "gpt-6", "input": said}).ok
    gemini = {"contents": "ab", "config": {"system_instruction": "x"}}
    assert one(gemini, {"contents": "ab", "systemInstruction": "x"}).ok


def test_the_front_ends_with_the_first_change_whatever_is_equal_behind_it():
    tools = [{**TOOL, "name": "buses"}]
    both = one(SECOND, edited({**SECOND, "tools": tools}, ("messages", 2, "content"), "x"))
    assert (both.changed, both.same) == (("tools", "messages"), 0)
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    other = [{"type": "text", "text": "a"}, {"type": "text", "text": "c"}]
    beside = extra_tokens("estimate", system=FIRST["system"], tools=[TOOL])
    found = one(anthropic([user(blocks)]), anthropic([user(other)]))
    assert found.change.place == "messages[0].content[1].text"
    assert found.same == beside + message_tokens([user(blocks[:1])], "estimate")[0]
    role = one(anthropic([user(blocks)]), anthropic([{"role": "system", "content": other}]))
    assert role.same == beside
    assert one(anthropic([user(blocks)]), anthropic([user(blocks[::-1])])).same == beside
    quoted = [{"type": "text", "text": "a", "citations": []}]
    assert not one(anthropic([user(quoted)]), anthropic([user("a")])).append_only
    begun = {"role": "assistant", "content": blocks[:1]}
    more = {"role": "assistant", "content": blocks}
    assert not one(anthropic([user("a"), begun]), anthropic([user("a"), more])).append_only
    inner = anthropic([user(blocks[:1]), begun]), anthropic([user(blocks), begun])
    assert not one(*inner).append_only


def test_what_one_of_two_models_does_not_cache_is_not_compared():
    after = {**R_SECOND, "model": "gpt-6.2-sol", "instructions": "Other."}
    assert one(R_FIRST, after).changed == ("model",)
    assert one(after, R_SECOND).changed == ("model",)


def test_reasoning_behind_a_stored_list_is_not_judged():
    after = responses([REASONING, SAID], previous_response_id="resp_1")
    assert one(R_FIRST, {**after, "instructions": "Other."}).thinking == ()


def test_a_long_request_costs_its_surcharge():
    before = {**FIRST, "model": "claude-haiku-5-5"}
    after = {**before, "messages": [user("Other.")]}
    found = one(before, after, counter=lambda messages: 200_000 * len(messages))
    prices = prices_of("claude-haiku-5-5").at(200_000)
    assert found.money == pytest.approx(found.lost * (prices.written - prices.cache_read) / 1e6)
    assert found.lost == 200_000


@pytest.mark.parametrize(("messages", "factor"), [(1, 1), (15, 2)])
def test_the_surcharge_is_that_of_the_second_request(messages, factor):
    long = Surcharge(above=2_000_000, input=2, output=1)
    prices = Prices(fresh=10, cache_read=1, output=1, cache_min=0, surcharge=long)
    talk = [user("Plan."), *([REPLY, user("And then?")] * 7)]
    before = {**FIRST, "messages": talk[: 16 - messages]}
    after = {**FIRST, "system": "Other.", "messages": talk[:messages]}
    found = one(before, after, prices=prices, counter=lambda given: 200_000 * len(given))
    assert found.lost > 0
    assert found.money == pytest.approx(found.lost * 9 * factor / 1e6)


def test_a_report_names_all_that_changed_and_counts_what_it_does_not_list():
    after = {**SECOND, "tools": [], "system": "Other."}
    text = str(check_prefix([FIRST, after]))
    assert "changed as well: system" in text
    assert "no cache_control" not in text
    chosen = str(check_prefix([FIRST, {**SECOND, "tool_choice": {"type": "any"}}]))
    assert "to do: set it once for a conversation" in chosen
    for count, more in ((3, False), (4, True)):
        replies = [
            part
            for at in range(count)
            for part in (
                {"role": "assistant", "content": [{**THOUGHT, "signature": f"s{at}"}]},
                user("x"),
            )
        ]
        before = anthropic([user("a"), *replies])
        text = str(check_prefix([before, edited(before, ("messages", 0, "content"), "b")]))
        assert ("and 1 more blocks" in text) == ("more blocks" in text) == more


def test_the_money_of_several_pairs_is_known_only_if_every_price_is():
    requests = [{**FIRST, "model": name} for name in ("mine", MODEL, "mine")]
    assert check_prefix(requests[:2]).money is not None
    assert check_prefix(requests).money is None
    assert check_prefix(requests, model=MODEL).money is not None


# --- options, results, errors -----------------------------------------------------------------


def test_prices_and_counters_can_be_given():
    after = edited(SECOND, ("system", 0, "text"), "Other. " * 3_000)
    prices = Prices(fresh=10, cache_read=1, output=1, cache_min=0)
    found = one(FIRST, after, prices=prices, counter=lambda messages: 100 * len(messages))
    assert found.lost > 0
    assert found.money == pytest.approx(found.lost * 9 / 1e6)
    unknown = one({**FIRST, "model": "mine"}, {**after, "model": "mine"})
    assert unknown.money is None
    assert unknown.lost > 0
    assert "not known" in str(check_prefix([{**FIRST, "model": "m"}, {**after, "model": "m"}]))


def test_only_so_many_changes_as_allowed_pass_and_none_that_breaks_thinking():
    swap = anthropic([user("Summary: a weekend."), {"role": "assistant", "content": "b"}])
    plain = anthropic([user("Plan."), {"role": "assistant", "content": "b"}, user("c")])
    result = check_prefix([plain, swap], allow=1)
    assert result.ok
    assert len(result.breaks) == 1
    assert not check_prefix([plain, swap, plain], allow=1).ok
    assert check_prefix([plain, swap, plain], allow=2).ok
    broken = edited(SECOND, ("messages", 0, "content"), "Other.")
    assert not check_prefix([FIRST, broken], allow=1).ok


def test_an_assertion_says_where_and_what_to_do():
    assert_append_only([FIRST, SECOND, SECOND])
    after = edited(SECOND, ("system", 0, "text"), "Other.")
    with pytest.raises(PrefixError) as caught:
        assert_append_only([FIRST, SECOND, after])
    text = str(caught.value)
    assert isinstance(caught.value, AssertionError)
    assert "1 of 2 requests" in text
    assert "requests 1 and 2: system[0].text" in text
    assert "requests 0 and 1" not in text
    assert "build the system prompt once" in text
    assert caught.value.result.lost == one(SECOND, after).lost
    assert json.loads(json.dumps(caught.value.result.as_dict()))["diffs"][1]["changed"] == [
        "system"
    ]


@pytest.mark.parametrize(
    ("requests", "why"),
    [
        ("x", "expected a list of requests"),
        (FIRST, "expected a list of requests"),
        ([FIRST, 3], "request 1: found int"),
        ([{"model": "x"}], "request 0: found one with model; give the arguments"),
        ([FIRST, {"messages": 3}], r"request 1, messages: expected a list, found int"),
        ([{"messages": [user(float("nan"))]}], "request 0, messages"),
        ([{**FIRST, "tools": [print]}], "request 0, tools.* which JSON does not have"),
        ([FIRST, {"contents": "x"}], "compare requests of one API"),
        ([anthropic([{"role": "user"}])], r"request 0, messages\[0\]"),
    ],
)
def test_what_is_no_request_is_refused_with_what_to_give(requests, why):
    with pytest.raises(InvalidInputError, match=why):
        check_prefix(requests)


def test_options_out_of_range_are_refused():
    for options in ({"allow": -1}, {"allow": True}, {"model": 3}, {"prices": 3}, {"counter": 3}):
        with pytest.raises(InvalidInputError):
            check_prefix([FIRST, SECOND], **options)
    with pytest.raises(UnknownDialectError):
        check_prefix([FIRST], dialect="x")


def test_nothing_that_was_given_is_changed():
    before = copy.deepcopy([FIRST, SECOND])
    check_prefix([FIRST, SECOND])
    assert before == [FIRST, SECOND]
    assert count_tokens(FIRST["messages"]) > 0


# --- the oracle -------------------------------------------------------------------------------


def mutated(value, rng):
    """Return a copy of a JSON value with one small change, or none."""
    made = copy.deepcopy(value)
    nodes = []

    def walk(node, put):
        nodes.append((node, put))
        pairs = node.items() if isinstance(node, dict) else enumerate(node)
        for key, inner in list(pairs):
            if isinstance(inner, (dict, list)):
                walk(inner, node)
            elif isinstance(inner, str) and key not in ("role", "type"):
                nodes.append((inner, (node, key)))

    walk(made, None)
    node, put = rng.choice(nodes)
    if isinstance(node, str):
        at = rng.randrange(len(node) + 1)
        put[0][put[1]] = node[:at] + rng.choice(["é", "x", '"', "\n", ""]) + node[at + 1 :]
    elif isinstance(node, dict) and rng.random() < 0.5:
        items = list(node.items())
        node.clear()
        node.update(items[::-1])
    elif isinstance(node, list) and node and all(isinstance(one, dict) for one in node):
        rng.choice([node.pop, node.reverse, lambda: node.append(copy.deepcopy(node[0]))])()
    return made


@pytest.mark.parametrize("dialect", ["anthropic", "openai", "responses"])
def test_the_first_byte_is_that_of_the_texts(dialect):
    rng = random.Random(dialect)
    system = {"role": "system", "content": "Be brief."}
    chat = {"model": "gpt-6-sol", "messages": [system, user("aé"), user("b"), user("c")]}
    base = {"anthropic": SECOND, "openai": chat, "responses": R_SECOND}[dialect]
    base = edited(base, ("tools",), [TOOL, {"name": "b", "input_schema": {"x": "y"}}])
    name = "input" if dialect == "responses" else "messages"
    seen = set()
    for _ in range(600):
        after = mutated(base, rng)
        after[name] = after.get(name, []) + [user("more")] * rng.randrange(2)
        try:
            found = one(base, after, dialect=dialect)
        except InvalidInputError:
            continue  # the change made a message malformed
        expected = first_other(base, after, dialect)
        if expected is None:
            assert found.change is None
            continue
        assert found.change is not None
        assert (found.changed[0], found.change.byte) == expected
        seen.add(found.change.kind)
    assert len(seen) >= 3
