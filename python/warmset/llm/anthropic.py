"""A model behind Anthropic's Messages API."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from warmset._extras import extra
from warmset.errors import ModelError
from warmset.llm.base import Connected, Reply, brief, usage_of

if TYPE_CHECKING:
    from warmset.llm.base import Prompt

MOST: Final = 1_024
"""Tokens of an answer where nobody says how many; the API wants a number."""

_CUT: Final = ("max_tokens", "model_context_window_exceeded", "pause_turn")


class AnthropicMessages(Connected):
    """Messages; see `Connected`."""

    def _kind(self) -> Any:
        with extra("anthropic"):
            sdk: Any = importlib.import_module("anthropic")
        return sdk.Anthropic

    def ask(self, prompt: Prompt, *, timeout: float | None = None) -> Reply:
        """Ask once; see `Model.ask`."""
        made: dict[str, Any] = {
            "model": self._model,
            "max_tokens": self._settings.max_tokens or MOST,
            "system": prompt.instructions or None,
            "messages": [{"role": "user", "content": prompt.data}],
        }
        if prompt.schema is not None and self._settings.strict:
            held = {"type": "json_schema", "schema": prompt.schema}
            made["output_config"] = {"format": held}
        done = self._client.messages.create(**self._settings.request(made, timeout))
        try:
            return Reply(
                "".join(block.text for block in done.content if block.type == "text"),
                usage_of(
                    getattr(done, "usage", None),
                    "input_tokens",
                    "cache_creation_input_tokens",
                    "cache_read_input_tokens",
                    output="output_tokens",
                ),
                _fault(done),
            )
        except (AttributeError, TypeError) as error:
            raise ModelError(f"the server sent no message but {brief(done)}") from error


def _fault(done: Any) -> str | None:
    reason = getattr(done, "stop_reason", None)
    if reason == "refusal":
        why = getattr(getattr(done, "stop_details", None), "explanation", None)
        return f"the model refused: {brief(why or 'no reason given')}"
    if reason in _CUT:
        return f"the reply was cut (stop_reason: {reason})"
    return None
