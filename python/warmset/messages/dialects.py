"""Detects the dialect of a list, and reads its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError, InvalidMessageError, UnknownDialectError
from warmset.messages.codec import accept
from warmset.messages.languages import LANGUAGES
from warmset.messages.model import DIALECTS, Dialect, Facts, Fault, Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_PLAIN = ("user", "assistant")
_ROLE_AND_TEXT = ("role", "content")

_ALIASES: dict[str, Dialect] = {
    "openai-chat": "openai",
    "chat": "openai",
    "chat-completions": "openai",
    "openai-responses": "responses",
    "anthropic-messages": "anthropic",
    "claude": "anthropic",
    "gemini-contents": "gemini",
    "google": "gemini",
    "gemini-interactions": "interactions",
    "google-interactions": "interactions",
}


def detect(messages: Iterable[object]) -> Dialect | None:
    """Detect the dialect of a list.

    Args:
        messages: Messages as `accept` takes them.

    Returns:
        The dialect of the first message that is valid in one dialect only, or None if there is
        none.

    Raises:
        InvalidMessageError: A message is no mapping, or holds something that is not JSON.
    """
    plain = accept(messages)
    return next((found for found, _, _ in _marks(plain)), None)


def resolve(
    messages: Iterable[object], dialect: str | None = None, known: Dialect | None = None
) -> Dialect:
    """Determine the dialect of a list, and check that its messages are well-formed in it.

    Args:
        messages: Messages as `accept` takes them.
        dialect: The dialect that the caller names.
        known: The conversation's dialect so far.

    Returns:
        The dialect; "openai" if the messages are valid in several, because they mean the same in
        all of them. Store the result of `detect` and not this one.

    Raises:
        UnknownDialectError: The dialect is not supported.
        InvalidInputError: The conversation is known to be in another dialect.
        InvalidMessageError: A message is malformed; the error names which, why, and how to fix it.
        NotFiniteError: A message holds a NaN or an infinity.
    """
    return settle(accept(messages), dialect, known)


def settle(
    plain: Sequence[Message], dialect: str | None = None, known: Dialect | None = None
) -> Dialect:
    """Determine the dialect of messages that `accept` returned; see `resolve`."""
    chosen = choose(plain, dialect, known)
    for place, fault in faults(plain, chosen):
        raise InvalidMessageError(place, fault.why)
    return chosen


def choose(
    plain: Sequence[Message], dialect: str | None = None, known: Dialect | None = None
) -> Dialect:
    """Determine the dialect of accepted messages; see `resolve`."""
    named = None if dialect is None else known_dialect(dialect)
    if named is not None and known is not None and named != known:
        msg = f"this conversation is in {known}, not in {named}; convert() the messages first"
        raise InvalidInputError(msg)
    if named is not None:
        return named
    found, index, mark = next(_marks(plain), (None, 0, ""))
    if known is not None and found not in (None, known):
        why = f"{mark} is of {found}, and this conversation is in {known}; convert() it first"
        raise InvalidMessageError(index, why)
    return known or found or "openai"


def faults(plain: Sequence[Message], dialect: Dialect) -> Iterator[tuple[int, Fault]]:
    """Find malformed messages: the position of each, and what is wrong."""
    fault = LANGUAGES[dialect].grammar.fault
    for place, message in enumerate(plain):
        found = fault(message)
        if found is not None:
            yield place, found


def well_formed(plain: Sequence[Message], dialect: Dialect) -> bool:
    """Tell whether all messages that `accept` returned are well-formed in a dialect."""
    return next(faults(plain, dialect), None) is None


def known_dialect(name: str) -> Dialect:
    """Return the dialect of that name, or raise `UnknownDialectError`.

    Names that other projects use are accepted too: "openai-chat", "openai_responses", "claude".
    """
    wanted = name.lower().replace("_", "-") if isinstance(name, str) else ""
    for dialect in DIALECTS:
        if dialect == wanted:
            return dialect
    if wanted in _ALIASES:
        return _ALIASES[wanted]
    raise UnknownDialectError(f"unknown dialect {name!r:.80}; supported are {', '.join(DIALECTS)}")


def facts(message: Message, dialect: Dialect) -> Facts:
    """Return the facts of a message.

    Args:
        message: A well-formed message, as `resolve` lets it through.
        dialect: The dialect that it is written in.

    Returns:
        Its facts; reasoning is not part of the text.
    """
    return LANGUAGES[dialect].grammar.facts(message)


def text_of(message: Message, dialect: Dialect) -> str:
    """Return the text of a message, for indexing and embedding.

    Args:
        message: A well-formed message, as `resolve` lets it through.
        dialect: The dialect that it is written in.

    Returns:
        Its text, calls as `name(arguments)`, images as their caption, file name or `[image]`.
    """
    return LANGUAGES[dialect].grammar.facts(message).text


def text_message(dialect: Dialect, role: str, text: str) -> Message:
    """Return a message with a text.

    Args:
        dialect: The dialect of the message.
        role: "user" or "assistant", or "system" if the dialect has that role.
        text: The text; not blank.

    Returns:
        A new message.

    Raises:
        InvalidInputError: The dialect has no such message.
    """
    if not text.strip():
        raise InvalidInputError("a message cannot be blank; leave it out")
    grammar = LANGUAGES[known_dialect(dialect)].grammar
    message = grammar.say(role, text)
    fault = grammar.fault(message)
    if fault is not None:
        raise InvalidInputError(fault.why)
    return message


def _marks(messages: Sequence[Message]) -> Iterator[tuple[Dialect, int, str]]:
    for index, message in enumerate(messages):
        plain = len(message) == len(_ROLE_AND_TEXT) and message.get("role") in _PLAIN
        if plain and type(message.get("content")) is str:
            continue  # a role and a text: every dialect of messages has that
        for dialect, language in LANGUAGES.items():
            seen = language.grammar.mark(message)
            if seen is not None:
                yield dialect, index, seen
