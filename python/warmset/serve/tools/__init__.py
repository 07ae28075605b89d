"""The tools of the servers for programs and models: one table for JSON-RPC and MCP.

What this package promises:

- A tool's arguments are checked, and a failure says what to do instead; nothing else is raised.
- With a limit, no result has more tokens, as text or as JSON; it says how to get the rest.
- In a result's text, everything that is stored is quoted as data, and cannot end the quotation.
- Only what belongs to the memory's tenant is shown, changed or erased.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.serve.tools.bounds import tokens_of
    from warmset.serve.tools.catalog import CORE, table, tools_of
    from warmset.serve.tools.compacting import MOST_MESSAGES
    from warmset.serve.tools.desk import Desk, Imports
    from warmset.serve.tools.tool import Call, Tool, ToolFailure

__all__ = [
    "CORE",
    "MOST_MESSAGES",
    "Call",
    "Desk",
    "Imports",
    "Tool",
    "ToolFailure",
    "table",
    "tokens_of",
    "tools_of",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "bounds": ["tokens_of"],
            "compacting": ["MOST_MESSAGES"],
            "desk": ["Desk", "Imports"],
            "catalog": ["CORE", "table", "tools_of"],
            "tool": ["Call", "Tool", "ToolFailure"],
        },
    )
