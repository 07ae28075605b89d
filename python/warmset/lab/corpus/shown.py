"""Finds the messages that a window shows as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset import messages

if TYPE_CHECKING:
    from warmset.conversation import Conversation
    from warmset.window.result import Window


EVERYTHING: Final = 1 << 40
"""A budget that no conversation exceeds."""


def shown(conversation: Conversation, window: Window) -> set[int]:
    """Return the ids of the messages that a window shows whole, quoted or verbatim.

    A line of the scoped index does not count, nor a message that a summary replaces, nor a task
    that was shortened to a line.
    """
    others = {"index", "summary", "dates", "pinned", "memories"}
    whole = [part for part in window.parts if part.name not in others]
    ids = {id_ for part in whole for id_ in part.ids}
    for part in window.parts:
        if part.name == "anchor":
            said = "\n".join(messages.text_of(one, window.dialect) for one in window.messages)
            ids -= {id_ for id_ in part.ids if text_of(conversation, id_) not in said}
    return ids


def text_of(conversation: Conversation, id_: int) -> str:
    """Return the text of a message of the conversation."""
    return messages.text_of(conversation.fetch(id_), conversation.dialect or "openai")
