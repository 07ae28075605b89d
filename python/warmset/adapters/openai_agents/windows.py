"""`WindowFilter`: what a model gets is a window of the conversation, not the whole list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.adapters.openai_agents.framework import CallModelData, ModelInputData
from warmset.window.options import WindowKeywords, WindowOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from warmset.memory import Memory
    from warmset.options import Mode
    from warmset.tokens.budget import Budget


class WindowFilter:
    """A `call_model_input_filter` of a run: stores what is new, and sends a window.

    Args:
        memory: The memory that keeps the turns.
        conversation: The name of the conversation, or a function that reads it from the call's
            data, such as `lambda data: data.context.user`.
        budget: The most tokens that instructions and input may have, or a `Budget`.
        mode: How windows are built; see `Conversation.window`.
        options: The other fields of `WindowOptions`. `system` is what the agent's instructions are,
            and `dialect` that of the SDK.

    Raises:
        MissingExtraError: openai-agents is not installed.
        InvalidInputError: An option is none of these.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        conversation: str | Callable[[CallModelData[Any]], str],
        budget: int | Budget,
        mode: Mode = "auto",
        **options: Unpack[WindowKeywords],
    ) -> None:
        WindowOptions(**options)
        self._memory = memory
        self._conversation = conversation
        self._budget = budget
        self._mode: Mode = mode
        self._options = options

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Return what the model gets instead.

        Raises:
            BudgetTooSmall: What must stay does not fit.
            InvalidMessageError: An item is none that the model's provider takes.
        """
        given, named = data.model_data, self._conversation
        options = WindowKeywords(**{**self._options, "system": given.instructions})
        window = await self._memory.aprocess(
            [*given.input],
            conversation=named if isinstance(named, str) else named(data),
            budget=self._budget,
            mode=self._mode,
            **options,
        )
        sent: list[Any] = [*window.messages]
        if given.instructions is None:
            return ModelInputData(input=sent, instructions=None)
        [system, *rest] = sent
        return ModelInputData(input=rest, instructions=system["content"])
