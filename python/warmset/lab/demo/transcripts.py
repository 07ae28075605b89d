"""From a file to a transcript, whatever kind of file it is; and the one that ships with warmset."""

from __future__ import annotations

import itertools
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError
from warmset.lab.corpus import locomo, rows
from warmset.lab.corpus.transcript import Question, Transcript, checked
from warmset.lab.demo import chat, claude_code

if TYPE_CHECKING:
    from os import PathLike


def read(path: str | PathLike[str], *, conversation: str | None = None) -> Transcript:
    """Read a transcript; its format is detected from its content.

    JSONL is streamed, so that a file may be far larger than what is said in it.

    Args:
        path: messages of OpenAI, Anthropic or Gemini as JSON or JSONL, a Claude Code transcript, or
            a file of LoCoMo conversations.
        conversation: Which conversation of a LoCoMo file; None for the first.

    Returns:
        The transcript, with at least one message, each well-formed.

    Raises:
        InvalidInputError: It cannot be read; the message names the file, the place in it, and what
            to do.
    """
    file = Path(path)
    with rows.reading(file):
        return checked(_read(file, conversation))


def sample() -> Transcript:
    """Return the conversation that ships with warmset, with its ten questions."""
    data = resources.files("warmset.lab.demo") / "data"
    with resources.as_file(data / "conversation.jsonl") as path:
        lines = list(chat.read(rows.stream(path)))
    asked = rows.parse((data / "questions.json").read_text("utf-8"))
    questions = [Question(item["question"], tuple(item["evidence"])) for item in asked]
    return checked(
        Transcript(name="sample", kind="ships with warmset", lines=lines, questions=questions)
    )


def sample_keys() -> list[str]:
    """Return, for each of the sample's questions, the words that identify its answer."""
    data = resources.files("warmset.lab.demo") / "data"
    return [item["key"] for item in rows.parse((data / "questions.json").read_text("utf-8"))]


def _read(file: Path, conversation: str | None) -> Transcript:
    if rows.is_jsonl(file):
        _only_one(conversation)
        events = rows.stream(file)
        first = next(events)
        both = itertools.chain([first], events)
        if claude_code.is_event(first[1]):
            return Transcript(name=file.stem, kind="Claude Code", lines=claude_code.read(both))
        return Transcript(name=file.stem, kind="messages", lines=list(chat.read(both)))
    value = rows.whole(file)
    found = locomo.samples(value)
    if found is not None:
        return locomo.read(found, conversation)
    _only_one(conversation)
    items = chat.listed(value)
    if items is None:
        raise InvalidInputError(
            'expected a list of messages, or an object with a list named "messages"'
        )
    notes = ("its system prompt, beside the messages, was left out",)
    beside = isinstance(value, dict) and bool(value.get("system"))
    return Transcript(
        name=file.stem,
        kind="messages",
        lines=list(chat.read(rows.numbered(items))),
        notes=notes if beside else (),
    )


def _only_one(conversation: str | None) -> None:
    if conversation is not None:
        raise InvalidInputError(
            f"it has one conversation without a name, so there is no {conversation!r}; "
            "leave the name out"
        )
