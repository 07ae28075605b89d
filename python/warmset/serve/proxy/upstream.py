"""The providers behind the proxy: which one a request goes to, and what comes back."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Final

import httpx2

from warmset.errors import InvalidInputError
from warmset.serve.proxy.connecting import Connecting, Transport
from warmset.serve.proxy.surfaces import PROVIDERS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

    from warmset.serve.proxy.surfaces import Provider

BASES: Final[Mapping[Provider, str]] = {
    "openai": "https://api.openai.com",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
"""Where the providers are, if nothing else is said."""

_BY_NAME: Final[Mapping[str, list[Provider]]] = {one: [one] for one in PROVIDERS}

OWN: Final = "x-warmset"
"""How the headers begin that are for the proxy, or from it."""

_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers of one connection, by RFC 9110, which end here."""

_MADE: Final = frozenset({"host", "content-length", "accept-encoding", "expect"})
"""Headers of a request that are made anew. Answers come without compression: they are the bytes
that the client would have after decoding, and a copy of them can be read."""

LARGEST_STATUS: Final = 599

CONNECT: Final = 10.0
"""Seconds to connect to an upstream."""


@dataclass(frozen=True, slots=True)
class Upstreams:
    """Where requests go: nowhere else, whatever a request says.

    Args:
        bases: The base URL of each provider.

    Raises:
        InvalidInputError: A name is none of a provider.
    """

    bases: Mapping[Provider, str]

    @classmethod
    def of(cls, given: Iterable[str]) -> Upstreams:
        """Return those of a command line: a URL for all providers, or `NAME=URL` for one.

        Raises:
            InvalidInputError: One is neither, or two are for the same provider.
        """
        bases: dict[Provider, str] = {}
        known: list[Provider]
        for one in given:
            name, equals, url = one.partition("=")
            known = _BY_NAME.get(name.strip().lower(), [])
            if not equals or "://" in name:
                known = [each for each in PROVIDERS if each not in bases]
                url = one
            elif not known:
                names = ", ".join(PROVIDERS)
                raise InvalidInputError(f"upstream: expected a URL, or one of {names} = URL")
            if any(each in bases for each in known):
                raise InvalidInputError(f"upstream: {name.strip()} is given twice")
            bases |= {each: url.strip().rstrip("/") for each in known}
        return cls({**BASES, **bases})

    def url(self, provider: Provider, path: str, query: str) -> httpx2.URL:
        """Return the address of a request.

        A base that ends in a version, as `http://host/v1` does, takes paths that begin with it.
        """
        base = self.bases[provider]
        for version in ("/v1", "/v1beta"):
            if base.endswith(version) and path.startswith(f"{version}/"):
                base = base.removesuffix(version)
        return httpx2.URL(f"{base}{path}{'?' if query else ''}{query}")


def forwarded(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of a request that go upstream, in their order.

    Args:
        headers: All of them, as ASGI has them.
    """
    kept = _kept(list(headers))
    own = OWN.encode()
    sent = [one for one in kept if one[0].decode("latin-1") not in _MADE]
    sent = [one for one in sent if not one[0].startswith(own)]
    return [*sent, (b"accept-encoding", b"identity")]


def returned(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer that go back to the client, in their order."""
    own = OWN.encode()
    return [one for one in _kept(list(headers)) if not one[0].startswith(own)]


def with_beta(
    headers: Sequence[tuple[bytes, bytes]], beta: str | None
) -> list[tuple[bytes, bytes]]:
    """Return headers with a value of `anthropic-beta` more, if it is not there already."""
    if beta is None:
        return list(headers)
    name = b"anthropic-beta"
    there = [value for key, value in headers if key == name]
    known = {one.strip() for value in there for one in value.decode("latin-1").split(",")}
    wanted = [one for one in map(str.strip, beta.split(",")) if one not in known]
    value = b", ".join([*there, *(one.encode("latin-1") for one in wanted)])
    return [*(one for one in headers if one[0] != name), (name, value)]


def _kept(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    lower = [(name.lower(), value) for name, value in headers]
    named = {
        one.strip().lower()
        for name, value in lower
        if name == b"connection"
        for one in value.decode("latin-1").split(",")
    }
    return [one for one in lower if one[0].decode("latin-1") not in _HOP | named]


class Upstream:
    """The connections to the providers.

    Args:
        upstreams: Where they are.
        timeout: Seconds that an upstream may be silent.
        connections: The most connections at once.
        connecting: Makes connections; to what is public and to the loopback if not given.
    """

    def __init__(
        self,
        upstreams: Upstreams,
        *,
        timeout: float,
        connections: int,
        connecting: Connecting | None = None,
    ) -> None:
        self.upstreams = upstreams
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._client = httpx2.AsyncClient(
            follow_redirects=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # callers keep their own
            timeout=httpx2.Timeout(timeout, connect=CONNECT),
            transport=Transport(connecting or Connecting(), limits),
        )

    @asynccontextmanager
    async def answer(
        self,
        method: str,
        url: httpx2.URL,
        headers: Sequence[tuple[bytes, bytes]],
        body: bytes,
    ) -> AsyncIterator[httpx2.Response]:
        """Send a request, and hand out the answer while its bytes arrive.

        Raises:
            httpx2.HTTPError: The upstream does not answer.
        """
        request = self._client.build_request(
            method, url, headers=list(headers), content=body or None
        )
        for name in ("user-agent", "accept"):  # what the library adds is not the client's
            if not any(key.decode("latin-1") == name for key, _value in headers):
                request.headers.pop(name, None)
        answer = await self._client.send(request, stream=True)
        try:
            if answer.status_code > LARGEST_STATUS:  # which no answer of ours can have
                raise httpx2.RemoteProtocolError(f"no status of HTTP: {answer.status_code}")
            yield answer
        finally:
            await answer.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()
