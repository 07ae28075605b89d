"""What a server offers, independent of where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp.server.context import ServerRequestContext
    from mcp_types import (
        CallToolResult,
        GetPromptResult,
        Prompt,
        ReadResourceResult,
        Resource,
        ResourceTemplate,
        Tool,
    )

Request: TypeAlias = "ServerRequestContext[Any, Any]"
"""One request of a client."""


class ServedTool(Protocol):
    """A tool that a client can call."""

    @property
    def definition(self) -> Tool:
        """What the client learns of it."""
        ...

    async def call(self, arguments: Mapping[str, Any], request: Request) -> CallToolResult:
        """Run it."""
        ...


class ServedResources(Protocol):
    """Resources that a client can list and read."""

    @property
    def templates(self) -> Sequence[ResourceTemplate]:
        """The forms of URIs that can be read."""
        ...

    async def page(self, cursor: str | None) -> tuple[list[Resource], str | None]:
        """Return the resources of a page, and the cursor of the next one."""
        ...

    async def read(self, uri: str) -> ReadResourceResult:
        """Read one.

        Raises:
            MCPError: There is none.
        """
        ...


class ServedPrompt(Protocol):
    """A prompt that a person can choose."""

    @property
    def definition(self) -> Prompt:
        """What the client learns of it."""
        ...

    def get(self, arguments: Mapping[str, str]) -> GetPromptResult:
        """Return its messages."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a server offers.

    Args:
        tools: The tools.
        resources: The resources.
        prompts: The prompts.
        instructions: What a model should know of the server.
    """

    tools: Sequence[ServedTool]
    resources: ServedResources
    prompts: Sequence[ServedPrompt]
    instructions: str
