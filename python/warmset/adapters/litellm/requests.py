"""Requests as LiteLLM hands them on: their kind, their conversation, and their list."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warmset.messages import Dialect

FIELDS: Final = (
    "litellm_session_id",
    "metadata.session_id",
    "metadata.conversation_id",
    "metadata.thread_id",
    "litellm_metadata.session_id",
    "litellm_metadata.conversation_id",
    "litellm_metadata.thread_id",
    "user",
)
"""Fields of a request that name its conversation, in the order in which they count."""

LONGEST: Final = 512
"""The most characters of a conversation's name."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SHORTENED: Final = "context_management"
"""A field of a request whose list the provider shortens itself."""

_KEPT: Final = ("previous_response_id", "conversation", "prompt")
"""Fields of Responses whose list the provider keeps."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of request that has a list.

    Args:
        name: What the API is called.
        dialect: The dialect of its list.
        messages: The field that has the list.
        system: The field that has the system prompt; None if that is in the list.
    """

    name: Literal["chat", "responses", "messages"]
    dialect: Dialect
    messages: str
    system: str | None = None


CHAT: Final = Kind("chat", "openai", "messages")
RESPONSES: Final = Kind("responses", "responses", "input")
MESSAGES: Final = Kind("messages", "anthropic", "messages", "system")

_KINDS: Final[dict[str, Kind]] = {
    "completion": CHAT,
    "acompletion": CHAT,
    "responses": RESPONSES,
    "aresponses": RESPONSES,
    "anthropic_messages": MESSAGES,
}


def kind_of(call_type: object, request: Mapping[str, Any]) -> Kind | None:
    """Return the kind of a request; None for one whose list is not to be replaced.

    Args:
        call_type: What LiteLLM calls it.
        request: The request.
    """
    kind = _KINDS.get(str(getattr(call_type, "value", call_type)))
    if kind is None or not request.get(kind.messages):
        return None
    elsewhere = (_SHORTENED, *_KEPT) if kind is RESPONSES else (_SHORTENED,)
    if any(request.get(field) for field in elsewhere):
        return None
    return kind


def conversation_of(request: Mapping[str, Any], fields: Iterable[str]) -> str | None:
    """Return the name of a request's conversation; None if no field has one.

    Args:
        request: The request.
        fields: Fields as "metadata.session_id". One counts if it is a text of 1 to 512 characters
            that is neither blank nor has control characters.
    """
    for path in fields:
        value: Any = request
        for part in path.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, str) and is_name(value):
            return value
    return None


def is_name(text: str) -> bool:
    """Tell whether a text can name a conversation."""
    return bool(text.strip()) and len(text) <= LONGEST and not _CONTROL.search(text)
