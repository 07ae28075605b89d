"""Reasoning that leaves a broken Responses list, and what was made with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from warmset.messages.mending import Change
from warmset.messages.model import Message
from warmset.messages.responses.grammar import facts
from warmset.messages.responses.kinds import PROVIDED, REASONING, REFERENCE, item_id, item_kind
from warmset.messages.responses.rules import dangling
from warmset.messages.units import Bonds

if TYPE_CHECKING:
    from collections.abc import Sequence

Placed: TypeAlias = list[tuple[int, Message]]
"""Items that stay, each with its position in the list that was given."""


def without_dangling(kept: Placed, changes: list[Change]) -> Placed:
    """Leave out reasoning that nothing follows which the model made of it (R3)."""
    lost = set(dangling([item for _, item in kept]))
    changes += [Change("R3", kept[at][0], "the reasoning led to nothing and left") for at in lost]
    return [entry for at, entry in enumerate(kept) if at not in lost]


def nameless_without(given: list[Message], kept: Placed, changes: list[Change]) -> Placed:
    """Take the ids from items whose reasoning left: with them the provider asks for it (R3).

    Args:
        given: The list that was given.
        kept: What stays of it.
        changes: Where to write down what was changed.

    Returns:
        The items; one of a tool that the provider ran, which cannot do without its id, leaves.
    """
    stays = {index for index, item in kept if item_kind(item) == REASONING}
    orphans = {
        index for index, leads in made_with(given).items() if leads and stays.isdisjoint(leads)
    }
    named: Placed = []
    for index, item in kept:
        if index not in orphans or item_id(item) is None or item_kind(item) == REFERENCE:
            named.append((index, item))
        elif item_kind(item) in PROVIDED:
            changes.append(Change("R3", index, "the item left: its reasoning is not in the list"))
        else:
            changes.append(Change("R3", index, "the id left: its reasoning is not in the list"))
            named.append((index, nameless(item)))
    return named


def nameless(item: Message) -> Message:
    """Return an item without its own id."""
    return {key: value for key, value in item.items() if key != "id"}


def made_with(given: Sequence[Message]) -> dict[int, set[int]]:
    """Return the positions of the reasoning that each item was made with, as far as it shows."""
    made: dict[int, set[int]] = {}
    bonds = Bonds()
    for index, item in enumerate(given):
        near = bonds.of(index, facts(item))
        if item_kind(item) == REASONING:
            made[index] = {index}
        else:
            made[index] = set[int]().union(*(made[other] for other in near))
    return made
