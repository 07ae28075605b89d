"""System messages of a broken Anthropic list, put where the provider takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.messages.anthropic import walk
from warmset.messages.mending import Change

if TYPE_CHECKING:
    from warmset.messages.anthropic.pairing import Entry


def without_systems(entries: list[Entry], changes: list[Change], rule: str = "A9") -> list[Entry]:
    """Write every system message as the user's, for a model that takes none."""
    made: list[Entry] = []
    for index, message in entries:
        if message["role"] == "system":
            changes.append(Change(rule, index, "a system message became the user's"))
            made.append((index, message | {"role": "user"}))
        else:
            made.append((index, message))
    return made


def in_place(entries: list[Entry], changes: list[Change]) -> list[Entry]:
    """Put every system message behind what the user says next (A10).

    Args:
        entries: Well-formed messages.
        changes: Where to write down what was changed.

    Returns:
        The messages; a system message behind which the user says nothing any more is the user's.
    """
    made: list[Entry] = []
    waiting: list[tuple[int, Entry]] = []  # each with how many messages stood before it
    for entry in entries:
        role = entry[1]["role"]
        if role == "system":
            if not waiting and made and walk.ends_in_server_use(walk.turns([made[-1][1]])[0]):
                made.append(entry)
            else:
                waiting.append((len(made), entry))
            continue
        if role == "assistant" and made and made[-1][1]["role"] != "assistant":
            made += _placed(waiting, len(made), changes)
            waiting = []
        made.append(entry)
    if made and made[-1][1]["role"] != "assistant":
        return [*made, *_placed(waiting, len(made), changes)]
    return made + without_systems([entry for _, entry in waiting], changes, "A10")


def _placed(waiting: list[tuple[int, Entry]], at: int, changes: list[Change]) -> list[Entry]:
    changes += [
        Change("A10", index, "a system message was put behind what the user says")
        for before, (index, _) in waiting
        if before != at
    ]
    return [entry for _, entry in waiting]
