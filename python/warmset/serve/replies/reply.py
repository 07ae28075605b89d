"""The reply that an answer holds, and the protocol of what assembles it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.messages import Message

Surface: TypeAlias = Literal["chat", "responses", "messages", "gemini", "interactions"]
"""The API that answered: OpenAI Chat Completions or Responses, Anthropic Messages, Gemini
generateContent (streamed or not) or Gemini Interactions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a provider answered.

    Args:
        messages: The messages, in the dialect of the surface; empty if the answer has none (an
            error, a count of tokens), if it cannot be read, or if it broke before anything usable.
        is_complete: Whether the provider said that the answer has ended, and not by an error.
        id: The id of the response.
        model: The model that answered, as the provider names it.
        usage: The provider's usage object as it came, the last one; Anthropic's of the start of a
            stream with the fields of its end.
        transformations: The response's `input_transformations`.
        stop: Why it ended, in the provider's word: `finish_reason`, `stop_reason`, `status`.
        choices: The number of alternatives that came; the messages are those of the first.
        apart: For a stream of generateContent, the contents of its chunks as they came. Google's
            chat classes send these back; other clients send the one content in `messages`.
    """

    messages: tuple[Message, ...] = ()
    is_complete: bool = False
    id: str | None = None
    model: str | None = None
    usage: Mapping[str, Any] | None = None
    transformations: Sequence[Any] = field(default_factory=tuple)
    stop: str | None = None
    choices: int = 1
    apart: tuple[Message, ...] = ()


class Assembler(Protocol):
    """Assembles a reply from the bytes of an answer."""

    def feed(self, data: bytes, /) -> None:
        """Take the next bytes of the answer, decoded from any `Content-Encoding`."""
        ...

    def reply(self) -> Reply:
        """Return what is there so far; more may be fed afterwards."""
        ...
