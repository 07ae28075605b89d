"""The memories of tenants in one store, opened in the process that uses them."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from warmset.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from warmset.memory_options import OpenKeywords

KEPT: Final = 256
"""Tenants whose handles stay open; another one's is opened for each request, in less than 2 ms."""


class Stores:
    """Opens a store for tenants, when a request needs it.

    A server may fork its workers after this was made; each opens the store for itself.

    Args:
        path: The store's directory.
        options: The options of `Memory.open` but for the tenant.
    """

    def __init__(self, path: str | PathLike[str], options: OpenKeywords) -> None:
        self._path = path
        self._options: dict[str, Any] = dict(options)
        self._process = os.getpid()
        self._open: dict[str, Memory] = {}

    @contextmanager
    def of(self, tenant: str) -> Iterator[Memory]:
        """Lend the memory of a tenant.

        Raises:
            WarmsetError: The store cannot be opened.
        """
        if self._process != os.getpid():
            self._process, self._open = os.getpid(), {}
        memory = self._open.get(tenant)
        if memory is not None:
            yield memory
            return
        memory = Memory.open(self._path, **dict[str, Any](self._options, tenant=tenant))
        if len(self._open) < KEPT:
            held = self._open.setdefault(tenant, memory)
            if held is not memory:  # another thread was faster
                memory.close()
            yield held
            return
        with memory:
            yield memory

    def close(self) -> None:
        """Close all handles; what is acknowledged is on disk."""
        held, self._open = self._open, {}
        for memory in held.values():
            memory.close()
