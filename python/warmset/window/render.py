"""The parameters of a call, and the conversion and counting of its messages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from warmset import messages
from warmset._core import count_text
from warmset.state.prompt_prefix import Known
from warmset.tokens import PER_REPLY, extra_tokens, message_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.engine.engine import Engine
    from warmset.messages import Dialect, Message, System


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
    """

    source: Dialect
    target: Dialect
    system: System | None
    tools: Sequence[Mapping[str, Any]] | None
    request: str | None
    budget: int


def render(call: Call, plain: list[Message]) -> messages.ConversionResult:
    """Convert messages and the system prompt to the target dialect.

    Raises:
        ConversionError: The conversion would lose something.
    """
    if call.source == call.target == "anthropic":
        return messages.ConversionResult(messages.alternate(plain), call.system)
    if call.source == call.target == "gemini":
        return messages.ConversionResult(plain, call.system)
    if call.source == call.target:
        if call.system is None:
            return messages.ConversionResult(plain, None)
        head: Message = {"role": "system", "content": call.system}
        return messages.ConversionResult([head, *plain], None)
    if call.source in {"openai", "responses"} and call.system is not None:
        plain = [{"role": "system", "content": call.system}, *plain]
    beside = call.system if call.source in {"anthropic", "gemini"} else None
    return messages.convert(plain, source=call.source, target=call.target, system=beside)


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
    found = seen.find(done.messages)
    fresh = [m for m, place in zip(done.messages, found, strict=True) if place is None]
    counted = sum([seen.tokens[place] for place in found if place is not None])
    counted += sum(message_tokens(fresh, engine.encoding)) + PER_REPLY
    return counted + extra_tokens(engine.encoding, system=done.system, tools=call.tools)


@lru_cache(maxsize=64)
def frame_tokens(dialect: Dialect, encoding: str) -> int:
    """Return the tokens of a user message besides its text."""
    message = messages.text_message(dialect, "user", "x")
    return message_tokens([message], encoding)[0] - count_text("x", encoding)[0]
