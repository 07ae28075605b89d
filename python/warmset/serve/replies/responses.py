"""OpenAI Responses: the items of the output, from a whole answer or as each one is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from warmset.messages.text import kind_of
from warmset.serve.replies.draft import About

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.messages import Dialect, Message
    from warmset.serve.replies.reply import Reply

_ENDED: Final = ("completed", "incomplete")


class ResponsesDraft:
    """The reply of OpenAI Responses in the making; see `Draft`."""

    dialect: Dialect = "responses"

    def __init__(self) -> None:
        self._about = About()
        self._items: dict[int, Message] = {}
        self._output: list[Message] = []
        self._status: str | None = None

    def whole(self, answer: Mapping[str, Any]) -> None:
        """Read a response; a list that another one was compacted to is none."""
        self._about.note(answer)
        if answer.get("object", "response") == "response":
            self._output = answer.get("output") or self._output
            self._status = answer.get("status") or self._status

    def event(self, event: Mapping[str, Any]) -> None:
        """Read an event: those with a response, and those with an item that is done."""
        kind = kind_of(event)
        if kind == "response.output_item.done":
            place = event.get("output_index", len(self._items))  # some servers say none
            self._items[place] = event["item"]
        elif kind == "error":
            self._status = "failed"
        elif kind.startswith("response.") and isinstance(event.get("response"), dict):
            self.whole(event["response"])

    def end(self) -> None:
        """Nothing more is known by it."""

    def reply(self) -> Reply:
        """Return what is there so far.

        The output of the response counts where it is there, else the items that are done. Reasoning
        at the end of what was not completed is left out, because the provider refuses it without
        the item that follows it.
        """
        items = self._output or [item for _, item in sorted(self._items.items())]
        while items and self._status != "completed" and kind_of(items[-1]) == "reasoning":
            items = items[:-1]
        is_complete = self._status in _ENDED
        return self._about.reply(items, is_complete=is_complete, stop=self._status)
