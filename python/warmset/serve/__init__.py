"""Ways in for programs: tools over JSON-RPC and MCP, a proxy before providers, and `wrap`.

`tools` has the table of tools; `rpc` serves it on lines without dependencies, `mcp` to agents;
`proxy` stands between an agent and its provider; `wrap` does the same in process.

Where a protocol has standard input and output, nothing else is written to the output, even if other
code prints.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.serve.clients import wrap
    from warmset.serve.lines import LONGEST, Lines, TooLong
    from warmset.serve.rpc import DEEPEST, Fault, Server, methods, serve
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
            "lines": ["LONGEST", "Lines", "TooLong"],
            "rpc": ["DEEPEST", "Fault", "Server", "methods", "serve"],
            "streams": ["Streams", "claimed"],
            "tools": ["MOST_MESSAGES", "Tool", "tools_of"],
        },
    )
