"""The one checked way to a summary, whoever writes it."""

from __future__ import annotations

import inspect
from asyncio import CancelledError
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from warmset._core import count_text
from warmset._support.log import kind
from warmset.errors import InvalidInputError, SummarizerError, SummaryRefused
from warmset.messages import Facts, accept, resolve, text_message
from warmset.summarize.base import HEADING, Summary, SummaryReply
from warmset.summarize.checks import checked_earlier, checked_text, checked_wish
from warmset.summarize.extract import ExtractiveSummarizer
from warmset.summarize.losses import Audit, Stock
from warmset.summarize.source import Source, sources
from warmset.summarize.topic import check_topic
from warmset.tokens import PER_MESSAGE, known_encoding, message_tokens
from warmset.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from warmset.messages import Dialect, Message
    from warmset.summarize.base import Summarizer

SHARE: Final = 0.25
"""The part of what it replaces that a summary is asked to have at most."""

CARRIED: Final = "(Also stated there)"
"""What the list of lost facts begins with."""

_WHY: Final = 400


def summary_of(
    messages: Iterable[Mapping[str, object]],
    summarizer: Summarizer | None = None,
    *,
    max_tokens: int | None = None,
    previous: str | None = None,
    focus: str | None = None,
    fallback: Summarizer | None = None,
    carry_tokens: int = 0,
    dialect: Dialect | None = None,
    encoding: str = "o200k_base",
) -> Summary:
    """Summarise messages, and see that it is a summary.

    Args:
        messages: What the summary is to stand for.
        summarizer: Who writes it: a summarizer, or any function of messages and `max_tokens` that
            returns a text; `ExtractiveSummarizer` if not given.
        max_tokens: Tokens that it is asked to have at most; a quarter of what it replaces if not
            given.
        previous: An earlier summary that it replaces too.
        focus: What the summary should keep above all. A summarizer that has no such argument is
            called without it, and the notes say so.
        fallback: Who writes it if that fails or is refused; the reason is in the notes. Without
            one, the error is raised.
        carry_tokens: Tokens for a list of facts that the summary lost, below it; none by default.
        dialect: The dialect of the messages; detected if not given.
        encoding: The vocabulary that tokens are counted with.

    Returns:
        The summary, with an audit of what it lost.

    Raises:
        SummaryRefused: What was written is no text, empty, an error's text, a refusal, cut, JSON,
            not shorter than what it replaces, or keeps next to none of the facts that were said.
        SummarizerError: The summarizer raised; the cause is attached.
        InvalidInputError: There are no messages, one is malformed, or an option is out of range.
    """
    plain = accept(messages)
    if not plain:
        raise InvalidInputError("messages: there is nothing to summarise; give at least one")
    tongue = resolve(plain, dialect)
    replaced = sum(message_tokens(plain, known_encoding(encoding)))
    previous, focus = checked_earlier(previous), checked_wish("focus", focus)
    if previous:
        replaced += PER_MESSAGE + _tokens(previous, encoding)
    wanted = max(1, int(replaced * SHARE)) if max_tokens is None else max_tokens
    _at_least("max_tokens", wanted, 1)
    _at_least("carry_tokens", carry_tokens, 0)
    first = ExtractiveSummarizer(encoding) if summarizer is None else summarizer
    for name, one in (("summarizer", first), ("fallback", fallback)):
        if one is not None and not callable(one):
            raise InvalidInputError(f"{name}: expected a function of messages, found {one!r:.80}")
    limit = replaced - PER_MESSAGE - _tokens(f"{HEADING}\n", encoding)
    notes: list[str] = []
    usage: Usage | None = None
    failure: str | None = None
    writer = first
    refused: str | None = None
    stock = Stock(sources(plain, tongue))

    def accepted(by: Summarizer, most: int) -> tuple[SummaryReply, Audit]:
        made = _written(by, plain, tongue, most, previous, focus)
        try:
            return made, _audited(made, by, stock, previous, limit, encoding)
        except SummaryRefused as error:
            error.usage = made.usage
            raise

    try:
        written, audit = accepted(first, wanted)
    except SummarizerError as error:
        if fallback is None:
            raise
        notes.append(f"{_name(first)} failed: {_line(error)}")
        usage = error.usage if isinstance(error.usage, Usage) else None
        failure = kind(error)
        refused = error.reason if isinstance(error, SummaryRefused) else None
        writer = fallback
        written, audit = accepted(fallback, min(wanted, max(1, limit - 1)))
    notes.extend(written.notes)
    text = written.strip()
    if carry_tokens:
        text, audit = _with_carried(text, stock, audit, carry_tokens, limit, encoding)
    tokens = _tokens(text, encoding)
    return Summary(
        text=text,
        tokens=tokens,
        replaced=replaced,
        by=_name(writer),
        audit=audit,
        usage=_together(usage, written.usage),
        notes=tuple(notes),
        failure=failure,
        refused=refused,
    )


def _written(
    summarizer: Summarizer,
    plain: list[Message],
    dialect: Dialect,
    max_tokens: int,
    previous: str | None,
    focus: str | None,
) -> SummaryReply:
    """Call a summarizer, and check what it returns."""
    given = deepcopy(plain)  # what it does with them is its own business
    more: dict[str, Any] = {}
    if previous and takes(summarizer, "previous"):
        more["previous"] = previous
    elif previous:
        given.insert(0, text_message(dialect, "user", f"{HEADING}\n{previous}"))
    unheard = focus is not None and not takes(summarizer, "focus")
    if focus is not None and not unheard:
        more["focus"] = focus
    try:
        answer: object = summarizer(given, max_tokens=max_tokens, **more)
    except SummarizerError:
        raise
    except (Exception, CancelledError) as error:
        raise SummarizerError(f"{_name(summarizer)} failed: {error!r}") from error
    if inspect.iscoroutine(answer):
        answer.close()
        raise SummaryRefused("not_text", "it is a coroutine; give LLMSummarizer such a function")
    usage = answer.usage if isinstance(answer, SummaryReply) else None
    notes = answer.notes if isinstance(answer, SummaryReply) else ()
    if unheard:
        notes = (*notes, f"{_name(summarizer)} takes no focus")
    try:
        return SummaryReply(checked_text(answer), usage, notes)
    except SummaryRefused as error:
        error.usage = usage
        raise


def takes(summarizer: Summarizer, name: str) -> bool:
    """Tell whether a summarizer has an argument: `previous` or `focus`."""
    try:
        parameters = inspect.signature(cast("Any", summarizer)).parameters
    except (TypeError, ValueError):
        return False
    return name in parameters or any(
        one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()
    )


def _audited(
    written: SummaryReply,
    by: Summarizer,
    stock: Stock,
    previous: str | None,
    limit: int,
    encoding: str,
) -> Audit:
    """Audit a summary, and check that it is shorter than the turns and about them."""
    text = written.strip()
    tokens = _tokens(text, encoding)
    if tokens >= limit:
        raise SummaryRefused(
            "not_shorter", f"it has {tokens} tokens where {max(0, limit - 1)} would be a gain"
        )
    audit = stock.audit(text)
    if not isinstance(by, ExtractiveSummarizer):  # its sentences are those of the turns
        earlier = Stock([Source(Facts("user", previous))]).audit(text) if previous else None
        check_topic(audit, tokens, earlier)
    return audit


def _with_carried(
    text: str, stock: Stock, audit: Audit, carry_tokens: int, limit: int, encoding: str
) -> tuple[str, Audit]:
    """Add the list of what was lost, as far as it fits and the whole is still shorter."""
    head = f"{text}\n\n{CARRIED}\n"
    before = _tokens(text, encoding)
    around = _tokens(head, encoding) - before
    room = min(carry_tokens, limit - 1 - before) - around
    listed = audit.carried(room, encoding=encoding) if room > 0 else ""
    whole = f"{head}{listed}"
    while listed and _tokens(whole, encoding) > min(before + carry_tokens, limit - 1):
        room -= 1
        listed = audit.carried(room, encoding=encoding) if room > 0 else ""
        whole = f"{head}{listed}"
    return (whole, stock.audit(whole)) if listed else (text, audit)


def _at_least(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInputError(f"{name}: expected at least {least}, found {value!r}")


def _together(one: Usage | None, other: Usage | None) -> Usage | None:
    if one is None or other is None:
        return one or other
    return replace(
        one,
        input=one.input + other.input,
        output=one.output + other.output,
        milliseconds=one.milliseconds + other.milliseconds,
        estimated=one.estimated or other.estimated,
    )


def _name(summarizer: object) -> str:
    name = getattr(summarizer, "__qualname__", None)
    return name if isinstance(name, str) else type(summarizer).__name__


def _line(error: Exception) -> str:
    return " ".join(str(error)[: 2 * _WHY].split())[:_WHY] or repr(error)


def _tokens(text: str, encoding: str) -> int:
    return count_text(text, encoding)[0]
