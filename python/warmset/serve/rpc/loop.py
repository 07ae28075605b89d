"""The loop of the server: read a line, write its answer, until the input ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.serve.lines import LONGEST, Lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.serve.rpc.jsonrpc import Server


def serve(
    server: Server,
    read: Callable[[int], bytes],
    write: Callable[[bytes], object],
    *,
    longest: int = LONGEST,
) -> None:
    """Answer every line of a stream, each before the next one is read.

    Args:
        server: Answers the lines.
        read: Returns the next bytes, at most as many as it is asked for; none at the end.
        write: Writes a line, all of it.
        longest: Bytes that a line may have.

    Raises:
        OSError: A stream broke.
    """
    for line in Lines(read, longest=longest):
        answer = server.answer(line, longest=longest)
        if answer is not None:
            write(answer)
