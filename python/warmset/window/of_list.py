"""The window of a whole list, where others may store another list of the conversation meanwhile.

A window is built in several steps, and some of them wait: for a search, a model, a file. In
between another thread or process may make the conversation end otherwise, with its own list or with
a reply. Such a window is none of the list that was given, so it is built again. Threads of one
process take turns; processes, and whoever appends a reply, are only noticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from warmset import ingest
from warmset.errors import ConversationBusy
from warmset.window.result import with_synced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from warmset.engine.engine import Engine
    from warmset.engine.handle import Handle
    from warmset.messages import MessageLike
    from warmset.state.branches import PathMark
    from warmset.state.ledger import Ledger
    from warmset.window.result import Window

TRIES: Final = 32
"""How often a window is built because its conversation changed meanwhile."""


def window_of_list(
    handle: Handle,
    conversation: str,
    messages: Sequence[MessageLike],
    at: datetime | float | str | None,
    expect: Callable[[], None],
    build: Callable[[], Window],
) -> Window:
    """Store a list, and build the window for it; see `Memory.process`.

    Args:
        handle: The open store.
        conversation: The conversation's name.
        messages: The list.
        at: The time of its new messages.
        expect: Called before the list is stored.
        build: Builds the window of the conversation as it is then.

    Raises:
        ConversationBusy: The conversation changed each time.
    """
    given = list(messages) if isinstance(messages, Iterator) else messages
    beside = ingest.Beside(at, None, None, None)
    stored: ingest.Synced | None = None
    with _found(handle, conversation)[1].turn:
        for _ in range(TRIES):
            expect()
            live = _found(handle, conversation)
            synced, mark = ingest.sync_messages(*live, given, beside, handle.redactor)
            stored = stored or synced
            try:
                made = build()
            except Exception:
                if _stands(handle, conversation, mark):
                    raise
                continue  # half of it was of another list
            if _stands(handle, conversation, mark):
                return with_synced(made, stored)
    raise ConversationBusy(conversation, TRIES)


def _found(handle: Handle, conversation: str) -> tuple[Engine, Ledger]:
    engine = handle.live()
    return engine, engine.ledger(handle.tenant, conversation)


def _stands(handle: Handle, conversation: str, mark: PathMark) -> bool:
    """Return whether the conversation is still the list that was stored."""
    with handle.engine.lock:
        return handle.engine.ledger(handle.tenant, conversation).history.stands(mark)
