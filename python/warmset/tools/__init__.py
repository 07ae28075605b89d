"""Tools with which a model fetches and searches earlier turns of its conversation.

What this package promises:

- All results together stay within a token budget; what does not fit is refused, and the model
  learns the remaining budget.
- Only turns on the conversation's current path are shown, checked against the store's records; any
  other id is reported as unknown.
- The text of a turn is quoted as data, with its id, day and speaker, and cannot end the quotation.
- Invalid arguments produce an error text for the model, never an exception.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.messages.tool_calls import Call, answer, read_call
    from warmset.tools.kit import TurnTools
    from warmset.tools.reader import ToolReader
    from warmset.tools.schema import COMPACT, FETCH, MAX_HITS, MAX_IDS, SEARCH, definitions

__all__ = [
    "COMPACT",
    "FETCH",
    "MAX_HITS",
    "MAX_IDS",
    "SEARCH",
    "Call",
    "ToolReader",
    "TurnTools",
    "answer",
    "definitions",
    "read_call",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "kit": ["TurnTools"],
            "reader": ["ToolReader"],
            "schema": ["COMPACT", "FETCH", "MAX_HITS", "MAX_IDS", "SEARCH", "definitions"],
            "warmset.messages.tool_calls": ["Call", "answer", "read_call"],
        },
    )
