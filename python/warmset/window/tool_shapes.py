"""Tool definitions in the shape of each dialect.

A function tool has a name, a description and a schema in every dialect, under different names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from warmset.messages import Dialect

_DECLARATIONS = ("functionDeclarations", "function_declarations")
_SCHEMAS = ("parametersJsonSchema", "parameters_json_schema", "parameters")


@dataclass(frozen=True, slots=True)
class Function:
    """A function tool, read from any dialect.

    Args:
        name: Its name.
        description: What it does; None if the definition has none.
        schema: The JSON schema of its arguments; None if it has none.
        strict: Whether the provider should enforce the schema; None for the provider's default.
    """

    name: str
    description: str | None
    schema: Mapping[str, Any] | None
    strict: bool | None


def shaped(tools: Sequence[Mapping[str, Any]], dialect: Dialect) -> list[Mapping[str, Any]]:
    """Write tool definitions in the shape of a dialect.

    Args:
        tools: The definitions, each in the shape of any dialect.
        dialect: The dialect of the call.

    Returns:
        The definitions in their order. Those in the dialect's shape, and tools that are no
        functions, such as a provider's own search, are the same objects.
    """
    made: list[Mapping[str, Any]] = []
    for tool in tools:
        if not isinstance(tool, Mapping):
            raise InvalidInputError(f"tools: expected definitions, mappings, found {tool!r:.80}")
        source = _dialect_of(tool)
        if source is None or source == dialect or _is_plain(tool, source, dialect):
            made.append(tool)
        else:
            made += [_written(function, dialect) for function in _read(tool, source)]
    return made


def _dialect_of(tool: Mapping[str, Any]) -> Dialect | None:
    if any(isinstance(tool.get(name), (list, tuple)) for name in _DECLARATIONS):
        return "gemini"
    if tool.get("type") == "function":
        return "openai" if isinstance(tool.get("function"), Mapping) else "responses"
    return "anthropic" if isinstance(tool.get("input_schema"), Mapping) else None


def _is_plain(tool: Mapping[str, Any], source: Dialect, dialect: Dialect) -> bool:
    """Tell whether a function of Responses is one of Interactions as well, which has no strict."""
    return source == "responses" and dialect == "interactions" and "strict" not in tool


def _read(tool: Mapping[str, Any], source: Dialect) -> Iterator[Function]:
    listed: Sequence[Mapping[str, Any]] = [tool]
    names: tuple[str, ...] = ("parameters",)
    match source:
        case "openai":
            listed = [tool["function"]]
        case "anthropic":
            names = ("input_schema",)
        case "gemini":
            listed = next(tool[name] for name in _DECLARATIONS if tool.get(name))
            names = _SCHEMAS
        case _:
            pass
    for one in listed:
        schema = next((one[name] for name in names if one.get(name) is not None), None)
        yield Function(one["name"], one.get("description"), schema, one.get("strict"))


def _written(function: Function, dialect: Dialect) -> Mapping[str, Any]:
    named: dict[str, Any] = {"name": function.name}
    if function.description is not None:
        named["description"] = function.description
    schema = function.schema or {"type": "object", "properties": {}}
    strict = {} if function.strict is None else {"strict": function.strict}
    match dialect:
        case "openai":
            return {"type": "function", "function": {**named, "parameters": schema, **strict}}
        case "responses":  # strict by default, which changes what a schema may say
            held = bool(function.strict)
            return {"type": "function", **named, "parameters": schema, "strict": held}
        case "interactions":
            return {"type": "function", **named, "parameters": schema}
        case "anthropic":
            return {**named, "input_schema": schema, **strict}
        case "gemini":
            return {"functionDeclarations": [{**named, "parametersJsonSchema": schema}]}
