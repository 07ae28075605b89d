"""What Gemini demands of a whole list of contents, one predicate a rule.

A model's thought signatures have to go back on the parts on which they came. Eviction and repair
keep parts as they are, and a conversion refuses them, so of G4 only a signature that cannot be one
is judged: whether one is missing depends on the model.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from warmset.messages.gemini import parts as p
from warmset.messages.model import Message, Request, Rule, Violation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def g1_user_is_first_and_last(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """G1: the first and the last content are the user's; responses are the user's too."""
    if messages and p.is_model(messages[0]):
        yield Violation("G1", 0, "the first content is not the user's", "begin with the task")
    if messages and p.is_model(messages[-1]):
        why = "the last content is not the user's"
        yield Violation("G1", len(messages) - 1, why, "end with what is asked")


def g2_calls_follow_the_user(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """G2: a content with function calls stands right behind the user's content or a response."""
    for index, message in enumerate(messages):
        if p.calls(message) and (index == 0 or p.is_model(messages[index - 1])):
            why = "a function call does not follow the user or a response"
            yield Violation("G2", index, why, "merge it with the content before: alternate()")


def g3_responses_equal_calls(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """G3: the next content responds to all calls, as many by id and name, and to nothing else."""
    calls: Counter[tuple[str, str]] = Counter()
    for index, message in enumerate(messages):
        answers = Counter(map(p.sign, p.responses(message)))
        if calls != answers:
            missing, surplus = calls - answers, answers - calls
            if missing:
                why = f"no response to {_names(missing)} in the next content"
                yield Violation("G3", index - 1, why, "put the responses to all calls there")
            if surplus:
                why = f"a response to {_names(surplus)} answers no call of the content before"
                yield Violation("G3", index, why, "leave it out")
        calls = Counter(map(p.sign, p.calls(message)))
    if calls:
        why = f"no response to {_names(calls)} in the next content"
        yield Violation("G3", len(messages) - 1, why, "put the responses to all calls there")


def g4_signatures_are_texts(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """G4: a thought signature is a text that is not empty."""
    for index, message in enumerate(messages):
        if not all(map(is_signed_well, p.parts(message))):
            why = "a thought signature is empty or no string"
            yield Violation("G4", index, why, "send it as it came")


def g5_no_part_is_empty(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """G5: a content has parts, and none is empty; a blank text has a signature or reasoning."""
    for index, message in enumerate(messages):
        if not p.parts(message) or any(map(is_empty, p.parts(message))):
            yield Violation("G5", index, "a part is empty, or there is none", "leave it out")


def rules(_request: Request) -> tuple[Rule, ...]:
    """Return the rules that hold for the list of a request; see `Rules`."""
    return RULES


RULES: tuple[Rule, ...] = (
    g1_user_is_first_and_last,
    g2_calls_follow_the_user,
    g3_responses_equal_calls,
    g4_signatures_are_texts,
    g5_no_part_is_empty,
)


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
