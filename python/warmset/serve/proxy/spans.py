"""OpenTelemetry spans of requests, by the GenAI semantic conventions; no content.

It needs `opentelemetry-api`, and makes nothing unless the program sets up a provider of tracers, as
`opentelemetry-instrument` does. A span is made when its request is over, with the times of it. It
belongs to the trace that the caller names in `traceparent`; what goes upstream is not changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opentelemetry.trace import SpanKind, Status, StatusCode, get_tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from warmset._support.version import __version__
from warmset.serve.proxy.outcome import model_of
from warmset.serve.proxy.upstream import BASES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.util.types import AttributeValue

    from warmset.serve.proxy.outcome import Outcome

_SCOPE: Final = "warmset.serve"
_GEMINI_HOST: Final = BASES["gemini"].removeprefix("https://")
_LONGEST: Final = 128


class Spans:
    """Makes a span for each request that is forwarded and has a list of messages."""

    def __init__(self) -> None:
        self._tracer = get_tracer(_SCOPE, __version__)
        self._context = TraceContextTextMapPropagator()

    def made(self, outcome: Outcome, conversation: str | None, trace: Mapping[str, str]) -> None:
        """Make the span of a request.

        Args:
            outcome: What became of it.
            conversation: The digest of its conversation; None if that is not known.
            trace: Its headers `traceparent` and `tracestate`, as far as they were sent.
        """
        if outcome.surface is None or outcome.prepared is None:
            return
        operation = "generate_content" if outcome.surface.name == "gemini" else "chat"
        span = self._tracer.start_span(
            operation if outcome.model is None else f"{operation} {outcome.model}",
            context=self._context.extract(trace),
            kind=SpanKind.CLIENT,
            attributes={
                "gen_ai.operation.name": operation,
                **_present(_of_request(outcome)),
            },
            start_time=outcome.begun,
        )
        try:
            if span.is_recording():
                given = {"gen_ai.conversation.id": conversation, **_of_answer(outcome)}
                span.set_attributes(_present(given | _of_window(outcome)))
                if outcome.error is not None:
                    span.set_status(Status(StatusCode.ERROR))
        finally:
            span.end(outcome.ended)


def _present(given: Mapping[str, AttributeValue | None]) -> dict[str, AttributeValue]:
    return {name: value for name, value in given.items() if value is not None}


def _of_request(outcome: Outcome) -> dict[str, AttributeValue | None]:
    provider: str = outcome.provider
    if provider == "gemini":
        provider = "gcp.gemini" if outcome.host == _GEMINI_HOST else "gcp.gen_ai"
    return {
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": outcome.model,
        "server.address": outcome.host,
        "server.port": outcome.port,
    }


def _of_answer(outcome: Outcome) -> dict[str, AttributeValue | None]:
    reply, bill = outcome.reply, outcome.bill()
    said: dict[str, AttributeValue | None] = {
        "error.type": outcome.error,
        "gen_ai.request.stream": True if outcome.streamed else None,
    }
    if reply is not None:
        said |= {
            "gen_ai.response.id": _word(reply.id),
            "gen_ai.response.model": model_of(reply.model),
            "gen_ai.response.finish_reasons": None if not _word(reply.stop) else [str(reply.stop)],
        }
    if bill is not None:
        said |= {
            "gen_ai.usage.input_tokens": bill.fresh + bill.cached + bill.written,
            "gen_ai.usage.output_tokens": bill.output,
            "gen_ai.usage.cache_read.input_tokens": bill.cached,
            "gen_ai.usage.cache_write.input_tokens": bill.written,
        }
    return said


def _of_window(outcome: Outcome) -> dict[str, AttributeValue | None]:
    if outcome.window is None:
        return {"warmset.bypass.reason": outcome.bypass}
    report = outcome.window.report
    return {
        "gen_ai.conversation.compacted": True if report.active else None,
        "warmset.mode": report.mode,
        "warmset.tokens.in": report.tokens_in,
        "warmset.tokens.sent": report.tokens_sent,
        "warmset.saved": report.saved,
    }


def _word(given: object) -> str | None:
    """Return an id or a word of a provider's; None if it is none."""
    fits = isinstance(given, str) and 0 < len(given) <= _LONGEST and given.isprintable()
    return given if fits and isinstance(given, str) and " " not in given else None
