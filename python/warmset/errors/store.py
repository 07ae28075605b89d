"""What the cold store raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.errors.base import WarmsetError

if TYPE_CHECKING:
    from collections.abc import Sequence


class StoreError(WarmsetError):
    """Base of what the cold store raises."""


class Locked(StoreError):  # noqa: N818 - the name is part of the published contract
    """Somebody else owns the store.

    Args:
        path: The store's directory.
        owner: Who holds it, as that process wrote it down.
    """

    def __init__(self, path: str, owner: str) -> None:
        super().__init__(path, owner)
        self.path = path
        self.owner = owner

    def __str__(self) -> str:
        return f"{self.path} is in use by {self.owner}; close it there, or wait for it"


class ConversationBusy(StoreError):  # noqa: N818
    """Others stored lists or replies in a conversation each time its window was built.

    Args:
        conversation: Its name.
        tries: How often the window was built.
    """

    def __init__(self, conversation: str, tries: int) -> None:
        super().__init__(conversation, tries)
        self.conversation = conversation
        self.tries = tries

    def __str__(self) -> str:
        return (
            f"conversation {self.conversation!r} changed each of {self.tries} times while the "
            "window of a list was built; give lists that are sent at the same time conversations "
            "of their own, or try again"
        )


class Poisoned(StoreError):  # noqa: N818
    """An earlier write or sync failed, so nothing more is acknowledged; reopen the store."""


class StoreFull(StoreError):  # noqa: N818
    """The medium has no room left; what was acknowledged is safe."""


class StoreIOError(StoreError, OSError):
    """The operating system refused an operation on a store or a saved index."""


class Corrupt(StoreError):  # noqa: N818
    """Durable bytes are not what was written.

    Args:
        path: The segment's file.
        offset: Where the damage begins.
        seqs: The ids concerned, in words.
        detail: What did not agree.
    """

    def __init__(self, path: str, offset: int, seqs: str, detail: str) -> None:
        super().__init__(path, offset, seqs, detail)
        self.path = path
        self.offset = offset
        self.seqs = seqs
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.path} is damaged at byte {self.offset} ({self.detail}); {self.seqs}"


class NewerFormat(StoreError):  # noqa: N818
    """The store was written by a newer version; it was not touched."""


class NotAStore(StoreError):  # noqa: N818
    """The path is not a warmset store; it was not touched."""


class ForeignSegment(StoreError):  # noqa: N818
    """A segment of another store lies in this store's directory."""


class Truncated(StoreError):  # noqa: N818
    """A file ends before what it promised.

    Args:
        path: The segment's file.
        expected: The length that was needed.
        found: The length that was found.
    """

    def __init__(self, path: str, expected: int, found: int) -> None:
        super().__init__(path, expected, found)
        self.path = path
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return (
            f"{self.path} ends at byte {self.found}, expected at least {self.expected}; "
            "restore it from a copy"
        )


class TooLarge(StoreError, ValueError):  # noqa: N818
    """A record is over the store's size limit.

    Args:
        size: The record's size in bytes.
        limit: The limit in bytes.
    """

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(size, limit)
        self.size = size
        self.limit = limit

    def __str__(self) -> str:
        return (
            f"a record of {self.size} bytes is over the limit of {self.limit}; "
            "split it or store a reference"
        )


class NotFound(StoreError, LookupError):  # noqa: N818
    """No record that this handle may see has that id."""


class Conflict(StoreError):  # noqa: N818
    """A condition of a batch did not hold; nothing of the batch was written.

    Args:
        row: The position of the row that failed; None for a condition of the whole batch.
        key: The key of the cell or the list.
        reason: What did not hold: "present", for a cell of that key or an entry of that `uid`,
            "version", "tail" or "once".
        current: The id of what is there; None for nothing.
    """

    def __init__(
        self, row: int | None, key: tuple[bytes, ...], reason: str, current: int | None
    ) -> None:
        super().__init__(row, key, reason, current)
        self.row = row
        self.key = key
        self.reason = reason
        self.current = current

    def __str__(self) -> str:
        place = "expect" if self.row is None else f"rows[{self.row}]"
        found = "nothing" if self.current is None else f"id {self.current}"
        return (
            f"{place}: the condition {self.reason!r} does not hold for {self.key}, which is at "
            f"{found}; nothing was written: read it again and decide anew"
        )


class Uncertain(StoreError):  # noqa: N818
    """A damaged record may have changed a cell, so nobody knows whether a version is the newest.

    Args:
        seq: The id of the damaged record.
        version: The newest version that is known; 0 for none.
    """

    def __init__(self, seq: int, version: int) -> None:
        super().__init__(seq, version)
        self.seq = seq
        self.version = version

    def __str__(self) -> str:
        return (
            f"record #{self.seq} is damaged and may have changed this; {self.version} is the last "
            "version that is known: put the cell again, or restore the file from a copy"
        )


class Erased(StoreError, LookupError):  # noqa: N818
    """The record was erased, or several were.

    Args:
        id: The id that was asked for; the first one of several.
        more: The other ones.
    """

    def __init__(self, id: int, more: Sequence[int] = ()) -> None:  # noqa: A002 - its word
        super().__init__(*((id, more) if more else (id,)))
        self.id = id
        self.more = more

    @property
    def ids(self) -> tuple[int, ...]:
        """All ids that were asked for and erased."""
        return self.id, *self.more

    def __str__(self) -> str:
        more = f", and so were {self.more}" if self.more else ""
        return f"record #{self.id} was erased{more}"


class NoKey(StoreError):  # noqa: N818
    """The record is encrypted, and its key is not here.

    Args:
        id: The id that was asked for; 0 if it is about the whole store.
    """

    def __init__(self, id: int) -> None:  # noqa: A002
        super().__init__(id)
        self.id = id

    def __str__(self) -> str:
        return f"record #{self.id} is encrypted and its key is not here; open the store with it"


class ReadOnly(StoreError):  # noqa: N818
    """The handle was opened to read only; open the store in another mode to write."""


class Interrupted(StoreError):  # noqa: N818
    """A long call was asked to stop; nothing was left half done."""


class NotPortable(StoreError, TypeError):  # noqa: N818
    """The handle cannot be pickled or copied; the message says why and what to do instead."""


class Forked(StoreError):  # noqa: N818
    """The handle was opened before a fork; open the store again in the child."""


class Closed(StoreError):  # noqa: N818
    """The handle was closed; open the store again."""
