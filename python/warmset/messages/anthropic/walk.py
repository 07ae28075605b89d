"""How to look through a list of Anthropic messages: what the rules and the mender share."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from warmset.messages.anthropic.grammar import is_server_result, is_server_use
from warmset.messages.text import kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.messages.model import Message

USE, RESULT = "tool_use", "tool_result"
MAX_MARKS = 4
ID = re.compile(r"[a-zA-Z0-9_-]+")
"""What the id of a call may be."""

_THOUGHTS = {"thinking": "signature", "redacted_thinking": "data"}


def blocks(message: Mapping[str, Any]) -> list[Message]:
    """Return a message's blocks; none where its content is a string."""
    content = message["content"]
    return content if isinstance(content, list) else []


def as_blocks(message: Mapping[str, Any]) -> list[Message]:
    """Return a message's content as blocks; a string is one text block."""
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def ids(message: Mapping[str, Any], kind: str) -> list[str]:
    """Return the call ids of a message's blocks of one kind, `USE` or `RESULT`, in order."""
    field = "id" if kind == USE else "tool_use_id"
    return [block[field] for block in blocks(message) if block["type"] == kind]


@dataclass(frozen=True, slots=True)
class Turn:
    """Neighbours of one role, which the provider merges.

    Args:
        role: Their role.
        first: The position of the first of them.
        last: The position of the last of them.
        blocks: Their blocks, each with the position of its message.
    """

    role: str
    first: int
    last: int
    blocks: list[tuple[int, Message]]

    def ids(self, kind: str) -> list[tuple[int, str]]:
        """Return the call ids of blocks of one kind, each with the position of its message."""
        field = "id" if kind == USE else "tool_use_id"
        return [(at, block[field]) for at, block in self.blocks if block["type"] == kind]


def turns(messages: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """Merge neighbours of one role, as the provider does."""
    found: list[Turn] = []
    for index, message in enumerate(messages):
        own = [(index, block) for block in blocks(message)]
        if found and found[-1].role == message["role"]:
            found[-1].blocks.extend(own)
            found[-1] = replace(found[-1], last=index)
        else:
            found.append(Turn(message["role"], index, index, own))
    return found


def ends_in_server_use(turn: Turn) -> bool:
    """Tell whether a turn of the assistant ends in a tool that the provider runs."""
    if turn.role != "assistant" or not turn.blocks:
        return False
    last = turn.blocks[-1][1]
    return is_server_use(last) or is_server_result(last)


def results_lead(found: Sequence[Message]) -> bool:
    """Tell whether tool results stand before everything else."""
    kinds = [block["type"] != RESULT for block in found]
    return kinds == sorted(kinds)


def is_thought(block: Message) -> bool:
    """Tell whether the block is the model's thinking."""
    return block["type"] in _THOUGHTS


def is_summary(block: Message) -> bool:
    """Tell whether the block is the provider's summary of what it compacted."""
    return kind_of(block) == "compaction"


def is_compacted(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a list begins with a compaction that was asked for, which is signed."""
    first = blocks(messages[0]) if messages else []
    return bool(first) and is_summary(first[0]) and bool(first[0].get("signature"))


def may_instruct(block: Message) -> bool:
    """Tell whether a block may stand in a system message: one that shows a file may not."""
    return kind_of(block) not in ("image", "document")


def is_signed(block: Message) -> bool:
    """Tell whether the block is no thinking, or has what proves it to be the model's."""
    field = _THOUGHTS.get(block["type"])
    proof = field is None or block.get(field)
    return field is None or (isinstance(proof, str) and bool(proof))


def thinking_leads(turn: Sequence[Message]) -> bool:
    """Tell whether a turn with calls and thinking begins with thinking; a compaction may lead."""
    kinds = {block["type"] for block in turn}
    if USE not in kinds or not kinds & _THOUGHTS.keys():
        return True
    return is_thought(next(block for block in turn if not is_summary(block)))


def open_loop(messages: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Find the assistant's turns in a tool loop that is not finished at the end of the list.

    Args:
        messages: Well-formed messages.

    Returns:
        The first and one past the last message of each turn, in order; nothing where the list does
        not end in tool results alone.
    """
    found: list[tuple[int, int]] = []
    spoken = [at for at, message in enumerate(messages) if message["role"] != "system"]
    if not spoken or not _answers_only(messages[spoken[-1]]):
        return found
    for index in reversed(spoken):
        if messages[index]["role"] == "assistant":
            if found and found[-1][0] == index + 1:
                found[-1] = (index, found[-1][1])
            else:
                found.append((index, index + 1))
        elif not _answers_only(messages[index]):
            break
    return found[::-1]


def _answers_only(message: Mapping[str, Any]) -> bool:
    found = blocks(message)
    return bool(found) and all(block["type"] == RESULT for block in found)


def server_orphans(messages: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Find the blocks of server tools that have no partner in their turn.

    Args:
        messages: Well-formed messages.

    Returns:
        The position of the message and that of the block in it, in order.
    """
    orphans: list[tuple[int, int]] = []
    pending: dict[str, tuple[int, int]] = {}
    for index, message in enumerate(messages):
        ours = message["role"] == "assistant"
        for place, block in enumerate(blocks(message)):
            if is_server_use(block):
                if ours and block["id"] not in pending:
                    pending[block["id"]] = (index, place)
                else:
                    orphans.append((index, place))
            elif is_server_result(block) and (
                not ours or pending.pop(block["tool_use_id"], None) is None
            ):
                orphans.append((index, place))
        if ours and not _goes_on(messages, index):
            orphans += pending.values()
            pending.clear()
    return sorted(orphans)


def _goes_on(messages: Sequence[Mapping[str, Any]], index: int) -> bool:
    """Tell whether the assistant's turn goes on behind this message, or may do so."""
    behind = index + 1
    while behind < len(messages) and messages[behind]["role"] == "system":
        behind += 1
    if behind == len(messages) or messages[behind]["role"] == "assistant":
        return True
    return bool(ids(messages[index], USE))


def last_text(message: Mapping[str, Any]) -> str:
    """Return the text that a message ends in, empty where it ends in something else."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return content[-1]["text"] if content and content[-1]["type"] == "text" else ""


def may_be_empty(messages: Sequence[Mapping[str, Any]], index: int) -> bool:
    """Tell whether a message is the assistant's last, of which the provider takes an empty one."""
    roles = [message["role"] for message in messages[max(index - 1, 0) : index + 2]]
    last = index + 1 == len(messages)
    return last and roles[-1] == "assistant" and roles[:-1] != ["assistant"]


def marks(message: Mapping[str, Any]) -> int:
    """Count the cache_control marks of a message, those on blocks of tool results included."""
    count = 0
    for block in blocks(message):
        count += is_marked(block)
        if block["type"] == RESULT and isinstance(block.get("content"), list):
            count += sum(map(is_marked, block["content"]))
    return count


def is_marked(block: Message) -> bool:
    """Tell whether the provider is to cache what ends in the block."""
    return block.get("cache_control") is not None


def stripped(message: Message) -> Message:
    """Return an assistant's message without white space at its end; the same object if none is."""
    if message["role"] != "assistant":
        return message
    text = last_text(message)
    if text == text.rstrip():
        return message
    content = message["content"]
    if isinstance(content, str):
        return message | {"content": text.rstrip()}
    return message | {"content": [*content[:-1], content[-1] | {"text": text.rstrip()}]}
