"""Stores of large texts, which are read again by their handles."""

from __future__ import annotations

from typing import Final, Protocol

from warmset._core import ColdStore, content_hash
from warmset.errors import Erased, InvalidInputError, NotFound

_KEY: Final = [b"warmset", b"offloaded"]


class OffloadStore(Protocol):
    """A store of texts; a stored text can be read as long as the store exists."""

    def put(self, text: str, /) -> str:
        """Store a text and return its handle."""
        ...

    def read(self, handle: str, start: int = 0, stop: int | None = None, /) -> str:
        """Return the lines of a stored text from `start` to before `stop`, counted from 0."""
        ...


def check_store(store: object) -> None:
    """Raise `InvalidInputError` unless an object has the method `put` of a store."""
    if not callable(getattr(store, "put", None)):
        raise InvalidInputError(f"store: expected an object with put(text), found {store!r:.80}")


class BlobStore:
    """Stores texts in a cold store, or in memory; equal texts have the same handle.

    Args:
        store: The store; None keeps the texts in memory.
    """

    def __init__(self, store: ColdStore | None = None) -> None:
        self._store = ColdStore.open(None) if store is None else store
        self._known: dict[str, int] = {}
        self._read_to = 0

    def put(self, text: str, /) -> str:
        """Store a text; it is durable if the cold store is durable.

        Args:
            text: Any text; lone surrogates are preserved.

        Returns:
            Its handle, a hash of its content.

        Raises:
            InvalidInputError: It is not a string.
            StoreError: It could not be stored.
        """
        if not isinstance(text, str):
            raise InvalidInputError(f"blob store: expected a text, found {text!r:.80}")
        data = text.encode("utf-8", "surrogatepass")
        handle = f"blob:{content_hash(data).hex()}"
        if self._find(handle) is None:
            self._known[handle] = self._store.append([("item", _KEY, b"", data)])[0]
        return handle

    def read(self, handle: str, start: int = 0, stop: int | None = None, /) -> str:
        """Return lines of a text.

        Args:
            handle: What `put` returned.
            start: The first line, counted from 0.
            stop: The line before which to end; None for the end of the text.

        Returns:
            The unchanged lines, with their line ends.

        Raises:
            NotFound: No text has that handle, or it was erased.
            InvalidInputError: A line is not a number.
            StoreError: It could not be read.
        """
        for name, line in (("start", start), ("stop", stop)):
            if line is not None and (isinstance(line, bool) or not isinstance(line, int)):
                raise InvalidInputError(f"{name}: expected the number of a line, found {line!r}")
        id_ = self._find(handle)
        if id_ is None:
            raise NotFound(f"{handle!r} is no handle of this blob store")
        data = self._store.get(id_).payload
        text = data.decode("utf-8", "surrogatepass")
        return (
            text
            if not start and stop is None
            else "".join(text.splitlines(keepends=True)[start:stop])
        )

    def _find(self, handle: str) -> int | None:
        """Return the id of the text with a handle; None if there is none any more."""
        if handle in self._known:
            try:
                self._store.hash_of(self._known[handle])
            except (Erased, NotFound):
                # Another one of the same text may be there.
                self._known.clear()
                self._read_to = 0
        if handle not in self._known:
            self._look()
        return self._known.get(handle)

    def _look(self) -> None:
        """Read the texts that others added to the store since the last look."""
        while page := self._store.page(self._read_to + 1):
            for record in page:
                if list(record.key) == _KEY:
                    handle = f"blob:{content_hash(record.payload).hex()}"
                    self._known.setdefault(handle, record.seq)
            self._read_to = page[-1].seq
