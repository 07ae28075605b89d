"""A reply in the making: one class for each surface reads what the provider says into it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from warmset.serve.replies.growing import settled
from warmset.serve.replies.reply import Reply

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from warmset.messages import Dialect


class Draft(Protocol):
    """Reads the parsed JSON of an answer.

    Its methods rely on the shapes that a provider documents. They raise what Python raises where
    those are not there; the answer is then taken for one that cannot be read.
    """

    @property
    def dialect(self) -> Dialect:
        """The dialect of the messages."""
        ...

    def whole(self, answer: Mapping[str, Any], /) -> None:
        """Read an answer that is one JSON object."""
        ...

    def event(self, event: Mapping[str, Any], /) -> None:
        """Read the next event of a stream."""
        ...

    def end(self) -> None:
        """Take note of the `[DONE]` with which some streams end."""
        ...

    def reply(self) -> Reply:
        """Return what is there so far."""
        ...


@dataclass(slots=True)
class About:
    """What an answer says about itself; what it says last holds.

    Args:
        names: The fields that hold the id, the model and the usage.
    """

    names: tuple[str, str, str] = ("id", "model", "usage")
    id: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None
    transformations: list[Any] = field(default_factory=list[Any])

    def note(self, answer: Mapping[str, Any]) -> None:
        """Read the fields that are there."""
        name, model, usage = map(answer.get, self.names)
        self.id = name if name and isinstance(name, str) else self.id
        self.model = model if model and isinstance(model, str) else self.model
        self.usage = usage if isinstance(usage, dict) else self.usage
        found = answer.get("input_transformations")
        self.transformations = found if isinstance(found, list) else self.transformations

    def reply(
        self, messages: Iterable[Any], *, is_complete: bool, stop: str | None, choices: int = 1
    ) -> Reply:
        """Return the reply with these messages, all of it copied."""
        return Reply(
            messages=tuple(settled(message) for message in messages),
            is_complete=is_complete,
            id=self.id,
            model=self.model,
            usage=settled(self.usage),
            transformations=tuple(settled(self.transformations)),
            stop=stop,
            choices=choices,
        )
