"""One message of a Responses list, mended on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.messages.responses.rules import misplaced

if TYPE_CHECKING:
    from warmset.messages.model import Message


def with_fitting_parts(item: Message) -> Message | None:
    """Write the parts of a message as its role says them (C7).

    Args:
        item: A well-formed item.

    Returns:
        The same object where every part fits; a copy in which texts are written as the other
        side's and what is no text is left out; None if nothing is left of it.
    """
    foreign = misplaced(item)
    if not foreign:
        return item
    assistant = item["role"] == "assistant"
    parts: list[dict[str, Any]] = []
    for part in item["content"]:
        if part not in foreign:
            parts.append(part)
        elif isinstance(text := part.get("text", part.get("refusal")), str):
            said = {"type": "output_text", "text": text, "annotations": []}
            parts.append(said if assistant else {"type": "input_text", "text": text})
    return item | {"content": parts} if parts else None
