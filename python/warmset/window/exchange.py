"""The choices of an exchange: from its last window, here or in another process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.window.choices import Frozen, Unchanged
from warmset.window.stored_choices import store_choices, stored_choices

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.options import Weights
    from warmset.pick import Picker
    from warmset.state.ledger import Ledger
    from warmset.window.render import Call
    from warmset.window.request import Ask, Request
    from warmset.window.stored_choices import Key
    from warmset.window.summaries import CompactionPolicy, Summaries


def key_of_choices(
    request: Request,
    ask: Ask,
    call: Call,
    weights: Weights,
    picker: Picker | None,
    policy: CompactionPolicy | None,
) -> Key:
    """Return what choices are made for: two windows with equal keys repeat them in one process."""
    return (*request.key, *ask.key, call.target, weights, picker, policy)


class ExchangeChoices:
    """What the exchange's last window chose, and what this one does; the engine's lock is held.

    Args:
        engine: The store.
        ledger: The conversation.
        request: The request.
        key: What the choices are for; see `key_of_choices`.
        summaries: The conversation's summaries; None without a policy.
    """

    def __init__(
        self,
        engine: Engine,
        ledger: Ledger,
        request: Request,
        key: Key,
        summaries: Summaries | None,
    ) -> None:
        self._engine, self._ledger, self._request, self.key = engine, ledger, request, key
        last = ledger.frozen
        if not isinstance(last, (Frozen, Unchanged)) or last.key != key:
            read = None if summaries is None else summaries.stored
            last = stored_choices(engine, ledger, request, key, read)
        self._last = last

    @property
    def frozen(self) -> Frozen | None:
        """The choices of a window that left something out."""
        return self._last if isinstance(self._last, Frozen) else None

    @property
    def whole(self) -> bool:
        """Whether the last window was the whole list."""
        return isinstance(self._last, Unchanged)

    @property
    def memories(self) -> tuple[int, ...] | None:
        """The memories that the exchange's last window quoted; None if this is the first one."""
        return self._last.memories if isinstance(self._last, (Frozen, Unchanged)) else None

    def keep(self, chosen: Frozen | Unchanged) -> None:
        """Remember what this window chose, and store it if the exchange begins with it."""
        if type(chosen) is not type(self._last):
            store_choices(self._engine, self._ledger, self._request, self.key, chosen)
        self._ledger.frozen = chosen

    def keep_whole(self, memories: tuple[int, ...] = ()) -> None:
        """Remember that this window is the whole list; see `keep`.

        Args:
            memories: Ids of the memories that it quotes besides.
        """
        self.keep(Unchanged(self.key, memories))
