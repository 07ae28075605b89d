"""The canonical form of a message: what it says, however a client writes it.

Clients write one message in several ways. A cache mark moves on with each call, a text becomes a
block with that text, an SDK adds null fields, the model's thinking is left out of older turns, and
with it the ids of the items that were made with it. Google's clients write bytes in another
alphabet of base64 than its API. Two messages with the same canonical form are the same message. A
value that a tool reads or returns is compared as it is.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from warmset.messages.client_only import without_client_only
from warmset.messages.gemini.parts import is_thought
from warmset.messages.interactions.grammar import is_step_call
from warmset.messages.prefix import MARKS
from warmset.messages.responses.kinds import CALLS, MESSAGE, OUTPUTS, item_id
from warmset.messages.text import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warmset.messages.model import Message

THINKING_FIELDS: Final = frozenset(
    {"reasoning", "reasoning_content", "reasoning_details", "thinking_blocks"}
)
"""Fields of a reply of Chat's that hold thinking."""

_THINKING_BLOCKS: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})
_THINKING_ITEMS: Final = frozenset({"reasoning", "thought"})
TOOLS_OWN: Final = frozenset(
    {"input", "input_schema", "arguments", "args", "parameters", "response"}
)
"""Fields whose values are a tool's own."""

_SIGNATURES: Final = frozenset({"thoughtSignature", "thought_signature", "signature"})
_BYTES: Final = frozenset({"inlineData", "inline_data"})
"""Fields of Gemini's whose `data` are bytes."""

_STANDARD: Final = str.maketrans("-_", "+/")
"""From the alphabet of base64 that is safe in URLs to the other one."""

_LISTS: Final = frozenset({"content", "output", "parts"})
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})
_NOTES: Final = frozenset({"annotations", "citations", "logprobs"})
"""Fields of a block of text that say nothing while they are empty."""

_NAMED: Final = frozenset({MESSAGE, *CALLS, *OUTPUTS})
_REPLIES: Final = ("assistant", "model")


class Mark(NamedTuple):
    """A cache mark of a message.

    Args:
        path: Where it stands: names of fields, and positions among the blocks without thinking.
        field: Its name.
        value: Its value as JSON.
        kind: The type of the block that has it; empty for a message.
    """

    path: tuple[str | int, ...]
    field: str
    value: str
    kind: str


Marks: TypeAlias = tuple[Mark, ...]


class Form(NamedTuple):
    """A message as it is compared with others.

    Args:
        digest: The hash of what it says.
        thoughts: The hash of each block of thinking in it.
        name: Its own id, which an item may lose with the reasoning that it was made with.
        marks: Its cache marks.
        alone: Whether it has thinking and nothing else.
    """

    digest: bytes
    thoughts: tuple[bytes, ...] = ()
    name: str | None = None
    marks: Marks = ()
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Variant:
    """How a caller's list has a stored message.

    Args:
        bare: Whether it has the message without its thinking, or not at all if it is nothing else.
        marks: Its cache marks in the list; None if they are those of the stored message.
    """

    bare: bool = False
    marks: Marks | None = None


SAME: Final = Variant()
MISSING: Final = Variant(bare=True)
"""A stored message of thinking alone that a list does not have."""


def form_of(message: Message) -> Form:
    """Return the canonical form of a message, in any dialect."""
    plain = without_client_only(message)
    if is_item_of_thinking(plain):
        return Form(b"", (_hash(_Reader().value(plain, ())),), alone=True)
    reader = _Reader()
    spoken = reader.message(plain)
    name = None
    if kind_of(plain) in _NAMED and not is_step_call(plain):
        name = item_id(plain)
        if name is not None:
            spoken.pop("id", None)
        if spoken.get("type") == MESSAGE:
            del spoken["type"]
    left = any(spoken.get(field) for field in spoken.keys() - {"role", "type"})
    alone = bool(reader.thoughts) and not left
    return Form(_hash(spoken), tuple(reader.thoughts), name, tuple(reader.marks), alone)


def variant_of(given: Form, stored: Form) -> Variant | None:
    """Compare a message of a caller's list with a stored one.

    Args:
        given: The form of the list's message.
        stored: The form of the stored message.

    Returns:
        How the list has the stored message; None if it is another message. It is another one, too,
        if it has thinking or an id that the stored one has not.
    """
    if given.digest != stored.digest or given.name not in (None, stored.name):
        return None
    bare = given.thoughts != stored.thoughts
    if bare and not set(given.thoughts) < set(stored.thoughts):
        return None
    marks = None if given.marks == stored.marks else given.marks
    return SAME if marks is None and not bare else Variant(bare, marks)


def is_item_of_thinking(message: Message) -> bool:
    """Return whether a message is an item, or a step, of the model's thinking."""
    return kind_of(message) in _THINKING_ITEMS and "role" not in message


def is_thinking_block(block: object) -> bool:
    """Return whether an element of a reply's `content` or `parts` is the model's thinking.

    A part with a call is none, whatever else it has.
    """
    if not isinstance(block, dict):
        return False
    if "type" in block:
        return kind_of(block) in _THINKING_BLOCKS
    return is_thought(block) and not {"functionCall", "function_call"} & block.keys()


def is_reply(message: Message) -> bool:
    """Return whether a message is a model's, as far as its role says."""
    return message.get("role") in _REPLIES


class _Reader:
    """Reads one message: what it says, its thinking and its cache marks."""

    def __init__(self) -> None:
        self.thoughts: list[bytes] = []
        self.marks: list[Mark] = []

    def message(self, message: Message) -> Message:
        """Return what a message says, with its keys sorted later."""
        if not is_reply(message):
            return self._fields(message, (), "")
        spoken = dict(message)
        for field in sorted(THINKING_FIELDS & message.keys()):
            if thought := spoken.pop(field):
                self.thoughts.append(_hash([field, _Reader().value(thought, ())]))
        for field in ("content", "parts"):
            if isinstance(blocks := spoken.get(field), list):
                rest = [one for one in blocks if not is_thinking_block(one)]
                if len(rest) < len(blocks):
                    found = filter(is_thinking_block, blocks)
                    self.thoughts += [_hash(_Reader().value(one, ())) for one in found]
                    spoken[field] = rest
        return self._fields(spoken, (), "")

    def value(self, value: Any, path: tuple[str | int, ...]) -> Any:
        """Return a value without null fields and cache marks."""
        if isinstance(value, dict):
            return self._fields(value, path, kind_of(value))
        if isinstance(value, list):
            return [self.value(one, (*path, at)) for at, one in enumerate(value)]
        return value

    def _fields(self, fields: Message, path: tuple[str | int, ...], kind: str) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in self._said(fields, kind):
            if key in MARKS:
                written = json.dumps(value, sort_keys=True)
                self.marks.append(Mark(path, key, written, kind))
            elif key in TOOLS_OWN:
                made[key] = value
            elif isinstance(value, str) and _is_base64(key, fields, path):
                made[key] = value.translate(_STANDARD).rstrip("=")
            elif key in _LISTS and isinstance(value, str):
                made[key] = [{"type": "text", "text": value}]
            else:
                made[key] = self.value(value, (*path, key))
        if made.get("type") in _TEXTS:
            made["type"] = "text"
        return made

    def _said(self, fields: Message, kind: str) -> Iterator[tuple[str, Any]]:
        """Yield the fields that say something, in an order that does not depend on the client."""
        for key in sorted(fields):
            value = fields[key]
            silent = value is None or (kind in _TEXTS and key in _NOTES and value == [])
            if not silent:
                yield key, value


def _is_base64(key: str, fields: Message, path: tuple[str | int, ...]) -> bool:
    """Return whether a field holds bytes that Google's clients write in their alphabet."""
    if key == "data":  # of a part's, or of a block's of Interactions
        return (bool(path) and path[-1] in _BYTES) or "mime_type" in fields
    return key in _SIGNATURES


def _hash(value: object) -> bytes:
    written = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.blake2b(written.encode("utf-8", "surrogatepass"), digest_size=16).digest()
