"""`WarmsetSessionStore`: the transcripts of the Claude Agent SDK's sessions, in a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.adapters.as_json import all_loaded, dumped, loaded
from warmset.adapters.claude_agent_sdk.framework import SessionStore, fold_session_summary
from warmset.adapters.lanes import changing, reading
from warmset.adapters.place import PAGE, Delete, Place
from warmset.errors import Conflict, InvalidInputError
from warmset.native import Add, Put, Version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset._core import Cell
    from warmset.adapters.claude_agent_sdk.framework import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
    )
    from warmset.native import Log
    from warmset.store.rows import Key


class WarmsetSessionStore(SessionStore):
    """A session store in a log: durable, shared by processes, encrypted if the log's store is.

    An entry with a `uuid` is kept once, however often it is appended. A session's summary is
    written in the same batch as the entries that it tells of, so that no crash and no other process
    comes between them. A session has an encryption key of its own.

    Args:
        log: The log; make one for each store and share it.
        tenant: Whose sessions these are: two tenants may use the same names.
        delete: What `delete` does: "remove" a session, or "erase" bytes and encryption key before
            it returns. See `warmset.adapters.place`.

    Raises:
        MissingExtraError: claude-agent-sdk is not installed.
        InvalidInputError: An argument is none of these.
    """

    def __init__(self, log: Log, *, tenant: str = "default", delete: Delete = "remove") -> None:
        self._place = Place(log, "claude-agent-sdk", tenant, delete, depth=4)

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Append entries to a transcript, all of them or none.

        Raises:
            TypeError: An entry is not what JSON can hold.
        """
        if entries:
            await changing(self._append, key, entries)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return the entries of a transcript; None if there is none."""
        return await reading(self._load, key)

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the sessions of a project, each with when its transcript changed last."""
        return await reading(self._sessions, project_key)

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return the summaries of a project's sessions, as the SDK folded them."""
        return await reading(self._summaries, project_key)

    async def delete(self, key: SessionKey) -> None:
        """Delete a session with all of its subpaths, or one subpath."""
        whole = key.get("subpath") is None
        gone = self._session(key) if whole else self._list(key)
        await changing(self._place.drop, gone)

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the subpaths of a session."""
        below = (*self._session(key), "sub")
        found = await reading(self._place.log.spaces, below, depth=len(below) + 1, limit=None)
        return [parts[-1].decode() for parts in found]

    def _session(self, key: SessionKey | SessionListSubkeysKey) -> Key:
        return self._place.key(key["project_key"], key["session_id"])

    def _list(self, key: SessionKey) -> Key:
        subpath = key.get("subpath")
        if subpath == "":
            raise InvalidInputError("subpath: an empty one means nothing; leave it out")
        return (*self._session(key), *(("main",) if subpath is None else ("sub", subpath)))

    def _append(self, key: SessionKey, entries: Sequence[SessionStoreEntry]) -> None:
        list_, summary = self._list(key), (*self._session(key), "summary")
        main, log = key.get("subpath") is None, self._place.log
        while entries:
            rows: list[Any] = [_row(list_, entry) for entry in entries]
            expect = []
            if main:
                cell = log.get(summary)
                folded = fold_session_summary(_told(cell), key, [*entries])
                rows.append(Put(summary, dumped(folded["data"])))
                expect.append(Version(summary, cell.version if cell else 0))
            try:
                self._place.write(rows, expect=expect)
            except Conflict as conflict:
                if conflict.row is not None:  # an entry of that `uuid` is there
                    entries = self._new(list_, entries)
            else:
                return

    def _new(self, list_: Key, entries: Sequence[SessionStoreEntry]) -> list[SessionStoreEntry]:
        """Return the entries that the list does not have, each `uuid` once."""
        seen = {entry.uid for entry in self._place.entries(list_)} - {None}
        found = []
        for entry in entries:
            uid = _uid(entry)
            if uid not in seen:
                found.append(entry)
            if uid is not None:
                seen.add(uid)
        return found

    def _load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        entries = self._place.entries(self._list(key))
        return all_loaded(entry.payload for entry in entries) or None

    def _sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        found = self._place.log.scan(self._place.key(project_key), limit=None)
        return [{"session_id": one.key[3].decode(), "mtime": one.at // 1_000} for one in found]

    def _summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        log, told = self._place.log, []
        found = [one.key for one in log.scan(self._place.key(project_key), limit=None)]
        for at in range(0, len(found), PAGE):
            cells = log.view(cells=found[at : at + PAGE]).cells
            told += [one for cell in cells if (one := _told(cell)) is not None]
        return told


def _uid(entry: SessionStoreEntry) -> bytes | None:
    uuid = entry.get("uuid")
    return uuid.encode() if isinstance(uuid, str) and uuid else None


def _row(list_: Key, entry: SessionStoreEntry) -> Add:
    return Add(list_, dumped(entry), uid=_uid(entry), if_present="fail")


def _told(cell: Cell | None) -> SessionSummaryEntry | None:
    """Return the summary that a cell holds."""
    if cell is None:
        return None
    name = cell.key[3].decode()
    return {"session_id": name, "mtime": cell.at // 1_000, "data": loaded(cell.payload)}
