"""One conversation of a memory: append, sync, fetch, search, window."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from warmset import ingest, items, prepare
from warmset import messages as lists
from warmset import tools as turn_tools
from warmset import window as windows
from warmset._aio import twin
from warmset._keywords import spelled_out
from warmset.options import SHORTLIST, TOOL_TOKENS, Filter, Mode
from warmset.tokens.budget import Budget, input_tokens
from warmset.window.options import WindowKeywords, WindowOptions

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Unpack

    from warmset.compact.keeper import Keeper
    from warmset.engine.handle import Handle
    from warmset.ingest import Synced, Turn
    from warmset.messages import Dialect, System
    from warmset.retrieve.hits import Hit
    from warmset.retrieve.searcher import Searcher
    from warmset.state.ledger import Ledger
    from warmset.tools import TurnTools
    from warmset.window.cut_result import CutResult
    from warmset.window.pipeline import Windows
    from warmset.window.result import Window


class Conversation:
    """A conversation of a memory; get one from `Memory.conversation`.

    Handles are cheap, and any number of them may be used from any number of threads.

    Attributes:
        id: The conversation's name.
    """

    def __init__(self, id_: str, handle: Handle, searcher: Searcher, windows: Windows) -> None:
        self.id = id_
        self._handle = handle
        self._searcher = searcher
        self._windows = windows

    def __repr__(self) -> str:
        return f"Conversation({self.id!r}, {len(self)} messages)"

    def __len__(self) -> int:
        return len(self._ledger.history.path)

    @property
    def dialect(self) -> Dialect | None:
        """How its messages are written; None while all of them would fit every dialect."""
        return self._ledger.dialect

    @property
    def ids(self) -> list[int]:
        """Ids of the messages on the current path, in order."""
        return list(self._ledger.history.path)

    # --- messages --------------------------------------------------------------------------------

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
        beside = ingest.Beside(at, speaker, session, meta)
        return ingest.append_messages(self._handle.live(), self._ledger, messages, beside)

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
        beside = ingest.Beside(at, speaker, session, meta)
        return ingest.sync_messages(self._handle.live(), self._ledger, full_list, beside)

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
        engine, ledger = self._handle.live(), self._ledger
        if isinstance(ids, Iterable):
            return [ingest.read_turn(engine, ledger, ingest.id_of(id_)) for id_ in ids]
        return ingest.read_turn(engine, ledger, ingest.id_of(ids))

    # --- searches and windows --------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        query_vector: object | None = None,
        k: int = SHORTLIST,
        where: Filter | None = None,
    ) -> Sequence[Hit]:
        """Search this conversation; see `Memory.search`."""
        return self._searcher.search_conversation(
            self.id, query, query_vector=query_vector, k=k, where=where
        )

    @spelled_out(WindowOptions)
    def window(
        self,
        query: str | None = None,
        *,
        budget: int | Budget,
        mode: Mode = "jit",
        **options: Unpack[WindowKeywords],
    ) -> Window:
        """Make the messages of one call.

        A short list passes untouched: under 12 messages beside the system's and under 6,000 tokens,
        in mode "jit" and within the budget. Otherwise the window holds the system messages and the
        task, a summary if one was prepared, the turns that the request needs, quoted with their
        ids, the recent units, and the request last. Until the next request the choices stay, so
        that a loop of tool calls keeps its prompt cache.

        Args:
            query: The request; None for the last user message. A text that was not appended is sent
                last as the user's.
            budget: Tokens that the call's input may have, or a `Budget`.
            mode: "jit" as above, "full" for everything, with a prepared summary in front once that
                is over the budget, "recency" for the newest units that fit.
            options: The fields of `WindowOptions`.

        Returns:
            The window.

        Raises:
            BudgetTooSmall: What must stay does not fit; the error has `need` and `have`.
            InvalidInputError: An option is out of its range.
            ConversionError: The conversation cannot be said in that dialect without loss.
            EmbedderError: The embedder failed, or is not the one of the store's vectors.
        """
        made = WindowOptions(**options)
        if made.compaction is not None:
            prepare.policy_of(made.compaction)
        ask = windows.Ask(query=query, budget=input_tokens(budget), mode=mode, options=made)
        return self._windows.window(self.id, ask)

    def fit(
        self,
        *,
        budget: int | Budget,
        pins: Iterable[int] = (),
        system: System | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> CutResult:
        """Keep the newest units that fit, and cut where it was cut before as long as that fits.

        Nothing is searched and nothing is quoted: it is `warmset.fit` with `TokenBudget()` for a
        conversation that warmset holds, at the cost of what is new. Once the budget is crossed, the
        oldest units leave down to its watermark, so that a provider's prompt cache keeps the front
        of the list for as long as possible.

        Args:
            budget: Tokens that the call's input may have, or a `Budget` with its watermark.
            pins: Ids of messages that must stay.
            system: A system prompt beside the conversation; it counts.
            tools: Tool schemas that travel along; they count.

        Returns:
            What stays, and what the cut costs a prompt cache.

        Raises:
            BudgetTooSmall: What must stay does not fit; the error has `need` and `have`.
            NotFound: A pinned message is not on the current path.
            InvalidInputError: The budget or the pins are not usable.
        """
        ask = windows.cut_ask(budget, pins, system=system, tools=tools)
        engine = self._handle.live()
        with engine.lock:
            return windows.cut_conversation(engine, self._ledger, ask)

    def tools(
        self, *, budget: int = TOOL_TOKENS, dialect: str | None = None, strict: bool = False
    ) -> TurnTools:
        """Make the tools with which the model fetches and searches turns that it was not shown.

        Send `definitions` along as the request's tools, and let `run` answer the calls that
        `handles` knows:

            kit = conversation.tools(budget=4_000)
            window = conversation.window(budget=16_000, tools=kit.definitions)

        Args:
            budget: Tokens that all results may have together; make new tools for a new budget.
            dialect: Whose tools, calls and results they are; the conversation's if not given.
            strict: Whether the API is to hold the model to the schemas, which some models and
                servers refuse; arguments are checked here all the same.

        Returns:
            The definitions, and what carries their calls out.

        Raises:
            InvalidInputError: The budget is no positive number.
            UnknownDialectError: The dialect is not known.
        """
        self._handle.live()
        named = self.dialect or "openai" if dialect is None else lists.known_dialect(dialect)
        reader = turn_tools.ToolReader(self._handle, self._searcher, self.id)
        return turn_tools.TurnTools(reader, budget=budget, dialect=named, strict=strict)

    # --- asynchronous twins ----------------------------------------------------------------------

    aappend = twin(append)
    a_sync = twin(sync)
    asearch = twin(search)
    awindow = twin(window)
    afit = twin(fit)
    atools = twin(tools)

    @overload
    async def afetch(self, ids: int) -> Turn: ...
    @overload
    async def afetch(self, ids: Iterable[int]) -> list[Turn]: ...
    async def afetch(self, ids: int | Iterable[int]) -> Turn | list[Turn]:
        """Run `fetch` in a thread; the same arguments, result and errors."""
        return await twin(self.fetch)(ids)

    def __warmset_keeper__(self) -> Keeper:
        """Return what `compact_context` asks of a conversation."""
        return items.Dropping(self._handle.live(), self._handle.tenant, self.id)

    @property
    def _ledger(self) -> Ledger:
        return self._handle.last().ledger(self._handle.tenant, self.id)
