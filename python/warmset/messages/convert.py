"""From one dialect to another, with nothing lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.messages.codec import accept
from warmset.messages.dialects import known_dialect, resolve
from warmset.messages.languages import LANGUAGES
from warmset.messages.turns import ConversionResult, System

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warmset.messages.model import Dialect


def convert(
    messages: Iterable[object],
    *,
    source: Dialect,
    target: Dialect,
    system: System | None = None,
) -> ConversionResult:
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
    speech = LANGUAGES[known_dialect(target)].speech
    plain = accept(messages)
    resolve(plain, source)
    if source == target:
        return ConversionResult(plain, system)
    return speech.write(LANGUAGES[source].speech.read(plain, system))
