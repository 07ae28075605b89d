"""How warmset's compactions stand beside those of others: each behind the same few calls."""

from __future__ import annotations

import tempfile
import time
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benches.python.compact.material import of_dicts, summary_of
from warmset import Memory, PreparedCompaction, compact_context, count_tokens
from warmset.summarize import HEADING

if TYPE_CHECKING:
    from typing import Any

    from benches.python.compact.material import Message

TRIGGER_RATIO, TAIL, DEADLINE = 0.85, 0.2, 30.0
HITS = 12


@dataclass(frozen=True)
class Outcome:
    """What one call gave.

    Args:
        messages: What is sent to a model.
        wall: Seconds that the caller waited.
        cpu: Seconds of the processor, of all threads.
        held: Whether it kept what it promises of the list.
        model_calls: Calls of a model within it.
    """

    messages: list[Message]
    wall: float
    cpu: float
    held: bool
    model_calls: int = 0


class Contestant:
    """One that compacts a list that it was given; of what left, nothing can be had."""

    def take(self, messages: list[Message], share: float, summary_tokens: int) -> None:
        """Get ready for a list and a share of its tokens."""
        raise NotImplementedError

    def call(self, latency: float) -> Outcome:
        """Compact; a model takes so many seconds to answer."""
        raise NotImplementedError

    def found(self, query: str) -> list[int]:
        """Return the positions of the twelve messages that a search finds first."""
        del query
        return []

    def handed(self, at: int) -> Message | None:
        """Return a message that left, by its handle."""
        del at
        return None

    def close(self) -> None:
        """Let go of what it holds."""


class Stored(Contestant):
    """One that has the messages in a conversation of a memory."""

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def open(self, **options: Any) -> None:
        """Begin with an empty memory."""
        self.close()
        self._folder = tempfile.TemporaryDirectory()
        self.memory = Memory.open(
            self._folder.name, embedder=self._embedder, durability="os", **options
        )
        self.log = self.memory.conversation("log")

    def found(self, query: str) -> list[int]:
        """Search the conversation."""
        places = {id_: at for at, id_ in enumerate(self.log.ids)}
        return [places[hit.id] for hit in self.log.search(query, k=HITS)]

    def close(self) -> None:
        """Close the memory."""
        if self._folder is not None:
            self.memory.close()
            self._folder.cleanup()
            self._folder = None


class Compact(Stored):
    """`compact_context`, alone or with a memory that keeps what leaves; vectors are cached."""

    def __init__(self, embedder: Any, *, keeps: bool) -> None:
        super().__init__(embedder)
        self._keeps = keeps

    def take(self, messages: list[Message], share: float, summary_tokens: int) -> None:
        """Embed once, and store the messages where it keeps them."""
        del summary_tokens  # it writes none
        self._given, self._share = messages, share
        asked = [one["content"] for one in messages if one["role"] == "user"][-1]
        self._options: dict[str, Any] = {"query": asked, "embedder": self._embedder}
        if self._keeps:
            self.open()
            self.log.append(messages)
            self.memory.flush()
            self._options = {"query": asked, "memory": self.log}
        self.call(0)

    def call(self, latency: float) -> Outcome:
        """Compact; there is no model to wait for."""
        del latency
        cpu, begin = time.process_time(), time.perf_counter()
        made = compact_context(self._given, target_ratio=self._share, **self._options)
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
        own = {id(one) for one in self._given}
        stands = len([one for one in made.messages if id(one) not in own])
        exact = count_tokens(made.messages) == made.stats.after_tokens <= made.stats.budget
        held = (
            exact
            and stands == len(made.inserted)
            and not made.stats.missing.keys() & {"similarity"}
        )
        self._handles = {drop.id: drop.handle for drop in made.dropped}
        return Outcome(made.messages, wall, cpu, held)

    def found(self, query: str) -> list[int]:
        """Search the conversation, if there is one."""
        return super().found(query) if self._keeps else []

    def handed(self, at: int) -> Message | None:
        """Restore a dropped message."""
        handle = self._handles.get(at)
        return None if handle is None else self.memory.restore(handle)


class Prepared(Stored):
    """A window of a conversation whose summary is written between the trigger and the budget.

    Args:
        embedder: What the memory embeds with.
        carry: Tokens for a list of what the summary lacks.
        ahead: Whether the trigger is crossed before the hard one, and the model's time passes in
            between; else both are crossed by the same call, which has to wait.
    """

    def __init__(self, embedder: Any, *, carry: int = 400, ahead: bool = True) -> None:
        super().__init__(embedder)
        self._carry, self._ahead = carry, ahead
        self._texts: dict[tuple[int, int], str] = {}

    def take(self, messages: list[Message], share: float, summary_tokens: int) -> None:
        """Set the lines so that about the share is left after the swap."""
        assert abs(share - (TAIL + 1 - TRIGGER_RATIO + 0.05)) < 1e-9, "the lines are set for 0.4"
        self._given, self._summary_tokens = messages, summary_tokens
        self._texts.clear()
        self._budget = count_tokens(messages) - 1
        line = TRIGGER_RATIO * self._budget
        places = range(len(messages))
        trigger = bisect_left(places, line, key=lambda at: count_tokens(messages[:at]))
        self._trigger = trigger + 1 if trigger < len(messages) - 2 else trigger
        self.call(0)

    def call(self, latency: float) -> Outcome:
        """Let a conversation grow to the trigger, then to the hard one, which is timed."""
        inside = asked = 0
        at_the_wall = False

        def summary(messages: list[Message], *, max_tokens: int) -> str:
            nonlocal inside, asked
            asked += 1
            inside += at_the_wall
            key = len(messages), max_tokens
            if key not in self._texts:
                self._texts[key] = summary_of(of_dicts(messages), max_tokens)
            time.sleep(latency)
            return self._texts[key]

        policy = PreparedCompaction(
            summarizer=summary,
            fallback=None,
            trigger_ratio=TRIGGER_RATIO,
            tail=TAIL,
            deadline=DEADLINE,
            max_tokens=self._summary_tokens,
            carry_tokens=self._carry,
        )
        self.open(compaction=policy)
        if self._ahead:
            self._grow(policy)
        else:
            self.log.append(self._given)
        self.memory.flush()
        at_the_wall = True
        cpu, begin = time.process_time(), time.perf_counter()
        window = self.log.window(mode="full", budget=self._budget)
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
        told = window.report.compaction
        held = (
            told.applied
            and told.left_out == 0
            and asked == 1
            and inside == (not self._ahead)
            and window.tokens == count_tokens(window.messages) <= self._budget
            and sum(HEADING in str(one["content"]) for one in window.messages) == 1
        )
        return Outcome(window.messages, wall, cpu, held, inside)

    def handed(self, at: int) -> Message | None:
        """Fetch a turn by its id."""
        return dict(self.log.fetch(self.log.ids[at]))

    def _grow(self, policy: PreparedCompaction) -> None:
        """Cross the trigger, have the summary written, and go on to the last message."""
        ask = {"mode": "full", "budget": self._budget}
        self.log.append(self._given[: self._trigger])
        begun = self.log.window(**ask).report.compaction
        assert begun.state in ("preparing", "ready"), begun
        until = time.monotonic() + DEADLINE
        while not policy.counters.prepared and not policy.counters.failed:
            assert time.monotonic() < until, "the summary is written in time"
            time.sleep(0.001)
        assert policy.counters.prepared, policy.counters
        self.log.append(self._given[self._trigger : -1])
        still = self.log.window(**ask)
        assert len(still.messages) == len(self._given) - 1, "all is shown until the budget"
        self.log.append(self._given[-1:])
