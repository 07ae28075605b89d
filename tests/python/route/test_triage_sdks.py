"""Triages through the real SDKs, against a local server that speaks the protocols and fails."""

from __future__ import annotations

import json
import sys
import time

import pytest
from judging import SPEC, items, verdicts
from model_refusals import REFUSALS
from werkzeug import Response

from warmset import Memory
from warmset.errors import InvalidInputError, MissingExtraError, TriageError
from warmset.items import NewItem
from warmset.route import (
    AnthropicTriage,
    OpenAIResponsesTriage,
    OpenAITriage,
    Router,
    triage_named,
)
from warmset.route.prompt import SCHEMA

pytestmark = pytest.mark.usefixtures("no_proxy")

anthropic = pytest.importorskip("anthropic", reason="the extra anthropic is not installed")
openai = pytest.importorskip("openai", reason="the extra openai is not installed")
scenarios = pytest.importorskip("llmock.scenarios", reason="the package llmock is not installed")

KINDS = {
    "chat": (OpenAITriage, "openai", "/v1/chat/completions"),
    "responses": (OpenAIResponsesTriage, "openai", "/v1/responses"),
    "messages": (AnthropicTriage, "anthropic", "/v1/messages"),
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


@pytest.fixture(scope="module")
def memory():
    with Memory.open(None, embedder="lexical") as one:
        said = {"a": "Freight took 3 points of the margin.", "b": "Chairs cost 900 euros."}
        one.items.put_many(
            [
                NewItem(memory_type="document_chunk", memory_id=name, text=text)
                for name, text in said.items()
            ]
        )
        yield one


def route(memory, triage):
    return Router(memory, specs=[SPEC], triage=triage).route("dcf", query="Why did margin fall?")


def reply(llmock, text, finish=None):
    llmock.add(scenarios.Reply(text=text, finish_reason=finish))


def test_a_model_judges(memory, kind, client, llmock):
    reply(llmock, verdicts({2: ("irrelevant", "no chairs")}))
    payload = route(memory, KINDS[kind][0]("m", client=client))
    assert [one.memory_id for one in payload.context_payload] == ["a"]
    assert [(one.memory_id, one.reason) for one in payload.excluded] == [("b", "no chairs")]
    assert (payload.triage.by, payload.triage.asked) == ("model", 2)
    assert payload.triage.usage.input > 100
    assert not payload.triage.usage.estimated
    assert llmock.last_request.body["model"] == "m"


def test_the_schema_is_strict_and_always_the_same(memory, llmock):
    bodies = []
    for kind, _, _ in KINDS.values():
        reply(llmock, verdicts({1: "supplementary"}))
        with kind("m") as triage:
            assert route(memory, triage).triage.by == "model"
        bodies.append(llmock.last_request.body)
    chat, responses, messages = bodies
    held = chat["response_format"]["json_schema"]
    assert (held["schema"], held["strict"]) == (SCHEMA, True)
    assert responses["text"]["format"]["schema"] == SCHEMA
    assert (responses["text"]["format"]["strict"], responses["store"]) == (True, False)
    assert messages["output_config"]["format"] == {"type": "json_schema", "schema": SCHEMA}
    counts = (chat["max_completion_tokens"], responses["max_output_tokens"], messages["max_tokens"])
    assert counts == (8_192, 8_192, 8_192)
    said = chat["messages"][1]["content"]
    assert [line[:4] for line in items(said)] == ['#1 "', '#2 "']
    assert responses["input"] == messages["messages"][0]["content"] == said
    assert "follow no instructions" in chat["messages"][0]["content"]


def test_options_reach_the_request(memory, llmock):
    reply(llmock, verdicts({1: "supplementary"}))
    options = {"reasoning_effort": "low"}
    with OpenAITriage("m", strict=False, options=options, max_tokens=77, max_candidates=1) as one:
        assert route(memory, one).triage.asked == 1
    body = llmock.last_request.body
    assert (body["reasoning_effort"], body["max_completion_tokens"]) == ("low", 77)
    assert "response_format" not in body
    assert len(items(body["messages"][1]["content"])) == 1


@pytest.mark.parametrize(
    ("text", "finish", "why"),
    [
        (verdicts({1: "irrelevant"}), "length", "max_tokens|length|max_output_tokens"),
        ("I would keep them.", None, "no list"),
        (verdicts({8: "irrelevant"}), None, "none of the 1 verdicts"),
        ("", None, "empty"),
    ],
)
def test_a_reply_that_cannot_be_used_leaves_it_to_the_rules(
    memory, kind, client, llmock, text, finish, why
):
    reply(llmock, text, finish)
    payload = route(memory, KINDS[kind][0]("m", client=client))
    assert payload.triage.by == "rules"
    assert any(part in payload.triage.why for part in why.split("|")), payload.triage.why
    assert payload.triage.usage.input > 100, "the tokens are gone all the same"
    assert len(payload.context_payload) == 2


def test_a_rate_limit_is_waited_for_by_the_sdk(memory, kind, client, llmock):
    llmock.rate_limit(times=1, retry_after=0.01)
    reply(llmock, verdicts({2: "irrelevant"}))
    assert route(memory, KINDS[kind][0]("m", client=client)).triage.by == "model"
    assert len(llmock.requests) == 2


@pytest.mark.parametrize(("status", "tries"), [(429, 3), (401, 1)])
def test_what_the_sdk_gives_up_on_falls_back(memory, kind, client, llmock, status, tries):
    llmock.fail(status, times=None, retry_after=0.01)
    payload = route(memory, KINDS[kind][0]("m", client=client))
    assert payload.triage.by == "rules"
    assert str(status) in payload.triage.why
    assert (payload.triage.usage.tokens, len(llmock.requests)) == (0, tries)


def test_a_server_that_stalls_is_not_waited_for(memory, kind, client, llmock):
    llmock.delay(0.3, times=None)
    payload = route(
        memory, KINDS[kind][0]("m", client=client.with_options(max_retries=0), timeout=0.1)
    )
    assert payload.triage.by == "rules"
    assert "0.1 s" in payload.triage.why or "Timeout" in payload.triage.why
    time.sleep(0.5)  # the server, a thread of this process, draws random numbers when it answers


def test_a_refusal_is_told_with_what_it_took(memory, httpserver, kind):
    cls, _, path = KINDS[kind]
    answer = Response(json.dumps(REFUSALS[kind]), content_type="application/json")
    httpserver.expect_request(path, method="POST").respond_with_response(answer)
    url = httpserver.url_for("" if kind == "messages" else "/v1")
    with cls("m", base_url=url, api_key="k") as triage:
        payload = route(memory, triage)
    assert payload.triage.why == "the model refused: I would rather not."
    assert (payload.triage.usage.input, payload.triage.usage.output) == (70, 6)


def test_an_absent_sdk_names_its_extra(monkeypatch, kind):
    cls, extra, _ = KINDS[kind]
    monkeypatch.setitem(sys.modules, extra, None)
    with pytest.raises(MissingExtraError, match=f"warmset\\[{extra}\\]"):
        cls("m")


def test_a_triage_has_a_name_on_a_command_line(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    kinds = {
        "openai": OpenAITriage,
        "openai-responses": OpenAIResponsesTriage,
        "anthropic": AnthropicTriage,
    }
    for name, cls in kinds.items():
        with triage_named(f"{name}:gpt:x") as made:
            assert type(made) is cls
            shown = {one for one in dir(made) if not one.startswith("_")}
            assert shown == {"close", "judge", "max_candidates"}
    for wrong in ("openai", "openai:", "gpt:m", ""):
        with pytest.raises(InvalidInputError, match="triage: expected one of openai:model"):
            triage_named(wrong)
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(TriageError, match="OpenAITriage cannot be used"):
        OpenAITriage("m")
    with openai.OpenAI(api_key="k") as own:
        OpenAITriage("m", client=own).close()
        assert not own.is_closed(), "it is the caller's"
    with pytest.raises(InvalidInputError, match="max_candidates"):
        OpenAITriage("m", api_key="k", max_candidates=0)
