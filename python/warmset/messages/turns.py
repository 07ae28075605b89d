"""The common form of messages, through which conversions between dialects go.

Each dialect reads its messages as turns and writes turns as its messages, so a new dialect needs
two functions, not a pair for every other one. What turns cannot represent is reported to `Losses`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from warmset.errors import ConversionError
from warmset.messages.model import Message

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

System: TypeAlias = str | list[Message]
"""A system prompt that stands beside the messages: a string, or a list of text blocks."""

LossKind: TypeAlias = Literal["metadata", "content"]
"""What a conversion leaves out: "metadata" is only of use to the provider that made it, as
signatures, reasoning, cache marks and ids; "content" is what a reader would miss."""

OnLoss: TypeAlias = Literal["error", "drop"]
"""What a conversion does about lost content: it raises `ConversionError`, or drops and lists it."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Something that a conversion left out.

    Args:
        index: Position of the message in the source; None for the system prompt.
        what: What was left out, as "the field 'cache_control' of a text block".
        kind: "metadata" or "content".
    """

    index: int | None
    what: str
    kind: LossKind


@dataclass(frozen=True, slots=True)
class ConversionResult:
    """A list in another dialect.

    Args:
        messages: The messages.
        system: The system prompt, where the dialect keeps it beside the messages.
        lost: What the conversion left out, in the order of the source.
    """

    messages: list[Message]
    system: System | None = None
    lost: tuple[Lost, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """A text."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image, by its address or by its media type and base64 data."""

    url: str = ""
    media_type: str = ""
    data: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call with its arguments."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a tool call; `is_error` if the call failed and the content is its error."""

    id: str
    content: str | tuple[Text | Image, ...]
    is_error: bool = False


Part: TypeAlias = Text | Image | Call | Result


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: a plain string, or parts. `index` is its position in the source, for losses."""

    index: int | None
    role: Literal["system", "user", "assistant"]
    content: str | tuple[Part, ...]


class Losses:
    """Collects what a conversion leaves out, and refuses to lose content that is not to be dropped.

    `what` is a noun phrase in all methods: errors say that it "would be lost".

    Args:
        lost: "error" raises `ConversionError` where content would be lost; "drop" records it.
    """

    def __init__(self, lost: OnLoss = "error") -> None:
        self._drops = lost == "drop"
        self._found: list[Lost] = []

    def metadata(self, index: int | None, what: str) -> None:
        """Record that something is left out which is of use only to the provider that made it."""
        self._found.append(Lost(index, what, "metadata"))

    def content(self, index: int | None, what: str) -> None:
        """Record that content is dropped.

        Raises:
            ConversionError: Content is not to be dropped.
        """
        if not self._drops:
            place = "the system prompt" if index is None else f"message {index}"
            why = f"{place}: {what} would be lost; take it out first, or convert with lost='drop'"
            raise ConversionError(why)
        self._found.append(Lost(index, what, "content"))

    def fields(
        self,
        index: int | None,
        source: Mapping[str, Any],
        known: Collection[str],
        where: str,
        metadata: Collection[str] = (),
    ) -> None:
        """Report the fields of a mapping that are not read and that have a value.

        SDK dumps carry fields that are None or empty lists; losing those loses nothing.

        Args:
            index: Position of the message.
            source: The mapping: a message, a part, or a mapping inside of one.
            known: The fields that are read.
            where: What the mapping is, as "a text block".
            metadata: The fields that are metadata; every other one is content.

        Raises:
            ConversionError: A field is content, and content is not to be dropped.
        """
        rest = [key for key in source if key not in known and source[key] not in (None, [])]
        marks = [repr(key) for key in rest if key in metadata]
        if marks:
            noun = "field" if len(marks) == 1 else "fields"
            self.metadata(index, f"the {noun} {' and '.join(sorted(marks))} of {where}")
        for key in rest:
            if key not in metadata:
                self.content(index, f"the field {key!r} of {where}")

    def found(self) -> tuple[Lost, ...]:
        """Return what was left out so far, in the order of the source."""
        return tuple(sorted(self._found, key=lambda one: -1 if one.index is None else one.index))


class Speech(Protocol):
    """How a dialect's module reads turns and writes them; the module itself implements this."""

    def read(self, messages: list[Message], system: System | None, losses: Losses, /) -> list[Turn]:
        """Read a list; what a turn cannot hold is reported and left out.

        The result of a call that is left out is left out as well. A turn of which nothing is left
        has empty content.
        """
        ...

    def write(self, turns: list[Turn], losses: Losses, /) -> ConversionResult:
        """Write turns; what the dialect cannot say, and turns without content, are left out."""
        ...
