"""Tenants of keys that took the place of others: who rotates a key keeps the memory.

`serve.aliases.json` in the directory of the store names tenants, never keys. Each reader takes up a
change with the next request, also one that another process made.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from warmset.errors import InvalidInputError, StoreError, StoreIOError
from warmset.serve.proxy import own_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    Seen: TypeAlias = tuple[int, int, int, int]

NAME: Final = "serve.aliases.json"
"""The file, in the directory of its store."""

TENANT: Final = re.compile(r"key-[0-9a-f]{32}")
"""The name of a tenant that is known by a key."""

_FORM: Final = 1
_MOST: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class Alias:
    """A tenant that stands for another one.

    Args:
        new: The tenant of the new key.
        old: The tenant of the old key, whose conversations the new key has.
    """

    new: str
    old: str


class Aliases:
    """The aliases of a store; several threads and processes may use them.

    Args:
        folder: The directory of the store.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._held: tuple[Seen | None, Mapping[str, str]] = (None, {})  # replaced as a whole

    def resolve(self, tenant: str) -> str:
        """Return the tenant that one stands for, at the end of the chain; itself if for none.

        Raises:
            StoreError: The file cannot be read, or is none of aliases.
        """
        return _end(self._read(), tenant)

    def list(self) -> tuple[Alias, ...]:
        """Return all aliases, sorted by the new tenant.

        Raises:
            StoreError: The file cannot be read, or is none of aliases.
        """
        return tuple(Alias(new, old) for new, old in sorted(self._read().items()))

    def add(self, aliases: Iterable[Alias]) -> None:
        """Let tenants stand for others; all of them or none.

        Raises:
            InvalidInputError: One is no tenant of a key, stands for another one already, or would
                stand for itself in the end.
            StoreError: The file cannot be read or written.
        """
        with own_files.locked(self._path.parent):
            made = dict(self._read())
            for one in aliases:
                _check(one)
                if made.get(one.new, one.old) != one.old:
                    raise InvalidInputError(
                        f"{one.new} stands for {made[one.new]} already; remove that alias first"
                    )
                made[one.new] = one.old
                if _is_circular(made, one.new):
                    raise InvalidInputError(
                        f"{one.old} stands for {one.new} already; remove that alias first"
                    )
            self._write(made)

    def remove(self, tenants: Iterable[str]) -> tuple[Alias, ...]:
        """Let tenants stand for themselves again.

        Returns:
            The aliases that were there.

        Raises:
            StoreError: The file cannot be read or written.
        """
        with own_files.locked(self._path.parent):
            made = dict(self._read())
            gone = [Alias(one, made.pop(one)) for one in dict.fromkeys(tenants) if one in made]
            if gone:
                self._write(made)
        return tuple(gone)

    def _write(self, aliases: Mapping[str, str]) -> None:
        text = json.dumps({"form": _FORM, "aliases": aliases}, indent=1, sort_keys=True)
        own_files.replace(self._path, text.encode())

    def _read(self) -> Mapping[str, str]:
        """Return the aliases as the file has them now."""
        seen = self._seen()
        before, held = self._held
        if seen is None or seen == before:
            return held if seen is not None else {}
        found = own_files.read(self._path, most=_MOST)
        held = {} if found is None else _read(self._path, found)
        if self._seen() == seen:  # what was read is what was looked at
            self._held = (seen, held)
        return held

    def _seen(self) -> Seen | None:
        """Return what tells the file from any other that was in its place; None without one."""
        try:
            found = self._path.lstat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreIOError(f"cannot read {self._path}; let this process read it") from error
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _read(path: Path, content: bytes) -> Mapping[str, str]:
    try:
        value: Any = json.loads(content)
        found: Any = value["aliases"]
        good = value["form"] == _FORM and isinstance(found, dict)
        made: dict[str, str] = dict(found) if good else {}
        for new, old in made.items():
            _check(Alias(new, old))
    except (ValueError, KeyError, TypeError, RecursionError):
        good, made = False, {}
    if not good or any(_is_circular(made, one) for one in made):
        raise StoreError(f"{path} is no list of aliases; restore it from a backup, or delete it")
    return made


def _check(alias: Alias) -> None:
    for one in (alias.new, alias.old):
        if not TENANT.fullmatch(one):
            raise InvalidInputError("aliases are for tenants of keys, as key- and 32 hex digits")


def _end(aliases: Mapping[str, str], tenant: str) -> str:
    while tenant in aliases:
        tenant = aliases[tenant]
    return tenant


def _is_circular(aliases: Mapping[str, str], start: str) -> bool:
    tenant, steps = start, 0
    while tenant in aliases and steps <= len(aliases):
        tenant, steps = aliases[tenant], steps + 1
    return steps > len(aliases)
