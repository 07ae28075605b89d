"""Triages through the providers' own SDKs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from warmset.errors import InvalidInputError, TriageError
from warmset.llm import Asker, Settings, Terms, connected
from warmset.route.asking import MAX_CANDIDATES, TIMEOUT, judged_by, max_candidates_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.route.candidates import Candidate
    from warmset.route.judgement import Judgement
    from warmset.route.request import Request
    from warmset.route.texts import Texts

MAX_TOKENS: Final = 8_192
"""Tokens of an answer: a line for each candidate, and what a model thinks before."""


class ProviderTriage:
    """Asks through an SDK, whose retries are its own; tokens are those of the provider's usage.

    Args:
        model: The model's name.
        base_url: Where the server is; the SDK's default if not given.
        api_key: The SDK's default, an environment variable, if not given.
        client: A synchronous client to use instead of a new one; excludes the two above.
        max_candidates: The most candidates that it is asked about, the worthiest; the rules judge
            the others.
        timeout: Seconds to wait for the model, retries included; a later answer is dropped.
        max_tokens: Tokens that an answer may have, reasoning included.
        strict: Whether the answer's JSON schema is sent to the API; models and servers that know of
            none refuse the request.
        options: Further fields of the request, as `{"reasoning_effort": "low"}`, over those that
            are made here; None leaves one out.

    Raises:
        MissingExtraError: The SDK is not installed.
        TriageError: The SDK refused its configuration; no key is set, for example.
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
        max_candidates: int = MAX_CANDIDATES,
        timeout: float = TIMEOUT,
        max_tokens: int = MAX_TOKENS,
        strict: bool = True,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.max_candidates = max_candidates_of(max_candidates)
        terms = Terms(failure=TriageError, timeout=timeout)
        settings = Settings(
            base_url=base_url,
            api_key=api_key,
            client=client,
            max_tokens=max_tokens,
            strict=strict,
            options=options,
        )
        by = type(self).__name__
        one = connected(self._PROVIDER, model, settings, by=by, failure=TriageError)
        self._asker = Asker(one, terms)

    def judge(self, request: Request, candidates: Sequence[Candidate], text: Texts) -> Judgement:
        """Ask the model; see `Triage.judge`.

        Raises:
            TriageError: There is no answer, or none that can be used; a router falls back.
            StoreError: The store could not be read.
        """
        return judged_by(self._asker, request, candidates, text, limit=self.max_candidates)

    def close(self) -> None:
        """Close the client, unless it was given; a `with` block does it too."""
        self._asker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


class OpenAITriage(ProviderTriage):
    """Asks a model behind OpenAI's Chat Completions; the arguments are `ProviderTriage`'s."""

    _PROVIDER = "openai"


class OpenAIResponsesTriage(ProviderTriage):
    """Asks a model behind OpenAI's Responses; the arguments are `ProviderTriage`'s.

    Nothing is stored at the provider.
    """

    _PROVIDER = "openai-responses"


class AnthropicTriage(ProviderTriage):
    """Asks a model behind Anthropic's Messages; the arguments are `ProviderTriage`'s."""

    _PROVIDER = "anthropic"


_KINDS: Final[Mapping[str, type[ProviderTriage]]] = {
    "openai": OpenAITriage,
    "openai-responses": OpenAIResponsesTriage,
    "anthropic": AnthropicTriage,
}


def triage_named(spec: str) -> ProviderTriage:
    """Return the triage of a name, as a command line has it.

    Args:
        spec: "openai:model", "openai-responses:model" or "anthropic:model"; keys and base URLs are
            in the SDK's environment variables.

    Raises:
        InvalidInputError: The name is none of these.
        MissingExtraError: The SDK is not installed.
        TriageError: The SDK refused its configuration; no key is set, for example.
    """
    kind, _, model = spec.partition(":")
    if kind not in _KINDS or not model:
        wanted = ", ".join(f"{one}:model" for one in _KINDS)
        raise InvalidInputError(f"triage: expected one of {wanted}, found {spec!r}")
    return _KINDS[kind](model)
