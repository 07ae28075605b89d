"""Models behind OpenAI's APIs, Chat Completions and Responses, or a server that speaks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from warmset._extras import extra
from warmset.errors import ModelError
from warmset.llm.base import Connected, Reply, brief, usage_of
from warmset.llm.lists import Compacted, plain

if TYPE_CHECKING:
    from warmset.llm.base import Prompt
    from warmset.llm.lists import ListRequest

_NAME: Final = "answer"
"""The schema's name, which the API asks for."""


class _OpenAI(Connected):
    def _kind(self) -> Any:
        with extra("openai"):
            import openai  # noqa: PLC0415 - an extra
        return openai.OpenAI


class OpenAIChat(_OpenAI):
    """Chat Completions; see `Connected`."""

    def ask(self, prompt: Prompt, *, timeout: float | None = None) -> Reply:
        """Ask once; see `Model.ask`."""
        system = [{"role": "system", "content": prompt.instructions}] if prompt.instructions else []
        behind = prompt.behind
        before = system if behind is None else behind.messages
        made: dict[str, Any] = {
            "model": self._model,
            "messages": [*before, {"role": "user", "content": prompt.data}],
            "tools": None if behind is None else behind.tools or None,
            "max_completion_tokens": self._settings.max_tokens,
        }
        if prompt.schema is not None and self._settings.strict:
            held = {"name": _NAME, "schema": prompt.schema, "strict": True}
            made["response_format"] = {"type": "json_schema", "json_schema": held}
        done = self._client.chat.completions.create(**self._settings.request(made, timeout))
        try:
            choice = done.choices[0]
            return Reply(
                choice.message.content or "",
                usage_of(getattr(done, "usage", None), "prompt_tokens", output="completion_tokens"),
                _chat_fault(choice),
            )
        except (AttributeError, IndexError, TypeError) as error:
            raise ModelError(f"the server sent no completion but {brief(done)}") from error


class OpenAIResponses(_OpenAI):
    """Responses; the provider is asked not to store them. See `Connected`."""

    def ask(self, prompt: Prompt, *, timeout: float | None = None) -> Reply:
        """Ask once; see `Model.ask`."""
        made: dict[str, Any] = {
            "model": self._model,
            "input": prompt.data,
            "instructions": prompt.instructions or None,
            "max_output_tokens": self._settings.max_tokens,
            "store": False,
        }
        if (behind := prompt.behind) is not None:
            made["input"] = [*behind.messages, {"role": "user", "content": prompt.data}]
            made["tools"] = behind.tools or None
        if prompt.schema is not None and self._settings.strict:
            held = {"type": "json_schema", "name": _NAME, "schema": prompt.schema, "strict": True}
            made["text"] = {"format": held}
        done = self._client.responses.create(**self._settings.request(made, timeout))
        try:
            return Reply(
                done.output_text,
                usage_of(getattr(done, "usage", None), "input_tokens", output="output_tokens"),
                _response_fault(done),
            )
        except (AttributeError, TypeError) as error:
            raise ModelError(f"the server sent no response but {brief(done)}") from error

    def compact(self, request: ListRequest, /, *, timeout: float | None = None) -> Compacted:
        """Have the provider compact a list; see `Compactor.compact`.

        Instructions and tools are not sent: the list has the system prompt as its first item.
        """
        made: dict[str, Any] = {
            "model": self._model or request.model,
            "input": list(request.messages),
        }
        done = self._client.responses.compact(**self._settings.request(made, timeout))
        output = [plain(item) for item in getattr(done, "output", None) or ()]
        kinds = [item.get("type") for item in output]
        if "compaction" not in kinds:
            raise ModelError(f"the provider compacted nothing but sent {brief(kinds)}")
        spent = usage_of(getattr(done, "usage", None), "input_tokens", output="output_tokens")
        return Compacted(tuple(output), "", spent)


def _chat_fault(choice: Any) -> str | None:
    refusal = getattr(choice.message, "refusal", None)
    if refusal:
        return f"the model refused: {brief(refusal)}"
    if choice.finish_reason == "length":
        return "the reply was cut at its limit of tokens (finish_reason: length)"
    if choice.finish_reason == "content_filter":
        return "the reply was withheld (finish_reason: content_filter)"
    return None


def _response_fault(done: Any) -> str | None:
    if done.status == "incomplete":
        reason = getattr(done.incomplete_details, "reason", None)
        return f"the reply is incomplete ({reason or 'no reason given'})"
    if done.status not in (None, "completed"):
        why = getattr(done.error, "message", None)
        return f"the reply is {brief(done.status)}: {brief(why or 'no reason given')}"
    for item in done.output:
        for part in getattr(item, "content", None) or ():
            if part.type == "refusal":
                return f"the model refused: {brief(part.refusal)}"
    return None
