"""`memory_remember` and `memory_forget`, and the tools that change a memory."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from warmset.compact.distil import MEMORY_TYPES, MOST_TEXT
from warmset.errors import InvalidInputError, NotFound
from warmset.receipts import Spooled
from warmset.serve.tools.bounds import one_of, words
from warmset.serve.tools.quoting import MOST_NAME, plainly
from warmset.serve.tools.schemas import FLAG, NUMBER, TEXT, ids
from warmset.serve.tools.searching import item_of, names_in
from warmset.serve.tools.tool import Call, Tool

if TYPE_CHECKING:
    from warmset.items.item import MemoryItem
    from warmset.memory import Memory
    from warmset.serve.tools.desk import Desk

_EVERY: Final = 1 << 31
"""More memories than there are."""

_ID: Final[dict[str, Any]] = {"type": "string", "description": "Of a memory, as memory:34."}
_DONE: Final[dict[str, Any]] = {"id": TEXT, "pinned": FLAG}


def remember_tool(desk: Desk) -> Tool:
    """Return the tool that stores a memory."""
    return Tool(
        name="memory_remember",
        title="Remember",
        description="Store one short fact that should outlive this conversation: a decision and "
        "its reason, a preference, a correction, a habit, what was tried and failed. Write it so "
        "that it is understood without this conversation, with names, numbers and dates. One fact "
        "a call. A fact that is stored already is not stored again. Never store passwords, keys or "
        "what the user asked to keep private.",
        properties={
            "text": {
                "type": "string",
                "maxLength": MOST_TEXT,
                "description": f"The fact, at most {MOST_TEXT} characters.",
            },
            "memory_type": {
                "type": "string",
                "enum": list(MEMORY_TYPES),
                "default": "fact",
                "description": "What kind of fact it is.",
            },
            "conversation": {
                "type": "string",
                "description": "The conversation that it belongs to and is erased with; left out, "
                "all conversations share it.",
            },
        },
        required=("text",),
        output={
            "id": {"type": "string", "description": "For memory_fetch and memory_forget."},
            "stored": {
                "type": "string",
                "enum": ["stored", "waiting"],
                "description": '"waiting": safe on disk, and found once another process is done.',
            },
        },
        always=("stored",),
        effect="write",
        run=partial(_remember, desk),
        text=_said_of_remembered,
    )


def forget_tool(desk: Desk) -> Tool:
    """Return the tool that erases turns and memories."""
    return Tool(
        name="memory_forget",
        title="Forget",
        description="Erase memories or single turns for good, with everything that was made of "
        "them; this cannot be undone. Use it only if the user asks to forget something, or to "
        "remove a memory that turned out to be wrong. Give the ids that a search shows.",
        properties={
            "ids": ids(". If one does not exist, nothing is erased."),
        },
        required=("ids",),
        output={
            "records": NUMBER | {"description": "Erased records."},
            "derived": NUMBER | {"description": "Erased records that were made of them."},
        },
        always=("records", "derived"),
        effect="erase",
        run=partial(_forget, desk),
        text=lambda made: f"Erased {made['records']} records, and {made['derived']} made of them.",
    )


def revise_tool(desk: Desk) -> Tool:
    """Return the tool that replaces the text of a memory."""
    return Tool(
        name="revise",
        title="Revise a memory",
        description="Replace the text of a memory; the old text is erased.",
        properties={
            "id": _ID,
            "text": {"type": "string", "maxLength": MOST_TEXT, "description": "The new text."},
        },
        required=("id", "text"),
        output={"id": TEXT},
        always=("id",),
        effect="erase",
        run=partial(_revise, desk),
        text=lambda made: plainly(f"Revised; it is {made['id']} now."),
    )


def pin_tools(desk: Desk) -> list[Tool]:
    """Return the tools that pin a memory, and take the pin off."""
    return [
        Tool(
            name=name,
            title=title,
            description=said,
            properties={"id": _ID},
            required=("id",),
            output=_DONE,
            always=("id", "pinned"),
            effect="write",
            run=partial(_pin, desk, pinned),
            text=lambda made: plainly(
                f"{made['id']} is {'' if made['pinned'] else 'not '}pinned now."
            ),
        )
        for name, title, pinned, said in (
            (
                "pin",
                "Pin a memory",
                True,
                (
                    "Have every window show a memory. Only what the user or the application stored "
                    "can be pinned, not what a model remembered."
                ),
            ),
            (
                "unpin",
                "Take a pin off",
                False,
                "Take the pin off a memory, so that it is shown where it matters alone.",
            ),
        )
    ]


def _remember(desk: Desk, given: dict[str, Any], _call: Call) -> dict[str, Any]:
    text = words(given["text"], "text", MOST_TEXT)
    kind = one_of(given.get("memory_type", "fact"), "memory_type", MEMORY_TYPES)
    memory = desk.open()
    conversation = given.get("conversation")
    if conversation is not None:
        conversation = words(conversation, "conversation", MOST_NAME)
    made = memory.remember(
        text,
        memory_type=kind,  # type: ignore[arg-type]  # one of them
        conversation=conversation,
        origin="assistant",
    )
    if isinstance(made, Spooled):
        return {"stored": "waiting"}
    return {"id": _name_of(memory, made), "stored": "stored"}


def _name_of(memory: Memory, id_: int) -> str:
    """Return the name of a memory: its own, if it was given one."""
    try:
        return memory.items.get(f"memory:{id_}").memory_id
    except NotFound:
        every = memory.memories(k=_EVERY)
        return next((one.memory_id for one in every if one.id == id_), f"memory:{id_}")


def _said_of_remembered(made: dict[str, Any]) -> str:
    if made["stored"] == "waiting":
        return "Stored; another process is writing, so it is found a little later."
    return plainly(f"Remembered as {made['id']}.")


def _forget(desk: Desk, given: dict[str, Any], _call: Call) -> dict[str, Any]:
    names = names_in(given["ids"])
    memory = desk.open()
    there = [item_of(memory, name).memory_id for name in names]
    gone = memory.items.erase(*dict.fromkeys(there))
    desk.pages.clear()
    return {"records": gone.records, "derived": gone.derived}


def _revise(desk: Desk, given: dict[str, Any], _call: Call) -> dict[str, Any]:
    text = words(given["text"], "text", MOST_TEXT)
    memory = desk.open()
    item = _memory_item(memory, given["id"])
    new = memory.revise(item.id, text)
    desk.pages.clear()
    return {"id": _name_of(memory, new)}


def _pin(desk: Desk, pinned: bool, given: dict[str, Any], _call: Call) -> dict[str, Any]:  # noqa: FBT001
    memory = desk.open()
    item = _memory_item(memory, given["id"])
    (memory.pin if pinned else memory.unpin)(item.memory_id)
    return {"id": item.memory_id, "pinned": pinned}


def _memory_item(memory: Memory, given: object) -> MemoryItem:
    [name] = names_in([given])
    item = item_of(memory, name)
    if item.memory_type not in MEMORY_TYPES:
        raise InvalidInputError("id: it is no memory; give one as memory:34")
    return item
