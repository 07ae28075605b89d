"""Writes the definitions of tools as each provider's API has them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.messages import Dialect


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model may call.

    Args:
        name: Its name.
        description: What it does, for the model.
        properties: The JSON Schema of each argument; all are required, because strict schemas
            demand it.
    """

    name: str
    description: str
    properties: Mapping[str, Any]


def tool_definitions(
    tools: Sequence[Tool], dialect: Dialect, *, strict: bool = False
) -> list[dict[str, Any]]:
    """Return tools as the `tools` of a request.

    Args:
        tools: The tools.
        dialect: The dialect of the API.
        strict: Whether the API should enforce the schemas; Gemini has no such option.
    """
    held = {"strict": True} if strict else {}
    if dialect == "gemini":
        return [{"functionDeclarations": [_named(one, "parametersJsonSchema") for one in tools]}]
    if dialect == "anthropic":
        return [{**_named(one, "input_schema"), **held} for one in tools]
    functions = [_named(one, "parameters") for one in tools]
    if dialect == "interactions":
        return [{"type": "function", **one} for one in functions]
    if dialect == "responses":  # strict by default
        return [{"type": "function", **one, "strict": strict} for one in functions]
    return [{"type": "function", "function": {**one, **held}} for one in functions]


def _named(tool: Tool, field: str) -> dict[str, Any]:
    """Return a tool whose schema stands in a field of this name."""
    schema = {
        "type": "object",
        # A copy, which the caller may change.
        "properties": json.loads(json.dumps(tool.properties)),
        "required": list(tool.properties),
        "additionalProperties": False,
    }
    return {"name": tool.name, "description": tool.description, field: schema}
