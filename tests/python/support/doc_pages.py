"""The pages of documentation: their blocks, their links, and what their examples may use."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from warmset import validate
from warmset.lab.demo.agent_session import coding_session

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "python" / "docs"
README = ROOT / "README.md"
PAGES = [README, *sorted(DOCS.rglob("*.md"))]
LINKED = [
    *PAGES,
    ROOT / "CHANGELOG.md",
    ROOT / "benches" / "README.md",
    ROOT / "rust" / "README.md",
    ROOT / ".github" / "CONTRIBUTING.md",
]

_FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def name(page: Path) -> str:
    """Name a page in a report."""
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, what else is on that line, its text, and its line."""

    language: str
    marker: str
    text: str
    line: int


NEEDS = "needs-"
"""Begins the marker of an example that runs where a module is; `test_recipes.py` runs it."""


def needs(block: Block) -> str:
    """Return the module that an example needs; empty if it needs none."""
    return block.marker.removeprefix(NEEDS) if block.marker.startswith(NEEDS) else ""


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    text = page.read_text()
    found = []
    for fence in _FENCE.finditer(text):
        language, _, marker = fence[1].strip().partition(" ")
        line = text.count("\n", 0, fence.start()) + 2
        found.append(Block(language, marker, fence[2], line))
    return found


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", page.read_text())


def links(page: Path) -> list[str]:
    """Return what a page links to, images included."""
    return _LINK.findall(re.sub(r"`[^`]*`", "", prose(page)))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found: set[str] = set()
    for heading in _HEADING.findall(prose(page)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        further = 1
        while slug in found:
            slug, further = f"{slug}-{further}", further + 1
        found.add(slug)
    return found


def agrees(shown: str, printed: str) -> bool:
    """Tell whether a page shows what was printed; "…" stands for anything."""
    pattern = ".*".join(re.escape(part) for part in shown.strip().split("…"))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


# --- what examples may use without making it: a provider's client, and an agent's list -----------


class Client:
    """A client of OpenAI, Anthropic and Google in one, without a network.

    It refuses a list that the provider would refuse. If tools are sent, it calls the first one.
    """

    def __init__(self, **_options: Any) -> None:
        self.base_url = SimpleNamespace(host="localhost")
        completions = SimpleNamespace(create=self._chat)
        self.chat = SimpleNamespace(completions=completions)
        self.messages = SimpleNamespace(create=self._message)
        self.responses = SimpleNamespace(create=self._response)
        self.models = SimpleNamespace(generate_content=self._content)
        self.embeddings = SimpleNamespace(create=self._embeddings)
        self.sent: list[list[Any]] = []

    def close(self) -> None:
        """Have nothing to close."""

    def _take(self, messages: list[Any], dialect: str) -> None:
        broken = validate(messages, dialect=dialect)
        assert not broken, broken
        self.sent.append(messages)

    def _chat(self, *, messages: list[Any], tools: Any = None, **options: Any) -> Any:
        self._take(messages, "openai")
        text = "Release 4 is ready; the pool stays at 12."
        if "response_format" in options:  # a picker asks
            text = '{"ids": [2]}'
        if '"verdicts"' in str(messages):  # a triage asks
            text = _verdicts(messages[-1]["content"])
        asked = bool(tools) and messages[-1]["role"] != "tool"
        calls = [_call(tools[0]["function"])] if asked else None
        message = Dumped(role="assistant", content=text, tool_calls=calls, refusal=None)
        usage = SimpleNamespace(prompt_tokens=40, completion_tokens=12)
        choice = SimpleNamespace(message=message, finish_reason="stop")
        return SimpleNamespace(choices=[choice], usage=usage)

    def _message(self, *, messages: list[Any], **_options: Any) -> Any:
        self._take(messages, "anthropic")
        text = "Release 4 is ready; the pool stays at 12."
        if re.search("<(transcript|part)", str(messages)):  # a summarizer asks
            text = "The agent rounds cents in shop/orders/service.py and runs the tests."
        usage = SimpleNamespace(input_tokens=40, output_tokens=12)
        content = [SimpleNamespace(type="text", text=text)]
        return SimpleNamespace(content=content, usage=usage, stop_reason="end_turn")

    def _response(self, *, input: list[Any], **_options: Any) -> Any:  # noqa: A002 - the SDK's
        self._take(input, "responses")
        return SimpleNamespace(output_text="Release 4 is ready; the pool stays at 12.")

    def _content(self, *, contents: list[Any], **_options: Any) -> Any:
        self._take(contents, "gemini")
        return SimpleNamespace(text="Release 4 is ready; the pool stays at 12.")

    def _embeddings(self, *, input: list[str], **_options: Any) -> Any:  # noqa: A002 - the SDK's
        rows = [
            SimpleNamespace(index=at, embedding=[1.0, float(len(text))])
            for at, text in enumerate(input)
        ]
        return SimpleNamespace(data=rows)


class Dumped(SimpleNamespace):
    """An SDK's object, which can be written as plain values."""

    def model_dump(self, **_options: Any) -> dict[str, Any]:
        """Return it as plain values."""
        return {key: _plain(value) for key, value in vars(self).items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.model_dump() if isinstance(value, Dumped) else value


def _call(function: dict[str, Any]) -> Any:
    arguments = {
        "fetch_turns": '{"ids": [2]}',
        "request_context": '{"request": "cranes", "ids": []}',
    }.get(function["name"], "{}")
    made = Dumped(name=function["name"], arguments=arguments)
    return Dumped(id="call_1", type="function", function=made)


def _verdicts(lines: str) -> str:
    """Judge as a page shows it: cranes are irrelevant."""
    found = re.findall(r"^#(\d+) (.*)$", lines, re.MULTILINE)
    judged = [
        {"id": int(at), "verdict": "irrelevant", "reason": "cranes are not asked about"}
        if "cranes" in said
        else {"id": int(at), "verdict": "supplementary", "reason": "it says why"}
        for at, said in found
    ]
    return json.dumps({"verdicts": judged})


def sdks() -> dict[str, ModuleType]:
    """Return stand-ins for the providers' SDKs, whose clients need no key and no network."""
    openai, anthropic = ModuleType("openai"), ModuleType("anthropic")
    openai.OpenAI = Client  # type: ignore[attr-defined]
    openai.OpenAIError = ConnectionError  # type: ignore[attr-defined]
    openai.omit = None  # type: ignore[attr-defined]
    anthropic.Anthropic = Client  # type: ignore[attr-defined]
    return {"openai": openai, "anthropic": anthropic}


def given() -> dict[str, Any]:
    """Return the names that examples use without making them."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    read_file = {"name": "read_file", "description": "Read a file", "parameters": schema}
    return {
        "client": Client(),
        "model": "gpt-5-mini",
        "messages": coding_session()[:-1],
        "tools": [{"type": "function", "function": read_file}],
    }
