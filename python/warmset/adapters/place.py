"""A part of a log: the names of its keys, whose encryption key they have, what deleting means.

A key is a tuple of parts, and parts are compared whole, so that names with any separator, empty
names and names in other scripts never collide. Each *owner*, named by the parts after the adapter's
space, has an encryption key of its own where the store is encrypted: a session, a thread, a
namespace's first part. Deleting an owner deletes that key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from warmset.errors import InvalidInputError
from warmset.native import Cut, Log, RemoveBelow, Tail, space

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warmset._core import Entry, Outcome
    from warmset.store.conditions import Condition
    from warmset.store.rows import Key, Moment, Row

Delete: TypeAlias = Literal["remove", "erase"]
"""What deleting means; see `Place`."""

PAGE: Final = 512
"""Entries that are read at once, so that a long list does not hold up the event loop."""


@dataclass(frozen=True, slots=True)
class Place:
    """The part of a log that belongs to one adapter and one tenant.

    Args:
        log: The log.
        name: The name of the adapter's space; two adapters in one log have different ones.
        tenant: The first part of every key; tenants do not see each other.
        delete: "remove": what is deleted is absent at once in every process, and its bytes go when
            the log compacts itself. "erase": bytes and encryption keys are gone when the call
            returns, and so is what was made from it; the segment that has it is written anew.
        depth: How many parts of a key name the owner, tenant and space among them.

    Raises:
        InvalidInputError: An argument is none of these.
    """

    log: Log
    name: str
    tenant: str = "default"
    delete: Delete = "remove"
    depth: int = 3
    _begin: tuple[str, bytes] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not callable(getattr(self.log, "write", None)):
            found = type(self.log).__name__
            raise InvalidInputError(f"log: expected a Log, found a {found}; make one: Log(store)")
        if self.delete not in ("remove", "erase"):
            raise InvalidInputError(f"delete: expected 'remove' or 'erase', found {self.delete!r}")
        if not isinstance(self.tenant, str) or not self.tenant:
            raise InvalidInputError(f"tenant: expected a name, found {self.tenant!r}")
        object.__setattr__(self, "_begin", (self.tenant, space(self.name)))

    def key(self, *parts: str | bytes) -> tuple[str | bytes, ...]:
        """Return the key with these parts, the owner first."""
        return (*self._begin, *parts)

    def write(
        self, rows: Iterable[Row], *, expect: Iterable[Condition] = (), now: Moment | None = None
    ) -> list[Outcome]:
        """Write a batch whose records belong to their owners; see `Log.write`."""
        return self.log.write(rows, expect=expect, now=now, depth=self.depth)

    def entries(self, list_: Key) -> list[Entry]:
        """Return all entries of a list, as of one moment; they are read page by page."""
        while True:
            found: list[Entry] = []
            last = 0
            while page := self.log.entries(list_, after=last or None, limit=PAGE):
                links = [last, *(entry.id for entry in page)]
                if any(entry.parent != link for entry, link in zip(page, links, strict=False)):
                    break  # it was cut meanwhile
                found += page
                last = page[-1].id
            else:
                if self.log.tail(list_) == last:
                    return found

    def drop(self, *prefixes: Key) -> None:
        """Delete all cells and lists below some prefixes, in one batch where they are removed."""
        if self.delete == "remove":
            self.write([RemoveBelow(prefix) for prefix in prefixes])
        elif prefixes:
            for prefix in prefixes:
                self.log.erase(prefix=prefix)
            self.log.compact()

    def drop_tail(self, list_: Key, last: Entry, rows: Iterable[Row] = ()) -> None:
        """Delete the last entry of a list, and write more rows in the same batch.

        Args:
            list_: The list's key.
            last: The entry.
            rows: What is written in its place.

        Raises:
            Conflict: It is not the last entry any more; nothing was written.
        """
        self.write([Cut(list_, after=last.parent), *rows], expect=[Tail(list_, last.id)])
        self.wipe([last.id])

    def wipe(self, ids: Iterable[int]) -> None:
        """Erase what was removed or superseded before, where deleting means that."""
        if self.delete == "erase" and (gone := [*ids]):
            self.log.erase(ids=gone)
            self.log.compact()
