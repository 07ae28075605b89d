"""What embedders, pickers, triages, readers and missing extras raise."""

from __future__ import annotations

from typing import Protocol

from warmset.errors.base import WarmsetError


class Cost(Protocol):
    """What asking a model took, as far as an error has to know; see `warmset.usage.Usage`."""

    @property
    def tokens(self) -> int:
        """Input and output together."""
        ...

    @property
    def milliseconds(self) -> float:
        """How long it took."""
        ...


class EmbedderError(WarmsetError):
    """An embedder failed, or gave back something that is not a batch of vectors."""


class ModelMissing(EmbedderError):  # noqa: N818
    """The local model is not on this machine; the message names the one command that mends it."""


class ModelDamaged(EmbedderError):  # noqa: N818
    """A model file does not have the pinned sha256; it was not used."""


class EmbedderMismatch(EmbedderError):  # noqa: N818
    """The vectors of a store or of a saved index were made by another embedder.

    Args:
        stored: Name of the embedder that made the vectors.
        given: Name of the embedder that was given.
        how: How their vectors differ, where the names are not enough.
    """

    def __init__(self, stored: str, given: str, how: str | None = None) -> None:
        super().__init__(stored, given, how)
        self.stored = stored
        self.given = given
        self.how = how

    def __str__(self) -> str:
        how = "" if self.how is None else f" ({self.how})"
        return (
            f"the vectors were made by {self.stored}, not by {self.given}{how}; open them with "
            "that embedder, or make them anew (memory.reembed() does, for a store)"
        )


class ModelError(WarmsetError):
    """A model's server answered with something that is no answer of its protocol."""


class PickerError(WarmsetError):
    """A picker's answer could not be used; callers fall back to the score.

    Attributes:
        usage: What the picker's model took all the same, where that is known.
    """

    usage: Cost | None = None


class TriageError(WarmsetError):
    """A triage's answer could not be used; a router falls back to the rules.

    Attributes:
        usage: What the triage's model took all the same, where that is known.
    """

    usage: Cost | None = None


class SummarizerError(WarmsetError):
    """A summarizer failed: its model, its client or its own code; the cause is attached.

    Attributes:
        usage: What the summarizer's model took all the same, where that is known.
    """

    usage: Cost | None = None


class SummaryRefused(SummarizerError):  # noqa: N818 - it says what became of the summary
    """What a summarizer returned is no summary, and was not used.

    Args:
        reason: "not_text", "empty", "error", "refusal", "cut", "json", "not_shorter" or
            "low_recall": it states next to none of the facts of what it is to stand for.
        why: What was found, in words.
    """

    def __init__(self, reason: str, why: str) -> None:
        super().__init__(reason, why)
        self.reason = reason
        self.why = why

    def __str__(self) -> str:
        return (
            f"the summary was refused ({self.reason}): {self.why}; keep the messages, or give "
            "summary_of a fallback"
        )


class RedactionError(WarmsetError):
    """The redaction hook raised, returned no text or took too long; nothing was stored or sent."""


class ReaderError(WarmsetError):
    """A model that reads or judges for `warmset eval` failed, or its answer is no text."""


class MissingExtraError(WarmsetError, ImportError):
    """An optional dependency is not installed.

    Args:
        module: The module that could not be imported.
        extra: The extra that brings it.
    """

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(module, extra)
        self.module = module
        self.extra = extra

    def __str__(self) -> str:
        return f'{self.module} is not installed; run: pip install "warmset[{self.extra}]"'
