"""`WarmsetHistory`: a capability that keeps an agent's history and sends a window of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from warmset._extras import extra
from warmset._support.aio import in_thread, in_thread_to_the_end
from warmset.adapters._windows import parted, refuse_provider_compaction
from warmset.adapters.pydantic_ai.conversion import pieces, restored
from warmset.adapters.pydantic_ai.events import CompactionEndEvent, CompactionStartEvent
from warmset.errors import BudgetTooSmall, InvalidInputError

with extra("pydantic-ai"):
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic_ai.messages import CapabilityEvent, ModelMessage, ModelResponse
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import RunContext

    from warmset.adapters.pydantic_ai.conversion import Spoken
    from warmset.memory import Memory
    from warmset.options import Mode
    from warmset.tokens.budget import Budget
    from warmset.window.options import WindowKeywords
    from warmset.window.result import Window

_OWN = ("system", "tools", "model", "dialect", "pinned_role")


@dataclass
class WarmsetHistory(AbstractCapability[Any]):
    """Keeps every message of an agent, and gives each request a window within a budget.

    Args:
        memory: Where the messages are kept; the caller closes it.
        budget: The most tokens that a request may have, or a `Budget`.
        mode: How windows are made; see `Conversation.window`.
        conversation: The name of the conversation, or a function of the run's context; the run's
            `conversation_id` if not given.
        history: "keep" leaves the run's messages as they are, and only what is sent is a window.
            "replace" puts the window in their place, as a history processor does; the memory has
            the others, and recognises the window when it comes back as `message_history`.
        options: The fields of `WindowOptions`, but for those that each request has: `system`,
            `tools`, `model`, `dialect`, and `pinned_role`: instructions stay as they are.

    Raises:
        UserError: An option cannot be used.
    """

    memory: Memory
    budget: int | Budget = field(kw_only=True)
    mode: Mode = field(default="auto", kw_only=True)
    conversation: str | Callable[[RunContext[Any]], str] | None = field(default=None, kw_only=True)
    history: Literal["keep", "replace"] = field(default="keep", kw_only=True)
    options: WindowKeywords = field(default_factory=dict, kw_only=True)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Check the options."""
        self._window: Window | None = None
        self._preparing = False
        if self.history not in ("keep", "replace"):
            raise UserError(f"history: expected 'keep' or 'replace', found {self.history!r:.80}")
        if given := [name for name in _OWN if name in self.options]:
            raise UserError(f"{given[0]}: each request has its own")
        try:
            refuse_provider_compaction(self.memory, self.options)
        except InvalidInputError as error:
            raise UserError(str(error)) from None

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Say that a memory cannot be written into a specification."""
        return None

    async def for_run(self, ctx: RunContext[Any]) -> WarmsetHistory:  # noqa: ARG002 - its signature
        """Return an instance for one run: several may go on at the same time."""
        return replace(self)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Store the new messages, and send the window in their place.

        Raises:
            UserError: What must stay does not fit the budget, or an option cannot be used.
            StoreError: The messages could not be stored.
        """
        name = self._name(ctx)
        given = list(request_context.messages)
        window, messages = await in_thread(self._made, name, given, request_context)
        self._window = window
        for event in self._events(name, window):
            await ctx.emit(event)
        if self.history == "replace":
            ctx.messages[:] = messages
        return replace(request_context, messages=messages)

    async def after_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,  # noqa: ARG002 - its signature
        response: ModelResponse,
    ) -> ModelResponse:
        """Store the reply with the window that it was made behind.

        Raises:
            StoreError: It could not be stored.
        """
        window = self._window
        if window is not None:
            await in_thread_to_the_end(self._note, self._name(ctx), window, response)
        return response

    def _made(
        self, name: str, given: Sequence[ModelMessage], request: ModelRequestContext
    ) -> tuple[Window, list[ModelMessage]]:
        model = request.model
        known = self.memory.conversation(name).dialect
        if known is not None and known not in ("openai", "anthropic"):
            raise UserError(f"the conversation {name!r} has messages of {known!r}; choose another")
        dialect: Spoken = known or ("anthropic" if model.system == "anthropic" else "openai")
        sent = pieces(given, dialect)
        options: WindowKeywords = {**self.options, "dialect": dialect}
        if system := _instructions(given, request):
            options["system"] = system
        if tools := _tools(request):
            options["tools"] = tools
        if model.model_name.strip():
            options["model"] = model.model_name
        try:
            window = self.memory.process(
                [piece.message for piece in sent],
                conversation=name,
                budget=self.budget,
                mode=self.mode,
                **options,
            )
        except (BudgetTooSmall, InvalidInputError) as error:
            raise UserError(str(error)) from error
        _, shown = parted(window, given="system" in options)
        return window, restored(shown, given, sent)

    def _note(self, name: str, window: Window, response: ModelResponse) -> None:
        said = [piece.message for piece in pieces([response], cast("Spoken", window.dialect))]
        self.memory.conversation(name).append(said, window=window)

    def _name(self, ctx: RunContext[Any]) -> str:
        given = self.conversation
        found = given(ctx) if callable(given) else given or ctx.conversation_id
        if not isinstance(found, str) or not found:
            raise UserError(f"conversation: expected a name, found {found!r:.80}")
        return found

    def _events(self, name: str, window: Window) -> list[CapabilityEvent]:
        """Return what happened to the list since the last request."""
        report = window.report
        summary, epoch = report.compaction, report.epoch
        events: list[CapabilityEvent] = []
        preparing = summary is not None and summary.state == "preparing"
        if preparing and not self._preparing:
            events.append(CompactionStartEvent(conversation=name, tokens=report.tokens_in))
        self._preparing = preparing
        applied = summary is not None and summary.applied
        if applied or (epoch is not None and epoch.began and epoch.hidden):
            events.append(
                CompactionEndEvent(
                    conversation=name,
                    why=epoch.why if epoch is not None else "a summary was ready",
                    tokens_before=report.tokens_in,
                    tokens_after=window.tokens,
                    summary_tokens=0 if summary is None else summary.tokens,
                    messages_before=report.turns_in,
                    messages_after=len(window),
                )
            )
        return events


def _instructions(given: Sequence[ModelMessage], request: ModelRequestContext) -> str:
    """Return the instructions of a request."""
    parts = request.model_request_parameters.instruction_parts
    if parts is not None:
        return "\n\n".join(part.content for part in parts if part.content)
    return next(
        (text for one in reversed(given) if (text := getattr(one, "instructions", None))), ""
    )


def _tools(request: ModelRequestContext) -> list[Mapping[str, Any]]:
    """Return the tools of a request, as OpenAI has them."""
    parameters = request.model_request_parameters
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description or "",
                "parameters": tool.parameters_json_schema,
            },
        }
        for tool in (*parameters.function_tools, *parameters.output_tools)
    ]
