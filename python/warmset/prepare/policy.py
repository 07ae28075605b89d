"""What a preparation is to do: who writes, where the lines are, how long a window may wait."""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from warmset import summarize
from warmset.errors import InvalidInputError
from warmset.prepare.states import Counters
from warmset.prepare.worker import Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.messages import Message
    from warmset.prepare.states import Event
    from warmset.prepare.worker import Worker
    from warmset.summarize import Summarizer

TRIGGER_RATIO: Final = 2 / 3
TAIL: Final = 0.25
KEEP: Final = 4
MIN_SAVING: Final = 0.05
DEADLINE: Final = 2.0
TIMEOUT: Final = 120.0
LONGEST: Final = 2_000
CARRIED: Final = 400

PAUSES: Final = (1.0, 60.0)
"""Seconds after a first failure, doubled with each further one, and at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What tokens cost beside each other, to decide whether a summary is applied early.

    At the budget a summary is always applied. Applied before it, a summary takes tokens off every
    further call and has the provider read the rest anew once: it pays if
    ``tokens_saved * cache_read * expected_calls`` is more than
    ``rewritten * (cache_write - cache_read)``.

    Args:
        expected_calls: Further calls that are expected.
        cache_read: The price of a token that the provider's prefix cache has, beside 1 for another.
        cache_write: The price of a token that it has not.

    Raises:
        InvalidInputError: An option is out of its range.
    """

    expected_calls: int
    cache_read: float = 0.1
    cache_write: float = 1.25

    def __post_init__(self) -> None:
        calls, read, write = self.expected_calls, self.cache_read, self.cache_write
        if isinstance(calls, bool) or not isinstance(calls, int) or calls < 0:
            raise InvalidInputError(f"expected_calls: expected a number of calls, found {calls!r}")
        _number("cache_read", read, 0, math.inf)
        _number("cache_write", write, 0, math.inf)
        if not read <= write < math.inf:
            raise InvalidInputError(
                "cache_read, cache_write: expected 0 <= cache_read <= cache_write, found "
                f"{read} and {write}"
            )

    def pays(self, tokens_saved: int, rewritten: int) -> bool:
        """Decide whether applying a summary costs less than going on without it.

        Args:
            tokens_saved: Tokens that it takes off each further call.
            rewritten: Tokens from the first one that changes.
        """
        saved = tokens_saved * self.cache_read * self.expected_calls
        return saved > rewritten * (self.cache_write - self.cache_read)


def _extractive() -> Summarizer:
    return summarize.ExtractiveSummarizer()


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCompaction:
    """Has the summary ready before it is needed, so that no call waits for it.

    At the trigger a thread begins to summarise the conversation up to a boundary; the agent goes
    on. At the budget, which is the window's budget, the summary takes the place of what is before
    the boundary, and what is after it stays as it is. If the summary is not ready by then the
    window waits until the deadline and leaves the oldest units out.

    Give it to `Memory.open(compaction=...)` or to `Conversation.window(compaction=...)`. That is
    what windows of mode "full" do. Windows of mode "jit" begin summaries at the same line, and show
    the newest that is ready behind the task, from the next request on; they never wait, and have no
    budget. There the summary may take half of what the verbatim messages leave; it leaves before
    recent units do, and goes where all that it stands for is shown. Windows of mode "recency" show
    none.

    Args:
        summarizer: Who writes: a summarizer, or any function of messages and `max_tokens` that
            returns a text; `ExtractiveSummarizer` if not given.
        fallback: Who writes if that fails, or if what it writes is refused; None for nobody.
        trigger_ratio: The share of the budget at which a summary is begun, above 0 and below 1.
        should_compact: Decides that instead, from the messages and their tokens.
        tail: The share of the budget that stays verbatim behind the boundary, about.
        keep: Units that stay behind the boundary at least.
        min_saving: The share of the budget that a summary has to free, else it is not begun.
        deadline: Seconds that windows wait at the budget for a summary that is being written,
            all windows together.
        timeout: Seconds after which a summariser that does not answer is given up.
        max_tokens: Tokens that a summary may have; no more than half of the budget, or a quarter in
            mode "jit".
        carry_tokens: Tokens beside it that may list numbers, paths, names and constraints that the
            summary lacks, at most a fifth of what the summary may have; 0 for no list.
        prices: Decides on a swap before the budget; None never swaps before it.
        on_event: Is called with every `Event`, in the thread where it happened.
        clock: Tells the time in seconds.
        worker: Runs the summariser.

    Raises:
        InvalidInputError: An option is out of its range.
    """

    summarizer: Summarizer | None = None
    fallback: Summarizer | None = field(default_factory=_extractive)
    trigger_ratio: float = TRIGGER_RATIO
    should_compact: Callable[[Sequence[Message], int], bool] | None = None
    tail: float = TAIL
    keep: int = KEEP
    min_saving: float = MIN_SAVING
    deadline: float = DEADLINE
    timeout: float = TIMEOUT
    max_tokens: int = LONGEST
    carry_tokens: int = CARRIED
    prices: Prices | None = None
    on_event: Callable[[Event], object] | None = None
    clock: Callable[[], float] = time.monotonic
    worker: Worker = field(default_factory=Threads)
    counters: Counters = field(default_factory=Counters, init=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("summarizer", "fallback", "should_compact", "on_event"):
            given = getattr(self, name)
            if given is not None and not callable(given):
                raise InvalidInputError(f"{name}: expected a function, found {given!r:.80}")
        self._check_parts()
        for name in ("trigger_ratio", "tail", "min_saving"):
            _number(name, getattr(self, name), 0, 1)
        if not 0 < self.trigger_ratio < 1:
            raise InvalidInputError(
                f"trigger_ratio: must lie above 0 and below 1, found {self.trigger_ratio}"
            )
        if self.tail >= self.trigger_ratio:
            raise InvalidInputError(
                f"tail: must be less than trigger_ratio ({self.trigger_ratio:.2f}), or each "
                f"summary leads to the next; found {self.tail}"
            )
        for name in ("deadline", "timeout"):
            _number(name, getattr(self, name), 0, math.inf)
        for name, low in (("keep", 1), ("max_tokens", 16), ("carry_tokens", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < low:
                raise InvalidInputError(
                    f"{name}: expected an integer of at least {low}, found {value!r}"
                )

    def _check_parts(self) -> None:
        if not callable(self.clock):
            raise InvalidInputError(f"clock: expected a function, found {self.clock!r:.80}")
        if not callable(getattr(self.worker, "start", None)) or isinstance(self.worker, type):
            raise InvalidInputError(f"worker: expected a Worker, found {self.worker!r:.80}")
        if self.prices is not None and not isinstance(self.prices, Prices):
            raise InvalidInputError(f"prices: expected Prices, found {self.prices!r:.80}")

    @property
    def fingerprint(self) -> str:
        """What tells its summaries from those of another policy: who writes, and how much."""
        writers = [_identity(one) for one in (self.summarizer, self.fallback)]
        told = repr((writers, self.max_tokens, self.carry_tokens)).encode()
        return hashlib.blake2b(told, digest_size=8).hexdigest()

    def pause(self, failures: int) -> float:
        """Return the seconds to let pass after so many failures in a row."""
        first, most = PAUSES
        return min(most, first * 2.0 ** min(failures - 1, 16))


def policy_of(given: object) -> PreparedCompaction | None:
    """Take what a caller gave as `compaction`.

    Raises:
        InvalidInputError: It is something else.
    """
    if given is None or isinstance(given, PreparedCompaction):
        return given
    raise InvalidInputError(f"compaction: expected a PreparedCompaction, found {given!r:.80}")


def _identity(writer: object) -> str | None:
    """Return a name for who writes that is the same in the next process."""
    if writer is None:
        return None
    given = getattr(writer, "fingerprint", None)
    if isinstance(given, str):
        return given
    name = getattr(writer, "__qualname__", None) or type(writer).__qualname__
    return f"{getattr(writer, '__module__', None) or type(writer).__module__}.{name}"


def _number(name: str, value: object, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise InvalidInputError(f"{name}: expected a number from {low} to {high}, found {value!r}")
