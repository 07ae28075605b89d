"""What all tools of a server share: the memory, who is served, and how large a result may be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError
from warmset.serve.tools.pages import Pages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from warmset.embed import Embedder
    from warmset.memory import Memory

LEAST_RESULT: Final = 1_000
"""The fewest tokens that a limit of results may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imports:
    """How files are imported.

    Args:
        directory: Where the files lie; no other one is read.
        run: Imports a file, or the files of a folder, into a memory: takes the memory, the path,
            the arguments `source`, `conversation` and `dry_run` as far as they were given, and what
            is called with the bytes read and their total, and may raise to stop it. Returns the
            members of the tool's result.
    """

    directory: Path
    run: Callable[[Memory, Path, Mapping[str, Any], Callable[[int, int], None]], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where the tools of a server work.

    Args:
        memory: Returns the open memory, or raises why there is none now; None for no memory.
        conversation: The conversation of compactions that name none; None if there is none.
        embedder: The source of vectors of compactions; the memory's own if not given.
        read_only: Whether the tools that change the store are left out.
        limit: The most tokens of a result, as text and as JSON; None for no limit.
        imports: How files are imported; None if none may be.
        pages: The rest of results that were too large.

    Raises:
        InvalidInputError: A conversation is named without a memory, or the limit is too small.
    """

    memory: Callable[[], Memory] | None = None
    conversation: str | None = None
    embedder: Embedder | None = None
    read_only: bool = False
    limit: int | None = None
    imports: Imports | None = None
    pages: Pages = field(default_factory=Pages)

    def __post_init__(self) -> None:
        if self.memory is None and self.conversation is not None:
            raise InvalidInputError("conversation: needs a memory; give the memory as well")
        if self.limit is not None and self.limit < LEAST_RESULT:
            raise InvalidInputError(f"limit: expected at least {LEAST_RESULT}, found {self.limit}")

    def open(self) -> Memory:
        """Return the memory.

        Raises:
            InvalidInputError: The server has none.
            WarmsetError: It cannot be opened now.
        """
        if self.memory is None:
            raise InvalidInputError("this server has no memory; start it with --memory PATH")
        return self.memory()
