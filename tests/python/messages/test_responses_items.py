"""OpenAI Responses: the facts of items, how they are told and refused, their calls and outputs."""

import copy

import pytest
from responses_items import (
    ASKED,
    COMPACTED,
    PAIRS,
    REASONED,
    SAID,
    SEALED,
    SEARCHED,
    STRANGE,
    TOLD,
    USER,
    approval,
    approved,
    call,
    computer,
    custom,
    local,
    output,
    patch,
    reference,
    search,
    shell,
)

from warmset.errors import InvalidMessageError
from warmset.messages import (
    LANGUAGES,
    Answer,
    Facts,
    Use,
    accept,
    detect,
    facts,
    repair,
    resolve,
    text_message,
    units,
    validate,
)

TOOLS = LANGUAGES["responses"].tools


FACTS = [
    (USER, Facts("user", "hi", request=True)),
    (ASKED, Facts("user", "hi", request=True)),
    (SAID, Facts("assistant", "hello", bond=1)),
    (TOLD, Facts("assistant", "hello", bond=1, item_id="1")),
    ({"role": "developer", "content": "be kind"}, Facts("developer", "be kind")),
    (
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "image_url": "https://a.b/plan.png"},
                {"type": "input_image", "image_url": "data:image/png;base64,QUJD"},
                {"type": "input_image", "file_id": "f"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "…"},
            ],
        },
        Facts(
            "user",
            "see\n[image: plan.png]\n[image]\n[image]\n[file: a.pdf]",
            images=3,
            request=True,
        ),
    ),
    (
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        Facts("assistant", "no", bond=1),
    ),
    (REASONED, Facts("assistant", "", bond=3, item_id="1")),
    (call("a"), Facts("assistant", "f({})", ("a",), bond=2)),
    (custom("a"), Facts("assistant", "sh(ls)", ("a",), bond=2)),
    (shell("a"), Facts("assistant", 'shell({"commands":["ls"]})', ("a",), bond=2)),
    (approval(), Facts("assistant", "delete({})", ("mcpr_1",), bond=2)),
    (approved(reason="ok"), Facts("tool", "approved\nok", (), ("mcpr_1",))),
    (output("a"), Facts("tool", "x", (), ("a",))),
    (
        output("a", [{"type": "input_text", "text": "t"}, {"type": "input_image", "file_id": "f"}]),
        Facts("tool", "t\n[image]", (), ("a",), images=1),
    ),
    (PAIRS[2][1], Facts("tool", "[image]", (), ("a",), images=1)),
    (PAIRS[4][1], Facts("tool", "x", (), ("a",))),
    (PAIRS[5][1], Facts("tool", "x", (), ("a",))),
    (
        SEARCHED,
        Facts("assistant", 'web_search({"type":"search","query":"x"})', bond=2, item_id="1"),
    ),
    (
        {"type": "mcp_call", "id": "m", "name": "get", "arguments": "{}", "output": "sun"},
        Facts("assistant", "get({})\nsun", bond=2, item_id="m"),
    ),
    (
        {
            "type": "code_interpreter_call",
            "id": "ci",
            "code": "1+1",
            "outputs": [{"type": "logs", "logs": "2"}],
        },
        Facts("assistant", "code_interpreter(1+1)\n2", bond=2, item_id="ci"),
    ),
    (
        {"type": "image_generation_call", "id": "ig", "result": "QUJD", "revised_prompt": "a cat"},
        Facts("assistant", "[image: a cat]", images=1, bond=2, item_id="ig"),
    ),
    (
        {"type": "mcp_list_tools", "id": "l", "tools": [{"name": "get"}]},
        Facts("assistant", "", bond=2, item_id="l"),
    ),
    (COMPACTED, Facts("assistant", "", keep=True)),
    ({"type": "compaction_trigger"}, Facts("user", "", keep=True)),
    ({"type": "additional_tools", "role": "developer", "tools": []}, Facts("developer", "")),
    (reference("msg_1"), Facts("assistant", "", bond=2)),
    ({"id": "msg_1"}, Facts("assistant", "", bond=2)),
    (STRANGE, Facts("assistant", "[hologram_call]", bond=1)),
    ({**STRANGE, "output": "light"}, Facts("assistant", "light", bond=1)),
]


@pytest.mark.parametrize(("item", "read"), FACTS)
def test_facts(item, read):
    assert resolve([item], "responses") == "responses"
    assert facts(item, "responses") == read
    assert tuple(use.id for use in TOOLS.uses(item)) == read.calls
    assert tuple(answer.id for answer in TOOLS.answers(item)) == read.results


def test_reasoning_stays_with_what_it_led_to():
    items = [USER, REASONED, TOLD, USER, SEALED, call("a"), call("b"), output("a"), output("b")]
    found = units([facts(item, "responses") for item in items])
    assert [unit.members for unit in found] == [(0,), (1, 2), (3,), (4, 5, 6, 7, 8)]


@pytest.mark.parametrize(
    "item",
    [
        ASKED,
        TOLD,
        REASONED,
        COMPACTED,
        SEARCHED,
        call(),
        output(),
        approval(),
        reference("x"),
        {"id": "msg_1"},
        {"type": "message", "role": "user", "content": "hi"},
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "a"}]},
        {"type": "additional_tools", "role": "developer", "tools": []},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_audio", "input_audio": {}}],
        },
    ],
)
def test_items_are_told_from_all_other_dialects(item):
    system = {"role": "developer", "content": "be kind"}
    assert detect([system, USER, SAID, item]) == "responses"
    assert resolve([system, USER, SAID, item]) == "responses"


@pytest.mark.parametrize(
    ("message", "dialect"),
    [
        (USER, None),
        ({"role": "developer", "content": "be kind"}, None),
        (STRANGE, None),
        ({"role": "user", "content": "hi", "id": "m"}, None),
        ({"role": "tool", "tool_call_id": "a", "content": "x"}, "openai"),
        ({"role": "assistant", "content": None, "tool_calls": []}, "openai"),
        (
            {
                "type": "message",
                "id": "msg",
                "role": "assistant",
                "model": "claude",
                "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}],
            },
            "anthropic",
        ),
        *(
            ({"type": "message", "role": "assistant", "model": "claude", "content": content}, None)
            for content in ([], [{"type": "text", "text": "hi"}])
        ),
    ],
)
def test_what_others_have_is_not_claimed(message, dialect):
    assert detect([message]) == dialect


MALFORMED = [
    ({"type": 3}, "the type is a int"),
    ({"content": "hi"}, "there is no role"),
    ({"role": "robot", "content": "hi"}, "the role 'robot' is unknown"),
    ({"role": "tool", "content": "hi"}, "the role 'tool' is unknown"),
    ({**SAID, "tool_calls": []}, "tool_calls is Chat's"),
    ({"role": "user"}, "content is missing"),
    ({"role": "user", "content": 3}, "content is a int"),
    ({"role": "user", "content": ["hi"]}, r"content\[0\] must be a part"),
    ({"role": "user", "content": [{"type": "input_text"}]}, r"content\[0\] needs text"),
    ({"role": "user", "content": [{"type": "text", "text": "a"}]}, "part of Chat or of Anthropic"),
    ({"type": "function_call", "name": "f", "arguments": "{}"}, "needs call_id"),
    ({**call(), "name": None}, "needs name"),
    ({**call(), "arguments": {}}, "needs arguments, a string"),
    ({**custom(), "input": None}, "needs input, a string"),
    ({**approval(), "id": None}, "needs id"),
    ({**output(), "call_id": None}, "needs call_id"),
    ({**output(), "output": None}, "needs output"),
    ({**output(), "output": ["x"]}, r"output\[0\] must be a part"),
    ({"type": "item_reference"}, "needs id"),
]


@pytest.mark.parametrize(("item", "why"), MALFORMED)
def test_malformed_items_are_refused_with_their_place(item, why):
    with pytest.raises(InvalidMessageError, match=f"^message 1: .*{why}"):
        resolve([USER, item], "responses")


def test_calls_and_outputs_can_be_read_and_replaced():
    made = patch()
    before = copy.deepcopy(made)
    assert TOOLS.uses(search()) == [Use("a", "tool_search", '{"q":1}')]
    assert TOOLS.answers(output("a", "sun")) == [Answer("a", "sun")]
    assert TOOLS.without_inputs(call(arguments='{"a":1}'), {0}) == call()
    assert TOOLS.without_inputs(custom(), {0})["input"] == ""
    assert TOOLS.without_inputs(made, {0})["operation"]["diff"] == ""
    assert TOOLS.without_inputs(shell(), {0})["action"] == {"commands": []}
    assert TOOLS.without_inputs(local(), {0})["action"]["command"] == []
    assert TOOLS.without_inputs(computer(), {0}) == computer()
    assert TOOLS.without_inputs(call(), set()) == call()
    assert TOOLS.with_answers(output(id="o"), {0: "gone"}) == output("a", "gone", id="o")
    assert TOOLS.with_answers(output(), {}) == output()
    assert TOOLS.with_answers(PAIRS[2][1], {0: "gone"}) == PAIRS[2][1]
    assert TOOLS.with_answers(call(), {0: "gone"}) == call()
    (chunk,) = TOOLS.with_answers(PAIRS[5][1], {0: "gone"})["output"]
    assert chunk == {"stdout": "gone", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}
    assert made == before


def test_a_text_message_can_be_made():
    assert text_message("responses", "developer", "be kind") == {
        "role": "developer",
        "content": "be kind",
    }


def test_what_the_sdk_returns_is_taken_as_it_is():
    responses = pytest.importorskip("openai.types.responses")
    made = responses.ResponseFunctionToolCall.model_validate(call("a", id="fc_1"))
    told = responses.ResponseOutputMessage.model_validate(TOLD)
    thought = responses.ResponseReasoningItem.model_validate(REASONED)
    items = [USER, thought, made, output("a"), told]
    assert detect(items) == "responses"
    assert validate(items) == []
    kept = repair(items).messages
    assert all(one is item for one, item in zip(kept, items, strict=True))
    assert accept(kept) == [USER, REASONED, call("a", id="fc_1"), output(), TOLD]


def test_a_search_that_the_provider_ran_gets_no_output_that_nobody_gave():
    hosted = {**search(), "execution": "server"}
    said = {"role": "user", "content": "find the tool"}
    kept = repair([said, hosted, said], dialect="responses")
    assert (kept.messages, kept.changes) == ([said, hosted, said], [])
    mended = repair([said, search(), said], dialect="responses").messages
    assert [item.get("type") for item in mended[1:3]] == ["tool_search_call", "tool_search_output"]
