"""The result of a window: the messages of one call, their token counts, and a report."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from warmset._support.shown import plain
from warmset.messages import Thinking
from warmset.window.arguments import (
    anthropic_arguments,
    gemini_arguments,
    interactions_arguments,
    openai_arguments,
    responses_arguments,
)
from warmset.window.shown import report_line, report_table, window_line, window_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.ingest import Synced
    from warmset.items.item import Origin
    from warmset.messages import Dialect, System
    from warmset.money import Bill, Money
    from warmset.state.sent_lists import SentList
    from warmset.usage import Usage
    from warmset.window.arguments import (
        AnthropicArguments,
        GeminiArguments,
        InteractionsArguments,
        OpenAIArguments,
        ResponsesArguments,
    )
    from warmset.window.choices import Unused

PartName: TypeAlias = Literal[
    "system",
    "pinned",
    "anchor",
    "dates",
    "summary",
    "memories",
    "index",
    "retrieved",
    "recent",
    "current",
    "request",
    "all",
]

Reason: TypeAlias = Literal[
    "picked", "already_in_window", "newer_value", "not_picked", "below_cut", "over_budget"
]


MemoryReason: TypeAlias = Literal[
    "pinned",
    "recalled",
    "kept",
    "already_in_window",
    "below_cut",
    "over_share",
    "over_budget",
    "whole_list",
]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a window.

    Args:
        name: The kind of the part.
        tokens: Its tokens.
        ids: The ids of the messages, or memories, that it shows. For an index, these have one line
            each; for a summary, these are the messages that it replaces; for a line with a day,
            those that it speaks of.
    """

    name: PartName
    tokens: int
    ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """Explains why a candidate is in a window or not.

    Args:
        id: The message's id.
        score: The retriever's score.
        tokens: The tokens of the message when it is shown verbatim.
        shown: Whether it is quoted.
        reason: "picked"; "already_in_window": quoted because a better candidate of the same unit
            is; "newer_value": quoted because it changed a value of a quoted one; "not_picked":
            left out by the picker; "below_cut": its score is too low beside the best; or
            "over_budget".
        terms: The value of each signal, before its weight.
    """

    id: int
    score: float
    tokens: int
    shown: bool
    reason: Reason
    terms: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChoice:
    """Explains why a memory, or a turn of another conversation, is in a window or not.

    Args:
        id: The id of its record.
        memory_id: Its name: the caller's, or "memory:" and its id, or "turn:" and the turn's.
        tokens: The tokens of its quotation, without the frame around all of them.
        shown: Whether it is quoted.
        reason: "pinned"; "recalled": the request asks for it; "kept": an earlier window of the
            exchange, or of the epoch, quoted it, and it stays; "already_in_window": the window says
            it in another place; "below_cut": its score is too low; "over_share": the share of
            `memories` has no room for it; "over_budget": the budget has none beside what must stay;
            "whole_list": the list is sent unchanged.
        origin: Whose words these are; None if that is not known.
        conversation: The conversation that it belongs to; None if it belongs to the tenant.
        score: Its score for the request; None if it is pinned, or stays from an earlier window.
    """

    id: int
    memory_id: str
    tokens: int
    shown: bool
    reason: MemoryReason
    origin: Origin | None
    conversation: str | None
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """Reports what a prepared compaction did for a window.

    Args:
        state: The state of the conversation's preparation; see `warmset.prepare`.
        boundary: The number of messages at the front that the summary replaces, or that are shown
            beside it; 0 if no summary is shown.
        tokens: The tokens of the summary.
        tokens_saved: Tokens that the summary saves in this window; 0 in mode "jit", which would not
            show the messages that it replaces.
        applied: Whether the summary replaced its messages in this call; in mode "jit", whether it
            is shown for the first time.
        waited: Seconds that the call waited for the summary.
        left_out: The number of messages that were left out without a summary, because none was
            ready in time.
        why: Why no summary is shown; None if one is, or if none was needed.
    """

    state: str
    boundary: int = 0
    tokens: int = 0
    tokens_saved: int = 0
    applied: bool = False
    waited: float = 0.0
    left_out: int = 0
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochReport:
    """Reports the epoch of a window of mode "steady": the list that only grows until the next one.

    Args:
        number: Its number among those of the conversation, the dialect and the model; from 1.
        why: Why it began.
        began: Whether it began with this window, so that a provider's cache begins anew as well.
        hidden: The number of messages of the conversation that it does not show verbatim.
        recalled: Ids of the messages that this window is the first to quote; they stay in the list.
        between: The number of messages that neither a summary nor the list shows, when it began.
        over: Whether what must stay exceeds `swap_to` of the budget.
        unrecorded: Why the list could not be recorded, so that the next one may not continue it;
            None if it was.
    """

    number: int
    why: str
    began: bool
    hidden: int
    recalled: tuple[int, ...] = ()
    between: int = 0
    over: bool = False
    unrecorded: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Report:
    """Reports what a window contains, and why.

    Args:
        mode: How the window was built; for "auto", the mode that it chose.
        active: Whether anything was left out or quoted; a small list is not changed, nor one of
            which a window would save too little.
        turns_in: The number of messages of the conversation.
        turns_sent: The number of messages sent, quoted ones included.
        picked: Ids of the quoted messages.
        recent: Ids of the recent messages.
        tokens_in: The tokens of the whole conversation.
        tokens_sent: The tokens of the window.
        saved: The share of `tokens_in` that is not sent, at most 1; negative if the window has more
            tokens than the conversation.
        cached: Tokens at the front that are the same as in the conversation's last window, so that
            a provider's prompt cache can reuse them.
        unused: Tokens of the budget that the window leaves empty.
        unused_why: Why it quotes no more. "complete": nothing is left to quote; "no_match": what
            was found is on another subject; "below_cut": the scores of the rest are too low, beside
            the best one or by themselves; "not_picked": a picker left the rest out; "over_budget":
            the next turns do not fit. None if nothing was searched, and in mode "steady", whose
            lists keep room to grow.
        net_saved: Tokens that are not sent, minus those that the picker's model used; negative if
            the window costs more than it saves.
        picked_by: "score" or "picker"; None if nothing was retrieved.
        picker: The tokens and the time that the picker's model used; None if no picker was called,
            as for a further window of the same exchange. Your own picker counts as 0 tokens if it
            reports no usage.
        searched_by: "fused", or "lexical" if there was no vector of the request; None if nothing
            was searched.
        notes: Problems on the way, in words: a picker's failure, a vector that came too late, turns
            whose vectors are pending, metadata that a conversion to another dialect left out, a
            list of `Memory.process` that left more than half of the conversation.
        pending: The number of turns that can be found by their words only, because they are not
            embedded yet.
        milliseconds: How long the call took.
        compaction: What a prepared compaction did; None without one, in mode "recency", and for a
            small list.
        money: What the input is expected to cost, and what it cost after `Window.settle`.
        thinking: What became of the model's thinking in turns that are shown verbatim: it is left
            out where something before it is not as it was when the model made it.
        epoch: The epoch of a window of mode "steady"; None in other modes.
        memories: The memories, and turns of other conversations, that the window quotes, and the
            best of those that it leaves out, each with the reason.
        exact: Whether the counts are the provider's own; counts by a formula are never exact.
    """

    mode: str
    active: bool
    turns_in: int
    turns_sent: int
    picked: tuple[int, ...]
    recent: tuple[int, ...]
    tokens_in: int
    tokens_sent: int
    saved: float
    cached: int
    net_saved: int
    picked_by: str | None
    picker: Usage | None
    searched_by: str | None
    notes: tuple[str, ...]
    pending: int
    milliseconds: float
    unused: int
    unused_why: Unused | None
    exact: bool
    money: Money
    compaction: Compaction | None = None
    thinking: Thinking = field(default_factory=Thinking)
    epoch: EpochReport | None = None
    choices: Sequence[Choice] = ()
    memories: Sequence[MemoryChoice] = ()

    def __repr__(self) -> str:
        return report_line(self)

    def _repr_html_(self) -> str:
        return report_table(self)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        found: dict[str, Any] = plain(self)
        return found


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Window:
    """The messages of one call.

    Args:
        messages: The messages to send.
        system: The system prompt, if the dialect keeps it beside the messages.
        dialect: The dialect of the messages.
        tokens: The tokens of the whole call, system prompt and tools included.
        budget: The budget in tokens.
        parts: The parts of the window, in order.
        report: What the window contains, and why.
        tools: The tools that were given, in the shape of the dialect; None if there were none.
        synced: What `Memory.process` stored; None for a window of `Conversation.window`.
        sent: What a reply to the window is made behind; `Conversation.append(window=)` reads it.
    """

    messages: list[Any]
    system: System | None
    dialect: Dialect
    tokens: int
    budget: int
    parts: tuple[Part, ...]
    report: Report
    tools: Sequence[Mapping[str, Any]] | None = None
    synced: Synced | None = None
    sent: SentList | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.messages)

    def __repr__(self) -> str:
        return window_line(self)

    def _repr_html_(self) -> str:
        return window_table(self)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values, with the messages and the report."""
        found: dict[str, Any] = plain(replace(self, sent=None))
        del found["sent"]
        return found

    def settle(self, usage: object) -> Bill:
        """Record what the call took, by the provider's own figures.

        The figures are compared with `report.money`, which has them as `actual` from then on, and
        are added to `Conversation.spent`. Call it once for each response.

        Args:
            usage: The response, or its usage, as an SDK's object or a dict: of OpenAI Chat
                Completions or Responses, Anthropic Messages, Gemini or Gemini Interactions. Only a
                response names the thinking and reasoning that the provider left out
                (`input_transformations`), and its model, if the window has none.

        Returns:
            The tokens and the price, and how they differ from what was expected.

        Raises:
            InvalidInputError: It is no usage of a provider's, and no response that has one.
        """
        return self.report.money.settle(usage)

    # --- the keyword arguments of a provider's call ----------------------------------------------

    def openai(self) -> OpenAIArguments:
        """Return the keyword arguments of a call of OpenAI Chat Completions.

            client.chat.completions.create(model="gpt-5-mini", **window.openai())

        Returns:
            `messages`, with the system prompt as the first one, and `tools` if there are any.

        Raises:
            InvalidInputError: The window is in another dialect; pass `dialect="openai"`.
        """
        return openai_arguments(self)

    def responses(self) -> ResponsesArguments:
        """Return the keyword arguments of a call of OpenAI Responses.

            client.responses.create(model="gpt-5-mini", **window.responses())

        Returns:
            `input`, with the system prompt as the first item, and `tools` if there are any.

        Raises:
            InvalidInputError: The window is in another dialect; pass `dialect="responses"`.
        """
        return responses_arguments(self)

    def anthropic(self) -> AnthropicArguments:
        """Return the keyword arguments of a call of Anthropic Messages.

            client.messages.create(model="claude-haiku-4-5", max_tokens=900, **window.anthropic())

        Returns:
            `messages`, and `system` and `tools` if there are any. Neighbours of one role are one
            message, so that the results of parallel tool calls stand together. A list that begins
            with a provider's compaction has `extra_headers` with the beta header that it needs; if
            you send that header yourself, join the two values with a comma.

        Raises:
            InvalidInputError: The window is in another dialect; pass `dialect="anthropic"`.
        """
        return anthropic_arguments(self)

    def gemini(self) -> GeminiArguments:
        """Return the keyword arguments of a call of Gemini.

            client.models.generate_content(model="gemini-3-flash", **window.gemini())

        Returns:
            `contents`, and `config` with `system_instruction` and `tools` if there are any; your
            own settings can be added to `config`.

        Raises:
            InvalidInputError: The window is in another dialect; pass `dialect="gemini"`.
        """
        return gemini_arguments(self)

    def interactions(self) -> InteractionsArguments:
        """Return the keyword arguments of a call of Gemini Interactions.

            client.interactions.create(model="gemini-3-flash", store=False, **window.interactions())

        Returns:
            `input`, and `system_instruction` and `tools` if there are any.

        Raises:
            InvalidInputError: The window is in another dialect; pass `dialect="interactions"`.
        """
        return interactions_arguments(self)


def with_synced(window: Window, synced: Synced) -> Window:
    """Add what was stored before a window was built."""
    report = window.report
    if synced.left_most:
        left, before = synced.left, synced.left + (synced.branched_at or 0)
        note = (
            f"the list left {left} of {before} messages of the conversation at position "
            f"{synced.branched_at}: windows do not show them any more; send the whole list, or a "
            "window of this conversation as it was returned"
        )
        report = replace(report, notes=(*report.notes, note))
    if synced.redacted:
        note = (
            f"{synced.redacted} new messages were stored and are shown without all of their text: "
            "it stood in <private> tags, or the redaction hook changed it"
        )
        report = replace(report, notes=(*report.notes, note))
    return replace(window, report=report, synced=synced)
