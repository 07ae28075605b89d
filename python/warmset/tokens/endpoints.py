"""Counters that call a provider's count endpoint, through the caller's SDK client.

No SDK is imported. An endpoint takes whole, valid lists only, so a message's tokens are its share
of the list's count, in proportion to the estimates; that is one call, not one for each message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from warmset.errors import CountError
from warmset.messages import Message, convert
from warmset.options import model as known_model
from warmset.tokens.authority import Vocabulary, asked, tokens_of
from warmset.tokens.number import FORMULA_ERROR, TokenCount

if TYPE_CHECKING:
    from warmset.tokens.totals import SystemPrompt, ToolSchemas

_AS_CONTENTS: Final = frozenset({"user_input", "model_output", "function_call", "function_result"})

_Ask: TypeAlias = Callable[[list[Message], Mapping[str, object]], object]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Counts with a provider's endpoint; it can also be called as a plain function.

    Args:
        ask: Returns the tokens of messages with further fields of the request.
        model: The model's name.
        fields: Fields of every request, such as the system prompt and the tools.
        names: What the request calls the system prompt and the tools; None where it takes neither.
        error: The error of its counts, relative; 0 if the endpoint counts all that is sent.
    """

    ask: _Ask = field(repr=False)
    model: str
    fields: Mapping[str, object] = field(default_factory=dict)
    names: tuple[str, str] | None = None
    error: float = 0.0
    _base: list[int] = field(default_factory=list, init=False, repr=False, compare=False)

    def __call__(self, messages: list[Message]) -> int:
        """Count a whole list; an empty list is 0, because no endpoint accepts one."""
        return self._tokens(messages, self.fields) if messages else 0

    def count(self, messages: Sequence[Message]) -> TokenCount:
        """Count a whole list by the endpoint, with the system prompt and tools of its fields."""
        return TokenCount(self(list(messages)), exact=not self.error, error=self.error)

    def costs(self, messages: Sequence[Message]) -> list[int]:
        """Divide the endpoint's count of the list among its messages by their estimates."""
        shares = self._estimate().costs(messages)
        whole = sum(shares)
        if not whole:
            return shares
        if not self._base:
            self._base.append(self.overhead())
        total = max(0, self(list(messages)) - self._base[0])
        ends = [total * end // whole for end in accumulate(shares)]
        return [end - start for start, end in zip([0, *ends], ends, strict=False)]

    def overhead(self, system: SystemPrompt | None = None, tools: ToolSchemas | None = None) -> int:
        """Count a list's overhead: one message's count minus its estimate.

        Args:
            system: A system prompt instead of the one of the fields.
            tools: Tools instead of those of the fields.
        """
        probe: list[Message] = [self._probe()]
        given = {} if self.names is None else dict(zip(self.names, (system, tools), strict=True))
        fields = {**self.fields, **{name: value for name, value in given.items() if value}}
        extra = 0
        if self.names is None:
            estimate = self._estimate()
            extra = estimate.overhead(system, tools) - estimate.overhead()
        known = self._estimate().costs(probe)[0]
        return max(0, self._tokens(probe, fields) - known) + extra

    def _probe(self) -> Message:
        if self.names is None:
            return {"role": "user", "parts": [{"text": "."}]}
        return {"role": "user", "content": "."}

    def _estimate(self) -> Vocabulary:
        return _vocabulary(self.model)

    def _tokens(self, messages: list[Message], fields: Mapping[str, object]) -> int:
        return asked(lambda given: self.ask(given, fields), messages)


def _vocabulary(model: str) -> Vocabulary:
    known = known_model(model)
    return Vocabulary(known.encoding if known else "estimate", model)


def anthropic_counter(client: Any, model: str, **fields: object) -> Endpoint:
    """Count with Anthropic's endpoint.

    Args:
        client: An `anthropic.Anthropic`.
        model: The model's name.
        fields: Further fields of the request: `system`, `tools`, `thinking`.

    Returns:
        The counter.
    """

    def ask(messages: list[Message], more: Mapping[str, object]) -> object:
        answer = client.messages.count_tokens(model=model, messages=messages, **more)
        return _read(answer, "input_tokens")

    return Endpoint(ask, model, fields, ("system", "tools"))


def openai_counter(client: Any, model: str, **fields: object) -> Endpoint:
    """Count with OpenAI's endpoint, which takes items of the Responses API.

    Args:
        client: An `openai.OpenAI`.
        model: The model's name.
        fields: Further fields of the request: `instructions`, `tools`.

    Returns:
        The counter.
    """

    def ask(messages: list[Message], more: Mapping[str, object]) -> object:
        answer = client.responses.input_tokens.count(model=model, input=messages, **more)
        return _read(answer, "input_tokens")

    return Endpoint(ask, model, fields, ("instructions", "tools"))


def gemini_counter(client: Any, model: str, **fields: object) -> Endpoint:
    """Count with Gemini's endpoint, which counts contents only: the rest is estimated.

    Args:
        client: A `google.genai.Client`.
        model: The model's name.
        fields: Further fields of the request: `config`.

    Returns:
        The counter.
    """

    def ask(messages: list[Message], more: Mapping[str, object]) -> object:
        answer = client.models.count_tokens(model=model, contents=messages, **more)
        return _read(answer, "total_tokens")

    return Endpoint(ask, model, fields)


def interactions_counter(client: Any, model: str, **fields: object) -> Endpoint:
    """Count steps of Gemini Interactions, which has no endpoint for that, as contents.

    Inputs, outputs, function calls and their results are counted by Gemini's endpoint; thoughts,
    the steps of the provider's own tools, the system prompt and tools are estimated.

    Args:
        client: A `google.genai.Client`.
        model: The model's name.
        fields: Further fields of the request: `config`.

    Returns:
        The counter. It raises `CountError` for a list that contents cannot say, as one with a film.
    """
    contents = gemini_counter(client, model, **fields)

    def ask(messages: list[Message], more: Mapping[str, object]) -> object:
        if any("parts" in message for message in messages):  # the probe
            return contents.ask(messages, more)
        known = [message for message in messages if message.get("type") in _AS_CONTENTS]
        rest = [message for message in messages if message.get("type") not in _AS_CONTENTS]
        estimated = sum(_vocabulary(model).costs(rest))
        if not known:
            return estimated
        written = convert(known, source="interactions", target="gemini")
        return tokens_of(contents.ask(written.messages, more)) + estimated

    return Endpoint(ask, model, fields, error=FORMULA_ERROR)


def _read(answer: object, name: str) -> int:
    """Read a count of an SDK's answer, an object or a mapping."""
    if isinstance(answer, Mapping):
        found = cast("Mapping[str, object]", answer).get(name)
    else:
        found = getattr(answer, name, answer)
    if found is None:
        raise CountError(f"the endpoint's answer has no {name}")
    return tokens_of(found)
