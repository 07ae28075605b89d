"""OpenAI Responses items to turns, and back.

What the model made in a row with a call is one turn, and an output belongs right behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.errors import ConversionError
from warmset.messages.codec import encode
from warmset.messages.item_turns import ItemTurns
from warmset.messages.openai.arguments import read_arguments
from warmset.messages.openai.turns import LONGEST_NAME, read_image, unmarked, url_of, with_name
from warmset.messages.responses.kinds import (
    MESSAGE,
    OUTPUTS,
    REASONING,
    REFERENCE,
    TRIGGER,
    item_kind,
)
from warmset.messages.turns import (
    Call,
    ConversionResult,
    Image,
    Part,
    Result,
    System,
    Text,
    Turn,
)
from warmset.messages.writable import sifted, without_empty

if TYPE_CHECKING:
    from warmset.messages.model import Message
    from warmset.messages.turns import Losses

_MARKS = frozenset(
    {"id", "status", "phase", "caller", "created_by", "async"}
    | {"annotations", "logprobs", "prompt_cache_breakpoint", "detail", "parsed", "parsed_arguments"}
)
"""Fields that are metadata: of items that the provider stored, of texts, of images."""

_SEARCHES = ("tool_search_call", "tool_search_output")
_SETTINGS = ("configuration_update", "mcp_list_tools")
_UNSAID = frozenset({REASONING, TRIGGER, *_SEARCHES, *_SETTINGS})
"""Items that are metadata: reasoning, settings of the request, references to tools."""


def read(messages: list[Message], system: System | None, losses: Losses) -> list[Turn]:
    """Read a list; see `Speech`. A system prompt beside it are the request's `instructions`."""
    reader = _Reader(losses)
    if system is not None:
        if not isinstance(system, str):
            raise ConversionError("the system prompt: the instructions of responses are one text")
        reader.turns.add(Turn(None, "system", system))
    for index, item in enumerate(messages):
        reader.add(item, index)
    return list(reader.turns)


class _Reader:
    """Reads a list item by item.

    Args:
        losses: Where is reported what is left out.
    """

    def __init__(self, losses: Losses) -> None:
        self._losses = losses
        self.turns = ItemTurns(losses, "output")

    def add(self, item: Message, index: int) -> None:
        """Read one item; a user's item that is left out is an empty turn."""
        kind = item_kind(item)
        if kind == MESSAGE:
            self.turns.add(self._message(item, index))
        elif kind == "function_call":
            call = self._call(item, index)
            if call is not None:
                self.turns.add(Turn(index, "assistant", (call,)))
        elif kind == "function_call_output" and isinstance(item.get("call_id"), str):
            self.turns.add_result(item["call_id"], index, lambda: self._output(item, index))
        elif kind in _UNSAID or (kind == REFERENCE and str(item["id"]).startswith("rs_")):
            self._losses.metadata(index, f"an item of type {kind!r}")
        else:
            self._losses.content(index, f"an item of type {kind!r}")
            if kind in OUTPUTS:
                self.turns.add_nothing(index)

    def _output(self, item: Message, index: int) -> tuple[str | tuple[Text | Image, ...], bool]:
        marks = _MARKS | {"name", "namespace"}  # the call has them
        known = ("type", "call_id", "output")
        self._losses.fields(index, item, known, "a function call's output", marks)
        return self._content(item["output"], index), False

    def _message(self, item: Message, index: int) -> Turn:
        role = item["role"]
        self._losses.fields(index, item, ("type", "role", "content"), f"the {role} message", _MARKS)
        said = self._content(item["content"], index)
        if role == "user":
            return Turn(index, "user", said)
        return Turn(index, "assistant" if role == "assistant" else "system", said)

    def _call(self, item: Message, index: int) -> Call | None:
        known = ("type", "call_id", "name", "arguments")
        self._losses.fields(index, item, known, "a function call", _MARKS)
        call = item["call_id"]
        arguments = read_arguments(item["arguments"], call, index, self._losses)
        if arguments is None:
            self.turns.leave_out(call)
            return None
        return Call(call, item["name"], arguments)

    def _content(self, content: str | list[Any], index: int) -> str | tuple[Text | Image, ...]:
        if isinstance(content, str):
            return content
        found = (self._part(part, index) for part in content)
        return tuple(part for part in found if part is not None)

    def _part(self, part: dict[str, Any], index: int) -> Text | Image | None:
        kind = part["type"]
        if kind in ("input_text", "output_text"):
            self._losses.fields(index, part, ("type", "text"), "a text part", _MARKS)
            return Text(part["text"])
        if kind == "refusal" and isinstance(part.get("refusal"), str):
            self._losses.fields(index, part, ("type", "refusal"), "a refusal part", _MARKS)
            self._losses.metadata(index, "the mark that a text is a refusal")
            return Text(part["refusal"])
        if kind != "input_image":
            self._losses.content(index, f"a part of type {kind!r}")
            return None
        if not isinstance(part.get("image_url"), str):
            self._losses.content(index, "an image without an address or data")
            return None
        known = ("type", "image_url", *(("detail",) if part.get("detail") == "auto" else ()))
        self._losses.fields(index, part, known, "an image", _MARKS | {"file_id"})
        return read_image(part["image_url"], index, self._losses)


def write(turns: list[Turn], losses: Losses) -> ConversionResult:
    """Write turns; see `Speech`."""

    def keep(part: Part, turn: Turn) -> Part | None:
        match part:
            case Image() if turn.role != "user":
                losses.content(turn.index, f"an image in the {turn.role} message")
                return None
            case Call():
                return with_name(part, turn, losses, LONGEST_NAME)
            case Result():
                return unmarked(part, turn, losses)
            case _:
                return part

    kept = without_empty(sifted(turns, keep), losses)
    return ConversionResult([item for turn in kept for item in _write_turn(turn)])


def _write_turn(turn: Turn) -> list[Message]:
    content = turn.content
    if isinstance(content, str):
        return [{"role": turn.role, "content": content}]
    among_tools = any(isinstance(part, (Call, Result)) for part in content)
    items: list[Message] = []
    said: list[Text | Image] = []
    for part in content:
        if isinstance(part, (Text, Image)):
            said.append(part)
            continue
        items += _write_said(said, turn, plain=True)
        said = []
        items.append(_write_tool(part))
    return [*items, *_write_said(said, turn, plain=among_tools)]


def _write_said(said: list[Text | Image], turn: Turn, *, plain: bool) -> list[Message]:
    """Write what is said between tools as a message; one text as plain content, where asked."""
    if not said:
        return []
    if plain and len(said) == 1 and isinstance(said[0], Text):
        return [{"role": turn.role, "content": said[0].text}]
    return [{"role": turn.role, "content": [_write_part(part, turn.role) for part in said]}]


def _write_tool(part: Call | Result) -> Message:
    if isinstance(part, Call):
        written = {"call_id": part.id, "name": part.name, "arguments": encode(part.arguments)}
        return {"type": "function_call", **written}
    content = part.content
    output = content if isinstance(content, str) else [_write_part(p, "user") for p in content]
    return {"type": "function_call_output", "call_id": part.id, "output": output}


def _write_part(part: Text | Image, role: str) -> Message:
    if isinstance(part, Image):
        return {"type": "input_image", "detail": "auto", "image_url": url_of(part)}
    if role == "assistant":
        return {"type": "output_text", "text": part.text, "annotations": []}
    return {"type": "input_text", "text": part.text}
