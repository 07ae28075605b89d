"""Clients of the providers' own libraries with virtual memory, in process."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest

openai = pytest.importorskip("openai", reason="the extra openai is not installed")
anthropic = pytest.importorskip("anthropic", reason="the extra anthropic is not installed")

import httpx2  # noqa: E402
from client_loops import Chat, Messages, Responses, asked  # noqa: E402
from werkzeug import Response  # noqa: E402

from warmset import Memory  # noqa: E402
from warmset.errors import InvalidInputError  # noqa: E402
from warmset.serve import wrap  # noqa: E402
from warmset.serve.proxy.exchange import Exchanges  # noqa: E402

HELLO = [{"role": "user", "content": "Hello, how many boxes are there?"}]
ANSWER = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4.1",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Forty."},
        }
    ],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
}
CHAT = "/v1/chat/completions"


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path / "m", embedder="lexical", durability="os") as opened:
        yield opened


def client_of(server, **options):
    options = {"api_key": "k", "max_retries": 0, **options}
    return openai.OpenAI(base_url=server.url_for("/v1"), **options)


def awaited_client_of(server):
    return openai.AsyncOpenAI(base_url=server.url_for("/v1"), api_key="k", max_retries=0)


def ask(server, memory, awaited, *, wrapped=None, **call):
    """Ask with a wrapped client; return the raw response."""
    client = (awaited_client_of if awaited else client_of)(server)
    create = wrap(client, memory, **wrapped or {}).chat.completions.with_raw_response.create
    call = {"model": "m", "messages": HELLO, **call}
    return asyncio.run(create(**call)) if awaited else create(**call)


def said(memory, name=None):
    [name] = memory.conversations() if name is None else [name]
    return [one["content"] for one in memory.conversation(name).messages()]


def bodies(server):
    return [json.loads(request.get_data()) for request, _response in server.log]


def events(*values):
    return "".join(f"data: {json.dumps(one)}\n\n" for one in values) + "data: [DONE]\n\n"


def chunk(delta, finish=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-4.1",
        "choices": [choice],
    }


STREAM = events(
    chunk({"role": "assistant", "content": "For"}), chunk({"content": "ty."}), chunk({}, "stop")
)


@pytest.mark.parametrize("kind", [Chat, Responses, Messages])
def test_a_loop_sends_less_and_is_never_refused(httpserver, memory, kind):
    loop = kind(httpserver)
    loop.client = wrap(loop.client, memory, budget=1_200)
    assert type(loop.client) is type(kind(httpserver).client)
    messages = list(loop.first)
    for turn in range(8):
        messages.append(asked(turn))
        calls = True
        while calls:
            replied, calls = loop.call(messages)
            messages += loop.done(replied, calls)
    assert loop.server.errors == []
    assert max(loop.server.lengths) < len(messages)
    [name] = memory.conversations()
    assert len(list(memory.conversation(name).messages())) in (len(messages), len(messages) - 1)


def test_an_awaited_client_and_streams_do_the_same(httpserver, memory):
    httpserver.expect_request(CHAT).respond_with_data(STREAM, content_type="text/event-stream")
    client = wrap(awaited_client_of(httpserver), memory)

    async def ask():
        stream = await client.chat.completions.create(model="m", messages=HELLO, stream=True)
        seen = []
        async for one in stream:
            seen.append(one.choices[0].delta.content)
            if one.choices[0].finish_reason:
                assert said(memory)[-1] == "Forty.", "stored before its end is seen"
        return seen

    assert asyncio.run(ask()) == ["For", "ty.", None]
    assert said(memory) == [HELLO[0]["content"], "Forty."]


def test_a_reply_is_stored_before_the_end_of_its_stream_is_seen(httpserver, memory):
    httpserver.expect_request(CHAT).respond_with_data(STREAM, content_type="text/event-stream")
    client = wrap(client_of(httpserver), memory)
    with client.chat.completions.create(model="m", messages=HELLO, stream=True) as stream:
        for one in stream:
            if one.choices[0].finish_reason:
                assert said(memory)[-1] == "Forty."


def test_a_stream_that_is_left_or_breaks_is_no_reply(httpserver, memory):
    first, rest = STREAM[: STREAM.index("ty.")], STREAM[STREAM.index("ty.") :]
    gate = threading.Event()

    def slowly(_request):
        def pieces():
            yield first
            gate.wait(10)
            yield rest

        return Response(pieces(), content_type="text/event-stream")

    httpserver.expect_ordered_request(CHAT).respond_with_handler(slowly)
    httpserver.expect_ordered_request(CHAT).respond_with_data(
        first, content_type="text/event-stream"
    )
    client = wrap(client_of(httpserver), memory, conversation="c")
    with client.chat.completions.create(model="m", messages=HELLO, stream=True) as stream:
        next(iter(stream))
    gate.set()
    assert said(memory) == [HELLO[0]["content"]]
    list(client.chat.completions.create(model="m", messages=HELLO, stream=True))
    assert said(memory) == [HELLO[0]["content"]]


@pytest.mark.parametrize("awaited", [False, True])
def test_what_is_too_long_is_sent_once_more_and_shorter(httpserver, memory, awaited):
    error = {"error": {"message": "too long", "code": "context_length_exceeded"}}
    httpserver.expect_ordered_request(CHAT).respond_with_json(error, status=400)
    httpserver.expect_ordered_request(CHAT).respond_with_json(ANSWER)
    messages = [
        {"role": role, "content": f"{at} " + "many words " * 40}
        for at in range(10)
        for role in ("user", "assistant")
    ]
    messages += HELLO
    made = ask(httpserver, memory, awaited, messages=messages).parse()
    assert made.choices[0].message.content == "Forty."
    first, second = bodies(httpserver)
    assert len(json.dumps(second)) < 0.85 * len(json.dumps(first))
    assert second["messages"][-1] == HELLO[0]
    assert said(memory)[-1] == "Forty."


@pytest.mark.parametrize("awaited", [False, True])
def test_what_is_refused_for_its_thinking_is_sent_once_more_without(httpserver, memory, awaited):
    why = "messages.1.content.0: The block is bound to a different conversation"
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": why}}
    said_ = {"id": "m", "type": "message", "role": "assistant", "model": "claude-fable-5-2"}
    said_ |= {"content": [{"type": "text", "text": "Forty."}], "stop_reason": "end_turn"}
    said_ |= {"stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 2}}
    httpserver.expect_ordered_request("/v1/messages").respond_with_json(error, status=400)
    httpserver.expect_ordered_request("/v1/messages").respond_with_json(said_)
    thought = {"type": "thinking", "thinking": "Boxes!", "signature": "c2ln"}
    reply = {"role": "assistant", "content": [thought, {"type": "text", "text": "Many."}]}
    memory.close()  # so that the request goes as it came
    options = {"base_url": httpserver.url_for(""), "api_key": "k", "max_retries": 0}
    client = (anthropic.AsyncAnthropic if awaited else anthropic.Anthropic)(**options)
    create = wrap(client, memory).messages.with_raw_response.create
    given = {"model": "claude-fable-5-2", "max_tokens": 9, "messages": [*HELLO, reply, *HELLO]}

    async def asked():
        raw = await create(**given)
        return raw, await raw.parse()

    raw, made = asyncio.run(asked()) if awaited else ((raw := create(**given)), raw.parse())
    assert made.content[0].text == "Forty."
    assert raw.headers["x-warmset"].startswith("bypass; reason=")
    assert raw.headers["x-warmset"].endswith("; thinking=left_out")
    first, second = bodies(httpserver)
    assert first["messages"] == given["messages"]
    bare = {"role": "assistant", "content": reply["content"][1:]}
    assert second == first | {"messages": [*HELLO, bare, *HELLO]}


@pytest.mark.parametrize("awaited", [False, True])
def test_errors_come_as_they_are(httpserver, memory, awaited):
    said_ = {"error": {"message": "slow down", "type": "rate_limit"}}
    httpserver.expect_request(CHAT).respond_with_json(
        said_, status=429, headers={"retry-after": "7"}
    )
    with pytest.raises(openai.RateLimitError) as raised:
        ask(httpserver, memory, awaited)
    assert raised.value.response.headers["retry-after"] == "7"
    assert raised.value.body == said_["error"]
    assert said(memory) == [HELLO[0]["content"]]


BEGUN = b'{"error": {"message": "too lo'


@contextmanager
def breaking():
    """Run a server whose answer is an error that breaks off; yield its address."""

    def answer():
        connection, _ = listening.accept()
        with connection:
            connection.recv(1 << 16)
            head = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 500\r\n\r\n"
            connection.sendall(head + BEGUN)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):  # closed with bytes unread, it would be reset
                pass

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        thread.join()


def test_an_error_that_breaks_off_has_its_status_and_what_came(memory):
    with breaking() as url:
        http = wrap(openai.OpenAI(base_url=url, api_key="k"), memory, conversation="c")._client
        body = {"model": "m", "messages": HELLO}
        with http.stream("POST", f"{url}/chat/completions", json=body) as answer:
            pieces = answer.iter_raw()
            assert (answer.status_code, next(pieces)) == (400, BEGUN)
            with pytest.raises(httpx2.RemoteProtocolError):
                next(pieces)


def test_the_same_if_it_is_awaited(memory):
    asyncio.run(_awaited(memory))


async def _awaited(memory):
    with breaking() as url:
        client = openai.AsyncOpenAI(base_url=url, api_key="k")
        http = wrap(client, memory, conversation="c")._client
        body = {"model": "m", "messages": HELLO}
        async with http.stream("POST", f"{url}/chat/completions", json=body) as answer:
            pieces = answer.aiter_raw()
            assert (answer.status_code, await anext(pieces)) == (400, BEGUN)
            with pytest.raises(httpx2.RemoteProtocolError):
                await anext(pieces)


@pytest.mark.parametrize("awaited", [False, True])
def test_whatever_fails_here_the_call_goes_out_as_it_came(httpserver, memory, awaited, caplog):
    httpserver.expect_request(CHAT).respond_with_json(ANSWER)
    memory.close()
    with caplog.at_level(logging.WARNING, "warmset"):
        raw = ask(httpserver, memory, awaited)
    assert raw.parse().choices[0].message.content == "Forty."
    assert raw.headers["x-warmset"].startswith("bypass; reason=")
    assert "bypassed" in caplog.text
    assert "boxes" not in caplog.text
    assert bodies(httpserver) == [{"model": "m", "messages": HELLO}]


@pytest.mark.parametrize("awaited", [False, True])
def test_a_window_that_takes_too_long_is_not_waited_for(httpserver, memory, awaited, monkeypatch):
    httpserver.expect_request(CHAT).respond_with_json(ANSWER)
    end = threading.Event()
    process = memory.process
    monkeypatch.setattr(
        memory, "process", lambda *args, **options: end.wait(60) and process(*args, **options)
    )
    try:
        made = ask(httpserver, memory, awaited, wrapped={"patience": 0.05})
    finally:
        end.set()
    assert made.headers["x-warmset"] == "bypass; reason=too_slow"


@pytest.mark.parametrize("awaited", [False, True])
def test_what_was_refused_goes_back_if_a_shorter_one_takes_too_long(
    httpserver, memory, awaited, monkeypatch
):
    error = {"error": {"message": "too long", "code": "context_length_exceeded"}}
    httpserver.expect_request(CHAT).respond_with_json(error, status=400)
    end, process, calls = threading.Event(), memory.process, []

    def processed(*args, **options):
        calls.append(options["budget"])
        if len(calls) > 1:
            end.wait(60)
        return process(*args, **options)

    monkeypatch.setattr(memory, "process", processed)
    try:
        with pytest.raises(openai.BadRequestError) as caught:
            ask(httpserver, memory, awaited, wrapped={"patience": 1})
    finally:
        end.set()
    assert caught.value.response.headers["x-warmset"].startswith("mode=")
    assert len(calls) == 2
    assert len(bodies(httpserver)) == 1


def test_raw_responses_say_what_was_sent(httpserver, memory):
    httpserver.expect_request(CHAT).respond_with_json(ANSWER, headers={"x-warmset": "no"})
    client = wrap(client_of(httpserver), memory, mode="recency")
    raw = client.chat.completions.with_raw_response.create(model="m", messages=HELLO)
    assert raw.headers.get_list("x-warmset") == [raw.headers["x-warmset"]]
    assert raw.headers["x-warmset"].startswith("mode=recency; tokens=")


@pytest.mark.parametrize("name", ["support", "Zürich ☂", "Ã¼"])
def test_a_conversation_has_the_name_that_it_is_given(httpserver, memory, name):
    httpserver.expect_request(CHAT).respond_with_json(ANSWER)
    client = wrap(client_of(httpserver), memory, conversation=name)
    client.chat.completions.create(model="m", messages=HELLO)
    assert memory.conversations() == [name]
    own = {"x-warmset-conversation": "own"}
    client.chat.completions.create(model="m", messages=HELLO, extra_headers=own)
    assert sorted(memory.conversations()) == sorted([name, "own"])
    sent = [request.headers for request, _response in httpserver.log]
    assert not any(key.lower().startswith("x-warmset") for one in sent for key, _value in one)


def test_a_field_may_name_it(httpserver, memory):
    httpserver.expect_request(CHAT).respond_with_json(ANSWER)
    client = wrap(client_of(httpserver), memory, fields=["metadata.session_id"])
    client.chat.completions.create(model="m", messages=HELLO, metadata={"session_id": "seven"})
    assert memory.conversations() == ["seven"]


@pytest.mark.parametrize("awaited", [False, True])
def test_a_wrong_header_is_an_error_that_says_so(httpserver, memory, awaited):
    wrong = {"x-warmset-mode": "fast"}
    with pytest.raises(openai.BadRequestError, match="mode: expected one of"):
        ask(httpserver, memory, awaited, extra_headers=wrong)
    assert httpserver.log == []


@pytest.mark.parametrize("awaited", [False, True])
def test_other_calls_are_not_touched(httpserver, memory, awaited):
    httpserver.expect_request("/v1/models").respond_with_json(
        {"object": "list", "data": [{"id": "m", "object": "model"}]}
    )
    file = {"id": "f", "object": "file", "bytes": 3, "filename": "a.txt", "purpose": "batch"}
    httpserver.expect_request("/v1/files", method="POST").respond_with_json(file)
    if awaited:
        client = wrap(awaited_client_of(httpserver), memory)

        async def calls():
            await client.files.create(file=b"abc", purpose="batch")
            return [one.id async for one in client.models.list()]

        assert asyncio.run(calls()) == ["m"]
    else:
        client = wrap(client_of(httpserver), memory)
        client.files.create(file=b"abc", purpose="batch")
        assert [one.id for one in client.models.list()] == ["m"]
    assert b"abc" in httpserver.log[0][0].get_data()
    assert memory.conversations() == []


def test_counting_tokens_is_not_a_call_with_a_reply(httpserver, memory):
    httpserver.expect_request("/v1/messages/count_tokens").respond_with_json({"input_tokens": 7})
    client = anthropic.Anthropic(base_url=httpserver.url_for(""), api_key="k", max_retries=0)
    counted = wrap(client, memory).messages.count_tokens(model="m", messages=HELLO)
    assert counted.input_tokens == 7
    assert memory.conversations() == []


def test_the_http_client_of_a_client_goes_on_sending(httpserver, memory):
    httpserver.expect_request(CHAT).respond_with_json(ANSWER)
    seen = []
    inner = httpx2.Client(
        headers={"x-own": "1"},
        cookies={"a": "b"},
        params={"version": "7"},
        event_hooks={"request": [lambda request: seen.append(request.url.path)]},
    )
    client = wrap(client_of(httpserver, http_client=inner), memory)
    client.chat.completions.create(model="m", messages=HELLO)
    [(request, _response)] = httpserver.log
    assert request.headers["x-own"] == "1"
    assert request.cookies["a"] == "b"
    assert request.args["version"] == "7"
    assert request.headers["authorization"] == "Bearer k"
    assert request.headers["accept-encoding"] == "identity"
    assert seen == [CHAT]
    client.close()
    assert inner.is_closed


def test_proxies_are_those_of_the_client(httpserver, memory, monkeypatch):
    httpserver.expect_request(CHAT).respond_with_json(ANSWER)
    client = client_of(httpserver)
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    wrap(client, memory, conversation="c").chat.completions.create(model="m", messages=HELLO)
    assert said(memory)[-1] == "Forty."


def test_options_of_windows_are_handed_on(httpserver, memory, monkeypatch):
    httpserver.expect_request(CHAT).respond_with_json(ANSWER)
    seen = []
    process = memory.process

    def noted(*args, **options):
        seen.append(options)
        return process(*args, **options)

    monkeypatch.setattr(memory, "process", noted)
    options = {"mode": "recency", "budget": 900, "window": {"recent": 3}}
    ask(httpserver, memory, awaited=False, wrapped=options)
    assert (seen[0]["mode"], seen[0]["budget"], seen[0]["recent"]) == ("recency", 900, 3)


@pytest.mark.parametrize("awaited", [False, True])
def test_a_beta_that_a_window_needs_goes_out(httpserver, memory, awaited, monkeypatch):
    httpserver.expect_request(CHAT).respond_with_json(ANSWER)
    prepare = Exchanges.prepare

    def needing(self, *args, **options):
        return replace(prepare(self, *args, **options), beta="b-2")

    monkeypatch.setattr(Exchanges, "prepare", needing)
    ask(httpserver, memory, awaited, extra_headers={"anthropic-beta": "b-1"})
    [(request, _response)] = httpserver.log
    assert request.headers["anthropic-beta"] == "b-1, b-2"


def test_timeouts_are_those_of_the_client(httpserver, memory):
    gate = threading.Event()

    def slow(_request):
        gate.wait(10)
        return Response(json.dumps(ANSWER), content_type="application/json")

    httpserver.expect_request(CHAT).respond_with_handler(slow)
    client = wrap(client_of(httpserver), memory)
    with pytest.raises(openai.APITimeoutError):
        client.with_options(timeout=0.05).chat.completions.create(model="m", messages=HELLO)
    gate.set()


def test_a_client_with_other_options_stays_wrapped(httpserver, memory):
    httpserver.expect_request(CHAT).respond_with_json(ANSWER)
    client = wrap(client_of(httpserver), memory, conversation="c").with_options(timeout=30)
    client.chat.completions.create(model="m", messages=HELLO)
    assert memory.conversations() == ["c"]


def test_many_threads_may_use_one_client(httpserver, memory):
    httpserver.expect_request(CHAT).respond_with_json(ANSWER)
    client = wrap(client_of(httpserver), memory)

    def talk(at):
        messages = []
        for turn in range(3):
            messages.append({"role": "user", "content": f"{at}, {turn}"})
            made = client.chat.completions.create(
                model="m",
                messages=messages,
                extra_headers={"x-warmset-conversation": f"c{at}"},
            )
            messages.append(made.choices[0].message)

    threads = [threading.Thread(target=talk, args=(at,)) for at in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(memory.conversations()) == [f"c{at}" for at in range(6)]
    for at in range(6):
        assert said(memory, f"c{at}").count("Forty.") == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_process_needs_a_memory_of_its_own(httpserver, memory, tmp_path):
    httpserver.expect_request(CHAT).respond_with_json(ANSWER)
    client = wrap(client_of(httpserver), memory)
    child = os.fork()
    if not child:
        code = 1
        try:
            ours = client_of(httpserver)
            call = {"model": "m", "messages": HELLO}
            raw = wrap(ours, memory).chat.completions.with_raw_response.create(**call)
            code = 2
            if raw.headers["x-warmset"] == "bypass; reason=Forked":
                code = 3
                with Memory.open(tmp_path / "m", embedder="lexical") as own:
                    wrap(ours, own, conversation="child").chat.completions.create(**call)
                    code = 0 if said(own, "child")[-1] == "Forty." else 4
        finally:
            os._exit(code)
    _pid, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    client.chat.completions.create(model="m", messages=HELLO)
    assert "child" in memory.conversations()


def test_what_cannot_be_wrapped_is_refused(httpserver, memory):
    client = client_of(httpserver)
    with pytest.raises(InvalidInputError, match="wrapped already"):
        wrap(wrap(client, memory), memory)
    for other in (object(), None, httpx2.Client(), openai.OpenAI):
        with pytest.raises(InvalidInputError, match=r"client: expected one of openai\.OpenAI"):
            wrap(other, memory)
    with pytest.raises(InvalidInputError, match="memory: expected a Memory"):
        wrap(client, "m")
    for name in ("", "a\nb", "\ud800", 7):
        with pytest.raises(InvalidInputError, match="conversation"):
            wrap(client, memory, conversation=name)
    with pytest.raises(InvalidInputError, match="mode"):
        wrap(client, memory, mode="fast")
    with pytest.raises(InvalidInputError, match="budget"):
        wrap(client, memory, budget=0)
    with pytest.raises(InvalidInputError, match="patience"):
        wrap(client, memory, patience=0)


def test_a_client_of_the_older_http_library_is_refused(httpserver, memory):
    httpx = pytest.importorskip("httpx")
    with (
        httpx.Client() as inner,
        pytest.raises(InvalidInputError, match="http_client is not one of httpx2"),
    ):
        wrap(client_of(httpserver, http_client=inner), memory)
