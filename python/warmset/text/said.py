"""What a text says: its terms, its facts, and how often it denies; worked out when asked for."""

from __future__ import annotations

import math
import re
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from warmset._core import terms
from warmset.text.hard_facts import READ, facts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

COVERED: Final = 0.9
"""The share of the terms of a text that another one must have to say the same."""

_BITS: Final = 256

_DENIED: Final = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|neither|nor|without|cannot|\w+n[\'\u2019]t)\b",
    re.IGNORECASE,
)


class Said:
    """What a text says; worked out when it is first asked for.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @property
    def is_long(self) -> bool:
        """Whether not all of its facts are read."""
        return len(self.text) > READ

    @cached_property
    def terms(self) -> frozenset[str]:
        """Its terms, as they are searched by."""
        return frozenset() if self.is_long else frozenset(terms(self.text))

    @cached_property
    def facts(self) -> frozenset[str]:
        """Its numbers, names and paths."""
        return facts_of(self.text)

    @cached_property
    def denials(self) -> int:
        """How often it says no."""
        return len(_DENIED.findall(self.text))

    @cached_property
    def signature(self) -> NDArray[np.uint64]:
        """A bit for each term, shape (4,)."""
        bits = 0
        for term in self.terms:
            bits |= 1 << (hash(term) % _BITS)
        return np.frombuffer(bits.to_bytes(_BITS // 8, "little"), np.uint64)

    @cached_property
    def spare(self) -> int:
        """How many of its terms another text may lack that says the same."""
        return len(self.terms) - math.ceil(COVERED * len(self.terms))
