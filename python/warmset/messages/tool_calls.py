"""Reads tool calls and their arguments, and writes their results, in each dialect."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from warmset.messages import Dialect, Message


class UnusableError(Exception):
    """Invalid arguments; the message is meant for the model."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call.

    Args:
        id: The call's id; None for Gemini's calls without one.
        name: The tool's name.
        arguments: The model's arguments: JSON, or a mapping.
    """

    id: str | None
    name: str
    arguments: object


def read_call(call: object, dialect: Dialect) -> Call:
    """Read a tool call.

    Args:
        call: An element of the message's `tool_calls` (openai), a `function_call` item (responses),
            a `tool_use` block (anthropic), a `functionCall` or a part with one (gemini), a
            `function_call` step (interactions): a mapping, or the SDK's object.
        dialect: The dialect of the call.

    Raises:
        InvalidInputError: It is not a tool call of that dialect.
    """
    plain = _plain(getattr(call, "function_call", None) or call)
    match dialect:
        case "openai":
            body = plain.get("function")
            body = _plain(body) if body is not None else {}
            found = Call(plain.get("id"), body.get("name", ""), body.get("arguments"))
        case "responses":
            found = Call(plain.get("call_id"), plain.get("name", ""), plain.get("arguments"))
        case "anthropic":
            found = Call(plain.get("id"), plain.get("name", ""), plain.get("input"))
        case "gemini":
            inner = plain.get("functionCall") or plain.get("function_call")
            plain = _plain(inner) if inner is not None else plain
            found = Call(plain.get("id"), plain.get("name", ""), plain.get("args") or {})
        case "interactions":
            found = Call(plain.get("id"), plain.get("name", ""), plain.get("arguments"))
    named = isinstance(found.id, str) or (dialect == "gemini" and found.id is None)
    if not named or not isinstance(found.name, str) or not found.name:
        raise InvalidInputError(
            f"call: expected a tool call of the dialect {dialect}, with an id and a name, found "
            f"{call!r:.200}"
        )
    return found


def _plain(call: object) -> Mapping[str, Any]:
    dump = getattr(call, "model_dump", None)
    found: object = call if isinstance(call, Mapping) or not callable(dump) else dump()
    if not isinstance(found, Mapping):
        raise InvalidInputError(
            f"call: expected a mapping or an SDK's object, found {type(call).__name__}"
        )
    return cast("Mapping[str, Any]", found)


def arguments(given: object) -> Mapping[str, Any]:
    """Read the arguments of a call.

    Args:
        given: A mapping, or its JSON.

    Raises:
        UnusableError: They are neither.
    """
    found = given
    if isinstance(given, str):
        try:
            found = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise UnusableError("The arguments are not valid JSON. Send a JSON object.") from error
    if not isinstance(found, Mapping):
        raise UnusableError("The arguments must be a JSON object.")
    return cast("Mapping[str, Any]", found)


def answer(call: Call, text: str, dialect: Dialect, *, failed: bool = False) -> Message:
    """Return the message that answers a call.

    Args:
        call: The call.
        text: The tool's result.
        dialect: The dialect of the message.
        failed: Whether the call failed, for dialects with an error flag.
    """
    match dialect:
        case "openai":
            return {"role": "tool", "tool_call_id": call.id, "content": text}
        case "responses":
            return {"type": "function_call_output", "call_id": call.id, "output": text}
        case "anthropic":
            block = {"type": "tool_result", "tool_use_id": call.id, "content": text}
            return {"role": "user", "content": [{**block, "is_error": True} if failed else block]}
        case "gemini":
            said = {"error" if failed else "output": text}
            named = {"name": call.name} if call.id is None else {"id": call.id, "name": call.name}
            return {"role": "user", "parts": [{"functionResponse": {**named, "response": said}}]}
        case "interactions":
            step = {"call_id": call.id, "name": call.name, "result": text}
            flag = {"is_error": True} if failed else {}
            return {"type": "function_result", **step, **flag}


def listed_calls(calls: object) -> list[object]:
    """Return the tool calls of a message.

    Raises:
        InvalidInputError: It is no list of calls.
    """
    if isinstance(calls, Iterable) and not isinstance(calls, str | bytes | Mapping):
        return list(calls)
    raise InvalidInputError(f"calls: expected a list of tool calls, found {calls!r:.80}")


def joined(answers: list[Message], dialect: Dialect) -> list[Message]:
    """Merge the answers to the calls of one message, if the dialect requires a single message."""
    field = {"anthropic": "content", "gemini": "parts"}.get(dialect)
    if field is None or not answers:
        return answers
    return [{"role": "user", field: [part for one in answers for part in one[field]]}]
