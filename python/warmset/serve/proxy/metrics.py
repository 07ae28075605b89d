"""What the proxy counts, in the text format that Prometheus reads.

No label has a tenant, a key, a name of a conversation or anything else that a caller chooses: each
has few values, which are fixed words, and what is none of them counts as "other".

With several workers, each process counts for itself. Where the environment variable
`PROMETHEUS_MULTIPROC_DIR` names a directory when the workers start, they write their counts to
files there, and each of them answers with the sums of all. The directory must be empty at the start
and must not outlast a restart; when a worker has ended, call `ended` with its process number, so
that its open streams and its backlog are not counted any more.
"""

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

if TYPE_CHECKING:
    from collections.abc import Collection

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
"""The content type of `Metrics.text`."""

SURFACES: Final = frozenset({"chat", "responses", "messages", "gemini", "interactions", "through"})
"""The sorts of requests; "through" is one that has no list of messages."""

OTHER: Final = "other"

_SHARED: Final = "PROMETHEUS_MULTIPROC_DIR"
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z_]{0,39}")
_MOST_REASONS: Final = 64
_LOWEST, _HIGHEST = 100, 599
_BUCKETS: Final = (0.001, 0.002, 0.003, 0.005, 0.008, 0.015, 0.03, 0.06, 0.125, 0.25, 0.5, 1, 2, 5)
"""Bounds in seconds; a window takes a few milliseconds."""


class Metrics:
    """The counts of a proxy; several threads may use them."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._reasons: set[str] = set()
        own = self._registry
        self._requests = Counter(
            "warmset_requests", "Answered requests", ("surface", "status"), registry=own
        )
        self._refusals = Counter(
            "warmset_refusals", "Requests that the guard refused", ("reason",), registry=own
        )
        self._bypasses = Counter(
            "warmset_bypasses",
            "Requests that went upstream as they came",
            ("reason",),
            registry=own,
        )
        self._tokens = Counter(
            "warmset_tokens",
            "Tokens of lists as they came, as they were sent, read from a cache, and not sent",
            ("kind",),
            registry=own,
        )
        self._saved = Counter(
            "warmset_saved_usd", "Money that was not spent, in US dollars", registry=own
        )
        self._extra = Counter(
            "warmset_extra_usd",
            "Money that was spent beyond what whole lists would have cost, in US dollars",
            registry=own,
        )
        self._thinking = Counter(
            "warmset_thinking_blocks",
            "Blocks of thinking that were sent, left out, and sent but refused by the provider",
            ("fate",),
            registry=own,
        )
        self._latency = Histogram(
            "warmset_added_latency_seconds",
            "Time between the last byte of a request with a list, and sending it on",
            registry=own,
            buckets=_BUCKETS,
        )
        self._backlog = Gauge(
            "warmset_vectors_backlog",
            "Turns that wait for their vectors",
            registry=own,
            multiprocess_mode="livemax",  # workers share the store
        )
        self._streams = Gauge(
            "warmset_open_streams",
            "Streams that are open",
            registry=own,
            multiprocess_mode="livesum",
        )

    def answered(self, surface: str, status: int) -> None:
        """Count a request that was answered.

        Args:
            surface: One of `SURFACES`.
            status: The status of the answer.
        """
        known = str(status) if _LOWEST <= status <= _HIGHEST else OTHER
        self._requests.labels(_among(surface, SURFACES), known).inc()

    def refused(self, reason: str) -> None:
        """Count a request that the guard refused, by the type of its error."""
        self._refusals.labels(self._reason(reason)).inc()

    def bypassed(self, reason: str) -> None:
        """Count a request that went upstream as it came.

        Args:
            reason: A word of letters and underscores that warmset chose. After 64 different ones,
                others count as "other".
        """
        self._bypasses.labels(self._reason(reason)).inc()

    def sent(
        self, *, given: int, sent: int, thinking_kept: int = 0, thinking_dropped: int = 0
    ) -> None:
        """Count a list that was sent.

        Args:
            given: Its tokens as it came.
            sent: Its tokens as it was sent; what is less is saved.
            thinking_kept: The blocks of thinking that were sent.
            thinking_dropped: Those that were left out.
        """
        self._add_tokens("in", given)
        self._add_tokens("sent", sent)
        self._add_tokens("saved", given - sent)
        self._thinking.labels("kept").inc(max(thinking_kept, 0))
        self._thinking.labels("dropped").inc(max(thinking_dropped, 0))

    def used(self, *, cached: int = 0, saved_usd: float = 0.0, thinking_refused: int = 0) -> None:
        """Count what an answer says about its cost.

        Args:
            cached: The tokens that the provider read from its cache.
            saved_usd: The money that was not spent, in US dollars; a loss, which is negative,
                counts apart.
            thinking_refused: The blocks of thinking that were sent, and that the provider left out.
        """
        self._add_tokens("cached", cached)
        self._thinking.labels("refused").inc(max(thinking_refused, 0))
        if 0 < saved_usd < math.inf:
            self._saved.inc(saved_usd)
        elif -math.inf < saved_usd < 0:
            self._extra.inc(-saved_usd)

    def added(self, seconds: float) -> None:
        """Count the time that passed between a request and sending it on."""
        self._latency.observe(max(seconds, 0.0))

    def backlog(self, turns: int) -> None:
        """Say how many turns wait for their vectors."""
        self._backlog.set(turns)

    def stream_opened(self) -> None:
        """Say that a stream began."""
        self._streams.inc()

    def stream_closed(self) -> None:
        """Say that a stream ended, in whichever way."""
        self._streams.dec()

    def text(self) -> bytes:
        """Return all counts, those of all workers where they are shared, as `CONTENT_TYPE`."""
        if not os.environ.get(_SHARED):
            return generate_latest(self._registry)
        every = CollectorRegistry()
        MultiProcessCollector(every)  # type: ignore[no-untyped-call]  # theirs
        return generate_latest(every)

    def _add_tokens(self, kind: str, count: int) -> None:
        self._tokens.labels(kind).inc(max(count, 0))

    def _reason(self, reason: str) -> str:
        """Return a reason as a label, as long as there are few."""
        if reason in self._reasons:
            return reason
        if not _WORD.fullmatch(reason) or len(self._reasons) >= _MOST_REASONS:
            return OTHER
        self._reasons.add(reason)  # threads at once may add one more each, which does no harm
        return reason


def ended(process: int) -> None:
    """Take the open streams and the backlog of a worker that has ended out of the shared counts.

    Nothing happens where counts are not shared.
    """
    if os.environ.get(_SHARED):
        mark_process_dead(process)  # type: ignore[no-untyped-call]  # theirs


def _among(word: str, known: Collection[str]) -> str:
    return word if word in known else OTHER
