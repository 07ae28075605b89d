"""The parameters of a call, and the conversion and counting of its messages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from warmset import messages
from warmset._core import count_text
from warmset.evict.gaps import gap_message, gap_role
from warmset.evict.slots import GAP
from warmset.state.prompt_prefix import Known
from warmset.tokens import PER_REPLY, extra_tokens, message_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.engine.engine import Engine
    from warmset.messages import Dialect, Message, System


_NO_SYSTEM_IN_PLACE: Final = ("gemini", "interactions")
"""The dialects that have their system prompt beside the list only."""

_INSTRUCTING: Final = ("system", "developer")


@dataclass(frozen=True, slots=True)
class Call:
    """The call that a window is built for.

    Args:
        source: The dialect of the conversation.
        target: The dialect of the window.
        system: A system prompt that is sent beside the messages.
        tools: Tool schemas that are sent with the call.
        request: A text to send last, if the request is not a message of the conversation.
        budget: The most tokens that the call's input may have.
        model: The model that answers; empty if it is not known.
    """

    source: Dialect
    target: Dialect
    system: System | None
    tools: Sequence[Mapping[str, Any]] | None
    request: str | None
    budget: int
    model: str = ""


def render(call: Call, plain: list[Message]) -> messages.ConversionResult:
    """Convert messages and the system prompt to the target dialect.

    Metadata that the target dialect cannot hold is left out, and listed.

    Raises:
        ConversionError: The conversion would lose content.
    """
    if call.source == call.target == "anthropic":
        return beside_system(messages.alternate(plain), call.system)
    if call.source == call.target and call.source in _NO_SYSTEM_IN_PLACE:
        return messages.ConversionResult(plain, call.system)
    if call.source == call.target:
        if call.system is None:
            return messages.ConversionResult(plain, None)
        head: Message = {"role": "system", "content": call.system}
        return messages.ConversionResult([head, *plain], None)
    if call.source in {"openai", "responses"} and call.system is not None:
        plain = [{"role": "system", "content": call.system}, *plain]
    beside = None if call.source in {"openai", "responses"} else call.system
    if call.target in _NO_SYSTEM_IN_PLACE:
        plain = sorted(plain, key=lambda message: message.get("role") not in _INSTRUCTING)
        if call.source == "anthropic":
            hoisted = beside_system(plain, beside)
            plain, beside = hoisted.messages, hoisted.system
    done = messages.convert(plain, source=call.source, target=call.target, system=beside)
    first = next(iter(done.messages), None)
    if call.target == "gemini" and first is not None and messages.facts(first, "gemini").calls:
        # A list that begins with a call is refused there, and taken in the other dialects.
        return replace(
            done, messages=[messages.text_message("gemini", "user", GAP), *done.messages]
        )
    return done


def beside_system(plain: list[Message], system: System | None) -> messages.ConversionResult:
    """Pass the system messages that begin an Anthropic list as the system prompt beside it.

    Args:
        plain: The list.
        system: The system prompt of the call, which comes first.
    """
    leading = list(takewhile(lambda message: message["role"] == "system", plain))
    if not leading:
        return messages.ConversionResult(plain, system)
    said: list[System] = [*([system] if system else []), *(one["content"] for one in leading)]
    (first, *more) = said
    if not more:
        return messages.ConversionResult(plain[1:], first)
    blocks = [
        block
        for one in said
        for block in ([{"type": "text", "text": one}] if isinstance(one, str) else one)
    ]
    return messages.ConversionResult(plain[len(leading) :], blocks)


def request_behind(dialect: Dialect, said: list[Message], request: Message) -> list[Message]:
    """Return what is added to a list to send a request last.

    That is the request, and before it a filler message where the list ends in a system message of
    an Anthropic list, which the user must not follow.
    """
    role = "system" if said and said[-1].get("role") == "system" else ""
    filler = gap_role(dialect, role, "user") if role and dialect == "anthropic" else None
    return [request] if filler is None else [gap_message(dialect, filler), request]


def total(
    engine: Engine, call: Call, done: messages.ConversionResult, known: Known | None = None
) -> int:
    """Count all tokens of a call.

    Args:
        engine: Has the vocabulary to count with.
        call: The call that the messages are for.
        done: The converted messages and system prompt.
        known: Messages whose tokens are counted already.
    """
    seen = Known() if known is None else known
    if seen.are_all(done.messages):
        counted = sum(seen.tokens)
    else:
        found = seen.find(done.messages)
        fresh = [m for m, place in zip(done.messages, found, strict=True) if place is None]
        counted = sum([seen.tokens[place] for place in found if place is not None])
        counted += sum(message_tokens(fresh, engine.encoding))
    return counted + PER_REPLY + extra_tokens(engine.encoding, system=done.system, tools=call.tools)


@lru_cache(maxsize=64)
def frame_tokens(dialect: Dialect, encoding: str) -> int:
    """Return the tokens of a user message besides its text."""
    message = messages.text_message(dialect, "user", "x")
    return message_tokens([message], encoding)[0] - count_text("x", encoding)[0]
