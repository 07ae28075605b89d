"""Summaries that a model writes behind the conversation's own list, read from its cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.summarize.base import SummaryReply
from warmset.summarize.checks import checked_wish
from warmset.summarize.job import Job
from warmset.summarize.prompt import Guidance, write_behind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.llm import Asker, ListRequest
    from warmset.messages import Message


class OnPrefix:
    """Summarises a list as it was sent, with one instruction behind it.

    The provider has read that list already, so that only the instruction is new to it.

    Args:
        asker: Asks the model.
        behind: The list, which has the messages to summarise.
        instructions: Instructions of the application for every summary.
        name: Who writes, as reports name it.
    """

    def __init__(
        self, asker: Asker, behind: ListRequest, instructions: str | None, name: str
    ) -> None:
        self._asker = asker
        self._behind = behind
        self._instructions = instructions
        self.__qualname__ = name

    def __call__(
        self,
        messages: Sequence[Message],
        /,
        *,
        max_tokens: int,
        previous: str | None = None,
        focus: str | None = None,
    ) -> SummaryReply:
        """Summarise the list; the messages are in it, and are not sent again.

        Raises:
            SummarizerError: The model could not be asked, or did not answer in time.
            SummaryRefused: Its answer is no summary.
        """
        del messages
        guidance = Guidance(self._instructions, checked_wish("focus", focus))
        job = Job(self._asker, max_tokens, guidance)
        prompt = write_behind(
            self._behind, previous=previous, max_tokens=max_tokens, guidance=guidance
        )
        return SummaryReply(job.ask(prompt), job.usage, ["written behind the conversation's list"])
