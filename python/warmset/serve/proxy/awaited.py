"""Exchanges for who must not wait: in threads, and no longer than their patience."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

import anyio
from anyio import to_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.serve.proxy.exchange import Asked, Exchanges, Prepared
    from warmset.serve.replies import Reply

T = TypeVar("T")


class AwaitedExchanges:
    """Puts windows into requests, and appends what is answered, beside an event loop.

    Args:
        exchanges: Does it.
        patience: Seconds that a window may take before the request goes as it came.
        limiter: How many windows are made at once; that of all threads if not given.
    """

    def __init__(
        self,
        exchanges: Exchanges,
        patience: float,
        limiter: anyio.CapacityLimiter | None = None,
    ) -> None:
        self._exchanges = exchanges
        self._patience = patience
        self._limiter = limiter

    async def prepare(self, asked: Asked) -> Prepared:
        """Return what is sent; the request as it came if that takes too long."""
        made = await self._in_time(partial(self._exchanges.prepare, asked))
        return self._exchanges.bypassed(asked, "too_slow") if made is None else made

    async def again(
        self, asked: Asked, prepared: Prepared, status: int, said: bytes
    ) -> Prepared | None:
        """Return what is sent instead of what was refused; None if that goes back.

        So it does, too, if that takes too long.
        """
        work = self._exchanges.again(asked, prepared, status, said)
        return None if work is None else await self._in_time(work)

    async def _in_time(self, work: Callable[[], T]) -> T | None:
        try:
            with anyio.fail_after(self._patience):
                return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limiter)
        except TimeoutError:
            return None

    async def answered(self, asked: Asked, prepared: Prepared, reply: Reply) -> bool:
        """Append a reply, whatever happens to the connection meanwhile.

        Returns:
            Whether it was done in time; if not, it goes on in its thread.
        """
        work = partial(self._exchanges.answered, asked, prepared, reply)
        with anyio.move_on_after(self._patience, shield=True) as waited:
            await to_thread.run_sync(work, abandon_on_cancel=True)
        return not waited.cancelled_caught
