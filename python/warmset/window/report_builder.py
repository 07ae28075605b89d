"""Builds a window's report from data gathered while the window is built."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import BudgetTooSmall
from warmset.money import expected_money
from warmset.options import least_score
from warmset.state.prompt_prefix import Sent
from warmset.window.result import Choice, Report, Window
from warmset.window.sent_back import note_window
from warmset.window.thinking import sent_list, without_unbound

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.messages import Lost, Thinking
    from warmset.money import Money
    from warmset.pick import Picked
    from warmset.retrieve.hits import Found
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger
    from warmset.usage import Usage
    from warmset.window.assemble import Assembled, Draft
    from warmset.window.render import Call
    from warmset.window.request import Ask
    from warmset.window.result import Compaction, EpochReport, MemoryChoice, Reason

_NAMED: Final = 3
"""How many kinds of what a conversion left out are named in a note, the most frequent first."""


class Choices(Sequence[Choice]):
    """A lazy sequence of `Choice`: why each candidate is quoted or not."""

    def __init__(
        self, found: Found, picked: Picked, entries: Mapping[int, Entry], draft: Draft
    ) -> None:
        self._found = found
        self._picked = picked
        self._entries = entries
        self._units = {one.id: unit[0].id for unit in draft.quoted for one in unit}
        self._least = least_score(found.scores) if draft.least is None else draft.least

    def __len__(self) -> int:
        return len(self._found.ids)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self._choice(place) for place in range(*at.indices(len(self)))]
        return self._choice(range(len(self))[at])

    def __reduce__(self) -> tuple[type[tuple[Any, ...]], tuple[list[Choice]]]:
        return tuple, (list(self),)  # without the store

    def _choice(self, at: int) -> Choice:
        id_, score = self._found.ids[at], self._found.scores[at]
        tokens, terms = self._entries[id_].tokens, self._found.terms(at)
        return Choice(id_, score, tokens, id_ in self._units, self._reason(id_, score), terms)

    def _reason(self, id_: int, score: float) -> Reason:
        unit = self._units.get(id_)
        if unit is not None:
            units = self._units
            best = next((one for one in self._picked.ids if units.get(one) == unit), None)
            if best is None:
                return "newer_value"
            return "picked" if best == id_ else "already_in_window"
        if self._picked.by == "picker":
            return "over_budget" if id_ in self._picked.ids else "not_picked"
        return "below_cut" if score < self._least else "over_budget"


class ReportBuilder:
    """Gathers the data of a report.

    Args:
        engine: The store and its index.
        ledger: The conversation.
        ask: The arguments of the window.
        tokens_in: The tokens of the whole conversation.
        started: When the call began, by `time.perf_counter`.

    Attributes:
        memories: Which memories are shown, and why others are not.
        note: What went wrong with them; None if nothing did.
    """

    def __init__(
        self, engine: Engine, ledger: Ledger, ask: Ask, tokens_in: int, started: float
    ) -> None:
        self._engine = engine
        self._ledger = ledger
        self._ask = ask
        self._tokens_in = tokens_in
        self._started = started
        self._found: Found | None = None
        self._picked: Picked | None = None
        self._usage: Usage | None = None
        self.memories: Sequence[MemoryChoice] = ()
        self.note: str | None = None

    def remembered(self, choices: Sequence[MemoryChoice], note: str | None = None) -> None:
        """Record which memories are shown, and why others are not.

        Args:
            choices: Why each is shown or not.
            note: What went wrong with them; None if nothing did.
        """
        self.memories, self.note = choices, note

    def asked(self, picked: Picked) -> None:
        """Record what a picker used."""
        self._usage = picked.usage

    def retrieved(self, found: Found, picked: Picked) -> None:
        """Record what was found and picked."""
        self._found = found
        self._picked = picked
        self.asked(picked)

    def window(
        self,
        made: Assembled,
        call: Call,
        *,
        active: bool,
        compaction: Compaction | None = None,
        thinking: Thinking | None = None,
        epoch: EpochReport | None = None,
    ) -> Window:
        """Return the window with its report.

        Args:
            made: The messages.
            call: The call that they are for.
            active: Whether anything was left out or quoted.
            compaction: What a prepared compaction did.
            thinking: What became of the thinking, if that was settled already.
            epoch: The epoch of a steady window.

        Raises:
            BudgetTooSmall: A window that must show everything exceeds the budget.
        """
        if thinking is None:
            with self._engine.lock:
                made, thinking = without_unbound(self._engine, self._ledger, call, made)
        if made.tokens > call.budget:
            raise BudgetTooSmall(made.tokens, call.budget)
        draft, found = made.draft, self._found
        quoted = tuple(sorted(entry.id for unit in draft.quoted for entry in unit))
        recent = tuple(entry.id for unit in draft.frame.recent for entry in unit)
        now = Sent(made.messages, system=made.system, tools=call.tools, known=made.known)
        with self._engine.lock:
            before = self._ledger.sent
            self._ledger.sent = now
            note_window(self._ledger, made, call)
            sent = sent_list(self._ledger, call, made)
            if sent is not None:
                self._ledger.sent_lists.note(sent)
            turns_in = len(self._ledger.history.path)
        verbatim = sum(len(unit) for unit in draft.frame.units())
        indexer = self._engine.indexer
        pending = 0 if indexer is None else indexer.pending()
        picker = self._usage
        cached = now.cached(made.messages, before, self._engine.encoding)
        report = Report(
            mode=self._ask.mode,
            active=active,
            turns_in=turns_in,
            turns_sent=verbatim + len(quoted) + (call.request is not None),
            picked=quoted,
            recent=recent,
            tokens_in=self._tokens_in,
            tokens_sent=made.tokens,
            saved=1.0 - made.tokens / self._tokens_in if self._tokens_in else 0.0,
            cached=cached,
            net_saved=self._tokens_in - made.tokens - (0 if picker is None else picker.tokens),
            picked_by=None if self._picked is None else self._picked.by,
            picker=picker,
            searched_by=None if found is None else found.by,
            notes=self._notes() + _unrecorded(epoch) + _lost(made.lost, call.target),
            pending=pending,
            milliseconds=(time.perf_counter() - self._started) * 1000,
            unused=call.budget - made.tokens,
            unused_why=draft.unused if active else "complete",
            exact=False,
            money=self._money(made.tokens, cached),
            compaction=compaction,
            thinking=thinking,
            epoch=epoch,
            choices=()
            if found is None or self._picked is None
            else Choices(found, self._picked, self._ledger.entries, draft),
            memories=tuple(self.memories),
        )
        return Window(
            messages=made.messages,
            system=made.system,
            dialect=call.target,
            tokens=made.tokens,
            budget=call.budget,
            parts=made.parts,
            report=report,
            tools=call.tools,
            sent=sent,
        )

    def _money(self, tokens: int, same: int) -> Money:
        """Note that a window is made now, and return what its call is expected to cost."""
        prices, spending = self._ask.options.known_prices, self._ledger.spending
        idle = spending.idle()
        return expected_money(prices, tokens=tokens, same=same, idle=idle, spending=spending)

    def _notes(self) -> tuple[str, ...]:
        notes: list[str] = []
        if self._found is not None and self._found.pending:
            pending = self._found.pending
            notes.append(f"{pending} turns were found by words alone: their vectors are pending")
        if self._found is not None and self._found.why:
            notes.append(f"searched by words alone: {self._found.why}")
        elif self._found is not None and self._engine.indexer is None:
            notes.append("searched by words alone: the memory was opened without an embedder")
        if self._picked is not None and self._picked.why:
            notes.append(f"the score picked: {self._picked.why}")
        if self.note is not None:
            notes.append(self.note)
        return tuple(notes)


def _unrecorded(epoch: EpochReport | None) -> tuple[str, ...]:
    """Return a note on a list that was not recorded."""
    if epoch is None or epoch.unrecorded is None:
        return ()
    return (f"the next window may not continue this one: {epoch.unrecorded}",)


def _lost(lost: Sequence[Lost], dialect: str) -> tuple[str, ...]:
    """Return a note on what the conversion to another dialect left out; none where it kept all."""
    if not lost:
        return ()
    counts = Counter(one.what for one in lost).most_common()
    named = [what if count == 1 else f"{count} times {what}" for what, count in counts[:_NAMED]]
    rest = sum(count for _, count in counts[_NAMED:])
    if rest:
        named.append("1 other" if rest == 1 else f"{rest} others")
    return (f"{dialect} cannot hold, and the window leaves out: {'; '.join(named)}",)
