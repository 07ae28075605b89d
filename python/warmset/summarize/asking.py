"""Summarizers that ask a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError, SummarizerError, SummaryRefused
from warmset.llm import Asker, Completing, Reply
from warmset.messages import accept, facts, resolve
from warmset.summarize.base import SummaryReply
from warmset.summarize.job import Job, failed
from warmset.summarize.prompt import TURN, chunks, write

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from warmset.llm import OutOfTimeError, Prompt
    from warmset.messages import Message

TIMEOUT: Final = 60.0
"""Seconds that a summarizer's model has for all of its answers to one call."""

PROMPT_TOKENS: Final = 24_000
"""Tokens of turns in one prompt: what small models still read with care."""

MAX_PROMPTS: Final = 64
"""Prompts that one summary may take; more of them are a bill that nobody asked for."""


class AskingSummarizer(Asker):
    """Asks a model for summaries, and makes sure that they are some.

    What does not fit one prompt is summarised in parts, and the parts then together with the
    earlier summary.

    Args:
        timeout: Seconds to wait for the model, retries and all parts included.
        prompt_tokens: Tokens of turns in one prompt.
        max_prompts: Prompts that one summary may take.
        turn_chars: Characters of a turn that the model sees; of a longer one, beginning and end.
        encoding: The vocabulary that tokens are counted with where nobody reports them.

    Raises:
        InvalidInputError: An option is out of its range.
    """

    FAILURE = SummarizerError

    def __init__(
        self,
        *,
        timeout: float = TIMEOUT,
        prompt_tokens: int = PROMPT_TOKENS,
        max_prompts: int = MAX_PROMPTS,
        turn_chars: int = TURN,
        encoding: str = "o200k_base",
    ) -> None:
        super().__init__(timeout=timeout, encoding=encoding)
        for name, number, least in (
            ("prompt_tokens", prompt_tokens, 256),
            ("max_prompts", max_prompts, 1),
            ("turn_chars", turn_chars, 80),
        ):
            if isinstance(number, bool) or not isinstance(number, int) or number < least:
                raise InvalidInputError(f"{name}: expected at least {least}, found {number!r}")
        self._prompt_tokens = prompt_tokens
        self._max_prompts = max_prompts
        self._turn_chars = turn_chars

    def __call__(
        self, messages: Sequence[Message], /, *, max_tokens: int, previous: str | None = None
    ) -> SummaryReply:
        """Summarise messages.

        Args:
            messages: Messages of one dialect.
            max_tokens: Tokens that the summary should have at most.
            previous: A summary of what came before them, to be taken up.

        Returns:
            The summary, with what the model took.

        Raises:
            SummarizerError: The model could not be asked, or did not answer in time.
            SummaryRefused: Its answer is no summary.
            InvalidInputError: A message is malformed.
        """
        plain = accept(messages)
        dialect = resolve(plain)
        turns = [facts(message, dialect) for message in plain]
        made = list(
            chunks(
                turns,
                budget=self._prompt_tokens,
                encoding=self._encoding,
                longest=self._turn_chars,
            )
        )
        if len(made) > self._max_prompts:
            why = (
                f"{len(turns)} turns take {len(made)} prompts of {self._prompt_tokens} tokens, "
                f"more than max_prompts ({self._max_prompts}); summarise fewer turns at a time"
            )
            raise SummarizerError(why)
        job = Job(self, max_tokens)
        if len(made) == 1:
            text = job.ask(write(made[0].text, previous=previous, max_tokens=max_tokens))
        else:
            parts = [
                job.ask(write(chunk.text, previous=None, max_tokens=max_tokens)) for chunk in made
            ]
            text = job.fold(parts, previous, self._prompt_tokens, self._encoding)
        return SummaryReply(text, job.spent, _notes(len(made), sum(one.shortened for one in made)))

    def reply(self, prompt: Prompt, seconds: float) -> Reply:
        """Ask the model, and wait no longer than that many seconds; what it took is filled in."""
        if seconds <= 0:
            raise SummarizerError(self._in_all())
        answer = self.answer(prompt, seconds)
        said = answer if isinstance(answer, Reply) else Reply(answer)
        spent = said.spent or self.estimate(prompt, said.text)
        if said.fault is not None:
            reason = "refusal" if "refused" in said.fault or "withheld" in said.fault else "cut"
            raise failed(SummaryRefused(reason, said.fault), spent)
        return Reply(said.text, spent)

    @property
    def seconds(self) -> float:
        """Seconds that the model has for one summary."""
        return self._deadline.seconds

    def late(self, error: OutOfTimeError) -> str:
        """Say why there is no answer in time; the time of all parts together counts."""
        return self._in_all() if "did not answer" in str(error) else str(error)

    def _in_all(self) -> str:
        return f"the model did not answer within {self.seconds:g} s"


class LLMSummarizer(Completing, AskingSummarizer):
    """Asks any model.

    Its tokens are counted here, so a report calls them estimated.

    Args:
        complete: Takes a prompt and returns the model's text, or is a coroutine function that does.
            It runs in a thread of its own, a coroutine in an event loop of its own.
        timeout: Seconds to wait for it, all parts included; a later answer is dropped.
        prompt_tokens: Tokens of turns in one prompt.
        max_prompts: Prompts that one summary may take.
        turn_chars: Characters of a turn that the model sees; of a longer one, beginning and end.
        encoding: The vocabulary that tokens are counted with.

    Raises:
        InvalidInputError: An option is out of its range.
    """

    def __init__(
        self,
        complete: Callable[[str], str] | Callable[[str], Awaitable[str]],
        *,
        timeout: float = TIMEOUT,
        prompt_tokens: int = PROMPT_TOKENS,
        max_prompts: int = MAX_PROMPTS,
        turn_chars: int = TURN,
        encoding: str = "o200k_base",
    ) -> None:
        super().__init__(
            timeout=timeout,
            prompt_tokens=prompt_tokens,
            max_prompts=max_prompts,
            turn_chars=turn_chars,
            encoding=encoding,
        )
        self.set_up(complete)


def _notes(prompts: int, shortened: int) -> list[str]:
    notes: list[str] = []
    if prompts > 1:
        notes.append(f"summarised in {prompts} parts")
    if shortened:
        notes.append(f"{shortened} long turns were shown to the model in part")
    return notes
