"""The policy of a prepared compaction: who writes summaries, when, and how long windows wait."""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from warmset import summarize
from warmset.errors import InvalidInputError
from warmset.money.prices import check_prices
from warmset.prepare.states import Counters
from warmset.prepare.worker import Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.messages import Message
    from warmset.money import Prices
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
"""Seconds to pause after a first failure, doubled with each further one, and the most seconds."""


def _extractive() -> Summarizer:
    return summarize.ExtractiveSummarizer()


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCompaction:
    """Prepares summaries in the background, so that calls need not wait for them.

    Pass it to `Memory.open(compaction=...)` or to `Conversation.window(compaction=...)`.

    In mode "full": when a window reaches `trigger_ratio` of its budget, a thread starts to
    summarise the conversation up to a boundary, and the agent continues. When the window reaches
    the budget, the summary replaces the messages before the boundary; those after it stay
    unchanged. If the summary is not ready by then, the window waits until the deadline, and then
    leaves the oldest units out.

    In mode "jit": summaries are started at the same size, and the newest one that is ready is shown
    after the task, from the next request on; no window waits. The summary may take half of the
    tokens that the verbatim messages leave. It is left out before recent units are, and when all
    messages that it replaces are shown.

    In mode "steady", the summary that is ready stands at the front of a list that is made anew. A
    provider's compaction, as `AnthropicCompaction`, takes the place of a list that came near the
    budget, and keeps the thinking of the messages since.

    In mode "recency", no summary is shown.

    Args:
        summarizer: Who writes: a summarizer, any function of messages and `max_tokens` that returns
            a text, or a provider's compaction; `ExtractiveSummarizer` if not given.
        fallback: Writes the summary if the summarizer fails or its text is rejected; None for no
            fallback.
        trigger_ratio: The share of the budget at which a summary is started, above 0 and below 1.
        should_compact: Decides, from the messages and their tokens, whether to start a summary;
            replaces `trigger_ratio`.
        tail: The approximate share of the budget that stays verbatim after the boundary.
        keep: The least number of units that stay after the boundary.
        min_saving: The least share of the budget that a summary must save; otherwise it is not
            started.
        deadline: The most seconds that all windows together wait at the budget for a summary that
            is being written.
        timeout: Seconds after which a summarizer that does not answer is abandoned.
        max_tokens: The most tokens of a summary; it is also limited to half of the budget, or a
            quarter in mode "jit".
        carry_tokens: The most tokens of a list, beside the summary, of numbers, paths, names and
            constraints that it lacks; also limited to a fifth of the summary's limit. 0 for no
            list.
        prices: The model's prices, by which a summary may be applied before the budget is reached;
            None never applies it earlier.
        expected_calls: The expected number of further calls, for `prices`.
        on_event: Called with every `Event`, in the thread where it happened.
        clock: Returns the time in seconds.
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
    expected_calls: int | None = None
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
        check_prices(self.prices)
        calls = self.expected_calls
        if calls is not None and (
            isinstance(calls, bool) or not isinstance(calls, int) or calls < 0
        ):
            raise InvalidInputError(f"expected_calls: expected a number of calls, found {calls!r}")
        if (calls is None) != (self.prices is None):
            raise InvalidInputError(
                "prices, expected_calls: expected both or neither: together they decide "
                "whether a summary is applied early"
            )

    @property
    def fingerprint(self) -> str:
        """Identifies the policy's summaries: a hash of who writes, and how much."""
        writers = [_identity(one) for one in (self.summarizer, self.fallback)]
        identity = repr((writers, self.max_tokens, self.carry_tokens)).encode()
        return hashlib.blake2b(identity, digest_size=8).hexdigest()

    def pause(self, failures: int) -> float:
        """Return the seconds to pause after a number of failures in a row."""
        first, most = PAUSES
        return min(most, first * 2.0 ** min(failures - 1, 16))


def policy_of(given: object) -> PreparedCompaction | None:
    """Check and return the policy that a caller passed as `compaction`.

    Raises:
        InvalidInputError: It is not a `PreparedCompaction`.
    """
    if given is None or isinstance(given, PreparedCompaction):
        return given
    raise InvalidInputError(f"compaction: expected a PreparedCompaction, found {given!r:.80}")


def _identity(writer: object) -> str | None:
    """Return a name for a summarizer that is the same in every process."""
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
