"""One conversation of a memory: append, sync, search, fetch, window."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from warmset import intake
from warmset.budget import Budget, input_tokens
from warmset.config import INDEX_SHARE, MAX_PICKED, RECENT, SHORTLIST, Filter, Mode
from warmset.errors import InvalidInputError
from warmset.request import Ask
from warmset.threads import twin
from warmset.turn import Synced, Turn, read_turn

if TYPE_CHECKING:
    from datetime import datetime

    from warmset.hits import Hit
    from warmset.ledger import Ledger
    from warmset.memory import Memory
    from warmset.messages import Dialect, System
    from warmset.pick import Picker
    from warmset.window import Window


class Conversation:
    """A conversation of a memory; get one from `Memory.conversation`.

    Handles are cheap, and any number of them may be used from any number of threads.
    """

    def __init__(self, memory: Memory, id_: str) -> None:
        self._memory = memory
        self.id = id_

    def __repr__(self) -> str:
        return f"Conversation({self.id!r}, {len(self)} messages)"

    def __len__(self) -> int:
        return len(self._ledger.history.path)

    @property
    def _ledger(self) -> Ledger:
        return self._memory.engine.ledger(self._memory.tenant, self.id)

    @property
    def dialect(self) -> Dialect | None:
        """How its messages are written; None while all of them would fit every dialect."""
        return self._ledger.dialect

    @property
    def ids(self) -> list[int]:
        """Ids of the messages on the current path, in order."""
        return list(self._ledger.history.path)

    def append(
        self,
        messages: Iterable[Mapping[str, Any]] | Mapping[str, Any],
        *,
        at: datetime | float | str | None = None,
        speaker: str | None = None,
        session: str | int | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> list[int]:
        """Keep messages at the end of the conversation, exactly as they are; repeats are legal.

        Args:
            messages: One message or several; SDK objects are dumped without their unset fields.
            at: When they were said: a datetime (naive means UTC), seconds since 1970 UTC, or an ISO
                8601 text; now if not given.
            speaker: Who said them, for conversations between people with names.
            session: The session's name; without one, 8 hours of silence begin a new session.
            meta: Your own fields, plain JSON.

        Returns:
            One id a message. When this returns, they are durable and can be found by their words.

        Raises:
            InvalidMessageError: One cannot be stored; none was.
            InvalidInputError: An option has the wrong type, or the dialect is another one.
            StoreError: They could not be kept; none was.
        """
        self._memory.check_open()
        beside = intake.Beside(at, speaker, session, meta)
        return intake.append(self._memory.engine, self._ledger, messages, beside)

    def sync(
        self,
        full_list: Sequence[Mapping[str, Any]],
        *,
        at: datetime | float | str | None = None,
        speaker: str | None = None,
        session: str | int | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Synced:
        """Bring the conversation to a full list, keeping what it has in common with it.

        An edited message or a shortened list opens a branch: what is left behind stays in the store
        and can be fetched, and is never served in a window. A list that comes back to it finds it
        again.

        Args:
            full_list: All messages of the conversation.
            at: When the new ones were said; see `append`.
            speaker: Who said the new ones.
            session: The session of the new ones.
            meta: Your own fields for the new ones.

        Returns:
            How many were known, ids of the new ones, and where it branched.

        Raises:
            InvalidMessageError: A message cannot be stored; nothing changed.
            StoreError: They could not be kept; nothing changed.
        """
        self._memory.check_open()
        beside = intake.Beside(at, speaker, session, meta)
        return intake.sync(self._memory.engine, self._ledger, full_list, beside)

    @overload
    def fetch(self, ids: int) -> Turn: ...
    @overload
    def fetch(self, ids: Iterable[int]) -> list[Turn]: ...
    def fetch(self, ids: int | Iterable[int]) -> Turn | list[Turn]:
        """Read messages back, whatever path they are on.

        Args:
            ids: One id or several.

        Returns:
            One message or several, in the order of the ids.

        Raises:
            NotFound: No message of this conversation has that id.
            StoreError: It could not be read.
        """
        self._memory.check_open()
        if isinstance(ids, Iterable):
            return [self._fetch(id_) for id_ in ids]
        return self._fetch(ids)

    def search(
        self,
        query: str,
        *,
        query_vector: object | None = None,
        k: int = SHORTLIST,
        where: Filter | None = None,
    ) -> Sequence[Hit]:
        """Search this conversation; see `Memory.search`."""
        if where is not None and not isinstance(where, Filter):
            raise InvalidInputError(f"where: expected a Filter, found {where!r}")
        if where is not None and where.conversation not in (None, self.id):
            raise InvalidInputError(
                f"where.conversation: this is {self.id!r}; search the memory instead"
            )
        return self._memory.search(
            query,
            query_vector=query_vector,
            k=k,
            where=replace(where or Filter(), conversation=self.id),
        )

    def window(
        self,
        query: str | None = None,
        *,
        query_vector: object | None = None,
        budget: int | Budget,
        mode: Mode = "jit",
        recent: int = RECENT,
        shortlist: int = SHORTLIST,
        max_picked: int | None = None,
        wait: float = 0.0,
        index_share: float = INDEX_SHARE,
        dialect: str | None = None,
        system: System | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        picker: Picker | None = None,
    ) -> Window:
        """Make the messages of one call.

        A short list passes untouched: under 12 messages beside the system's and under 6,000 tokens,
        in mode "jit" and within the budget. Otherwise the window holds the system messages and the
        task, the turns that the request needs, quoted with their ids, the recent units, and the
        request last. Until the next request the choices stay, so that a loop of tool calls keeps
        its prompt cache.

        Args:
            query: The request; None for the last user message. A text that was not appended is sent
                last as the user's.
            query_vector: Its vector, shape (dim,), instead of embedding it.
            budget: Tokens that the call's input may have, or a `Budget`.
            mode: "jit" as above, "full" for everything, "recency" for the newest units that fit.
            recent: Units before the request that are shown verbatim.
            shortlist: Entries that a picker sees.
            max_picked: Entries that a picker may return, 6 if not given; without a picker the score
                fills the budget.
            wait: Seconds to wait for a remote embedder and for turns that are still being embedded.
            index_share: The part of the budget that one-line summaries of further turns may take; 0
                leaves them out.
            dialect: How the window is to be written; as the conversation is if not given.
            system: A system prompt beside the conversation.
            tools: Tool schemas that travel along; they count.
            picker: Who picks, instead of the memory's picker.

        Returns:
            The window.

        Raises:
            BudgetTooSmall: What must stay does not fit; the error has `need` and `have`.
            InvalidInputError: An option is out of its range.
            ConversionError: The conversation cannot be said in that dialect without loss.
            EmbedderError: The embedder failed, or is not the one of the store's vectors.
        """
        ask = Ask(
            query=query,
            query_vector=query_vector,
            budget=input_tokens(budget),
            mode=mode,
            recent=recent,
            shortlist=shortlist,
            max_picked=MAX_PICKED if max_picked is None else max_picked,
            wait=wait,
            index_share=index_share,
            dialect=dialect,
            system=system,
            tools=tools,
            picker=picker,
        )
        return self._memory.window_of(self.id, ask)

    aappend = twin(append)
    asearch = twin(search)
    awindow = twin(window)

    def _fetch(self, id_: int) -> Turn:
        if isinstance(id_, bool) or not isinstance(id_, int):
            raise InvalidInputError(f"ids: expected an id or several, found {id_!r}")
        return read_turn(self._memory.engine, self._ledger, id_)
