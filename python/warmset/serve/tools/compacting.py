"""`context_compact` and `context_restore`: make a list smaller, and get back what left it."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from warmset.compact import compact_context
from warmset.errors import InvalidInputError
from warmset.messages import DIALECTS, text_of
from warmset.serve.tools.bounds import integer, part_of, words
from warmset.serve.tools.quoting import MOST_NAME, at_of, joined, plainly, quotation, shown
from warmset.serve.tools.schemas import FROM_CHARACTER, NUMBER, TEXT, listed
from warmset.serve.tools.tool import LARGEST, Call, Tool, compact_json

if TYPE_CHECKING:
    from warmset.compact.keeper import Remembers
    from warmset.conversation import Conversation
    from warmset.ingest.turn import Turn
    from warmset.memory import Memory
    from warmset.messages import Dialect
    from warmset.serve.tools.desk import Desk

MOST_MESSAGES: Final = 100_000
"""The most messages that one call may compact."""

_LISTS: Final = ("messages", "turns", "dropped", "inserted")
"""What of a result may wait for the next page."""

_OBJECTS: Final[dict[str, Any]] = {"type": "array", "items": {"type": "object"}}
_MESSAGES: Final[dict[str, Any]] = {
    "type": "array",
    "items": {"type": "object"},
    "maxItems": MOST_MESSAGES,
    "description": "The list as the provider takes it: OpenAI Chat, OpenAI Responses, "
    "Anthropic or Gemini.",
}
_OF_MEMORY: Final[dict[str, Any]] = {
    "conversation": {
        "type": "string",
        "description": "A stored conversation, in place of messages.",
    },
    "cursor": {
        "type": "string",
        "description": "next_cursor of a result that was too large; alone.",
    },
}
_OPTIONS: Final[dict[str, Any]] = {
    "query": {
        "type": "string",
        "description": "The text to which the messages that stay should be similar.",
    },
    "target_ratio": {
        "type": "number",
        "minimum": 0.05,
        "maximum": 1,
        "default": 0.4,
        "description": "The share of the list's tokens that may stay.",
    },
    "budget": {
        "type": "integer",
        "minimum": 1,
        "maximum": LARGEST,
        "description": "The most tokens that the list may have; replaces the ratio.",
    },
    "distill_novel": {
        "type": "boolean",
        "default": False,
        "description": "Make memories of dropped messages that nothing else covers; needs a server "
        "with a memory.",
    },
    "dialect": {
        "type": "string",
        "enum": list(DIALECTS),
        "description": "The dialect of the messages; detected if not given.",
    },
}
_COMPACTED: Final[dict[str, Any]] = {
    "messages": _OBJECTS | {"description": "The messages that stay, unchanged and in order."},
    "turns": listed({"id": TEXT, "role": TEXT, "at": TEXT, "text": TEXT}, ())
    | {"description": "Of a stored conversation, the turns that stay, in place of messages."},
    "stats": {"type": "object", "description": "Tokens before and after, messages dropped."},
    "dropped": _OBJECTS
    | {
        "description": "For each message that left its position, score, the reason, and the handle "
        "for context_restore."
    },
    "inserted": _OBJECTS | {"description": "Placeholders between neighbours of one role."},
    "dialect": TEXT,
    "episode": {"type": ["integer", "null"], "description": "The id of the record of this run."},
    "next_cursor": {"type": "string", "description": "There is more: call with this as cursor."},
}


def compact_tool(desk: Desk) -> Tool:
    """Return the tool that compacts a list."""
    with_memory = desk.memory is not None
    kept = with_memory and not desk.read_only
    return Tool(
        name="context_compact",
        title="Compact a context",
        description="Keep the messages of a list with the highest scores within a budget, verbatim "
        "and in order; says of every other one why it left."
        + (" Messages that leave are kept, and each has a handle for context_restore." * kept)
        + (
            " Give the messages of a call, or the name of a stored conversation to read what "
            "matters of it for a query. Use it to make room, or to catch up on a long "
            "conversation; to look up single facts, memory_search costs less." * with_memory
        ),
        properties={
            "messages": _MESSAGES,
            **(_OF_MEMORY if with_memory else {}),
            **_OPTIONS,
        },
        required=() if with_memory else ("messages",),
        output=_COMPACTED,
        always=tuple(name for name in _COMPACTED if name not in ("next_cursor", "turns")),
        effect="write" if kept else "read",
        run=partial(_compact, desk),
        text=_said_of_compacted,
        older="compact_context",
    )


def restore_tool(desk: Desk) -> Tool:
    """Return the tool that gives a dropped message back."""
    return Tool(
        name="context_restore",
        title="Restore a dropped message",
        description="Give a message back that left a list, as it was, by its handle. Use it when a "
        "compaction dropped something that is needed after all.",
        properties={
            "handle": {
                "type": "string",
                "description": "The handle of a message that context_compact dropped.",
            },
            **({} if desk.limit is None else {"from_character": FROM_CHARACTER}),
        },
        required=("handle",),
        output={
            "message": {"type": "object", "description": "The message, unless it is too long."},
            "part": {"type": "string", "description": "A part of its JSON, if it is too long."},
            "characters": NUMBER | {"description": "Of its JSON."},
            "next_character": NUMBER | {"description": "The JSON goes on here."},
        },
        always=(),
        effect="read",
        run=partial(_restore, desk),
        text=_said_of_restored,
        older="restore",
    )


def _compact(desk: Desk, given: dict[str, Any], _call: Call) -> dict[str, Any]:
    sources = [name for name in ("messages", "conversation", "cursor") if name in given]
    if len(sources) != 1:
        known = "messages, conversation or cursor" if desk.memory else "messages"
        raise InvalidInputError(f"messages: give {known}, one of them")
    if "cursor" in given:
        if len(given) > 1:
            raise InvalidInputError("cursor: give it alone")
        return desk.pages.next(given["cursor"], desk.limit)
    _check(desk, given)
    options = {name: one for name, one in given.items() if name in _OPTIONS}
    memory = None if desk.memory is None else desk.open()
    holder: Remembers | None
    if "conversation" in given:
        talk = _talk(memory, given["conversation"])
        turns = talk.messages(limit=MOST_MESSAGES)
        messages: list[Any] = list(turns)
        if talk.dialect is not None:
            options.setdefault("dialect", talk.dialect)
        if desk.limit is not None and not options.keys() & {"budget", "target_ratio"}:
            options["budget"] = desk.limit
        holder = talk
    else:
        turns, messages = [], given["messages"]
        holder = (
            memory.conversation(desk.conversation)
            if memory is not None and desk.conversation is not None
            else memory
        )
    made = compact_context(
        messages,
        **options,
        memory=None if desk.read_only else holder,
        embedder=desk.embedder,
    )
    gone = set(made.dropped.ids)
    dialect = made.dialect
    whole: dict[str, Any] = {
        "messages": [] if turns else [dict(one) for one in made.messages],
        "turns": [_turn(one, dialect) for at, one in enumerate(turns) if at not in gone],
        "stats": made.stats.as_dict(),
        "dropped": [asdict(one) for one in made.dropped],
        "inserted": [asdict(one) for one in made.inserted],
        "dialect": made.dialect,
        "episode": made.episode,
    }
    if not turns:
        del whole["turns"]
    return desk.pages.first(whole, [one for one in _LISTS if one in whole], desk.limit)


def _turn(turn: Turn, dialect: Dialect) -> dict[str, Any]:
    return {
        "id": f"turn:{turn.id}",
        "role": str(turn.get("role") or turn.get("type") or "item"),
        "at": at_of(turn.at),
        "text": text_of(dict(turn), dialect),
    }


def _check(desk: Desk, given: dict[str, Any]) -> None:
    messages = given.get("messages", [])
    if not isinstance(messages, list):
        raise InvalidInputError("messages: expected a list of messages")
    if len(messages) > MOST_MESSAGES:
        raise InvalidInputError(
            f"messages: at most {MOST_MESSAGES} at once, found {len(messages)}; send the newest"
        )
    if given.get("distill_novel") is True and desk.memory is None:
        raise InvalidInputError(
            "distill_novel: this server has no memory; start it as warmset rpc --memory PATH"
        )
    if given.get("distill_novel") is True and desk.read_only:
        raise InvalidInputError("distill_novel: this server is read-only; leave it out")


def _talk(memory: Memory | None, name: object) -> Conversation:
    talk = cast("Memory", memory).conversation(words(name, "conversation", MOST_NAME))
    if not len(talk):
        raise InvalidInputError(
            "conversation: there is none with that name; list them with the tool conversations"
        )
    return talk


def _said_of_compacted(made: dict[str, Any]) -> str:
    """Write the messages that stay as text, and the handles of those that left."""
    stats, dialect = made["stats"], cast("Dialect", made["dialect"])
    pieces = [_quoted(one, dialect) for one in made["messages"]]
    pieces += [_quoted_turn(one) for one in made.get("turns", ())]
    gone = [
        f"#{one['id']}: {one['handle'] or 'no handle'}" for one in made["dropped"] if "id" in one
    ]
    more = made.get("next_cursor")
    return joined(
        f"{stats['before_tokens']} tokens became {stats['after_tokens']}; "
        f"{stats['dropped']} of {stats['messages']} messages left.",
        quotation(pieces),
        f"What left, by position, for context_restore: {'; '.join(gone)}." if gone else "",
        ""
        if more is None
        else f"There is more: call context_compact with the cursor {more} alone.",
    )


def _quoted(message: dict[str, Any], dialect: Dialect) -> str:
    if "beginning" in message:
        return _quoted_cut(message)
    role = message.get("role") or message.get("type") or "item"
    text = text_of(message, dialect).replace("\n", "\n  ")
    return plainly(f"[{role}] {text}\n")


def _quoted_turn(turn: dict[str, Any]) -> str:
    if "beginning" in turn:
        return _quoted_cut(turn)
    at = datetime.fromisoformat(turn["at"])
    return shown(turn["id"], None, turn["role"], at, turn["text"])


def _quoted_cut(element: dict[str, Any]) -> str:
    text = element["beginning"].replace("\n", "\n  ")
    return plainly(f"[cut, {element['characters']} characters of JSON] {text}\n")


def _restore(desk: Desk, given: dict[str, Any], _call: Call) -> dict[str, Any]:
    begin = integer(given.get("from_character", 0), "from_character", 0, LARGEST)
    message = dict(desk.open().restore(given["handle"]))
    text = compact_json(message)
    part = part_of(text, begin, None if desk.limit is None else desk.limit // 2)
    if not begin and part.next is None:
        return {"message": message}
    made: dict[str, Any] = {"part": part.text, "characters": len(text)}
    if part.next is not None:
        made["next_character"] = part.next
    return made


def _said_of_restored(made: dict[str, Any]) -> str:
    whole = "message" in made
    text = json.dumps(made["message"], ensure_ascii=False) if whole else made["part"]
    begun = plainly(text) + "\n"
    rest = made.get("next_character")
    return joined(
        quotation([begun]),
        "" if rest is None else f"It goes on: call again with from_character {rest}.",
    )
