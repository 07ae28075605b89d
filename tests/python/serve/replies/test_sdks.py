"""The providers' own clients read the same bytes, and what they assemble is what we do."""

from __future__ import annotations

import json

import pytest
import reply_streams as streams
from anthropic import Anthropic
from google import genai
from openai import OpenAI
from pytest_httpserver import HTTPServer
from reply_streams import ANSWERS, EVENTS, JSON, Answer

from warmset.serve.replies import assembler_for

ASK = [{"role": "user", "content": "q"}]
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
PARSED = frozenset({"parsed", "parsed_arguments", "parsed_output"})


@pytest.fixture
def server():
    with HTTPServer() as one:
        yield one


def replied(answer):
    one = assembler_for(answer.surface, answer.kind)
    one.feed(answer.body)
    return one.reply()


def bare(value, left_out=PARSED):
    """Leave out nulls, and what only a client has."""
    if isinstance(value, dict):
        kept = {name: one for name, one in value.items() if one is not None}
        return {name: bare(one) for name, one in kept.items() if name not in left_out}
    return [bare(one) for one in value] if isinstance(value, list | tuple) else value


def serve(server, answer, path):
    server.expect_request(path).respond_with_data(answer.body, content_type=answer.kind)
    return {"api_key": "k", "base_url": server.url_for("")}


def chat_stream(server, answer):
    client = OpenAI(**serve(server, answer, "/chat/completions"), max_retries=0)
    with client, client.chat.completions.stream(model="m", messages=ASK, tools=TOOLS) as stream:
        return stream.get_final_completion()


@pytest.mark.parametrize("name", [name for name in ANSWERS if name.startswith("chat")])
def test_openai_chat_streams(server, name):
    theirs, ours = chat_stream(server, ANSWERS[name]), replied(ANSWERS[name])
    message = bare(theirs.choices[0].message.model_dump(exclude_unset=True))
    for call in message.get("tool_calls", ()):
        del call["index"]
    assert bare(ours.messages) == [message]
    assert (ours.id, ours.model, ours.stop) == (
        theirs.id,
        theirs.model,
        theirs.choices[0].finish_reason,
    )
    assert ours.usage == (theirs.usage and theirs.usage.model_dump(exclude_unset=True))
    assert ours.is_complete


CHAT_BODY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-6",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "logprobs": None,
            "message": {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "annotations": [],
                "reasoning": "so",
                "tool_calls": [
                    {
                        "id": "call_a",
                        "type": "function",
                        "function": {"name": "weather", "arguments": "{}"},
                    }
                ],
            },
        }
    ],
    "usage": streams.USAGE,
}


def test_openai_chat_bodies(server):
    answer = Answer("chat", JSON, json.dumps(CHAT_BODY).encode())
    with OpenAI(**serve(server, answer, "/chat/completions"), max_retries=0) as client:
        theirs = client.chat.completions.create(model="m", messages=ASK)
    ours = replied(answer)
    assert ours.messages == (theirs.choices[0].message.model_dump(exclude_unset=True),)
    assert ours.usage == theirs.usage.model_dump(exclude_unset=True)
    assert (ours.stop, ours.is_complete) == ("tool_calls", True)


@pytest.mark.parametrize("name", ["responses", "responses without output"])
def test_openai_responses_streams(server, name):
    client = OpenAI(**serve(server, ANSWERS[name], "/responses"), max_retries=0)
    ours = replied(ANSWERS[name])
    with client, client.responses.stream(model="m", input="q") as stream:
        theirs = stream.get_final_response()
    # The client takes the last event's output as it is, and the accumulated one is the same.
    output = theirs.to_dict()["output"] if name == "responses" else streams.OUTPUT
    assert bare(ours.messages) == bare(output)
    assert (ours.id, ours.model, ours.stop) == (theirs.id, theirs.model, theirs.status)
    assert ours.usage == theirs.usage.to_dict()
    assert list(ours.transformations) == streams.DROPPED
    assert ours.is_complete


def test_openai_responses_bodies(server):
    answer = Answer("responses", JSON, json.dumps(streams.RESPONSE).encode())
    with OpenAI(**serve(server, answer, "/responses"), max_retries=0) as client:
        theirs = client.responses.create(model="m", input="q")
    ours = replied(answer)
    assert list(ours.messages) == theirs.to_dict()["output"]
    assert (ours.stop, ours.is_complete) == ("completed", True)


def anthropic_stream(server, answer):
    client = Anthropic(**serve(server, answer, "/v1/messages"), max_retries=0)
    asked = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": ASK}
    with client, client.beta.messages.stream(**asked) as stream:
        return stream.get_final_message()


@pytest.mark.parametrize("name", [name for name in ANSWERS if name.startswith("messages")])
def test_anthropic_streams(server, name):
    theirs, ours = anthropic_stream(server, ANSWERS[name]), replied(ANSWERS[name])
    (message,) = ours.messages
    assert message["role"] == theirs.role
    assert bare(message["content"]) == bare(theirs.to_dict()["content"])
    assert (ours.id, ours.model, ours.stop) == (theirs.id, theirs.model, theirs.stop_reason)
    assert ours.usage == theirs.usage.to_dict()
    assert ours.is_complete


def test_anthropic_says_what_it_dropped_and_which_model_went_on(server):
    went_on = {
        "type": "fallback",
        "from": {"model": "claude-opus-5-5"},
        "to": {"model": "claude-sonnet-5-5"},
    }
    events = streams.anthropic(streams.TEXT, (went_on,), streams.TEXT, input_transformations=[])
    dropped = [{"type": "thinking_dropped", "reason": "prefix_binding_mismatch"}]
    events[-2]["input_transformations"] = dropped
    answer = Answer("messages", EVENTS, streams.sse(*events, named=True))
    theirs, ours = anthropic_stream(server, answer), replied(answer)
    assert bare(ours.messages[0]["content"]) == bare(theirs.to_dict()["content"])
    assert ours.model == theirs.model == "claude-sonnet-5-5"
    assert list(ours.transformations) == theirs.to_dict()["input_transformations"] == dropped


def test_anthropic_bodies(server):
    content = [
        {"type": "thinking", "thinking": "", "signature": "s"},
        {"type": "text", "text": "x"},
    ]
    body = {
        **streams.anthropic()[0]["message"],
        "content": content,
        "stop_reason": "end_turn",
        "input_transformations": [{"type": "x"}],
    }
    answer = Answer("messages", JSON, json.dumps(body).encode())
    with Anthropic(**serve(server, answer, "/v1/messages"), max_retries=0) as client:
        theirs = client.messages.create(model="m", max_tokens=9, messages=ASK)
    ours = replied(answer)
    assert ours.messages == ({"role": "assistant", "content": theirs.to_dict()["content"]},)
    assert list(ours.transformations) == [{"type": "x"}]
    assert (ours.stop, ours.is_complete) == ("end_turn", True)


@pytest.fixture
def google(server):
    options = {"base_url": server.url_for("").rstrip("/"), "api_version": "v1beta"}
    with genai.Client(api_key="k", http_options=options) as client:
        yield client


def joined(contents):
    """Join the texts of neighbouring parts as the rule for signatures says, in another way."""
    text = json.dumps([part for content in contents for part in content["parts"]])
    parts = json.loads(text)
    made = []
    for part in parts:
        alone = set(part) - {"text", "thought"}
        if made and not alone and set(made[-1]) == set(part):
            made[-1]["text"] += part["text"]
        else:
            made.append(part)
    return made


def test_gemini_streams(server, google):
    answer = ANSWERS["gemini events"]
    serve(server, answer, "/v1beta/models/m:streamGenerateContent")
    chunks = list(google.models.generate_content_stream(model="m", contents="q"))
    contents = [
        chunk.candidates[0].content.model_dump(mode="json", exclude_none=True, by_alias=True)
        for chunk in chunks
    ]
    ours = replied(answer)
    (content,) = ours.messages
    assert content["role"] == "model"
    assert content["parts"] == [part for part in joined(contents) if part != {"text": ""}]
    assert ours.stop == chunks[-1].candidates[0].finish_reason.value
    assert (ours.id, ours.model) == (chunks[-1].response_id, chunks[-1].model_version)
    assert ours.usage == chunks[-1].usage_metadata.model_dump(by_alias=True, exclude_none=True)
    assert replied(ANSWERS["gemini array"]) == ours


def test_gemini_bodies(server, google):
    body = streams.candidate({"text": "x", "thoughtSignature": "c2ln"}, finish="STOP")
    answer = Answer("gemini", JSON, json.dumps(body).encode())
    serve(server, answer, "/v1beta/models/m:generateContent")
    theirs = google.models.generate_content(model="m", contents="q").candidates[0].content
    ours = replied(answer)
    assert list(ours.messages) == [theirs.model_dump(mode="json", exclude_none=True, by_alias=True)]
    assert (ours.stop, ours.is_complete) == ("STOP", True)


def dumped(one):
    return bare(one.model_dump(mode="json"))


def test_interactions_streams(server, google):
    """The client has no accumulator: it knows each event, and a body with our steps."""
    answer = ANSWERS["interactions"]
    serve(server, answer, "/v1beta/interactions")
    events = list(google.interactions.create(model="m", input="q", stream=True))
    told = [dumped(event) for event in events]
    assert told == bare(streams.INTERACTIONS)
    ours = replied(answer)
    assert list(ours.messages) == streams.STEPS
    ended = events[-1].interaction
    assert (ours.id, ours.model, ours.stop) == (ended.id, ended.model, ended.status)
    assert ours.usage == dumped(ended.usage)
    assert ours.is_complete


@pytest.mark.parametrize("asked", [[], [{"type": "user_input", "content": []}]])
def test_interactions_bodies(server, google, asked):
    body = streams.interaction("completed", steps=[*asked, *streams.STEPS])["interaction"]
    answer = Answer("interactions", JSON, json.dumps(body).encode())
    serve(server, answer, "/v1beta/interactions")
    theirs = google.interactions.create(model="m", input="q")
    ours = replied(answer)
    assert list(ours.messages) == [dumped(step) for step in theirs.steps][len(asked) :]
    assert (ours.stop, ours.is_complete) == ("completed", True)
