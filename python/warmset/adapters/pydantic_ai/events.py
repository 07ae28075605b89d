"""Events of a run: what became of an agent's history."""

from __future__ import annotations

from dataclasses import dataclass

from warmset._extras import extra

with extra("pydantic-ai"):
    from pydantic_ai.messages import CapabilityEvent


@dataclass(kw_only=True)
class CompactionStartEvent(CapabilityEvent, namespace="warmset"):
    """A summary of earlier messages is being written in the background.

    Args:
        conversation: The conversation.
        tokens: The tokens of its messages.
    """

    conversation: str = ""
    tokens: int = 0


@dataclass(kw_only=True)
class CompactionEndEvent(CapabilityEvent, namespace="warmset"):
    """The list that is sent was made anew, so that a provider's cache begins anew as well.

    Args:
        conversation: The conversation.
        why: Why: that a summary took the place of its messages, or why a list began anew.
        tokens_before: The tokens of the conversation's messages.
        tokens_after: The tokens of the window.
        summary_tokens: The tokens of the summary; 0 without one.
        messages_before: The messages of the conversation.
        messages_after: Those of the window.
    """

    conversation: str = ""
    why: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    summary_tokens: int = 0
    messages_before: int = 0
    messages_after: int = 0
