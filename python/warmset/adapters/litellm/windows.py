"""The window of a request: what is stored, what is sent, and what is said about it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from warmset._support.log import event, kind as kind_of_error, room
from warmset.adapters.litellm.claude import THINKING, ClaudeList
from warmset.adapters.litellm.framework import models_behind
from warmset.adapters.litellm.requests import CHAT, MESSAGES, RESPONSES, Kind
from warmset.errors.reason import reason_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.adapters.litellm.stores import Stores
    from warmset.messages import Message
    from warmset.options import Mode
    from warmset.tokens.budget import Budget
    from warmset.window.options import WindowKeywords
    from warmset.window.result import Window

LOG: Final = room("serve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What became of a request.

    Args:
        changed: The fields that are sent in the place of the request's.
        note: What is said about it.
        kind: The kind of the request; None if it is none with a list.
        tenant: Whose it is.
        conversation: Its conversation; empty if it has none.
        window: The window that is sent; None if the request goes as it came.
        claude: Whether a list of Chat Completions is kept in the dialect of Anthropic.
    """

    changed: Mapping[str, Any]
    note: str
    kind: Kind | None = None
    tenant: str = ""
    conversation: str = ""
    window: Window | None = None
    claude: bool = False


class Windows:
    """Makes the windows of requests.

    Args:
        stores: Where the messages are kept.
        budget: The most tokens that a request's input may have.
        mode: How windows are made.
        options: More options of windows.
    """

    def __init__(
        self, stores: Stores, budget: int | Budget, mode: Mode, options: WindowKeywords
    ) -> None:
        self._stores = stores
        self._budget = budget
        self._mode: Mode = mode
        self._options = options

    def make(self, request: Mapping[str, Any], kind: Kind, tenant: str, name: str) -> Sent:
        """Store the new messages of a request, and make its window.

        Args:
            request: The request.
            kind: Its kind.
            tenant: Whose it is.
            name: The conversation.

        Returns:
            What is sent; nothing changes if anything fails. Never raises an `Exception`.
        """
        try:
            return self._made(request, kind, tenant, name)
        except Exception as error:  # noqa: BLE001 - whatever fails here, the request goes on
            return bypassed(reason_of(error), error)

    def note(self, sent: Sent, reply: Any) -> None:
        """Store a reply behind the window that it was made for; one that fails comes again.

        Args:
            sent: What was sent for it.
            reply: The response, as LiteLLM returns it.
        """
        if sent.window is None or sent.kind is None:
            return
        try:
            messages = replies(sent, reply)
            after = None if sent.window.sent is None else sent.window.sent.until or None
            if messages:
                with self._stores.of(sent.tenant) as memory:
                    conversation = memory.conversation(sent.conversation)
                    conversation.append(messages, window=sent.window, after=after)
        except Exception as error:  # noqa: BLE001 - the caller gets its answer
            event(LOG, logging.WARNING, "reply_left", error=kind_of_error(error))

    def _made(self, request: Mapping[str, Any], kind: Kind, tenant: str, name: str) -> Sent:
        model, claude = _model(request.get("model"))
        given: Any = request[kind.messages]
        if isinstance(given, str):
            given = [{"role": "user", "content": given}]
        with self._stores.of(tenant) as memory:
            known = memory.conversation(name).dialect
            dialect = kind.dialect
            if kind is CHAT and known != "openai":
                dialect = "anthropic" if known or claude or _thinks(given) else "openai"
            options: WindowKeywords = {**self._options, "dialect": dialect}
            if model:
                options["model"] = model
            if tools := request.get("tools"):
                options["tools"] = tools
            read = ClaudeList(given) if dialect != kind.dialect else None
            system = read.system if read else request.get(kind.system) if kind.system else None
            if system:
                options["system"] = system
            window = memory.process(
                read.messages if read else given,
                conversation=name,
                budget=self._budget,
                mode=self._mode,
                **options,
            )
        changed, notes = _changed(request, kind, window, read)
        report = window.report
        said = f"mode={report.mode}; tokens={window.tokens}; saved={report.saved:.2f}"
        return Sent(
            changed=changed,
            note="; ".join((said, *notes)),
            kind=kind,
            tenant=tenant,
            conversation=name,
            window=window,
            claude=read is not None,
        )


def bypassed(reason: str, error: BaseException | None = None) -> Sent:
    """Return a request as it came, and log a warning."""
    named = None if error is None else kind_of_error(error)
    event(LOG, logging.WARNING, "bypassed", surface="litellm", reason=reason, error=named)
    return Sent(changed={}, note=f"bypass; reason={reason}")


def _changed(
    request: Mapping[str, Any], kind: Kind, window: Window, read: ClaudeList | None
) -> tuple[dict[str, Any], list[str]]:
    """Return the fields that differ from the request's, and what is to be known besides."""
    given, notes = request[kind.messages], list[str]()
    changed: dict[str, Any] = {}
    messages: list[Any]
    if read is not None:
        messages = read.written(window)
    elif kind is MESSAGES:
        messages = list[Any](window.anthropic()["messages"])
        if window.system != request.get("system"):
            changed["system"] = window.system
    elif kind is RESPONSES:
        messages = list[Any](window.responses()["input"])
    else:
        messages = list[Any](window.openai()["messages"])
        if messages != given and _thinks(messages):
            messages = [_bare(one) for one in messages]
            notes.append("thinking=left_out")
    if window.report.thinking.disabled and request.get("thinking"):
        changed["thinking"] = {"type": "disabled"}
        notes.append("thinking=disabled")
    plain = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if messages != plain:
        changed[kind.messages] = messages
    return changed, notes


def replies(sent: Sent, reply: Any) -> list[Message]:
    """Return the messages of a response as a client sends them back; none if it has none."""
    dumped = reply.model_dump(exclude_none=True) if hasattr(reply, "model_dump") else reply
    if not isinstance(dumped, dict) or sent.kind is None:
        return []
    if sent.kind is RESPONSES:
        return [*dumped.get("output", ())] if dumped.get("status") == "completed" else []
    if sent.kind is MESSAGES:
        content = dumped.get("content")
        return [{"role": "assistant", "content": content}] if content else []
    choices = dumped.get("choices") or [{}]
    message = choices[0].get("message")
    if not message:
        return []
    return [ClaudeList([]).read(message)] if sent.claude else [message]


def _model(name: object) -> tuple[str, bool]:
    """Return the name of a model as its provider has it, and whether it is Claude."""
    if not isinstance(name, str) or not name.strip():
        return "", False
    behind = models_behind(name)
    one = behind[0] if len(behind) == 1 else name
    return one.rpartition("/")[2], any("claude" in model.lower() for model in behind)


def _thinks(messages: Sequence[Any]) -> bool:
    return any(isinstance(one, dict) and one.get("thinking_blocks") for one in messages)


def _bare(message: Message) -> Message:
    return {key: value for key, value in message.items() if key not in THINKING}
