"""A JSON-RPC 2.0 server on two streams of bytes, with one object on each line.

What this package promises:

- Every request gets exactly one answer, with its id, on one line of ASCII; a notification gets
  none.
- A line that cannot be read affects no other line.
- Nothing else is written to the output stream, even if other code prints.
"""

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
]
