"""Pickers through the providers' own SDKs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from warmset.errors import InvalidInputError, PickerError
from warmset.llm import Asker, Settings, Terms, connected
from warmset.options import MAX_PICKED
from warmset.pick.asking import TIMEOUT, max_picked_of, picked_by

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.pick.base import Candidate, Picks

MAX_TOKENS: Final = 1_024
"""Tokens of an answer: a few ids, and what a model thinks before."""


class ProviderPicker:
    """Asks through an SDK, whose retries are its own; tokens are those of the provider's usage.

    Args:
        model: The model's name.
        base_url: Where the server is; the SDK's default if not given.
        api_key: The SDK's default, an environment variable, if not given.
        client: A synchronous client to use instead of a new one; excludes the two above.
        max_picked: Ids that it may return in a window that does not say how many.
        timeout: Seconds to wait for the model, retries included; a later answer is dropped.
        max_tokens: Tokens that an answer may have, reasoning included.
        strict: Whether the answer's JSON schema is sent to the API; models and servers that know of
            none refuse the request.
        options: Further fields of the request, as `{"reasoning_effort": "low"}`, over those that
            are made here; None leaves one out.

    Raises:
        MissingExtraError: The SDK is not installed.
        PickerError: The SDK refused its configuration; no key is set, for example.
        InvalidInputError: An option is out of its range.
    """

    _PROVIDER: ClassVar[str]

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: Any = None,
        max_picked: int = MAX_PICKED,
        timeout: float = TIMEOUT,
        max_tokens: int = MAX_TOKENS,
        strict: bool = True,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.max_picked = max_picked_of(max_picked)
        terms = Terms(failure=PickerError, timeout=timeout)
        settings = Settings(
            base_url=base_url,
            api_key=api_key,
            client=client,
            max_tokens=max_tokens,
            strict=strict,
            options=options,
        )
        by = type(self).__name__
        one = connected(self._PROVIDER, model, settings, by=by, failure=PickerError)
        self._asker = Asker(one, terms)

    def pick(self, request: str, candidates: Sequence[Candidate], *, limit: int) -> Picks:
        """Ask the model; see `Picker.pick`."""
        return picked_by(self._asker, request, candidates, limit=limit)

    def close(self) -> None:
        """Close the client, unless it was given; a `with` block does it too."""
        self._asker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


class OpenAIPicker(ProviderPicker):
    """Asks a model behind OpenAI's Chat Completions; the arguments are `ProviderPicker`'s."""

    _PROVIDER = "openai"


class OpenAIResponsesPicker(ProviderPicker):
    """Asks a model behind OpenAI's Responses; the arguments are `ProviderPicker`'s.

    Nothing is stored at the provider.
    """

    _PROVIDER = "openai-responses"


class AnthropicPicker(ProviderPicker):
    """Asks a model behind Anthropic's Messages; the arguments are `ProviderPicker`'s."""

    _PROVIDER = "anthropic"


_KINDS: Final[Mapping[str, type[ProviderPicker]]] = {
    "openai": OpenAIPicker,
    "openai-responses": OpenAIResponsesPicker,
    "anthropic": AnthropicPicker,
}


def picker_named(spec: str) -> ProviderPicker:
    """Return the picker of a name, as a command line has it.

    Args:
        spec: "openai:model", "openai-responses:model" or "anthropic:model"; keys and base URLs are
            in the SDK's environment variables.

    Raises:
        InvalidInputError: The name is none of these.
        MissingExtraError: The SDK is not installed.
        PickerError: The SDK refused its configuration; no key is set, for example.
    """
    kind, _, model = spec.partition(":")
    if kind not in _KINDS or not model:
        wanted = ", ".join(f"{one}:model" for one in _KINDS)
        raise InvalidInputError(f"picker: expected one of {wanted}, found {spec!r}")
    return _KINDS[kind](model)
