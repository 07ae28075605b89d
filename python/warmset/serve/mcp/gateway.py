"""One tool that leads to all those that a model seldom needs, so that it reads few definitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from warmset._extras import extra
from warmset.serve.mcp.calls import answer, hints_of, refusal
from warmset.serve.tools import ToolFailure
from warmset.serve.tools.tool import compact_json

with extra("mcp"):
    import mcp_types as types

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.serve.mcp.calls import Calls
    from warmset.serve.mcp.served import Request
    from warmset.serve.tools import Tool

NAME: Final = "warmset_more"


@dataclass(frozen=True, slots=True)
class Gateway:
    """The tool that leads to others.

    Args:
        tools: The tools behind it.
        calls: Runs them.
    """

    tools: Sequence[Tool]
    calls: Calls

    @property
    def definition(self) -> types.Tool:
        """What the client learns of it."""
        lines = [f"- {_signature(one)}: {one.description}" for one in self.tools]
        said = (
            "Everything else that the memory can do. Give the name of a tool, and its arguments as "
            "an object; those with a question mark may be left out. Tools:\n" + "\n".join(lines)
        )
        effects = {one.effect for one in self.tools}
        worst = next(one for one in ("erase", "write", "read") if one in effects)
        return types.Tool(
            name=NAME,
            title="More tools of the memory",
            description=said,
            input_schema={
                "type": "object",
                "properties": {
                    "tool": {
                        "type": "string",
                        "enum": [one.name for one in self.tools],
                        "description": "Which tool.",
                    },
                    "arguments": {
                        "type": "object",
                        "default": {},
                        "description": "Its arguments by name.",
                    },
                },
                "required": ["tool"],
                "additionalProperties": False,
            },
            output_schema={
                "type": "object",
                "properties": {"tool": {"type": "string"}, "result": {"type": "object"}},
                "required": ["tool", "result"],
                "additionalProperties": False,
            },
            annotations=hints_of(worst),
        )

    async def call(self, arguments: Mapping[str, Any], request: Request) -> types.CallToolResult:
        """Run the tool that is named."""
        unknown = sorted(arguments.keys() - {"tool", "arguments"})
        name, given = arguments.get("tool"), arguments.get("arguments")
        tool = next((one for one in self.tools if one.name == name), None)
        if tool is None:
            known = ", ".join(one.name for one in self.tools)
            return refusal(ToolFailure("arguments", f"tool: expected one of {known}"))
        schema = f"\nIts arguments are {compact_json(tool.schema)}"
        if unknown or not (given is None or isinstance(given, dict)):
            why = 'give {"tool": its name, "arguments": an object}, and nothing else'
            return refusal(ToolFailure("arguments", why), schema)
        try:
            made, text = await self.calls.run(tool, given or {}, request)
        except ToolFailure as failure:
            return refusal(failure, schema if failure.failing == "arguments" else "")
        return answer({"tool": tool.name, "result": made}, text)


def _signature(tool: Tool) -> str:
    names = [one if one in tool.required else f"{one}?" for one in tool.properties]
    return f"{tool.name}({', '.join(names)})"
