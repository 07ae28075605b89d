"""Creates the embedder that a command line names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.embed import named
from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from warmset.embed import Embedder, Progress

LEXICAL: Final = "lexical"


def check(name: str | None, *, words_only: bool) -> None:
    """Check that two options do not contradict each other.

    Raises:
        InvalidInputError: An embedder is named although words alone are searched.
    """
    if words_only and name not in (None, LEXICAL):
        raise InvalidInputError("embedder: not used with words alone; leave one of the two out")


def model_of(name: str | None, *, words_only: bool, progress: Progress) -> Embedder | None:
    """Return the embedder of a command.

    Args:
        name: As `Memory.open` takes it; None for the local model.
        words_only: Search by words alone, as "lexical" does.
        progress: Called as the preparation of a local model advances.

    Returns:
        The embedder, using all cores; None to search by words alone.

    Raises:
        InvalidInputError: No embedder has that name.
        EmbedderError: The model is not available, or there is no key.
        MissingExtraError: A package that it needs is not installed.
    """
    if words_only or name == LEXICAL:
        return None
    return named(name or "minilm", threads=None, progress=progress)
