"""Builds the SDK's server from what is offered; nothing here knows of memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from warmset._extras import extra
from warmset.serve.mcp.levels import Levels

with extra("mcp"):
    from mcp.server.caching import CacheHint
    from mcp.server.lowlevel import Server
    from mcp.shared.exceptions import MCPError
    from mcp_types import (
        INVALID_PARAMS,
        CallToolRequestParams,
        CallToolResult,
        EmptyResult,
        GetPromptRequestParams,
        GetPromptResult,
        ListPromptsResult,
        ListResourcesResult,
        ListResourceTemplatesResult,
        ListToolsResult,
        PaginatedRequestParams,
        ReadResourceRequestParams,
        ReadResourceResult,
        SetLevelRequestParams,
    )

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.caching import CacheableMethod

    from warmset.serve.mcp.served import Offer, Request

_MINUTES: Final = 60_000
_KEPT: Final = CacheHint(ttl_ms=5 * _MINUTES, scope="private")
_FRESH: Final = CacheHint(ttl_ms=0, scope="private")
_HINTS: Final[Mapping[CacheableMethod, CacheHint]] = {
    "server/discover": _KEPT,
    "tools/list": _KEPT,
    "prompts/list": _KEPT,
    "resources/templates/list": _KEPT,
    "resources/list": _FRESH,
    "resources/read": _FRESH,
}
"""How long a client may keep an answer: what is offered is fixed, what is stored is not."""


class _Handlers:
    """Answers the requests of clients.

    Args:
        offer: What the server offers.
        levels: The levels of log messages that clients asked for.
    """

    def __init__(self, offer: Offer, levels: Levels) -> None:
        self._offer = offer
        self._levels = levels
        self._tools = {one.definition.name: one for one in offer.tools}
        self._prompts = {one.definition.name: one for one in offer.prompts}

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return the schema of a tool's arguments; None if there is no such tool."""
        tool = self._tools.get(name)
        return None if tool is None else tool.definition.input_schema

    async def list_tools(
        self, _request: Request, _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[one.definition for one in self._offer.tools])

    async def call_tool(self, request: Request, params: CallToolRequestParams) -> CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            raise _unknown("tool", params.name, self._tools)
        return await tool.call(params.arguments or {}, request)

    async def list_resources(
        self, _request: Request, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        cursor = None if params is None else params.cursor
        found, after = await self._offer.resources.page(cursor)
        return ListResourcesResult(resources=found, next_cursor=after)

    async def list_templates(
        self, _request: Request, _params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=list(self._offer.resources.templates))

    async def read_resource(
        self, _request: Request, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        return await self._offer.resources.read(str(params.uri))

    async def list_prompts(
        self, _request: Request, _params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        return ListPromptsResult(prompts=[one.definition for one in self._offer.prompts])

    async def get_prompt(
        self, _request: Request, params: GetPromptRequestParams
    ) -> GetPromptResult:
        prompt = self._prompts.get(params.name)
        if prompt is None:
            raise _unknown("prompt", params.name, self._prompts)
        given = params.arguments or {}
        for one in prompt.definition.arguments or []:
            if one.required and not given.get(one.name, "").strip():
                why = f"{params.name} needs the argument {one.name!r}"
                raise MCPError(code=INVALID_PARAMS, message=why)
        return prompt.get(given)

    async def set_level(self, request: Request, params: SetLevelRequestParams) -> EmptyResult:
        self._levels.set(request, params.level)
        return EmptyResult()


def build(offer: Offer, *, version: str, levels: Levels | None = None) -> Server[Any]:
    """Build a server.

    Args:
        offer: What it offers.
        version: Its version.
        levels: The levels of log messages that clients asked for; its own if not given.
    """
    handlers = _Handlers(offer, Levels() if levels is None else levels)
    server: Server[Any] = Server(
        "warmset",
        title="warmset",
        version=version,
        instructions=offer.instructions,
        cache_hints=_HINTS,
        get_tool_input_schema=handlers.input_schema,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, handlers.set_level)
    return server


def _unknown(what: str, name: str, known: Mapping[str, object]) -> MCPError:
    why = f"there is no {what} {name!a:.80}; there are {', '.join(known)}"
    return MCPError(code=INVALID_PARAMS, message=why)
