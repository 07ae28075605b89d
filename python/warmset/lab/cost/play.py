"""Plays a session in one mode: the real library makes each list, a simulated cache takes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import BudgetTooSmall
from warmset.lab.corpus.shown import EVERYTHING
from warmset.lab.cost.compaction import Later, compacting
from warmset.lab.cost.prompt_cache import PromptCache
from warmset.lab.cost.request import Blocks
from warmset.lab.cost.thinking import Thinking
from warmset.memory import Memory
from warmset.money import price

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.lab.cost.prompt_cache import Hit
    from warmset.lab.cost.request import Block
    from warmset.lab.cost.workload import Step, Workload
    from warmset.llm import ListRequest
    from warmset.money import Prices
    from warmset.window.result import Window

EPOCH: Final = 1_767_225_600.0
"""When sessions begin: 2026-01-01, in seconds since 1970 UTC."""

MODEL: Final = "claude-opus-5-5"
"""A model that checks what stands before its thinking."""


@dataclass(slots=True, kw_only=True)
class Played:
    """What a session came to in one mode.

    Args:
        mode: The mode.
        prices: The prices with which it was played.
        calls: The tokens of each call: fresh, cached, written, output.
        compactions: Those of each request for a compaction.
        asked: How often a fact was asked for.
        found: How often the list had it.
        kept: Blocks of thinking that were sent and valid, over all lists.
        possible: Blocks of thinking of the replies that the lists showed.
        since_kept: Those of `kept` whose reply came since the list was made anew; 0 in modes
            without epochs.
        since_possible: Those of `possible`, likewise.
        invalid: Blocks that were sent although something before them had changed.
        waits: Calls that waited for a summary.
        refused: Calls for which no list could be made within the budget.
    """

    mode: str
    prices: Prices
    calls: list[tuple[int, int, int, int]] = field(default_factory=list)
    compactions: list[tuple[int, int, int, int]] = field(default_factory=list)
    asked: int = 0
    found: int = 0
    kept: int = 0
    possible: int = 0
    since_kept: int = 0
    since_possible: int = 0
    invalid: int = 0
    waits: int = 0
    refused: int = 0

    def tokens(self, at: int) -> int:
        """Return the sum of one kind of tokens: 0 fresh, 1 cached, 2 written, 3 output.

        Requests for compactions are included.
        """
        return sum(call[at] for call in (*self.calls, *self.compactions))

    def money(self, prices: Prices) -> float:
        """Return what the calls and the compactions cost together, in USD."""
        return sum(price(prices, *call) for call in (*self.calls, *self.compactions))


def play(
    workload: Workload,
    mode: Any,
    *,
    budget: int,
    prices: Prices,
    compacts: bool = False,
    progress: Callable[[], None] = lambda: None,
) -> Played:
    """Play a session.

    The caller keeps its own list of messages and gives it to `Memory.process` at each call, as a
    client would that knows nothing of windows.

    Args:
        workload: The session.
        mode: The mode; "full" has no budget.
        budget: The most tokens of a list.
        prices: The model's prices.
        compacts: Whether the provider compacts lists that came near the budget.
        progress: Called after each call.
    """
    judge, later = _Judge(Played(mode=mode, prices=prices)), Later()
    policy = None
    if compacts:
        policy = compacting(later, lambda sent, made: judge.compaction(sent, made, later.now))
    history: list[Any] = []
    with Memory.open(None, embedder="lexical") as memory:
        for step in workload.steps:
            history.extend(step.messages)
            later.until(max(step.at, later.now))
            try:
                window = memory.process(
                    history,
                    conversation="session",
                    budget=EVERYTHING if mode == "full" else budget,
                    mode=mode,
                    dialect="anthropic",
                    system=workload.system,
                    tools=workload.tools or None,
                    model=MODEL,
                    prices=prices,
                    compaction=policy,
                    at=EPOCH + step.at,
                )
            except BudgetTooSmall:
                window = None
            judge.call(step, window, later.now)
            history.append(step.reply)
            progress()
    if policy is not None:
        judge.played.waits = later.waits
    return judge.played


class _Judge:
    """Counts what is sent, what the cache has of it, and what stands in it.

    Args:
        played: Where it is counted.
    """

    def __init__(self, played: Played) -> None:
        self.played = played
        self._blocks = Blocks()
        self._thinking = Thinking()
        self._cache = PromptCache(played.prices)

    def call(self, step: Step, window: Window | None, at: float) -> None:
        """Judge one call.

        Args:
            step: The call.
            window: Its list; None if none could be made.
            at: When it is made, in seconds since the session began.
        """
        played = self.played
        played.asked += len(step.asked)
        if window is None:
            played.refused += 1
            return
        given = window.anthropic()
        sent = self._blocks.request(given["messages"], given.get("system"), given.get("tools"))
        replied = self._blocks.messages([step.reply])
        hit, output = self._send(sent, at), _tokens(replied)
        played.calls.append((hit.fresh, hit.cached, hit.written, output))
        epoch = window.report.epoch
        thought = self._thinking.send(sent, anew=epoch is not None and epoch.began)
        self._thinking.reply(replied)
        played.kept += thought.kept
        played.possible += thought.possible
        if epoch is not None:
            played.since_kept += thought.since_kept
            played.since_possible += thought.since_possible
        played.invalid += thought.invalid
        everything = b"".join(block.piece.content for block in sent)
        played.found += sum(fact.encode() in everything for fact in step.asked)
        compaction = window.report.compaction
        played.waits += compaction is not None and compaction.waited > 0

    def compaction(self, request: ListRequest, message: Any, at: float) -> tuple[int, int]:
        """Judge a request for a compaction; return its tokens and those of the answer.

        Args:
            request: The list.
            message: What takes its place.
            at: When it is answered, in seconds since the session began.
        """
        sent = self._blocks.request(request.messages, request.system, request.tools)
        replied = self._blocks.messages([message])
        hit, output = self._send(sent, at), _tokens(replied)
        self.played.compactions.append((hit.fresh, hit.cached, hit.written, output))
        self._thinking.compact(sent, replied[0])
        return _tokens(sent), output

    def _send(self, sent: list[Block], at: float) -> Hit:
        return self._cache.send([block.piece for block in sent], at)


def _tokens(blocks: list[Block]) -> int:
    return sum(block.piece.tokens for block in blocks)
