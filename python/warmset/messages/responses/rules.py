"""What OpenAI Responses demands of a whole list of items, one predicate a rule.

R5, that nothing is sent again which `previous_response_id` holds, cannot be read off a list; that a
reference and the item itself both stand in it can, and breaks R7. Likewise the provider alone knows
whether an item was made with reasoning that is missing: units keep the two together, by their bond.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from warmset.messages.model import Request, Rule, Violation
from warmset.messages.responses.kinds import (
    COMPACTION,
    MESSAGE,
    REASONING,
    REFERENCE,
    call_of,
    is_produced,
    item_id,
    item_kind,
    may_call,
    output_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
"""What the name of a function may be."""

_INPUTS = frozenset({"input_text", "input_image", "input_file", "input_audio"})
_OUTPUTS = frozenset({"output_text", "refusal"})


def r1_outputs_have_their_call(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """R1: an output stands after the call of its kind and id, and is the only one.

    Behind a reference that may be a call, an output that no call of the list has may belong to it.
    An output before which nothing is called is taken where the list goes on behind a stored
    response.
    """
    yield from _r1(messages, continues=False)


def r1_outputs_have_one_call(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """R1: an output stands after its call, if that is in the list, and is the only one.

    For a list that goes on behind a stored response, whose calls it may answer.
    """
    yield from _r1(messages, continues=True)


def _r1(messages: Sequence[Mapping[str, Any]], *, continues: bool) -> Iterator[Violation]:
    everywhere = {(made[0].call, made[1]) for item in messages if (made := call_of(item))}
    called: set[tuple[str, str]] = set()
    answered: set[tuple[str, str]] = set()
    referred = continues
    for index, item in enumerate(messages):
        referred = referred or (item_kind(item) == REFERENCE and may_call(item))
        if (made := call_of(item)) is not None:
            called.add((made[0].call, made[1]))
            answered.discard((made[0].call, made[1]))
        if (given := output_of(item)) is None:
            continue
        pair, call = given
        key = (pair.call, call)
        if key in answered:
            why = f"{pair.call} {call!r} was answered before"
            yield Violation("R1", index, why, "keep one output")
        elif key not in called and (key in everywhere or not referred):
            why = f"no {pair.call} before it has the id {call!r}"
            alone = not called and key not in everywhere
            yield Violation(
                "R1",
                index,
                why,
                "continue the response that made the call (continues=True)"
                if alone
                else "move it behind its call, or leave it out",
                "discouraged" if alone else "refused",
            )
        answered.add(key)


def r2_calls_have_their_output(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """R2: a call has its output after it."""
    answered: set[tuple[str, str]] = set()
    silent: list[tuple[int, str, str]] = []
    for index in range(len(messages) - 1, -1, -1):
        if (given := output_of(messages[index])) is not None:
            answered.add((given[0].call, given[1]))
        made = call_of(messages[index])
        if made is not None and made[0].demanded and (made[0].call, made[1]) not in answered:
            silent.append((index, made[0].call, made[1]))
    for index, kind, call in reversed(silent):
        why = f"{kind} {call!r} has no output after it"
        yield Violation("R2", index, why, "add its output, or take the call out")


def r3_reasoning_leads_somewhere(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """R3: reasoning is followed by what the model made of it, only reasoning between.

    An assistant's message has its id there if the reasoning has one; a call may go without. Only
    reasoning with an id is held against what the provider has stored.
    """
    for index in dangling(messages):
        why = "nothing that the model made follows the reasoning"
        if leads_to_nameless(messages, index):
            why = "the reasoning has an id, and the message behind it has none"
        mild = item_id(messages[index]) is None
        fix = "add the item that it led to, with its id, or leave the reasoning out"
        yield Violation("R3", index, why, fix, "discouraged" if mild else "refused")


def r4_reasoning_can_be_read(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """R4: reasoning that the provider has not stored, under an id, has its encrypted_content.

    A compaction always has it.
    """
    for index, item in enumerate(messages):
        if item_kind(item) == REASONING and not is_readable(item):
            why = "the reasoning has neither an id nor encrypted_content"
            yield Violation("R4", index, why, "keep what the provider sent, or leave it out")
        if item_kind(item) == COMPACTION and not item.get("encrypted_content"):
            why = "the compaction has no encrypted_content"
            yield Violation("R4", index, why, "keep what the provider sent, or leave it out")


def r6_no_compaction_inside_of_a_call(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """R6: no compaction stands between a call and its output.

    The provider's own compaction may put one there.
    """
    since: dict[tuple[str, str], int] = {}
    compactions = 0
    for index, item in enumerate(messages):
        compactions += item_kind(item) == COMPACTION
        if (made := call_of(item)) is not None:
            since[made[0].call, made[1]] = compactions
        given = output_of(item)
        if given is not None and since.get((given[0].call, given[1]), compactions) < compactions:
            why = f"a compaction stands between call {given[1]!r} and this output of it"
            fix = "move the output before the compaction"
            yield Violation("R6", index, why, fix, "discouraged")


def r7_item_ids_are_unique(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """R7: no two items have one id, and no reference names an item that stands in the list."""
    seen: set[str] = set()
    for index, item in enumerate(messages):
        own = item_id(item)
        if own is None:
            continue
        if own in seen:
            why = f"an item before has the id {own!r}"
            yield Violation("R7", index, why, "leave the copy out, or its id")
        seen.add(own)


def r8_call_ids_are_unique(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """R8: no two calls have one id.

    An id is taken again once its call was answered.
    """
    seen: set[str] = set()
    waiting: set[str] = set()
    for index, item in enumerate(messages):
        if (given := output_of(item)) is not None:
            waiting.discard(given[1])
        if (made := call_of(item)) is None:
            continue
        if made[1] in seen:
            why = f"a call before has the id {made[1]!r}"
            fix = "give the call, and its output, an id of its own"
            mild = made[1] not in waiting
            yield Violation("R8", index, why, fix, "discouraged" if mild else "refused")
        seen.add(made[1])
        waiting.add(made[1])


def c5_functions_have_plain_names(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """C5: the name of a function is of letters, digits, _ and -."""
    for index, item in enumerate(messages):
        if item_kind(item) == "function_call" and not NAME.fullmatch(item["name"]):
            why = f"the name {item['name']!r:.80} is not 1 to 128 letters, digits, _ and -"
            yield Violation("C5", index, why, "name the tool so in the request too")


def c7_parts_fit_the_role(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """C7: the assistant's parts are outputs and refusals, everybody else's are inputs."""
    for index, message in enumerate(messages):
        for part in misplaced(message):
            why = f"a part of type {part['type']!r} does not fit the role {message['role']!r}"
            yield Violation("C7", index, why, "write it as the other side's part, or leave it out")


def rules(request: Request) -> tuple[Rule, ...]:
    """Return the rules that hold for the list of a request; see `Rules`."""
    if not request.continues:
        return RULES
    return tuple(
        r1_outputs_have_one_call if rule is r1_outputs_have_their_call else rule for rule in RULES
    )


RULES: tuple[Rule, ...] = (
    c5_functions_have_plain_names,
    c7_parts_fit_the_role,
    r1_outputs_have_their_call,
    r2_calls_have_their_output,
    r3_reasoning_leads_somewhere,
    r4_reasoning_can_be_read,
    r6_no_compaction_inside_of_a_call,
    r7_item_ids_are_unique,
    r8_call_ids_are_unique,
)


def misplaced(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parts of a message that only the other side may say."""
    content = item.get("content")
    if not isinstance(item.get("role"), str) or not isinstance(content, list):
        return []
    foreign = _INPUTS if item["role"] == "assistant" else _OUTPUTS
    return [part for part in content if part.get("type") in foreign]


def dangling(items: Sequence[Mapping[str, Any]]) -> list[int]:
    """Find the reasoning that is not followed by what the model made of it.

    A message of the assistant's is that only with an id, if the reasoning has one.
    """
    found: list[int] = []
    leads = nameless = False
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        if item_kind(item) != REASONING:
            leads, nameless = is_produced(item), is_nameless(item)
        elif not leads or (nameless and item_id(item) is not None):
            found.append(index)
    return found[::-1]


def leads_to_nameless(items: Sequence[Mapping[str, Any]], index: int) -> bool:
    """Tell whether a message without an id stands right behind reasoning."""
    behind = items[index + 1] if index + 1 < len(items) else None
    return behind is not None and is_nameless(behind)


def is_nameless(item: Mapping[str, Any]) -> bool:
    """Tell whether an item is a message of the assistant's without the provider's id."""
    return item_kind(item) == MESSAGE and item["role"] == "assistant" and item_id(item) is None


def is_readable(reasoning: Mapping[str, Any]) -> bool:
    """Tell whether the provider can know what was reasoned."""
    return any(
        isinstance(reasoning.get(key), str) and reasoning[key]
        for key in ("id", "encrypted_content")
    )
