"""The tools that the model has, and the checks of their arguments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

from warmset.messages.tool_calls import UnusableError
from warmset.messages.tool_definitions import Tool, tool_definitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.messages import Dialect

FETCH: Final = "fetch_turns"
SEARCH: Final = "search_turns"
COMPACT: Final = "compact_conversation"

MAX_IDS: Final = 16
MAX_HITS: Final = 12
MAX_FOCUS: Final = 500
"""The most characters of a focus."""

MAX_QUERY: Final = 2_000
"""The most characters of a query."""

_SOME_HITS: Final = 6
_WRITTEN: Final = re.compile(r"\s*#?([0-9]{1,20})\s*")
"""An id that is written as a string."""

_GREATEST: Final = 10**20 - 1
"""Limits an id to twenty digits, so that messages about unknown ids stay short."""

_TOOLS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    FETCH: (
        (
            "Read earlier turns of this conversation whole, by the ids that stand before them as "
            "#id. Use it where a one-line summary is not enough. Turns count against a token "
            "budget, so ask only for those that you need, the most needed first."
        ),
        {
            "ids": {
                "type": "array",
                "items": {"type": "integer"},
                "description": f"Ids without the #, at most {MAX_IDS}",
            }
        },
    ),
    SEARCH: (
        (
            "Search the earlier turns of this conversation. Returns one line for each turn that "
            "was found: its id, who wrote it, and how it begins. Read those that matter with "
            f"{FETCH}."
        ),
        {
            "query": {"type": "string", "description": "What to look for, in words"},
            "limit": {"type": "integer", "description": f"How many turns, 1 to {MAX_HITS}"},
        },
    ),
    COMPACT: (
        (
            "Have the earlier part of this conversation summarised in the background, so that "
            "later calls have room. Use it when a piece of work is finished and its details are no "
            "longer needed, not in the middle of one. You go on at once; nothing is deleted."
        ),
        {
            "focus": {
                "type": "string",
                "description": "What the summary should keep above all, in a few words; an empty "
                "text for nothing in particular",
            }
        },
    ),
}
"""Each tool's description and properties; all are required, because strict schemas demand it."""


def definitions(
    dialect: Dialect, *, strict: bool = False, compact: bool = False
) -> list[dict[str, Any]]:
    """Return the tools as the `tools` of a request.

    Args:
        dialect: The dialect of the API.
        strict: Whether the API should enforce the schemas; Gemini has no such option.
        compact: Whether the tool for compaction is offered.
    """
    tools = [
        Tool(name, said, properties)
        for name, (said, properties) in _TOOLS.items()
        if compact or name != COMPACT
    ]
    return tool_definitions(tools, dialect, strict=strict)


def ids_of(given: Mapping[str, Any]) -> list[int]:
    """Return the ids that a fetch asks for, each once, in order.

    Raises:
        UnusableError: They are not ids, or too many.
    """
    listed = given.get("ids")
    if not isinstance(listed, (list, tuple)) or not listed:
        raise UnusableError('"ids" must be a list of at least one integer, as {"ids": [12, 40]}.')
    found = dict.fromkeys(_id(one) for one in cast("list[object]", listed[: 4 * MAX_IDS]))
    if len(found) > MAX_IDS or len(listed) > 4 * MAX_IDS:
        raise UnusableError(f'"ids" has too many ids; at most {MAX_IDS} can be read at once.')
    return list(found)


def _id(given: object) -> int:
    if isinstance(given, str):
        given = int(found[1]) if (found := _WRITTEN.fullmatch(given)) else None
    if isinstance(given, float) and given.is_integer():
        given = int(given)  # some providers send all numbers as floats
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= _GREATEST:
        raise UnusableError('"ids" must hold integers of 0 or more, the numbers after the #.')
    return given


def focus_of(given: Mapping[str, Any]) -> str | None:
    """Return the focus of a compaction; None for nothing in particular.

    Raises:
        UnusableError: It is no text, or too long.
    """
    focus = given.get("focus")
    if focus is None:
        return None
    if not isinstance(focus, str) or len(focus) > MAX_FOCUS:
        raise UnusableError(f'"focus" must be a text of at most {MAX_FOCUS} characters, or empty.')
    return focus.encode("utf-8", "replace").decode().strip() or None


def search_of(given: Mapping[str, Any]) -> tuple[str, int]:
    """Return the query of a search, and how many hits it asks for.

    Raises:
        UnusableError: There is no query, or the number is out of its range.
    """
    query, limit = given.get("query"), given.get("limit")
    if not isinstance(query, str) or not query.strip():
        raise UnusableError('"query" must be a text that says what to look for.')
    if len(query) > MAX_QUERY:
        raise UnusableError(f'"query" is too long; use at most {MAX_QUERY} characters.')
    limit = _SOME_HITS if limit is None else limit
    if isinstance(limit, float) and limit.is_integer():
        limit = int(limit)
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_HITS:
        raise UnusableError(f'"limit" must be an integer from 1 to {MAX_HITS}.')
    return query.encode("utf-8", "replace").decode(), limit
