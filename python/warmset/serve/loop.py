"""Lines in, answers out, until the lines end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.serve.lines import LONGEST, Lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.serve.jsonrpc import Server


def serve(
    server: Server,
    read: Callable[[int], bytes],
    write: Callable[[bytes], object],
    *,
    longest: int = LONGEST,
) -> None:
    """Answer every line of a stream, each before the next one is read.

    Args:
        server: Who answers.
        read: Returns the next bytes, at most as many as it is asked for; none at the end.
        write: Writes a line, all of it.
        longest: Bytes that a line may have.

    Raises:
        OSError: A stream broke.
    """
    for line in Lines(read, longest=longest):
        told = server.answer(line, longest=longest)
        if told is not None:
            write(told)
