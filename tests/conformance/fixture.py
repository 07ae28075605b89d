"""What scenarios ask for by name, offered through the builder that warmset's own server uses.

`python -m tests.conformance.fixture` serves it at a free port, and writes the URL.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from warmset.serve.listening import Listening
from warmset.serve.mcp.calls import Calls, FromTable
from warmset.serve.mcp.http import serve_http
from warmset.serve.mcp.levels import Levels
from warmset.serve.mcp.served import Offer, Request
from warmset.serve.mcp.server import build
from warmset.serve.proxy.guard import GuardOptions
from warmset.serve.tools import Tool, ToolFailure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/"
    "iZk9HQAAAABJRU5ErkJggg=="
)
"""One red pixel, PNG."""

SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
"""No sound, WAV."""

NONE: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


def text(said: str) -> types.TextContent:
    return types.TextContent(type="text", text=said)


def image() -> types.ImageContent:
    return types.ImageContent(type="image", data=PIXEL, mime_type="image/png")


def resource(uri: str, said: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    held = types.TextResourceContents(uri=uri, mime_type=mime_type, text=said)
    return types.EmbeddedResource(type="resource", resource=held)


@dataclass(frozen=True)
class Fixed:
    """A tool that answers by a function."""

    name: str
    run: Callable[[Mapping[str, Any], Request], Awaitable[types.CallToolResult]]
    schema: dict[str, Any] = field(default_factory=lambda: NONE)

    @property
    def definition(self) -> types.Tool:
        return types.Tool(name=self.name, description=self.name, input_schema=self.schema)

    async def call(self, arguments: Mapping[str, Any], request: Request) -> types.CallToolResult:
        return await self.run(arguments, request)


def saying(name: str, *content: Any, schema: dict[str, Any] = NONE) -> Fixed:
    """A tool that always says the same."""

    async def run(_arguments: Mapping[str, Any], _request: Request) -> types.CallToolResult:
        return types.CallToolResult(content=list(content))

    return Fixed(name, run, schema)


def logging(name: str, levels: Levels) -> Fixed:
    async def run(_arguments: Mapping[str, Any], request: Request) -> types.CallToolResult:
        for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await levels.send(request, "info", said)
            await anyio.sleep(0.05)
        return types.CallToolResult(content=[text("done")])

    return Fixed(name, run)


async def lacking(_arguments: Mapping[str, Any], request: Request) -> types.CallToolResult:
    declared = request.session.client_capabilities
    if declared is None or declared.sampling is None:
        raise MCPError(
            code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="sampling is needed",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return types.CallToolResult(content=[text("there")])


def failing(_given: dict[str, Any], _call: Any) -> dict[str, Any]:
    raise ToolFailure("call", "This tool intentionally returns an error for testing")


def stepping(_given: dict[str, Any], call: Any) -> dict[str, Any]:
    for done in (0, 50, 100):
        call.progress(done, 100, "steps")
    return {"done": True}


def of_table(name: str, run: Callable[[dict[str, Any], Any], dict[str, Any]], calls: Calls) -> Any:
    """A tool of the table, which runs in a thread as every tool of a memory does."""
    tool = Tool(
        name=name,
        title=name,
        description=name,
        properties={},
        output={"done": {"type": "boolean"}},
        always=(),
        effect="read",
        run=run,
    )
    return FromTable(tool, calls)


WIDE: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
HEADED: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}


class Resources:
    """The resources of the suite."""

    templates = (types.ResourceTemplate(uri_template="test://template/{id}/data", name="template"),)

    async def page(self, _cursor: str | None) -> tuple[list[types.Resource], str | None]:
        names = ("test://static-text", "test://static-binary")
        return [types.Resource(uri=one, name=one) for one in names], None

    async def read(self, uri: str) -> types.ReadResourceResult:
        made: Any
        if uri == "test://static-text":
            said = "This is the content of the static text resource."
            made = types.TextResourceContents(uri=uri, mime_type="text/plain", text=said)
        elif uri == "test://static-binary":
            made = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)
        elif uri.startswith("test://template/"):
            id_ = uri.split("/")[3]
            said = f'{{"id":"{id_}","templateTest":true,"data":"Data for ID: {id_}"}}'
            made = types.TextResourceContents(uri=uri, mime_type="application/json", text=said)
        else:
            raise MCPError(code=types.INVALID_PARAMS, message="no such resource", data={"uri": uri})
        return types.ReadResourceResult(contents=[made])


@dataclass(frozen=True)
class Prompted:
    """A prompt that answers by a function."""

    name: str
    arguments: tuple[str, ...]
    made: Callable[[Mapping[str, str]], list[Any]]

    @property
    def definition(self) -> types.Prompt:
        named = [types.PromptArgument(name=one, required=True) for one in self.arguments]
        return types.Prompt(name=self.name, arguments=named)

    def get(self, arguments: Mapping[str, str]) -> types.GetPromptResult:
        said = [types.PromptMessage(role="user", content=one) for one in self.made(arguments)]
        return types.GetPromptResult(messages=said)


def prompts() -> list[Prompted]:
    return [
        Prompted(
            "test_simple_prompt", (), lambda _: [text("This is a simple prompt for testing.")]
        ),
        Prompted(
            "test_prompt_with_arguments",
            ("arg1", "arg2"),
            lambda given: [
                text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")
            ],
        ),
        Prompted(
            "test_prompt_with_embedded_resource",
            ("resourceUri",),
            lambda given: [
                resource(given["resourceUri"], "Embedded resource content for testing."),
                text("Please process the embedded resource above."),
            ],
        ),
        Prompted(
            "test_prompt_with_image",
            (),
            lambda _: [image(), text("Please analyze the image above.")],
        ),
    ]


def offer(levels: Levels) -> Offer:
    calls = Calls(levels)
    mixed = resource("test://mixed-content-resource", '{"test":"data"}', "application/json")
    sound = types.AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")
    embedded = resource("test://embedded-resource", "This is an embedded resource content.")
    return Offer(
        tools=[
            saying("test_simple_text", text("This is a simple text response for testing.")),
            saying("test_image_content", image()),
            saying("test_audio_content", sound),
            saying("test_embedded_resource", embedded),
            saying("test_multiple_content_types", text("Multiple:"), image(), mixed),
            logging("test_tool_with_logging", levels),
            logging("test_logging_tool", levels),
            of_table("test_error_handling", failing, calls),
            of_table("test_tool_with_progress", stepping, calls),
            of_table("test_streaming_elicitation", stepping, calls),
            Fixed("test_missing_capability", lacking),
            saying("json_schema_2020_12_tool", text("fine"), schema=WIDE),
            saying("test_custom_header", text("fine"), schema=HEADED),
        ],
        resources=Resources(),
        prompts=prompts(),
        instructions="For the conformance suite alone.",
    )


def main() -> None:
    levels = Levels()
    server = build(offer(levels), version="1", levels=levels)

    def ready(url: str) -> None:
        print(f"fixture: {url} serves the suite", file=sys.stderr, flush=True)

    serve_http(server, GuardOptions(), Listening(host="127.0.0.1", port=0, grace=1), ready=ready)


if __name__ == "__main__":
    main()
