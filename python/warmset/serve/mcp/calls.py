"""Runs tools of the table for a client: in threads, with progress, and every failure answered."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from warmset._extras import extra
from warmset.serve.tools import Call, Tool, ToolFailure
from warmset.serve.tools.quoting import plainly
from warmset.serve.tools.tool import compact_json, encodable

with extra("mcp"):
    import anyio
    import mcp_types as types
    from anyio import from_thread, to_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    from warmset.serve.mcp.levels import Levels
    from warmset.serve.mcp.served import Request

    _T = TypeVar("_T")

AT_ONCE: Final = 8
"""How many calls run at once; others wait."""

_MOST_NOTICE: Final = 300
"""The most characters of a notice."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Calls:
    """Runs what blocks.

    Args:
        levels: Which log messages clients want.
    """

    levels: Levels
    _limiter: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(AT_ONCE))

    async def blocking(self, work: Callable[[], _T]) -> _T:
        """Run a function in a thread; if the request is cancelled, nobody waits for its end."""
        return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limiter)

    async def run(
        self, tool: Tool, arguments: Mapping[str, Any], request: Request
    ) -> tuple[dict[str, Any], str]:
        """Run a tool.

        Args:
            tool: The tool.
            arguments: Its arguments, unchecked.
            request: The request that is answered with the result.

        Returns:
            The result, and the same as text.

        Raises:
            ToolFailure: It has no result; the reason says what to do.
        """
        notices: list[str] = []

        def progress(done: int, total: int, what: str) -> None:
            from_thread.check_cancelled()
            from_thread.run(request.session.report_progress, done, total, what)

        def work() -> tuple[dict[str, Any], str]:
            made = tool.call(arguments, Call(progress=progress, notice=notices.append))
            return made, tool.text(made)

        try:
            made, text = await self.blocking(work)
        except ToolFailure:
            raise
        except Exception as error:
            _log.exception("the tool %s failed", tool.name)
            raise ToolFailure(
                "call",
                f"{tool.name} failed for a reason that nobody foresaw ({type(error).__name__}); "
                "try once more, and look at what the server wrote on standard error",
                type(error).__name__,
            ) from error
        for one in notices:
            notice = plainly(one[:_MOST_NOTICE])
            await self.levels.send(request, "warning", notice)
            text = f"{text}\nNote: {notice}."
        return made, text


def answer(made: dict[str, Any], text: str) -> types.CallToolResult:
    """Return a result with its text, and with its structure beside it."""
    made = json.loads(compact_json(made))  # without what UTF-8 cannot encode
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=encodable(text))], structured_content=made
    )


def refusal(failure: ToolFailure, more: str = "") -> types.CallToolResult:
    """Return a tool's error.

    Args:
        failure: Why there is no result.
        more: What else helps to call again.
    """
    text = encodable(plainly(f"{failure.why}{more}"))
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


def hints_of(effect: str) -> types.ToolAnnotations:
    """Return what a client may show, or ask, before a tool runs."""
    return types.ToolAnnotations(
        read_only_hint=effect == "read",
        destructive_hint=effect == "erase",
        idempotent_hint=effect == "read",
        open_world_hint=False,
    )


@dataclass(frozen=True, slots=True)
class FromTable:
    """A tool of the table, as a client sees it.

    Args:
        tool: The tool.
        calls: Runs it.
    """

    tool: Tool
    calls: Calls

    @property
    def definition(self) -> types.Tool:
        """What the client learns of it."""
        return types.Tool(
            name=self.tool.name,
            title=self.tool.title,
            description=self.tool.description,
            input_schema=self.tool.schema,
            output_schema=self.tool.output_schema,
            annotations=hints_of(self.tool.effect),
        )

    async def call(self, arguments: Mapping[str, Any], request: Request) -> types.CallToolResult:
        """Run it."""
        try:
            return answer(*await self.calls.run(self.tool, arguments, request))
        except ToolFailure as failure:
            return refusal(failure)
