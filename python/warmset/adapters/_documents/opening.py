"""Which log an adapter's documents lie in."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from warmset._core import ColdStore
from warmset.errors import InvalidInputError
from warmset.memory import Memory
from warmset.store.log import Log
from warmset.store.options import StoreOptions

if TYPE_CHECKING:
    from typing import Unpack

    from warmset.store.options import StoreKeywords

Source: TypeAlias = "str | PathLike[str] | Memory | ColdStore | None"
"""A store's directory, an open memory or store, or None for a store in memory alone."""

Delete: TypeAlias = Literal["remove", "erase"]
"""What a deletion does: "remove" makes documents absent at once, in every process, and their bytes
go when the store is compacted. "erase" has also rewritten the files when it returns."""

DELETES: Final = get_args(Delete)


def open_log(source: Source, options: StoreKeywords) -> tuple[Log, ColdStore | None, str | None]:
    """Open the log of a store, or take that of one that is open.

    Args:
        source: Where the documents are.
        options: Options of the store, for one that is opened here; see `StoreOptions`.

    Returns:
        The log; the store if it was opened here, to be closed by the caller; the tenant of a
        memory.

    Raises:
        InvalidInputError: It is nothing of these, or options were given for an open store.
        StoreError: The store could not be opened.
    """
    if isinstance(source, (Memory, ColdStore)):
        if options:
            named = ", ".join(options)
            raise InvalidInputError(f"{named}: the store is open already; open it with them")
        if isinstance(source, Memory):
            return source.__warmset_engine__().log, None, source.tenant
        return Log(source), None, None
    if source is not None and not isinstance(source, (str, PathLike)):
        raise InvalidInputError(
            f"expected a directory, a Memory, a ColdStore or None, found {source!r:.80}"
        )
    store = opened(source, **options)
    return Log(store), store, None


def opened(path: str | PathLike[str] | None, **options: Unpack[StoreKeywords]) -> ColdStore:
    """Open a store with the options of `Memory.open` that concern it."""
    return StoreOptions(**options).store(path)


def check_delete(given: object) -> None:
    """Refuse what is no way to delete.

    Raises:
        InvalidInputError: It is neither "remove" nor "erase".
    """
    if given not in DELETES:
        raise InvalidInputError(f"delete: expected 'remove' or 'erase', found {given!r:.80}")
