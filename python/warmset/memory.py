"""Virtual memory for the context window: the journey of a turn, joined.

```text
message ─▶ units ─▶ count ─▶ append ─▶ embed ─▶ index ─▶ shortlist ─▶ pick ─▶ pack/evict ─▶ window
 PY         PY       RUST     RUST      PY       RUST     RUST         PY      RUST          PY
```

`Conversation.append` goes the first half of the way through `Engine.append`; `Memory.window` below
goes the second half, top to bottom.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from warmset.assemble import assemble
from warmset.compose import (
    again,
    call_of,
    cost_of_all,
    freeze,
    pick,
    quote_and_index,
    stay,
    untouched,
    whole,
)
from warmset.config import (
    INDEX_SHARE,
    RANKED,
    RECENT,
    SEARCH_WAIT,
    SHORTLIST,
    WINDOW_WAIT,
    Filter,
    Mode,
)
from warmset.conversation import Conversation
from warmset.errors import InvalidInputError
from warmset.handle import Handle
from warmset.prepare import Settling
from warmset.prepare import of as preparation
from warmset.request import Ask, Request, read_request
from warmset.retrieve import retrieve, scope
from warmset.story import Story
from warmset.threads import twin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.budget import Budget
    from warmset.hits import Found
    from warmset.layout import Frame
    from warmset.ledger import Ledger
    from warmset.messages import System
    from warmset.window import Window


class Memory(Handle):
    """Conversations that are kept whole, and windows that hold the few turns that a call needs.

    Use `Memory.open`. Handles are thread-safe; all handles on one path in one process share one
    index.
    """

    def conversation(self, id_: str, /) -> Conversation:
        """Return a conversation by its name; it begins to exist with its first message.

        Raises:
            InvalidInputError: The name is empty or no text.
        """
        if not isinstance(id_, str) or not id_:
            raise InvalidInputError(f"conversation: expected a name, found {id_!r}")
        return Conversation(self, id_)

    def conversations(self) -> list[str]:
        """Return the names of this tenant's conversations, in the order in which they began."""
        self.check_open()
        with self.engine.lock:
            return [
                ledger.name
                for ledger in self.engine.ledgers.values()
                if ledger.tenant == self.tenant and ledger.entries
            ]

    def process(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        conversation: str,
        budget: int | Budget,
        query_vector: object | None = None,
        mode: Mode = "jit",
        recent: int = RECENT,
        shortlist: int = SHORTLIST,
        max_picked: int | None = None,
        wait: float = WINDOW_WAIT,
        index_share: float = INDEX_SHARE,
        dialect: str | None = None,
        system: System | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> Window:
        """Keep what is new of a full list, and make the window of the next call.

        For callers that send whole lists: `Conversation.sync`, then `Conversation.window`, with
        their errors.

        The options are those of `Conversation.window`.

        Returns:
            The window.
        """
        one = self.conversation(conversation)
        one.sync(messages)
        return one.window(
            query_vector=query_vector,
            budget=budget,
            mode=mode,
            recent=recent,
            shortlist=shortlist,
            max_picked=max_picked,
            wait=wait,
            index_share=index_share,
            dialect=dialect,
            system=system,
            tools=tools,
        )

    def search(
        self,
        query: str,
        *,
        query_vector: object | None = None,
        k: int = SHORTLIST,
        where: Filter | None = None,
        wait: float = SEARCH_WAIT,
    ) -> Found:
        """Search all of the tenant's conversations.

        Args:
            query: The question.
            query_vector: Its vector, shape (dim,), instead of embedding it.
            k: Number of hits.
            where: Which messages may be found; those that a branch left behind only if it says so.
            wait: Seconds to wait for a remote embedder, and for turns that are still being
                embedded.

        Returns:
            Hits, best first, ties by id; `by` tells whether vectors took part.

        Raises:
            InvalidInputError: `k`, the vector or the filter is not usable.
            EmbedderError: The embedder failed, or is not the one of the store's vectors.
        """
        self.check_open()
        if not isinstance(query, str):
            raise InvalidInputError(f"query: expected a text, found {query!r}")
        name = where.conversation if isinstance(where, Filter) else None
        ledger = self.engine.ledgers.get((self.tenant, name)) if isinstance(name, str) else None
        return retrieve(
            self.engine,
            self._share.vectors,
            query,
            query_vector=query_vector,
            k=k,
            where=scope(self.engine, self.tenant, where),
            weights=self._weights,
            wait=wait,
            ledger=ledger,
        )

    def window_of(self, conversation: str, ask: Ask) -> Window:
        """Make a window: from the request to the messages of one call, top to bottom.

        Args:
            conversation: The conversation's name.
            ask: The options of `Conversation.window`.

        Returns:
            The window.
        """
        self.check_open()
        engine, started = self.engine, time.perf_counter()
        with engine.lock:
            ledger = engine.ledger(self.tenant, conversation)
            request = read_request(engine, ledger, ask.query)
            call = call_of(ledger, ask, request)
            tokens_in = cost_of_all(engine, ledger, call)
            live = untouched(ledger, ask, tokens_in, call)
        story = Story(engine, ledger, ask.mode, tokens_in, started)
        compaction = ask.compaction or self._compaction
        if ask.mode == "full" and compaction is not None:
            made, told = preparation(engine, ledger.tenant, ledger.name).window(compaction, call)
            return story.end(made, call, active=made.tokens < tokens_in, compaction=told)
        if live is not None:
            return story.end(whole(engine, live, call), call, active=False)

        # evict: what stays verbatim, and the summary in front of the rest
        policy = compaction if ask.mode == "jit" else None
        settling = Settling(engine, ledger, policy, call)
        with engine.lock:
            picker = ask.picker or self._picker
            choice = (*request.key, *ask.key, call.target, self._weights, picker, policy)
            kept = ledger.frozen if ledger.frozen and ledger.frozen.key == choice else None
            offered = settling.offered
            base = stay(engine, ledger, ask, request, call, kept=kept, offered=offered)
        if ask.mode == "recency" or not request.text:
            made = assemble(engine, call, base)
            return story.end(made, call, active=True, compaction=settling.told(made))
        # shortlist ─▶ pick ─▶ pack
        if kept is not None:
            found, picked = kept.found, replace(kept.picked, spent=None)  # nobody is asked again
            with engine.lock:
                draft = again(ledger, base, kept)
        else:
            found = self._shortlist(ledger, ask, request, base.frame)
            picked = pick(picker, ask, request, found)
            draft = quote_and_index(engine, ledger, call, ask, base, found, picked, self._weights)
        story.retrieved(found, picked)

        # window
        made = assemble(engine, call, draft)
        with engine.lock:
            ledger.frozen = freeze(choice, found, picked, made.draft)
        return story.end(made, call, active=True, compaction=settling.told(made))

    def _shortlist(self, ledger: Ledger, ask: Ask, request: Request, parts: Frame) -> Found:
        shown = {entry.id for unit in parts.units() for entry in unit}
        where = Filter(conversation=ledger.name, exclude=sorted({*shown, request.id or 0}))
        return retrieve(
            self.engine,
            self._share.vectors,
            request.text,
            query_vector=ask.query_vector,
            k=max(ask.shortlist, RANKED),
            where=scope(self.engine, self.tenant, where),
            weights=self._weights,
            wait=ask.wait,
            ledger=ledger,
        )

    asearch = twin(search)
    aprocess = twin(process)
