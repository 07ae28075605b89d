"""Whose memory a request uses: a tenant for each key, which says nothing about the key.

A key is used for one keyed hash and then let go. It is in no attribute, no error and no log.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from warmset.errors import InvalidInputError, StoreError
from warmset.serve.proxy import own_files
from warmset.serve.proxy.aliases import Alias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from warmset.serve.proxy.aliases import Aliases

ANONYMOUS: Final = "anonymous"
"""The tenant of those who send no key."""

SECRET: Final = "serve.secret"  # noqa: S105 - the name of a file
"""The file with the secret of a store, in its directory."""

SIZE: Final = 32
"""Bytes of the secret."""

_DIGITS: Final = 32
_BEARER: Final = "bearer"
_GOOGLE: Final = "x-goog-api-key"
_HEADERS: Final = ("x-api-key", _GOOGLE, "api-key")
_SCHEMES: Final = (_BEARER, *_HEADERS)
"""The ways in which keys are sent; Google's key in a query counts as the one in its header."""


class Tenants:
    """Tells the tenant of a request by its key.

    Args:
        secret: The secret of the store.
        aliases: The tenants of keys that took the place of others.

    Raises:
        InvalidInputError: The secret is too short.
    """

    __slots__ = ("_aliases", "_mac")

    def __init__(self, secret: bytes, aliases: Aliases) -> None:
        if len(secret) < SIZE:
            raise InvalidInputError(f"secret: expected at least {SIZE} bytes; read secret_of()")
        self._mac = hmac.new(secret, digestmod=hashlib.sha256)
        self._aliases = aliases

    def __repr__(self) -> str:
        return "Tenants(...)"

    def tenant(self, headers: Mapping[str, str], query: str = "") -> str:
        """Return whose memory a request uses.

        Who sends several keys is known by all of them together, so that one that many share, as a
        gateway's, makes them no one tenant. `Authorization` of another scheme than Bearer counts as
        a key as it stands.

        Args:
            headers: The headers by their names in lower case.
            query: The query, without its question mark.

        Returns:
            `key-` and 32 hex digits; "anonymous" if no key was sent.

        Raises:
            StoreError: The aliases cannot be read.
        """
        found = sorted(set(_keys(headers, query)))
        return self._aliases.resolve(self._name(found)) if found else ANONYMOUS

    def alias(self, new_key: str, old_key: str) -> tuple[Alias, ...]:
        """Let a new key have the memory of an old one, however the two are sent.

        Args:
            new_key: The new key, without what stands before it in a header.
            old_key: The key that it takes the place of.

        Returns:
            The tenants, an alias for each way in which keys are sent.

        Raises:
            InvalidInputError: A key is empty, both are one, or they contradict another alias.
            StoreError: The aliases cannot be read or written.
        """
        pairs = zip(self._names(new_key), self._names(old_key), strict=True)
        made = tuple(Alias(new, old) for new, old in pairs)
        if made[0].new == made[0].old:
            raise InvalidInputError("both keys are the same; give the new one and the old one")
        self._aliases.add(made)
        return made

    def unalias(self, new_key: str) -> tuple[Alias, ...]:
        """Let a key have a memory of its own again.

        Returns:
            The aliases that were there.

        Raises:
            InvalidInputError: The key is empty.
            StoreError: The aliases cannot be read or written.
        """
        return self._aliases.remove(self._names(new_key))

    def aliases(self) -> tuple[Alias, ...]:
        """Return all aliases.

        Raises:
            StoreError: The aliases cannot be read.
        """
        return self._aliases.list()

    def _names(self, key: str) -> list[str]:
        bare = key.strip()
        if not bare:
            raise InvalidInputError("a key is empty; give it as it is sent, without Bearer")
        return [self._name([(scheme, bare)]) for scheme in _SCHEMES]

    def _name(self, keys: Iterable[tuple[str, str]]) -> str:
        mac = self._mac.copy()
        for scheme, key in keys:
            for part in (scheme, key):
                written = part.encode("utf-8", "surrogatepass")
                mac.update(len(written).to_bytes(8, "big") + written)  # no two lists are alike
        return f"key-{mac.hexdigest()[:_DIGITS]}"


class OneTenant:
    """Every key has the memory of one tenant.

    Args:
        tenant: The tenant.
    """

    __slots__ = ("_tenant",)

    def __init__(self, tenant: str) -> None:
        self._tenant = tenant

    def tenant(self, _headers: Mapping[str, str], _query: str = "", /) -> str:
        """Return the tenant, whoever asks."""
        return self._tenant


def secret_of(folder: Path) -> bytes:
    """Return the secret of a store; the first who asks makes it, also if two processes ask at once.

    It is 32 random bytes in a file for its owner alone. Without it, no tenant can be told from its
    key, so a backup of the store needs it; with it, a key can be guessed from its tenant, if the
    key is short.

    Args:
        folder: The directory of the store.

    Raises:
        StoreError: The file is no regular one, has another length, or cannot be read or written.
    """
    path = folder / SECRET
    found = own_files.read(path, most=SIZE)
    if found is None:
        with own_files.locked(folder):
            found = own_files.read(path, most=SIZE)
            if found is None:
                found = os.urandom(SIZE)
                own_files.replace(path, found)
    if len(found) != SIZE:
        raise StoreError(
            f"{path} is damaged; restore it from a backup, or delete it: every caller then starts "
            "with an empty memory"
        )
    own_files.tighten(path)
    return found


def _keys(headers: Mapping[str, str], query: str) -> Iterable[tuple[str, str]]:
    scheme, _, key = headers.get("authorization", "").strip().partition(" ")
    if key.strip():
        yield scheme.lower(), key.strip()
    elif scheme and scheme.lower() != _BEARER:
        yield "", scheme
    for name in _HEADERS:
        if key := headers.get(name, "").strip():
            yield name, key
    for name, value in parse_qsl(query, errors="surrogateescape"):
        if name == "key" and value.strip():
            yield _GOOGLE, value.strip()
