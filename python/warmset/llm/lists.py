"""Asking a model about a whole list of messages, as the list itself is sent for a reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from warmset.errors import ModelError
from warmset.llm.base import brief
from warmset.messages.sdk_objects import dumped, is_dumpable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.messages import Dialect
    from warmset.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRequest:
    """A list with what is sent beside it.

    Args:
        messages: The messages, in the provider's format.
        system: The system prompt beside them; None if there is none.
        tools: The tools; None if there are none.
        model: The model that the list is for.
        dialect: The dialect of the messages; None if it is not said.
    """

    messages: Sequence[dict[str, Any]]
    system: Any = None
    tools: Sequence[Mapping[str, Any]] | None = None
    model: str = ""
    dialect: Dialect | None = None


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a provider returned in the place of a list.

    Args:
        messages: The messages that take the place of the list, as they came.
        text: What they say, where that can be read; else empty.
        usage: What it took; None if the provider does not say.
    """

    messages: tuple[dict[str, Any], ...]
    text: str
    usage: Usage | None = None


class Compactor(Protocol):
    """A provider that compacts lists itself."""

    def compact(self, request: ListRequest, /, *, timeout: float | None = None) -> Compacted:
        """Have a list compacted; whatever the client raises is passed on.

        Args:
            request: The list.
            timeout: Seconds for one attempt.

        Raises:
            ModelError: The provider answered with something else.
        """
        ...

    def close(self) -> None:
        """Close the client, unless the caller gave it."""
        ...


def plain(said: Any) -> dict[str, Any]:
    """Return what an SDK's object was made from: the fields that the server sent, as plain data.

    Raises:
        ModelError: It is no such object.
    """
    made = dumped(said, mode="json") if is_dumpable(said) else said
    if not isinstance(made, dict):
        raise ModelError(f"the server sent no object but {brief(said)}")
    return made
