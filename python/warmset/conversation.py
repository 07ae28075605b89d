"""A conversation of a memory: append, sync, fetch, search, window."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Never, overload

from warmset import (
    ingest,
    items,
    messages as lists,
    prepare,
    tools as turn_tools,
    window as windows,
)
from warmset._support.aio import in_thread, twin
from warmset._support.keywords import refuse_unknown, spelled_out
from warmset.errors import InvalidInputError, NotPortable
from warmset.options import SHORTLIST, TOOL_TOKENS, Filter, Mode
from warmset.summarize.checks import checked_wish
from warmset.tokens.budget import Budget, input_tokens
from warmset.window.options import WindowKeywords, WindowOptions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from typing import Unpack

    from warmset._core import Entry
    from warmset.compact.keeper import Keeper
    from warmset.engine.engine import Engine
    from warmset.engine.handle import Handle
    from warmset.ingest import Synced, Turn
    from warmset.messages import Dialect, MessageLike, System
    from warmset.money import Totals
    from warmset.prepare import PreparedCompaction
    from warmset.retrieve.hits import Hit
    from warmset.retrieve.searcher import Searcher
    from warmset.state.ledger import Ledger
    from warmset.store.log import Where
    from warmset.store.rows import Columns
    from warmset.tools import TurnTools
    from warmset.window.cut_result import CutResult
    from warmset.window.pipeline import Windows
    from warmset.window.result import Compaction, Window


PAGE: Final = 256
"""Messages that are read at once while a conversation is iterated."""


class Conversation:
    """A conversation of a memory; get one from `Memory.conversation`.

    Handles are cheap and thread-safe; any number of them may exist for one conversation.

    Attributes:
        id: The conversation's name.
    """

    def __init__(self, id_: str, handle: Handle, searcher: Searcher, windows: Windows) -> None:
        self.id = id_
        self._handle = handle
        self._searcher = searcher
        self._windows = windows

    def __reduce__(self) -> Never:
        """Refuse to be copied or pickled.

        Raises:
            NotPortable: Always.
        """
        raise NotPortable(
            "a Conversation is not copied or pickled; pass its name, and ask the Memory for it"
        )

    def __repr__(self) -> str:
        state = "closed" if self._handle.closed else f"{len(self)} messages"
        return f"Conversation({self.id!r}, {state})"

    def __len__(self) -> int:
        return len(self._ledger.history.path)

    def __iter__(self) -> Iterator[Turn]:
        """Iterate over the messages of the current path, in order; they are read page by page."""
        path = self.ids
        for start in range(0, len(path), PAGE):
            page = path[start : start + PAGE]
            yield from ingest.read_turns(*self._live(), page)

    @property
    def dialect(self) -> Dialect | None:
        """The dialect of its messages; None while they are valid in every dialect."""
        return self._ledger.dialect

    @property
    def ids(self) -> list[int]:
        """Ids of the messages on the current path, in order."""
        return list(self._ledger.history.path)

    @property
    def spent(self) -> Totals:
        """The tokens and the price of its calls that `Window.settle` recorded in this process."""
        return self._ledger.spending.total

    # --- messages --------------------------------------------------------------------------------

    def append(
        self,
        messages: Iterable[MessageLike] | MessageLike,
        *,
        at: datetime | float | str | None = None,
        speaker: str | None = None,
        session: str | int | None = None,
        meta: Mapping[str, Any] | None = None,
        window: Window | CutResult | None = None,
        key: str | Sequence[str] | None = None,
        after: int | None = None,
    ) -> list[int]:
        """Append messages to the conversation and store them unchanged; duplicates are allowed.

        With `key`, a message is stored once, however often it is appended: a key names one message
        of the current path, in all processes. If that has the same content, it is not stored again,
        and its id is returned; if it has other content, nothing is stored. A key whose message left
        the path, by `pop` or `truncate`, is free again.

        The memory's redaction is the one exception: what its hook changes and what stands in
        `<private>` tags is left out before anything is stored.

        Fields that only a client has are not stored, because providers refuse them: `parsed` and
        `parsed_arguments`, the `index` of a streamed tool call, and fields that an SDK fills with
        null, as `audio` and `function_call`.

        Args:
            messages: One message or several, as dicts or as objects of a provider's SDK, which are
                converted without their unset fields: `response.choices[0].message`,
                `response.output`, a `Message` of Anthropic's, a `Content` of Google's.
            at: The time of the messages: a datetime (naive means UTC), seconds since 1970 UTC, or
                an ISO 8601 text; now if not given.
            speaker: The name of the speaker, for conversations between named people.
            session: The session's name; without one, a new session begins after 8 hours without a
                message.
            meta: Your own fields, plain JSON.
            window: The window that was sent for the reply among the messages. A model's thinking is
                bound to what it was made behind, and stays in later windows only where that is
                known and unchanged. If not given, it is the only window that was made since the
                last reply.
            key: Your own name of the message, a text of 1 to 1,024 bytes; for several messages, one
                for each. Contents are compared as they are stored, after redaction; the time, the
                speaker and your fields are not compared.
            after: The id of the message that the first one follows, on the current path or an
                abandoned branch; the last message of the path if not given. If it is another one,
                a branch begins there, and becomes the current path. Not together with `key`.

        Returns:
            The id of each message. When this returns, the messages are durable and can be found by
            their words.

        Raises:
            InvalidMessageError: A message cannot be stored; none was stored.
            InvalidInputError: An option has the wrong type, or the messages have another dialect
                than the conversation.
            NotFound: The conversation has no message with the id `after`; nothing was stored.
            RedactionError: The redaction hook failed; nothing was stored.
            Conflict: A message of the path has one of the keys, and other content; `current` is its
                id, and `row` the position among the messages. Nothing was stored.
            Locked: With `key`, another process kept the store's lock for too long, even with
                `on_busy="spool"`; nothing was stored.
            StoreError: The messages could not be stored; none was.
        """
        beside = ingest.Beside(at, speaker, session, meta)
        return ingest.append_messages(
            *self._live(),
            messages,
            beside,
            self._handle.redactor,
            window=window,
            key=key,
            after=after,
        )

    def sync(
        self,
        full_list: Sequence[MessageLike],
        *,
        at: datetime | float | str | None = None,
        speaker: str | None = None,
        session: str | int | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Synced:
        """Make the conversation equal to a full list of messages; only new ones are appended.

        Messages are the same if their canonical forms are: without null and client-only fields,
        cache marks and the model's thinking, and with a text equal to one block of it. The stored
        message stays as it is; windows have the cache marks of this list, and none of the thinking
        that it leaves out.

        An edited message or a shortened list opens a branch. The messages on the abandoned branch
        stay in the store and can be fetched, but windows never show them. If a later list returns
        to that branch, its messages are used again and not stored twice.

        Args:
            full_list: All messages of the conversation.
            at: The time of the new messages; see `append`.
            speaker: The speaker of the new messages.
            session: The session of the new messages.
            meta: Your own fields for the new messages.

        Returns:
            The number of messages already stored, the ids of the new ones, and where the list
            branched off.

        Raises:
            InvalidMessageError: A message cannot be stored; nothing changed.
            RedactionError: The redaction hook failed; nothing changed.
            StoreError: The messages could not be stored; nothing changed.
        """
        beside = ingest.Beside(at, speaker, session, meta)
        synced, _ = ingest.sync_messages(*self._live(), full_list, beside, self._handle.redactor)
        return synced

    def pop(self, count: int = 1, *, forget: bool = False) -> list[Turn]:
        """Take the last messages off the conversation, and return them.

        What leaves stays in the store on a branch, as after a shorter list was synchronised: it can
        be fetched, and windows never show it. Nothing is rewritten. Processes that pop at the same
        time take off different messages.

        Messages are counted one by one: to take off a tool call with its results, count all of
        them. Opaque entries behind the first message that leaves leave with it; see `keep`.

        Args:
            count: The number of messages; fewer leave if there are fewer.
            forget: Whether to remove them, with what was derived from them: no process can find or
                read them any more. Their bytes stay in the files until the store is compacted;
                `Memory.erase` is for what must leave them at once.

        Returns:
            The messages that left, the oldest first.

        Raises:
            InvalidInputError: The count is not a positive integer.
            Locked: Another process kept the store's lock for too long, even with
                `on_busy="spool"`; nothing changed.
            Conflict: Other processes moved the end of the conversation again and again.
            ReadOnly: The memory was opened with mode "read".
            StoreError: A message could not be read, or the change not be stored; nothing changed.
        """
        copies = self._copies if forget else None
        left = ingest.pop_messages(*self._live(), count, copies)
        return self._shortened(left, forget=forget)

    def truncate(self, id_: int | None, /, *, forget: bool = False) -> list[Turn]:
        """End the conversation at a message, and return the messages behind it.

        What leaves stays in the store on a branch, unless it is removed; see `pop`.

        Args:
            id_: The id of the message that becomes the last one; None takes all messages off.
            forget: Whether to remove what leaves; see `pop`.

        Returns:
            The messages that left, the oldest first.

        Raises:
            NotFound: The message is not on the current path.
            InvalidInputError: The id is not an integer.
            Locked: Another process kept the store's lock for too long; nothing changed.
            Conflict: Other processes moved the end of the conversation again and again.
            ReadOnly: The memory was opened with mode "read".
            StoreError: A message could not be read, or the change not be stored; nothing changed.
        """
        copies = self._copies if forget else None
        left = ingest.truncate_messages(*self._live(), id_, copies)
        return self._shortened(left, forget=forget)

    @overload
    def fetch(self, ids: int) -> Turn: ...
    @overload
    def fetch(self, ids: Iterable[int]) -> list[Turn]: ...
    def fetch(self, ids: int | Iterable[int]) -> Turn | list[Turn]:
        """Return messages by their ids, on the current path or an abandoned branch.

        Args:
            ids: One id or several.

        Returns:
            One message or several, in the order of the ids.

        Raises:
            NotFound: No message of this conversation has that id.
            StoreError: A message could not be read.
        """
        engine, ledger = self._live()
        if isinstance(ids, Iterable):
            return [ingest.read_turn(engine, ledger, ingest.id_of(id_)) for id_ in ids]
        return ingest.read_turn(engine, ledger, ingest.id_of(ids))

    def messages(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        where: Where | None = None,
    ) -> list[Turn]:
        """Return the newest messages of the current path, in order.

        To read a conversation backwards, page by page, pass the id of the oldest message of the
        last page as `before`.

        Args:
            limit: The most messages; None for all.
            before: An id; only messages before it are returned.
            where: A condition on your own fields, those that `append` got as `meta`, in the words
                of `Log.scan`: `{"tag": "x", "score": {"gte": 3}}`. Fields that are mappings, or
                lists with lists or mappings in them, count as missing.

        Returns:
            The messages, the oldest first.

        Raises:
            InvalidInputError: The limit is not a positive integer, the id not an integer, or the
                condition malformed.
            StoreError: A message could not be read.
        """
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
            raise InvalidInputError(f"limit: expected a number of messages, found {limit!r}")
        if limit is not None and limit < 1:
            raise InvalidInputError(f"limit: expected at least 1, found {limit}")
        return ingest.newest_turns(*self._live(), limit=limit, before=before, where=where)

    # --- entries that are no messages -------------------------------------------------------------

    def keep(
        self,
        payload: bytes,
        *,
        key: str | bytes | None = None,
        codec: str | None = None,
        columns: Columns | None = None,
    ) -> int:
        """Store an opaque entry at the end of the current path: bytes that are no message.

        Use it for what belongs to a conversation and is for your program alone, such as the state
        of an agent behind a message. No window shows it, no search finds it, and it is not counted
        among the messages; `entries` returns it. It leaves the path with the message before it, and
        is erased with the conversation. The memory's redaction does not read it.

        Args:
            payload: The bytes that come back.
            key: Your own name of it; see `append`. Messages and opaque entries share their keys.
            codec: Your name of the payload's encoding, at most 255 bytes.
            columns: Named values beside the payload; see `Log.scan`.

        Returns:
            The entry's id; that of the first one if it was stored before by that key.

        Raises:
            Conflict: An entry of the path has that key, and other content.
            Locked: Another process kept the store's lock for too long, even with
                `on_busy="spool"`; nothing was stored.
            InvalidInputError: An argument has the wrong type or is too long.
            ReadOnly: The memory was opened with mode "read".
            StoreError: The entry could not be stored.
        """
        return ingest.keep_entry(*self._live(), payload, key=key, codec=codec, columns=columns)

    def entries(
        self, *, after: int | None = None, limit: int | None = 1_000, reverse: bool = False
    ) -> list[Entry]:
        """Return everything on the current path as it is stored: messages and opaque entries.

        Args:
            after: The id of the last entry of the page before.
            limit: The most entries; None for all.
            reverse: Whether to begin with the newest entry.

        Returns:
            The entries. `turn` has what lies beside a message, as JSON, and is None for an opaque
            entry; `payload` has the message as JSON, or the bytes as they were kept.

        Raises:
            InvalidInputError: An argument has the wrong type.
            StoreError: An entry could not be read.
        """
        return ingest.read_entries(*self._live(), after=after, limit=limit, reverse=reverse)

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
        """Build the messages of one call within a token budget.

        In mode "jit", a short conversation is returned unchanged: fewer than 12 messages, system
        messages not counted, and fewer than 6,000 tokens, if the budget allows it. So is a longer
        one that fits the budget, unless the window saves at least `min_saving` of its tokens.
        Otherwise the window has the system messages, the task, a summary if one was prepared, the
        turns that the request needs, quoted with their ids, the recent units, and the request.
        Until the next request, the same turns are quoted, so that a loop of tool calls keeps its
        prompt cache.

        In mode "steady", new messages follow those of the last window, as they are. What a request
        needs of messages that are no longer shown is quoted once, in a message before it, and stays
        there. Each window is recorded in the store before it is returned, so that another process
        continues it.

        Args:
            query: The request; None for the last user message. A text that was not appended is sent
                as a user message at the end.
            budget: The most tokens that the call's input may have, or a `Budget`.
            mode: "jit" as above, "steady" for a list that only grows until it is made anew near the
                budget, so that a provider can cache it and the model's thinking stays valid, "auto"
                for whichever of the two the next calls cost less with, "full" for all messages,
                with a prepared summary in place of the oldest once they exceed the budget,
                "recency" for the newest units that fit.
            options: The fields of `WindowOptions`.

        Returns:
            The window.

        Raises:
            BudgetTooSmall: The messages that must stay do not fit; the error has `need` and `have`.
            InvalidInputError: An option is out of its range.
            ConversionError: The conversation cannot be converted to that dialect without losing
                content; metadata of the provider is left out, and `report.notes` names it.
            EmbedderMismatch: The embedder did not make the store's vectors. One that fails is no
                error: the search is by words alone, and `Found.why` names the reason.
        """
        refuse_unknown(options, "window", WindowOptions)
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
        model: str | None = None,
    ) -> CutResult:
        """Return the newest units that fit the budget, and keep the previous cut while it fits.

        Nothing is searched or quoted. It is `warmset.fit` with `TokenBudget()` for a stored
        conversation, and takes time only for new messages. When the budget is exceeded, the oldest
        units are removed until the rest is within its watermark, so that a provider's prompt cache
        can reuse the front of the list for as many calls as possible.

        Args:
            budget: The most tokens that the call's input may have, or a `Budget` with its
                watermark.
            pins: Ids of messages that must stay.
            system: A system prompt that is sent beside the messages; its tokens count.
            tools: Tool schemas that are sent with the call; their tokens count.
            model: The model that answers. Newer ones refuse or drop thinking before which something
                changed, so it is left out; a model that is not known is taken for one of these.

        Returns:
            The messages that stay, and what the cut costs a prompt cache.

        Raises:
            BudgetTooSmall: The messages that must stay do not fit; the error has `need` and `have`.
            NotFound: A pinned message is not on the current path.
            InvalidInputError: An option is invalid.
        """
        ask = windows.cut_ask(budget, pins, system=system, tools=tools, model=model)
        engine, ledger = self._live()
        with engine.lock:
            made = windows.cut_conversation(engine, ledger, ask)
            windows.note_cut(ledger, made)
        return made

    def compact_now(
        self,
        *,
        focus: str | None = None,
        wait: bool = True,
        compaction: PreparedCompaction | None = None,
    ) -> Compaction:
        """Have the earlier messages summarised now, before a window is near its budget.

        The next window of mode "full" shows the summary in place of the messages before its
        boundary; one of mode "jit" does so from the next request on. As many messages stay verbatim
        as the policy's `tail` and `keep` say, of the conversation's tokens. Nothing is lost: the
        messages stay in the store.

        Args:
            focus: What the summary should keep above all, in words. It holds for later summaries,
                too, until another focus is given. With a new focus the messages are read again,
                because an earlier summary may lack what it is about.
            wait: Whether to wait for the summary, at most the policy's `timeout`; otherwise it is
                written in the background.
            compaction: The policy; that of `Memory.open` if not given.

        Returns:
            The state: "ready" if the summary is there, "preparing" if it is being written, "failed"
            if there is none; `why` has the reason, also if there was too little to summarise.

        Raises:
            InvalidInputError: There is no policy, or the focus is no text.
        """
        policy = prepare.policy_of(self._windows.compaction if compaction is None else compaction)
        if policy is None:
            raise InvalidInputError(
                "compact_now: there is no compaction; open the memory with "
                "Memory.open(compaction=PreparedCompaction()), or give compaction="
            )
        wish = checked_wish("focus", focus)
        wish = None if wish is None else self._handle.redactor.text(wish)
        prepared = prepare.of(self._handle.live(), self._handle.tenant, self.id)
        return prepared.compact_now(policy, wish, wait=wait)

    def tools(
        self, *, budget: int = TOOL_TOKENS, dialect: str | None = None, strict: bool = False
    ) -> TurnTools:
        """Return tools that let the model fetch and search turns outside of its window.

        If the memory has a `compaction`, there is also a tool with which the model has the earlier
        messages summarised in the background; see `compact_now`.

        Send `definitions` as the request's tools, and answer every call that `handles` accepts with
        `run`:

            kit = conversation.tools(budget=4_000)
            window = conversation.window(budget=16_000, tools=kit.definitions)

        Args:
            budget: The most tokens that all results may have together; create new tools for a new
                budget.
            dialect: The dialect of the tools, calls and results; the conversation's if not given.
            strict: Whether the API should enforce the schemas, which some models and servers do not
                support. The arguments are checked here in either case.

        Returns:
            The tool definitions, and the methods that run their calls.

        Raises:
            InvalidInputError: The budget is not a positive integer.
            UnknownDialectError: The dialect is not known.
        """
        self._handle.live()
        named = self.dialect or "openai" if dialect is None else lists.known_dialect(dialect)
        reader = turn_tools.ToolReader(self._handle, self._searcher, self.id)
        compact = None if self._windows.compaction is None else self._compact_soon
        return turn_tools.TurnTools(
            reader, budget=budget, dialect=named, strict=strict, compact=compact
        )

    def _compact_soon(self, focus: str | None) -> bool:
        """Start a summary in the background; return whether the next windows will show one."""
        made = self.compact_now(focus=focus, wait=False)
        return made.state == "preparing" or (made.state == "ready" and made.why is None)

    # --- asynchronous twins ----------------------------------------------------------------------

    aappend = twin(append)
    a_sync = twin(sync)
    apop = twin(pop, to_the_end=True)
    atruncate = twin(truncate, to_the_end=True)
    asearch = twin(search)
    awindow = twin(window)
    afit = twin(fit)
    amessages = twin(messages)
    akeep = twin(keep, to_the_end=True)
    aentries = twin(entries)
    acompact_now = twin(compact_now)
    atools = twin(tools)

    @overload
    async def afetch(self, ids: int) -> Turn: ...
    @overload
    async def afetch(self, ids: Iterable[int]) -> list[Turn]: ...
    async def afetch(self, ids: int | Iterable[int]) -> Turn | list[Turn]:
        """Run `fetch` in a thread; the same arguments, result and errors."""
        if isinstance(ids, Iterable):
            return await in_thread(lambda: self.fetch(ids))
        return await in_thread(lambda: self.fetch(ids))

    def _copies(self, ids: Sequence[int]) -> Sequence[int]:
        """Return copies of messages that are removed with them, under the engine's lock."""
        return items.copies_of(self._handle.engine, self._handle.tenant, ids=ids)

    def _shortened(self, left: list[Turn], *, forget: bool) -> list[Turn]:
        """Take what was removed out of the indexes of memories, too."""
        if forget and left:
            items.refresh(self._handle.engine)
        return left

    def __warmset_keeper__(self) -> Keeper:
        """Return the interface that `compact_context` uses to read and write this conversation."""
        return items.Dropping(self._handle, self.id)

    @property
    def _ledger(self) -> Ledger:
        return self._live()[1]

    def _live(self) -> tuple[Engine, Ledger]:
        engine = self._handle.live()
        return engine, engine.ledger(self._handle.tenant, self.id)
