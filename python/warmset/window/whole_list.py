"""Do no harm: a list that fits the budget is sent unchanged, unless a window saves enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmset.window.choices import Unchanged
from warmset.window.stages import whole

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger
    from warmset.window.assemble import Assembled
    from warmset.window.choices import Frozen
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
        key: The request and options, as they are compared with those of another window.
        kept: The choices of the exchange's last window.
    """

    engine: Engine
    ledger: Ledger
    ask: Ask
    call: Call
    entries: list[Entry]
    tokens: int
    key: tuple[object, ...]
    kept: Frozen | None

    def instead_of(self, tokens: int) -> Assembled | None:
        """Return the whole list if it is sent, and None if a window is.

        Args:
            tokens: The tokens of the window, or the least that it can have.
        """
        if self.ask.mode != "jit" or self.kept is not None or self.tokens > self.call.budget:
            return None
        last, most = self.ledger.frozen, self.tokens * (1 - self.ask.options.min_saving)
        if tokens <= most and not (isinstance(last, Unchanged) and last.key == self.key):
            return None
        made = whole(self.engine, self.entries, self.call)
        if made.tokens > self.call.budget:  # in another dialect it may have more tokens
            return None
        with self.engine.lock:
            self.ledger.frozen = Unchanged(self.key)
        return made
