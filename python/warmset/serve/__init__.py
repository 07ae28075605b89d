"""Ways in for programs: a JSON-RPC 2.0 server, a proxy before providers, and `wrap` in process.

The server works on two streams of bytes, with one object on each line. What it promises:

- Every request gets exactly one answer, with its id, on one line of ASCII; a notification gets
  none.
- A line that cannot be read affects no other line.
- Nothing else is written to the output stream, even if other code prints.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.serve.clients import wrap
    from warmset.serve.jsonrpc import Fault, Server
    from warmset.serve.lines import LONGEST, Lines, TooLong
    from warmset.serve.loop import serve
    from warmset.serve.mcp import methods
    from warmset.serve.reading import DEEPEST
    from warmset.serve.streams import Streams, claimed
    from warmset.serve.tools import MOST_MESSAGES, Tool, tools_of

__all__ = [
    "DEEPEST",
    "LONGEST",
    "MOST_MESSAGES",
    "Fault",
    "Lines",
    "Server",
    "Streams",
    "TooLong",
    "Tool",
    "claimed",
    "methods",
    "serve",
    "tools_of",
    "wrap",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "clients": ["wrap"],
            "jsonrpc": ["Fault", "Server"],
            "lines": ["LONGEST", "Lines", "TooLong"],
            "loop": ["serve"],
            "mcp": ["methods"],
            "reading": ["DEEPEST"],
            "streams": ["Streams", "claimed"],
            "tools": ["MOST_MESSAGES", "Tool", "tools_of"],
        },
    )
