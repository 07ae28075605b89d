"""Do no harm: a list that fits the budget is sent unchanged, unless a window saves enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmset.window.stages import whole

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.state.entries import Live
    from warmset.state.ledger import Ledger
    from warmset.window.assemble import Assembled
    from warmset.window.exchange import ExchangeChoices
    from warmset.window.remembering import Remembering
    from warmset.window.render import Call
    from warmset.window.request import Ask


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeList:
    """The whole list of a conversation, as the alternative to a window.

    Until the next request the choice between them stays, so that a loop of tool calls keeps its
    prompt cache; the whole list is given up earlier if it exceeds the budget.

    Args:
        engine: The store, from which texts are read.
        ledger: The conversation.
        ask: The arguments of the window.
        call: The call that the messages are for.
        entries: All messages, if they fit the budget.
        tokens: Their tokens.
        choices: The choices of the exchange.
        memories: What is quoted besides.
    """

    engine: Engine
    ledger: Ledger
    ask: Ask
    call: Call
    entries: Live
    tokens: int
    choices: ExchangeChoices
    memories: Remembering

    def instead_of(self, tokens: int) -> Assembled | None:
        """Return the whole list if it is sent, and None if a window is.

        Args:
            tokens: The tokens of the window, or the least that it can have.
        """
        frozen = self.choices.frozen is not None
        if self.ask.mode != "jit" or frozen or self.tokens > self.call.budget:
            return None
        most = self.tokens * (1 - self.ask.options.min_saving)
        if tokens <= most and not self.choices.whole:
            return None
        made = whole(self.engine, self.entries, self.call)
        if made.tokens > self.call.budget:  # in another dialect it may have more tokens
            return None
        return self._kept(made)

    def made(self) -> Assembled:
        """Return the whole list, which is small enough to be sent unchanged."""
        return self._kept(whole(self.engine, self.entries, self.call))

    def _kept(self, made: Assembled) -> Assembled:
        """Add what is quoted besides, and remember it for the exchange."""
        if self.memories.beside_whole:
            again = self.choices.memories
            made = self.memories.beside(self.call, made, self.entries, again)
        else:
            self.memories.give_up()
        with self.engine.lock:
            self.choices.keep_whole(self.memories.ids)
        return made
