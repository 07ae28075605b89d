"""Fields of SDK objects that providers do not take back, and messages without them.

SDKs add fields of their own to what the provider answered (`parsed`, `parsed_arguments`, the
`index` of a streamed tool call), and write fields that the provider left out as null. A request
with them is refused ("Unknown parameter: 'input[1].status'", "Extra inputs are not permitted"), by
the provider itself or by others that speak its dialect. `TABLE` has every such field. What a field
says to a reader is never in it: neither content, nor signatures, nor citations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from warmset.messages.text import kind_of

if TYPE_CHECKING:
    from warmset.messages.model import Dialect, Message

Place: TypeAlias = Literal[
    "message",
    "tool_calls",
    "function",
    "item",
    "action",
    "block",
    "citations",
    "content",
    "part",
    "data",
]
"""Where a field stands: in an assistant's message of Chat's; in an element of its `tool_calls`, or
the function of one; in an item of Responses', or the action of one; in a block, an element of
`content`, or the citations of one; in a content of Gemini's, an element of its `parts`, or the
mapping that is the content of one."""

When: TypeAlias = Literal["always", "empty", "null"]
"""Which values are left out: every one, null and empty lists, or null."""


@dataclass(frozen=True, slots=True)
class Row:
    """A client-only field.

    Args:
        dialect: The dialect that has it.
        place: Where it stands.
        field: Its name; "*" for all fields.
        when: Which values are left out.
        kinds: The types of items or parts that have it; empty for all.
    """

    dialect: Dialect
    place: Place
    field: str
    when: When = "null"
    kinds: tuple[str, ...] = ()


_WITH_CALLER = ("tool_use", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result")
_LOCATIONS = ("char_location", "page_location", "content_block_location")
_CALLS = ("function_call", "custom_tool_call")
_SEARCH = ("tool_search_call", "tool_search_output")
_LOCAL, _IMAGE = "local_shell_call_output", "image_generation_call"
_SHELL = ("shell_call", "shell_call_output", "apply_patch_call", "apply_patch_call_output")
_ANSWERS = ("function_call_output", "custom_tool_call_output")
_CALLED = (*_CALLS, *_ANSWERS, *_SHELL)
_WITH_MAKER = (*_ANSWERS, *_SHELL, *_SEARCH, "computer_call_output", "compaction")

TABLE: Final[tuple[Row, ...]] = (
    Row("openai", "message", "parsed", "always"),
    Row("openai", "message", "refusal"),
    Row("openai", "message", "annotations", "empty"),
    Row("openai", "message", "audio"),
    Row("openai", "message", "function_call"),
    Row("openai", "message", "tool_calls"),
    Row("openai", "tool_calls", "index", "always"),
    Row("openai", "function", "parsed_arguments", "always"),
    Row("responses", "item", "status", "always", ("reasoning", "custom_tool_call_output")),
    Row("responses", "item", "status", "null", ("message", "function_call", "mcp_call", _LOCAL)),
    Row("responses", "item", "parsed_arguments", "always", ("function_call",)),
    Row("responses", "item", "created_by", "always", _WITH_MAKER),
    Row("responses", "item", "content", "null", ("reasoning",)),
    Row("responses", "item", "encrypted_content", "null", ("reasoning",)),
    Row("responses", "item", "phase", "null", ("message",)),
    Row("responses", "item", "id", "null", _CALLS),
    Row("responses", "item", "async", "null", _CALLS),
    Row("responses", "item", "async_", "null", _CALLS),
    Row("responses", "item", "namespace", "null", (*_CALLS, "function_call_output")),
    Row("responses", "item", "caller", "null", _CALLED),
    Row("responses", "item", "call_id", "null", ("function_call_output", *_SEARCH)),
    Row("responses", "item", "name", "null", ("function_call_output",)),
    Row("responses", "item", "action", "null", ("computer_call", "image_generation_call")),
    Row("responses", "item", "actions", "null", ("computer_call",)),
    Row("responses", "item", "acknowledged_safety_checks", "null", ("computer_call_output",)),
    Row("responses", "item", "environment", "null", ("shell_call",)),
    Row("responses", "item", "max_output_length", "null", ("shell_call_output",)),
    Row("responses", "item", "output", "null", ("mcp_call", "apply_patch_call_output")),
    Row("responses", "item", "approval_request_id", "null", ("mcp_call",)),
    Row("responses", "item", "reason", "null", ("mcp_approval_response",)),
    Row("responses", "item", "error", "null", ("mcp_call", "mcp_list_tools", _IMAGE)),
    Row("responses", "item", "results", "null", ("file_search_call",)),
    Row("responses", "item", "background", "null", (_IMAGE,)),
    Row("responses", "item", "output_format", "null", (_IMAGE,)),
    Row("responses", "item", "quality", "null", (_IMAGE,)),
    Row("responses", "item", "revised_prompt", "null", (_IMAGE,)),
    Row("responses", "item", "size", "null", (_IMAGE,)),
    Row("responses", "item", "svg_usage", "null", (_IMAGE,)),
    Row("responses", "action", "*"),
    Row("responses", "block", "parsed", "always", ("output_text",)),
    Row("responses", "block", "logprobs", "null", ("output_text",)),
    Row("anthropic", "block", "parsed_output", "always", ("text",)),
    Row("anthropic", "block", "parsed", "always", ("text",)),
    Row("anthropic", "block", "citations", "null", ("text",)),
    Row("anthropic", "block", "caller", "null", _WITH_CALLER),
    Row("anthropic", "block", "toolset_name", "null", ("tool_use",)),
    Row("anthropic", "citations", "file_id", "null", _LOCATIONS),
    Row("gemini", "content", "role"),
    Row("gemini", "part", "*"),
    Row("gemini", "data", "*"),
)
"""Every client-only field. A whole reply of Anthropic's is besides reduced to role and content."""


def without_client_only(message: Message) -> Message:
    """Return a message without client-only fields; the same object if it has none.

    Args:
        message: A message of JSON values, in any dialect.

    Returns:
        The message as a provider takes it back. A whole reply of Anthropic's becomes a message with
        a role and content.
    """
    if kind_of(message) == "message" and {"role", "content", "model"} <= message.keys():
        message = {"role": message["role"], "content": message["content"]}
    if isinstance(message.get("parts"), list):
        return _without(message, "content")
    if kind_of(message):
        return _without(message, "item")
    if message.get("role") == "assistant":
        return _without(message, "message")
    return message


_DATA = (
    "functionCall",
    "functionResponse",
    "inlineData",
    "fileData",
    "executableCode",
    "codeExecutionResult",
)
_INNER: Final[dict[Place, dict[str, Place]]] = {
    "message": {"tool_calls": "tool_calls", "content": "block"},
    "tool_calls": {"function": "function"},
    "item": {"action": "action", "content": "block"},
    "block": {"citations": "citations"},
    "content": {"parts": "part"},
    "part": {
        spelled: "data"
        for name in _DATA
        for spelled in (name, "".join(f"_{c.lower()}" if c.isupper() else c for c in name))
    },
}
"""The fields of a place that hold further places, one or a list of them."""


def _by_kind() -> dict[tuple[Place, str], dict[str, When]]:
    found: dict[tuple[Place, str], dict[str, When]] = {}
    for row in TABLE:
        for kind in row.kinds or ("",):
            found.setdefault((row.place, kind), {})[row.field] = row.when
    return found


_ROWS: Final = _by_kind()
_NONE: Final[dict[str, When]] = {}


def _without(value: Message, place: Place) -> Message:
    rows = _ROWS.get((place, kind_of(value)), _NONE) | _ROWS.get((place, ""), _NONE)
    inner = _INNER.get(place, {})
    kept: Message = {}
    changed = False
    for field, one in value.items():
        when = rows.get(field) or rows.get("*")
        if when is not None and _goes(one, when):
            changed = True
            continue
        kept[field] = _descend(one, inner[field]) if field in inner else one
        changed = changed or kept[field] is not one
    return kept if changed else value


def _descend(value: Any, place: Place) -> Any:
    if isinstance(value, dict):
        return _without(value, place)
    if not isinstance(value, list):
        return value
    made = [_without(one, place) if isinstance(one, dict) else one for one in value]
    return made if any(new is not old for new, old in zip(made, value, strict=True)) else value


def _goes(value: object, when: When) -> bool:
    return when == "always" or value is None or (when == "empty" and value == [])
