"""What Gemini demands of a whole list of contents, one predicate a rule.

Neighbours of one side are judged as one content, as Gemini merges them. A model's thought
signatures have to go back on the parts on which they came. Eviction and repair keep parts as they
are, so of G4 only a signature that cannot be one is judged: whether one is missing depends on the
model.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from warmset.messages.gemini import parts as p
from warmset.messages.model import Message, Request, Rule, Violation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_GENERATION = re.compile(r"gemini-(\d+)")
_SIGNING = 3
"""The first generation of models that demands thought signatures."""


def g1_user_is_first_and_last(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """G1: the first and the last content are the user's; responses are the user's too.

    The API takes other lists, unless a function is called first (G2) or last (G3).
    """
    if messages and p.is_model(messages[0]):
        why, fix = "the first content is not the user's", "begin with the task"
        yield Violation("G1", 0, why, fix, "discouraged")
    if messages and p.is_model(messages[-1]):
        why, fix = "the last content is not the user's", "end with what is asked"
        yield Violation("G1", len(messages) - 1, why, fix, "discouraged")


def g2_calls_follow_the_user(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """G2: a turn with function calls stands right behind the user's content or a response."""
    for index, message in enumerate(messages):
        if not p.is_model(message):
            break
        if p.calls(message):
            why = "a function call does not follow the user or a response"
            yield Violation("G2", index, why, "begin with the task")
            break


def g3_responses_equal_calls(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """G3: the next turn responds to all calls, as many by id and name, and to nothing else."""
    calls: Counter[tuple[str, str]] = Counter()
    asked = 0
    for first, last in p.sides(messages):
        run = messages[first : last + 1]
        answers = Counter(p.sign(found) for one in run for found in p.responses(one))
        missing, surplus = calls - answers, answers - calls
        if missing:
            why = f"no response to {_names(missing)} in the next content"
            yield Violation("G3", asked, why, "put the responses to all calls there")
        if surplus:
            index = next(
                at
                for at in range(first, last + 1)
                if any(p.sign(found) in surplus for found in p.responses(messages[at]))
            )
            why = f"a response to {_names(surplus)} answers no call of the content before"
            yield Violation("G3", index, why, "leave it out")
        calls = Counter(p.sign(found) for one in run for found in p.calls(one))
        asked = next((at for at in range(last, first, -1) if p.calls(messages[at])), first)
    if calls:
        why = f"no response to {_names(calls)} in the next content"
        yield Violation("G3", asked, why, "put the responses to all calls there")


def g4_signatures_are_texts(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """G4: a thought signature is a text that is not empty."""
    for index, message in enumerate(messages):
        if not all(map(is_signed_well, p.parts(message))):
            why = "a thought signature is empty or no string"
            yield Violation("G4", index, why, "send it as it came")


def g4_steps_are_signed(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """G4: the first call of every step since the last request has the model's thought signature.

    Gemini 3 and newer models refuse a step without it.
    """
    for index, _ in unsigned_steps(messages):
        why = "the first function call of the step has no thought signature"
        yield Violation("G4", index, why, "send the signature as it came, or use repair()")


def g5_no_part_is_empty(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """G5: a content has parts, and none is empty; a blank text has a signature or reasoning.

    The API takes a text part that is empty, and refuses a part without any field.
    """
    for index, message in enumerate(messages):
        empty = [part for part in p.parts(message) if is_empty(part)]
        if empty or not p.parts(message):
            mild = empty and all(p.said(part) for part in empty)
            why, fix = "a part is empty, or there is none", "leave it out"
            yield Violation("G5", index, why, fix, "discouraged" if mild else "refused")


def rules(request: Request) -> tuple[Rule, ...]:
    """Return the rules that hold for the list of a request; see `Rules`."""
    return (*RULES, g4_steps_are_signed) if demands_signatures(request.model) else RULES


RULES: tuple[Rule, ...] = (
    g1_user_is_first_and_last,
    g2_calls_follow_the_user,
    g3_responses_equal_calls,
    g4_signatures_are_texts,
    g5_no_part_is_empty,
)


def demands_signatures(model: str) -> bool:
    """Tell whether a model refuses a function call of the current turn without its signature."""
    found = _GENERATION.search(model.lower())
    return found is not None and int(found[1]) >= _SIGNING


def unsigned_steps(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, int]]:
    """Yield the first call of each step since the last request that has no thought signature.

    Yields:
        The position of its content, and that of its part.
    """
    asked = max(
        (at for at, m in enumerate(messages) if not p.is_model(m) and not p.responses(m)),
        default=-1,
    )
    for first, last in p.sides(messages):
        called = [
            (at, place, part)
            for at in range(max(first, asked + 1), last + 1)
            for place, part in enumerate(p.parts(messages[at]))
            if p.get(part, p.CALL) is not None
        ]
        if called and p.get(called[0][2], p.SIGNATURE) is None:
            yield called[0][0], called[0][1]


def is_signed_well(part: Message) -> bool:
    """Tell whether a part has no thought signature, or one that may be one."""
    found = p.get(part, p.SIGNATURE)
    return found is None or (isinstance(found, str) and bool(found))


def is_empty(part: Message) -> bool:
    """Tell whether a part is empty: no field, or blank text that neither signs nor reasons."""
    names = p.said(part)
    if names != ["text"]:
        return not names
    blank = not part["text"].strip()
    return blank and not p.is_thought(part) and p.get(part, p.SIGNATURE) is None


def _names(found: Counter[tuple[str, str]]) -> str:
    return ", ".join(repr(call or name) for call, name in found)
