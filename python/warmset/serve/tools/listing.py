"""The tools that show what is there: status, conversations, turns, memories, compactions."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from warmset import messages
from warmset.compact.distil import MEMORY_TYPES
from warmset.errors import InvalidInputError
from warmset.serve.tools.bounds import Room, integer, one_of, shortened, words
from warmset.serve.tools.quoting import (
    MOST_NAME,
    at_of,
    conversation_uri,
    head_of,
    joined,
    plainly,
    quotation,
    shown,
    uri_of,
)
from warmset.serve.tools.schemas import (
    CONVERSATION,
    FLAG,
    NEXT_OFFSET,
    NUMBER,
    OFFSET,
    TEXT,
    limit,
    listed,
)
from warmset.serve.tools.tool import Call, Tool, compact_json
from warmset.text.decisions import summarise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.items.item import MemoryItem
    from warmset.serve.tools.desk import Desk

MOST: Final = 100
"""The most elements of a page."""

_SOME: Final = 20
_FARTHEST: Final = 2**31
_NEWEST: Final = 5

_CONVERSATION: Final[dict[str, Any]] = {
    "name": TEXT,
    "uri": TEXT,
    "turns": NUMBER,
}
_TURN: Final[dict[str, Any]] = {
    "id": TEXT,
    "uri": TEXT,
    "role": TEXT,
    "speaker": TEXT,
    "at": TEXT,
    "summary": TEXT,
}
_MEMORY: Final[dict[str, Any]] = {
    "id": TEXT,
    "uri": TEXT,
    "type": TEXT,
    "conversation": TEXT,
    "origin": TEXT,
    "at": TEXT,
    "pinned": FLAG,
    "text": TEXT,
}
_EPISODE: Final[dict[str, Any]] = {
    "id": NUMBER,
    "at": TEXT,
    "conversation": TEXT,
    "what": TEXT,
    "figures": {"type": "object"},
}


def status_tool(desk: Desk, version: str) -> Tool:
    """Return the tool that says what the memory has and how it works."""
    return Tool(
        name="context_status",
        title="Status of the memory",
        description="What the memory has and how it works now: conversations, turns, memories, "
        "whether searches go by meaning or by words alone, whether it can be written. Use it to "
        "learn the names of conversations, or when another tool of this server failed.",
        properties={},
        output={
            "version": TEXT,
            "tenant": {"type": "string", "description": "Whose memory this is."},
            "read_only": FLAG,
            "conversations": NUMBER,
            "turns": NUMBER,
            "memories": NUMBER,
            "embedder": {"type": "string", "description": '"lexical": by words alone.'},
            "pending": NUMBER | {"description": "Turns that are found by their words only, yet."},
            "failed": {"type": "object", "description": "Turns without a vector, and why."},
            "damaged": NUMBER | {"description": "Damaged places of the store."},
            "newest": {
                "type": "array",
                "items": TEXT,
                "description": "The conversations that began last.",
            },
        },
        always=(
            *("version", "tenant", "read_only", "conversations", "turns", "memories"),
            *("embedder", "pending", "failed", "damaged", "newest"),
        ),
        effect="read",
        run=partial(_status, desk, version),
        text=_said_of_status,
    )


def conversations_tool(desk: Desk) -> Tool:
    """Return the tool that lists conversations."""
    return Tool(
        name="conversations",
        title="List conversations",
        description="List the stored conversations, the one that began last first.",
        properties={"limit": limit(_SOME, MOST), "offset": OFFSET},
        output={
            "conversations": listed(_CONVERSATION, ("name", "turns")),
            "total": NUMBER,
            "next_offset": NEXT_OFFSET,
        },
        always=("conversations", "total"),
        effect="read",
        run=partial(_conversations, desk),
        text=lambda made: joined(
            plainly(
                "".join(f"{one['name']}: {one['turns']} turns\n" for one in made["conversations"])
            )
            or "There are none.",
            _more(made),
        ),
    )


def turns_tool(desk: Desk) -> Tool:
    """Return the tool that reads a conversation backwards."""
    return Tool(
        name="turns",
        title="List turns of a conversation",
        description="List the newest turns of a conversation, in order, one line each; `before` "
        "goes back from there.",
        properties={
            "conversation": {"type": "string", "description": "Its name."},
            "limit": limit(_SOME, MOST),
            "before": {
                "type": "integer",
                "minimum": 0,
                "description": "Only turns before this one: next_before of the page before.",
            },
        },
        required=("conversation",),
        output={
            "turns": listed(_TURN, ("id", "role", "at", "summary")),
            "next_before": NUMBER | {"description": "There are older ones: call with this."},
        },
        always=("turns",),
        effect="read",
        run=partial(_turns, desk),
        text=_said_of_turns,
    )


def memories_tool(desk: Desk) -> Tool:
    """Return the tool that lists memories."""
    return Tool(
        name="memories",
        title="List memories",
        description="List what was remembered, the newest first.",
        properties={
            "limit": limit(_SOME, MOST),
            "offset": OFFSET,
            "memory_type": {"type": "string", "enum": list(MEMORY_TYPES)},
            "conversation": CONVERSATION,
        },
        output={
            "memories": listed(_MEMORY, ("id", "type", "at", "text")),
            "next_offset": NEXT_OFFSET,
        },
        always=("memories",),
        effect="read",
        run=partial(_memories, desk),
        text=lambda made: joined(
            quotation(_memory_line(one) for one in made["memories"]) or "There are none.",
            _more(made),
        ),
    )


def episodes_tool(desk: Desk) -> Tool:
    """Return the tool that lists compactions."""
    return Tool(
        name="episodes",
        title="List compactions",
        description="List past compactions and prepared summaries with their figures, the newest "
        "first.",
        properties={"limit": limit(_SOME, MOST), "offset": OFFSET, "conversation": CONVERSATION},
        output={
            "episodes": listed(_EPISODE, ("id", "at", "what", "figures")),
            "next_offset": NEXT_OFFSET,
        },
        always=("episodes",),
        effect="read",
        run=partial(_episodes, desk),
        text=lambda made: plainly(compact_json(made)),
    )


def _status(desk: Desk, version: str, _given: dict[str, Any], _call: Call) -> dict[str, Any]:
    memory = desk.open()
    stats, names = memory.stats(), memory.conversations()
    room = Room(None if desk.limit is None else desk.limit // 2)
    newest = [one for one in reversed(names[-_NEWEST:]) if room.take(compact_json(one))]
    return {
        "version": version,
        "tenant": memory.tenant,
        "read_only": desk.read_only,
        "conversations": stats["conversations"],
        "turns": stats["messages"],
        "memories": len(memory.memories(k=_FARTHEST)),
        "embedder": stats["embedder"],
        "pending": stats["pending"],
        "failed": dict(list(stats["failed"].items())[:_NEWEST]),
        "damaged": len(stats["damaged"]),
        "newest": newest,
    }


def _said_of_status(made: dict[str, Any]) -> str:
    way = "by words alone" if made["embedder"] == "lexical" else "by words and meaning"
    wrong = f" {made['damaged']} places are damaged: run warmset doctor." if made["damaged"] else ""
    return plainly(
        f"{made['turns']} turns of {made['conversations']} conversations and {made['memories']} "
        f"memories of {made['tenant']}; found {way}"
        f"{'; read-only' if made['read_only'] else ''}.{wrong}\n"
        f"Newest conversations: {', '.join(made['newest']) or 'none'}."
    )


def _page(
    desk: Desk,
    given: dict[str, Any],
    every: Callable[[int], Sequence[Any]],
    shown_as: Callable[[Any], tuple[dict[str, Any], str]],
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return the elements of a page, and where the next one begins.

    Args:
        desk: Where the tool works.
        given: The arguments.
        every: Returns all elements, up to a number of them.
        shown_as: Writes an element, as JSON and as text.
    """
    most = integer(given.get("limit", _SOME), "limit", 1, MOST)
    offset = integer(given.get("offset", 0), "offset", 0, _FARTHEST)
    there = every(offset + most + 1)
    room, made = Room(desk.limit), list[dict[str, Any]]()
    for one in there[offset : offset + most]:
        element, text = shown_as(one)
        if not room.take(compact_json(element), text):
            if not made:
                made.append(shortened(element))
            break
        made.append(element)
    reached = offset + len(made)
    return made, {"next_offset": reached} if reached < len(there) else {}


def _more(made: dict[str, Any]) -> str:
    at = made.get("next_offset")
    return "" if at is None else f"There are more: call again with offset {at}."


def _conversations(desk: Desk, given: dict[str, Any], _call: Call) -> dict[str, Any]:
    memory = desk.open()
    names = memory.conversations()[::-1]

    def as_shown(name: str) -> tuple[dict[str, Any], str]:
        turns = len(memory.conversation(name))
        element = {"name": name, "uri": conversation_uri(name), "turns": turns}
        return element, f"{name}: {turns} turns"

    made, more = _page(desk, given, lambda _most: names, as_shown)
    return {"conversations": made, "total": len(names), **more}


def _turns(desk: Desk, given: dict[str, Any], _call: Call) -> dict[str, Any]:
    name = words(given["conversation"], "conversation", MOST_NAME)
    most = integer(given.get("limit", _SOME), "limit", 1, MOST)
    before = given.get("before")
    if before is not None:
        before = integer(before, "before", 0, 2**53 - 1)
    talk = desk.open().conversation(name)
    dialect = talk.dialect or "openai"
    if not len(talk):
        raise InvalidInputError(
            "conversation: there is none with that name; list them with the tool conversations"
        )
    found = talk.messages(limit=most + 1, before=before)
    room, made = Room(desk.limit), list[dict[str, Any]]()
    for turn in reversed(found[-most:]):
        element: dict[str, Any] = {
            "id": f"turn:{turn.id}",
            "uri": uri_of(f"turn:{turn.id}"),
            "role": str(turn.get("role") or turn.get("type") or "item"),
            "at": at_of(turn.at),
            "summary": summarise(messages.text_of(dict(turn), dialect)),
        }
        if turn.speaker is not None:
            element["speaker"] = turn.speaker
        line = shown(element["id"], None, element["role"], turn.at, element["summary"])
        if not room.take(compact_json(element), line):
            if not made:
                made.append(shortened(element))
            break
        made.append(element)
    rest = len(found) - len(made)
    older = {"next_before": found[rest].id} if rest and made else {}
    return {"turns": made[::-1], **older}


def _said_of_turns(made: dict[str, Any]) -> str:
    lines = [
        shown(
            one["id"],
            None,
            f"{one['speaker']} ({one['role']})" if "speaker" in one else one["role"],
            datetime.fromisoformat(one["at"]),
            " ".join(one["summary"].split()),
        )
        for one in made["turns"]
    ]
    at = made.get("next_before")
    return joined(
        quotation(lines) or "There are none.",
        "" if at is None else f"There are older ones: call again with before {at}.",
    )


def _memories(desk: Desk, given: dict[str, Any], _call: Call) -> dict[str, Any]:
    kind = given.get("memory_type")
    if kind is not None:
        one_of(kind, "memory_type", MEMORY_TYPES)
    memory = desk.open()

    def as_shown(item: MemoryItem) -> tuple[dict[str, Any], str]:
        element = head_of(item) | {"pinned": item.pinned, "text": item.text}
        return element, _memory_line(element)

    def every(most: int) -> list[MemoryItem]:
        name = given.get("conversation")
        return memory.memories(k=most, memory_type=kind, conversation=name)

    made, more = _page(desk, given, every, as_shown)
    return {"memories": made, **more}


def _memory_line(one: dict[str, Any]) -> str:
    at = datetime.fromisoformat(one["at"])
    return shown(one["id"], one.get("conversation"), one.get("origin"), at, one["text"])


def _episodes(desk: Desk, given: dict[str, Any], _call: Call) -> dict[str, Any]:
    found = desk.open().episodes(conversation=given.get("conversation"))[::-1]

    def as_shown(one: Any) -> tuple[dict[str, Any], str]:
        element = {"id": one.id, "at": at_of(one.at), "what": one.what, "figures": one.figures}
        if one.conversation is not None:
            element["conversation"] = one.conversation
        return element, compact_json(element)

    made, more = _page(desk, given, lambda _most: found, as_shown)
    return {"episodes": made, **more}
