"""The options of `Memory.open` that are not its store's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmset import engine, prepare
from warmset.errors import InvalidInputError
from warmset.options import REDACT_TIMEOUT, Weights
from warmset.store.options import StoreKeywords
from warmset.text.describe import Describers
from warmset.window.options import check_picker

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.embed import Embedder
    from warmset.pick import Picker
    from warmset.prepare import PreparedCompaction


class OpenKeywords(StoreKeywords, total=False):
    """`MemoryOptions` and `StoreOptions` as keyword arguments."""

    embedder: Embedder | Callable[[list[str]], object] | str | None
    tenant: str
    encoding: str
    weights: Weights | None
    picker: Picker | None
    compaction: PreparedCompaction | None
    redact: Callable[[str], str] | None
    redact_timeout: float
    private_tags: bool
    summary_line: Callable[[str], object] | None
    entities: Callable[[str], object] | None
    decisions: Callable[[str], object] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOptions:
    """The options of a memory apart from those of its store, which are in `StoreOptions`.

    Args:
        embedder: The source of vectors: an `Embedder`, a function of a list of texts, or a name.
            Names are "minilm" (the default, None), "static" for the fast local table, "openai",
            "cohere" and "voyage", optionally with a model ("voyage:voyage-3.5"), and "lexical" to
            search by words alone.
        tenant: The tenant whose conversations this handle sees; no call reads or writes another
            tenant's data.
        encoding: The name of the vocabulary that tokens are counted with.
        weights: The weight of each signal of the retriever.
        picker: Chooses turns from the shortlist; None chooses by score.
        compaction: Prepares summaries for windows of modes "jit" and "full"; None prepares none.
        redact: Returns a text as it may be stored. Every text of every message, memory and query
            passes through it first: only what it returns is stored, indexed, embedded and shown to
            models and in windows. It should change its own results no more.
        redact_timeout: The most seconds that it may take for the texts of one call.
        private_tags: Whether text between `<private>` and `</private>` is left out before that;
            `[private]` stands in its place.
        summary_line: Returns the one-line summary of a turn's text, as index lines of windows and
            pickers show it: at most 160 characters; the first 160 of the text if not given. This
            and the next two run in the background and may be asynchronous; each turn is described
            by the built-in rules until they are done, and where they fail.
        entities: Returns up to 8 names of what a turn's text is about.
        decisions: Returns whether a turn's text settles something.

    Raises:
        InvalidInputError: An option has the wrong type.
    """

    embedder: Embedder | Callable[[list[str]], object] | str | None = None
    tenant: str = "default"
    encoding: str = "o200k_base"
    weights: Weights | None = None
    picker: Picker | None = None
    compaction: PreparedCompaction | None = None
    redact: Callable[[str], str] | None = None
    redact_timeout: float = REDACT_TIMEOUT
    private_tags: bool = True
    summary_line: Callable[[str], object] | None = None
    entities: Callable[[str], object] | None = None
    decisions: Callable[[str], object] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.encoding, str):
            raise InvalidInputError(f"encoding: expected a name, found {self.encoding!r}")
        if not isinstance(self.tenant, str) or not self.tenant:
            raise InvalidInputError(f"tenant: expected a name, found {self.tenant!r}")
        if self.weights is not None and not isinstance(self.weights, Weights):
            raise InvalidInputError(f"weights: expected Weights, found {self.weights!r:.80}")
        check_picker(self.picker)
        prepare.policy_of(self.compaction)
        if not isinstance(self.private_tags, bool):
            raise InvalidInputError(f"private_tags: expected a bool, found {self.private_tags!r}")
        self.redactor()
        self.describers()

    def describers(self) -> Describers:
        """Return the callables that describe turns.

        Raises:
            InvalidInputError: One is not callable.
        """
        return Describers(
            summary_line=self.summary_line, entities=self.entities, decisions=self.decisions
        )

    def redactor(self) -> engine.Redactor:
        """Return what every text passes through before it is stored or sent.

        Raises:
            InvalidInputError: The hook is no function, or its time no number of seconds above 0.
        """
        return engine.Redactor(self.redact, timeout=self.redact_timeout, private=self.private_tags)
