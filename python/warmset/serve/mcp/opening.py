"""The memory of a server: opened when it is first needed, and tried again until it opens."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from warmset._support.locks import guarded, lock
from warmset.errors import Closed
from warmset.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@guarded("self._lock", fields=("_memory", "_ended"))
class OpenMemory:
    """Holds a memory open.

    A store that is locked, or whose model is not there yet, costs the call that needs it and no
    other. A child of a fork opens the store anew.

    Args:
        path: The store's directory.
        options: The options of `Memory.open`.
    """

    def __init__(self, path: Path, options: Mapping[str, Any]) -> None:
        self._path = path
        self._options = dict(options)
        self._lock = lock("memories")
        self._memory: Memory | None = None
        self._ended = False
        self._process = os.getpid()

    def get(self) -> Memory:
        """Return the memory.

        Raises:
            Closed: The server has ended.
            WarmsetError: It cannot be opened now.
        """
        if os.getpid() != self._process:
            self.__init__(self._path, self._options)  # type: ignore[misc]  # the parent's is not ours
        with self._lock:
            if self._ended:
                raise Closed(f"{self._path}: the server has ended; start it again")
            if self._memory is None:
                self._memory = Memory.open(self._path, **self._options)
            return self._memory

    def close(self) -> None:
        """Close the memory for good; what is acknowledged is on disk."""
        with self._lock:
            self._ended = True
            memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()
