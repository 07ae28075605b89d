"""The tools of the server: compact a list, and restore dropped messages by handle."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from warmset.compact import compact_context
from warmset.errors import InvalidInputError, NotFound, WarmsetError
from warmset.messages import DIALECTS
from warmset.serve.jsonrpc import INTERNAL, PARAMS, Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from warmset.compact.keeper import Remembers
    from warmset.conversation import Conversation
    from warmset.embed import Embedder
    from warmset.memory import Memory

MOST_MESSAGES: Final = 100_000
"""The most messages that one call may compact."""

_LARGEST: Final = 2**53 - 1
"""The largest integer that every JSON reader represents exactly."""

_COMPACT: Final[dict[str, Any]] = {
    "messages": {
        "type": "array",
        "items": {"type": "object"},
        "maxItems": MOST_MESSAGES,
        "description": "The list as the provider takes it: OpenAI Chat, OpenAI Responses, "
        "Anthropic or Gemini.",
    },
    "query": {
        "type": "string",
        "description": "The text to which the messages that stay should be similar.",
    },
    "target_ratio": {
        "type": "number",
        "minimum": 0.05,
        "maximum": 1,
        "default": 0.4,
        "description": "The share of the list's tokens that may stay.",
    },
    "budget": {
        "type": "integer",
        "minimum": 1,
        "maximum": _LARGEST,
        "description": "The most tokens that the list may have; replaces the ratio.",
    },
    "distill_novel": {
        "type": "boolean",
        "default": False,
        "description": "Make memories of dropped messages that nothing else covers; needs a server "
        "with a memory.",
    },
    "dialect": {
        "type": "string",
        "enum": list(DIALECTS),
        "description": "The dialect of the messages; detected if not given.",
    },
}
_RESTORE: Final[dict[str, Any]] = {
    "handle": {
        "type": "string",
        "description": "The handle of a message that compact_context dropped.",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool.

    Args:
        name: Its name.
        description: What it does, for the model that chooses among tools.
        properties: The JSON Schema of each argument.
        required: The arguments that must be given.
        run: Takes checked arguments, and returns plain JSON values.
    """

    name: str
    description: str
    properties: Mapping[str, Any]
    required: tuple[str, ...]
    run: Callable[[dict[str, Any]], dict[str, Any]]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }

    def call(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Check the arguments, and run the tool; null means that an argument is not given.

        Raises:
            Fault: An argument is invalid, or the call failed.
        """
        there = {name: value for name, value in given.items() if value is not None}
        unknown = sorted(there.keys() - self.properties.keys())
        if unknown:
            known = ", ".join(self.properties)
            raise Fault(PARAMS, f"{self.name} has no argument {unknown[0]!a:.80}; it has {known}")
        missing = [name for name in self.required if name not in there]
        if missing:
            raise Fault(PARAMS, f"{self.name} needs the argument {missing[0]!r}")
        for name, value in there.items():
            if isinstance(value, int) and abs(value) > _LARGEST:
                raise Fault(PARAMS, f"{name}: expected a number of at most {_LARGEST}")
        try:
            return self.run(there)
        except (InvalidInputError, NotFound) as error:
            raise Fault(PARAMS, str(error), type=type(error).__name__) from error
        except WarmsetError as error:
            raise Fault(INTERNAL, str(error), type=type(error).__name__) from error


def tools_of(
    memory: Memory | None = None,
    conversation: str | None = None,
    *,
    embedder: Embedder | None = None,
) -> list[Tool]:
    """Return the tools of a server.

    Args:
        memory: Has the known memories, and stores dropped messages; None for no memory.
        conversation: The conversation that is compacted; None if the list is not in the memory.
        embedder: The source of vectors; the memory's own if not given.

    Raises:
        InvalidInputError: The conversation's name is empty, or there is no memory.
    """
    if memory is None and conversation is not None:
        raise InvalidInputError("conversation: needs a memory; give the memory as well")
    holder: Memory | Conversation | None = memory
    if memory is not None and conversation is not None:
        holder = memory.conversation(conversation)
    kept = " Messages that leave are kept, and each has a handle." if memory is not None else ""
    compact = Tool(
        name="compact_context",
        description="Keep the messages of a list with the highest scores within a budget, verbatim "
        f"and in order; says of every other one why it left.{kept}",
        properties=_COMPACT,
        required=("messages",),
        run=partial(_compact, holder, embedder),
    )
    if memory is None:
        return [compact]
    restore = Tool(
        name="restore",
        description="Give a message back that left a list, as it was, by its handle.",
        properties=_RESTORE,
        required=("handle",),
        run=lambda given: {"message": memory.restore(given["handle"])},
    )
    return [compact, restore]


def _compact(
    memory: Remembers | None, embedder: Embedder | None, given: dict[str, Any]
) -> dict[str, Any]:
    messages = given["messages"]
    if not isinstance(messages, list):
        raise InvalidInputError("messages: expected a list of messages")
    if len(messages) > MOST_MESSAGES:
        raise InvalidInputError(
            f"messages: at most {MOST_MESSAGES} at once, found {len(messages)}; send the newest"
        )
    if given.get("distill_novel") is True and memory is None:
        raise InvalidInputError(
            "distill_novel: this server has no memory; start it as warmset rpc --memory PATH"
        )
    made = compact_context(**given, memory=memory, embedder=embedder)
    return {
        "messages": made.messages,
        "stats": made.stats.as_dict(),
        "dropped": [asdict(one) for one in made.dropped],
        "inserted": [asdict(one) for one in made.inserted],
        "dialect": made.dialect,
        "episode": made.episode,
    }
