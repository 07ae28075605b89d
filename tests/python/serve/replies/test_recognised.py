"""A reply that was appended is recognised when the client sends it back, as its SDK has it."""

from __future__ import annotations

import json

import pytest
from anthropic import Anthropic
from google import genai
from openai import OpenAI
from pytest_httpserver import HTTPServer
from reply_streams import ANSWERS, JSON, Answer, candidate

from warmset import Memory
from warmset.messages import text_message
from warmset.serve.replies import assembler_for

ASK = [{"role": "user", "content": "q"}]
DIALECTS = {"chat": "openai", "messages": "anthropic"}


def assembled(answer):
    one = assembler_for(answer.surface, answer.kind)
    one.feed(answer.body)
    return one.reply()


def replied(answer):
    return list(assembled(answer).messages)


def is_recognised(answer, sent_back, reply=None):
    """Append the reply behind the window that was sent; tell whether the client's list is known."""
    dialect = DIALECTS.get(answer.surface, answer.surface)
    asked, reply = text_message(dialect, "user", "q"), reply or replied(answer)
    with Memory.open(None, embedder="lexical") as memory:
        sent = memory.process([asked], budget=100_000, conversation="c")
        ids = memory.conversation("c").append(reply, window=sent)
        assert len(ids) == len(reply) > 0
        again = memory.process([asked, *sent_back], budget=100_000, conversation="c")
        assert again.synced.branched_at is None, again.synced
        return again.synced.kept == 1 + len(reply) and again.synced.appended == []


@pytest.mark.parametrize("name", ANSWERS)
def test_a_reply_that_was_appended_is_recognised(name):
    assert is_recognised(ANSWERS[name], replied(ANSWERS[name]))


@pytest.fixture
def server():
    with HTTPServer() as one:
        yield one


def serve(server, answer, path):
    server.expect_request(path).respond_with_data(answer.body, content_type=answer.kind)
    return {"api_key": "k", "base_url": server.url_for(""), "max_retries": 0}


@pytest.mark.parametrize("name", [name for name in ANSWERS if name.startswith("chat")])
def test_messages_of_openai_chat_are_recognised(server, name):
    answer = ANSWERS[name]
    with (
        OpenAI(**serve(server, answer, "/chat/completions")) as client,
        client.chat.completions.stream(model="m", messages=ASK) as stream,
    ):
        message = stream.get_final_completion().choices[0].message
    assert is_recognised(answer, [message])
    assert is_recognised(answer, [message.model_dump()])


def test_items_of_openai_responses_are_recognised(server):
    answer = ANSWERS["responses"]
    with (
        OpenAI(**serve(server, answer, "/responses")) as client,
        client.responses.stream(model="m", input="q") as stream,
    ):
        output = stream.get_final_response().output
    assert is_recognised(answer, output)


@pytest.mark.parametrize("name", [name for name in ANSWERS if name.startswith("messages")])
def test_messages_of_anthropic_are_recognised(server, name):
    answer = ANSWERS[name]
    asked = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": ASK}
    with (
        Anthropic(**serve(server, answer, "/v1/messages")) as client,
        client.beta.messages.stream(**asked) as stream,
    ):
        message = stream.get_final_message()
    assert is_recognised(answer, [{"role": "assistant", "content": message.content}])


def sent_by_googles_chat(server, answer, method, path):
    """Let Google's chat read the answer, and return what it sends of it the next time."""
    serve(server, answer, f"/v1beta/models/m:{path}")
    options = {"base_url": server.url_for("").rstrip("/"), "api_version": "v1beta"}
    with genai.Client(api_key="k", http_options=options) as client:
        chat = client.chats.create(model="m")
        for _ in range(2):
            list(getattr(chat, method)("q"))
    _, (request, _) = server.log
    contents = request.get_json()["contents"]
    assert contents[0] == contents[-1] == text_message("gemini", "user", "q")
    return contents[1:-1]


def test_what_googles_chat_sends_of_a_stream_is_recognised_as_contents_apart(server):
    answer = ANSWERS["gemini events"]
    sent = sent_by_googles_chat(server, answer, "send_message_stream", "streamGenerateContent")
    apart = list(assembled(answer).apart)
    assert sent == apart
    assert len(apart) == 8
    assert is_recognised(answer, sent, apart)


def of_body(server, signature):
    signed = {"text": "x", "thoughtSignature": signature}
    body = json.dumps(candidate(signed, finish="STOP")).encode()
    answer = Answer("gemini", JSON, body)
    return answer, sent_by_googles_chat(server, answer, "send_message", "generateContent")


def test_what_googles_chat_sends_of_a_body_is_recognised(server):
    answer, sent = of_body(server, "c2lnMg==")
    assert assembled(answer).apart == ()
    assert sent == replied(answer)
    assert is_recognised(answer, sent)


def test_googles_client_writes_signatures_in_the_other_alphabet_of_base64(server):
    """A reply is as the provider said it, and is recognised in either alphabet."""
    answer, (sent,) = of_body(server, "c2+/bg==")
    ((ours,), (theirs,)) = (one["parts"] for one in (replied(answer)[0], sent))
    assert ours["thoughtSignature"] == "c2+/bg=="
    assert theirs == {**ours, "thoughtSignature": "c2-_bg=="}
    assert is_recognised(answer, [{"role": "model", "parts": [theirs]}])


def test_the_parts_of_a_body_stay_as_they_came(server):
    parts = [{"text": ""}, {"text": "a"}, {"text": "b"}, {"text": "c", "thought": True}]
    one = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
    answer = Answer("gemini", JSON, json.dumps(one).encode())
    assert replied(answer) == [{"role": "model", "parts": parts}]
    sent = sent_by_googles_chat(server, answer, "send_message", "generateContent")
    assert is_recognised(answer, sent)
