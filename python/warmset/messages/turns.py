"""The common form of messages, through which conversions between dialects go.

Each dialect reads its messages as turns and writes turns as its messages, so a new dialect needs
two functions, not a pair for every other one. What turns cannot represent is rejected.
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


@dataclass(frozen=True, slots=True)
class ConversionResult:
    """A list in another dialect.

    Args:
        messages: The messages.
        system: The system prompt, where the dialect keeps it beside the messages.
    """

    messages: list[Message]
    system: System | None = None


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
    """The result of a tool call."""

    id: str
    content: str | tuple[Text | Image, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: a plain string, or parts. `index` is its position in the source, for errors."""

    index: int | None
    role: Literal["system", "user", "assistant"]
    content: str | tuple[Text | Image | Call | Result, ...]


class Speech(Protocol):
    """How a dialect's module reads turns and writes them; the module itself implements this."""

    def read(self, messages: list[Message], system: System | None, /) -> list[Turn]:
        """Read a list, or raise `ConversionError` where a turn could not hold all of it."""
        ...

    def write(self, turns: list[Turn], /) -> ConversionResult:
        """Write turns, or raise `ConversionError` where the dialect cannot say one."""
        ...


def loss(index: int | None, what: str) -> ConversionError:
    """Make the error that says which message would lose what."""
    place = "the system prompt" if index is None else f"message {index}"
    return ConversionError(f"{place}: {what}; take it out first if it may be lost")


def refuse_rest(
    index: int | None, source: Mapping[str, Any], known: Collection[str], where: str
) -> None:
    """Raise `ConversionError` if the mapping has fields beyond the known ones that say something.

    SDK dumps carry fields that are None or empty lists; losing those loses nothing.
    """
    for key, value in source.items():
        if key not in known and value is not None and value != []:
            raise loss(index, f"the field {key!r} of {where} would be lost")
