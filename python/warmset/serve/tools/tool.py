"""One tool: its name and schemas for whoever chooses, the checks of its arguments, and its run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from warmset.errors import InvalidInputError, NotFound, WarmsetError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Effect: TypeAlias = Literal["read", "write", "erase"]
"""What a tool does to the store: nothing, add to it, or remove from it."""

Failing: TypeAlias = Literal["arguments", "call"]
"""What was wrong: the arguments, which the caller can mend, or the call itself."""

LARGEST: Final = 2**53 - 1
"""The largest integer that every JSON reader represents exactly."""


def compact_json(made: object) -> str:
    """Return JSON without white space, as a client sees it."""
    text = json.dumps(made, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return encodable(text)


def encodable(text: str) -> str:
    """Return a text with a question mark for each lone surrogate, which no client can be sent."""
    return text.encode("utf-8", "replace").decode()


class ToolFailure(Exception):  # noqa: N818 - an answer to the caller, not a failure of the server
    """A call that has no result.

    Args:
        failing: Whether the arguments or the call failed.
        why: What is wrong, and what to do.
        type: The class of the error of warmset that was raised; None if none was.
    """

    def __init__(self, failing: Failing, why: str, type: str | None = None) -> None:  # noqa: A002
        super().__init__(failing, why, type)
        self.failing = failing
        self.why = why
        self.type = type


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a tool may do while it runs; by default nothing.

    Args:
        progress: Takes what is done, the total, and a few words. It may raise to stop the tool.
        notice: Takes a sentence that the caller should learn beside the result.
    """

    progress: Callable[[int, int, str], None] = lambda _done, _total, _what: None
    notice: Callable[[str], None] = lambda _text: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool.

    Args:
        name: Its name.
        title: Its name for people.
        description: What it does, for the model that chooses among tools.
        properties: The JSON Schema of each argument.
        required: The arguments that must be given.
        output: The JSON Schema of each member of the result.
        always: The members that each result has.
        effect: What it does to the store.
        run: Takes checked arguments, and returns plain JSON values.
        text: Writes a result as a model reads it, with what was stored quoted as data; JSON if not
            given.
        older: Its name in earlier versions; None if it had no other.
    """

    name: str
    title: str
    description: str
    properties: Mapping[str, Any]
    required: tuple[str, ...] = ()
    output: Mapping[str, Any]
    always: tuple[str, ...]
    effect: Effect
    run: Callable[[dict[str, Any], Call], dict[str, Any]]
    text: Callable[[dict[str, Any]], str] = compact_json
    older: str | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }

    @property
    def output_schema(self) -> dict[str, Any]:
        """The JSON Schema of its result."""
        return {
            "type": "object",
            "properties": dict(self.output),
            "required": list(self.always),
            "additionalProperties": False,
        }

    def call(self, given: Mapping[str, Any], call: Call | None = None) -> dict[str, Any]:
        """Check the arguments, and run the tool; null means that an argument is not given.

        Args:
            given: The arguments by name.
            call: What the tool may do while it runs.

        Raises:
            ToolFailure: An argument is invalid, or the call failed.
        """
        there = {name: value for name, value in given.items() if value is not None}
        self._check(there)
        try:
            return self.run(there, call or Call())
        except (InvalidInputError, NotFound) as error:
            raise ToolFailure("arguments", str(error), type(error).__name__) from error
        except WarmsetError as error:
            raise ToolFailure("call", str(error), type(error).__name__) from error

    def _check(self, there: Mapping[str, Any]) -> None:
        unknown = sorted(there.keys() - self.properties.keys())
        if unknown:
            known = ", ".join(self.properties) or "no arguments"
            why = f"{self.name} has no argument {unknown[0]!a:.80}; it has {known}"
            raise ToolFailure("arguments", why)
        missing = [name for name in self.required if name not in there]
        if missing:
            raise ToolFailure("arguments", f"{self.name} needs the argument {missing[0]!r}")
        for name, value in there.items():
            if isinstance(value, int) and abs(value) > LARGEST:
                why = f"{name}: expected a number of at most {LARGEST}"
                raise ToolFailure("arguments", why)
