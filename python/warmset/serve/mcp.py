"""The MCP methods by which clients list and call tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

from warmset.serve.jsonrpc import PARAMS, Fault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.serve.jsonrpc import Method
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
                {"name": one.name, "description": one.description, "inputSchema": one.schema}
                for one in tools
            ]
        }

    def call(params: Mapping[str, Any]) -> object:
        name, given = params.get("name"), params.get("arguments")
        tool = by_name.get(name) if isinstance(name, str) else None
        if tool is None:
            known = ", ".join(by_name)
            raise Fault(PARAMS, f'"name" must be the name of a tool: {known}')
        if given is not None and not isinstance(given, dict):
            raise Fault(PARAMS, '"arguments" must be an object')
        made = tool.call(cast("dict[str, Any]", given or {}))
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
