"""`convert`: from one dialect to another, without a loss that is not listed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from warmset.errors import InvalidInputError
from warmset.messages.codec import accept
from warmset.messages.dialects import known_dialect, resolve
from warmset.messages.languages import LANGUAGES
from warmset.messages.mending import CONTINUE
from warmset.messages.turns import ConversionResult, Losses, OnLoss, System
from warmset.messages.writable import joined_calls, with_own_ids

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warmset.messages.model import Dialect


def convert(
    messages: Iterable[object],
    *,
    source: Dialect,
    target: Dialect,
    system: System | None = None,
    lost: OnLoss = "error",
) -> ConversionResult:
    """Convert a list to another dialect, and list what the other dialect cannot hold.

    The result has the same meaning, but its form may differ: arguments lose their white space,
    neighbours of the same role become one message, a developer message becomes the system prompt.
    Metadata that is of use only to the provider that made it is left out and listed: signatures,
    reasoning, cache marks, ids and states of stored items, citations, references to tools. Content
    is what a reader would miss: unknown parts, files, audio, tools that the provider ran, the order
    of text and calls.

    No turns are added: a list that begins or ends with the assistant goes on doing so. Only where
    nothing is left of a user's message at an end, a list for Anthropic or Gemini says "(continued)"
    or "(continue)" there; and a list of which nothing is left says "(continue)".

    Args:
        messages: Messages as `accept` takes them, well-formed in the source dialect.
        source: The dialect of the messages.
        target: The dialect to convert them to.
        system: The system prompt, if the source dialect keeps it beside the messages.
        lost: What to do where content would be lost: "error" raises `ConversionError`; "drop"
            leaves it out, a call with its result, and lists it.

    Returns:
        The messages, the system prompt if the target keeps it beside them, and what was lost. If
        source and target are the same, the arguments themselves.

    Raises:
        ConversionError: Content would be lost; the error names the message and what.
        InvalidMessageError: A message is malformed in the source dialect.
        InvalidInputError: `lost` is neither of the two.
        UnknownDialectError: A name is not of a supported dialect.
    """
    if lost not in get_args(OnLoss):
        raise InvalidInputError(f"lost: expected 'error' or 'drop', found {lost!r}")
    source, target = known_dialect(source), known_dialect(target)
    plain = accept(messages)
    resolve(plain, source)
    if source == target:
        return ConversionResult(plain, system)
    losses = Losses(lost)
    turns = joined_calls(LANGUAGES[source].speech.read(plain, system, losses))
    made = LANGUAGES[target].speech.write(with_own_ids(turns, losses), losses)
    if plain and not made.messages:  # every provider refuses an empty list
        losses.metadata(len(plain) - 1, f"the list, as nothing is left in it but {CONTINUE!r}")
        rest = LANGUAGES[target].grammar.say("user", CONTINUE)
        made = replace(made, messages=[rest])
    return replace(made, lost=losses.found())
