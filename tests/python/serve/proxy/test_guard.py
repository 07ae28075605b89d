"""The guard: each rule at its boundary, alone and before a real application."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import quote

import pytest
from hypothesis import given, strategies as st
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from warmset.errors import InvalidInputError
from warmset.serve.proxy.guard import Guard, GuardOptions, RefusedError
from warmset.serve.proxy.heads import read_host
from warmset.serve.proxy.paths import fault_of

CANARY = "sk-canary-5e0bd1"
HOST = (b"host", b"localhost:8787")
TOKEN = "t0ken-of-the-proxy"  # noqa: S105 - of the tests


async def echo(request):
    return PlainTextResponse(
        str(len(await request.body())),
        headers={
            "Access-Control-Allow-Origin": "*",
            "access-control-expose-headers": "x",
            "x": "y",
        },
    )


async def headers(request):
    return JSONResponse(sorted(request.headers))


ECHO = Starlette(routes=[Route("/headers", headers), Route("/{path:path}", echo, methods=["POST"])])


def scope_of(*more, method="POST", path=b"/v1/messages", query=b"", host=HOST, port=8787):
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path.decode("latin-1"),
        "raw_path": path,
        "query_string": query,
        "headers": [*([host] if host else []), *more],
        "server": ("127.0.0.1", port),
        "client": ("127.0.0.1", 50_000),
    }


class Client:
    """Sends pieces of a body, each after a pause, and keeps what is answered."""

    def __init__(self, pieces=(b"",), pause=0.0):
        self.pieces = list(pieces)
        self.pause = pause
        self.taken = 0
        self.sent = []

    async def receive(self):
        await asyncio.sleep(self.pause)
        if self.taken == len(self.pieces):
            await asyncio.Event().wait()
        self.taken += 1
        more = self.taken < len(self.pieces)
        return {"type": "http.request", "body": self.pieces[self.taken - 1], "more_body": more}

    async def send(self, message):
        self.sent.append(message)

    @property
    def status(self):
        return self.sent[0]["status"]

    @property
    def headers(self):
        return {name.decode().lower(): value.decode() for name, value in self.sent[0]["headers"]}

    @property
    def body(self):
        return b"".join(one.get("body", b"") for one in self.sent[1:])


def asked(*more, options=None, client=None, app=ECHO, **fields):
    client = client or Client()
    guard = Guard(app, options or GuardOptions())
    asyncio.run(guard(scope_of(*more, **fields), client.receive, client.send))
    return client


def refused(client, status, kind):
    assert client.status == status
    error = json.loads(client.body)["error"]
    assert set(error) == {"type", "message"}
    assert error["type"] == kind
    assert client.headers["content-type"] == "application/json"
    assert client.headers["connection"] == "close"
    assert client.headers["content-length"] == str(len(client.body))
    assert CANARY not in client.body.decode()
    return True


def test_what_is_allowed_passes():
    client = asked(client=Client([b"ab", b"c"]))
    assert (client.status, client.body) == (200, b"3")


# --- the host -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [b"localhost:8787", b"LocalHost:8787", b"127.0.0.1:8787", b"[::1]:8787", b" localhost:8787"],
)
def test_its_own_names_are_let_in(host):
    assert asked(host=(b"Host", host)).status == 200


@pytest.mark.parametrize(
    "host",
    [
        b"evil.example:8787",
        b"localhost.evil.example:8787",
        b"evillocalhost:8787",
        b"localhost",
        b"localhost:8788",
        b"localhost:80",
        b"localhost.:8787",
        b"127.0.0.2:8787",
        b"127.1:8787",
        b"2130706433:8787",
        b"[::2]:8787",
        b"0.0.0.0:8787",
    ],
)
def test_a_name_that_leads_here_is_misdirected(host):
    assert refused(asked(host=(b"host", host)), 421, "warmset_host")


@pytest.mark.parametrize(
    "host",
    [
        b"",
        b":8787",
        b"localhost:",
        b"localhost:0",
        b"localhost:08787",
        b"localhost:65536",
        b"localhost:8787:8787",
        b"me@localhost:8787",
        b"me:" + CANARY.encode() + b"@localhost:8787",
        b"localhost:8787/x",
        b"localhost:8787,localhost:8787",
        b"local host:8787",
        b"[::1:8787",
        b"::1",
        "\u017focalhost:8787".encode(),
        b"localhost:8787\xff",
    ],
)
def test_what_is_no_host_is_a_bad_request(host):
    assert refused(asked(host=(b"host", host)), 400, "warmset_request")


def test_a_host_is_there_once():
    assert refused(asked(host=None), 400, "warmset_request")
    assert refused(asked(HOST), 400, "warmset_request")
    assert refused(asked((b"HOST", b"other")), 400, "warmset_request")


@pytest.mark.parametrize(
    ("known", "port", "given", "status"),
    [
        ("proxy.example:443", 8787, b"proxy.example", 200),
        ("proxy.example:443", 8787, b"proxy.example:443", 200),
        ("proxy.example:443", 8787, b"proxy.example:8787", 421),
        ("Proxy.Example:80", 8787, b"proxy.example", 200),
        ("proxy.example:81", 8787, b"proxy.example", 421),
        ("proxy.example", 8787, b"proxy.example", 421),
        ("proxy.example", 80, b"proxy.example", 200),
        ("proxy.example", None, b"proxy.example", 200),
        ("proxy.example", None, b"proxy.example:80", 421),
        ("proxy.example", 65_535, b"proxy.example:65535", 200),
    ],
)
def test_a_name_has_its_own_port_or_that_of_the_socket(known, port, given, status):
    options = GuardOptions(hosts=(known,))
    assert asked(options=options, host=(b"host", given), port=port).status == status


@given(st.text(max_size=40) | st.from_regex(r"(localhost|127\.0\.0\.1)[.:@/\\]?[a-z0-9:@.]*"))
def test_no_other_host_is_let_in(text):
    host = text.encode("utf-8", "surrogatepass")
    allowed = host.strip(b" \t").lower() in (b"localhost:8787", b"127.0.0.1:8787", b"[::1]:8787")
    assert (asked(host=(b"host", host)).status == 200) == allowed


# --- pages of other sites -----------------------------------------------------------------------


@pytest.mark.parametrize("origin", [b"http://localhost:8787", b"https://LOCALHOST:8787"])
def test_its_own_page_is_let_in(origin):
    site = (b"sec-fetch-site", b"same-origin")
    assert asked((b"origin", origin), site).status == 200


@pytest.mark.parametrize(
    "origin",
    [
        b"",
        b"null",
        b"http://localhost",
        b"http://localhost:8788",
        b"http://127.0.0.1:8787",
        b"http://localhost:8787/",
        b"ftp://localhost:8787",
        b"localhost:8787",
        b"https://evil.example",
        b"http://localhost:8787.evil.example",
    ],
)
def test_a_page_of_another_origin_is_refused(origin):
    assert refused(asked((b"Origin", origin)), 403, "warmset_origin")


@pytest.mark.parametrize("site", [b"cross-site", b"same-site", b"", b"None", b"new-word"])
def test_a_browser_that_says_where_it_comes_from_is_believed(site):
    assert refused(asked((b"sec-fetch-site", site)), 403, "warmset_origin")


def test_what_somebody_typed_is_let_in():
    assert asked((b"sec-fetch-site", b"none")).status == 200


def test_preflights_are_refused_and_no_answer_allows_other_sites():
    preflight = (b"access-control-request-method", b"POST")
    own = (b"origin", b"http://localhost:8787")
    assert refused(asked(own, preflight, method="OPTIONS"), 403, "warmset_origin")
    client = asked()
    assert not [name for name in client.headers if name.startswith("access-control")]
    assert client.headers["x"] == "y"


# --- the token ----------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [None, b"", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "x" * 18])
def test_only_the_token_opens(given):
    more = (
        [] if given is None else [(b"x-warmset-token", given if given == b"" else given.encode())]
    )
    assert refused(asked(*more, options=GuardOptions(token=TOKEN)), 401, "warmset_token")


def test_the_token_opens_once_and_ends_here():
    options = GuardOptions(token=TOKEN)
    sent = (b"X-Warmset-Token", TOKEN.encode())
    client = asked(sent, options=options, method="GET", path=b"/headers")
    assert json.loads(client.body) == ["host"]
    assert refused(asked(sent, sent, options=options), 400, "warmset_request")
    assert asked(sent, options=GuardOptions()).status == 200
    assert TOKEN not in repr(options)
    assert TOKEN not in str(options)


# --- framing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [
        [(b"content-length", b"3"), (b"transfer-encoding", b"chunked")],
        [(b"Content-Length", b"3"), (b"content-length", b"3")],
        [(b"transfer-encoding", b"chunked")] * 2,
        [(b"content-length", b"+3")],
        [(b"content-length", b"-3")],
        [(b"content-length", b"3, 3")],
        [(b"content-length", b"0x3")],
        [(b"content-length", b"")],
        [(b"content-length", b"3_0")],
        [(b"content-length", b"0" * 19)],
        [(b"transfer-encoding", b"gzip, chunked")],
        [(b"transfer-encoding", b"identity")],
        [(b"transfer-encoding", b"")],
        [(b"authorization", b"Bearer a"), (b"Authorization", b"Bearer b")],
        [(b"x-api-key", b"a"), (b"x-api-key", b"b")],
        [(b"x-goog-api-key", b"a"), (b"x-goog-api-key", b"b")],
        [(b"api-key", b"a"), (b"api-key", b"b")],
        [(b"origin", b"http://localhost:8787")] * 2,
        [(b"sec-fetch-site", b"none"), (b"sec-fetch-site", b"cross-site")],
        [(b"x-a", b"1\r\nx-b: " + CANARY.encode())],
        [(b"x-a", b"1\x00")],
        [(b"x-a", b"\x7f" + CANARY.encode())],
    ],
)
def test_what_two_servers_could_read_in_two_ways_is_a_bad_request(more):
    assert refused(asked(*more), 400, "warmset_request")


@pytest.mark.parametrize(
    "more",
    [
        [(b"transfer-encoding", b"Chunked")],
        [(b"content-length", b"0" * 18)],
        [(b"accept", b"a"), (b"accept", b"b")],
        [(b"x-a", b"a\tb\xe9")],
        [(b"x-api-key", b"a"), (b"authorization", b"Bearer a")],
    ],
)
def test_what_all_servers_read_alike_passes(more):
    assert asked(*more).status == 200


def test_headers_have_a_most():
    size = len(b"host") + len(HOST[1]) + 4 + len(b"x-a") + 4
    options = GuardOptions(max_headers=size + 10)
    assert asked((b"x-a", b"v" * 10), options=options).status == 200
    assert refused(asked((b"x-a", b"v" * 11), options=options), 431, "warmset_headers")


# --- paths --------------------------------------------------------------------------------------

GOOD = [
    b"/",
    b"/v1/chat/completions",
    b"/v1/files/",
    b"/v1beta/models/gemini-2.5-pro:generateContent",
    b"/v1/a..b/...",
    b"/v1/a%2Eb",
    b"/v1/100%25",
    b"/v1/a%20b%C3%A9",
    b"/v1/%23/%3F;x=1",
]
BAD = [
    b"",
    b"v1",
    b"*",
    b"http://evil.example/v1",
    b"//evil.example/v1",
    b"/v1//x",
    b"/v1/../x",
    b"/..",
    b"/v1/.",
    b"/v1/./x",
    b"/v1/..;a=b/x",
    b"/v1/%2e%2e/x",
    b"/v1/%2E./x",
    b"/v1/.%2e",
    b"/v1/%252e%252e/x",
    b"/v1/%25zz/%252e%252e/x",
    b"/v1/%2fx",
    b"/v1/a%2Fb",
    b"/v1/a%252Fb",
    b"/v1/%2Fx",
    b"/v1/%252fx",
    b"/v1\\x",
    b"/v1/%5cx",
    b"/v1/%00",
    b"/v1/%0d%0ax",
    b"/v1/%7f",
    b"/v1/%C2%80",
    b"/v1/\x00",
    b"/v1/\x7f",
    b"/v1/ x",
    b"/v1/\xc3\xa9",
    b"/v1/%c0%ae%c0%ae/x",
    b"/v1/%ff",
    b"/v1/#x",
    b"/v1/%",
    b"/v1/%2",
    b"/v1/%zz",
    b"/v1/%25252525252e",
]


@pytest.mark.parametrize("path", GOOD)
def test_paths_of_apis_pass(path):
    assert fault_of(path) is None
    assert asked(path=path).status == 200


@pytest.mark.parametrize("path", BAD)
def test_paths_that_lead_elsewhere_are_bad_requests(path):
    assert fault_of(path) is not None
    assert refused(asked(path=path or b" "), 400, "warmset_request")


@given(
    st.lists(
        st.text(min_size=1).filter(
            lambda part: (
                not set("/\\") & set(part)
                and not any(
                    ord(one) < 32 or 127 <= ord(one) < 160 or ord(one) > 0xD7FF for one in part
                )
                and "%" not in part
                and part.partition(";")[0] not in (".", "..")
            )
        )
    )
)
def test_any_name_passes_once_it_is_escaped(parts):
    assert fault_of(b"/" + "/".join(quote(one, safe="") for one in parts).encode()) is None


TRICKS = ["a", "/", ".", "..", "%2e", "%2F", "%5C", "\\", ";", "%25", "2e", "%", "#", "%00", "é"]


@given(st.lists(st.sampled_from(TRICKS), max_size=8))
def test_no_reader_finds_another_path_behind_one_that_passes(pieces):
    raw = ("/" + "".join(pieces)).encode()
    if fault_of(raw) is not None:
        return
    text = raw.decode()
    for _ in range(6):
        parts = [one.split(";")[0] for one in text.split("/")]
        assert not {".", ".."} & set(parts)
        assert "" not in parts[1:-1]
        assert len(parts) == raw.decode().count("/") + 1
        assert not set("\\\0") & set(text)
        for escape, plain in (("%2e", "."), ("%2f", "/"), ("%5c", "\\"), ("%00", "\0")):
            text = text.replace(escape, plain).replace(escape.upper(), plain)
        text = text.replace("%25", "%")


@pytest.mark.parametrize("query", [b"a b", b"a#b", b"a\x00", b"a\xe9", b"\x7f"])
def test_a_query_is_visible_ascii(query):
    assert refused(asked(query=query), 400, "warmset_request")
    assert asked(query=b"a=%20b&c=//..'\"\\|~!").status == 200


def test_a_server_that_says_no_raw_path_is_judged_by_the_other():
    scope = scope_of()
    del scope["raw_path"]
    for path, status in (("/v1", 200), ("/v1/../x", 400)):
        client = Client()
        asyncio.run(
            Guard(ECHO, GuardOptions())({**scope, "path": path}, client.receive, client.send)
        )
        assert client.status == status


# --- bodies -------------------------------------------------------------------------------------


def test_a_body_that_says_it_is_too_large_is_not_read():
    options = GuardOptions(max_body=10)
    client = asked((b"content-length", b"11"), options=options, client=Client([b"x" * 11]))
    assert refused(client, 413, "warmset_body")
    assert client.taken == 0
    client = asked((b"content-length", b"10"), options=options, client=Client([b"x" * 10]))
    assert (client.status, client.body) == (200, b"10")


def test_a_body_in_pieces_is_read_as_far_as_it_is_allowed():
    options = GuardOptions(max_body=10)
    assert asked(options=options, client=Client([b"x" * 5, b"x" * 5])).body == b"10"
    client = asked(options=options, client=Client([b"x" * 5, b"x" * 6, b"x", b"x"]))
    assert refused(client, 413, "warmset_body")
    assert client.taken == 2


def test_a_slow_body_is_given_up_however_it_drips():
    options = GuardOptions(timeout_body=0.2)
    assert refused(asked(options=options, client=Client(pause=5)), 408, "warmset_slow")
    client = asked(options=options, client=Client([b"x"] * 1_000, pause=0.02))
    assert refused(client, 408, "warmset_slow")
    assert 2 <= client.taken <= 10
    assert asked(options=options, client=Client([b"x"] * 3, pause=0.02)).status == 200


def test_only_the_client_is_meant_to_be_quick():
    async def slow(_scope, receive, send):
        for _ in range(2):
            await receive()
            await asyncio.sleep(0.15)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    options = GuardOptions(timeout_body=0.1)
    assert asked(options=options, app=slow, client=Client([b"x", b"x"])).status == 200


def test_waiting_for_the_end_of_a_connection_takes_as_long_as_it_takes():
    async def streaming(_scope, receive, send):
        await receive()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(receive(), 0.2)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    assert asked(options=GuardOptions(timeout_body=0.05), app=streaming).status == 200


def test_a_body_that_is_refused_in_the_middle_of_an_answer_ends_it():
    async def eager(_scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()

    client = Client([b"x" * 11])
    guard = Guard(eager, GuardOptions(max_body=10))
    with pytest.raises(RefusedError):
        asyncio.run(guard(scope_of(), client.receive, client.send))
    assert [one["type"] for one in client.sent] == ["http.response.start"]


def test_an_answer_that_has_begun_is_ended_by_the_application():
    async def eager(_scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        with pytest.raises(RefusedError):
            await receive()
        await send({"type": "http.response.body", "body": b"early"})

    client = asked(options=GuardOptions(max_body=1), app=eager, client=Client([b"xx"]))
    assert [one["type"] for one in client.sent] == ["http.response.start", "http.response.body"]
    assert (client.status, client.body) == (200, b"early")


def test_an_application_that_goes_on_reading_gets_no_more():
    async def stubborn(_scope, receive, send):
        for _ in range(3):
            with pytest.raises(RefusedError):
                await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    client = asked(options=GuardOptions(max_body=1), app=stubborn, client=Client([b"xx", b"x"]))
    assert refused(client, 413, "warmset_body")
    assert client.taken == 1


def test_what_fails_in_the_application_is_its_own():
    async def broken(_scope, _receive, _send):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asked(app=broken)


def test_a_client_that_left_is_told_to_the_application():
    async def gone(_scope, receive, send):
        assert (await receive())["type"] == "http.disconnect"
        assert (await receive())["type"] == "http.disconnect"
        await send({"type": "http.response.start", "status": 200, "headers": []})

    client = Client()

    async def left():
        return {"type": "http.disconnect"}

    asyncio.run(Guard(gone, GuardOptions())(scope_of(), left, client.send))
    assert client.status == 200


# --- how many -----------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 3])
def test_one_more_than_the_most_is_asked_to_come_back(most):
    async def run():
        release = asyncio.Event()

        async def waiting(_scope, _receive, send):
            await release.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            raise ZeroDivisionError

        guard = Guard(waiting, GuardOptions(concurrency=most))

        async def ask(client, path=b"/v1"):
            try:
                await guard(scope_of(path=path), client.receive, client.send)
            except ZeroDivisionError:
                return client
            return client

        for _ in range(2):  # places are given back, also after a failure
            release.clear()
            held = [asyncio.create_task(ask(Client())) for _ in range(most)]
            await asyncio.sleep(0)
            busy = await ask(Client())
            assert refused(busy, 503, "warmset_busy")
            assert busy.headers["retry-after"] == "1"
            own = asyncio.create_task(ask(Client(), b"/_warmset/health"))
            await asyncio.sleep(0)
            release.set()
            assert {one.status for one in [*await asyncio.gather(*held), await own]} == {200}

    asyncio.run(asyncio.wait_for(run(), 20))


def test_refusals_are_counted_by_their_type():
    seen = []
    guard = Guard(ECHO, GuardOptions(), refused=seen.append)
    for host in (HOST, (b"host", b"evil.example"), None):
        client = Client()
        asyncio.run(guard(scope_of(host=host), client.receive, client.send))
    assert seen == ["warmset_host", "warmset_request"]


# --- the rest -----------------------------------------------------------------------------------


def test_other_protocols():
    client, asked_for = Client(), []

    async def app(scope, _receive, _send):
        asked_for.append(scope["type"])

    async def run(kind):
        await Guard(app, GuardOptions())({"type": kind}, client.receive, client.send)

    asyncio.run(run("lifespan"))
    assert asked_for == ["lifespan"]
    asyncio.run(run("websocket"))
    assert asked_for == ["lifespan"]
    assert client.sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hosts", ()),
        ("hosts", ("me@localhost",)),
        ("hosts", ("localhost", "")),
        ("hosts", ("*",)),
        ("token", ""),
        ("token", "a b"),
        ("token", "é"),
        ("token", "a\n"),
        ("max_body", 0),
        ("max_headers", 0),
        ("timeout_body", 0),
        ("timeout_body", float("nan")),
        ("concurrency", 0),
    ],
)
def test_options_out_of_range_say_which(name, value):
    with pytest.raises(InvalidInputError, match=name):
        GuardOptions(**{name: value})


@pytest.mark.parametrize("name", ["max_body", "max_headers", "timeout_body", "concurrency"])
def test_the_least_of_each_limit_is_one(name):
    assert getattr(GuardOptions(**{name: 1}), name) == 1


@given(st.text(max_size=20))
def test_a_host_that_is_read_is_written_alike(text):
    found = read_host(text)
    if found is not None:
        name, port = found
        assert f"{name}{'' if port is None else f':{port}'}" == text.lower()


def test_nothing_that_was_sent_is_said_again(caplog):
    caplog.set_level(0)
    canary = CANARY.encode()
    for fields in (
        {"host": (b"host", canary)},
        {"path": b"/" + canary + b"/.."},
        {"query": canary + b"#"},
        {"options": GuardOptions(token=TOKEN)},
    ):
        client = asked(
            (b"authorization", b"Bearer " + canary), (b"x-warmset-token", canary), **fields
        )
        assert client.status >= 400
        assert CANARY not in repr(client.sent)
    assert CANARY not in caplog.text
