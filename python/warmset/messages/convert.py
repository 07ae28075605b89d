"""From one dialect to another, with nothing lost; one line a dialect in `SPEECHES`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.messages import anthropic_turns, openai_turns
from warmset.messages.codec import accept
from warmset.messages.dialects import known_dialect, resolve
from warmset.messages.turns import Converted, Speech, System

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warmset.messages.model import Dialect

SPEECHES: dict[Dialect, Speech] = {"openai": openai_turns, "anthropic": anthropic_turns}


def convert(
    messages: Iterable[object],
    *,
    source: Dialect,
    target: Dialect,
    system: System | None = None,
) -> Converted:
    """Say a list in another dialect, or say what would be lost.

    What means the same may be written otherwise: arguments lose their white space, neighbours of
    one role become one message, a developer message becomes the system prompt.

    Args:
        messages: Messages as `accept` takes them, well-formed in the source dialect.
        source: The dialect that they are written in.
        target: The dialect to write them in.
        system: The system prompt, where the source dialect keeps it beside the messages.

    Returns:
        The messages, and the system prompt where the target keeps it beside them. When source and
        target are the same, what was given.

    Raises:
        ConversionError: Something would be lost; it names the message and what.
        InvalidMessageError: A message is malformed in the source dialect.
        UnknownDialectError: A name is not of a supported dialect.
    """
    speech = SPEECHES[known_dialect(target)]
    plain = accept(messages)
    resolve(plain, source)
    if source == target:
        return Converted(plain, system)
    return speech.write(SPEECHES[source].read(plain, system))
