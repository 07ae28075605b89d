"""The kinds of steps: which are the user's, which the model's, which call and which answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.messages.text import kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

USER = "user_input"
OUTPUT = "model_output"
THOUGHT = "thought"
CALL = "function_call"
RESULT = "function_result"

_HOSTED = (
    "code_execution",
    "file_search",
    "google_maps",
    "google_search",
    "mcp_server_tool",
    "processing",
    "retrieval",
    "tool_search",
    "url_context",
)

HOSTED_CALLS = frozenset(f"{tool}_call" for tool in _HOSTED)
HOSTED_RESULTS = frozenset(f"{tool}_result" for tool in _HOSTED)
"""Steps of tools that the provider runs: it makes the call and the result, in one response."""

KNOWN = frozenset({USER, OUTPUT, THOUGHT, CALL, RESULT}) | HOSTED_CALLS | HOSTED_RESULTS

BLOCKS = frozenset({"text", "image", "audio", "document", "video"})
"""The types of the blocks that a step's content is made of."""


def is_model(step: Mapping[str, Any]) -> bool:
    """Tell whether the model made the step; a step of an unknown type counts as the model's."""
    return kind_of(step) not in (USER, RESULT)


def call_of(step: Mapping[str, Any]) -> str | None:
    """Return the id of the function call that a well-formed step is; None if it is none."""
    return step["id"] if kind_of(step) == CALL else None


def result_of(step: Mapping[str, Any]) -> str | None:
    """Return the id of the call that a well-formed step answers; None if it answers none."""
    return step["call_id"] if kind_of(step) == RESULT else None
