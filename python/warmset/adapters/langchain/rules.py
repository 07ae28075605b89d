"""The checked arguments of `trim_messages`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.adapters.langchain.counters import Counter


@dataclass(frozen=True, slots=True)
class Rules:
    """The checked options.

    Args:
        budget: The budget in tokens.
        counter: Counts the messages.
        last: Whether the end of the list is kept, not its beginning.
        split: How text is parted where a message may be shortened; None where none may.
        start_on: Which messages the result may begin with; None for all.
        end_on: Which messages it may end with; None for all.
        system: Whether a leading system message is kept.
        pairs: Whether calls and results stay together.
    """

    budget: float
    counter: Counter
    last: bool
    split: Callable[[str], list[str]] | None
    start_on: Callable[[Any], bool] | None
    end_on: Callable[[Any], bool] | None
    system: bool
    pairs: bool
