"""Prompts that a person chooses: recall a topic, or catch up on a conversation."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset._extras import extra

with extra("mcp"):
    import mcp_types as types

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A prompt with one argument.

    Args:
        name: Its name.
        title: Its name for people.
        description: What it does.
        argument: The name of its argument.
        said: What the argument is.
        text: The message, with `{}` for the argument as a JSON string.
    """

    name: str
    title: str
    description: str
    argument: str
    said: str
    text: str

    @property
    def definition(self) -> types.Prompt:
        """What the client learns of it."""
        argument = types.PromptArgument(name=self.argument, description=self.said, required=True)
        return types.Prompt(
            name=self.name, title=self.title, description=self.description, arguments=[argument]
        )

    def get(self, arguments: Mapping[str, str]) -> types.GetPromptResult:
        """Return its message."""
        given = json.dumps(arguments[self.argument], ensure_ascii=False)
        content = types.TextContent(type="text", text=self.text.format(given))
        return types.GetPromptResult(
            description=self.description,
            messages=[types.PromptMessage(role="user", content=content)],
        )


PROMPTS: Final = (
    Asking(
        name="recall",
        title="Recall a topic",
        description="Look up what was said and decided about a topic before.",
        argument="topic",
        said="What to recall.",
        text="Search the memory with memory_search for {}, read what matters with memory_fetch, "
        "and tell me what was said and decided, with days and ids. Say so if there is nothing.",
    ),
    Asking(
        name="catch_up",
        title="Catch up on a conversation",
        description="Read what matters of a stored conversation, to go on where it ended.",
        argument="conversation",
        said="The name of the conversation; context_status lists some.",
        text="Catch up on the stored conversation {}: read its newest turns (warmset_more, tool "
        "turns), search it for the goal, decisions, open tasks and blockers, and tell me where it "
        "stands. Do not propose again what is done.",
    ),
)
"""The prompts of the server."""
