"""What the providers' requests hold, and what is read of their replies."""

from __future__ import annotations

import json
import re

import pytest
from werkzeug import Response

from warmset.errors import InvalidInputError, ModelError
from warmset.llm import PROVIDERS, ListRequest, Prompt, Settings

anthropic = pytest.importorskip("anthropic", reason="the extra anthropic is not installed")
openai = pytest.importorskip("openai", reason="the extra openai is not installed")
pytestmark = pytest.mark.usefixtures("no_proxy")

TEXT = {"type": "text", "text": "done"}
CHAT = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "done"}}
    ],
    "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
}
RESPONSE = {
    "id": "r",
    "object": "response",
    "created_at": 1,
    "model": "m",
    "status": "completed",
    "output": [
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "done", "annotations": []}],
        }
    ],
    "usage": {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12},
}
MESSAGE = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [TEXT],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 10, "output_tokens": 2},
}
REPLIES = {"openai": CHAT, "openai-responses": RESPONSE, "anthropic": MESSAGE}


@pytest.fixture
def model_of(httpserver):
    """A function that makes a provider's model, and returns it with the requests it has sent."""

    def made(provider, reply=None, **settings):
        sent = []

        def answer(request):
            sent.append((request.headers, json.loads(request.data)))
            return Response(json.dumps(reply or REPLIES[provider]), mimetype="application/json")

        httpserver.clear()
        httpserver.expect_request(re.compile(".*")).respond_with_handler(answer)
        sdk = anthropic.Anthropic if provider == "anthropic" else openai.OpenAI
        client = sdk(api_key="k", base_url=httpserver.url_for("/v1"), max_retries=0)
        return PROVIDERS[provider]("m", Settings(client=client, **settings)), sent

    return made


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_callers_client_stays_open_and_its_options_win(model_of, provider):
    model, sent = model_of(provider, options={"model": "theirs", "store": None})
    reply = model.ask(Prompt("Be brief.", "data"), timeout=5.0)
    assert (reply.text, reply.fault) == ("done", None)
    assert (reply.usage.input, reply.usage.output) == (10, 2)
    assert sent[0][1]["model"] == "theirs"
    model.close()
    assert model.ask(Prompt("Be brief.", "data")).text == "done"


@pytest.mark.parametrize("provider", ["openai", "openai-responses"])
def test_a_server_that_sends_another_thing_than_a_reply_is_named(model_of, httpserver, provider):
    model, _ = model_of(provider)
    httpserver.clear()
    httpserver.expect_request(re.compile(".*")).respond_with_data("hello", mimetype="text/plain")
    with pytest.raises(ModelError, match="hello"):
        model.ask(Prompt("Be brief.", "data"))


def test_responses_are_not_stored(model_of):
    model, sent = model_of("openai-responses")
    model.ask(Prompt("Be brief.", "data"))
    assert sent[0][1]["store"] is False


def test_all_of_the_input_counts_whether_it_was_cached_or_not(model_of):
    usage = {
        "input_tokens": 1,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 300,
        "output_tokens": 4,
    }
    model, _ = model_of("anthropic", MESSAGE | {"usage": usage})
    found = model.ask(Prompt("", "data")).usage
    assert (found.input, found.output) == (321, 4)


@pytest.mark.parametrize("kind", ["redacted_thinking", "thinking", "a_newer_kind"])
def test_blocks_beside_the_text_of_a_message_are_passed_over(model_of, kind):
    block = {"type": kind, "thinking": "hm", "data": "h", "signature": "s"}
    model, _ = model_of("anthropic", MESSAGE | {"content": [block, TEXT, block, TEXT]})
    assert model.ask(Prompt("", "data")).text == "donedone"


@pytest.mark.parametrize(
    "reason", ["max_tokens", "model_context_window_exceeded", "pause_turn", "refusal"]
)
def test_a_message_that_did_not_end_has_a_fault(model_of, reason):
    model, _ = model_of("anthropic", MESSAGE | {"stop_reason": reason})
    assert model.ask(Prompt("", "data")).fault is not None


@pytest.mark.parametrize(("length", "more"), [(200, ""), (201, "…")])
def test_what_a_model_says_of_a_refusal_is_cut_behind_200_characters(model_of, length, more):
    why = {"type": "refusal", "explanation": "x" * length}
    reply = MESSAGE | {"stop_reason": "refusal", "stop_details": why}
    fault = model_of("anthropic", reply)[0].ask(Prompt("", "data")).fault
    assert fault == f"the model refused: {'x' * 200}{more}"


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("strict", [True, False])
def test_a_schema_is_sent_where_the_server_knows_of_schemas(model_of, provider, strict):
    schema = {"type": "object", "properties": {"a_field_of_ours": {"type": "string"}}}
    model, sent = model_of(provider, strict=strict)
    model.ask(Prompt("data", schema=schema))
    assert ("a_field_of_ours" in json.dumps(sent[0][1])) == strict


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_completion_that_did_not_end_has_a_fault(model_of, reason):
    cut = CHAT | {"choices": [CHAT["choices"][0] | {"finish_reason": reason}]}
    model, _ = model_of("openai", cut)
    assert reason in model.ask(Prompt("", "data")).fault


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_response_that_did_not_end_well_has_a_fault(model_of, status):
    reply = RESPONSE | {"status": status, "error": {"code": "server_error", "message": "no disk"}}
    model, _ = model_of("openai-responses", reply)
    assert model.ask(Prompt("", "data")).fault == f"the reply is {status}: no disk"


def test_what_compactions_took_is_the_sum_of_their_iterations(model_of):
    usage = {
        "input_tokens": 5,
        "output_tokens": 1,
        "iterations": [
            {"type": "compaction", "input_tokens": 100, "output_tokens": 30},
            {"type": "compaction", "input_tokens": 10, "output_tokens": 3},
        ],
    }
    block = {"type": "compaction", "content": "so far", "signature": "s"}
    reply = MESSAGE | {"content": [block], "stop_reason": "compaction", "usage": usage}
    model, sent = model_of("anthropic", reply)
    made = model.compact(ListRequest(messages=[{"role": "user", "content": "q"}], model="list's"))
    assert (made.usage.input, made.usage.output) == (115, 34)
    assert made.messages[0]["content"][0]["signature"] == "s"
    assert sent[0][1]["model"] == "m"


def test_a_list_that_begins_with_a_signed_compaction_goes_with_its_header(model_of):
    signed = {"type": "compaction", "content": "so far", "signature": "s"}
    behind = ListRequest(messages=[{"role": "assistant", "content": [signed]}])
    plain = ListRequest(messages=[{"role": "user", "content": "q"}])
    model, sent = model_of("anthropic")
    model.ask(Prompt("", "data", behind=behind))
    model.ask(Prompt("", "data", behind=plain))
    assert [len(body["messages"]) for _, body in sent] == [2, 1]  # neighbours of one role are one
    assert ["anthropic-beta" in headers for headers, _ in sent] == [True, False]


def test_a_compaction_of_responses_is_made_by_the_chosen_model(model_of):
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "e"}
    reply = {
        "id": "r",
        "object": "response.compaction",
        "created_at": 1,
        "output": [item],
        "usage": RESPONSE["usage"],
    }
    model, sent = model_of("openai-responses", reply)
    made = model.compact(ListRequest(messages=[{"role": "user", "content": "q"}], model="list's"))
    assert made.messages == (item,)
    assert sent[0][1]["model"] == "m"


@pytest.mark.parametrize("more", [{"api_key": "k"}, {"base_url": "http://x"}])
def test_a_client_excludes_what_it_has_itself(more):
    with pytest.raises(InvalidInputError, match="its own"):
        Settings(client=object(), **more)
    assert Settings(**more).client is None
