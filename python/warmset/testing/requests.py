"""Requests to providers, as `check_prefix` reads them: in one shape for every API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from warmset.errors import InvalidInputError, InvalidMessageError, WarmsetError
from warmset.messages import accept, detect, known_dialect
from warmset.messages.dialects import faults
from warmset.messages.prefix import plain_name
from warmset.messages.sdk_objects import is_dumpable
from warmset.messages.sent import LISTS
from warmset.messages.thinking import THOUGHTS
from warmset.testing.prefix_order import (
    ORDER,
    STORED,
    SYSTEM,
    TOOLS,
    argument,
    caches_instructions,
    without_marks,
)

if TYPE_CHECKING:
    from warmset.messages import Dialect, Message

RequestLike: TypeAlias = Mapping[str, Any] | Sequence[Any]
"""A request: the keyword arguments of a provider's call, the body of its HTTP request, or a list of
messages alone."""

_UNSET: Final = frozenset({"NotGiven", "Omit", "_Omit"})
"""The types of values by which SDKs say that an argument was not given."""

_EXPECTED: Final = (
    "give the arguments of a provider's call, with messages, input or contents, or a list of "
    "messages"
)


@dataclass(frozen=True, slots=True)
class Request:
    """A request, read.

    Args:
        dialect: The dialect of its list.
        model: The name of its model; empty if it names none.
        arguments: What it has, as JSON values, without cache marks.
        messages: Its list, without cache marks.
        name: What the request calls its list.
        marks: The cache marks, by their places.
        stored: Whether it goes on behind a list that the provider has stored.
    """

    dialect: Dialect
    model: str
    arguments: Mapping[str, Any]
    messages: list[Message]
    name: str
    marks: Mapping[str, Any] = field(default_factory=dict)
    stored: bool = False

    def order(self) -> tuple[str, ...]:
        """Return the parts before the list that the cache compares, from the front."""
        parts = ORDER[self.dialect][:-1]
        if caches_instructions(self.model):
            return parts
        return tuple(one for one in parts if one != "instructions")

    def part(self, name: str) -> Any:
        """Return a part of the request; a list for tools, and a model's name without a date."""
        if name == "model":
            return plain_name(self.model) if self.model else None
        value = argument(self.arguments, name)
        if name in TOOLS and value is not None and not isinstance(value, list):
            return [value]
        return value

    def system(self) -> Any:
        """Return the system prompt beside the list that the cache has; None if there is none."""
        return next((self.part(one) for one in self.order() if one in SYSTEM), None)

    def tools(self) -> list[Any]:
        """Return the tools; an empty list if there are none."""
        return [one for name in self.order() if name in TOOLS for one in self.part(name) or []]


def snapshot(request: RequestLike, number: int = 0) -> dict[str, Any]:
    """Return a request as JSON values that nobody changes any more.

    Args:
        request: The request.
        number: Its position, for the errors.

    Returns:
        Its arguments; a list of messages as the argument `messages`.

    Raises:
        InvalidInputError: It is no request, or holds what is not JSON.
    """
    if isinstance(request, Sequence) and not isinstance(request, (str, bytes)):
        request = {"messages": request}
    if not isinstance(request, Mapping) or not any(name in request for name in LISTS):
        found = type(request).__name__
        if isinstance(request, Mapping):
            found = f"one with {', '.join(map(str, request)) or 'nothing'}"
        raise InvalidInputError(f"request {number}: found {found}; {_EXPECTED}")
    kept: dict[str, Any] = {}
    for name, value in request.items():
        if type(value).__name__ in _UNSET:
            continue
        place = f"request {number}, {name}"
        kept[name] = _items(value, place) if name in LISTS else _plain(value, place)
    return kept


def read_requests(requests: Iterable[RequestLike], *, dialect: str | None = None) -> list[Request]:
    """Read requests of one API.

    Args:
        requests: The requests, in the order in which they were sent.
        dialect: Their dialect; detected if not given.

    Raises:
        UnknownDialectError: The dialect is not supported.
        InvalidInputError: One is no request, or they are of several APIs.
    """
    if isinstance(requests, (str, bytes, Mapping)) or not isinstance(requests, Iterable):
        found = type(requests).__name__
        raise InvalidInputError(f"requests: expected a list of requests, found {found}")
    plain = [snapshot(one, number) for number, one in enumerate(requests)]
    chosen = None if dialect is None else known_dialect(dialect)
    known: list[Dialect | None] = [_dialect(one) for one in plain] if chosen is None else [chosen]
    first = _first(known)
    for number, one in enumerate(known):
        if one not in (None, first):
            msg = f"request {number} is in {one}, and the one before in {first}"
            raise InvalidInputError(f"{msg}; compare requests of one API")
    return [_read(one, first, number) for number, one in enumerate(plain)]


def _first(known: list[Dialect | None]) -> Dialect:
    """Return the first dialect that is known."""
    for one in known:
        if one is not None:
            return one
    return "openai"


def _read(plain: dict[str, Any], dialect: Dialect, number: int) -> Request:
    name = next(name for name in LISTS if name in plain)
    marks: dict[str, Any] = {}
    bare = {
        key: without_marks(value, key, marks)
        for key, value in plain.items()
        if key not in ("cache_control", *STORED)
    }
    if "cache_control" in plain:
        marks["cache_control"] = plain["cache_control"]
    if dialect in THOUGHTS:
        for at, fault in faults(bare[name], dialect):
            raise InvalidInputError(f"request {number}, {name}[{at}]: {fault.why}")
    model = plain.get("model")
    return Request(
        dialect,
        model if isinstance(model, str) else "",
        bare,
        bare[name],
        name,
        marks,
        any(plain.get(one) is not None for one in STORED),
    )


def _items(value: Any, place: str) -> list[Message]:
    """Return a list as messages; texts in it are a user's."""
    if isinstance(value, (str, Mapping)) or is_dumpable(value):
        value = [value]
    if not isinstance(value, Iterable) or isinstance(value, bytes):
        raise InvalidInputError(f"{place}: expected a list, found {type(value).__name__}")
    contents = place.endswith("contents")
    listed = [_said(one, contents=contents) if isinstance(one, str) else one for one in value]
    plain = _checked(listed, place)
    return [_plain(one, place) for one in plain]  # copies, which the caller cannot change


def _said(text: str, *, contents: bool) -> Message:
    """Return a user's text as a message, as the provider's SDK writes it."""
    if contents:
        return {"parts": [{"text": text}], "role": "user"}
    return {"role": "user", "content": text}


def _plain(value: Any, place: str) -> Any:
    """Return a copy of a value as JSON values."""
    return _copy(_checked([{"value": value}], place)[0]["value"])


def _checked(values: list[Any], place: str) -> list[Message]:
    try:
        return accept(values)
    except InvalidMessageError as error:
        raise InvalidInputError(f"{place}[{error.index}]: {error.why}") from None
    except WarmsetError as error:
        raise InvalidInputError(f"{place}: {error}") from None


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(one) for key, one in value.items()}
    return [_copy(one) for one in value] if isinstance(value, list) else value


def _dialect(plain: Mapping[str, Any]) -> Dialect | None:
    """Return the dialect of a request; None if it is valid in several."""
    if "contents" in plain:
        return "gemini"
    model = str(plain.get("model", "")).lower()
    if "input" in plain:
        if "system_instruction" in plain or "gemini" in model:
            return "interactions"
        steps = detect(plain["input"]) == "interactions"
        return "interactions" if steps else "responses"
    tools = plain.get("tools")
    functions = isinstance(tools, list) and any(_is_function(one) for one in tools)
    if functions:
        return "openai"
    if tools or "system" in plain:
        return "anthropic"
    return detect(plain["messages"]) or ("anthropic" if "claude" in model else None)


def _is_function(tool: object) -> bool:
    return isinstance(tool, Mapping) and tool.get("type") == "function"
