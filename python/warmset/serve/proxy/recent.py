"""The last windows and conversations of a proxy, for its page: numbers, times and digests.

It lies in memory, within bounds, and begins anew with the process.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, deque
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from warmset._support.locks import guarded, lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.serve.proxy.saving import Before

WINDOWS: Final = 20
"""The last windows that are kept."""

CONVERSATIONS: Final = 10_000
"""The conversations that are kept, those that were not used for longest given up first."""

SHOWN: Final = 50
"""The newest conversations that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A window.

    Args:
        number: Its number, from 1.
        at: When its answer ended, in seconds since the epoch.
        conversation: The digest of its conversation.
        model: The model that it was sent to.
        mode: How it was built.
        turns: The messages of the conversation.
        tokens_in: The tokens of the whole conversation.
        tokens_sent: The tokens of the window.
        cached: Those of them that a cache had.
        measured: Whether the provider says so; else it is what is expected.
        saved_usd: The money that it saves; None if that is not known.
    """

    number: int = 0
    at: float
    conversation: str
    model: str | None
    mode: str
    turns: int
    tokens_in: int
    tokens_sent: int
    cached: int
    measured: bool
    saved_usd: float | None


@dataclass(slots=True)
class _Talk:
    """A conversation."""

    name: str | None
    turns: int = 0
    tokens: int = 0
    windows: int = 0
    at: float = 0.0
    before: Before | None = None


@dataclass(slots=True)
class _Totals:
    """What was counted since the start."""

    requests: int = 0
    failed: int = 0
    streams: int = 0
    tokens_in: int = 0
    tokens_sent: int = 0
    tokens_cached: int = 0
    saved_usd: float = 0.0
    unpriced: int = 0


@guarded("self._lock", fields=("_windows", "_talks", "_bypasses", "_totals"))
class Recent:
    """What a proxy did lately; several threads may use it.

    Args:
        windows: How many windows are kept.
        conversations: How many conversations are kept.
        clock: Returns the seconds since the epoch.
    """

    def __init__(
        self,
        *,
        windows: int = WINDOWS,
        conversations: int = CONVERSATIONS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._lock = lock("watch")
        self._most = conversations
        self._since = clock()
        self._windows: deque[Row] = deque(maxlen=windows)
        self._talks: OrderedDict[str, _Talk] = OrderedDict()
        self._bypasses: Counter[str] = Counter()
        self._totals = _Totals()

    def before(self, conversation: str) -> Before | None:
        """Return the last request of a conversation, if one is known."""
        with self._lock:
            talk = self._talks.get(conversation)
            return None if talk is None else talk.before

    def request(self, *, failed: bool, bypass: str | None, cached: int) -> None:
        """Count a request that was answered.

        Args:
            failed: Whether it counts as failed.
            bypass: Why it went as it came, if something failed; a fixed word.
            cached: The tokens that the provider read from its cache.
        """
        with self._lock:
            self._totals.requests += 1
            self._totals.failed += failed
            self._totals.tokens_cached += max(cached, 0)
            if bypass is not None:
                self._bypasses[bypass] += 1

    def window(self, row: Row, before: Before, *, name: str | None = None) -> None:
        """Take up a window.

        Args:
            row: It; its number is given here.
            before: What the next request of the conversation is compared with.
            name: The name of the conversation, if it may be shown.
        """
        with self._lock:
            number = self._windows[-1].number + 1 if self._windows else 1
            self._windows.append(replace(row, number=number))
            totals = self._totals
            totals.tokens_in += row.tokens_in
            totals.tokens_sent += row.tokens_sent
            totals.saved_usd += row.saved_usd or 0.0
            totals.unpriced += row.saved_usd is None
            talk = self._talks.setdefault(row.conversation, _Talk(name))
            talk.turns, talk.tokens, talk.at = row.turns, row.tokens_in, row.at
            talk.windows += 1
            talk.name, talk.before = name, before
            self._talks.move_to_end(row.conversation)
            while len(self._talks) > self._most:
                self._talks.popitem(last=False)

    def streams(self, more: int) -> None:
        """Count open streams: 1 for one that began, -1 for one that ended."""
        with self._lock:
            self._totals.streams += more

    def forget(self) -> None:
        """Forget all names, because something was erased: whose name goes is not told.

        Those that are still there come back with their next window.
        """
        with self._lock:
            for talk in self._talks.values():
                talk.name = None

    def close(self, _timeout: float, /) -> None:
        """Go on, though the store is closed: what is shown is here."""

    def known(self) -> list[str]:
        """Return the digests of all conversations that are kept."""
        with self._lock:
            return list(self._talks)

    def state(self) -> dict[str, Any]:
        """Return all of it as JSON values, the newest first."""
        with self._lock:
            newest = islice(reversed(self._talks.items()), SHOWN)
            return {
                "since": self._since,
                **asdict(self._totals),
                "bypasses": dict(self._bypasses.most_common()),
                "windows": [asdict(row) for row in reversed(self._windows)],
                "kept": len(self._talks),
                "conversations": [
                    {
                        "conversation": key,
                        "name": talk.name,
                        "turns": talk.turns,
                        "tokens": talk.tokens,
                        "windows": talk.windows,
                        "at": talk.at,
                    }
                    for key, talk in newest
                ],
            }
