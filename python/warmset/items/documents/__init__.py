"""Documents as items: Markdown, HTML and plain text, cut into chunks along their structure."""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.items.documents.add import Document
    from warmset.items.documents.source import Format

__all__ = ["Document", "Format"]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "add": ["Document"],
            "source": ["Format"],
        },
    )
