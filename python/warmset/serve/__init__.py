"""A server on two streams of bytes: JSON-RPC 2.0, one object a line.

Promises: every request has exactly one answer, with its id, on one line of ASCII; a notification
has none; what cannot be read costs that line and no more; nothing else is written to the stream of
answers, whatever prints meanwhile.
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
