"""Where the proxy may listen, and which upstreams it may be given."""

from __future__ import annotations

import ipaddress
import socket

import pytest
from hypothesis import given, strategies as st

from warmset.errors import InvalidInputError
from warmset.serve.proxy.guard import check_bind, check_upstream, is_public

CANARY = "sk-canary-5e0bd1"
PUBLIC = "93.184.216.34"


def resolver(*addresses):
    def resolve(_host, port):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in addresses]

    return resolve


def nobody(_host, _port):
    raise AssertionError("no name is to be resolved")


def checked(url, *addresses, private=()):
    return check_upstream(url, private=private, resolve=resolver(*(addresses or (PUBLIC,))))


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST", "127.0.0.1", "127.255.255.255", "::1", "[::1]", "::ffff:127.0.0.1"],
)
def test_the_loopback_is_for_this_machine(host):
    check_bind(host, allow_remote=False, token=None)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "0",
        "::",
        "::2",
        "126.255.255.255",
        "128.0.0.0",
        "10.0.0.1",
        "127.1",
        "2130706433",
        "host.example",
        "localhost.evil.example",
        "::ffff:10.0.0.1",
    ],
)
def test_what_others_reach_needs_a_word_and_a_token(host):
    with pytest.raises(InvalidInputError, match="--allow-remote"):
        check_bind(host, allow_remote=False, token="t" * 16)
    for token in (None, "", "t" * 15):
        with pytest.raises(InvalidInputError, match="at least 16 characters"):
            check_bind(host, allow_remote=True, token=token)
    check_bind(host, allow_remote=True, token="t" * 16)


@pytest.mark.parametrize(
    ("url", "usual"),
    [
        ("https://API.example", "https://api.example"),
        ("HTTPS://api.example:443/", "https://api.example"),
        ("https://api.example.:8443/v1/", "https://api.example:8443/v1"),
        ("https://api.example:80/V1/Deployments", "https://api.example:80/V1/Deployments"),
        ("https://93.184.216.34", "https://93.184.216.34"),
        ("https://[2606:2800:0220:0::1]/v1", "https://[2606:2800:220::1]/v1"),
        ("https://xn--bcher-kva.example:65535", "https://xn--bcher-kva.example:65535"),
    ],
)
def test_an_upstream_in_its_usual_form(url, usual):
    assert checked(url) == usual


@pytest.mark.parametrize(
    ("url", "usual"),
    [
        ("http://localhost:11434/v1", "http://localhost:11434/v1"),
        ("http://127.0.0.1:80", "http://127.0.0.1"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("https://localhost", "https://localhost"),
    ],
)
def test_the_loopback_as_it_is_written_is_not_resolved(url, usual):
    assert check_upstream(url, resolve=nobody) == usual


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example",
        "//api.example",
        "http:api.example",
        "https:/api.example",
        "ftp://api.example",
        "file:///etc/passwd",
        "https://",
        "https://:443",
        f"https://{CANARY}@api.example",
        f"https://me:{CANARY}@api.example",
        f"https://api.example?key={CANARY}",
        "https://api.example?",
        "https://api.example#",
        "https://api.example/#x",
        "https://api.example/a/../b",
        "https://api.example//v1",
        "https://api.example/%2e%2e/",
        "https://api.example/%2f",
        "https://api.example\\@evil.example",
        "https://api.exam\nple",
        "https://api.exam\tple",
        " https://api.example",
        "https://api.example ",
        "https://api.exámple",
        "https://api.example:0",
        "https://api.example:65536",
        "https://api.example:",
        "https://api.example:+80",
        "https://api..example",
        "https://-api.example",
        "https://[::1",
        "https://::1",
        "https://[::1%25lo]",
        "https://[1.2.3.4]",
        "https://[v1.x]",
        "https://2130706433",
        "https://0x7f000001",
        "https://0x7f.1",
        "https://0177.0.0.1",
        "https://127.1",
        "https://017700000001",
        "https://10.0.0.256",
        "https://1.2.3.4.5",
        "https://example.0x",
    ],
)
def test_what_is_no_upstream(url):
    with pytest.raises(InvalidInputError) as raised:
        check_upstream(url, resolve=resolver(PUBLIC))
    assert CANARY not in f"{raised.value!r} {raised.value}"
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    "url",
    ["http://api.example", "http://api.example:8080", "http://93.184.216.34", "http://10.0.0.5:81"],
)
def test_http_is_for_the_loopback_and_what_is_listed(url):
    with pytest.raises(InvalidInputError, match="use https"):
        checked(url)
    host = url.removeprefix("http://")
    assert checked(url, private=[host if ":" in host else f"{host}:80"]) == url


@pytest.mark.parametrize("end", ["/@me", "/v1?x", "/v1#x"])
def test_a_base_url_ends_with_its_path(end):
    with pytest.raises(InvalidInputError, match="without a user, a query and a fragment"):
        checked(f"https://api.example{end}")


NOT_PUBLIC = [
    "0.0.0.0",  # noqa: S104 - nobody listens there
    "0.1.2.3",
    "10.0.0.0",
    "10.255.255.255",
    "100.64.0.0",
    "100.127.255.255",
    "127.0.0.1",
    "169.254.0.0",
    "169.254.169.254",
    "172.16.0.0",
    "172.31.255.255",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.0",
    "192.168.255.255",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.0",
    "239.255.255.255",
    "240.0.0.0",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:a9fe:a9fe",
    "::10.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::5db8:d822",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2001:0:5db8:d822::1",
    "2001:db8::1",
    "fc00::",
    "fdff::1",
    "fe80::1",
    "fe80::1%lo",
    "2606:2800:220::1%lo",
    "febf::1",
    "fec0::1",
    "ff02::1",
]
PUBLICS = [
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "223.255.255.255",
    "2606:2800:220::1",
    "::ffff:93.184.216.34",
    "64:ff9b::5db8:d822",
    "2002:5db8:d822::1",
]


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_an_address_that_is_not_public_is_refused_unless_it_is_listed(address):
    assert not is_public(address)
    with pytest.raises(InvalidInputError, match="not public") as raised:
        checked("https://models.example", PUBLIC, address)
    assert address not in str(raised.value)
    listed = ["Models.Example:443"]
    assert checked("https://models.example", address, private=listed) == "https://models.example"


@pytest.mark.parametrize("address", PUBLICS)
def test_an_address_next_to_them_is_public(address):
    assert is_public(address)
    assert checked("https://models.example", address)


@pytest.mark.parametrize("text", ["", "localhost", "127.1", "010.0.0.1", "1.1.1.1 ", "1.1.1.1:80"])
def test_what_is_no_address_is_not_public(text):
    assert not is_public(text)


@given(st.ip_addresses(v=4))
def test_an_address_within_another_is_judged_as_itself(address):
    public = is_public(str(address))
    assert public <= address.is_global
    for prefix in ("::ffff:0:0", "64:ff9b::"):
        inside = ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) | int(address))
        assert is_public(str(inside)) == public
    sixtofour = ipaddress.IPv6Address((0x2002 << 112) | (int(address) << 80))
    assert is_public(str(sixtofour)) == public


@pytest.mark.parametrize(
    ("listed", "url"),
    [
        ("10.0.0.5:8080", "https://10.0.0.5:8081"),
        ("10.0.0.5:8080", "https://10.0.0.5"),
        ("10.0.0.6:443", "https://10.0.0.5"),
        ("[fd00::1]:443", "https://[fd00::2]"),
        ("a.example:443", "https://b.a.example"),
    ],
)
def test_what_is_listed_is_that_host_and_that_port(listed, url):
    host = url.removeprefix("https://").rpartition(":")[0].strip("[]") or "10.0.0.5"
    address = host if host[0] in "1f" else "10.0.0.5"
    with pytest.raises(InvalidInputError, match="not public"):
        checked(url, address, private=[listed])


def test_a_listed_address_is_not_resolved():
    for listed, url in (
        ("10.0.0.5:8080", "http://10.0.0.5:8080"),
        ("[FD00:0::1]:80", "http://[fd00::1]"),
    ):
        assert check_upstream(url, private=[listed], resolve=nobody) == url


@pytest.mark.parametrize(
    "listed", ["", "10.0.0.5", "10.0.0.5:0", "http://10.0.0.5:80", "[::1]", "a b:80"]
)
def test_what_is_listed_has_a_port(listed):
    with pytest.raises(InvalidInputError, match="private"):
        checked("https://api.example", private=[listed])


@pytest.mark.parametrize("error", [socket.gaierror(-2, CANARY), UnicodeError(CANARY)])
def test_a_name_without_addresses_is_refused(error):
    def fails(_host, _port):
        raise error

    for resolve in (fails, lambda _host, _port: []):
        with pytest.raises(InvalidInputError, match="has no address") as raised:
            check_upstream("https://api.example", resolve=resolve)
        assert CANARY not in str(raised.value)


def test_a_real_name_is_resolved():
    with pytest.raises(InvalidInputError, match="has no address"):
        check_upstream("https://nowhere.invalid")
