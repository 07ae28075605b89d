"""The interface between windows and a prepared compaction; `warmset.prepare` implements it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection

    from warmset.engine.engine import Engine
    from warmset.llm import ListRequest
    from warmset.messages import Message
    from warmset.messages.prefix import Prefix
    from warmset.state.ledger import Ledger
    from warmset.window.assemble import Assembled
    from warmset.window.choices import Settled
    from warmset.window.render import Call
    from warmset.window.result import Compaction


class CompactionPolicy(Protocol):
    """Decides who writes summaries, and when: `warmset.PreparedCompaction`."""

    @property
    def fingerprint(self) -> str:
        """Identifies the policy's summaries among those of other policies."""
        ...


class Summaries(Protocol):
    """The summaries of one conversation under one policy."""

    def full(self, call: Call, /) -> tuple[Assembled, Compaction]:
        """Build a window that shows all messages, or a summary in place of the oldest."""
        ...

    def offer(
        self,
        call: Call,
        /,
        *,
        share: float | None = None,
        wait: bool = False,
        prefix: PrefixOf | None = None,
    ) -> Settled | None:
        """Return the newest summary that is ready, and start another one if it is due.

        Args:
            call: What the messages are for.
            share: The share of the budget that a summary may have; None for the usual one.
            wait: Whether to wait for the summary that is being written, up to the policy's
                deadline.
            prefix: Returns the list up to a boundary, as it was sent.
        """
        ...

    def stored(self, id_: int, /) -> Settled | None:
        """Return a summary by its record's id; None if it is not one of the policy's any more."""
        ...

    def shown(self, made: Assembled, /) -> Compaction:
        """Record whether a window that quotes turns shows a summary."""
        ...

    @property
    def compactions(self) -> Compactions | None:
        """The compactions of the provider; None where the policy has none."""
        ...


PrefixOf: TypeAlias = Callable[[int], "ListRequest | None"]
"""Returns the part of a list before a number of the conversation's messages, as it was sent; None
where there is no such part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentOut:
    """A list of an epoch that a provider may compact.

    Args:
        request: The list, as it is sent for a reply.
        token: The name of the epoch record that it was recorded with.
        count: The number of the conversation's messages that it covers.
        head: The id of the last of them.
        behind: What a reply to it is made behind.
        tokens: Its tokens.
        sources: Ids of the records that it shows or was made from.
    """

    request: ListRequest
    token: str
    count: int
    head: int
    behind: Prefix
    tokens: int
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """What a provider returned in the place of a list.

    Args:
        id: The id of its record; None while the record is in the spool.
        token: The name of the epoch record of the list.
        count: The number of the conversation's messages that the list covers.
        head: The id of the last of them.
        behind: What a reply to the list is made behind.
        messages: The messages, as they came.
        text: What they say, where that can be read; else empty.
        tokens: Their tokens, as the provider counts them; 0 if it does not say.
        before: The tokens of the list.
        spent: Tokens that the provider's model used.
        sources: Ids of the records that the list was made from.
        adopted: Whether another process, or an earlier one, asked for it.
    """

    id: int | None
    token: str
    count: int
    head: int
    behind: Prefix
    messages: tuple[Message, ...]
    text: str
    tokens: int
    before: int
    spent: int
    sources: tuple[int, ...]
    adopted: bool = False


class Compactions(Protocol):
    """A provider's compactions of one conversation; at most one is asked for at a time."""

    def obstacle(self, call: Call, /) -> str | None:
        """Return why the provider cannot be asked now; None if it can, or is being asked."""
        ...

    def arrived(self, tokens: Collection[str], /, *, wait: bool = False) -> Returned | None:
        """Return what the provider returned for a list of the current epoch.

        Args:
            tokens: The names of the epoch's records.
            wait: Whether to wait for it, up to the policy's deadline.
        """
        ...

    def ask(self, sent: SentOut, budget: int, /) -> None:
        """Ask the provider in the background, from the policy's trigger on.

        Args:
            sent: The list.
            budget: The most tokens that it may have.
        """
        ...

    def give_up(self, why: str, /) -> None:
        """Do without what was asked for or has arrived."""
        ...

    def applied(self, one: Returned, /) -> None:
        """Take note that a list shows what the provider returned."""
        ...


Prepare: TypeAlias = Callable[["Engine", "Ledger", CompactionPolicy], Summaries]
"""Returns the summaries of a conversation under a policy."""
