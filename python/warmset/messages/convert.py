"""`convert`: from one dialect to another without loss."""

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
    """Convert a list to another dialect, or raise an error that names what would be lost.

    The result has the same meaning, but its form may differ: arguments lose their white space,
    neighbours of the same role become one message, a developer message becomes the system prompt.

    Args:
        messages: Messages as `accept` takes them, well-formed in the source dialect.
        source: The dialect of the messages.
        target: The dialect to convert them to.
        system: The system prompt, if the source dialect keeps it beside the messages.

    Returns:
        The messages, and the system prompt if the target keeps it beside them. If source and target
        are the same, the arguments themselves.

    Raises:
        ConversionError: Something would be lost; the error names the message and what.
        InvalidMessageError: A message is malformed in the source dialect.
        UnknownDialectError: A name is not of a supported dialect.
    """
    speech = LANGUAGES[known_dialect(target)].speech
    plain = accept(messages)
    resolve(plain, source)
    if source == target:
        return ConversionResult(plain, system)
    return speech.write(LANGUAGES[source].speech.read(plain, system))
