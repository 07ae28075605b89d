"""One summary in work at a model: when it must be there, and what it took so far."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from warmset._core import count_texts
from warmset.errors import SummarizerError, SummaryRefused
from warmset.summarize.checks import checked_text
from warmset.summarize.prompt import join
from warmset.usage import Usage

if TYPE_CHECKING:
    from warmset.llm import Answer, Asker, Prompt
    from warmset.summarize.prompt import Guidance


class Job:
    """One summary in work.

    Args:
        asker: Asks the model; raises `SummarizerError`.
        max_tokens: Tokens that the summary should have at most.
        guidance: What the summary should be like.
    """

    def __init__(self, asker: Asker, max_tokens: int, guidance: Guidance) -> None:
        self._asker = asker
        self._max_tokens = max_tokens
        self._guidance = guidance
        self._started = time.perf_counter()
        self.usage = Usage(0, 0)

    def ask(self, prompt: Prompt) -> str:
        """Ask once, and see that the answer can be a summary."""
        try:
            answer = self._asker.ask(prompt, seconds=self._asker.terms.timeout - self._passed())
            self._add(answer.usage)
            return _whole(answer)
        except SummarizerError as error:
            if isinstance(error.usage, Usage):
                self._add(error.usage)
            error.usage = self.usage
            raise

    def fold(self, parts: list[str], previous: str | None, budget: int, encoding: str) -> str:
        """Make one summary of those of parts, as many at a time as a prompt takes."""
        costs = count_texts(parts, encoding)
        at = 0
        while at < len(parts):
            group = [parts[at]]
            room = budget - costs[at]
            at += 1
            while at < len(parts) and costs[at] <= room:
                group.append(parts[at])
                room -= costs[at]
                at += 1
            prompt = join(
                group,
                previous=previous,
                max_tokens=self._max_tokens,
                guidance=self._guidance,
            )
            previous = self.ask(prompt)
        return previous or ""

    def _add(self, more: Usage) -> None:
        self.usage = Usage(
            self.usage.input + more.input,
            self.usage.output + more.output,
            self._passed() * 1000,
            estimated=self.usage.estimated or more.estimated,
        )

    def _passed(self) -> float:
        return time.perf_counter() - self._started


def _whole(answer: Answer) -> str:
    if answer.fault is None:
        return checked_text(answer.text)
    reason = "refusal" if "refused" in answer.fault or "withheld" in answer.fault else "cut"
    raise SummaryRefused(reason, answer.fault)
