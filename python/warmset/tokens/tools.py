"""The tokens of tool schemas.

OpenAI's formula for functions is published in its cookbook ("How to count tokens with tiktoken");
schemas deeper than its examples are counted by the same rule at each level. Anthropic publishes the
system prompt that tools bring along (platform.claude.com/docs/en/agents-and-tools/tool-use); its
schemas, and everything else, are counted as the compact JSON that is sent.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

from warmset._core import count_texts
from warmset.tokens.number import PER_CALL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOOLS_PROMPT: Final = 346
"""Tokens of the system prompt that Anthropic adds once when there are tools."""

_FUNCTION: Final = {"cl100k_base": 10}
_FUNCTION_NEW: Final = 7
_PROPERTIES: Final = 3
_PROPERTY: Final = 3
_ENUM: Final = -3
_ENUM_ITEM: Final = 3
_END: Final = 12

_DECLARATIONS: Final = ("functionDeclarations", "function_declarations")
_SCHEMAS: Final = ("parameters", "parametersJsonSchema", "parameters_json_schema")
_COUNTED: Final = frozenset(
    {
        "name",
        "description",
        "type",
        "properties",
        "items",
        "enum",
        "required",
        "title",
        "strict",
        "additionalProperties",
    }
)
"""What the formula counts, or what never reaches the model by itself."""

_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def tool_tokens(tools: Sequence[Mapping[str, Any]], encoding: str) -> int:
    """Count tool schemas of any dialect.

    Args:
        tools: The schemas.
        encoding: The vocabulary.

    Returns:
        Tokens.
    """
    texts: list[str] = []
    fixed = 0
    functions = [one for tool in tools for one in _functions(tool)]
    for function in functions:
        fixed += _FUNCTION.get(encoding, _FUNCTION_NEW)
        texts.append(f"{_text(function, 'name')}:{_text(function, 'description')}")
        schema = next((function[key] for key in _SCHEMAS if key in function), None)
        fixed += _properties(schema, texts)
    fixed += _END if functions else 0
    others = [tool for tool in tools if not _functions(tool)]
    for tool in others:
        texts.append(_compact({key: tool[key] for key in tool if key != "cache_control"}))
        fixed += PER_CALL
    if any("input_schema" in tool for tool in others):
        fixed += TOOLS_PROMPT
    return max(0, fixed) + sum(count_texts(texts, encoding))


def _functions(tool: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Find the functions that a tool of OpenAI's or Gemini's declares."""
    for key in _DECLARATIONS:
        declared = tool.get(key)
        if isinstance(declared, list):
            found = cast("list[object]", declared)
            return [cast("dict[str, Any]", one) for one in found if isinstance(one, dict)]
    if tool.get("type") != "function":
        return []
    inner = tool.get("function")
    return [cast("dict[str, Any]", inner) if isinstance(inner, dict) else tool]


def _properties(schema: object, texts: list[str]) -> int:
    """Collect the lines of a schema's properties; return what surrounds them."""
    if not isinstance(schema, dict):
        return 0
    found = cast("dict[str, object]", schema)
    fixed = _properties(found.get("items"), texts)
    beyond = {key: value for key, value in found.items() if key not in _COUNTED}
    if beyond:
        texts.append(_compact(beyond))
    properties = found.get("properties")
    if not isinstance(properties, dict) or not properties:
        return fixed
    fixed += _PROPERTIES
    for name, value in cast("dict[str, object]", properties).items():
        fixed += _PROPERTY
        inner = cast("dict[str, object]", value) if isinstance(value, dict) else {}
        options = inner.get("enum")
        if isinstance(options, list):
            items = cast("list[object]", options)
            fixed += _ENUM + _ENUM_ITEM * len(items)
            texts.extend(item if isinstance(item, str) else _compact(item) for item in items)
        texts.append(f"{name}:{_text(inner, 'type')}:{_text(inner, 'description')}")
        fixed += _properties(inner, texts)
    return fixed


def _text(value: Mapping[str, object], key: str) -> str:
    """Give a field as the formula sees it: without a full stop at the end."""
    found = value.get(key, "")
    return found.removesuffix(".") if isinstance(found, str) else _compact(found)
