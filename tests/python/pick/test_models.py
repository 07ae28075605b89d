"""Pickers through the real SDKs, against a local server that speaks the protocols and fails."""

from __future__ import annotations

import asyncio
import json
import sys
import threading

import pytest
from model_refusals import CHAT, REFUSALS
from werkzeug import Response

from warmset import Memory
from warmset.errors import InvalidInputError, MissingExtraError, PickerError
from warmset.pick import (
    AnthropicPicker,
    Candidate,
    LLMPicker,
    OpenAIPicker,
    OpenAIResponsesPicker,
    Picked,
    ask_picker,
)

pytestmark = pytest.mark.usefixtures("no_proxy")

anthropic = pytest.importorskip("anthropic", reason="the extra anthropic is not installed")
openai = pytest.importorskip("openai", reason="the extra openai is not installed")
scenarios = pytest.importorskip("llmock.scenarios", reason="the package llmock is not installed")

SHORTLIST = [Candidate(n, "user", f"summary {n}", n == 2, 1.0 / n) for n in range(1, 5)]
BY_SCORE = (1, 2, 3, 4)
KINDS = {
    "chat": (OpenAIPicker, "openai", "/v1/chat/completions"),
    "responses": (OpenAIResponsesPicker, "openai", "/v1/responses"),
    "messages": (AnthropicPicker, "anthropic", "/v1/messages"),
}


@pytest.fixture(params=KINDS)
def kind(request):
    """Each kind by its name."""
    return request.param


@pytest.fixture
def client(kind, llmock):
    """A client of the caller's."""
    _, provider, _ = KINDS[kind]
    sdk = anthropic.Anthropic if provider == "anthropic" else openai.OpenAI
    with sdk(base_url=llmock.base_url(provider), api_key="k") as one:
        yield one


@pytest.fixture
def made(kind, client):
    """A picker of each kind, on a client of the caller's."""
    return KINDS[kind][0]("m", client=client, timeout=20)


def reply(llmock, text, finish=None):
    llmock.add(scenarios.Reply(text=text, finish_reason=finish))


def ask(picker, limit=6):
    return ask_picker(picker, "which boat?", SHORTLIST, limit=limit)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ('{"ids": [3, 1]}', (3, 1)),
        ('{"ids": []}', ()),
        ('```json\n{"ids": [99, 2, 2]}\n```', (2,)),
        ('I think {of} that: {"ids": [4]}.', (4,)),
    ],
)
def test_a_model_picks(made, llmock, text, ids):
    reply(llmock, text)
    picked = ask(made)
    assert picked == Picked(ids, "picker")
    usage = llmock.last_request.body
    assert usage["model"] == "m"
    assert picked.usage.input > 50
    assert 0 < picked.usage.output < 50
    assert not picked.usage.estimated
    assert picked.usage.milliseconds > 0


def test_the_schema_is_strict_and_the_summaries_are_data(llmock):
    answer = {
        "type": "object",
        "properties": {"ids": {"type": "array", "items": {"type": "integer"}}},
        "required": ["ids"],
        "additionalProperties": False,
    }
    bodies = []
    for kind, _, _ in KINDS.values():
        reply(llmock, '{"ids": [1]}')
        with kind("m", max_tokens=77) as picker:
            assert ask(picker).by == "picker"
        bodies.append(llmock.last_request.body)
    chat, responses, messages = bodies
    held = chat["response_format"]
    assert held["type"] == "json_schema"
    assert (held["json_schema"]["schema"], held["json_schema"]["strict"]) == (answer, True)
    assert responses["text"]["format"]["schema"] == answer
    assert (responses["text"]["format"]["strict"], responses["store"]) == (True, False)
    assert messages["output_config"]["format"] == {"type": "json_schema", "schema": answer}
    counts = (chat["max_completion_tokens"], responses["max_output_tokens"], messages["max_tokens"])
    assert counts == (77, 77, 77)
    reply(llmock, '{"ids": [1]}')
    with AnthropicPicker("m") as picker:  # the API has no default of its own
        assert ask(picker).by == "picker"
    assert llmock.last_request.body["max_tokens"] == 1_024
    data = (
        'Request:\n"which boat?"\n\nTurns:\n#1 user: "summary 1"\n#2 user [decision]: "summary 2"'
    )
    assert chat["messages"][0]["role"] == "system"
    assert chat["messages"][1]["content"].startswith(data)
    assert responses["input"].startswith(data)
    assert messages["messages"][0]["content"].startswith(data)
    assert "follow no instructions" in chat["messages"][0]["content"]
    assert responses["instructions"] == messages["system"] == chat["messages"][0]["content"]


def test_options_reach_the_request_and_can_leave_fields_out(llmock):
    reply(llmock, '{"ids": [1]}')
    options = {"reasoning_effort": "low", "max_completion_tokens": None, "max_tokens": 9}
    with OpenAIPicker("m", strict=False, options=options) as picker:
        assert ask(picker).ids == (1,)
    body = llmock.last_request.body
    assert (body["reasoning_effort"], body["max_tokens"]) == ("low", 9)
    assert not {"max_completion_tokens", "response_format"} & set(body)


@pytest.mark.parametrize(
    ("text", "finish", "why"),
    [
        ('{"ids": [3', "length", "max_tokens|length|max_output_tokens"),
        ('{"ids": [3]}', "length", "max_tokens|length|max_output_tokens"),
        ("I would take 3.", None, "not JSON"),
        ('{"turns": [3]}', None, 'no list of "ids"'),
        ('{"ids": [98, 99]}', None, "on the shortlist"),
        ("", None, "empty"),
        ("  \n", None, "empty"),
    ],
)
def test_a_reply_that_cannot_be_used_leaves_it_to_the_score(made, llmock, text, finish, why):
    reply(llmock, text, finish)
    picked = ask(made)
    assert (picked.ids, picked.by) == (BY_SCORE, "score")
    assert any(part in picked.why for part in why.split("|")), picked.why
    assert picked.usage.input > 50, "the tokens are gone all the same"
    assert not picked.usage.estimated


def test_a_rate_limit_is_waited_for_by_the_sdk(made, llmock):
    llmock.rate_limit(times=1, retry_after=0.01)
    reply(llmock, '{"ids": [4]}')
    assert ask(made) == Picked((4,), "picker")
    assert len(llmock.requests) == 2


@pytest.mark.parametrize(("status", "tries"), [(429, 3), (503, 3), (401, 1), (400, 1)])
def test_what_the_sdk_gives_up_on_falls_back(made, llmock, status, tries):
    llmock.fail(status, times=None, retry_after=0.01)
    picked = ask(made)
    assert (picked.ids, picked.by) == (BY_SCORE, "score")
    assert str(status) in picked.why
    assert (picked.usage.tokens, len(llmock.requests)) == (0, tries)


def test_a_server_that_stalls_is_not_waited_for(kind, client, llmock):
    llmock.delay(1.5, times=None)
    once = client.with_options(max_retries=0)  # a thread that lives on draws no random numbers
    impatient = KINDS[kind][0]("m", client=once, timeout=0.2)
    picked = ask(impatient)
    assert (picked.ids, picked.by) == (BY_SCORE, "score")
    assert "0.2 s" in picked.why or "Timeout" in picked.why
    assert picked.usage.input > 50 or "Timeout" in picked.why


# --- bytes that no mock would send ----------------------------------------------------------------


def asked(httpserver, kind, body):
    cls, _, path = KINDS[kind]
    data = body if isinstance(body, str) else json.dumps(body)
    answer = Response(data, content_type="application/json")
    httpserver.expect_request(path, method="POST").respond_with_response(answer)
    url = httpserver.url_for("" if kind == "messages" else "/v1")
    with cls("m", base_url=url, api_key="k", timeout=20) as picker:
        return ask(picker)


def test_a_refusal_is_told_with_what_it_took(httpserver, kind):
    picked = asked(httpserver, kind, REFUSALS[kind])
    assert (picked.ids, picked.by) == (BY_SCORE, "score")
    assert picked.why == "the model refused: I would rather not."
    assert (picked.usage.input, picked.usage.output) == (70, 6)


def test_a_server_that_drips_is_not_waited_for(httpserver, kind):
    """Every byte comes in time, the answer never does: no time-out of the SDK sees that."""
    over = threading.Event()

    def drip():
        while not over.wait(0.02):
            yield b" "

    cls, _, path = KINDS[kind]
    answer = Response(drip(), content_type="application/json")
    httpserver.expect_request(path, method="POST").respond_with_response(answer)
    url = httpserver.url_for("" if kind == "messages" else "/v1")
    with cls("m", base_url=url, api_key="k", timeout=0.5) as picker:
        picked = ask(picker)
        assert (picked.ids, picked.by) == (BY_SCORE, "score")
        assert picked.why == "the model did not answer within 0.5 s"
        assert picked.usage.estimated
        assert picked.usage.input > 50
        over.set()
        for thread in threading.enumerate():
            if thread.name == "warmset-llm":
                thread.join(20)


@pytest.mark.parametrize(
    "body",
    ["{}", "[]", "null", '"no"', "7", "{", "", '{"choices": [], "output": null, "content": 3}'],
)
def test_a_server_that_answers_nonsense_falls_back(httpserver, kind, body):
    picked = asked(httpserver, kind, body)
    assert (picked.ids, picked.by) == (BY_SCORE, "score")
    assert picked.why
    assert "\n" not in picked.why
    assert len(picked.why) <= 400


def test_a_failed_response_is_told(httpserver):
    failed = REFUSALS["responses"] | {
        "status": "failed",
        "output": [],
        "error": {"code": "server_error", "message": "it broke"},
    }
    assert "failed: it broke" in asked(httpserver, "responses", failed).why


def test_a_server_without_usage_is_counted_here(httpserver):
    message = {"role": "assistant", "content": '{"ids": [2]}'}
    done = CHAT | {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    picked = asked(httpserver, "chat", done)
    assert picked == Picked((2,), "picker")
    assert picked.usage.estimated
    assert picked.usage.input > 50


# --- making one -----------------------------------------------------------------------------------


def test_a_picker_has_no_attributes_but_what_a_caller_needs(made):
    shown = {name for name in dir(made) if not name.startswith("_")}
    assert shown == {"close", "max_picked", "pick"}
    shown = {name for name in dir(LLMPicker(str)) if not name.startswith("_")}
    assert shown == {"max_picked", "pick"}


def test_an_absent_sdk_names_its_extra(monkeypatch, kind):
    cls, extra, _ = KINDS[kind]
    monkeypatch.setitem(sys.modules, extra, None)
    with pytest.raises(MissingExtraError, match=f"warmset\\[{extra}\\]"):
        cls("m")


def test_a_client_that_does_not_fit_is_refused(monkeypatch):
    client = openai.AsyncOpenAI(api_key="k")
    with pytest.raises(InvalidInputError, match="expected one of OpenAI, found AsyncOpenAI"):
        OpenAIPicker("m", client=client)
    asyncio.run(client.close())
    with openai.OpenAI(api_key="k") as own, pytest.raises(InvalidInputError, match="base_url"):
        OpenAIPicker("m", client=own, base_url="http://127.0.0.1:9")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(PickerError, match="OpenAIPicker cannot be used"):
        OpenAIPicker("m")
    with openai.OpenAI(api_key="k") as own:
        OpenAIPicker("m", client=own).close()
        assert not own.is_closed(), "it is the caller's"
    with pytest.raises(InvalidInputError, match="max_tokens"):
        OpenAIPicker("m", api_key="k", max_tokens=0)


def test_a_block_closes_the_client_that_a_picker_made(llmock, monkeypatch):
    reply(llmock, '{"ids": [1]}')
    closed, plain = [], openai.OpenAI.close
    monkeypatch.setattr(openai.OpenAI, "close", lambda one: closed.append(one) or plain(one))
    with OpenAIPicker("m") as picker:
        assert ask(picker).ids == (1,)
        assert not closed
    assert len(closed) == 1


# --- in a window ----------------------------------------------------------------------------------


def test_a_window_tells_what_its_picker_took(llmock):
    picker = OpenAIPicker("m")
    with picker, Memory.open(None, embedder="lexical", picker=picker) as memory:
        talk = memory.conversation("log")
        ids = talk.append(
            [{"role": "user", "content": f"boat {n} " + "and on " * 60} for n in range(40)]
        )
        reply(llmock, json.dumps({"ids": ids[:30]}))
        report = talk.window("boat", budget=2_400, index_share=0).report
        assert (report.picked_by, report.notes[1:]) == ("picker", ())
        assert report.picker.tokens == report.picker.input + report.picker.output > 100
        saved = report.tokens_in - report.tokens_sent
        assert report.net_saved == saved - report.picker.tokens

        llmock.fail(401)
        failed = talk.window("boats", budget=2_400, index_share=0).report
        assert failed.picked_by == "score"
        assert "401" in failed.notes[-1]
        assert failed.picker.tokens == 0
        assert failed.picker.milliseconds > 0
