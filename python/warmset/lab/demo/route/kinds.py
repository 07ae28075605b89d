"""Why an item is of no use to a task: whose it is instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.lab.demo.route.needed import TASKS
from warmset.lab.demo.route.world import COMPANY, CONVERSATION, PIPELINE, SESSION, year_key

if TYPE_CHECKING:
    from warmset.items import MemoryItem
    from warmset.lab.demo.route.needed import Task


def kind_of(item: MemoryItem, task: str) -> str:
    """Return why an item that a task does not need is not for it.

    Args:
        item: The item.
        task: The name of the task.
    """
    match item.memory_type:
        case "document_chunk":
            kind = _chunk(item, TASKS[task])
        case "module_output" if item.pipeline != PIPELINE:
            kind = "another pipeline"
        case "conversation" | "user_context" if item.conversation != CONVERSATION:
            kind = "another conversation"
        case "conversation" | "user_context" if item.session_id not in (None, SESSION):
            kind = "another session"
        case _:
            kind = "another task"
    return kind


def _chunk(item: MemoryItem, task: Task) -> str:
    if COMPANY not in item.entities:
        return "another company"
    return "other sections" if item.keys[0] in map(year_key, task.years) else "another year"
