"""A model behind Anthropic's Messages API."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from warmset._extras import extra
from warmset.errors import ModelError
from warmset.llm.base import Connected, Reply, brief, usage_of
from warmset.llm.lists import Compacted, plain
from warmset.messages import alternate
from warmset.messages.anthropic.models import COMPACTING
from warmset.messages.anthropic.walk import is_compacted
from warmset.usage import Usage

if TYPE_CHECKING:
    from warmset.llm.base import Prompt
    from warmset.llm.lists import ListRequest

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
        asked = [{"role": "user", "content": prompt.data}]
        made: dict[str, Any] = {
            "model": self._model,
            "max_tokens": self._settings.max_tokens or MOST,
            "system": prompt.instructions or None,
            "messages": asked,
        }
        if (behind := prompt.behind) is not None:
            made["messages"] = alternate([*behind.messages, *asked])
            made |= {"system": behind.system or None, "tools": behind.tools or None}
            if is_compacted(behind.messages):
                made["extra_headers"] = {"anthropic-beta": COMPACTING}
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

    def compact(self, request: ListRequest, /, *, timeout: float | None = None) -> Compacted:
        """Have the provider summarise a list; see `Compactor.compact`."""
        made: dict[str, Any] = {
            "model": self._model or request.model,
            "max_tokens": self._settings.max_tokens or MOST,
            "system": request.system or None,
            "tools": list(request.tools) if request.tools else None,
            "messages": list(request.messages),
            "compaction": {"type": "summarize"},
            "betas": [COMPACTING],
        }
        done = self._client.beta.messages.create(**self._settings.request(made, timeout))
        content = getattr(done, "content", None) or []
        block = content[0] if len(content) == 1 else None
        text = getattr(block, "content", None)
        reason = getattr(done, "stop_reason", None)
        if reason != "compaction" or getattr(block, "type", None) != "compaction" or not text:
            raise ModelError(f"the provider compacted nothing (stop_reason: {brief(reason)})")
        message = {"role": "assistant", "content": [plain(block)]}
        return Compacted((message,), text, _spent(getattr(done, "usage", None)))


def _spent(usage: Any) -> Usage | None:
    """Return what a compaction took, which the provider reports by iterations."""
    found = [
        usage_of(
            one,
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            output="output_tokens",
        )
        for one in (*(getattr(usage, "iterations", None) or ()), usage)
    ]
    known = [one for one in found if one is not None]
    if not known:
        return None
    return Usage(sum(one.input for one in known), sum(one.output for one in known))


def _fault(done: Any) -> str | None:
    reason = getattr(done, "stop_reason", None)
    if reason == "refusal":
        why = getattr(getattr(done, "stop_details", None), "explanation", None)
        return f"the model refused: {brief(why or 'no reason given')}"
    if reason in _CUT:
        return f"the reply was cut (stop_reason: {reason})"
    return None
