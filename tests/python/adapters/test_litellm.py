"""The logger of LiteLLM: a real proxy with two workers before local providers, and the SDK.

`python -m tests.apart DIR` makes the environment that has LiteLLM, and runs this in it.
"""

import asyncio
import hashlib
import json
import logging
import re
import signal
from types import SimpleNamespace

import pytest
from cancelling import ends_before

pytest.importorskip("litellm", reason="LiteLLM needs an environment of its own: tests.apart")

import litellm
import provider_servers
from bound_servers import BoundMessages
from litellm_proxy import Proxy
from provider_servers import ChatServer, ResponsesServer
from pytest_httpserver import HTTPServer
from werkzeug import Response

from warmset import Memory, validate
from warmset.adapters.litellm import WarmsetLogger
from warmset.errors import InvalidInputError

BUDGET = 1_500
LONG = "about cranes and boxes " + "word " * 150
TOOL = {
    "name": "look",
    "description": "Looks at a shelf.",
    "parameters": {"type": "object", "properties": {}},
}
TOOLS = [{"type": "function", "function": TOOL}]


def tenant_of(key):
    return f"key-{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def opened(store, key):
    return Memory.open(store, embedder="lexical", tenant=tenant_of(key))


def of_proxy(proxy, key="sk-one"):
    """Open what a proxy has of a key, of which LiteLLM makes a digest itself."""
    return opened(proxy.store, hashlib.sha256(key.encode()).hexdigest())


class Chat(ChatServer):
    """Chat Completions, streams too; it keeps what it was sent."""

    def __init__(self, httpserver):
        super().__init__(httpserver)
        self.bodies = []

    def respond(self, request):
        body = json.loads(request.data)
        self.bodies.append(body)
        if not body.get("stream"):
            return super().respond(request)
        said = [{"content": "The shelf "}, {"content": "is in order."}, {}]
        head = {"id": "chatcmpl-s", "object": "chat.completion.chunk", "created": 1}
        lines = [
            {
                **head,
                "model": "gpt-5.2",
                "choices": [{"index": 0, "delta": one, "finish_reason": None if one else "stop"}],
            }
            for one in said
        ]
        text = "".join(f"data: {json.dumps(one)}\n\n" for one in lines) + "data: [DONE]\n\n"
        return Response(text, content_type="text/event-stream")


@pytest.fixture(scope="module")
def upstream():
    server = HTTPServer()
    server.start()
    found = provider_servers._search
    provider_servers._search = lambda _id: []  # LiteLLM does not send these blocks back
    kinds = SimpleNamespace(
        url=server.url_for(""),
        chat=Chat(server),
        claude=BoundMessages(server),
        responses=ResponsesServer(server),
    )
    yield kinds
    provider_servers._search = found
    server.stop()


@pytest.fixture(scope="module")
def proxy(upstream, tmp_path_factory):
    made = Proxy(tmp_path_factory.mktemp("proxy"), upstream.url, budget=BUDGET, workers=2)
    yield made
    made.stop()


def agent(proxy, model, session, exchanges, *, key="sk-one"):
    """Run an agent that sends its whole list; return the list, notes, and processes."""
    messages = [{"role": "system", "content": "Be brief."}]
    notes, workers = [], set()
    for at in range(exchanges):
        messages.append({"role": "user", "content": f"What is on shelf {at}? {LONG}"})
        while True:
            status, heads, made = proxy.chat(
                messages, model=model, session=session, key=key, tools=TOOLS
            )
            assert status == 200, made
            notes.append(heads["x-warmset"])
            workers.add(heads["x-worker"])
            said = made["choices"][0]["message"]
            messages.append({name: value for name, value in said.items() if value is not None})
            if not said.get("tool_calls"):
                break
            messages += [
                {"role": "tool", "tool_call_id": call["id"], "content": "in order"}
                for call in said["tool_calls"]
            ]
    return messages, notes, workers


def test_an_agent_of_chat_completions_gets_valid_windows_from_two_workers(proxy, upstream):
    before = len(upstream.chat.bodies)
    messages, notes, workers = agent(proxy, "gpt", "shelves", 10)
    assert len(workers) == 2
    assert not [note for note in notes if "bypass" in note]
    assert upstream.chat.errors == []
    sent = [body["messages"] for body in upstream.chat.bodies[before:]]
    assert len(sent[-1]) < len(messages) / 3
    assert all(one[0] == messages[0] for one in sent)
    assert not [one for body in sent for one in validate(body, dialect="openai")]
    with of_proxy(proxy) as memory:
        stored = memory.conversation("shelves").messages()
        assert [one["role"] for one in stored] == [one["role"] for one in messages]
        assert stored[-1]["content"] == messages[-1]["content"]  # before the next request
        assert stored[1] == messages[1]


def test_thinking_of_claude_stays_where_its_prefix_does_and_nowhere_else(proxy, upstream):
    server = upstream.claude
    messages, notes, workers = agent(proxy, "sonnet", "thoughts", 8)
    assert len(workers) == 2
    assert not [note for note in notes if "bypass" in note]
    assert server.errors == []
    assert server.lengths[-1] < len(messages) / 3
    sent = json.dumps(server.body["messages"])
    assert sent.count('"signature"') >= 3
    for mark in server.bindings.left_out(server.body):
        assert server.bindings.would_drop(server.body, mark)


def test_messages_of_anthropic_keep_their_thinking_as_well(proxy, upstream):
    server, messages = upstream.claude, []
    tools = [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}]
    for at in range(6):
        messages.append({"role": "user", "content": f"What is on shelf {at}? {LONG}"})
        while True:
            body = {"model": "sonnet", "max_tokens": 99, "system": "Be brief.", "tools": tools}
            status, heads, made = proxy.ask(
                "/v1/messages",
                {**body, "messages": messages},
                headers={"x-litellm-session-id": "anthropic-talk"},
            )
            assert status == 200, made
            assert heads["x-warmset"].startswith("mode=")
            messages.append({"role": "assistant", "content": made["content"]})
            calls = [one for one in made["content"] if one["type"] == "tool_use"]
            if not calls:
                break
            results = [
                {"type": "tool_result", "tool_use_id": one["id"], "content": "in order"}
                for one in calls
            ]
            messages.append({"role": "user", "content": results})
    assert server.errors == []
    assert server.lengths[-1] < len(messages) / 2
    assert '"signature"' in json.dumps(server.body["messages"])
    with of_proxy(proxy) as memory:
        assert len(memory.conversation("anthropic-talk")) == len(messages)


def test_responses_get_windows_and_what_the_provider_keeps_passes(proxy, upstream):
    server, items = upstream.responses, []
    lengths = []
    for at in range(10):
        items.append({"role": "user", "content": f"What is on shelf {at}? {LONG}"})
        body = {"model": "gpt", "input": items, "store": False, "user": "responses-talk"}
        status, heads, made = proxy.ask("/v1/responses", body)
        assert status == 200, made
        assert heads["x-warmset"].startswith("mode=")
        lengths.append(server.lengths[-1])
        calls = [one for one in made["output"] if one["type"] == "function_call"]
        items += made["output"]
        items += [
            {"type": "function_call_output", "call_id": one["call_id"], "output": "in order"}
            for one in calls
        ]
    assert server.errors == []
    assert lengths[-1] < len(items) / 2
    body = {"model": "gpt", "input": "And?", "previous_response_id": made["id"], "user": "x"}
    _, heads, _ = proxy.ask("/v1/responses", body)
    assert "x-warmset" not in heads
    with of_proxy(proxy) as memory:
        assert "x" not in memory.conversations()


def test_callers_with_different_keys_share_nothing(proxy, upstream):
    for key, word in (("sk-ann", "heron"), ("sk-bob", "crane")):
        messages = []
        for at in range(14):
            messages.append({"role": "user", "content": f"{word} {at}? {LONG}"})
            status, heads, made = proxy.chat(messages, session="same", key=key)
            assert status == 200
            assert heads["x-warmset"].startswith("mode=")
            said = made["choices"][0]["message"]
            messages.append({"role": "assistant", "content": said.get("content") or "done"})
        sent = json.dumps(upstream.chat.bodies[-1])
        assert word in sent
        assert {"heron": "crane", "crane": "heron"}[word] + " " not in sent.replace(LONG, "")
    with of_proxy(proxy, "sk-ann") as ann, of_proxy(proxy, "sk-bob") as bob:
        assert len(ann.conversation("same")) == len(bob.conversation("same")) == 28
        assert not bob.search("heron")
    files = [one for one in proxy.store.rglob("*") if one.is_file()]
    assert files
    assert not [one for one in files if b"sk-ann" in one.read_bytes()]


def _timeless(stream):
    """Return a stream without the seconds at which it was made."""
    return re.sub(r'"created":\d+', '"created":0', stream)


def test_a_stream_is_as_it_would_be_without_windows(proxy):
    messages = [{"role": "user", "content": f"What is on shelf 1? {LONG}"}]
    _, heads, with_window = proxy.chat(messages, session="stream", stream=True)
    assert heads["x-warmset"].startswith("mode=")
    _, heads, without = proxy.chat(messages, session="", stream=True)
    assert heads["x-warmset"] == "passed; recorded=no"
    assert _timeless(with_window) == _timeless(without)
    assert "is in order." in with_window
    messages += [
        {"role": "assistant", "content": "The shelf is in order."},
        {"role": "user", "content": "And shelf 2?"},
    ]
    proxy.chat(messages, session="stream", stream=True)
    with of_proxy(proxy) as memory:
        assert memory.conversation("stream").messages() == messages


def test_what_fails_goes_on_as_it_came_and_says_so(proxy, upstream):
    long = [{"role": "user", "content": "word " * 3_000}]
    status, heads, _ = proxy.chat(long, session="too-long")
    assert status == 200
    assert heads["x-warmset"] == "bypass; reason=budget_too_small"
    assert upstream.chat.bodies[-1]["messages"] == long
    odd = [{"role": "user", "content": "Hi"}, {"role": "narrator", "content": "Once"}]
    _, heads, _ = proxy.chat(odd, session="odd")
    assert heads["x-warmset"] == "bypass; reason=not_understood"
    assert upstream.chat.bodies[-1]["messages"] == odd


def test_after_kill_9_everything_answered_is_there(upstream, tmp_path):
    proxy = Proxy(tmp_path, upstream.url, budget=BUDGET)
    try:
        messages, _, _ = agent(proxy, "gpt", "killed", 3)
    finally:
        proxy.stop(signal.SIGKILL)
    with of_proxy(proxy) as memory:
        stored = memory.conversation("killed").messages()
    assert len(stored) == len(messages)
    history = logger(tmp_path / "agents.ws")
    asked = [*messages, {"role": "user", "content": f"And then? {LONG}"}]
    made = before(history, asked, "killed", key=hashlib.sha256(b"sk-one").hexdigest())
    assert made["messages"][-1] == asked[-1]
    history.close()


# --- in this process -----------------------------------------------------------------------------


def logger(path, **more):
    given = {"budget": BUDGET, "memory": {"embedder": "lexical"}, **more}
    return WarmsetLogger(path, **given)


def request(messages, session="talk", call="call-1", **more):
    named = {"litellm_session_id": session, "litellm_call_id": call}
    return {"model": "gpt-5.2", "messages": messages, **named, **more}


def before(history, messages, session="talk", *, key=None, call="call-1"):
    auth = SimpleNamespace(api_key=key, team_id="crew")
    data = request(messages, session, call)
    made = asyncio.run(history.async_pre_call_hook(auth, None, data, "acompletion"))
    assert data == request(messages, session, call)  # what LiteLLM handed on is not changed
    return made


def note(history, *, key=None, call="call-1"):
    auth = SimpleNamespace(api_key=key, team_id="crew")
    data = {"litellm_call_id": call}
    return asyncio.run(history.async_post_call_response_headers_hook(data, auth, None))


def talk(count):
    return [
        one
        for at in range(count)
        for one in (
            {"role": "user", "content": f"What is on shelf {at}? {LONG}"},
            {"role": "assistant", "content": f"Box {at}."},
        )
    ][:-1]


def test_a_store_that_cannot_be_opened_lets_the_request_go_and_warns(tmp_path, caplog):
    (tmp_path / "s.ws").write_text("no store")
    history = logger(tmp_path / "s.ws")
    with caplog.at_level(logging.WARNING, "warmset"):
        assert before(history, talk(12)) is None
    assert note(history)["x-warmset"].startswith("bypass; reason=")
    [record] = [one for one in caplog.records if one.event == "bypassed"]
    assert "shelf" not in record.getMessage()


def test_a_window_that_takes_too_long_lets_the_request_go(tmp_path, monkeypatch):
    history = logger(tmp_path / "s.ws", patience=0.01)

    async def never(*_given):
        await asyncio.sleep(60)

    monkeypatch.setattr("warmset.adapters.litellm.logger.in_thread", never)
    assert before(history, talk(12)) is None
    assert note(history) == {"x-warmset": "bypass; reason=too_slow"}


def test_a_function_for_tenants_is_asked_and_one_that_fails_lets_the_request_go(tmp_path):
    history = logger(tmp_path / "s.ws", tenant=lambda auth: auth.team_id)
    assert before(history, talk(12), key="sk-a")
    with Memory.open(tmp_path / "s.ws", embedder="lexical", tenant="crew") as memory:
        assert len(memory.conversation("talk")) == 23
    history.close()
    broken = logger(tmp_path / "s.ws", tenant=lambda auth: auth.nothing)
    assert before(broken, talk(12)) is None


def test_a_client_that_takes_the_id_of_another_call_gets_neither_its_reply_nor_its_header(
    tmp_path,
):
    history = logger(tmp_path / "s.ws")
    before(history, talk(12), key="sk-a", call="same")
    auth = SimpleNamespace(api_key="sk-b")
    assert note(history, key="sk-b", call="same") is None
    answer = {"choices": [{"message": {"role": "assistant", "content": "Private."}}]}
    data = request(talk(12), call="same")
    asyncio.run(history.async_post_call_success_hook(data, auth, answer))
    with opened(tmp_path / "s.ws", "sk-a") as memory:
        assert len(memory.conversation("talk")) == 23
    asyncio.run(history.async_post_call_success_hook(data, SimpleNamespace(api_key="sk-a"), answer))
    with opened(tmp_path / "s.ws", "sk-a") as memory:
        assert memory.conversation("talk").messages()[-1]["content"] == "Private."
    history.close()


def test_thinking_in_a_conversation_that_began_without_claude_leaves_with_a_changed_list(tmp_path):
    history = logger(tmp_path / "s.ws", mode="recency")
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    called = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "One box."},
    ]
    before(history, called)  # only Chat Completions have calls in this shape
    thought = [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]
    given = [
        {**one, "thinking_blocks": thought} if one["role"] == "assistant" else one
        for one in talk(14)
    ]
    made = before(history, [*called, *given])
    assert len(made["messages"]) < len(given)
    assert "thinking_blocks" not in json.dumps(made["messages"])
    assert note(history)["x-warmset"].endswith("; thinking=left_out")
    history.close()


def test_a_hundred_requests_at_once_are_kept_apart(tmp_path):
    history = logger(tmp_path / "s.ws")

    async def ask(at):
        data = request(talk(12), f"talk-{at}", f"call-{at}")
        auth = SimpleNamespace(api_key=f"sk-{at % 5}")
        made = await history.async_pre_call_hook(auth, None, data, "acompletion")
        answer = {"choices": [{"message": {"role": "assistant", "content": f"Reply {at}."}}]}
        await history.async_post_call_success_hook(data, auth, answer)
        return made

    async def everybody():
        return await asyncio.gather(*(ask(at) for at in range(100)))

    assert all(len(one["messages"]) < 23 for one in asyncio.run(everybody()))
    history.close()
    for key in range(5):
        with opened(tmp_path / "s.ws", f"sk-{key}") as memory:
            names = memory.conversations()
            assert sorted(names) == sorted(f"talk-{at}" for at in range(100) if at % 5 == key)
            for name in names:
                said = memory.conversation(name).messages()
                assert len(said) == 24
                assert said[-1]["content"] == f"Reply {name.removeprefix('talk-')}."


def test_a_reply_stands_behind_the_list_that_it_answers(tmp_path):
    history = logger(tmp_path / "s.ws")
    auth = SimpleNamespace(api_key="sk-a")
    later = [
        *talk(12),
        {"role": "assistant", "content": "Late."},
        {"role": "user", "content": "And now?"},
    ]
    before(history, talk(12), key="sk-a", call="first")
    before(history, later, key="sk-a", call="second")
    answer = {"choices": [{"message": {"role": "assistant", "content": "Forty."}}]}
    data = request(talk(12), call="first")
    asyncio.run(history.async_post_call_success_hook(data, auth, answer))
    history.close()
    with opened(tmp_path / "s.ws", "sk-a") as memory:
        stored = memory.conversation("talk").messages()
    assert stored == [*talk(12), {"role": "assistant", "content": "Forty."}]


def test_thinking_stays_where_several_windows_were_made_before_its_reply(tmp_path):
    history = logger(tmp_path / "s.ws")
    auth = SimpleNamespace(api_key="sk-a")

    async def ask(system, call, *more):
        messages = [{"role": "system", "content": system}, *talk(1), *more]
        data = request(messages, call=call, model="claude-opus-5-5")
        made = await history.async_pre_call_hook(auth, None, data, "acompletion")
        return (made or data)["messages"], data

    thought = [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]
    reply = {"role": "assistant", "content": "Forty.", "thinking_blocks": thought}

    async def everything():
        _, first = await ask("Be brief.", "first")
        await ask("Be long.", "second")
        await history.async_post_call_success_hook(first, auth, {"choices": [{"message": reply}]})
        later = [reply, {"role": "user", "content": "And now?"}]
        same, _ = await ask("Be brief.", "third", *later)
        other, _ = await ask("Be long.", "fourth", *later)
        return same, other

    same, other = asyncio.run(everything())
    history.close()
    assert reply in same
    assert {"role": "assistant", "content": "Forty."} in other


def test_a_proxy_does_each_thing_once_although_the_sdk_calls_its_hooks_as_well(tmp_path):
    options = {"embedder": "lexical", "tenant": "own"}
    history = logger(tmp_path / "s.ws", memory=options, tenant=lambda _auth: "own")
    auth, data = SimpleNamespace(api_key="sk-a"), request(talk(12))
    answer = {"choices": [{"message": {"role": "assistant", "content": "Forty."}}]}

    async def everything():
        made = await history.async_pre_call_hook(auth, None, data, "acompletion")
        again = await history.async_pre_call_deployment_hook(made, "acompletion")
        await history.async_post_call_success_deployment_hook(made, answer, "acompletion")
        with Memory.open(tmp_path / "s.ws", **options) as memory:
            between = len(memory.conversation("talk"))
        await history.async_post_call_success_hook(made, auth, answer)
        return again, between

    assert asyncio.run(everything()) == (None, 23)
    history.close()
    with Memory.open(tmp_path / "s.ws", **options) as memory:
        assert len(memory.conversation("talk")) == 24


def test_a_request_that_is_cancelled_ends_when_its_reply_is_stored(tmp_path):
    history = logger(tmp_path / "s.ws")
    auth, data = SimpleNamespace(api_key="sk-a"), request(talk(12))
    answer = {"choices": [{"message": {"role": "assistant", "content": "Forty."}}]}

    async def everything():
        await history.async_pre_call_hook(auth, None, data, "acompletion")
        return await ends_before(
            history._windows,
            "note",
            lambda: history.async_post_call_success_hook(data, auth, answer),
        )

    assert asyncio.run(everything()) is False
    history.close()
    with opened(tmp_path / "s.ws", "sk-a") as memory:
        assert memory.conversation("talk").messages()[-1]["content"] == "Forty."


def test_a_response_that_broke_off_is_not_stored(tmp_path):
    history, auth = logger(tmp_path / "s.ws"), SimpleNamespace(api_key="sk-a")
    said = {"type": "message", "role": "assistant", "content": "Forty."}

    async def ask(status):
        items = [{"role": "user", "content": "How many?"}]
        data = {"input": items, "model": "gpt", "user": status, "litellm_call_id": status}
        await history.async_pre_call_hook(auth, None, data, "aresponses")
        answer = {"output": [said], "status": status}
        await history.async_post_call_success_hook(data, auth, answer)

    for status in ("completed", "incomplete"):
        asyncio.run(ask(status))
    history.close()
    with opened(tmp_path / "s.ws", "sk-a") as memory:
        assert len(memory.conversation("completed")) == 2
        assert len(memory.conversation("incomplete")) == 1


def test_a_list_with_thinking_is_one_for_claude_whatever_its_model_is_called(tmp_path):
    history, auth = logger(tmp_path / "s.ws"), SimpleNamespace(api_key="sk-a")
    thought = [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]
    given = [
        {"role": "user", "content": "How many?"},
        {"role": "assistant", "content": "Forty.", "thinking_blocks": thought},
        {"role": "user", "content": "And now?"},
    ]
    data = request(given, model="clever")
    assert asyncio.run(history.async_pre_call_hook(auth, None, data, "acompletion")) is None
    history.close()
    with opened(tmp_path / "s.ws", "sk-a") as memory:
        assert memory.conversation("talk").dialect == "anthropic"


def test_a_key_is_not_stored_and_a_tenant_without_a_name_is_that_of_its_key(tmp_path):
    history = logger(tmp_path / "s.ws", tenant=lambda _auth: "")
    for key in ("sk-secret-a", "sk-secret-b"):
        before(history, talk(12), key=key)
    history.close()
    for key in ("sk-secret-a", "sk-secret-b"):
        with opened(tmp_path / "s.ws", key) as memory:
            assert len(memory.conversation("talk")) == 23
    files = [one.read_bytes() for one in (tmp_path / "s.ws").rglob("*") if one.is_file()]
    assert files
    assert not [one for one in files if b"sk-secret" in one]


def test_the_calls_that_are_held_do_not_grow_without_end(tmp_path):
    history = logger(tmp_path / "s.ws")

    async def everybody():
        for at in range(1_030):
            data = {"model": "m", "messages": [1], "litellm_call_id": f"call-{at}"}
            await history.async_pre_call_hook(None, None, data, "acompletion")

    asyncio.run(everybody())
    assert len(history._calls) == 1_024
    assert note(history, call="call-5") is None
    assert note(history, call="call-6") == {"x-warmset": "passed; recorded=no"}


@pytest.mark.parametrize(
    "options",
    [
        {"budget": 0},
        {"patience": 0},
        {"options": {"system": "x"}},
        {"options": {"recent": -1}},
    ],
)
def test_an_option_out_of_its_range_is_refused(tmp_path, options):
    with pytest.raises(InvalidInputError):
        logger(tmp_path / "s.ws", **options)


@pytest.fixture
def registered(tmp_path):
    history = logger(tmp_path / "s.ws", memory={"embedder": "lexical", "tenant": "own"})
    held, litellm.callbacks = litellm.callbacks, [history]
    yield history
    litellm.callbacks = held
    history.close()


@pytest.mark.usefixtures("registered")
def test_calls_of_the_sdk_get_windows_and_their_replies_are_stored(upstream, tmp_path):
    given = talk(14)

    async def ask(**more):
        return await litellm.acompletion(
            model="openai/gpt-5.2",
            api_base=f"{upstream.url.rstrip('/')}/v1",
            api_key="k",
            messages=given,
            metadata={"session_id": "sdk"},
            **more,
        )

    made = asyncio.run(ask())
    assert len(upstream.chat.bodies[-1]["messages"]) < len(given)
    assert upstream.chat.bodies[-1]["messages"][-1] == given[-1]
    with Memory.open(tmp_path / "s.ws", embedder="lexical", tenant="own") as memory:
        stored = memory.conversation("sdk").messages()
    assert stored[: len(given)] == given
    assert stored[-1].get("content") == made.choices[0].message.content
