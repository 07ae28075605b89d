"""Which dialect a list is written in, and what its messages say.

A dialect is one line in `GRAMMARS`, and one each in `check.RULES` and `convert.SPEECHES`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError, InvalidMessageError, UnknownDialectError
from warmset.messages import anthropic, openai
from warmset.messages.codec import accept
from warmset.messages.model import DIALECTS, Dialect, Facts, Grammar, Message
from warmset.messages.text import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

GRAMMARS: dict[Dialect, Grammar] = {"openai": openai, "anthropic": anthropic}

_RESPONSES_PARTS = frozenset(
    {"input_text", "output_text", "input_image", "input_file", "summary_text", "reasoning_text"}
)


def detect(messages: Iterable[object]) -> Dialect | None:
    """Tell which dialect a list is written in.

    Args:
        messages: Messages as `accept` takes them.

    Returns:
        The dialect that the first telling message has, or None when all would fit both.

    Raises:
        UnknownDialectError: The list looks like Gemini contents or OpenAI Responses items.
        InvalidMessageError: A message is no mapping, or holds something that is not JSON.
    """
    plain = accept(messages)
    _refuse_foreign(plain)
    return next((found for found, _, _ in _marks(plain)), None)


def resolve(
    messages: Iterable[object], dialect: str | None = None, known: Dialect | None = None
) -> Dialect:
    """Settle the dialect of a list, and make sure that its messages are well-formed in it.

    Args:
        messages: Messages as `accept` takes them.
        dialect: The dialect that the caller names.
        known: The dialect that the conversation has from before.

    Returns:
        The dialect. When nothing decides it is "openai", for such messages read the same in both;
        so remember what `detect` found, not this.

    Raises:
        UnknownDialectError: The name, or the look of the list, is of no supported dialect.
        InvalidInputError: The conversation is known to be in another dialect.
        InvalidMessageError: A message is malformed; it says which, why, and how to mend it.
        NotFiniteError: A message holds a NaN or an infinity.
    """
    named = None if dialect is None else known_dialect(dialect)
    if named is not None and known is not None and named != known:
        msg = f"this conversation is in {known}, not in {named}; convert() the messages first"
        raise InvalidInputError(msg)
    plain = accept(messages)
    _refuse_foreign(plain)
    found, index, mark = next(_marks(plain), (None, 0, ""))
    if named is None and known is not None and found not in (None, known):
        why = f"{mark} is of {found}, and this conversation is in {known}; convert() it first"
        raise InvalidMessageError(index, why)
    chosen = named or known or found or "openai"
    grammar = GRAMMARS[chosen]
    for place, message in enumerate(plain):
        fault = _no_role(message) or grammar.fault(message)
        if fault is not None:
            raise InvalidMessageError(place, fault)
    return chosen


def known_dialect(name: str) -> Dialect:
    """Return the dialect of that name, or raise `UnknownDialectError`."""
    for dialect in DIALECTS:
        if dialect == name:
            return dialect
    raise UnknownDialectError(f"unknown dialect {name!r}; supported are {', '.join(DIALECTS)}")


def facts(message: Message, dialect: Dialect) -> Facts:
    """Read once what the rest needs to know of a message.

    Args:
        message: A well-formed message, as `resolve` lets it through.
        dialect: The dialect that it is written in.

    Returns:
        Its facts; reasoning is not part of the text.
    """
    return GRAMMARS[dialect].facts(message)


def text_of(message: Message, dialect: Dialect) -> str:
    """Return what a message says, for indexing and embedding.

    Args:
        message: A well-formed message, as `resolve` lets it through.
        dialect: The dialect that it is written in.

    Returns:
        Its text, calls as `name(arguments)`, images as their caption, file name or `[image]`.
    """
    return GRAMMARS[dialect].facts(message).text


def text_message(dialect: Dialect, role: str, text: str) -> Message:
    """Make a message that says one text.

    Args:
        dialect: The dialect to write it in.
        role: Who says it: user or assistant, or system where the dialect has that role.
        text: What is said; not blank.

    Returns:
        A new message.

    Raises:
        InvalidInputError: The dialect cannot say this.
    """
    if not text.strip():
        raise InvalidInputError("a message cannot be blank; leave it out")
    message: Message = {"role": role, "content": text}
    why = GRAMMARS[known_dialect(dialect)].fault(message)
    if why is not None:
        raise InvalidInputError(why)
    return message


def _marks(messages: Sequence[Message]) -> Iterator[tuple[Dialect, int, str]]:
    for index, message in enumerate(messages):
        for dialect, grammar in GRAMMARS.items():
            seen = grammar.mark(message)
            if seen is not None:
                yield dialect, index, seen


def _no_role(message: Message) -> str | None:
    if isinstance(message.get("role"), str):
        return None
    if "role" in message:
        return f"the role is a {type(message['role']).__name__}; it must be a string"
    return f"there is no role among {sorted(message)}; add one, as 'user' or 'assistant'"


def _refuse_foreign(messages: Sequence[Message]) -> None:
    for index, message in enumerate(messages):
        seen = _foreign(message)
        if seen is not None:
            msg = f"message {index} looks like {seen}; supported are {', '.join(DIALECTS)}"
            raise UnknownDialectError(msg)


def _foreign(message: Message) -> str | None:
    """Name the dialect that is not served yet, and by what it was recognised."""
    if "parts" in message and "content" not in message:
        return "Gemini contents (it has 'parts')"
    if message.get("role") == "model":
        return "Gemini contents (its role is 'model')"
    kind = kind_of(message)
    if kind and "role" not in message and "content" not in message:
        return f"an OpenAI Responses item (its type is {kind!r} and it has no role)"
    if kind == "reasoning":
        return "an OpenAI Responses item (its type is 'reasoning')"
    content = message.get("content")
    if isinstance(content, list):
        for part in content:
            if (part_kind := kind_of(part)) in _RESPONSES_PARTS:
                return f"an OpenAI Responses item (it has a part of type {part_kind!r})"
    return None
