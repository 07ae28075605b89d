"""The providers' own compactions: what they return takes the place of the list that was sent.

They are the only summaries behind which a model still takes its earlier thinking, because the
provider wrote them. So they replace exactly one list, and are used in windows of mode "steady"
alone; elsewhere the fallback of a `PreparedCompaction` writes.

Sources: the pages on compaction on demand, in the background and with preserved thinking of
platform.claude.com/docs, and OpenAI's guide to compaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from warmset.errors import InvalidInputError, SummarizerError
from warmset.llm import Deadline, OutOfTimeError, Settings, connected
from warmset.messages.anthropic.models import binds_thinking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.llm import Compacted, Compactor, ListRequest
    from warmset.messages import Dialect, Message

TIMEOUT: Final = 110.0
"""Seconds that a compaction may take, retries included."""

MAX_TOKENS: Final = 16_384
"""Tokens of a compaction, and of what a model thinks before it."""

ONE_LIST: Final = "a provider's compaction replaces one list that was sent: use mode 'steady'"


class ProviderCompaction:
    """Has a provider compact the list of a conversation; see its two classes.

    Args:
        model: The model that compacts; None for the one that the window is made for.
        base_url: Where the server is; the SDK's default if not given.
        api_key: The SDK's default, an environment variable, if not given.
        client: A synchronous client to use instead of a new one; excludes the two above.
        timeout: Seconds to wait for the provider, retries included.
        options: Further fields of the request, over those that are made here; None leaves one out.

    Raises:
        MissingExtraError: The SDK is not installed.
        SummarizerError: The SDK refused its configuration; no key is set, for example.
        InvalidInputError: An option is out of its range.
    """

    _PROVIDER: ClassVar[str]
    _MAX_TOKENS: ClassVar[int | None] = None

    dialect: ClassVar[Dialect]
    """The dialect of the lists that it compacts."""

    def __init__(
        self,
        model: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: Any = None,
        timeout: float = TIMEOUT,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0:
            raise InvalidInputError(f"timeout: expected seconds above 0, found {timeout!r}")
        settings = Settings(
            base_url=base_url,
            api_key=api_key,
            client=client,
            max_tokens=self._MAX_TOKENS,
            options=options,
        )
        self.model = model or ""
        by = type(self).__name__
        one = connected(self._PROVIDER, self.model, settings, by=by, failure=SummarizerError)
        self._compactor: Compactor = one  # type: ignore[assignment]  # these providers compact
        self._deadline = Deadline(float(timeout))

    @property
    def fingerprint(self) -> str:
        """Identifies its compactions in a store: its class and its model."""
        kind = type(self)
        return f"{kind.__module__}.{kind.__qualname__}:{self.model}"

    def obstacle(self, model: str) -> str | None:
        """Return why it cannot compact a list; None if it can.

        Args:
            model: The model that the list is for; empty if that is not known.
        """
        return None if self.model or model else "no model is named: pass model= to the window"

    def compact(self, request: ListRequest) -> Compacted:
        """Have a list compacted.

        Args:
            request: The list.

        Raises:
            SummarizerError: The provider could not be asked, or did not answer in time.
        """
        seconds = self._deadline.seconds
        try:
            made: Compacted = self._deadline.run(
                lambda: self._compactor.compact(request, timeout=seconds)
            )
        except OutOfTimeError as error:
            raise SummarizerError(f"the provider's compaction: {error}") from error
        except Exception as error:
            raise SummarizerError(f"the provider's compaction failed: {error!r:.300}") from error
        return made

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int) -> str:  # noqa: ARG002
        """Refuse: a text of some messages is not what a provider's compaction is.

        Raises:
            SummarizerError: Always, so that the fallback writes.
        """
        raise SummarizerError(ONE_LIST)

    def close(self) -> None:
        """Close the client, unless it was given; a `with` block does it too."""
        self._compactor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


class AnthropicCompaction(ProviderCompaction):
    """Compaction on demand of Anthropic's Messages; the arguments are `ProviderCompaction`'s.

    The compaction is a text that can be read, with a signature. Every later request that carries it
    needs the beta header that `Window.anthropic()` adds.
    """

    _PROVIDER = "anthropic"
    _MAX_TOKENS = MAX_TOKENS
    dialect = "anthropic"

    def obstacle(self, model: str) -> str | None:
        """Return why it cannot compact a list; None if it can.

        Thinking that a model checks stays valid only behind a compaction by such a model.
        """
        if self.model and binds_thinking(model) and not binds_thinking(self.model):
            return f"{self.model} does not check thinking as the conversation's model does"
        return super().obstacle(model)


class OpenAICompaction(ProviderCompaction):
    """`responses.compact` of OpenAI; the arguments are `ProviderCompaction`'s.

    The compaction is an item that cannot be read, behind the messages of the user.
    """

    _PROVIDER = "openai-responses"
    dialect = "responses"
