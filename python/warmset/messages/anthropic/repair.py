"""Lists of Anthropic messages, mended: each message by itself, then their pairs, then the list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.errors import InvalidInputError
from warmset.messages.alternate import alternate
from warmset.messages.anthropic import walk
from warmset.messages.anthropic.marks import thinned
from warmset.messages.anthropic.models import refuses_prefill, refuses_system
from warmset.messages.anthropic.pairing import Entry, pair, same
from warmset.messages.anthropic.rules import a13_user_is_last
from warmset.messages.anthropic.systems import in_place, without_systems
from warmset.messages.codec import accept, loads
from warmset.messages.mending import CONTINUE, CONTINUED, Change, Unanswered

if TYPE_CHECKING:
    from warmset.messages.model import Message, Request


def mend(
    messages: list[Message], unanswered: Unanswered, request: Request
) -> tuple[list[Message], list[Change]]:
    """Mend a list of well-formed messages; see `Mender`."""
    changes: list[Change] = []
    entries: list[Entry] = []
    for index, message in enumerate(messages):
        begun = walk.may_be_empty(messages, index) and not refuses_prefill(request.model)
        if begun and not message["content"]:
            entries.append((index, message))
            continue
        neat = _tidy(index, message, changes)
        if neat is not None:
            entries.append((index, neat))
    if refuses_system(request.model):
        entries = without_systems(entries, changes)
    entries = pair(in_place(entries, changes), unanswered, changes)
    entries = in_place(_part_from_server_orphans(entries, changes), changes)
    if entries and entries[0][1]["role"] != "user":
        index = entries[0][0]
        changes.append(Change("A1", index, f"a user message {CONTINUED!r} was put in front"))
        entries.insert(0, (index, {"role": "user", "content": CONTINUED}))
    _lead_with_thinking(entries, changes)
    if refuses_prefill(request.model):
        _end_with_the_user(entries, changes)
    _strip_end(entries, changes)
    _thin_marks(entries, changes)
    changes.sort(key=lambda change: change.index)
    return [message for _, message in entries], changes


def _tidy(index: int, message: Message, changes: list[Change]) -> Message | None:
    """Mend what is wrong inside of one message; None where nothing is left of it."""
    if isinstance(message["content"], str):
        if message["content"].strip():
            return message
        changes.append(Change("A8", index, "the blank message was left out"))
        return None
    before: list[Message] = message["content"]
    after = [neat for block in before if (neat := _tidy_block(index, block, changes)) is not None]
    if message["role"] == "system" and not all(map(walk.may_instruct, after)):
        changes.append(Change("A10", index, "a block that is no text was left out"))
        after = [block for block in after if walk.may_instruct(block)]
    if not after:
        changes.append(Change("A8", index, "the message was left out: nothing is in it"))
        return None
    return message if same(before, after) else message | {"content": after}


def _tidy_block(index: int, block: Message, changes: list[Change]) -> Message | None:
    kind: str = block["type"]
    if not walk.is_signed(block):
        changes.append(Change("A6", index, f"a {kind} block without its proof was left out"))
        return None
    if walk.is_summary(block) and block.get("content") == "":
        changes.append(Change("A12", index, "an empty compaction was left out"))
        return None
    if kind == "text" and not block["text"].strip():
        changes.append(Change("A8", index, "a blank text was left out"))
        return None
    if kind.endswith(walk.USE) and not isinstance(block.get("input"), dict):
        changes.append(
            Change("A14", index, f"the input of call {block['id']!r} was made a mapping")
        )
        return block | {"input": _parsed(block.get("input"))}
    if kind == walk.RESULT and isinstance(block.get("content"), list):
        inner: list[Message] = block["content"]
        said = [one for one in inner if one["type"] != "text" or one["text"].strip()]
        if len(said) < len(inner):
            changes.append(Change("A8", index, "a blank text in a tool result was left out"))
            return block | {"content": said}
    return block


def _parsed(given: Any) -> dict[str, Any]:
    """Return the mapping that a JSON string says; an empty one where it says none."""
    if not isinstance(given, str):
        return {}
    try:
        found = loads(given.encode("utf-8", "surrogatepass"))
        accept([{"content": [{"input": found}]}])  # not nested deeper than a message may be
    except InvalidInputError:
        return {}
    return found


def _part_from_server_orphans(entries: list[Entry], changes: list[Change]) -> list[Entry]:
    """Leave out server tools' blocks without a partner, and messages that said nothing else."""
    while orphans := walk.server_orphans([message for _, message in entries]):
        gone: dict[int, set[int]] = {}
        for at, place in orphans:
            gone.setdefault(at, set()).add(place)
        kept: list[Entry] = []
        for at, (index, message) in enumerate(entries):
            if at not in gone:
                kept.append((index, message))
                continue
            content = [b for place, b in enumerate(message["content"]) if place not in gone[at]]
            changes.append(
                Change("A5", index, "server tool blocks without a partner were left out")
            )
            if not all(map(walk.is_thought, content)):
                kept.append((index, message | {"content": content}))
        entries = kept
    return entries


def _end_with_the_user(entries: list[Entry], changes: list[Change]) -> None:
    for broken in a13_user_is_last([message for _, message in entries]):
        index = entries[broken.index][0]
        changes.append(Change("A13", index, f"a user message {CONTINUE!r} was put at the end"))
        entries.append((index, {"role": "user", "content": CONTINUE}))


def _lead_with_thinking(entries: list[Entry], changes: list[Change]) -> None:
    messages = [message for _, message in entries]
    for first, last in reversed(walk.open_loop(messages)):
        (turn,) = alternate(messages[first:last])
        blocks = walk.as_blocks(turn)
        if not walk.thinking_leads(blocks):
            index = entries[first][0]
            changes.append(Change("A6", index, "thinking was put first in its turn"))
            ordered = sorted(blocks, key=lambda b: not (walk.is_thought(b) or walk.is_summary(b)))
            entries[first:last] = [(index, turn | {"content": ordered})]


def _strip_end(entries: list[Entry], changes: list[Change]) -> None:
    if not entries:
        return
    index, message = entries[-1]
    bare = walk.stripped(message)
    if bare is not message:
        changes.append(Change("A8", index, "white space at the end was stripped"))
        entries[-1] = (index, bare)


def _thin_marks(entries: list[Entry], changes: list[Change]) -> None:
    fewer = thinned([message for _, message in entries])
    for at, (index, message) in enumerate(entries):
        if fewer[at] is not message:
            count = walk.marks(message) - walk.marks(fewer[at])
            changes.append(Change("A11", index, f"cache_control marks were left out: {count}"))
            entries[at] = (index, fewer[at])
