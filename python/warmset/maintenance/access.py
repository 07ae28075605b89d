"""Opens an existing store, with its key if it has one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from warmset._core import ColdStore
from warmset.errors import InvalidInputError, NoKey, NotAStore
from warmset.store.records import key_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warmset._core import Record

Cipher: TypeAlias = Literal["none", "keys", "master"]
"""How a store is encrypted: not at all, with keys that it contains, or with keys under a master
key."""

_KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The path of a store, and its key.

    Args:
        path: The store's directory.
        key_file: A file with the master key, 32 bytes or 64 hexadecimal digits.
    """

    path: Path
    key_file: Path | None = None


def open_store(access: Access, *, mode: Literal["shared", "read"], make: bool = False) -> ColdStore:
    """Open a store, with its encryption detected.

    Args:
        access: The store.
        mode: "read" changes nothing at all.
        make: Whether to create the store if it does not exist.

    Raises:
        NotAStore: There is no store, and `make` is False.
        InvalidInputError: The key is not this store's, or the file has no key.
        StoreError: It cannot be opened.
    """
    if not make and not access.path.is_dir():
        raise NotAStore(f"{access.path}: there is no store; name the directory of one")
    encryption = encryption_of(access, whole=mode != "read")
    return ColdStore.open(access.path, mode=mode, encryption=encryption)


def encryption_of(access: Access, *, whole: bool) -> Literal["keys"] | bytes | None:
    """Return the encryption that a store is to be opened with.

    Args:
        access: The store.
        whole: Whether opening it is to fail if its records cannot be read without a master key.

    Raises:
        InvalidInputError: There is a key for a store that has none, or the file has no key.
        StoreError: The store cannot be opened.
    """
    cipher = cipher_of(access.path)
    if access.key_file is not None:
        master = _master(access.key_file)
        if cipher == "keys":
            raise InvalidInputError("key_file: this store's keys are under no master key")
        return master
    return "keys" if cipher == "keys" or (cipher == "master" and whole) else None


def cipher_of(path: Path) -> Cipher:
    """Detect how a store is encrypted, by trying to read its keys without a master key."""
    if not any((path / "keys").glob("*.key")):
        return "none"
    try:
        ColdStore.open(path, mode="read", encryption="keys").close()
    except InvalidInputError:
        return "master"
    return "keys"


def scope_of(tenant: str, conversation: str | None) -> list[bytes]:
    """Return the beginning of the keys of a tenant's records, or of one conversation's.

    Raises:
        InvalidInputError: A name is empty.
    """
    return key_of(tenant, conversation or "any")[: 1 if conversation is None else 2]


_OWN: Final = frozenset(("tombstone", "spooled", "filler"))
"""Kinds of records that only the store itself reads."""


def pages(store: ColdStore, locked: list[int] | None = None) -> Iterator[Record]:
    """Read all records of a store except its own, in order; damaged and erased ones are skipped.

    Args:
        store: Which one.
        locked: A list that gets the ids of records whose key is missing; they are then skipped.

    Raises:
        NoKey: The key of a record is missing, and the caller did not ask for a list of such
            records.
        StoreError: The store could not be read.
    """
    start, gap = 1, 0
    while True:
        try:
            # A page fails as a whole: what comes before a record without a key is read one by one.
            page = store.page(start, max_bytes=1) if start <= gap else store.page(start)
        except NoKey as error:
            if locked is None:
                raise
            if start <= gap == error.id:
                locked.append(error.id)
                start = error.id + 1
            gap = error.id
            continue
        if not page:
            return
        yield from (record for record in page if record.kind not in _OWN)
        start = page[-1].seq + 1


def undecipherable(store: ColdStore) -> int:
    """Count the records whose key is missing, which cannot be checked."""
    locked: list[int] = []
    for _ in pages(store, locked):
        pass
    return len(locked)


def _master(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{path}: {error.strerror or error}") from error
    if len(data) == _KEY_BYTES:
        return data
    try:
        key = bytes.fromhex(data.decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise InvalidInputError(
            f"{path}: expected a master key of 32 bytes, or its 64 hexadecimal digits"
        )
    return key
