"""The MCP methods by which clients list and call tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

from warmset.serve.rpc.jsonrpc import INTERNAL, PARAMS, Fault
from warmset.serve.tools import ToolFailure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.serve.rpc.jsonrpc import Method
    from warmset.serve.tools import Tool

VERSIONS: Final = ("2025-06-18", "2025-03-26", "2024-11-05")
"""The supported versions of MCP, the newest first."""


def methods(tools: Sequence[Tool], *, version: str) -> dict[str, Method]:
    """Return the methods of a server.

    Args:
        tools: The tools.
        version: The server's version.
    """
    by_name = {tool.name: tool for tool in tools}
    by_name |= {tool.older: tool for tool in tools if tool.older is not None}

    def initialize(params: Mapping[str, Any]) -> object:
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": "warmset", "version": version},
        }

    def listed(_params: Mapping[str, Any]) -> object:
        return {
            "tools": [
                {
                    "name": one.name,
                    "title": one.title,
                    "description": one.description,
                    "inputSchema": one.schema,
                    "outputSchema": one.output_schema,
                }
                for one in tools
            ]
        }

    def call(params: Mapping[str, Any]) -> object:
        name, given = params.get("name"), params.get("arguments")
        tool = by_name.get(name) if isinstance(name, str) else None
        if tool is None:
            known = ", ".join(one.name for one in tools)
            raise Fault(PARAMS, f'"name" must be the name of a tool: {known}')
        if given is not None and not isinstance(given, dict):
            raise Fault(PARAMS, '"arguments" must be an object')
        try:
            made = tool.call(cast("dict[str, Any]", given or {}))
        except ToolFailure as failure:
            more = {} if failure.type is None else {"type": failure.type}
            code = PARAMS if failure.failing == "arguments" else INTERNAL
            raise Fault(code, failure.why, **more) from failure
        text = json.dumps(made, separators=(",", ":"), allow_nan=False)
        return {
            "content": [{"type": "text", "text": text}],
            "structuredContent": made,
            "isError": False,
        }

    return {
        "initialize": initialize,
        "notifications/initialized": lambda _params: {},
        "notifications/cancelled": lambda _params: {},
        "ping": lambda _params: {},
        "tools/list": listed,
        "tools/call": call,
    }
