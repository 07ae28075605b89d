"""What a provider's prompt cache compares of a request, and in which order.

A cache has the front of a prompt: what stands behind the first difference is read again.

- Anthropic: tools, system, messages. Another model, or another output format, loses everything;
  `speed` loses system and messages; `tool_choice`, `thinking` and the effort lose the messages, at
  least. Source: "What invalidates the cache" of platform.claude.com/docs/en/build-with-claude/
  prompt-caching, the page on structured outputs, and the order `tools`, `system`, `messages` there.
- OpenAI: instructions and tools stand before the input. Lost is everything by another model, cache
  key, service tier, tools, output format, verbosity or request-level effort. Source: the reasons in
  `prompt_cache_diagnostics` of the Responses API, and developers.openai.com/api/docs/guides/
  prompt-caching. From GPT-6.2 on, `instructions` stand behind the input and are not cached.
- Gemini: the order of system instruction and tools is not documented; both stand before the
  contents. Source: ai.google.dev/gemini-api/docs/caching.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from warmset.messages.prefix import MARKS

if TYPE_CHECKING:
    from warmset.messages import Dialect

ORDER: Final[Mapping[Dialect, tuple[str, ...]]] = {
    "anthropic": (
        "model",
        "output_config.format",
        "tools",
        "speed",
        "system",
        "tool_choice",
        "thinking",
        "output_config.effort",
        "messages",
    ),
    "openai": (
        "model",
        "prompt_cache_key",
        "service_tier",
        "response_format",
        "reasoning_effort",
        "verbosity",
        "tools",
        "functions",
        "messages",
    ),
    "responses": (
        "model",
        "prompt_cache_key",
        "service_tier",
        "text.format",
        "text.verbosity",
        "reasoning.effort",
        "tools",
        "instructions",
        "input",
    ),
    "gemini": (
        "model",
        "config.cached_content",
        "config.tools",
        "config.system_instruction",
        "contents",
    ),
    "interactions": ("model", "tools", "system_instruction", "input"),
}
"""The parts of a request that the cache compares, from its front; the last one is the list."""

TOOLS: Final = frozenset({"tools", "functions", "config.tools"})
SYSTEM: Final = frozenset(
    {"system", "instructions", "system_instruction", "config.system_instruction"}
)

STORED: Final = ("previous_response_id", "conversation", "previous_interaction_id")
"""Parameters by which a list goes on behind one that the provider has stored."""

_OWN: Final = frozenset({"input", "input_schema", "parameters", "arguments", "args", "properties"})
"""Fields whose values are a tool's own: a field there is never a mark."""

_UNCACHED_INSTRUCTIONS: Final = (6, 2)
_GPT: Final = re.compile(r"gpt-(\d+)(?:\.(\d+))?")


def caches_instructions(model: str) -> bool:
    """Return whether `instructions` are part of the prefix: for all models before GPT-6.2."""
    found = _GPT.search(model.lower())
    return found is None or (int(found[1]), int(found[2] or 0)) < _UNCACHED_INSTRUCTIONS


def argument(request: Mapping[str, Any], path: str) -> Any:
    """Return what a request has at a path, in any spelling of its API; None if it has nothing.

    Args:
        request: The arguments of a call, or the body of an HTTP request.
        path: Names, with dots between; `config` may be left out, as in bodies.
    """
    names = path.split(".")
    for way in (names, names[1:] if names[0] == "config" else []):
        value: Any = request if way else None
        for name in way:
            value = _field(value, name)
        if value is not None:
            return value
    return None


def without_marks(value: Any, place: str, marks: dict[str, Any]) -> Any:
    """Return a value without cache marks, and note each with its place.

    Args:
        value: A JSON value.
        place: Its place in the request.
        marks: Takes the marks, by their places.
    """
    if isinstance(value, list):
        return [without_marks(one, f"{place}[{at}]", marks) for at, one in enumerate(value)]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, one in value.items():
        inner = f"{place}.{key}"
        if key in MARKS:
            marks[inner] = one
        else:
            kept[key] = one if key in _OWN else without_marks(one, inner, marks)
    return kept


def _field(value: Any, name: str) -> Any:
    if not isinstance(value, Mapping):
        return None
    found = value.get(name)
    if found is None:
        head, *rest = name.split("_")
        found = value.get(head + "".join(map(str.capitalize, rest)))
    return found
