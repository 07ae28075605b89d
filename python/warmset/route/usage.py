"""When items last stood in a payload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.route.records import Recorder

if TYPE_CHECKING:
    from datetime import datetime

    from warmset.route.router import Routed


def used(memory: Routed) -> dict[str, datetime]:
    """Return when each item last stood in a payload, as far as there are records of it.

    Args:
        memory: The open memory.

    Returns:
        The times by name, without items that are not there any more.

    Raises:
        NewerFormat: A record has another format.
        StoreError: The records could not be read.
    """
    sources = memory.items.sources
    found = Recorder(sources, None).used()
    shelf = sources.shelf()
    return {
        name: at
        for name, at in found.items()
        if shelf.named(name) is not None or sources.existing.get(name) is not None
    }
