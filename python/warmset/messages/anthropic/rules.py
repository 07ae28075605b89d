"""What Anthropic Messages demands of a whole list, one predicate a rule.

Neighbours of one role are judged as one message where the provider merges them. Not judged, because
a list does not tell: A7 (thinking is dropped whole when the model changes) and A12 (a compaction
block goes back as it came; its message has `Facts.keep`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.messages.anthropic import walk
from warmset.messages.anthropic.models import refuses_prefill, refuses_system, thinks_first
from warmset.messages.model import Request, Rule, Severity, Violation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def a1_user_is_first(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """A1: the first message is the user's.

    Anthropic's own API takes a list that begins with the assistant; Bedrock refuses it.
    """
    if messages and messages[0]["role"] == "assistant":
        why, fix = "the first message is not the user's", "begin with the task"
        yield Violation("A1", 0, why, fix, "discouraged")


def a1_roles_alternate(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """A1: user and assistant alternate, as Bedrock and many proxies demand; not among `RULES`."""
    yield from a1_user_is_first(messages)
    for index in range(1, len(messages)):
        if messages[index]["role"] == messages[index - 1]["role"]:
            why = f"two {messages[index]['role']} messages in a row", "merge them with alternate()"
            yield Violation("A1", index, *why, "discouraged")


def a2_calls_are_answered_at_once(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """A2: the next message is the user's and answers every call, parallel ones together."""
    turns = walk.turns(messages)
    for at, turn in enumerate(turns):
        calls = turn.ids(walk.USE)
        if not calls:
            continue
        following = turns[at + 1].ids(walk.RESULT) if at + 1 < len(turns) else []
        answers = {call for _, call in following}
        for call, index in {call: index for index, call in reversed(calls)}.items():
            if call not in answers:
                why = f"call {call!r} has no result in the next message"
                yield Violation("A2", index, why, "put the results of all calls there")


def a3_results_stand_first(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """A3: in what the user says behind calls, results stand before everything else."""
    why = "a tool result stands behind something else", "put the results first"
    turns = walk.turns(messages)
    for before, turn in zip([None, *turns], turns, strict=False):
        own = [messages[at] for at in range(turn.first, turn.last + 1)]
        broken = [at for at, one in enumerate(own) if not walk.results_lead(walk.blocks(one))]
        yield from (Violation("A3", turn.first + at, *why) for at in broken)
        whole = [block for one in own for block in walk.as_blocks(one)]
        called = before is not None and before.ids(walk.USE)
        if called and not broken and not walk.results_lead(whole):
            late = max(at for at, one in enumerate(own) if walk.ids(one, walk.RESULT))
            yield Violation("A3", turn.first + late, *why)


def a4_results_answer_the_message_before(
    messages: Sequence[Mapping[str, Any]],
) -> Iterator[Violation]:
    """A4: a result answers a call of the message before it, once, and no id is called twice.

    An id that an earlier turn called is taken again.
    """
    called: set[str] = set()
    waiting: set[str] = set()
    for turn in walk.turns(messages):
        for index, call in turn.ids(walk.RESULT):
            if call not in waiting:
                why = f"result {call!r} answers no open call of the message before", "leave it out"
                yield Violation("A4", index, *why)
            waiting.discard(call)
        waiting = set()
        for index, call in turn.ids(walk.USE):
            if call in called or call in waiting:
                why = f"the id {call!r} was called before", "give the call an id of its own"
                yield Violation("A4", index, *why, "refused" if call in waiting else "discouraged")
            waiting.add(call)
        called |= waiting


def a5_server_tools_pair(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """A5: a server tool's call and result stand in one assistant turn, the call first.

    The turn goes on in the next assistant message where one follows at once, or where the client's
    tools are called in between. At the end of the list a call may still be pending.
    """
    for index, place in walk.server_orphans(messages):
        kind = messages[index]["content"][place]["type"]
        why = f"the {kind} block has no partner in its turn", "keep call and result together"
        yield Violation("A5", index, *why)


def a6_thinking_is_whole(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """A6: thinking has its signature; a turn that calls in the last tool loop begins with it.

    Judged of turns that carry thinking at all. Newer models think where they see fit, and take a
    turn that begins with something else; see `thinks_first`.
    """
    yield from _a6(messages, "discouraged")


def a6_thinking_leads(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """A6: the same, for a model that refuses a turn which does not begin with its thinking."""
    yield from _a6(messages, "refused")


def _a6(messages: Sequence[Mapping[str, Any]], severity: Severity) -> Iterator[Violation]:
    for index, message in enumerate(messages):
        if not all(walk.is_signed(block) for block in walk.blocks(message)):
            why = "thinking has no signature, or redacted thinking no data"
            yield Violation("A6", index, why, "send it as it came, or leave it out")
    for first, last in walk.open_loop(messages):
        turn = [block for at in range(first, last) for block in walk.as_blocks(messages[at])]
        if not walk.thinking_leads(turn):
            why = "thinking does not begin the turn that calls"
            yield Violation("A6", first, why, "put it first, as it came", severity)


def a8_nothing_is_blank(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """A8: no text is empty or blank, and a final assistant message does not end in white space.

    A final assistant message may be empty.
    """
    for index, message in enumerate(messages):
        content = message["content"]
        if not content and walk.may_be_empty(messages, index):
            continue
        texts = [content] if isinstance(content, str) else list(_texts(content))
        if not content or not all(text.strip() for text in texts):
            yield Violation("A8", index, "a text is empty or blank", "leave it out")
    if messages and messages[-1]["role"] == "assistant":
        last = walk.last_text(messages[-1])
        if last != last.rstrip():
            why = "the final assistant message ends in white space", "strip it"
            yield Violation("A8", len(messages) - 1, *why)


def a9_no_system_in_place(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """A9: the model takes no system message among the messages; see `refuses_system`."""
    for index, message in enumerate(messages):
        if message["role"] == "system":
            why = "this model takes no system message among the messages"
            yield Violation("A9", index, why, "pass it as the system parameter")


def a10_system_follows_the_user(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """A10: a system message stands behind the user, or behind a tool that the provider runs.

    What follows it is the assistant's, or nothing.
    """
    turns = walk.turns(messages)
    for at, turn in enumerate(turns):
        if turn.role != "system":
            continue
        before = turns[at - 1] if at else None
        if before is None or not (before.role == "user" or walk.ends_in_server_use(before)):
            why = "a system message does not follow the user"
            yield Violation("A10", turn.first, why, "put it behind what the user says")
        elif at + 1 < len(turns) and turns[at + 1].role == "user":
            why = "the user follows a system message"
            yield Violation("A10", turn.first, why, "put it behind what the user says")


def a10_system_is_text(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """A10: a system message has texts and tool changes alone."""
    for index, message in enumerate(messages):
        if message["role"] == "system" and not all(map(walk.may_instruct, walk.blocks(message))):
            yield Violation("A10", index, "a system message has text alone", "leave the rest out")


def a11_few_cache_marks(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """A11: at most four cache_control marks, those in the system prompt and tools not counted."""
    marks = 0
    for index, message in enumerate(messages):
        before = marks
        marks += walk.marks(message)
        if before <= walk.MAX_MARKS < marks:
            why = f"there are more than {walk.MAX_MARKS} cache_control marks"
            yield Violation("A11", index, why, "keep the latest ones")


def a12_compactions_say_something(
    messages: Sequence[Mapping[str, Any]],
) -> Iterator[Violation]:
    """A12: a compaction block has the text that the provider gave it."""
    for index, message in enumerate(messages):
        summaries = [block for block in walk.blocks(message) if walk.is_summary(block)]
        if any(block.get("content") == "" for block in summaries):
            yield Violation("A12", index, "a compaction is empty", "send it as it came")


def a13_user_is_last(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """A13: the list does not end with the assistant, for a model that takes no reply begun for it.

    A turn that the provider paused within a tool of its own may go on.
    """
    turns = walk.turns(messages)
    if turns and turns[-1].role == "assistant" and not walk.ends_in_server_use(turns[-1]):
        why = "the last message is the assistant's, which this model does not continue"
        yield Violation("A13", turns[-1].last, why, "end with what is asked")


def a14_inputs_are_objects(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """A14: the input of a call is an object."""
    for index, message in enumerate(messages):
        for block in walk.blocks(message):
            if block["type"].endswith(walk.USE) and not isinstance(block.get("input"), dict):
                why = f"the input of call {block['id']!r} is no mapping of arguments"
                yield Violation("A14", index, why, "parse it, or send {}")


def a17_call_ids_are_plain(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    """A17: the id of a call is of letters, digits, _ and -."""
    for index, message in enumerate(messages):
        for call in walk.ids(message, walk.USE):
            if not walk.ID.fullmatch(call):
                why = f"the id {call!r} has other characters than letters, digits, _ and -"
                yield Violation("A17", index, why, "name the call otherwise, and its result")


def rules(request: Request) -> tuple[Rule, ...]:
    """Return the rules that hold for the list of a request; see `Rules`."""
    found = RULES
    if thinks_first(request.model):
        found = tuple(a6_thinking_leads if r is a6_thinking_is_whole else r for r in found)
    if refuses_system(request.model):
        found = (*found, a9_no_system_in_place)
    return (*found, a13_user_is_last) if refuses_prefill(request.model) else found


RULES: tuple[Rule, ...] = (
    a1_user_is_first,
    a2_calls_are_answered_at_once,
    a3_results_stand_first,
    a4_results_answer_the_message_before,
    a5_server_tools_pair,
    a6_thinking_is_whole,
    a8_nothing_is_blank,
    a10_system_follows_the_user,
    a10_system_is_text,
    a12_compactions_say_something,
    a11_few_cache_marks,
    a14_inputs_are_objects,
    a17_call_ids_are_plain,
)


def _texts(blocks: list[dict[str, Any]]) -> Iterator[str]:
    for block in blocks:
        if block["type"] == "text":
            yield block["text"]
        elif block["type"] == walk.RESULT and isinstance(block.get("content"), list):
            yield from (inner["text"] for inner in block["content"] if inner["type"] == "text")
