"""What can be done with an open store as a whole: figures, vectors, erasure, closing."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import TYPE_CHECKING, Any, Self, SupportsIndex

from warmset.dropped import copies_of
from warmset.errors import Closed, InvalidInputError, NotFound
from warmset.figures import figures
from warmset.records import key_of
from warmset.remember import Remembering
from warmset.told import Removed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.config import Weights
    from warmset.engine import Engine
    from warmset.pick import Picker
    from warmset.prepare import PreparedCompaction
    from warmset.registry import Lease


class Held(Remembering):
    """A share in the engine of a path, seen by one tenant."""

    def __init__(
        self,
        share: Lease,
        *,
        tenant: str,
        weights: Weights,
        picker: Picker | None,
        compaction: PreparedCompaction | None,
    ) -> None:
        self._share = share
        self._weights = weights
        self._picker = picker
        self._compaction = compaction
        self._closed = False
        self.tenant = tenant

    @property
    def engine(self) -> Engine:
        """The store and index behind this handle, shared with other handles on its path."""
        return self._share.engine

    def stats(self) -> dict[str, Any]:
        """Return figures of the store and the index.

        Returns:
            Messages and conversations of the tenant; records, bytes, segments and rows; the
            instruction set and the embedder in use; turns pending, ready and failed; what opening
            cut off, and what is damaged; whether the index was opened from its file, and why if
            not.
        """
        self.check_open()
        with self.engine.lock:
            return figures(self.engine, self.tenant)

    def reembed(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Make all vectors anew with this handle's embedder, and make it the store's embedder.

        Until the last vector is kept the old ones count, so an interrupted run changes nothing.

        Args:
            progress: Is called with what is done and what there is to do.

        Raises:
            InvalidInputError: This handle searches by words alone.
            EmbedderError: The embedder failed.
        """
        self.check_open()
        if self.engine.indexer is None:
            raise InvalidInputError("reembed: this memory has no embedder; open it with one")
        self.engine.reembed(progress or (lambda _done, _total: None))

    def rebuild_index(self) -> None:
        """Make the index anew from the records, and its file from the index.

        The file is a cache, checked when it is opened: this is for one that turns out to be damaged
        later (`IndexDamaged`).

        Raises:
            StoreError: The store could not be read.
        """
        self.check_open()
        self.engine.rebuild_index()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until every turn has its vectors, trying again what failed.

        Args:
            timeout: Seconds to wait at most; None waits as long as it takes.

        Returns:
            Whether every turn has them; `stats()` tells what is pending or failed.
        """
        self.check_open()
        return self.engine.indexer is None or self.engine.indexer.flush(timeout)

    def erase(
        self, *, conversation: str | None = None, ids: Iterable[int] | None = None
    ) -> Removed:
        """Erase a conversation, or some messages and memories, and what was made from them.

        When this returns, nobody finds them any more, in any process, and no file of the store has
        a byte of them. Windows that were made before are not called back.

        Args:
            conversation: The conversation's name; all of it goes.
            ids: Ids of messages, memories or episodes. A branch that began at a message continues
                the path that is left.

        Returns:
            How many messages went, how many records that were made from them, and how many keys.

        Raises:
            NotFound: This tenant has no message and no memory with that id.
            InvalidInputError: Neither or both were given, or what is no name or no ids.
            StoreError: They could not be erased. After an error while the files were written anew
                they are erased all the same, and the next call removes their bytes.
        """
        self.check_open()
        if (conversation is None) == (ids is None):
            raise InvalidInputError("erase: expected either a conversation or ids")
        if conversation is not None:
            return self._erase(prefix=key_of(self.tenant, conversation))
        listed = _ids(ids)
        if any(self.engine.tenant_of(id_) != self.tenant for id_ in listed):
            raise NotFound("erase: an id is not one of this tenant's messages or memories")
        if not listed:
            return Removed(0, 0, 0)
        copies = copies_of(self.engine, self.tenant, listed)
        gone = self._erase(records=[*listed, *copies])
        return Removed(gone.records - len(copies), gone.derived + len(copies), gone.keys)

    def _erase(
        self, *, prefix: Sequence[bytes] | None = None, records: Sequence[int] | None = None
    ) -> Removed:
        removed = self.engine.erase(prefix=prefix, records=records)
        with self.engine.lock:
            shelves = list(self.engine.shelves.values())
        for shelf in shelves:  # not under the engine's lock: whoever looks asks for it
            shelf.look()
        return removed

    def close(self, *, timeout: float = 30.0) -> None:
        """Close this handle; the last one on a path finishes pending vectors and closes the store.

        Args:
            timeout: Seconds to give the pending vectors; what is left is made at the next open.
        """
        if not self._closed:
            self._closed = True
            self._share.release(timeout)

    def check_open(self) -> None:
        """Refuse to go on after `close`, and take up what other processes wrote since.

        Raises:
            Closed: The handle was closed.
            StoreError: The store could not be read.
        """
        if self._closed:
            raise Closed("the memory is closed; open it again")
        self.engine.follow()

    def look(self) -> None:
        """Take up what other processes wrote since, unless the handle is closed."""
        if not self._closed:
            self.engine.follow()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"Memory({self.engine.store.path!s}, tenant={self.tenant!r}, {state})"


def _ids(given: object) -> list[int]:
    """Return ids of messages, each once, ascending.

    Raises:
        InvalidInputError: They are none.
    """
    listed: list[object] = []
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes, bytearray)):
        listed += given
    elif given is not None:
        raise InvalidInputError(f"ids: expected ids of messages, found {given!r:.80}")
    found = set[int]()
    for id_ in listed:
        number = None if isinstance(id_, bool) or not isinstance(id_, SupportsIndex) else index(id_)
        if number is None or number < 0:
            raise InvalidInputError(f"ids: expected ids of messages, found {id_!r:.80} among them")
        found.add(number)
    return sorted(found)
