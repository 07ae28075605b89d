"""Where the proxy may listen, and which upstreams it may be given."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import SplitResult, urlsplit

from warmset.errors import InvalidInputError
from warmset.serve.listening import LARGEST_PORT
from warmset.serve.proxy.paths import fault_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Resolve: TypeAlias = Callable[[str, int], Iterable[Any]]

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

PORTS: Final = {"http": 80, "https": 443}
"""The port of each scheme where a URL has none."""


SHORTEST_TOKEN: Final = 16
"""The fewest characters of a shared token that stands between the proxy and a network."""

_NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_RELAYS: Final = ipaddress.IPv4Network("192.88.99.0/24")


@dataclass(frozen=True, slots=True)
class Place:
    """A host and a port.

    Args:
        host: A name in lower case, or an address in its usual form, without brackets.
        port: The port.
    """

    host: str
    port: int

    @property
    def shown(self) -> str:
        """The host as URLs have it."""
        return f"[{self.host}]" if ":" in self.host else self.host


def check_bind(host: str, *, allow_remote: bool, token: str | None) -> None:
    """Refuse to listen where others may connect, unless that is meant and a token protects it.

    An address of the loopback and the name `localhost` are for this machine alone. Every other name
    and form of an address counts as one that others reach, and so does the empty one.

    Args:
        host: The address.
        allow_remote: Whether that is meant.
        token: The shared token; None if there is none.

    Raises:
        InvalidInputError: It is not meant, or no token of at least 16 characters protects it.
    """
    if is_loopback(host):
        return
    if not allow_remote:
        raise InvalidInputError(
            "host: others could connect there; listen at 127.0.0.1, or give --allow-remote and a "
            "shared token, behind a server that does TLS"
        )
    if token is None or len(token) < SHORTEST_TOKEN:
        raise InvalidInputError(
            f"token: others could connect there; give a shared token of at least {SHORTEST_TOKEN} "
            "characters"
        )


def check_upstream(
    url: str, *, private: Iterable[str] = (), resolve: Resolve = socket.getaddrinfo
) -> str:
    """Check the base URL of an upstream, and return it in its usual form.

    It is `https`, or `http` to the loopback and to what is listed as private. It has no user, no
    query and no fragment. All addresses of its name must be public: none is private, link-local,
    multicast, reserved or unspecified, also where such an address is written as IPv6. The loopback
    is allowed where it is written out: `localhost`, `127.0.0.1`, `[::1]`.

    A name may have other addresses later, by mistake or on purpose, and for other askers; so each
    connection checks them again (`connecting.py`).

    Args:
        url: The URL.
        private: Hosts with their ports, as `10.0.0.5:8080`, `[fd00::1]:443` or `models.local:80`,
            that may have any address, and be asked by `http`.
        resolve: Returns the addresses of a host and port as `socket.getaddrinfo` does.

    Returns:
        The URL without a slash at its end, its scheme and host in lower case, and its port where it
        is not the scheme's.

    Raises:
        InvalidInputError: It is no such URL, or its name has no address, or one that is not public.
    """
    parts = _parts(url)
    place = _place(parts.netloc, PORTS[parts.scheme])
    own = is_loopback(place.host)
    listed = place in places_of(private)
    if parts.scheme == "http" and not own and not listed:
        raise InvalidInputError(
            "upstream: http is for the loopback and for private hosts that are listed; use https"
        )
    if not own and not listed:
        _check_public(place, resolve)
    port = "" if place.port == PORTS[parts.scheme] else f":{place.port}"
    return f"{parts.scheme}://{place.shown}{port}{parts.path.rstrip('/')}"


def places_of(private: Iterable[str]) -> frozenset[Place]:
    """Return the hosts that may have any address.

    Args:
        private: Hosts with their ports, as `check_upstream` has them.

    Raises:
        InvalidInputError: One is none.
    """
    return frozenset(_listed(one) for one in private)


def is_public(address: str) -> bool:
    """Return whether an address belongs to the public internet.

    An IPv4 address within an IPv6 one (mapped, 6to4, NAT64) counts as what it is; Teredo, whose
    addresses lead to others, is not public. What is no address is not public.

    Args:
        address: The address in its usual form, as a connected socket tells it.
    """
    try:
        given = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(given, ipaddress.IPv6Address):
        if given.scope_id is not None or given.is_site_local:
            return False
        inner = given.ipv4_mapped or given.sixtofour
        if given in _NAT64:
            inner = ipaddress.IPv4Address(int(given) & 0xFFFFFFFF)
        if inner is not None:
            return _is_global(inner)
    return _is_global(given)


def is_loopback(host: str) -> bool:
    """Return whether a host is the loopback as it is written: an address of it, or `localhost`."""
    bare = host.lower()
    if bare == "localhost":
        return True
    try:
        given = ipaddress.ip_address(bare.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    if isinstance(given, ipaddress.IPv6Address) and given.ipv4_mapped is not None:
        return given.ipv4_mapped.is_loopback
    return given.is_loopback


def _is_global(given: _Address) -> bool:
    if isinstance(given, ipaddress.IPv4Address) and given in _RELAYS:
        return False
    odd = given.is_private or given.is_loopback or given.is_link_local or given.is_reserved
    return given.is_global and not (odd or given.is_multicast or given.is_unspecified)


def _parts(url: str) -> SplitResult:
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise InvalidInputError(
            "upstream: expected a URL in ASCII without spaces and backslashes; write a name in "
            "other letters as xn--"
        )
    if "?" in url or "#" in url or "@" in url:
        raise InvalidInputError(
            "upstream: expected a URL without a user, a query and a fragment; keys belong to the "
            "requests"
        )
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InvalidInputError("upstream: expected a URL as https://HOST/PATH") from None
    if parts.scheme not in PORTS or not url[len(parts.scheme) :].startswith("://"):
        raise InvalidInputError("upstream: expected a URL that begins with https:// or http://")
    if parts.path and (fault := fault_of(parts.path.encode())) is not None:
        raise InvalidInputError(f"upstream: {fault}")
    return parts


def _listed(given: str) -> Place:
    place = _place(given, 0, name="private")
    if not place.port:
        raise InvalidInputError("private: expected a host and its port, as 10.0.0.5:8080")
    return place


def _place(given: str, port: int, *, name: str = "upstream") -> Place:
    found = re.fullmatch(r"(\[[0-9a-f:.]+\]|[^:\[\]]+)(?::([1-9][0-9]{0,4}))?", given.lower())
    if found is None or int(found[2] or 1) > LARGEST_PORT:
        raise InvalidInputError(f"{name}: expected a host, or a host and a port, as HOST:PORT")
    return Place(_host(found[1], name), int(found[2] or port))


def _host(given: str, name: str) -> str:
    if given.startswith("["):
        try:
            return str(ipaddress.IPv6Address(given[1:-1]))
        except ValueError:
            raise InvalidInputError(f"{name}: expected an IPv6 address in brackets") from None
    host = given.removesuffix(".")
    if _NUMBER.fullmatch(host.rpartition(".")[2]):  # whoever connects reads it as an address
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError:
            raise InvalidInputError(
                f"{name}: expected an IPv4 address as four decimal numbers, as 203.0.113.7"
            ) from None
    if not _NAME.fullmatch(host):
        raise InvalidInputError(f"{name}: expected the name of a host, or an address")
    return host


def _check_public(place: Place, resolve: Resolve) -> None:
    try:
        found = {str(one[4][0]) for one in resolve(place.host, place.port)}
    except (OSError, UnicodeError):
        found = set[str]()
    if not found:
        raise InvalidInputError(
            f"upstream: {place.shown} has no address; check the name, and that it can be resolved"
        )
    if not all(map(is_public, found)):
        raise InvalidInputError(
            f"upstream: {place.shown} has an address that is not public; if that is meant, list "
            f"{place.shown}:{place.port} as private"
        )
