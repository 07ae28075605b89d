"""Reads messages: dicts in OpenAI's chat form, and langchain's objects.

langchain-core is optional: if it is loaded already, it is used, and it is imported only if the
caller's messages cannot be read without it.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, cast

from warmset.errors import InvalidInputError, InvalidMessageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

KINDS = {
    "human": "human",
    "user": "human",
    "ai": "ai",
    "assistant": "ai",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "function",
    "remove": "remove",
}
"""What langchain calls a message, by the role or the type that a dict has."""

_CLASSES = {
    f"{name}Message": kind
    for name, kind in (
        ("Human", "human"),
        ("AI", "ai"),
        ("System", "system"),
        ("Tool", "tool"),
        ("Function", "function"),
        ("Remove", "remove"),
        ("Chat", "chat"),
    )
}
_CHUNKS = {f"{name}Chunk": kind for name, kind in _CLASSES.items()}
_SERIALISED = {name: kind for name, kind in (_CLASSES | _CHUNKS).items() if kind != "chat"}


def langchain() -> Any | None:
    """Return the module of langchain's messages if it is loaded already, else None."""
    return sys.modules.get("langchain_core.messages")


def load_langchain(name: str = "langchain_core.messages") -> Any | None:
    """Return a module of langchain-core, imported if need be; None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def take(messages: object) -> list[Any]:
    """Read the caller's argument into a list of dicts or of langchain's messages.

    Args:
        messages: Dicts alone, or whatever `convert_to_messages` of langchain-core takes: its
            messages, pairs of role and content, strings, dicts among them, or a prompt value.

    Returns:
        The caller's own objects where all are dicts, and where they are langchain's messages;
        other representations as langchain's messages.

    Raises:
        InvalidInputError: It is no list of messages.
        InvalidMessageError: An element is no message, or needs langchain-core.
    """
    if isinstance(messages, (str, bytes, dict)):
        found = type(messages).__name__
        raise InvalidInputError(f"expected a list of messages, found one {found}; wrap it in []")
    prompt = getattr(messages, "to_messages", None)
    try:
        items = list(cast("Iterable[Any]", prompt() if callable(prompt) else messages))
    except TypeError as error:
        found = type(messages).__name__
        raise InvalidInputError(f"expected a list of messages, found a {found}") from error
    types = set(map(type, items))
    if all(issubclass(each, dict) for each in types):
        return items
    module = langchain() or load_langchain()
    if module is not None and all(issubclass(each, module.BaseMessage) for each in types):
        return items
    return converted(items)


def converted(items: list[Any]) -> list[Any]:
    """Turn every element into a message of langchain's; those that are one stay as they are.

    Args:
        items: Representations of messages.

    Returns:
        One message for each.

    Raises:
        InvalidMessageError: An element is no message, or langchain-core is not installed.
    """
    module = load_langchain("langchain_core.messages.utils")
    made = []
    for index, item in enumerate(items):
        if module is None and not isinstance(item, dict):
            found = type(item).__name__
            why = f"a {found} is read by langchain-core; install it, or give dicts with role"
            raise InvalidMessageError(index, why)
        if module is None:
            raise InvalidMessageError(index, "langchain-core is not installed; install it")
        try:
            made += module.convert_to_messages([item])
        except (ValueError, TypeError, LookupError, NotImplementedError, AttributeError) as error:
            raise InvalidMessageError(index, f"it is no message: {error}") from error
    return made


def fields(message: Any) -> Mapping[str, Any]:
    """Return the fields of a message: the dict itself, or what langchain's object holds."""
    if isinstance(message, dict):
        return unwrapped(message) if "lc" in message else message
    held: dict[str, Any] = vars(message)
    return held


def unwrapped(message: dict[str, Any]) -> dict[str, Any]:
    """Return what stands in the envelope of a message that langchain serialised."""
    name, inner = message.get("id"), message.get("kwargs")
    enveloped = message["lc"] == 1 and message.get("type") == "constructor"
    if enveloped and isinstance(name, list) and name and isinstance(inner, dict):
        kind = _SERIALISED.get(str(name[-1]))
        if kind is not None:
            # A chunk's own type is the name of its class.
            return {**inner, "type": kind}
    return message


def label(message: Any) -> str:
    """Return the type that `start_on` and `end_on` name: langchain's word for it.

    Raises:
        InvalidInputError: The role of a dict is unknown.
    """
    if not isinstance(message, dict):
        return str(vars(message).get("type"))
    held = fields(message)
    role = held["role"] if "role" in held else held.get("type")
    kind = KINDS.get(role) if isinstance(role, str) else None
    if kind is None:
        known = ", ".join(KINDS)
        raise InvalidInputError(f"a message has the role {role!r}; use one of {known}")
    return kind


def kind_of(message: Any) -> str | None:
    """Return whose message it is, in langchain's words; None for a class of one's own."""
    found = label(message)
    if isinstance(message, dict) or found in KINDS or found == "chat":
        return found
    if found in _CHUNKS:
        return _CHUNKS[found]
    module = langchain()
    mine = (kind for name, kind in _CLASSES.items() if isinstance(message, getattr(module, name)))
    return next(mine, None)


def class_of(message: Any) -> type:
    """Return the class that the message has, or would have as one of langchain's."""
    if not isinstance(message, dict):
        return type(message)
    kind = label(message)
    name = next(name for name, other in _CLASSES.items() if other == kind)
    return cast("type", getattr(load_langchain(), name, dict))


def content_of(message: Any) -> Any:
    """Return a message's content: a string or a list; empty for a dict without content."""
    if not isinstance(message, dict):
        return vars(message).get("content")
    content = fields(message).get("content") or ""
    return list(content) if isinstance(content, tuple) else content


def with_content(message: Any, content: Any, *, deep: bool = False) -> Any:
    """Return a copy of the message with another content; the message itself is not changed."""
    if not isinstance(message, dict):
        return message.model_copy(update={"content": content}, deep=deep)
    if "lc" in message and fields(message) is not message:
        return {**message, "kwargs": {**message["kwargs"], "content": content}}
    return {**message, "content": content}


def matcher(wanted: object, name: str) -> Callable[[Any], bool] | None:
    """Make the predicate that `start_on` or `end_on` stands for.

    Args:
        wanted: A type's name, a class of messages, or several of them; None for no condition.
        name: The option's name, for the error.

    Returns:
        Whether a message is of a wanted type; None where there is no condition.

    Raises:
        InvalidInputError: It is neither a name nor a class nor several of them.
    """
    if not wanted:
        return None
    try:
        several = [wanted] if isinstance(wanted, (str, type)) else list(cast("list[Any]", wanted))
    except TypeError as error:
        why = f"{name} is a {type(wanted).__name__}; give a type, a message class, or a list"
        raise InvalidInputError(why) from error
    names = frozenset(each for each in several if isinstance(each, str))
    classes = tuple(each for each in several if isinstance(each, type))

    def matches(message: Any) -> bool:
        return label(message) in names or (bool(classes) and issubclass(class_of(message), classes))

    return matches
