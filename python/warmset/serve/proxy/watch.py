"""What watches a proxy: it counts, keeps the last windows for the page, and makes spans.

An error in here never reaches a request: it is logged, and what the request did is not counted.
"""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread
from starlette.responses import Response

from warmset._support.log import event, kind, room
from warmset.serve.proxy import metrics
from warmset.serve.proxy.gathered import EVERY
from warmset.serve.proxy.outcome import CRASHED, GONE, Outcome, model_of
from warmset.serve.proxy.recent import Recent, Row
from warmset.serve.proxy.saving import Before, saved_usd

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import Message, Receive, Scope, Send

    from warmset.serve.proxy.callers import Talk
    from warmset.serve.proxy.exchange import Prepared
    from warmset.serve.proxy.gathered import Gathered
    from warmset.serve.proxy.relay import Address
    from warmset.serve.proxy.spans import Spans
    from warmset.serve.proxy.surfaces import Provider, Surface
    from warmset.serve.replies import Reply

LOG: Final = room("serve")

DIGEST: Final = 6
"""Bytes of the digest that stands for a conversation."""

_IN_PATH: Final = re.compile(r"/([^/:]+):[A-Za-z]+\Z")
_PORTS: Final = {"http": 80, "https": 443}
_FAILED: Final = 400
_TRACE: Final = ("traceparent", "tracestate")
"""Headers that are kept as long as the request lasts; none that has a key."""


class Watcher:
    """Watches a proxy.

    Args:
        secret: What digests of conversations are made with, at least 16 bytes; they are the same
            after a restart if it is. Made anew if not given.
        names: Whether the page shows the names of conversations.
        gathered: Where workers tell each other what they saw; None for one process alone.
    """

    def __init__(
        self,
        *,
        secret: bytes | None = None,
        names: bool = False,
        gathered: Gathered | None = None,
    ) -> None:
        self._secret = (secret or secrets.token_bytes(32))[:64]
        self._gathered = gathered
        self._names = names
        self.metrics = metrics.Metrics()
        self.recent = Recent()
        self._spans = _spans()

    def request(
        self,
        surface: Surface | None,
        provider: Provider,
        address: Address,
        headers: Mapping[str, str],
    ) -> Seen:
        """Return what watches a request whose last byte has come.

        Args:
            surface: What it is; None if it passes through.
            provider: Whose API it is for.
            address: Where it goes.
            headers: Its headers by their names in lower case.
        """
        return Seen(self, surface, provider, address, headers)

    def refused(self, reason: str) -> None:
        """Count a request that the guard refused."""
        quiet(self.metrics.refused, reason)

    def state(self) -> dict[str, Any]:
        """Return what the page shows, of all workers, as JSON values; it may read files."""
        own = self.recent.state()
        if self._gathered is None:
            return own
        return self._gathered.state(own, self.recent.known())

    async def tell(self) -> None:
        """Let other workers see what this one sees, as long as it is not cancelled."""
        gathered = self._gathered
        while gathered is not None:
            await to_thread.run_sync(quiet, self._tell, gathered)
            await anyio.sleep(EVERY)

    def told(self) -> None:
        """Let other workers see what this one saw at last."""
        if self._gathered is not None:
            quiet(self._tell, self._gathered)

    def counts(self) -> bytes:
        """Return all counts, of all workers, in the format of `metrics`."""
        if self._gathered is not None:
            for process in self._gathered.ended():
                metrics.ended(process)
        return self.metrics.text()

    def _tell(self, gathered: Gathered) -> None:
        gathered.write(self.recent.state(), self.recent.known())

    def digest(self, talk: Talk) -> str:
        """Return what stands for a conversation where its name may not be shown."""
        told = f"{talk.tenant}\0{talk.name}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(
            told, key=self._secret, digest_size=DIGEST, person=b"conversation"
        ).hexdigest()

    def opened(self) -> None:
        """Count a stream that began."""
        quiet(self.metrics.stream_opened)
        quiet(self.recent.streams, 1)

    def closed(self) -> None:
        """Count a stream that ended."""
        quiet(self.metrics.stream_closed)
        quiet(self.recent.streams, -1)

    def ended(self, outcome: Outcome, trace: Mapping[str, str]) -> None:
        """Take up what became of a request; each part by itself, so that one may fail.

        Args:
            outcome: What became of it.
            trace: Those of its headers that name a trace.
        """
        quiet(self._count, outcome)
        quiet(self._keep, outcome)
        if self._spans is not None:
            quiet(self._trace, self._spans, outcome, trace)

    def _count(self, outcome: Outcome) -> None:
        surface = outcome.surface
        self.metrics.answered("through" if surface is None else surface.name, outcome.status)
        if outcome.bypass is not None:
            self.metrics.bypassed(outcome.bypass)
        if outcome.window is not None and outcome.answered:
            report = outcome.window.report
            self.metrics.sent(
                given=report.tokens_in,
                sent=report.tokens_sent,
                thinking_kept=report.thinking.kept,
                thinking_dropped=len(report.thinking.removed),
            )

    def _keep(self, outcome: Outcome) -> None:
        bill = outcome.bill() if outcome.answered else None
        cached = 0 if bill is None else bill.cached
        self.recent.request(failed=outcome.error is not None, bypass=outcome.bypass, cached=cached)
        window = outcome.window
        talk = None if outcome.prepared is None else outcome.prepared.talk
        saved = None
        if window is not None and talk is not None and outcome.answered:
            report, key, now = window.report, self.digest(talk), time.monotonic()
            model = outcome.model or (outcome.reply and model_of(outcome.reply.model)) or None
            saved = saved_usd(window, bill, model, self.recent.before(key), now)
            paid = 0 if bill is None else bill.fresh + bill.cached + bill.written
            had = report.cached if bill is None else _share(bill.cached, paid, report.tokens_sent)
            row = Row(
                at=outcome.ended / 1e9,
                conversation=key,
                model=model,
                mode=report.mode,
                turns=report.turns_in,
                tokens_in=report.tokens_in,
                tokens_sent=report.tokens_sent,
                cached=min(had, report.tokens_sent),
                measured=bill is not None,
                saved_usd=saved,
            )
            name = talk.name if self._names else None
            self.recent.window(row, Before(report.tokens_in, model, now), name=name)
        if bill is not None or saved is not None:
            refused = 0 if bill is None else len(bill.dropped)
            self.metrics.used(cached=cached, saved_usd=saved or 0.0, thinking_refused=refused)

    def _trace(self, spans: Spans, outcome: Outcome, trace: Mapping[str, str]) -> None:
        talk = None if outcome.prepared is None else outcome.prepared.talk
        spans.made(outcome, None if talk is None else self.digest(talk), trace)


class Seen:
    """Watches one request.

    Args:
        watcher: What it belongs to.
        surface: What the request is; None if it passes through.
        provider: Whose API it is for.
        address: Where it goes.
        headers: Its headers by their names in lower case.
    """

    def __init__(
        self,
        watcher: Watcher,
        surface: Surface | None,
        provider: Provider,
        address: Address,
        headers: Mapping[str, str],
    ) -> None:
        self._watcher = watcher
        self._surface = surface
        self._provider: Provider = provider
        self._address = address
        self._trace = {name: headers[name] for name in _TRACE if name in headers}
        self._came = time.perf_counter()
        self._begun = time.time_ns()
        self._model: str | None = None
        self._prepared: Prepared | None = None
        self._reply: Reply | None = None

    def asks(self, model: object) -> None:
        """Note which model is asked.

        Args:
            model: What the request has in its place.
        """
        self._model = model_of(model)

    def sends(self, prepared: Prepared) -> None:
        """Note what is sent; when that is the first time, the proxy's own work is done."""
        if self._prepared is None:
            self._begun = time.time_ns()
            quiet(self._watcher.metrics.added, time.perf_counter() - self._came)
        self._prepared = prepared

    def replied(self, reply: Reply) -> None:
        """Note what was answered so far."""
        self._reply = reply

    def around(self, answer: Response) -> Response:
        """Return an answer that is watched while it is sent."""
        return _Watched(answer, self)

    def opened(self) -> None:
        """Count a stream that began."""
        self._watcher.opened()

    def ended(self, status: int, error: str | None, *, streamed: bool) -> None:
        """Tell the watcher what became of the request.

        Args:
            status: The status of the answer.
            error: Why it counts as failed, in a word; None if it does not.
            streamed: Whether the answer was a stream.
        """
        if streamed:
            self._watcher.closed()
        quiet(partial(self._told, status, error, streamed=streamed))

    def _told(self, status: int, error: str | None, *, streamed: bool) -> None:
        url = self._address.url
        in_path = _IN_PATH.search(url.path) if self._provider == "gemini" else None
        outcome = Outcome(
            surface=self._surface,
            provider=self._provider,
            host=url.host,
            port=url.port or _PORTS.get(url.scheme, 0),
            model=self._model or (model_of(in_path[1]) if in_path else None),
            status=status,
            error=error,
            streamed=streamed,
            prepared=self._prepared,
            reply=self._reply,
            begun=self._begun,
            ended=time.time_ns(),
        )
        self._watcher.ended(outcome, self._trace)


class _Watched(Response):
    """Sends an answer, and sees how it goes.

    Args:
        answer: The answer.
        seen: Is told once, in whichever way it ends.
    """

    def __init__(self, answer: Response, seen: Seen) -> None:
        super().__init__()
        self._answer = answer
        self._seen = seen
        self._status: int | None = None
        self._streams = False
        self._gone = False
        self._told = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""

        async def heard() -> Message:
            message = await receive()
            self._gone |= message["type"] == "http.disconnect"
            return message

        async def said(message: Message) -> None:
            quiet(self._looked, message)
            await send(message)

        try:
            await self._answer(scope, heard, said)
        except BaseException as error:
            self._end(CRASHED, kind(error))
            raise
        # It may end without its last piece: broken off upstream, or given up by the client.
        self._end(GONE, "client_gone" if self._gone else "broken_off")

    def _looked(self, message: Message) -> None:
        """Look at a piece before it is sent, so that who has all of it finds it counted."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            kinds = [value for name, value in message.get("headers", ()) if name == b"content-type"]
            self._streams = any(one.startswith(b"text/event-stream") for one in kinds)
            if self._streams:
                self._seen.opened()
        elif message["type"] == "http.response.body" and not message.get("more_body", False):
            status = self._status or CRASHED
            self._end(status, str(status) if status >= _FAILED else None)

    def _end(self, otherwise: int, error: str | None) -> None:
        if not self._told:
            self._told = True
            self._seen.ended(self._status or otherwise, error, streamed=self._streams)


def quiet(work: Callable[..., None], *given: object) -> None:
    """Do something whose failure is nobody's but the watcher's: it is logged."""
    try:
        work(*given)
    except Exception as error:  # noqa: BLE001 - whatever fails here, requests go on
        event(LOG, logging.WARNING, "failed", what="watch", error=kind(error))


def _share(cached: int, paid: int, tokens: int) -> int:
    """Return cached tokens by the provider's count as a part of tokens by ours."""
    return 0 if paid <= 0 else round(tokens * cached / paid)


def _spans() -> Spans | None:
    """Return what makes spans; None where OpenTelemetry is not installed, or set up wrongly."""
    try:
        from warmset.serve.proxy.spans import Spans  # noqa: PLC0415 - where it is installed
    except ImportError:
        return None
    try:
        return Spans()
    except Exception as error:  # noqa: BLE001 - it loads what the environment names
        event(LOG, logging.WARNING, "failed", what="watch", error=kind(error))
        return None
