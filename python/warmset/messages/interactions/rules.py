"""What Gemini Interactions demands of a whole list of steps, one predicate a rule.

Its reference says how steps look, and little of how they may follow each other. What Gemini's
models demand of calls and responses holds here too, and is "refused"; what only some of them
demand, or what its reference lets be, is "discouraged". A thought's signature cannot be read:
units keep a thought with what it led to, and nothing changes it.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from warmset.messages.interactions.kinds import (
    CALL,
    RESULT,
    THOUGHT,
    USER,
    call_of,
    is_model,
    result_of,
)
from warmset.messages.model import Request, Rule, Violation
from warmset.messages.text import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from warmset.messages.model import Severity

_SIGNS: Final = re.compile(r"gemini-(?:[3-9]|[1-9]\d)")
"""Models that sign every response with calls; earlier ones only if they think."""


def i1_results_have_their_call(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """I1: a result stands after the call of its id, and is the only one.

    One before which no call stands may be to a call that the provider has stored.
    """
    return _results(messages, continues=False)


def i1_results_have_a_call_here_or_stored(
    messages: Sequence[Mapping[str, Any]],
) -> Iterator[Violation]:
    """I1: a result stands after the call of its id, if the list has it, and is the only one."""
    return _results(messages, continues=True)


def _results(messages: Sequence[Mapping[str, Any]], *, continues: bool) -> Iterator[Violation]:
    everywhere = {call for step in messages if (call := call_of(step)) is not None}
    waiting: dict[str, int] = {}
    answered: set[str] = set()
    called = False
    for index, step in enumerate(messages):
        if (call := call_of(step)) is not None:
            waiting[call] = waiting.get(call, 0) + 1
            called = True
        if (result := result_of(step)) is None:
            continue
        if waiting.get(result):
            waiting[result] -= 1
        elif result in answered:
            why = f"call {result!r} was answered before"
            yield Violation("I1", index, why, "keep one result")
        elif result in everywhere:
            why = f"the result stands before call {result!r}"
            yield Violation("I1", index, why, "move it behind its call")
        elif not continues:
            severity: Severity = "refused" if called else "discouraged"
            why = f"no call before it has the id {result!r}"
            fix = "add its call, or name the interaction that has it as previous_interaction_id"
            yield Violation("I1", index, why, fix, severity)
        answered.add(result)


def i2_calls_have_their_result(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """I2: every function call has a result after it."""
    open_calls: dict[str, list[int]] = {}
    for index, step in enumerate(messages):
        if (call := call_of(step)) is not None:
            open_calls.setdefault(call, []).append(index)
        if (result := result_of(step)) is not None and open_calls.get(result):
            open_calls[result].pop()
    silent = [(index, call) for call, places in open_calls.items() for index in places]
    for index, call in sorted(silent):
        why = f"call {call!r} has no result after it"
        yield Violation("I2", index, why, "add its result, or take the call out")


def i3_results_come_before_all_else(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """I3: no input, and nothing that the model made of other results, stands before a result."""
    since = parted(messages)
    open_calls: dict[str, list[int]] = {}
    for index, step in enumerate(messages):
        if (call := call_of(step)) is not None:
            open_calls.setdefault(call, []).append(index)
        if (result := result_of(step)) is None or not open_calls.get(result):
            continue
        if since[open_calls[result].pop()] != since[index]:
            why = f"the conversation goes on between call {result!r} and this result of it"
            yield Violation("I3", index, why, "move it right behind the calls of its response")


def i4_ids_tell_calls_apart(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """I4: no call has the id of another one, and of one that waits for its result least of all."""
    waiting: set[str] = set()
    seen: set[str] = set()
    for index, step in enumerate(messages):
        if (result := result_of(step)) is not None:
            waiting.discard(result)
        if (call := call_of(step)) is None:
            continue
        if call in seen:
            severity: Severity = "refused" if call in waiting else "discouraged"
            why = f"a call before has the id {call!r}"
            fix = "give the call, and its result, an id of its own"
            yield Violation("I4", index, why, fix, severity)
        waiting.add(call)
        seen.add(call)


def i5_the_user_begins(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """I5: the first step is not the model's, if nothing stands before the list."""
    if messages and is_model(messages[0]):
        why = "the first step is the model's"
        yield Violation("I5", 0, why, "begin with the task, a user_input", "discouraged")


def i6_thoughts_are_signed(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """I6: a thought has its signature."""
    for index, step in enumerate(messages):
        if kind_of(step) == THOUGHT and not step.get("signature"):
            why = "the thought has no signature"
            yield Violation("I6", index, why, "send it as it came", "discouraged")


def i7_results_name_their_function(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """I7: a result has the name of its function, which the API may demand beside the call's id."""
    for index, step in enumerate(messages):
        if kind_of(step) == RESULT and not step.get("name"):
            why = f"the result of call {step['call_id']!r} has no name"
            yield Violation("I7", index, why, "add the function's name", "discouraged")


def i8_input_says_something(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """I8: the user's input has content."""
    for index, step in enumerate(messages):
        if kind_of(step) == USER and not step.get("content"):
            why = "the input has no content"
            yield Violation("I8", index, why, "leave it out", "discouraged")


def i9_calls_follow_their_thought(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """I9: in the current turn, a signed thought stands in a response before its first call."""
    begin = max((at for at, step in enumerate(messages) if kind_of(step) == USER), default=-1)
    signed = False
    for index in range(begin + 1, len(messages)):
        step = messages[index]
        if not is_model(step):
            signed = False  # what follows is another response
        elif step.get("signature"):
            signed = True
        elif kind_of(step) == CALL and not signed:
            why = f"no thought with a signature stands before call {step['id']!r}"
            fix = "send the response's thought as it came"
            yield Violation("I9", index, why, fix, "discouraged")
            signed = True


_ALWAYS: tuple[Rule, ...] = (
    i2_calls_have_their_result,
    i3_results_come_before_all_else,
    i4_ids_tell_calls_apart,
    i6_thoughts_are_signed,
    i7_results_name_their_function,
    i8_input_says_something,
)


def rules(request: Request) -> tuple[Rule, ...]:
    """Return the rules that hold for the list of a request; see `Rules`."""
    first: tuple[Rule, ...] = (i1_results_have_their_call, i5_the_user_begins)
    if request.continues:
        first = (i1_results_have_a_call_here_or_stored,)
    named = request.model.rsplit("/", 1)[-1].lower()
    last: tuple[Rule, ...] = (i9_calls_follow_their_thought,) if _SIGNS.match(named) else ()
    return (*first, *_ALWAYS, *last)


def parted(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Count for each step how often the conversation went on up to it.

    It goes on with the user's input, and with what the model makes of results: a call and its
    result have equal counts where nothing of the kind stands between them.
    """
    goes_on = (
        kind_of(step) == USER or (is_model(step) and at > 0 and kind_of(messages[at - 1]) == RESULT)
        for at, step in enumerate(messages)
    )
    return list(accumulate(goes_on))
