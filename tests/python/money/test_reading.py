"""A provider's usage: every shape, each token counted once, as an SDK's object and as a dict."""

from types import SimpleNamespace

import pytest
from anthropic.types.beta import BetaMessage, BetaUsage
from google.genai.interactions import Usage
from google.genai.types import GenerateContentResponse
from openai.types import CompletionUsage
from openai.types.beta.beta_response import InputTransformation
from openai.types.responses import ResponseUsage

from warmset.errors import InvalidInputError
from warmset.money import Metered, Transformation, read_usage

CHAT = {
    "prompt_tokens": 1_000,
    "completion_tokens": 40,
    "total_tokens": 1_040,
    "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 300},
}
RESPONSES = {
    "input_tokens": 1_000,
    "input_tokens_details": {
        "cached_tokens": 600,
        "cache_write_tokens": 300,
        "cache_write_tokens_details": {"ttl_12h_tokens": 100, "ttl_30m_tokens": 200},
    },
    "output_tokens": 40,
    "output_tokens_details": {"reasoning_tokens": 10},
    "total_tokens": 1_040,
}
ANTHROPIC = {
    "input_tokens": 7,
    "cache_read_input_tokens": 600,
    "cache_creation_input_tokens": 300,
    "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100},
    "output_tokens": 40,
}
GEMINI = {
    "prompt_token_count": 1_000,
    "cached_content_token_count": 600,
    "candidates_token_count": 30,
    "thoughts_token_count": 10,
    "tool_use_prompt_token_count": 5,
}
CAMEL = {
    "promptTokenCount": 1_000,
    "cachedContentTokenCount": 600,
    "candidatesTokenCount": 30,
    "thoughtsTokenCount": 10,
    "toolUsePromptTokenCount": 5,
}
INTERACTIONS = {
    "total_input_tokens": 1_000,
    "total_cached_tokens": 600,
    "total_output_tokens": 30,
    "total_thought_tokens": 10,
    "total_tool_use_tokens": 5,
}


def one(usage):
    [found] = read_usage(usage).requests
    return found


@pytest.mark.parametrize(
    ("usage", "kind", "tokens"),
    [
        (CHAT, CompletionUsage, Metered(100, 600, 300, 40)),
        (RESPONSES, ResponseUsage, Metered(100, 600, 200, 40, 100)),
        (ANTHROPIC, BetaUsage, Metered(7, 600, 200, 40, 100)),
        (GEMINI, None, Metered(405, 600, 0, 40)),
        (CAMEL, None, Metered(405, 600, 0, 40)),
        (INTERACTIONS, None, Metered(405, 600, 0, 40)),
    ],
)
def test_each_providers_usage(usage, kind, tokens):
    assert one(usage) == tokens
    assert one({"usage": usage}) == tokens
    if kind is not None:
        assert one(kind.model_validate(usage)) == tokens


def test_an_object_of_geminis_sdk():
    response = GenerateContentResponse.model_validate({"usage_metadata": GEMINI})
    assert one(response) == one(response.usage_metadata) == Metered(405, 600, 0, 40)


def test_usages_without_details():
    assert one({"prompt_tokens": 9, "completion_tokens": 2}) == Metered(9, 0, 0, 2)
    assert one({"input_tokens": 9, "output_tokens": 2}) == Metered(9, 0, 0, 2)
    empty = {"input_tokens": 0, "output_tokens": 0, "input_tokens_details": {"cached_tokens": 0}}
    assert one(empty) == Metered(0)
    assert one({"prompt_tokens": 9, "prompt_tokens_details": None}) == Metered(9)
    assert one(SimpleNamespace(prompt_tokens=40, completion_tokens=12)) == Metered(40, 0, 0, 12)


def test_details_that_exceed_the_total_never_make_tokens_negative():
    usage = {
        "prompt_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 9},
    }
    assert one(usage) == Metered(0, 4, 6)
    usage["prompt_tokens_details"]["cached_tokens"] = 30
    assert one(usage) == Metered(0, 10, 0)


def test_langchain_counts_the_cache_in_its_input():
    usage = {
        "input_tokens": 1_000,
        "output_tokens": 40,
        "total_tokens": 1_040,
        "input_token_details": {"cache_read": 600, "cache_creation": 300},
    }
    assert one(SimpleNamespace(usage_metadata=usage)) == one(usage) == Metered(100, 600, 300, 40)
    usage["input_token_details"] = {}
    assert one(usage) == Metered(1_000, 0, 0, 40)


def test_an_object_of_geminis_interactions():
    usage = Usage(**INTERACTIONS)
    assert one(SimpleNamespace(usage=usage)) == one(usage) == Metered(405, 600, 0, 40)


def step(kind, fresh, read, wrote, output, **more):
    return {
        "type": kind,
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": wrote,
        "output_tokens": output,
        **more,
    }


def test_a_compaction_is_only_among_the_iterations():
    usage = {
        **ANTHROPIC,
        "iterations": [step("compaction", 5, 50, 0, 400), step("message", 7, 600, 300, 40)],
    }
    found = read_usage(usage).requests
    assert found == (Metered(7, 600, 200, 40, 100), Metered(5, 50, 0, 400))


def test_the_models_own_iterations_are_requests_of_their_own():
    loop = [step("message", 3, 100, 300, 10), step("fallback_message", 4, 500, 0, 30)]
    top = step("", 7, 600, 300, 40)
    del top["type"]
    found = read_usage({**top, "iterations": loop}).requests
    assert found == (Metered(3, 100, 300, 10), Metered(4, 500, 0, 30))
    loop[1]["output_tokens"] = 31  # they do not make up the figures at the top
    assert read_usage({**top, "iterations": loop}).requests == (Metered(7, 600, 300, 40),)


def test_an_advisor_is_a_request_of_another_model():
    advisor = step("advisor_message", 20, 0, 0, 9, model="claude-fable-5-2")
    found = read_usage({**ANTHROPIC, "iterations": [advisor]}).requests
    assert found[1] == Metered(20, 0, 0, 9, 0, "claude-fable-5-2")


def test_dropped_thinking_of_anthropics():
    response = BetaMessage.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": ANTHROPIC,
            "input_transformations": [
                {
                    "type": "thinking_dropped",
                    "path": "messages.3.content.0",
                    "reason": "prefix_binding_mismatch",
                },
                {
                    "type": "thinking_mismatch_allowed",
                    "path": "messages.5.content.0",
                    "reason": "prefix_binding_mismatch",
                },
            ],
        }
    )
    found = read_usage(response)
    assert found.model == "claude-opus-5-5"
    assert found.transformations == (
        Transformation("messages.3.content.0", "prefix_binding_mismatch", removed=True),
        Transformation("messages.5.content.0", "prefix_binding_mismatch", removed=False),
    )


def test_dropped_reasoning_of_openais():
    change = {"type": "reasoning", "id": "rs_1", "action": "removed", "reason": "prefix_mismatch"}
    for given in (change, InputTransformation.model_validate(change)):
        response = {"model": "gpt-6.2-sol", "usage": RESPONSES, "input_transformations": [given]}
        found = read_usage(response)
        assert found.transformations == (Transformation("rs_1", "prefix_mismatch", removed=True),)
    assert read_usage({"usage": RESPONSES, "input_transformations": None}).transformations == ()


@pytest.mark.parametrize(
    "given",
    [
        None,
        {},
        3,
        "usage",
        [],
        {"usage": None},
        {"usage": {}},
        {"total_tokens": 4},
        SimpleNamespace(),
    ],
)
def test_what_is_no_usage_is_refused(given):
    with pytest.raises(InvalidInputError, match=r"response\.usage"):
        read_usage(given)


@pytest.mark.parametrize("wrong", [-1, 1.5, "9", True])
def test_what_is_no_number_of_tokens_is_refused(wrong):
    with pytest.raises(InvalidInputError, match="cached_tokens"):
        read_usage({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": wrong}})
