"""A session to be played: what is sent before each call, what the model replies, what it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of the model.

    Args:
        at: When it is made, in seconds since the session began.
        messages: The messages that come before it: a request, or the results of tool calls.
        reply: The model's reply.
        asked: The facts that the messages ask for: texts that the list must have.
    """

    at: float
    messages: tuple[Message, ...]
    reply: Message
    asked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A session of Anthropic messages.

    Args:
        name: What it is.
        system: The system prompt.
        tools: The tools.
        steps: The calls, in order.
    """

    name: str
    system: str
    tools: Sequence[Mapping[str, Any]]
    steps: Sequence[Step]

    @property
    def facts(self) -> int:
        """How often a fact is asked for."""
        return sum(len(step.asked) for step in self.steps)
