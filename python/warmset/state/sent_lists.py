"""The lists that were made for a conversation since its last reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warmset._support.locks import guarded
from warmset.messages.prefix import PrefixHash
from warmset.messages.thinking import THOUGHTS
from warmset.state.branches import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.messages import Dialect, Message, System


@dataclass(frozen=True, slots=True)
class SentList:
    """A list as it was made for a call.

    Args:
        dialect: Its dialect.
        messages: Its messages, before neighbours are merged.
        system: The system prompt beside them.
        tools: The tools of the call.
        model: The model that it is for; empty if that is not known.
        until: The last message of the conversation when it was made; `ROOT` if there was none.
        request: The text at its end that is not a message of the conversation.
        undetermined: Whether the messages are valid in several dialects.
    """

    dialect: Dialect
    messages: Sequence[Message]
    system: System | None = None
    tools: Sequence[Mapping[str, Any]] | None = None
    model: str = ""
    until: int = ROOT
    request: str | None = None
    undetermined: bool = False

    def after(self, dialect: Dialect) -> PrefixHash | None:
        """Return the hash of the list for a reply; None if the reply is of another dialect.

        Args:
            dialect: The dialect of the reply, one whose thinking is bound.
        """
        if dialect != self.dialect and not self.undetermined:
            return None
        made = PrefixHash(system=self.system, tools=self.tools, model=self.model)
        for message in self.messages:
            made.add(THOUGHTS[dialect].pieces(message))
        return made


@guarded(
    "engine",
    fields=("_last", "_several", "ever", "stored"),
)
class SentLists:
    """What is known of the lists that a conversation's next reply may be made behind.

    Attributes:
        ever: Whether any list was made, in this process or before a stored reply.
        stored: Whether one was made before a stored reply.
    """

    def __init__(self) -> None:
        self.ever = self.stored = False
        self._last: SentList | None = None
        self._several = False

    def note(self, made: SentList) -> None:
        """Take note of a list that was made for a call."""
        self.ever = True
        if made.dialect not in THOUGHTS and not made.undetermined:
            return  # its replies have no thinking that is bound
        if self._last is not None and self._last != made:
            self._several = True
        self._last = made

    @property
    def unknown(self) -> bool:
        """Whether no list was made in this process since the last reply."""
        return self._last is None and not self._several

    def only(self, head: int) -> SentList | None:
        """Return the list that was made since the last reply; None unless it is one.

        Args:
            head: The message that the reply follows.
        """
        return self._last if not self._several and self._fits(head) else None

    def replied(self) -> None:
        """Take note of a reply: the lists before it were sent for it."""
        self._last, self._several = None, False

    def _fits(self, head: int) -> bool:
        return self._last is not None and self._last.until == head
