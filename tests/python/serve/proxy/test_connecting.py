"""Connections go to addresses that were checked, whatever a name leads to a moment later."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading

import httpcore2
import httpx2
import pytest

from warmset.errors import InvalidInputError
from warmset.serve.proxy import connecting as connecting_module
from warmset.serve.proxy.addresses import check_upstream
from warmset.serve.proxy.connecting import Connecting, Transport
from warmset.serve.proxy.options import ProxyOptions
from warmset.serve.proxy.upstream import BASES, Upstream, Upstreams

PUBLIC, OTHER = "93.184.216.34", "2606:2800:220::1"


class Names:
    """What names lead to: the next answer each time, then the last one."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def __call__(self, host, port):
        self.asked.append((host, port))
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        return found


class Wires:
    """Stands for the network; an address answers at once, soon, never, or refuses."""

    def __init__(self, how=None):
        self.how = how or {}
        self.tried = []
        self.closed = []

    async def connect_tcp(self, host, port, **_options):
        self.tried.append((host, port))
        how = self.how.get(host, "answers")
        if how == "slow":
            await asyncio.sleep(0.01)
        if how == "silent":
            await asyncio.Event().wait()
        if how == "refuses":
            raise httpcore2.ConnectError("refused")
        return Stream(host, self.closed)


class Stream:
    def __init__(self, address, closed):
        self.address, self.closed = address, closed

    async def aclose(self):
        self.closed.append(self.address)


def connected(names, wires, host="api.example", port=443, private=(), timeout=5.0):
    """Connect; return the address that was connected to."""
    connecting = Connecting(private, resolve=names)
    connecting._backend = wires

    async def connect():
        async with asyncio.timeout(10):  # it ends by itself before that
            return (await connecting.connect_tcp(host, port, timeout=timeout)).address

    return asyncio.run(connect())


def test_a_public_name_is_connected_to_at_an_address_that_was_checked():
    names, wires = Names([PUBLIC], ["127.0.0.1"]), Wires()
    assert connected(names, wires) == PUBLIC
    assert names.asked == [("api.example", 443)]
    assert wires.tried == [(PUBLIC, 443)]


@pytest.mark.parametrize(
    "found",
    [
        ["127.0.0.1"],
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["::1"],
        ["::ffff:10.0.0.1"],
        ["fd00::1"],
        ["0.0.0.0"],  # noqa: S104
        [PUBLIC, "10.0.0.1"],
        ["10.0.0.1", PUBLIC],
        ["fe80::1%2"],
        ["no address"],
    ],
)
def test_a_name_with_an_address_that_is_not_public_is_not_connected_to(caplog, found):
    wires = Wires()
    with (
        caplog.at_level(logging.WARNING, "warmset.serve"),
        pytest.raises(httpcore2.ConnectError, match="not public"),
    ):
        connected(Names(found), wires)
    assert wires.tried == []
    [told] = caplog.records
    assert "address_refused host='api.example' port=443" in told.getMessage()


@pytest.mark.parametrize("found", [[], socket.gaierror("none"), UnicodeError()])
def test_a_name_without_an_address_is_not_connected_to(found):
    wires = Wires()
    with pytest.raises(httpcore2.ConnectError, match="no address"):
        connected(Names(found), wires, private=["api.example:443"])
    assert wires.tried == []


def test_what_is_listed_may_have_any_address_at_its_port():
    assert connected(Names(["10.0.0.1"]), Wires(), private=["API.example:443"]) == "10.0.0.1"
    with pytest.raises(httpcore2.ConnectError, match="not public"):
        connected(Names(["10.0.0.1"]), Wires(), private=["api.example:444", "b.example:443"])
    assert connected(Names(["fd00::1"]), Wires(), "fd00::1", 80, ["[fd00::1]:80"]) == "fd00::1"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_the_loopback_leads_to_the_loopback_alone(host):
    assert connected(Names(["::1", "127.0.0.1"]), Wires(), host) == "::1"
    for other in (PUBLIC, "10.0.0.1"):
        with pytest.raises(httpcore2.ConnectError, match="not public"):
            connected(Names(["127.0.0.1", other]), Wires(), host)


def test_another_address_is_tried_if_one_refuses_or_is_silent():
    for how in ("refuses", "silent"):
        wires = Wires({OTHER: how})
        assert connected(Names([OTHER, PUBLIC]), wires) == PUBLIC
        assert wires.tried == [(OTHER, 443), (PUBLIC, 443)]
        assert wires.closed == []


def test_an_address_that_answers_soon_is_the_only_one_that_is_tried(monkeypatch):
    monkeypatch.setattr(connecting_module, "STAGGER", 60)
    wires = Wires({OTHER: "slow"})
    assert connected(Names([OTHER, PUBLIC]), wires) == OTHER
    assert wires.tried == [(OTHER, 443)]


def test_no_address_that_answers_is_told():
    wires = Wires({OTHER: "refuses", PUBLIC: "refuses"})
    with pytest.raises(httpcore2.ConnectError, match="cannot be reached"):
        connected(Names([OTHER, PUBLIC]), wires)
    with pytest.raises(httpcore2.ConnectTimeout):
        connected(Names([PUBLIC]), Wires({PUBLIC: "silent"}), timeout=0.02)


def test_what_is_given_up_is_not_left_open():
    async def both():
        names, wires = Names([OTHER, PUBLIC]), Wires()
        connecting = Connecting(resolve=names)
        meet = asyncio.Event()

        async def connect_tcp(host, _port, **_options):
            wires.tried.append(host)
            if len(wires.tried) == 2:
                meet.set()
            await meet.wait()
            return Stream(host, wires.closed)

        wires.connect_tcp = connect_tcp
        connecting._backend = wires
        made = await connecting.connect_tcp("api.example", 443, timeout=5)
        return made.address, wires

    address, wires = asyncio.run(both())
    assert sorted([address, *wires.closed]) == sorted([OTHER, PUBLIC])


@pytest.fixture
def listening():
    """A socket of the loopback that nobody may connect to."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(0.05)
        yield made


def asked(names, url, private=()):
    """Ask an upstream for something; return what it answers."""

    async def ask():
        upstream = Upstream(
            Upstreams({**BASES, "openai": url}),
            timeout=5,
            connections=2,
            connecting=Connecting(private, resolve=names),
        )
        try:
            where = upstream.upstreams.url("openai", "/v1/models", "")
            async with upstream.answer("GET", where, [], b"") as answer:
                return await answer.aread()
        finally:
            await upstream.aclose()

    return asyncio.run(ask())


def test_a_name_that_was_public_and_is_private_now_is_refused(listening):
    port = listening.getsockname()[1]

    def before(_host, port):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (PUBLIC, port))]

    url = check_upstream(f"https://rebound.example:{port}", resolve=before)
    names = Names(["127.0.0.1"])
    with pytest.raises(httpx2.ConnectError, match="not public"):
        asked(names, url)
    assert names.asked == [("rebound.example", port)]
    with pytest.raises(TimeoutError):
        listening.accept()


def test_the_name_stays_in_host_and_in_tls(listening):
    port, seen = listening.getsockname()[1], []
    listening.settimeout(10)

    def serve():
        for _turn in range(2):
            wire, _place = listening.accept()
            with wire:
                seen.append(wire.recv(65_536))
                if seen[-1].startswith(b"GET"):
                    wire.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")

    thread = threading.Thread(target=serve)
    thread.start()
    names, private = Names(["127.0.0.1"]), [f"models.local:{port}"]
    assert asked(names, f"http://models.local:{port}", private) == b"hi"
    with pytest.raises(httpx2.ConnectError):  # the server speaks no TLS
        asked(names, f"https://models.local:{port}", private)
    thread.join(10)
    plain, hello = seen
    assert b"user-agent" not in plain.lower()
    assert b"\r\naccept:" not in plain.lower()
    assert f"Host: models.local:{port}\r\n".encode() in plain
    assert b"models.local" in hello
    assert hello.startswith(b"\x16\x03")


def test_the_environment_names_no_proxy(listening, monkeypatch):
    """The connection is made to the upstream, whatever proxy the environment has."""
    port = listening.getsockname()[1]
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
    monkeypatch.setenv("NO_PROXY", "")
    names = Names(OSError())
    with pytest.raises(httpx2.ConnectError, match="no address"):
        asked(names, "http://models.local:9", ["models.local:9"])
    assert names.asked == [("models.local", 9)]


def test_every_upstream_of_the_proxy_is_connected_to_so(proxied):
    url = "http://localtest.invalid:9"
    with proxied(url) as proxy:
        got = httpx2.get(f"{proxy.url}/v1/models")
        assert got.status_code == 502
        assert got.json()["error"]["type"] == "warmset_upstream"


def test_the_pool_of_httpx_is_the_one_with_checked_connections():
    connecting = Connecting()
    limits = httpx2.Limits(max_connections=7, max_keepalive_connections=3)
    pool = Transport(connecting, limits)._pool
    assert pool._network_backend is connecting
    assert (pool._max_connections, pool._max_keepalive_connections) == (7, 3)


def test_what_is_listed_is_looked_at_first():
    with pytest.raises(InvalidInputError, match="private"):
        ProxyOptions(private=("models.local",))
