"""The tokens of a list: the caller's counter in one of its forms, or the approximate one.

If counts are additive, single messages can be counted instead of lists; if no count is negative, a
walk can stop as soon as the budget is used up.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, TypeAlias, cast, get_origin

from warmset.adapters.langchain.checks import arguments
from warmset.adapters.langchain.shapes import content_of, fields, kind_of
from warmset.errors import InvalidInputError

Each: TypeAlias = Callable[[Any], float]
Whole: TypeAlias = Callable[[list[Any]], float]

_MESSAGE_TOKENS = 3
_IMAGE_TOKENS = 85
_CHARS_PER_TOKEN = 4
_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "function": "function"}


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter of tokens.

    Args:
        whole: Returns the tokens of a list.
        each: Returns the tokens of one message, if counts are additive.
        bounded: Whether no count is negative, so that reading may stop early.
        objects: Whether it must be given langchain's messages, not dicts.
    """

    whole: Whole
    each: Each | None = None
    bounded: bool = False
    objects: bool = False


def counter_of(given: Any) -> Counter:
    """Read the caller's `token_counter`.

    Args:
        given: A function of a list, a function of one message (its first parameter is annotated
            as a message), a model with `get_num_tokens_from_messages`, or "approximate".

    Returns:
        The counter.

    Raises:
        InvalidInputError: It is none of these.
    """
    if isinstance(given, str):
        if given != "approximate":
            why = f"Invalid token_counter shortcut '{given}'. Available shortcuts: 'approximate'."
            raise InvalidInputError(why)
        return _added(approximate, bounded=True)
    if hasattr(given, "get_num_tokens_from_messages"):
        return Counter(_numbers(given.get_num_tokens_from_messages), objects=True)
    if not callable(given):
        raise InvalidInputError(
            "'token_counter' expected to be a model that implements "
            "'get_num_tokens_from_messages()' or a function. "
            f"Received object of type {type(given)}."
        )
    if given is len:
        return _added(lambda _: 1, bounded=True)
    module = sys.modules.get("langchain_core.messages.utils")
    if module is not None and given is module.count_tokens_approximately:
        return _added(approximate, bounded=True)
    annotation = _annotation(given)
    objects = "BaseMessage" in str(annotation)
    if _is_single(annotation):
        return replace(_added(_number(given)), objects=objects)
    return Counter(_numbers(given), objects=objects)


def approximate(message: Any) -> int:
    """Return langchain's estimate for one message; the estimates of messages add up.

    Formula of langchain-core 1.7, `count_tokens_approximately`: the characters of content, role,
    name, call id and written tool calls, by 4 and rounded up; 3 for the message; 85 an image.

    Args:
        message: A dict or one of langchain's messages.

    Returns:
        Tokens.

    Raises:
        InvalidInputError: Something in the message cannot be counted.
    """
    short = _said_alone(message) if isinstance(message, dict) else _said_alone_by(message)
    if short is not None:
        return -(-short // _CHARS_PER_TOKEN) + _MESSAGE_TOKENS
    try:
        return _approximate(message)
    except (TypeError, KeyError, AttributeError) as error:
        raise InvalidInputError(f"a message cannot be counted: {error}") from error


def _said_alone(message: dict[str, Any]) -> int | None:
    """Count the characters of a dict that has a role and a text alone; None for others."""
    said, role = message.get("content"), message.get("role")
    if len(message) != 2 or type(said) is not str:  # noqa: PLR2004 - role and content
        return None
    if role in ("user", "assistant", "system", "developer"):
        return len(said) + len(role)
    return None


def _said_alone_by(message: Any) -> int | None:
    """Count the characters of a user's or an assistant's text; None for other messages."""
    held = message.__dict__
    said, role = held.get("content"), _ROLES.get(held.get("type"))
    if type(said) is not str or role not in ("user", "assistant"):
        return None
    return None if held.get("tool_calls") or held.get("name") else len(said) + len(role)


def _approximate(message: Any) -> int:
    held = fields(message)
    content = content_of(message)
    kind = kind_of(message)
    images = chars = 0
    if isinstance(content, str):
        chars = len(content)
    elif isinstance(content, list):
        for block in content:
            found = block.get("type", "") if isinstance(block, dict) else None
            if found in ("image", "image_url"):
                images += 1
            elif found == "text":
                chars += len(block.get("text", ""))
            else:
                chars += len(block if isinstance(block, str) else _written(block, kind))
    else:
        chars = len(_written(content, kind))
    if kind == "ai" and not isinstance(content, list) and (calls := held.get("tool_calls")):
        chars += len(repr([_call(call) for call in calls] if isinstance(message, dict) else calls))
    if kind == "tool":
        chars += len(str(held["tool_call_id"]))
    chars += len(_role(held, kind))
    if name := held.get("name"):
        chars += len(name)
    return -(-chars // _CHARS_PER_TOKEN) + _MESSAGE_TOKENS + images * _IMAGE_TOKENS


def _written(value: Any, kind: str | None) -> str:
    """Write what is no text; langchain makes strings of what a tool says."""
    return str(value) if kind == "tool" and not isinstance(value, dict) else repr(value)


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call as langchain holds it."""
    body = call.get("function")
    if isinstance(body, Mapping):
        name, args = body["name"], arguments(body["arguments"])
    else:
        name, args = call["name"], call["args"]
    return {"name": name, "args": args, "id": call["id"], "type": "tool_call"}


def _role(held: Mapping[str, Any], kind: str | None) -> str:
    if kind == "system":
        if held.get("role") == "developer" or held.get("type") == "developer":
            return "developer"
        kept = held.get("additional_kwargs") or {}
        role = kept.get("__openai_role__", "system")
    else:
        role = held.get("role") if kind == "chat" else _ROLES.get(str(kind))
    if not isinstance(role, str):
        raise TypeError(f"the type {held.get('type')!r} has no role")
    return role


def _annotation(function: Callable[..., Any]) -> Any:
    """Return the annotation of a function's first parameter."""
    try:
        first = next(iter(inspect.signature(function).parameters.values()), None)
    except (TypeError, ValueError) as error:
        why = f"token_counter {function!r} has no signature; wrap it in a function of a list"
        raise InvalidInputError(why) from error
    if first is None:
        raise InvalidInputError("token_counter takes no parameter; it must take the messages")
    return first.annotation


def _is_single(annotation: Any) -> bool:
    """Tell whether a parameter so annotated takes one message, not a list."""
    kind = get_origin(annotation) or annotation
    if isinstance(kind, type):
        base = sys.modules.get("langchain_core.messages")
        return issubclass(kind, Mapping) or (base is not None and kind is base.BaseMessage)
    if not isinstance(annotation, str):
        return False
    name = annotation.partition("[")[0].rpartition(".")[2].strip()
    return name in ("BaseMessage", "Mapping", "Message", "dict")


def _added(each: Each, *, bounded: bool = False) -> Counter:
    return Counter(lambda messages: sum(map(each, messages)), each, bounded)


def _number(function: Callable[[Any], Any]) -> Callable[[Any], float]:
    def counted(given: Any) -> float:
        count = function(given)
        if not isinstance(count, Real):
            why = f"token_counter gave a {type(count).__name__}; it must give a number of tokens"
            raise InvalidInputError(why)
        return cast("float", count)

    return counted


_numbers = cast("Callable[[Callable[[list[Any]], Any]], Whole]", _number)
