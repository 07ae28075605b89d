"""Turns, memories and conversations as resources, read by the URIs that results show."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from warmset._extras import extra
from warmset.errors import WarmsetError
from warmset.serve.tools import ToolFailure
from warmset.serve.tools.quoting import (
    CONVERSATIONS,
    IDS,
    conversation_uri,
    name_in,
)
from warmset.serve.tools.tool import encodable

with extra("mcp"):
    import mcp_types as types
    from mcp.shared.exceptions import MCPError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.serve.mcp.calls import Calls
    from warmset.serve.tools import Desk, Tool

STATUS: Final = "warmset://status"
PAGE: Final = 100
"""Resources of a page."""

_PLAIN: Final = "text/plain"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Stored:
    """What is stored, as resources.

    Args:
        desk: Where the tools work.
        tools: The tools that read, by name.
        calls: Runs them.
    """

    desk: Desk
    tools: Mapping[str, Tool]
    calls: Calls
    templates: tuple[types.ResourceTemplate, ...] = (
        types.ResourceTemplate(
            uri_template=IDS + "{id}",
            name="turn or memory",
            description="A turn or a memory whole, by its id: turn:12, memory:34.",
            mime_type=_PLAIN,
        ),
        types.ResourceTemplate(
            uri_template=CONVERSATIONS + "{name}",
            name="conversation",
            description="The newest turns of a conversation, one line each.",
            mime_type=_PLAIN,
        ),
    )

    async def page(self, cursor: str | None) -> tuple[list[types.Resource], str | None]:
        """Return a page of the conversations, the one that began last first.

        Raises:
            MCPError: The cursor is none of ours, or the store cannot be read.
        """
        if cursor is not None and not (cursor.isascii() and cursor.isdigit()):
            raise MCPError(
                code=types.INVALID_PARAMS, message="cursor: list again without one, it is none"
            )
        begin = int(cursor or 0)
        names = await self._names()
        found = [_resource(name) for name in names[begin : begin + PAGE]]
        if not begin:
            found.insert(0, types.Resource(uri=STATUS, name="status", mime_type=_PLAIN))
        after = begin + PAGE
        return found, str(after) if after < len(names) else None

    async def read(self, uri: str) -> types.ReadResourceResult:
        """Read a turn, a memory, a conversation or the status.

        Raises:
            MCPError: There is none, or the store cannot be read.
        """
        id_, name = name_in(uri, IDS), name_in(uri, CONVERSATIONS)
        if uri == STATUS:
            _, text = await self._run("context_status", {}, uri)
        elif id_:
            made, text = await self._run("memory_fetch", {"ids": [id_]}, uri)
            if made["missing"]:
                raise _missing(uri)
        elif name:
            _, text = await self._run("turns", {"conversation": name}, uri)
        else:
            raise _missing(uri)
        contents = types.TextResourceContents(uri=uri, mime_type=_PLAIN, text=encodable(text))
        return types.ReadResourceResult(contents=[contents])

    async def _run(
        self, name: str, arguments: dict[str, Any], uri: str
    ) -> tuple[dict[str, Any], str]:
        tool = self.tools[name]

        def work() -> tuple[dict[str, Any], str]:
            made = tool.call(arguments)
            return made, tool.text(made)

        try:
            return await self.calls.blocking(work)
        except ToolFailure as failure:
            code = types.INVALID_PARAMS if failure.failing == "arguments" else types.INTERNAL_ERROR
            raise MCPError(code=code, message=failure.why, data={"uri": uri}) from failure

    async def _names(self) -> list[str]:
        try:
            return await self.calls.blocking(lambda: self.desk.open().conversations()[::-1])
        except WarmsetError as error:
            raise MCPError(code=types.INTERNAL_ERROR, message=str(error)) from error


def _resource(name: str) -> types.Resource:
    return types.Resource(
        uri=conversation_uri(name), name=name, title=f"Conversation {name}", mime_type=_PLAIN
    )


def _missing(uri: str) -> MCPError:
    return MCPError(
        code=types.INVALID_PARAMS,
        message="there is no such resource; search with memory_search for ids that there are",
        data={"uri": uri},
    )
