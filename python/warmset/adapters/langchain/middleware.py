"""Middleware for agents of LangChain: a window for each model call, or a shorter list for all.

`WarmsetMiddleware` changes what a model reads and leaves the agent's state alone.
`WarmsetCompactionMiddleware` replaces the oldest messages of the state by a summary, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from warmset._extras import extra
from warmset._support.aio import in_thread, in_thread_to_the_end
from warmset.adapters.langchain.windows import Call, Windows
from warmset.errors import InvalidInputError
from warmset.prepare import PreparedCompaction

with extra("langchain"):
    from langchain.agents.middleware import (
        AgentMiddleware,
        ExtendedModelResponse,
        ModelResponse,
    )
    from langchain_core.exceptions import ContextOverflowError
    from langchain_core.messages import AIMessage, RemoveMessage
    from langgraph.graph.message import REMOVE_ALL_MESSAGES
    from langgraph.types import Command

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Unpack

    from langchain.agents.middleware import ModelRequest
    from langchain_core.messages import BaseMessage

    from warmset.adapters.langchain.windows import Made
    from warmset.memory import Memory
    from warmset.options import Mode
    from warmset.tokens.budget import Budget
    from warmset.window.options import WindowKeywords

_LESS = 3, 4
"""The share of a window's tokens that is tried where the provider found it too long."""


class WarmsetMiddleware(AgentMiddleware[Any, Any, Any]):
    """Keeps every message of an agent, and gives each model call a window within a budget.

    The agent's state and its checkpoints stay as they are. Messages that a window shows go out as
    the objects that they are. The reply is stored before the call returns. If the provider finds a
    call too long, it goes out once more with three quarters of its tokens.

    Args:
        memory: Where the messages are kept; the caller closes it.
        budget: The most tokens that a call's input may have, or a `Budget`.
        mode: How windows are made; see `Conversation.window`.
        conversation: The name of the conversation, or a function of the agent's messages. If not
            given, it is the `thread_id` that the agent is called with; an agent without one has a
            conversation for itself.
        options: The fields of `WindowOptions`, but for those that each call has: `system`, `tools`,
            `model`, `dialect`.

    Raises:
        InvalidInputError: An option is out of its range.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        budget: int | Budget,
        mode: Mode = "auto",
        conversation: str | Callable[[Sequence[BaseMessage]], str] | None = None,
        **options: Unpack[WindowKeywords],
    ) -> None:
        super().__init__()
        self.tools = []
        self.windows = Windows(
            memory, budget=budget, mode=mode, conversation=conversation, options=options
        )

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]
    ) -> Any:
        """Send the window in place of the list, and store the reply.

        Raises:
            ContextOverflowError: What must stay does not fit the budget.
            StoreError: The messages could not be stored.
        """
        call, name = _call(request), self.windows.name(request.messages)
        made = self.windows.make(call, name)
        try:
            response = handler(_asking(request, made))
        except ContextOverflowError:
            made = self.windows.make(call, name, _less(made))
            response = handler(_asking(request, made))
        self.windows.note(name, made, _reply(response))
        return self._answer(made, response)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Run `wrap_model_call` without blocking the loop."""
        call, name = _call(request), self.windows.name(request.messages)
        made = await in_thread(self.windows.make, call, name)
        try:
            response = await handler(_asking(request, made))
        except ContextOverflowError:
            made = await in_thread(self.windows.make, call, name, _less(made))
            response = await handler(_asking(request, made))
        await in_thread_to_the_end(self.windows.note, name, made, _reply(response))
        return self._answer(made, response)

    def _answer(self, made: Made, response: Any) -> Any:  # noqa: ARG002 - for a subclass
        """Return what the call returns."""
        return response


class WarmsetCompactionMiddleware(WarmsetMiddleware):
    """Replaces the oldest messages of an agent's state by a summary that was made beforehand.

    The summary is begun in the background when the list reaches `trigger_ratio` of the budget, and
    takes the place of its messages at the budget: in the call, and in the state and every
    checkpoint from then on. Nothing is lost: the messages stay in the memory, where they can be
    searched and read. As long as there is no summary, the model gets the list as it is.

    Args:
        memory: Where the messages are kept; the caller closes it.
        budget: The tokens of a call at which the summary takes its place, or a `Budget`.
        compaction: Who writes the summary, and when; `PreparedCompaction()` if not given.
        conversation: See `WarmsetMiddleware`.

    Raises:
        InvalidInputError: An option is out of its range.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        budget: int | Budget,
        compaction: PreparedCompaction | None = None,
        conversation: str | Callable[[Sequence[BaseMessage]], str] | None = None,
    ) -> None:
        policy = PreparedCompaction() if compaction is None else compaction
        super().__init__(
            memory, budget=budget, mode="full", conversation=conversation, compaction=policy
        )

    def _answer(self, made: Made, response: Any) -> Any:
        """Return the response, with the change of the state if a summary is shown."""
        report = made.window.report.compaction
        if report is None or not report.applied:
            return response
        # Nothing of the state stays but what is named here, so the reply is named as well.
        update = [RemoveMessage(id=REMOVE_ALL_MESSAGES), *made.messages, *_reply(response)]
        command: Command[Any] = Command(update={"messages": update})
        if isinstance(response, ExtendedModelResponse):
            raise InvalidInputError(
                "a middleware that is called after WarmsetCompactionMiddleware changes the state, "
                "too: put it before that one"
            )
        if isinstance(response, AIMessage):
            response = ModelResponse(result=[response])
        return ExtendedModelResponse(model_response=response, command=command)


def _call(request: ModelRequest[Any]) -> Call:
    return Call(request.messages, request.system_message, request.tools, request.model)


def _asking(request: ModelRequest[Any], made: Made) -> ModelRequest[Any]:
    """Return the request with a window's messages."""
    messages = cast("Any", made.messages)
    return request.override(messages=messages, system_message=made.system)


def _less(made: Made) -> int:
    """Return a budget for a window that was too long."""
    share, of = _LESS
    return made.window.tokens * share // of


def _reply(response: Any) -> Sequence[BaseMessage]:
    """Return the messages of a response, in any of the forms that a handler returns."""
    if isinstance(response, ExtendedModelResponse):
        response = response.model_response
    if isinstance(response, ModelResponse):
        return response.result
    if isinstance(response, AIMessage):
        return [response]
    raise InvalidInputError(f"expected a model's response, found a {type(response).__name__}")
