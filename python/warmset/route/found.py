"""What could be granted beyond a payload, and why the rest can not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.route.candidates import Candidate
    from warmset.route.quoted import Line

THERE: Final = "it is there already"
"""Why what stands in the payload, or was granted, is refused."""


@dataclass(frozen=True, slots=True)
class Found:
    """What could be granted.

    Args:
        candidates: The candidates, those that are to be granted first in front.
        named: Names of those of them that were asked for by name.
        lines: How they would stand in a message, by id, without those that are gone.
        refused: By name, or by the request, why something can not be granted.
    """

    candidates: Sequence[Candidate]
    named: frozenset[str]
    lines: Mapping[int, Line]
    refused: dict[str, str]
