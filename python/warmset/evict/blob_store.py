"""Where large texts go, and how they are read again."""

from __future__ import annotations

from typing import Final, Protocol

from warmset._core import ColdStore, content_hash
from warmset.errors import InvalidInputError, NotFound

_KEY: Final = [b"warmset", b"offloaded"]


class OffloadStore(Protocol):
    """A place for texts: what was put is there until the place itself goes."""

    def put(self, text: str, /) -> str:
        """Keep a text and return its handle."""
        ...

    def read(self, handle: str, start: int = 0, stop: int | None = None, /) -> str:
        """Return lines of a kept text, from `start` to before `stop`, counted from 0."""
        ...


class BlobStore:
    """Keeps texts in a cold store, or in memory until it goes; the same text has one handle.

    Args:
        store: The store; None keeps the texts in memory.
    """

    def __init__(self, store: ColdStore | None = None) -> None:
        self._store = ColdStore.open(None) if store is None else store
        self._known: dict[str, int] = {}
        self._read_to = 0

    def put(self, text: str, /) -> str:
        """Keep a text, durably where the store is durable.

        Args:
            text: Any text; lone surrogates are kept.

        Returns:
            Its handle, made of the hash of its content.

        Raises:
            InvalidInputError: It is no text.
            StoreError: It could not be kept.
        """
        if not isinstance(text, str):
            raise InvalidInputError(f"blob store: expected a text, found {text!r:.80}")
        data = text.encode("utf-8", "surrogatepass")
        handle = f"blob:{content_hash(data).hex()}"
        if handle not in self._known:
            self._look()
        if handle not in self._known:
            self._known[handle] = self._store.append([("item", _KEY, b"", data)])[0]
        return handle

    def read(self, handle: str, start: int = 0, stop: int | None = None, /) -> str:
        """Return lines of a text.

        Args:
            handle: What `put` returned.
            start: The first line, counted from 0.
            stop: The line before which to end; None for the end.

        Returns:
            The lines as they were, line ends included.

        Raises:
            NotFound: Nothing was put under that handle.
            InvalidInputError: A line is no number.
            StoreError: It could not be read.
        """
        for name, line in (("start", start), ("stop", stop)):
            if line is not None and (isinstance(line, bool) or not isinstance(line, int)):
                raise InvalidInputError(f"{name}: expected the number of a line, found {line!r}")
        if handle not in self._known:
            self._look()
        if handle not in self._known:
            raise NotFound(f"{handle!r} is no handle of this blob store")
        data = self._store.get(self._known[handle]).payload
        text = data.decode("utf-8", "surrogatepass")
        return (
            text
            if not start and stop is None
            else "".join(text.splitlines(keepends=True)[start:stop])
        )

    def _look(self) -> None:
        """Find what others put into the store since it was looked at last."""
        while page := self._store.page(self._read_to + 1):
            for record in page:
                if list(record.key) == _KEY:
                    handle = f"blob:{content_hash(record.payload).hex()}"
                    self._known.setdefault(handle, record.seq)
            self._read_to = page[-1].seq
