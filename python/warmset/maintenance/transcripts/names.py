"""Names that files give, as a store takes them: whatever a file has can be stored.

A name that is too long, or no text of UTF-8, has its digest instead: it is the same the next time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from warmset.ingest.keys import key_for

if TYPE_CHECKING:
    from warmset.maintenance.transcripts.item import Item

_KIND: Final = 128
"""The most characters of a kind."""


def fitting(item: Item) -> Item:
    """Return an item with names that a store takes: itself, if it has such ones."""
    kind = item.kind[:_KIND].encode("utf-8", "replace").decode()
    side_of, root, agent = (
        None if name is None else key_for(name) for name in (item.side_of, item.root, item.agent)
    )
    before = f"{item.side_of}/"
    if item.side_of is not None and item.conversation.startswith(before):
        conversation = f"{side_of}/{key_for(item.conversation.removeprefix(before))}"
    else:
        conversation = key_for(item.conversation)
    found = (kind, conversation, side_of, root, agent)
    if found == (item.kind, item.conversation, item.side_of, item.root, item.agent):
        return item
    return replace(
        item, kind=kind, conversation=conversation, side_of=side_of, root=root, agent=agent
    )
