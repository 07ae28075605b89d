"""A request that goes as it came is not refused for thinking that was made behind windows."""

from __future__ import annotations

import json
import logging

import httpx2
import pytest
from bound_loops import Thinking
from client_loops import asked
from werkzeug import Response

from warmset import Memory
from warmset.errors import StoreError
from warmset.serve.proxy.unbound import disabling, unbound

BOUND = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "messages.1.content.0: The block is bound to a different conversation",
    },
}
REPLY = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-fable-5-2",
    "content": [{"type": "text", "text": "Forty."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 9, "output_tokens": 2},
}
THOUGHT = {"type": "thinking", "thinking": "The shelf!", "signature": "c2ln"}
USE = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "forty"}
ASK = {"role": "user", "content": "How many boxes are on the shelf?"}
LOOP = [
    ASK,
    {"role": "assistant", "content": [THOUGHT, USE]},
    {"role": "user", "content": [RESULT]},
]
TALK = [
    *LOOP,
    {"role": "assistant", "content": [THOUGHT]},
    {"role": "user", "content": "And crates?"},
]


def fails(*_args, **_options):
    raise StoreError("no")


def bare(messages):
    """Return a list of Anthropic messages without thinking."""
    made = json.loads(json.dumps(messages, default=lambda one: one.to_dict()))
    for one in made:
        if isinstance(one["content"], list):
            kept = [block for block in one["content"] if "thinking" not in block["type"]]
            one["content"] = kept or [{"type": "text", "text": "(continued)"}]
    return made


def until_made_anew(loop):
    """Run a loop until not all of its list is sent; return the list."""
    messages, lists, turn = [asked(0)], [], 0
    while not lists or lists[-1] <= loop.server.lengths[-1]:
        lists.append(len(messages))
        said, calls = loop.call(messages)
        messages += loop.done(said, calls) if calls else [*said, asked(turn := turn + 1)]
        assert turn < 9
    return messages


def test_a_loop_goes_on_while_no_windows_can_be_made(proxied, httpserver, monkeypatch, caplog):
    loop = Thinking(httpserver)
    with proxied(loop.server.url, budget=1_200, mode="steady", patience=600) as proxy:
        loop.client = loop.client.with_options(base_url=proxy.url)
        messages = until_made_anew(loop)
        assert loop.server.errors == []
        with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "warmset"):
            patch.setattr(Memory, "process", fails)
            for _ in range(3):
                given = bare(messages)
                said, calls = loop.call(messages)
                assert loop.server.body["messages"] == given
                messages += loop.done(said, calls) if calls else [*said, asked(99)]
        events = [one.event for one in caplog.records if hasattr(one, "event")]
        assert events == ["bypassed", "thinking_refused"] * 3
        assert len(loop.server.errors) >= 3  # the list as it came, each time
        refused = loop.server.errors.copy()
        for _ in range(4):
            said, calls = loop.call(messages)
            messages += loop.done(said, calls) if calls else [*said, asked(99)]
        assert loop.server.errors == refused
        assert loop.server.lengths[-1] < len(messages)
        stored = len(proxy.said())
    assert stored in (len(messages), len(messages) - 1)  # the loop ends with no results


class Refusing:
    """An upstream that finds thinking in its first request bound to another list."""

    def __init__(self, httpserver, answers=(BOUND, REPLY)):
        self.bodies, self.url, self._answers = [], httpserver.url_for(""), answers
        httpserver.expect_request("/v1/messages").respond_with_handler(self._answer)

    def _answer(self, request):
        answer = self._answers[min(len(self.bodies), len(self._answers) - 1)]
        self.bodies.append(json.loads(request.data))
        status = 400 if answer["type"] == "error" else 200
        return Response(json.dumps(answer), status, content_type="application/json")


def send(url, messages, model="claude-fable-5-2", **more):
    body = {"model": model, "max_tokens": 99, "messages": messages, **more}
    return httpx2.post(f"{url}/v1/messages", json=body, timeout=30)


ADAPTIVE = {"type": "adaptive"}


@pytest.mark.parametrize(
    ("messages", "model", "disabled"),
    [
        (LOOP, "claude-fable-5-2", False),  # it thinks where it sees fit
        (TALK, "claude-fable-5-2", False),
        (LOOP, "some-model", True),  # it may want a loop to begin with its thinking
        (TALK, "some-model", False),
    ],
)
def test_nothing_but_thinking_leaves(proxied, httpserver, monkeypatch, messages, model, disabled):
    upstream = Refusing(httpserver)
    with proxied(upstream.url) as proxy:
        monkeypatch.setattr(Memory, "process", fails)
        got = send(proxy.url, messages, model, thinking=ADAPTIVE)
    assert (got.status_code, got.json()) == (200, REPLY)
    notes = "; thinking=left_out" + "; thinking=disabled" * disabled
    assert got.headers["x-warmset"] == "bypass; reason=StoreError" + notes
    first, second = upstream.bodies
    assert first["messages"] == messages
    now = {"type": "disabled"} if disabled else ADAPTIVE
    assert second == first | {"messages": bare(messages), "thinking": now}


def test_a_window_is_sent_once_more_as_well_and_its_reply_comes_back(proxied, httpserver):
    """A store that was copied, or a provider that looks at more, may know better."""
    upstream = Refusing(httpserver, [REPLY | {"content": [THOUGHT, USE]}, BOUND, REPLY])
    with proxied(upstream.url) as proxy:
        send(proxy.url, [ASK], thinking=ADAPTIVE)
        got = send(proxy.url, LOOP, thinking=ADAPTIVE)
        assert got.status_code == 200
        assert got.headers["x-warmset"].startswith("mode=")
        assert got.headers["x-warmset"].endswith("; thinking=left_out")
        assert proxy.said() == LOOP
        more = [*LOOP, {"role": "assistant", "content": REPLY["content"]}, ASK]
        send(proxy.url, more, thinking=ADAPTIVE)
        assert proxy.said() == [*more, {"role": "assistant", "content": REPLY["content"]}]
    _, first, second, _ = upstream.bodies
    assert (first["messages"], second["messages"]) == (LOOP, bare(LOOP))


@pytest.mark.parametrize(
    ("messages", "answer"),
    [
        ([ASK], BOUND),
        (LOOP, BOUND | {"error": {"message": "messages: at least one message is required"}}),
    ],
    ids=["no thinking", "another error"],
)
def test_what_cannot_be_helped_goes_back(proxied, httpserver, monkeypatch, messages, answer):
    upstream = Refusing(httpserver, [answer])
    with proxied(upstream.url) as proxy:
        monkeypatch.setattr(Memory, "process", fails)
        got = send(proxy.url, messages)
    assert (got.status_code, got.json()) == (400, answer)
    assert got.headers["x-warmset"] == "bypass; reason=StoreError"
    assert len(upstream.bodies) == 1


def test_it_is_not_sent_a_third_time(proxied, httpserver):
    upstream = Refusing(httpserver, [BOUND])
    with proxied(upstream.url) as proxy:
        got = send(proxy.url, LOOP, "claude-sonnet-4-5")
    assert (got.status_code, got.json()) == (400, BOUND)
    assert len(upstream.bodies) == 2


CLEAR = {"type": "clear_thinking_20251015", "keep": "all"}
USES = {"type": "clear_tool_uses_20250919"}


@pytest.mark.parametrize(
    ("managed", "left"),
    [
        ({"edits": [CLEAR, USES], "x": 1}, {"edits": [USES], "x": 1}),
        ({"edits": [CLEAR]}, {"edits": []}),
        ({"edits": [USES]}, None),
        ({"edits": ["clear_thinking", 1]}, None),
        ({"edits": "clear_thinking"}, None),
        ([CLEAR], None),
        (None, None),
    ],
)
def test_an_edit_that_clears_thinking_leaves_with_it(managed, left):
    thinking = {"type": "disabled"}
    wanted = (
        {"thinking": thinking}
        if left is None
        else {
            "thinking": thinking,
            "context_management": left,
        }
    )
    assert disabling({"context_management": managed, "thinking": {"type": "adaptive"}}) == wanted
    body = {"model": "some-model", "messages": LOOP, "context_management": managed}
    made, _disabled = unbound(json.dumps(body).encode())
    assert json.loads(made)["context_management"] == (managed if left is None else left)
