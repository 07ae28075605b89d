"""Requests as LiteLLM hands them on: their kind, and the fields that name their conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

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
