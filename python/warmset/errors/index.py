"""What a saved index raises."""

from __future__ import annotations

from warmset.errors.base import WarmsetError


class SavedIndexError(WarmsetError):
    """Base of what a saved index raises: it is a cache, so rebuild it and save it again."""


class IndexDamaged(SavedIndexError):  # noqa: N818 - named as the errors of the store are
    """Bytes of a saved index are not what was saved.

    Args:
        path: The file.
        offset: Where the damage begins.
        detail: What did not agree.
    """

    def __init__(self, path: str, offset: int, detail: str) -> None:
        super().__init__(path, offset, detail)
        self.path = path
        self.offset = offset
        self.detail = detail

    def __str__(self) -> str:
        return (
            f"{self.path} is damaged at byte {self.offset} ({self.detail}); delete it and rebuild "
            "it from the store or the vectors that it was made of"
        )


class NewerIndex(SavedIndexError):  # noqa: N818
    """The index was saved by a newer version; it was not touched."""


class NotAnIndex(SavedIndexError):  # noqa: N818
    """The file is not a saved index; it was not touched."""
