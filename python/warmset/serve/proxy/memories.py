"""The memories behind the proxy: one store, a handle for each tenant."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from warmset._support.locks import guarded, lock
from warmset.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from warmset.engine.catalog import Attached

KEPT: Final = 256
"""Handles that are kept; those that were not used for longest are given up for others."""


@dataclass(slots=True)
class _Held:
    memory: Memory
    users: int = 0


@guarded("self._lock", fields=("_open",))
class Memories:
    """Opens a store for tenants.

    The store stays open as long as this does, so that another tenant costs next to nothing.

    Args:
        path: The store's directory.
        options: The options of `Memory.open` but for the tenant.
        most: How many handles are kept that nobody uses.

    Raises:
        WarmsetError: The store cannot be opened.
    """

    def __init__(self, path: Path, options: Mapping[str, Any], *, most: int = KEPT) -> None:
        self._path = path
        self._options = dict(options)
        self._most = most
        self._lock = lock("memories")
        self._open: OrderedDict[str, _Held] = OrderedDict()
        self.first = Memory.open(path, **self._options)

    def tell(self, name: str, attached: Attached) -> None:
        """Let something know when a conversation is erased, by whomever, until the store is closed.

        Args:
            name: What it is called.
            attached: It; `forget` is called while the store's lock is held.
        """
        engine = self.first.__warmset_engine__()
        with engine.lock:
            engine.attached[name,] = attached

    @contextmanager
    def of(self, tenant: str) -> Iterator[Memory]:
        """Lend the memory of a tenant.

        Raises:
            WarmsetError: The store cannot be opened.
        """
        with self._lock:
            held = self._open.get(tenant)
            if held is None:
                opened = Memory.open(self._path, **dict[str, Any](self._options, tenant=tenant))
                held = self._open[tenant] = _Held(opened)
            self._open.move_to_end(tenant)
            held.users += 1
        try:
            yield held.memory
        finally:
            for memory in self._returned(held):
                memory.close()

    def _returned(self, held: _Held) -> list[Memory]:
        """Take a memory back; return those that are given up."""
        with self._lock:
            held.users -= 1
            idle = [name for name, one in self._open.items() if not one.users]
            given_up = idle[: max(0, len(self._open) - self._most)]
            return [self._open.pop(name).memory for name in given_up]

    def close(self) -> None:
        """Close all handles; what is acknowledged is on disk."""
        with self._lock:
            every = [*(one.memory for one in self._open.values()), self.first]
            self._open.clear()
        for one in every:
            one.close()
