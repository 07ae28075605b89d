"""Estimates that learn from the usage that providers report."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Final, Self, cast

from warmset.errors import InvalidInputError
from warmset.tokens.number import ESTIMATE_ERROR, TokenCount

_KEPT: Final = 200
"""The number of observations that are kept, so that a change of model is unlearned in time."""

_ENOUGH: Final = 19
"""With fewer observations, no quantile of theirs covers 95 of 100 further ones."""

_COVERED: Final = (95, 100)
_LEAST: Final = 0.01


class Calibration:
    """The factor between estimated and reported tokens, learned from observations, with its error.

    The factor is the least squares' through the origin. The bound is the conformal quantile of the
    residuals: when later requests are like the observed ones, 95 of 100 lie within it. With fewer
    than 19 observations the prior bound stands, or the worst residual seen if that is larger, and
    estimates are only ever raised.

    Args:
        prior: The error of an estimate that nothing is known of, relative to the reported number.

    Raises:
        InvalidInputError: The prior is not a number between 0 and 1.
    """

    __slots__ = ("_pairs", "_prior")

    def __init__(self, prior: float = ESTIMATE_ERROR) -> None:
        if isinstance(prior, bool) or not isinstance(prior, (int, float)) or not 0 < prior < 1:
            raise InvalidInputError(f"prior: give a number between 0 and 1, found {prior!r}")
        self._prior = float(prior)
        self._pairs: deque[tuple[int, int]] = deque(maxlen=_KEPT)

    def __len__(self) -> int:
        """Return the number of stored observations."""
        return len(self._pairs)

    @property
    def ratio(self) -> float:
        """The factor by which estimates are multiplied."""
        pairs = tuple(self._pairs)
        if not pairs:
            return 1.0
        fitted = sum(e * r for e, r in pairs) / sum(e * e for e, _ in pairs)
        return fitted if len(pairs) >= _ENOUGH else max(1.0, fitted)

    @property
    def error(self) -> float:
        """The relative error that 95 of 100 requests like the observed ones do not exceed."""
        return self._error(self.ratio)

    def observe(self, estimated: int, reported: int) -> None:
        """Learn from one request.

        Args:
            estimated: The estimate of the whole request, before `apply`.
            reported: All input tokens that the provider reported, cached ones included.

        Raises:
            InvalidInputError: One of them is not a positive integer.
        """
        self._pairs.append((_tokens("estimated", estimated), _tokens("reported", reported)))

    def apply(self, estimate: int) -> TokenCount:
        """Correct an estimate.

        Args:
            estimate: Tokens, 0 or more.

        Returns:
            The corrected count, rounded up, with its error.

        Raises:
            InvalidInputError: The estimate is not an integer, or is negative.
        """
        tokens = 0 if estimate == 0 else _tokens("estimate", estimate)
        ratio = self.ratio
        return TokenCount(math.ceil(tokens * ratio), exact=False, error=self._error(ratio))

    def to_dict(self) -> dict[str, object]:
        """Return everything that was learned, as plain JSON values."""
        return {"version": 1, "prior": self._prior, "pairs": [list(pair) for pair in self._pairs]}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """Restore a calibration from the result of `to_dict`.

        Args:
            data: The mapping.

        Returns:
            An equal calibration.

        Raises:
            InvalidInputError: It is no such mapping.
        """
        if not isinstance(data, Mapping) or data.get("version") != 1:
            raise InvalidInputError("calibration: give what to_dict returned, of version 1")
        pairs = data.get("pairs")
        if not isinstance(pairs, (list, tuple)):
            raise InvalidInputError("calibration: pairs is a list of estimated and reported tokens")
        made = cls(cast("float", data.get("prior")))
        for pair in cast("list[object]", pairs):
            if not isinstance(pair, (list, tuple)) or len(cast("list[object]", pair)) != 2:  # noqa: PLR2004
                raise InvalidInputError(f"calibration: a pair is two numbers, found {pair!r}")
            estimated, reported = cast("tuple[int, int]", pair)
            made.observe(estimated, reported)
        return made

    def _error(self, ratio: float) -> float:
        residuals = sorted(abs(r - ratio * e) / r for e, r in tuple(self._pairs))
        if len(residuals) < _ENOUGH:
            return max([self._prior, *residuals[-1:]])
        covered, of = _COVERED
        at = -(-(len(residuals) + 1) * covered // of)
        return max(_LEAST, residuals[min(at, len(residuals)) - 1])


def _tokens(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 1 << 53:
        raise InvalidInputError(f"{name}: give a whole number of tokens above 0, found {value!r}")
    return int(value)
