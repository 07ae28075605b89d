"""The options of a window, shared by every call that builds one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypedDict

from warmset.errors import InvalidInputError
from warmset.messages.sent import Beside
from warmset.money.prices import check_prices
from warmset.money.table import prices_of
from warmset.options import (
    DATES,
    INDEX_SHARE,
    MEMORY_SHARE,
    MIN_SAVING,
    RECALL_SHARE,
    RECENT,
    SCOPES,
    SHORTLIST,
    SWAP_AT,
    SWAP_TO,
    WINDOW_WAIT,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from warmset.messages import System
    from warmset.money import Prices
    from warmset.options import Dates, Scope
    from warmset.pick import Picker
    from warmset.window.summaries import CompactionPolicy


IndexRole: TypeAlias = Literal["user", "system"]
"""Whether index lines stand in a message of the user, or in one of instructions."""

_INDEX_ROLES: Final = ("user", "system")

PinnedRole: TypeAlias = Literal["user", "system"]
"""Whether pinned memories stand in a message of the user, or in the system prompt."""

_PINNED_ROLES: Final = ("user", "system")


class WindowKeywords(TypedDict, total=False):
    """`WindowOptions` as keyword arguments."""

    query_vector: object | None
    recent: int
    shortlist: int
    max_picked: int | None
    wait: float
    index_share: float
    index_role: IndexRole
    dates: Dates
    min_saving: float
    recall_share: float
    swap_at: float
    swap_to: float
    memories: float
    pinned_role: PinnedRole
    scope: Scope
    dialect: str | None
    system: System | None
    tools: Sequence[Mapping[str, Any]] | None
    picker: Picker | None
    compaction: CompactionPolicy | None
    model: str | None
    prices: Prices | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOptions:
    """The options of a window apart from its request, budget and mode.

    Args:
        query_vector: The request's vector, shape (dim,); the request is then not embedded.
        recent: The number of units before the request that are shown verbatim.
        shortlist: The number of entries that a picker chooses from.
        max_picked: The most entries that a picker may return; if not given, the picker's own
            `max_picked`, or 6 if it has none. Without a picker, entries are picked by score until
            the budget is full.
        wait: Seconds to wait for a remote embedder and for turns that are still being embedded.
        index_share: The share of the budget that one-line summaries of further turns may take; 0
            shows none.
        index_role: In mode "steady", the role of the message that has one-line summaries and ids:
            "user", or "system" for a system message in an Anthropic list and a developer message in
            one of OpenAI. It is never that of quoted turns. With "system", the output of tools gets
            no line.
        dates: In modes "jit" and "steady", whether lines beside the verbatim messages name their
            days where the day changes: "lines", or "none". A conversation of one day has none.
        min_saving: The least share of the list's tokens that a window of mode "jit" must save, if
            the whole list fits the budget; otherwise the list is not changed. 0 changes every list
            that does not grow by it.
        recall_share: In mode "steady", the share of the budget that the turns quoted for one
            exchange may take; 0 recalls nothing.
        swap_at: In mode "steady", the share of the budget from which the list is made anew when an
            exchange begins. At the whole budget that happens wherever it must.
        swap_to: In mode "steady", the share of the budget that a list has which is made anew, the
            system prompt and tools included. Where the prompt cache of a model with known prices
            takes no list that short, it has what the cache takes, if that costs less.
        memories: The share of the budget that memories may take, pinned ones included, and turns of
            other conversations; in mode "steady", all that a list has of them. 0 shows none. A list
            that is small enough to be sent unchanged gets pinned memories only.
        pinned_role: "user" for a message of the user before all others, or "system" to have pinned
            memories at the end of the system prompt.
        scope: "tenant" lets a window quote turns of the tenant's other conversations, too, each
            with the name of its conversation and its day, under the share of `memories`. Since they
            are asked for, a small list gets them as well, and memories with them.
        dialect: The dialect of the window; the conversation's if not given.
        system: A system prompt that is sent beside the messages.
        tools: Tool schemas that are sent with the call; their tokens count. Functions in the shape
            of another dialect are rewritten for the window's.
        picker: Chooses turns instead of the memory's picker.
        compaction: Prepares summaries for windows of modes "jit" and "full", instead of the
            memory's `PreparedCompaction`.
        model: The model that the window is for, as its provider names it.
        prices: The model's prices, for `report.money`; if not given, those of
            `warmset.money.PRICES` for `model`.

    Raises:
        InvalidInputError: An option is out of its range.
    """

    query_vector: object | None = None
    recent: int = RECENT
    shortlist: int = SHORTLIST
    max_picked: int | None = None
    wait: float = WINDOW_WAIT
    index_share: float = INDEX_SHARE
    index_role: IndexRole = "user"
    dates: Dates = "lines"
    min_saving: float = MIN_SAVING
    recall_share: float = RECALL_SHARE
    swap_at: float = SWAP_AT
    swap_to: float = SWAP_TO
    memories: float = MEMORY_SHARE
    pinned_role: PinnedRole = "user"
    scope: Scope = "conversation"
    dialect: str | None = None
    system: System | None = None
    tools: Sequence[Mapping[str, Any]] | None = None
    picker: Picker | None = None
    compaction: CompactionPolicy | None = None
    model: str | None = None
    prices: Prices | None = None

    def __post_init__(self) -> None:
        check_picker(self.picker)
        check_prices(self.prices)
        Beside.of(self.system, self.tools, self.model)
        _check_word("dates", self.dates, DATES)
        _check_word("index_role", self.index_role, _INDEX_ROLES)
        _check_word("pinned_role", self.pinned_role, _PINNED_ROLES)
        _check_word("scope", self.scope, SCOPES)
        if self.model is not None and not self.model.strip():
            raise InvalidInputError(f"model: expected a model's name, found {self.model!r:.80}")
        for name, value, least in (
            ("recent", self.recent, 0),
            ("shortlist", self.shortlist, 1),
            ("max_picked", 1 if self.max_picked is None else self.max_picked, 1),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidInputError(
                    f"{name}: expected an integer of at least {least}, found {value!r}"
                )
        for name, share in (
            ("index_share", self.index_share),
            ("min_saving", self.min_saving),
            ("recall_share", self.recall_share),
            ("swap_to", self.swap_to),
            ("memories", self.memories),
            ("wait", self.wait),
        ):
            if isinstance(share, bool) or not isinstance(share, (int, float)):
                raise InvalidInputError(f"{name}: expected a number, found {share!r}")
            if name == "memories" and not 0 <= share <= 1:
                raise InvalidInputError(
                    f"memories: expected at least 0 and at most 1, found {share}"
                )
            if name not in ("wait", "memories") and not 0 <= share < 1:
                raise InvalidInputError(f"{name}: expected at least 0 and below 1, found {share}")
        _check_swap(self.swap_at, self.swap_to)
        if self.recall_share >= self.swap_to:
            raise InvalidInputError(
                f"recall_share: expected less than swap_to ({self.swap_to}), for a list that is "
                f"made anew needs room for other things; found {self.recall_share}"
            )
        if not 0 <= self.wait < float("inf"):
            raise InvalidInputError(f"wait: expected seconds, found {self.wait}")

    @property
    def known_prices(self) -> Prices | None:
        """The prices that were given, or those of the model; None if neither is known."""
        if self.prices is not None or self.model is None:
            return self.prices
        return prices_of(self.model)

    @property
    def key(self) -> tuple[object, ...]:
        """The options that decide which turns are chosen, to compare them with another window's.

        The query vector is not included: windows compare its bytes.
        """
        chosen = (self.recent, self.shortlist, self.max_picked, self.index_share, self.min_saving)
        theirs = (self.memories, self.pinned_role, self.scope)
        given = () if theirs == _OF_MEMORIES else theirs  # as those have it that know none of them
        return (*chosen, self.dates, *given)


_OF_MEMORIES: Final = (MEMORY_SHARE, "user", "conversation")
"""The options of memories that are usual."""


def _check_word(name: str, word: object, words: Collection[str]) -> None:
    if not isinstance(word, str) or word not in words:
        raise InvalidInputError(f"{name}: expected one of {', '.join(words)}, found {word!r:.80}")


def _check_swap(at: object, to: float) -> None:
    """Check the shares of the budget at which, and to which, a list is made anew."""
    if isinstance(at, bool) or not isinstance(at, (int, float)):
        raise InvalidInputError(f"swap_at: expected a number, found {at!r}")
    if not 0 < to < at <= 1:
        raise InvalidInputError(
            f"swap_at, swap_to: expected 0 < swap_to < swap_at <= 1, found {at} and {to}"
        )


def check_picker(given: object) -> None:
    """Refuse what cannot pick; None is nobody.

    Raises:
        InvalidInputError: It has no method `pick`.
    """
    if given is None:
        return
    if isinstance(given, type) or not callable(getattr(given, "pick", None)):
        raise InvalidInputError(f"picker: expected an object with pick(), found {given!r:.80}")
