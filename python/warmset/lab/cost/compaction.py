"""A simulated provider that compacts lists on demand, in the background, by a simulated clock.

The request carries the list that was sent, so what the prompt cache has of it is read. The reply is
one block of text with a signature, which takes the place of exactly that list. Its size is
simulated and not what a model would say: it states no fact of the session.

Source: the pages on compaction on demand and in the background of platform.claude.com/docs.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final

from warmset.lab.cost.writer import Writer, said
from warmset.llm import Compacted
from warmset.prepare import PreparedCompaction
from warmset.summarize import AnthropicCompaction
from warmset.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.llm import ListRequest

SECONDS: Final = 30.0
"""What a compaction takes: about what a model needs to write as many tokens."""

TOKENS: Final = 2_000
"""About how many tokens the text has; a summary of our own has as many at most."""


class SimulatedCompaction(AnthropicCompaction):
    """Anthropic's compaction on demand, without a server.

    Args:
        asked: Called with each request and the message that answers it; returns the tokens of both.
    """

    def __init__(self, asked: Callable[[ListRequest, dict[str, Any]], tuple[int, int]]) -> None:
        self.model = ""  # the one that the list is for; there is no client to connect
        self._asked = asked
        self._writer = Writer(TOKENS)

    @property
    def fingerprint(self) -> str:
        """Identifies its compactions in a store."""
        return "simulated"

    def compact(self, request: ListRequest) -> Compacted:
        """Have a list compacted."""
        text = self._writer.text(TOKENS)
        signature = base64.b64encode(self._writer.random.randbytes(75)).decode()
        message = said("assistant", {"type": "compaction", "content": text, "signature": signature})
        return Compacted((message,), text, Usage(*self._asked(request, message)))

    def close(self) -> None:
        """Close nothing."""


class Later:
    """A clock, and a worker whose tasks end `SECONDS` after they began.

    A window that waits for a task that it has just started waits for warmset's own summarizer, not
    for a provider: that takes no simulated time.

    Attributes:
        now: The time in seconds.
        waits: How often a window waited for a provider.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.waits = 0
        self._tasks: list[_Task] = []

    def __call__(self) -> float:
        """Return the time in seconds."""
        return self.now

    def start(self, task: Callable[[], None], /) -> _Task:
        """Start a task; see `Worker`."""
        made = _Task(self, task)
        self._tasks.append(made)
        return made

    def until(self, now: float) -> None:
        """Let time pass, and end the tasks that end meanwhile, in order.

        Args:
            now: The time in seconds, never before that of the call before.
        """
        while self._tasks and self._tasks[0].ends <= now:
            self.now = self._tasks[0].ends
            self.end(self._tasks[0])
        self.now = now

    def end(self, task: _Task) -> None:
        """End a task."""
        self._tasks.remove(task)
        task.run()


class _Task:
    """A task that was started; see `Ticket`."""

    def __init__(self, later: Later, run: Callable[[], None]) -> None:
        self._later = later
        self._run = run
        self._began = later.now
        self._ended = False
        self.ends = later.now + SECONDS

    def run(self) -> None:
        """Run it."""
        self._ended = True
        self._run()

    def wait(self, seconds: float, /) -> bool:
        """Wait for its end for at most some seconds; return whether it has ended."""
        if self._ended:
            return True
        later = self._later
        if self._began == later.now:
            later.end(self)
        else:
            later.waits += 1
            later.until(min(later.now + seconds, self.ends))
        return self._ended


def compacting(
    later: Later, asked: Callable[[ListRequest, dict[str, Any]], tuple[int, int]]
) -> PreparedCompaction:
    """Return a policy that has the simulated provider compact.

    Args:
        later: The clock and the worker.
        asked: Called with each request and the message that answers it; returns the tokens of both.
    """
    return PreparedCompaction(summarizer=SimulatedCompaction(asked), clock=later, worker=later)
