"""Conversations for recorded cases, drawn by numbers alone: the same with every library."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from warmset import convert

if TYPE_CHECKING:
    from random import Random

DIALECTS: Final = ("openai", "anthropic", "responses", "gemini", "interactions")

_SUBJECTS: Final = (
    "the index", "the store", "a shelf of nails", "the blue door", "invoice 4411", "the parser",
    "Greta's office", "the test of queues", "module billing", "the cache", "port 8787", "the roof",
    "a list of names", "the first release", "the vector file", "order 77", "the lock", "Oslo",
)  # fmt: skip
_VERBS: Final = (
    "needs", "moved to", "was found in", "must never use", "depends on", "is slower than",
    "comes before", "was decided against", "replaces", "failed because of", "is part of",
)  # fmt: skip
_TIMES: Final = (
    "yesterday", "on 3 March 2025", "last week", "in two days", "at 14:30", "on Friday",
    "two months ago", "in 2024", "", "", "", "",
)  # fmt: skip
_FORMS: Final = (
    "We decided that {}.",
    "Remember that {}.",
    "{}, I think.",
    "Always check whether {}.",
    "Is it true that {}?",
    "No, {}; that was wrong before.",
    "{}.",
    "My name is Petra, and {}.",
    "```\n{}\n```",
)


def sentence(draw: Random) -> str:
    """Return something that might be said."""
    one, other = draw.sample(_SUBJECTS, 2)
    time = draw.choice(_TIMES)
    said = f"{one} {draw.choice(_VERBS)} {other}{' ' * bool(time)}{time}"
    return draw.choice(_FORMS).format(said)


def text(draw: Random, most: int) -> str:
    """Return up to so many sentences."""
    return " ".join(sentence(draw) for _each in range(draw.randint(1, most)))


def _calls(draw: Random, number: int) -> list[dict[str, Any]]:
    calls, results = [], []
    for at in range(draw.choice((1, 1, 1, 2, 3))):
        id_ = f"call_{number}_{at}"
        arguments = json.dumps({"query": sentence(draw), "page": draw.randint(0, 3)})
        function = {"name": draw.choice(("search", "read_file", "run")), "arguments": arguments}
        calls.append({"id": id_, "type": "function", "function": function})
        results.append({"role": "tool", "tool_call_id": id_, "content": text(draw, 12)})
    said = None if draw.random() < 0.6 else sentence(draw)
    return [{"role": "assistant", "content": said, "tool_calls": calls}, *results]


def conversation(draw: Random, turns: int) -> list[dict[str, Any]]:
    """Return a conversation in OpenAI's dialect, which ends with a user's message.

    Args:
        draw: Numbers.
        turns: How often the user speaks.
    """
    made: list[dict[str, Any]] = []
    if draw.random() < 0.5:
        made.append({"role": "system", "content": text(draw, 3)})
    has_tools = draw.random() < 0.6
    for number in range(turns):
        made.append({"role": "user", "content": text(draw, 3)})
        if number == turns - 1:
            break
        while has_tools and draw.random() < 0.45:
            made += _calls(draw, len(made))
        made.append({"role": "assistant", "content": text(draw, 5)})
    return made


def in_dialect(messages: list[dict[str, Any]], dialect: str) -> tuple[list[Any], Any]:
    """Return a conversation in another dialect, and what stands beside its list."""
    if dialect == "openai":
        return messages, None
    made = convert(messages, source="openai", target=dialect, lost="drop")  # type: ignore[arg-type]
    return list(made.messages), made.system
