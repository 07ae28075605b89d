"""`check_prefix`: whether consecutive requests only append, for any agent."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from warmset.errors import InvalidInputError
from warmset.money import prices_of
from warmset.money.prices import check_prices
from warmset.testing.prefix_advice import lines
from warmset.testing.prefix_diff import diff
from warmset.testing.requests import read_requests
from warmset.tokens import counter as make_counter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warmset.money import Prices
    from warmset.testing.prefix_diff import PrefixDiff
    from warmset.testing.requests import RequestLike
    from warmset.tokens import Counter, CountFunction


@dataclass(frozen=True, slots=True)
class PrefixResult:
    """What changed between consecutive requests.

    Args:
        diffs: One for each pair of consecutive requests.
        allow: How many pairs may change, if no thinking becomes invalid by it.
    """

    diffs: tuple[PrefixDiff, ...]
    allow: int = 0

    @property
    def breaks(self) -> tuple[PrefixDiff, ...]:
        """The pairs whose second request does more than append, or has invalid thinking."""
        return tuple(one for one in self.diffs if not one.ok)

    @property
    def ok(self) -> bool:
        """Whether no more pairs changed than are allowed, and all thinking is valid."""
        found = self.breaks
        return len(found) <= self.allow and not any(one.thinking for one in found)

    @property
    def lost(self) -> int:
        """Tokens that had to be read again, of all pairs."""
        return sum(one.lost for one in self.diffs)

    @property
    def money(self) -> float | None:
        """What they cost more than from the cache, in USD; None if a price is not known."""
        known = [one.money for one in self.diffs if one.money is not None]
        return sum(known) if len(known) == len(self.diffs) else None

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {
            "ok": self.ok,
            "allow": self.allow,
            "breaks": len(self.breaks),
            "lost": self.lost,
            "money": self.money,
            "diffs": [one.as_dict() for one in self.diffs],
        }

    def __str__(self) -> str:
        return "\n".join(line for one in self.breaks for line in lines(one))


class PrefixError(AssertionError):
    """Requests that should only append did more than that.

    Args:
        result: What was found.
    """

    def __init__(self, result: PrefixResult) -> None:
        allowed = f", {result.allow} allowed" if result.allow else ""
        head = f"{len(result.breaks)} of {len(result.diffs)} requests changed what stood before"
        super().__init__(f"{head}{allowed}\n{result}")
        self.result = result


def check_prefix(
    requests: Iterable[RequestLike],
    *,
    dialect: str | None = None,
    model: str = "",
    allow: int = 0,
    counter: str | CountFunction | Counter | None = None,
    prices: Prices | None = None,
) -> PrefixResult:
    """Compare each request with the one before it, as a provider's prompt cache does.

    A request that only appends is read from the cache up to its new messages, and all thinking in
    it stays valid. Whatever else changes, in the system prompt, the tools, a parameter or an
    earlier message, is found with its place, what it costs and which thinking it makes invalid.
    Cache marks (`cache_control`) are no change; another order of keys is one.

    Args:
        requests: The requests of one conversation, in the order in which they were sent: keyword
            arguments of a provider's call, bodies of HTTP requests, or lists of messages.
        dialect: The dialect of the lists; detected if not given.
        model: The model whose prices and rules hold, instead of the requests' own.
        allow: How many pairs may change, for planned compactions. A pair whose thinking becomes
            invalid is never allowed.
        counter: Counts tokens, as in `fit`; by the model if not given.
        prices: The prices of tokens; those of the model if not given.

    Returns:
        The result; `ok` if every request only appends.

    Raises:
        UnknownDialectError: The dialect is not supported.
        InvalidInputError: A request cannot be read, requests are of several APIs, or an option is
            out of its range.
        CountError: The counter failed.
    """
    if isinstance(allow, bool) or not isinstance(allow, int) or allow < 0:
        raise InvalidInputError(f"allow: expected an integer of at least 0, found {allow!r:.80}")
    if not isinstance(model, str):
        raise InvalidInputError(f"model: expected the name of a model, found {model!r:.80}")
    given = check_prices(prices)
    read = read_requests(requests, dialect=dialect)
    found = []
    for first, (before, after) in enumerate(pairwise(read)):
        name = model or after.model
        found.append(
            diff(
                before,
                after,
                first,
                model=model,
                counter=make_counter(name or None if counter is None else counter),
                prices=given or (prices_of(name) if name else None),
            )
        )
    return PrefixResult(tuple(found), allow)


def assert_append_only(
    requests: Iterable[RequestLike],
    *,
    dialect: str | None = None,
    model: str = "",
    allow: int = 0,
) -> None:
    """Check requests with `check_prefix`, for a test.

    Args:
        requests: The requests of one conversation, in the order in which they were sent.
        dialect: The dialect of the lists; detected if not given.
        model: The model whose prices and rules hold, instead of the requests' own.
        allow: How many pairs may change, for planned compactions.

    Raises:
        PrefixError: A request does more than append; the message has the places and what to do.
        UnknownDialectError: The dialect is not supported.
        InvalidInputError: As in `check_prefix`.
    """
    result = check_prefix(requests, dialect=dialect, model=model, allow=allow)
    if not result.ok:
        raise PrefixError(result)
