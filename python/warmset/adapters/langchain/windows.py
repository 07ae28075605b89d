"""The window of a model call of an agent: who asks, in which conversation, and what is sent."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from warmset._extras import extra
from warmset.adapters._windows import parted, refuse_provider_compaction
from warmset.adapters.langchain.conversion import dicts, restored
from warmset.errors import BudgetTooSmall, InvalidInputError

with extra("langchain"):
    from langchain_core.exceptions import ContextOverflowError
    from langchain_core.messages import SystemMessage
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.config import get_config

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import BaseMessage

    from warmset.adapters.langchain.conversion import Spoken
    from warmset.memory import Memory
    from warmset.options import Mode
    from warmset.tokens.budget import Budget
    from warmset.window.options import WindowKeywords
    from warmset.window.result import Window


@dataclass(frozen=True, slots=True)
class Call:
    """What one model call is made of.

    Args:
        messages: The agent's messages, without the system prompt.
        system: The system prompt.
        tools: Tools, as LangChain has them.
        model: The model that answers; None if that is not known yet.
    """

    messages: Sequence[BaseMessage]
    system: SystemMessage | None = None
    tools: Sequence[Any] = ()
    model: BaseChatModel | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """The window of a call.

    Args:
        window: The window.
        messages: Its messages, as LangChain's.
        system: Its system prompt.
    """

    window: Window
    messages: list[BaseMessage]
    system: SystemMessage | None = None


class Windows:
    """Makes the windows of an agent's calls.

    Args:
        memory: Where the messages are kept.
        budget: The most tokens that a call's input may have.
        mode: How windows are made; see `Conversation.window`.
        conversation: The name of the conversation, or a function of the agent's messages; None for
            the thread that the agent runs in.
        options: The fields of `WindowOptions`.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        budget: int | Budget,
        mode: Mode,
        conversation: str | Callable[[Sequence[BaseMessage]], str] | None,
        options: WindowKeywords,
    ) -> None:
        for name in ("system", "tools", "model", "dialect"):
            if name in options:
                raise InvalidInputError(f"{name}: each call of the agent has its own")
        refuse_provider_compaction(memory, options)
        self.memory = memory
        self.budget = budget
        self.mode: Mode = mode
        self.conversation = conversation
        self.options = options

    def make(self, call: Call, name: str, budget: int | Budget | None = None) -> Made:
        """Store the new messages, and make the window.

        Args:
            call: The call.
            name: The conversation.
            budget: Another budget than usual.

        Raises:
            ContextOverflowError: What must stay does not fit the budget.
            InvalidInputError: An option cannot be used.
            StoreError: The messages could not be stored.
        """
        dialect = self._dialect(name, call.model)
        sent = dicts(call.messages, dialect)
        options: WindowKeywords = {**self.options, "dialect": dialect}
        if call.system is not None:
            options["system"] = cast("Any", call.system.content)
        if call.tools:
            options["tools"] = [convert_to_openai_tool(tool) for tool in call.tools]
        if model := _model_name(call.model):
            options["model"] = model
        try:
            window = self.memory.process(
                sent,
                conversation=name,
                budget=self.budget if budget is None else budget,
                mode=self.mode,
                **options,
            )
        except BudgetTooSmall as error:
            raise ContextOverflowError(str(error)) from error
        system, shown = parted(window, given=call.system is not None)
        messages = restored(shown, call.messages, sent)
        if call.system is None or system == call.system.content:
            return Made(window, messages, call.system)
        return Made(window, messages, SystemMessage(cast("Any", system)))

    def note(self, name: str, made: Made, reply: Sequence[BaseMessage]) -> None:
        """Store a reply with the window that it was made behind, and what the call took.

        Raises:
            StoreError: It could not be stored.
        """
        conversation = self.memory.conversation(name)
        told = dicts(reply, cast("Spoken", made.window.dialect))
        conversation.append(told, window=made.window)
        usage = _usage(reply)
        if usage is not None:
            with suppress(InvalidInputError):  # a provider whose words are not known
                made.window.settle(usage)

    def name(self, messages: Sequence[BaseMessage]) -> str:
        """Return the conversation of a call.

        Raises:
            InvalidInputError: There is no name.
        """
        given = self.conversation
        if given is None:
            return thread_of(messages)
        found = given(messages) if callable(given) else given
        if not isinstance(found, str) or not found:
            raise InvalidInputError(f"conversation: expected a name, found {found!r:.80}")
        return found

    def _dialect(self, name: str, model: BaseChatModel | None) -> Spoken:
        """Return the dialect of a conversation; a new one has that of the model's provider."""
        known = self.memory.conversation(name).dialect
        if known is not None:
            if known not in ("openai", "anthropic"):
                raise InvalidInputError(
                    f"the conversation {name!r} has messages of {known!r}; LangChain's are read as "
                    "those of openai or anthropic: give another conversation="
                )
            return known
        return "anthropic" if _params(model).get("ls_provider") == "anthropic" else "openai"


def thread_of(messages: Sequence[BaseMessage]) -> str:
    """Return the name of the thread that an agent runs in.

    An agent that is called by a tool of another one has a name of its own for each such call. An
    agent without a thread is named by its first message.

    Raises:
        InvalidInputError: There is neither a thread nor a message with an id.
    """
    held: dict[str, Any] = {}
    with suppress(RuntimeError):  # outside of a graph
        held = get_config().get("configurable") or {}
    thread = held.get("thread_id")
    if thread is None:
        first = next((one.id for one in messages if one.id), None)
        if first is None:
            raise InvalidInputError("give the agent a thread_id, or a conversation=")
        return f"run {first}"
    above = str(held.get("checkpoint_ns") or "").rpartition("|")[0]
    return f"{thread}/{above}" if above else str(thread)


def _params(model: BaseChatModel | None) -> dict[str, Any]:
    """Return what a model says of itself."""
    if model is None:
        return {}
    return cast("dict[str, Any]", model._get_ls_params())  # noqa: SLF001 - as LangChain's own do


def _model_name(model: BaseChatModel | None) -> str | None:
    found = _params(model).get("ls_model_name")
    return found if isinstance(found, str) and found.strip() else None


def _usage(reply: Sequence[BaseMessage]) -> Any:
    """Return the provider's own words of what a call took."""
    for message in reply:
        held = message.response_metadata
        found = held.get("usage") or held.get("token_usage")
        if found:
            return found
    return None
