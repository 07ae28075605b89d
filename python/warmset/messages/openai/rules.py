"""What OpenAI Chat Completions demands of a whole list, one predicate a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.messages.model import Problem, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def c1_results_follow_their_calls(messages: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """C1: a tool message follows the assistant message that holds its id, only tools between."""
    callable_now: set[str] = set()
    for index, message in enumerate(messages):
        if message["role"] != "tool":
            callable_now = set(_call_ids(message))
        elif message["tool_call_id"] not in callable_now:
            why = (
                f"no assistant message just before calls {message['tool_call_id']!r}; leave it out"
            )
            yield Problem(index, "C1", why)


def c2_calls_are_answered(messages: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """C2: every call is answered before another role speaks, and before the list ends."""
    caller = 0
    open_calls: dict[str, None] = {}
    for index, message in enumerate([*messages, {"role": "end"}]):
        if message["role"] == "tool":
            open_calls.pop(message["tool_call_id"], None)
            continue
        for call in open_calls:
            yield Problem(
                caller, "C2", f"call {call!r} has no tool message right after it; add one"
            )
        caller, open_calls = index, dict.fromkeys(_call_ids(message))


def c3_ids_are_unique(messages: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """C3: each id is called once and answered once."""
    called: set[str] = set()
    answered: set[str] = set()
    for index, message in enumerate(messages):
        for call in _call_ids(message):
            if call in called:
                yield Problem(index, "C3", f"id {call!r} was called before; give the call its own")
            called.add(call)
        if message["role"] == "tool":
            call = message["tool_call_id"]
            if call in answered:
                yield Problem(index, "C3", f"id {call!r} was answered before; keep one answer")
            answered.add(call)


def c4_assistant_says_something(messages: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """C4: tool_calls is not empty, and an assistant message has content or calls."""
    for index, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        if message.get("tool_calls") == []:
            yield Problem(index, "C4", "tool_calls is empty; leave the field out")
        said = isinstance(message.get("content"), str) or any(
            message.get(key)
            for key in ("content", "tool_calls", "function_call", "refusal", "audio")
        )
        if not said:
            yield Problem(
                index, "C4", "the assistant neither says nor calls anything; leave it out"
            )


RULES: tuple[Rule, ...] = (
    c1_results_follow_their_calls,
    c2_calls_are_answered,
    c3_ids_are_unique,
    c4_assistant_says_something,
)


def _call_ids(message: Mapping[str, Any]) -> list[str]:
    return [call["id"] for call in message.get("tool_calls") or ()]
