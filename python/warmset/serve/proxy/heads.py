"""What the head of a request must be like: its host, its origin, its path and its framing."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError
from warmset.serve.listening import LARGEST_PORT
from warmset.serve.proxy.addresses import PORTS
from warmset.serve.proxy.paths import fault_of, raw_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

TOKEN: Final = b"x-warmset-token"
"""The header with the shared token; it ends here."""

_ONCE: Final = (
    b"host",
    b"origin",
    b"sec-fetch-site",
    b"content-length",
    b"transfer-encoding",
    b"authorization",
    b"proxy-authorization",
    b"x-api-key",
    b"x-goog-api-key",
    b"api-key",
    TOKEN,
)
"""Headers that say who sends what to whom: two of one kind would be read in two ways."""

_PER_HEADER: Final = 4
"""Bytes of a header besides its name and its value: a colon, a space and the end of the line."""

_HOST: Final = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::([1-9][0-9]{0,4}))?")
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_QUERY: Final = re.compile(rb"[!-\"$-~]*")
_DIGITS: Final = 18
"""The most digits of a length; more would not fit in 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardOptions:
    """Who is let in, and how much one request may cost.

    Args:
        hosts: The names that the proxy is known by, each alone or with a port, as
            `proxy.example:443`. One without has the port of the socket. A name that is not listed
            is refused, whatever address it has: a page in a browser could be behind it.
        token: What the header `x-warmset-token` must have; None for no token.
        max_body: The most bytes of a body.
        max_headers: The most bytes of all headers together.
        timeout_body: Seconds that a client may keep the proxy waiting for a body.
        concurrency: The most requests at once; those for the proxy's own pages are counted apart.

    Raises:
        InvalidInputError: A name is none of a host, the token cannot be in a header, or a number is
            not positive.
    """

    hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
    token: str | None = field(default=None, repr=False)
    max_body: int = 64 << 20
    max_headers: int = 32 << 10
    timeout_body: float = 60.0
    concurrency: int = 256

    def __post_init__(self) -> None:
        for at, one in enumerate(self.hosts):
            if read_host(one) is None:
                raise InvalidInputError(
                    f"hosts: expected names as localhost, [::1] or proxy.example:443; number "
                    f"{at + 1} is none"
                )
        if not self.hosts:
            raise InvalidInputError("hosts: expected at least one name that the proxy is known by")
        if self.token is not None and not re.fullmatch(r"[!-~]+", self.token):
            raise InvalidInputError("token: expected visible ASCII without spaces, at least one")
        for name in ("max_body", "max_headers", "timeout_body", "concurrency"):
            if not getattr(self, name) > 0:
                raise InvalidInputError(f"{name}: expected more than 0")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused, without a word of what was sent.

    Args:
        status: The status of the answer.
        type: A word for programs.
        message: What is wrong, and what to do.
    """

    status: HTTPStatus
    type: str
    message: str


def read_host(given: str) -> tuple[str, int | None] | None:
    """Return the name and the port of a `Host`; None if it is none, as one with a user."""
    found = _HOST.fullmatch(given.lower()) if given.isascii() else None
    if found is None or int(found[2] or 1) > LARGEST_PORT:
        return None
    return found[1], None if found[2] is None else int(found[2])


def refusal_of(scope: Mapping[str, Any], options: GuardOptions) -> Refusal | None:
    """Return why a request is refused for its head; None if it is not.

    Args:
        scope: The request, as ASGI has it.
        options: Who is let in.
    """
    head = _Head.of(scope)
    size = sum(len(name) + len(value) + _PER_HEADER for name, value in scope["headers"])
    if size > options.max_headers:
        return Refusal(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            "warmset_headers",
            f"the headers have more than {options.max_headers} bytes together; send less",
        )
    return (
        head.framing_fault()
        or _target_fault(scope)
        or head.host_fault(options.hosts, scope.get("server"))
        or head.origin_fault(scope["method"])
        or head.token_fault(options.token)
        or head.length_fault(options.max_body)
    )


@dataclass(frozen=True, slots=True)
class _Head:
    """The headers of a request by their names in lower case."""

    values: Mapping[bytes, Sequence[bytes]]

    @classmethod
    def of(cls, scope: Mapping[str, Any]) -> _Head:
        values: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            values.setdefault(name.lower(), []).append(value.strip(b" \t"))
        return cls(values)

    def one(self, name: bytes) -> bytes | None:
        """Return the value of a header; None if it is not there."""
        found = self.values.get(name)
        return found[0] if found else None

    def framing_fault(self) -> Refusal | None:
        """Look for headers that two servers could read in two ways."""
        length, coding = self.one(b"content-length"), self.one(b"transfer-encoding")
        if any(len(self.values.get(name, ())) > 1 for name in _ONCE):
            return _bad("a header that may be there once was sent twice; send it once")
        if any(_CONTROL.search(one) for found in self.values.values() for one in found):
            return _bad("a header has control characters; send visible characters")
        if length is not None and coding is not None:
            return _bad("Content-Length and Transfer-Encoding were both sent; send one of them")
        if length is not None and not (length.isdigit() and len(length) <= _DIGITS):
            return _bad("Content-Length must be a number; send the number of bytes of the body")
        if coding is not None and coding.lower() != b"chunked":
            return _bad("Transfer-Encoding must be chunked; send the body in chunks, or its length")
        return None

    def host_fault(self, hosts: Iterable[str], server: Sequence[Any] | None) -> Refusal | None:
        """Look whether the request is meant for this proxy, and not for a name that leads here."""
        given = self.one(b"host")
        found = None if given is None else read_host(given.decode("latin-1"))
        if found is None:
            return _bad("Host must be there, and be a name or an address, with its port")
        name, port = found
        own = server[1] if server else None
        for known in map(read_host, hosts):
            if known is not None and known[0] == name and _same_port(port, known[1] or own):
                return None
        return Refusal(
            HTTPStatus.MISDIRECTED_REQUEST,
            "warmset_host",
            "the proxy is not known by the name and port in Host; use the base URL that it said "
            "when it started, or add the name to its hosts",
        )

    def origin_fault(self, method: str) -> Refusal | None:
        """Look whether a page of another site sent the request through somebody's browser."""
        site, origin = self.one(b"sec-fetch-site"), self.one(b"origin")
        host = (self.one(b"host") or b"").lower()
        own = {b"%s://%s" % (scheme.encode(), host) for scheme in PORTS}
        other = origin is not None and origin.lower() not in own
        if other or method == "OPTIONS" or site not in (None, b"none", b"same-origin"):
            return Refusal(
                HTTPStatus.FORBIDDEN,
                "warmset_origin",
                "pages of other sites may not use the proxy; call it from a program, or let your "
                "own server call it",
            )
        return None

    def token_fault(self, token: str | None) -> Refusal | None:
        """Compare the shared token, in a time that does not depend on where it differs."""
        given = self.one(TOKEN) or b""
        if token is None or hmac.compare_digest(_hash(given), _hash(token.encode())):
            return None
        return Refusal(
            HTTPStatus.UNAUTHORIZED,
            "warmset_token",
            "the shared token is missing or wrong; send it in the header x-warmset-token",
        )

    def length_fault(self, most: int) -> Refusal | None:
        """Look at the length that the body is said to have."""
        return too_large(most) if int(self.one(b"content-length") or 0) > most else None


def too_large(most: int) -> Refusal:
    """Return the refusal of a body with more bytes than are allowed."""
    return Refusal(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "warmset_body",
        f"the body has more than {most} bytes; send less, or send it to the provider itself",
    )


def _target_fault(scope: Mapping[str, Any]) -> Refusal | None:
    """Look for a path or a query that two servers could read in two ways."""
    if not _QUERY.fullmatch(scope["query_string"]):
        return _bad("the query must be ASCII without spaces and #; escape other characters")
    fault = fault_of(raw_of(scope))
    return None if fault is None else _bad(f"{fault}; send the path as the API has it")


def _bad(message: str) -> Refusal:
    return Refusal(HTTPStatus.BAD_REQUEST, "warmset_request", message)


def _same_port(given: int | None, wanted: int | None) -> bool:
    """Compare ports; clients leave one out that is their scheme's, and a socket may have none."""
    return given == wanted or (given is None and wanted in PORTS.values())


def _hash(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()
