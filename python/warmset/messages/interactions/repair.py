"""A list of Interactions steps that Gemini refuses, mended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmset.messages.interactions.kinds import RESULT, THOUGHT, call_of, is_model, result_of
from warmset.messages.interactions.rules import parted
from warmset.messages.mending import NO_RESULT, Change, Unanswered
from warmset.messages.pairing import Asked, fresh_ids, match
from warmset.messages.text import kind_of

if TYPE_CHECKING:
    from warmset.messages.model import Message, Request


@dataclass(frozen=True, slots=True)
class _Entry:
    """A step that stays.

    Args:
        index: Its position in the list that was given; a stub has its call's.
        step: The step.
        answers: The position of the call that it answers; None if it answers none of the list.
    """

    index: int
    step: Message
    answers: int | None = None


def mend(
    messages: list[Message], unanswered: Unanswered, request: Request
) -> tuple[list[Message], list[Change]]:
    """Mend a list; see `repair`.

    Calls get a placeholder in spite of "drop" where nothing would be left without them.
    """
    changes: list[Change] = []
    kept = _paired(messages, request, changes)
    answered = {entry.answers for entry in kept if entry.answers is not None}
    silent = [
        entry.index
        for entry in kept
        if call_of(entry.step) is not None and entry.index not in answered
    ]
    if unanswered == "drop":
        kept = _without_calls(kept, set(silent), changes)
        silent = []
    if messages and not kept:
        return mend(messages, "stub", request)
    kept = _with_own_ids(_placed(kept, set(silent), changes), changes)
    changes.sort(key=lambda change: change.index)
    return [entry.step for entry in kept], changes


def _paired(messages: list[Message], request: Request, changes: list[Change]) -> list[_Entry]:
    """Give each result its call; a result leaves that answers none, and cannot answer a stored one.

    A stored call may be meant where the request continues an interaction, and where no call stands
    before the result.
    """
    asked: list[Asked] = []
    first: int | None = None
    for index, step in enumerate(messages):
        if (call := call_of(step)) is not None:
            first = index if first is None else first
            asked.append(Asked(index, ("call", call), 0))
        if (result := result_of(step)) is not None:
            asked.append(Asked(index, ("call", result)))
    pairs, alone = match(asked)
    answers = {result.index: call.index for call, result in pairs}
    leaving: set[int] = set()
    stored: set[tuple[str, str]] = set()
    for one, known in alone:
        foreign = request.continues or first is None or one.index < first
        if foreign and not known and one.key not in stored:
            stored.add(one.key)
            continue
        twice = known or one.key in stored
        why = "its call was answered before" if twice else "nothing before it calls it"
        changes.append(Change("I1", one.index, f"the result left: {why}"))
        leaving.add(one.index)
    return [
        _Entry(index, step, answers.get(index))
        for index, step in enumerate(messages)
        if index not in leaving
    ]


def _without_calls(kept: list[_Entry], silent: set[int], changes: list[Change]) -> list[_Entry]:
    """Take unanswered calls out, and thoughts that led to nothing else."""
    if not silent:
        return kept
    stay: list[_Entry] = []
    leads, missed = False, False  # whether a later step of the response stays, and whether one left
    for entry in reversed(kept):
        step = entry.step
        if entry.index in silent:
            changes.append(Change("I2", entry.index, "the call left: nothing answered it"))
            missed = True
            continue
        if not is_model(step):
            leads, missed = False, False
        elif kind_of(step) != THOUGHT:
            leads = True
        elif missed and not leads:
            changes.append(Change("I2", entry.index, "the thought left along with its calls"))
            continue
        stay.append(entry)
    return stay[::-1]


def _placed(kept: list[_Entry], silent: set[int], changes: list[Change]) -> list[_Entry]:
    """Put results that stand wrong, and stubs, behind the results of the call's response."""
    since = parted([entry.step for entry in kept])
    at_place = {entry.index: at for at, entry in enumerate(kept)}
    ends = _ends(kept)
    behind: dict[int, list[_Entry]] = {}
    moved: set[int] = set()
    for at, entry in enumerate(kept):
        if entry.index in silent:
            what = f"call {entry.step['id']!r} got a result that says: none"
            changes.append(Change("I2", entry.index, what))
            behind.setdefault(ends[at], []).append(_stub(entry))
        if entry.answers is None:
            continue
        call = at_place[entry.answers]
        if since[call] == since[at]:  # never so where it stands before its call
            continue
        rule, first = ("I1", entry.index) if at < call else ("I3", entry.answers)
        what = f"the result in step {entry.index} moved behind its call in step {entry.answers}"
        changes.append(Change(rule, first, what))
        behind.setdefault(ends[call], []).append(entry)
        moved.add(at)
    placed: list[_Entry] = []
    for at, entry in enumerate(kept):
        if at not in moved:
            placed.append(entry)
        placed += behind.get(at, [])
    return placed


def _ends(kept: list[_Entry]) -> list[int]:
    """Find for each step the last one of its response, or of the results right behind that."""
    ends = list(range(len(kept)))
    for at in range(len(kept) - 2, -1, -1):
        this, following = kept[at].step, kept[at + 1].step
        if kind_of(following) == RESULT or (is_model(this) and is_model(following)):
            ends[at] = ends[at + 1]
    return ends


def _stub(call: _Entry) -> _Entry:
    step = call.step
    said = {"call_id": step["id"], "name": step["name"], "result": NO_RESULT, "is_error": True}
    return _Entry(call.index, {"type": RESULT, **said}, call.index)


def _with_own_ids(kept: list[_Entry], changes: list[Change]) -> list[_Entry]:
    """Give a call an id of its own, and its result too, if one that waits has the same (I4)."""
    calls = [(at, call) for at, entry in enumerate(kept) if (call := call_of(entry.step))]
    taken = [result for entry in kept if (result := result_of(entry.step))]
    renamed = fresh_ids([call for _, call in calls], taken)
    fresh = {calls[place][0]: new for place, new in renamed.items()}
    waiting: set[str] = set()
    new_ids: dict[int, str] = {}  # by the position of the call in the list that was given
    named: list[_Entry] = []
    for at, entry in enumerate(kept):
        step = entry.step
        call = call_of(step)
        if call is not None and call in waiting:
            new_ids[entry.index] = fresh[at]
            changes.append(Change("I4", entry.index, f"the call {call!r} became {fresh[at]!r}"))
            step = step | {"id": fresh[at]}
        elif entry.answers in new_ids:
            step = step | {"call_id": new_ids[entry.answers]}
        if (call := call_of(step)) is not None:
            waiting.add(call)
        if (result := result_of(step)) is not None:
            waiting.discard(result)
        named.append(_Entry(entry.index, step, entry.answers))
    return named
