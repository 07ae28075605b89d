"""Summarizers that ask a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset._core import content_hash
from warmset.errors import InvalidInputError, SummarizerError
from warmset.llm import Asker, FunctionModel, Terms
from warmset.messages import accept, facts, resolve
from warmset.summarize.base import SummaryReply
from warmset.summarize.checks import checked_wish
from warmset.summarize.job import Job
from warmset.summarize.prompt import TURN, Guidance, chunks, write

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from warmset.messages import Message
    from warmset.summarize.prompt import Chunk

TIMEOUT: Final = 60.0
"""Seconds that a summarizer's model has for all of its answers to one call."""

PROMPT_TOKENS: Final = 24_000
"""Tokens of turns in one prompt: what small models still read with care."""

MAX_PROMPTS: Final = 64
"""Prompts that one summary may take; more of them are a bill that nobody asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """How much goes into the prompts of a summary.

    Args:
        prompt_tokens: Tokens of turns in one prompt.
        max_prompts: Prompts that one summary may take.
        turn_chars: Characters of a turn that the model sees; of a longer one, beginning and end.

    Raises:
        InvalidInputError: An option is out of its range.
    """

    prompt_tokens: int
    max_prompts: int
    turn_chars: int = TURN

    def __post_init__(self) -> None:
        for name, number, least in (
            ("prompt_tokens", self.prompt_tokens, 256),
            ("max_prompts", self.max_prompts, 1),
            ("turn_chars", self.turn_chars, 80),
        ):
            if isinstance(number, bool) or not isinstance(number, int) or number < least:
                raise InvalidInputError(f"{name}: expected at least {least}, found {number!r}")


class Writer:
    """Asks a model for summaries, and makes sure that they are some.

    What does not fit one prompt is summarised in parts, and the parts then together with the
    earlier summary.

    Args:
        asker: Asks the model; raises `SummarizerError`.
        parts: How much goes into a prompt.
        instructions: Instructions of the application for every summary.

    Raises:
        InvalidInputError: The instructions are no text.
    """

    def __init__(self, asker: Asker, parts: Parts, instructions: str | None) -> None:
        self._asker = asker
        self._parts = parts
        self._instructions = checked_wish("instructions", instructions)

    def fingerprint(self, owner: object) -> str:
        """Return what tells the summaries of a summarizer from others: its class and wishes."""
        kind = type(owner)
        name = f"{kind.__module__}.{kind.__qualname__}"
        if self._instructions is None:
            return name
        return f"{name}:{content_hash(self._instructions.encode('utf-8', 'replace')).hex()[:16]}"

    def write(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        previous: str | None,
        focus: str | None,
    ) -> SummaryReply:
        """Summarise messages; see `LLMSummarizer`."""
        plain = accept(messages)
        dialect = resolve(plain)
        turns = [facts(message, dialect) for message in plain]
        parts, encoding = self._parts, self._asker.terms.encoding
        budget = parts.prompt_tokens
        made = list(chunks(turns, budget=budget, encoding=encoding, longest=parts.turn_chars))
        if len(made) > parts.max_prompts:
            why = (
                f"{len(turns)} turns take {len(made)} prompts of {budget} tokens, "
                f"more than max_prompts ({parts.max_prompts}); summarise fewer turns at a time"
            )
            raise SummarizerError(why)
        guidance = Guidance(self._instructions, checked_wish("focus", focus))
        job = Job(self._asker, max_tokens, guidance)

        def asked(chunk: Chunk, earlier: str | None) -> str:
            prompt = write(chunk.text, previous=earlier, max_tokens=max_tokens, guidance=guidance)
            return job.ask(prompt)

        if len(made) == 1:
            text = asked(made[0], previous)
        else:
            several = [asked(chunk, None) for chunk in made]
            text = job.fold(several, previous, budget, encoding)
        return SummaryReply(text, job.usage, _notes(len(made), sum(one.shortened for one in made)))


class LLMSummarizer:
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
        instructions: Your instructions for every summary: its language or its sections, for
            example. They are added to the prompt, and replace nothing of it.

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
        instructions: str | None = None,
    ) -> None:
        terms = Terms(failure=SummarizerError, timeout=timeout, encoding=encoding)
        parts = Parts(prompt_tokens=prompt_tokens, max_prompts=max_prompts, turn_chars=turn_chars)
        self._writer = Writer(Asker(FunctionModel(complete), terms), parts, instructions)

    @property
    def fingerprint(self) -> str:
        """Identifies its summaries in a store: its class, and a hash of the instructions."""
        return self._writer.fingerprint(self)

    def __call__(
        self,
        messages: Sequence[Message],
        /,
        *,
        max_tokens: int,
        previous: str | None = None,
        focus: str | None = None,
    ) -> SummaryReply:
        """Summarise messages of one dialect.

        Args:
            messages: The messages.
            max_tokens: Tokens that the summary should have at most.
            previous: A summary of what came before them, to be taken up.
            focus: What this summary should keep above all.

        Returns:
            The summary, with what the model took.

        Raises:
            SummarizerError: The model could not be asked, or did not answer in time.
            SummaryRefused: Its answer is no summary.
            InvalidInputError: A message is malformed, or the focus is no text.
        """
        return self._writer.write(messages, max_tokens=max_tokens, previous=previous, focus=focus)


def _notes(prompts: int, shortened: int) -> list[str]:
    notes: list[str] = []
    if prompts > 1:
        notes.append(f"summarised in {prompts} parts")
    if shortened:
        notes.append(f"{shortened} long turns were shown to the model in part")
    return notes
