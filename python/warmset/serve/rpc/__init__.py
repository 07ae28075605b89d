"""JSON-RPC 2.0 on two streams of bytes, one object on each line, without dependencies.

What this package promises:

- Every request gets exactly one answer, with its id, on one line of ASCII; a notification gets
  none.
- A line that cannot be read affects no other line.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.serve.rpc.calls import methods
    from warmset.serve.rpc.jsonrpc import Fault, Server
    from warmset.serve.rpc.loop import serve
    from warmset.serve.rpc.reading import DEEPEST

__all__ = ["DEEPEST", "Fault", "Server", "methods", "serve"]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "jsonrpc": ["Fault", "Server"],
            "loop": ["serve"],
            "calls": ["methods"],
            "reading": ["DEEPEST"],
        },
    )
