"""One conversation of a memory: append, sync, search, fetch, window."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from warmset.budget import WATERMARK, Budget, input_tokens
from warmset.config import (
    INDEX_SHARE,
    RECENT,
    SHORTLIST,
    TOOL_TOKENS,
    WINDOW_WAIT,
    Filter,
    Mode,
)
from warmset.dropped import Dropping
from warmset.errors import Erased, InvalidInputError, NotFound
from warmset.keep import keep
from warmset.kept import Keep, Kept
from warmset.messages import known_dialect
from warmset.prepare import policy_of
from warmset.request import Ask
from warmset.threads import twin
from warmset.tools import TurnTools
from warmset.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.hits import Hit
    from warmset.memory import Memory
    from warmset.messages import System
    from warmset.pick import Picker
    from warmset.prepare import PreparedCompaction
    from warmset.window import Window

ERASED_MEANWHILE: Final = 3
"""How often a window is made again because one of its messages was erased while it was made."""


class Conversation(Transcript):
    """A conversation of a memory; get one from `Memory.conversation`.

    Handles are cheap, and any number of them may be used from any number of threads.
    """

    _memory: Memory

    def __init__(self, memory: Memory, id_: str) -> None:
        super().__init__(memory, id_)
        self._memory = memory

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
        wait: float = WINDOW_WAIT,
        index_share: float = INDEX_SHARE,
        dialect: str | None = None,
        system: System | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        picker: Picker | None = None,
        compaction: PreparedCompaction | None = None,
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
            query_vector: Its vector, shape (dim,), instead of embedding it.
            budget: Tokens that the call's input may have, or a `Budget`.
            mode: "jit" as above, "full" for everything, with a prepared summary in front once that
                is over the budget, "recency" for the newest units that fit.
            recent: Units before the request that are shown verbatim.
            shortlist: Entries that a picker sees.
            max_picked: Entries that a picker may return, as many as the picker says if not given, 6
                if it says nothing; without a picker the score fills the budget.
            wait: Seconds to wait for a remote embedder and for turns that are still being embedded.
            index_share: The part of the budget that one-line summaries of further turns may take; 0
                leaves them out.
            dialect: How the window is to be written; as the conversation is if not given.
            system: A system prompt beside the conversation.
            tools: Tool schemas that travel along; they count.
            picker: Who picks, instead of the memory's picker.
            compaction: Has summaries ready for windows of modes "jit" and "full", instead of the
                memory's.

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
            max_picked=max_picked,
            wait=wait,
            index_share=index_share,
            dialect=dialect,
            system=system,
            tools=tools,
            picker=picker,
            compaction=policy_of(compaction),
        )
        for _ in range(ERASED_MEANWHILE):
            with suppress(Erased, NotFound):  # made again, of what is left
                return self._memory.window_of(self.id, ask)
        return self._memory.window_of(self.id, ask)

    def keeper(self) -> Dropping:
        """Return what `compact_context` asks of a conversation."""
        self._memory.check_open()
        return Dropping(self._memory.engine, self._memory.tenant, self.id)

    def fit(
        self,
        *,
        budget: int | Budget,
        pins: Iterable[int] = (),
        system: System | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> Kept:
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
        self._memory.check_open()
        have = input_tokens(budget)
        mark = budget.watermark if isinstance(budget, Budget) else WATERMARK
        if isinstance(pins, (str, bytes)) or not isinstance(pins, Iterable):
            raise InvalidInputError(f"pins: expected ids of messages, found {pins!r:.80}")
        held = tuple(sorted({self.id_of(one) for one in pins}))
        ask = Keep(budget=have, low=int(have * mark), pins=held, system=system, tools=tools)
        with self._memory.engine.lock:
            return keep(self._memory.engine, self._ledger, ask)

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
        self._memory.check_open()
        named = self.dialect or "openai" if dialect is None else known_dialect(dialect)
        return TurnTools(self._memory, self, budget=budget, dialect=named, strict=strict)

    afit = twin(fit)
    asearch = twin(search)
    awindow = twin(window)
