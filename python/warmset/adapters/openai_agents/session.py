"""`WarmsetSession`: the history of a session of the OpenAI Agents SDK, in a log."""

from __future__ import annotations

from itertools import dropwhile
from typing import TYPE_CHECKING, Any

from warmset.adapters.lanes import changing, reading
from warmset.adapters.openai_agents.framework import SessionABC, settings_of, snapshot
from warmset.adapters.openai_agents.items import newest, read, read_all, rows, without_last
from warmset.adapters.place import PAGE, Delete, Place
from warmset.errors import Conflict, InvalidInputError
from warmset.native import Cut, RemoveEntries, Tail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from warmset._core import Entry
    from warmset.adapters.openai_agents.framework import SessionSettings
    from warmset.native import Log
    from warmset.store.rows import Row


class WarmsetSession(SessionABC):
    """A session whose items lie in a log: durable, shared by processes, encrypted if the store is.

    Items come back equal to the JSON of what was added. Any number of sessions share one log. No
    call blocks the event loop on a lock or a disk; one that changes something and is cancelled
    meanwhile ends when it is done.

    Args:
        session_id: The session's name.
        log: The log; make one for each store and share it.
        tenant: Whose session it is: two tenants may use the same name.
        session_settings: The SDK's settings, or a mapping of them; `limit` is how many items
            `get_items` returns if it is not told.
        delete: What `pop_item`, `clear_session` and compaction do with what goes: "remove" it, or
            "erase" bytes and encryption key before they return. See `warmset.adapters.place`.

    Raises:
        MissingExtraError: openai-agents is not installed.
        InvalidInputError: An argument is none of these.
        TypeError: The settings have a field that the SDK does not know.
    """

    def __init__(
        self,
        session_id: str,
        log: Log,
        *,
        tenant: str = "default",
        session_settings: SessionSettings | Mapping[str, Any] | None = None,
        delete: Delete = "remove",
    ) -> None:
        if not isinstance(session_id, str):
            raise InvalidInputError(f"session_id: expected a name, found {session_id!r}")
        self.session_id = session_id
        self.session_settings = settings_of(session_settings)
        self._place = Place(log, "openai-agents", tenant, delete)
        self._list = self._place.key(session_id)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the items of the session, oldest first.

        Args:
            limit: How many of the newest ones; None for what the settings say, else for all.
        """
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is None or limit < 0:
            return await reading(self._all)
        return await reading(self._newest, limit)

    async def add_items(self, items: list[Any]) -> None:
        """Add items at the end, all of them or none.

        Raises:
            TypeError: An item is not what JSON can hold.
        """
        if items:
            await changing(self._add, items)

    async def pop_item(self) -> Any | None:
        """Take back the newest item and return it; None if there is none."""
        return await changing(self._pop)

    async def clear_session(self) -> None:
        """Delete all items of the session."""
        await changing(self._place.drop, self._list)

    async def _atomic_replace_items(self, items: list[Any]) -> bool:
        """Replace the history in one batch: what a compaction of the SDK asks for."""
        if type(self) is not WarmsetSession:  # a subclass may change what is added or read
            return False
        await changing(self._replace, items)
        return True

    async def _get_compaction_snapshot(
        self, limit: int, *, prune_prefix: Callable[[Any], bool] | None = None
    ) -> Any | None:
        """Return the newest items for the SDK's compaction, with what replaces an end of them.

        Args:
            limit: The most items.
            prune_prefix: Which of the oldest items go when others are replaced. An entry of
                several items goes once all of them may.
        """
        if type(self) is not WarmsetSession:
            return None
        held, complete = await reading(newest, self._place.log, self._list, limit)
        items = [item for _, several in held for item in several]
        spare = max(0, len(items) - limit)

        async def replace(start: int, output: list[Any]) -> bool:
            at = spare + start
            return await changing(self._replace_end, held, at, output, prune_prefix)

        return snapshot(items[spare:], complete=complete and not spare, replace=replace)

    def _all(self) -> list[Any]:
        return read_all(self._place.entries(self._list))

    def _newest(self, count: int) -> list[Any]:
        if not count:
            return []
        held, _ = newest(self._place.log, self._list, count)
        return [item for _, items in held for item in items][-count:]

    def _add(self, items: list[Any]) -> None:
        self._place.write(rows(self._list, items))

    def _pop(self) -> Any | None:
        while True:
            held = self._place.log.entries(self._list, limit=1, reverse=True)
            if not held:
                return None
            item, others = without_last(self._list, held[0])
            try:
                self._place.drop_tail(self._list, held[0], others)
            except Conflict:
                continue
            return item

    def _replace(self, items: list[Any]) -> None:
        erased = self._place.delete == "erase"
        gone = [entry.id for entry in self._place.entries(self._list)] if erased else []
        self._place.write([Cut(self._list, after=0), *rows(self._list, items)])
        self._place.wipe(gone)

    def _replace_end(
        self,
        held: list[tuple[Entry, list[Any]]],
        start: int,
        output: list[Any],
        prune: Callable[[Any], bool] | None,
    ) -> bool:
        """Replace the items from a position on, unless the session changed since they were read."""
        for at, (entry, items) in enumerate(held):
            if start >= len(items):
                start -= len(items)
                continue
            gone, kept = self._pruned(entry, items[:start], prune)
            changes: list[Row] = [
                Cut(self._list, after=entry.parent),
                *rows(self._list, [*kept, *output]),
                RemoveEntries(self._list, gone),
            ]
            try:
                self._place.write(changes, expect=[Tail(self._list, held[-1][0].id)])
            except Conflict:
                return False
            self._place.wipe([*gone, *(entry.id for entry, _ in held[at:])])
            return True
        return False

    def _pruned(
        self, end: Entry, before: list[Any], prune: Callable[[Any], bool] | None
    ) -> tuple[list[int], list[Any]]:
        """Return the first entries of which every item may go, and what stays of an entry's items.

        Args:
            end: The entry at which the part that is replaced begins.
            before: Its items before that part.
            prune: Which items may go.
        """
        gone: list[int] = []
        if prune is None:
            return gone, before
        while page := self._place.log.entries(
            self._list, after=max(gone, default=None), limit=PAGE
        ):
            for entry in page:
                if entry.id >= end.id:
                    return gone, list(dropwhile(prune, before))
                if not all(map(prune, read(entry))):
                    return gone, before
                gone.append(entry.id)
        return gone, before
