"""Every exception that warmset raises, under one base class.

The Rust core imports these classes and raises them; there is no other error path. Each message says
what to do. All of them pickle: the constructor's arguments are the exception's ``args``.
"""

from __future__ import annotations


class WarmsetError(Exception):
    """Base of everything that warmset raises on purpose."""


# --- input --------------------------------------------------------------------------------------


class InvalidInputError(WarmsetError, ValueError):
    """An argument is outside of its range; the message says which and what would be right."""


class DimensionError(InvalidInputError):
    """A vector has another dimension than the index.

    Args:
        expected: The index's dimension.
        found: The dimension that was given.
    """

    def __init__(self, expected: int, found: int) -> None:
        super().__init__(expected, found)
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return f"expected vectors of dimension {self.expected}, found {self.found}"


class NotFiniteError(InvalidInputError):
    """A vector or a message holds a NaN or an infinity."""


class ZeroNormError(InvalidInputError):
    """A vector of length zero has no direction, so it has no cosine."""


class DuplicateIdError(InvalidInputError):
    """The id is in the index already, or twice in one batch."""


class UnknownIdError(InvalidInputError, LookupError):
    """The index has no such id."""


class InvalidMessageError(InvalidInputError):
    """A message cannot be stored or sent.

    Args:
        index: Position of the message in the list that was given.
        why: What is wrong with it and how to mend it.
    """

    def __init__(self, index: int, why: str) -> None:
        super().__init__(index, why)
        self.index = index
        self.why = why

    def __str__(self) -> str:
        return f"message {self.index}: {self.why}"


class UnknownDialectError(InvalidInputError):
    """The messages are of no dialect that warmset knows, or the name is not one of them."""


class ConversionError(InvalidInputError):
    """A message cannot be said in the other dialect without losing something."""


class BudgetTooSmall(WarmsetError):  # noqa: N818 - the name is part of the published contract
    """What is protected does not fit.

    Args:
        need: Tokens that the protected part takes.
        have: Tokens that the budget has.
    """

    def __init__(self, need: int, have: int) -> None:
        super().__init__(need, have)
        self.need = need
        self.have = have

    def __str__(self) -> str:
        return (
            f"what must stay needs {self.need} tokens, the budget has {self.have}; "
            "raise the budget or protect less"
        )


class CountError(WarmsetError):
    """A counter that was given raised, or returned what is no number of tokens."""


# --- store --------------------------------------------------------------------------------------


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


class Poisoned(StoreError):  # noqa: N818
    """An earlier write or sync failed, so nothing more is acknowledged; reopen the store."""


class StoreFull(StoreError):  # noqa: N818
    """The medium has no room left; what was acknowledged is safe."""


class StoreIOError(StoreError, OSError):
    """The operating system refused an operation on the store."""


class Corrupt(StoreError):  # noqa: N818
    """Durable bytes are not what was written; the message names segment, offset and ids."""


class NewerFormat(StoreError):  # noqa: N818
    """The store was written by a newer version; it was not touched."""


class NotAStore(StoreError):  # noqa: N818
    """The path is not a warmset store; it was not touched."""


class ForeignSegment(StoreError):  # noqa: N818
    """A segment of another store lies in this store's directory."""


class Truncated(StoreError):  # noqa: N818
    """A file ends before what it promised."""


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


class Forked(StoreError):  # noqa: N818
    """The handle was opened before a fork; open the store again in the child."""


class Closed(StoreError):  # noqa: N818
    """The handle was closed; open the store again."""


# --- models -------------------------------------------------------------------------------------


class EmbedderError(WarmsetError):
    """An embedder failed, or gave back something that is not a batch of vectors."""


class ModelMissing(EmbedderError):  # noqa: N818
    """The local model is not on this machine; the message names the one command that mends it."""


class ModelDamaged(EmbedderError):  # noqa: N818
    """A model file does not have the pinned sha256; it was not used."""


class EmbedderMismatch(EmbedderError):  # noqa: N818
    """The store's vectors were made by another embedder.

    Args:
        stored: Name of the embedder that made the store's vectors.
        given: Name of the embedder that was given.
    """

    def __init__(self, stored: str, given: str) -> None:
        super().__init__(stored, given)
        self.stored = stored
        self.given = given

    def __str__(self) -> str:
        return (
            f"the store's vectors were made by {self.stored}, not by {self.given}; "
            "open it with that embedder, or call memory.reembed() to make them anew"
        )


class PickerError(WarmsetError):
    """A picker's answer could not be used; callers fall back to the score."""


class ReaderError(WarmsetError):
    """A model that reads or judges for `warmset eval` failed, or its answer is no text."""


class MissingExtraError(WarmsetError, ImportError):
    """An optional dependency is not installed.

    Args:
        module: The module that could not be imported.
        extra: The extra that brings it.
    """

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(module, extra)
        self.module = module
        self.extra = extra

    def __str__(self) -> str:
        return f'{self.module} is not installed; run: pip install "warmset[{self.extra}]"'
