"""What OpenAI Chat Completions demands of a whole list, one predicate a rule."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from warmset.messages.model import Request, Rule, Violation
from warmset.messages.openai.grammar import body_of
from warmset.messages.text import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What the name of a function or of a custom tool may be."""

PERSON = re.compile(r"[^\s<|\\/>]+")
"""What the name of a participant may be."""

SPEAKING = ("system", "developer", "user", "assistant")
"""The roles whose messages may name a participant."""

ARGUMENTS = {"function": "arguments", "custom": "input"}
"""Where the arguments stand, by the type of the call."""

INSTRUCTING = ("system", "developer")
"""The older and the newer word for who instructs the model."""

_PART_ROLES: dict[str, tuple[str, ...]] = {
    "image_url": ("user",),
    "input_audio": ("user",),
    "file": ("user",),
    "refusal": ("assistant",),
}


def c1_results_follow_their_calls(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """C1: a tool message follows the assistant message that holds its id, only tools between."""
    callable_now: set[str] = set()
    for index, message in enumerate(messages):
        if message["role"] != "tool":
            callable_now = set(_call_ids(message))
        elif message["tool_call_id"] not in callable_now:
            why = f"no assistant message just before calls {message['tool_call_id']!r}"
            yield Violation("C1", index, why, "move it behind its call, or leave it out")


def c2_calls_are_answered(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """C2: every call is answered before another role speaks, and before the list ends."""
    caller = 0
    open_calls: dict[str, None] = {}
    for index, message in enumerate([*messages, {"role": "end"}]):
        if message["role"] == "tool":
            open_calls.pop(message["tool_call_id"], None)
            continue
        for call in open_calls:
            why = f"call {call!r} has no tool message right after it"
            yield Violation("C2", caller, why, "add its result, or take the call out")
        caller, open_calls = index, dict.fromkeys(_call_ids(message))


def c3_ids_are_unique(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """C3: each id is called once and answered once.

    A provider takes an id again that a later message calls, and refuses it within one message.
    """
    called: set[str] = set()
    answered: set[str] = set()
    for index, message in enumerate(messages):
        here: set[str] = set()
        for call in _call_ids(message):
            if call in called or call in here:
                why, fix = f"id {call!r} was called before", "give the call its own id"
                yield Violation("C3", index, why, fix, "refused" if call in here else "discouraged")
            here.add(call)
        called |= here
        answered -= here
        if message["role"] == "tool":
            call = message["tool_call_id"]
            if call in answered:
                yield Violation("C3", index, f"id {call!r} was answered before", "keep one answer")
            answered.add(call)


def c4_assistant_says_something(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """C4: tool_calls is not empty, and an assistant message has content or calls."""
    for index, message in enumerate(messages):
        if message.get("tool_calls") == []:
            yield Violation("C4", index, "tool_calls is empty", "leave the field out")
        if message["role"] == "assistant" and not says_something(message):
            why = "the assistant neither says nor calls anything"
            yield Violation("C4", index, why, "leave the message out")


def c5_calls_are_written_as_text(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """C5: arguments are a string, names of tools are of letters, digits, _ and -.

    The name of a participant has no white space, slash, bar or angle bracket.
    """
    for index, message in enumerate(messages):
        for key, body in bodies(message):
            if not isinstance(body.get(key), str):
                why = f"{key} of {body['name']!r} is a {type(body.get(key)).__name__}"
                yield Violation("C5", index, why, "write it as a string of JSON")
            if not NAME.fullmatch(body["name"]):
                yield _bad_name(index, body["name"])
        named = message.get("name")
        if isinstance(named, str) and message["role"] in SPEAKING and not PERSON.fullmatch(named):
            why = f"the name {named!r:.80} has white space, a slash, a bar or a bracket"
            yield Violation("C5", index, why, "write the name without it")
        if message["role"] == "function" and not NAME.fullmatch(message["name"]):
            yield _bad_name(index, message["name"])


def c6_functions_follow_their_call(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """C6: a function message stands right behind the function_call of its name.

    OpenAI does not document that it refuses another one.
    """
    before: Mapping[str, Any] = {}
    for index, message in enumerate(messages):
        if message["role"] == "function":
            call = before.get("function_call") or {}
            if call.get("name") != message["name"]:
                why = f"no function_call right before it calls {message['name']!r}"
                fix = "move it behind its call, or leave it out"
                yield Violation("C6", index, why, fix, "discouraged")
        before = message


def c7_parts_fit_the_role(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """C7: content is no empty list, images, audio and files are the user's, refusals are not."""
    for index, message in enumerate(messages):
        content = message.get("content")
        if not isinstance(content, list):
            continue
        if not content:
            yield Violation("C7", index, "content is an empty list", "say something, or leave it")
        for place, part in enumerate(content):
            if not fits(part, message["role"]):
                why = f"content[{place}]: a {message['role']} message has no {part['type']!r} part"
                yield Violation("C7", index, why, "leave the part out")


def c8_one_word_for_instructions(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """C8: the roles system and developer do not stand in one list.

    Only reasoning models refuse that.
    """
    word: str | None = None
    for index, message in enumerate(messages):
        if message["role"] in INSTRUCTING:
            word = word or message["role"]
            if message["role"] != word:
                why = f"role {message['role']!r} stands in a list that has {word!r}"
                yield Violation("C8", index, why, f"write {word!r} in both", "discouraged")


def rules(_request: Request) -> tuple[Rule, ...]:
    """Return the rules that hold for the list of a request; see `Rules`."""
    return RULES


RULES: tuple[Rule, ...] = (
    c1_results_follow_their_calls,
    c2_calls_are_answered,
    c3_ids_are_unique,
    c4_assistant_says_something,
    c5_calls_are_written_as_text,
    c6_functions_follow_their_call,
    c7_parts_fit_the_role,
    c8_one_word_for_instructions,
)


def says_something(message: Mapping[str, Any]) -> bool:
    """Tell whether an assistant message says, refuses or calls anything."""
    keys = ("content", "tool_calls", "function_call", "refusal", "audio")
    return isinstance(message.get("content"), str) or any(message.get(key) for key in keys)


def fits(part: Mapping[str, Any], role: str) -> bool:
    """Tell whether a message of the role may have the part; unknown parts may stand anywhere."""
    return role in _PART_ROLES.get(part["type"], (role,))


def bodies(message: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Go through what a message calls, each with the key that its arguments stand under."""
    for call in message.get("tool_calls") or ():
        if (kind := kind_of(call) or "function") in ARGUMENTS:
            yield ARGUMENTS[kind], body_of(call)
    if message.get("function_call") is not None:
        yield "arguments", message["function_call"]


def _bad_name(index: int, name: str) -> Violation:
    why = f"the name {name!r:.80} is not 1 to 64 letters, digits, _ and -"
    return Violation("C5", index, why, "name the tool so in the request too")


def _call_ids(message: Mapping[str, Any]) -> list[str]:
    return [call["id"] for call in message.get("tool_calls") or ()]
