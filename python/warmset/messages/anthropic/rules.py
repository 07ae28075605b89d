"""What Anthropic Messages demands of a whole list, one predicate a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.messages.model import Problem, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def a1_user_is_first(messages: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """A1: the first message is the user's."""
    if messages and messages[0]["role"] != "user":
        yield Problem(0, "A1", "the first message is not the user's; begin with the task")


def a2_calls_are_answered_at_once(messages: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """A2: the next message is the user's and answers every call, parallel ones together."""
    for index, message in enumerate(messages):
        following = messages[index + 1] if index + 1 < len(messages) else {"content": ""}
        answers = set(_ids(following, "tool_result"))
        for call in dict.fromkeys(_ids(message, "tool_use")):
            if call not in answers:
                yield Problem(index, "A2", f"call {call!r} has no result in the next message")


def a3_results_stand_first(messages: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """A3: in a user message, results stand before everything else."""
    for index, message in enumerate(messages):
        kinds = [block["type"] == "tool_result" for block in _blocks(message)]
        if kinds != sorted(kinds, reverse=True):
            yield Problem(index, "A3", "a tool result stands after something else; move it first")


def a4_results_answer_the_message_before(
    messages: Sequence[Mapping[str, Any]],
) -> Iterator[Problem]:
    """A4: a result's id is in the assistant message before it, once; no id is called twice."""
    called: set[str] = set()
    callable_now: set[str] = set()
    for index, message in enumerate(messages):
        for call in _ids(message, "tool_result"):
            if call not in callable_now:
                why = f"result {call!r} has no call left in the message before; leave it out"
                yield Problem(index, "A4", why)
            callable_now.discard(call)
        callable_now = set(_ids(message, "tool_use"))
        for call in _ids(message, "tool_use"):
            if call in called:
                yield Problem(index, "A4", f"id {call!r} was called before; give the call its own")
            called.add(call)


def a8_nothing_is_blank(messages: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """A8: no text is empty or blank, and a final assistant message does not end in white space."""
    for index, message in enumerate(messages):
        content = message["content"]
        texts = [content] if isinstance(content, str) else list(_texts(content))
        if not content or not all(text.strip() for text in texts):
            yield Problem(index, "A8", "a text is empty or blank; leave it out")
    if messages and messages[-1]["role"] == "assistant":
        content = messages[-1]["content"]
        last = content if isinstance(content, str) else (content or [{}])[-1].get("text", "")
        if last != last.rstrip():
            why = "the final assistant message ends in white space; strip it"
            yield Problem(len(messages) - 1, "A8", why)


RULES: tuple[Rule, ...] = (
    a1_user_is_first,
    a2_calls_are_answered_at_once,
    a3_results_stand_first,
    a4_results_answer_the_message_before,
    a8_nothing_is_blank,
)


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return content if isinstance(content, list) else []


def _ids(message: Mapping[str, Any], kind: str) -> list[str]:
    field = "id" if kind == "tool_use" else "tool_use_id"
    return [block[field] for block in _blocks(message) if block["type"] == kind]


def _texts(blocks: list[dict[str, Any]]) -> Iterator[str]:
    for block in blocks:
        if block["type"] == "text":
            yield block["text"]
        elif block["type"] == "tool_result" and isinstance(block.get("content"), list):
            yield from _texts(block["content"])
