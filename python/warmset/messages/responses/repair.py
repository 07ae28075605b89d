"""A list of Responses items that OpenAI refuses, mended."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from warmset.messages.mending import Change, Unanswered
from warmset.messages.names import plain
from warmset.messages.pairing import Asked, fresh_ids, match
from warmset.messages.responses.clean import with_fitting_parts
from warmset.messages.responses.kinds import (
    COMPACTION,
    PROVIDED,
    REASONING,
    REFERENCE,
    call_of,
    is_produced,
    item_id,
    item_kind,
    may_call,
    output_field,
    output_of,
)
from warmset.messages.responses.reasoning import Placed, nameless_without, without_dangling
from warmset.messages.responses.rules import NAME, is_readable
from warmset.messages.responses.stubs import stub

if TYPE_CHECKING:
    from warmset.messages.model import Message, Request

_LONGEST = 128
"""The most characters of a function's name."""


def mend(
    messages: list[Message], unanswered: Unanswered, request: Request
) -> tuple[list[Message], list[Change]]:
    """Mend a list; see `repair`."""
    changes: list[Change] = []
    kept = _with_own_ids(_readable(messages, changes), changes)
    outputs = _pair(kept, changes, continues=request.continues)
    silent: dict[int, Message | None] = {}
    for index, item in kept:
        made = call_of(item)
        if made is not None and made[0].demanded and index not in outputs:
            silent[index] = None if unanswered == "drop" else stub(item)
    for index, item in kept:
        if index in silent and silent[index] is None:
            what = f"{item_kind(item)} left: nothing answered it"
            changes.append(Change("R2", index, what))
    answering = {place: index for index, place in outputs.items()}
    kept = [
        (index, item)
        for index, item in kept
        if (silent[index] is not None if index in silent else _stays(index, item, answering))
    ]
    kept = _renamed(kept, answering, silent, changes)
    kept = _placed(kept, outputs, silent, changes)
    kept = without_dangling(kept, changes)
    kept = nameless_without(messages, kept, changes)
    changes.sort(key=lambda change: change.index)
    return [item for _, item in kept], changes


def _stays(index: int, item: Message, answering: dict[int, int]) -> bool:
    """Tell whether an item answers a call, or is no answer at all."""
    return index in answering or output_of(item) is None


def _with_name(index: int, item: Message, changes: list[Change]) -> Message:
    """Give a function that is called a name that may stand (C5)."""
    if item_kind(item) != "function_call" or NAME.fullmatch(item["name"]):
        return item
    fresh = plain(item["name"], _LONGEST)
    changes.append(Change("C5", index, f"the name {item['name']!r:.80} became {fresh!r}"))
    return {**item, "name": fresh}


def _readable(messages: list[Message], changes: list[Change]) -> Placed:
    """Remove reasoning that no model can read (R4), and make parts fit their role (C7)."""
    kept: Placed = []
    for index, given in enumerate(messages):
        item = _with_name(index, given, changes)
        if item_kind(item) == REASONING and not is_readable(item):
            what = "the reasoning, with neither an id nor encrypted_content, left"
            changes.append(Change("R4", index, what))
            continue
        if item_kind(item) == COMPACTION and not item.get("encrypted_content"):
            changes.append(Change("R4", index, "the compaction, without encrypted_content, left"))
            continue
        fitting = with_fitting_parts(item)
        if fitting is not item:
            what = "parts were written as the role says them, or left out"
            changes.append(Change("C7", index, what))
        if fitting is not None:
            kept.append((index, fitting))
    return kept


def _with_own_ids(given: Placed, changes: list[Change]) -> Placed:
    """Let each id stand once (R7): references and copies leave, other items lose theirs."""
    standing = {item_id(item) for _, item in given if item_kind(item) != REFERENCE}
    seen: set[str] = set()
    kept: Placed = []
    for index, item in given:
        kind, own = item_kind(item), item_id(item)
        if own is not None and (own in seen or (kind == REFERENCE and own in standing)):
            if kind in (REFERENCE, REASONING) or kind in PROVIDED:
                changes.append(Change("R7", index, f"a second {own!r} left"))
                continue
            changes.append(Change("R7", index, f"the id {own!r}, which another item has, left"))
            kept.append((index, {key: value for key, value in item.items() if key != "id"}))
            continue
        if own is not None:
            seen.add(own)
        kept.append((index, item))
    return kept


def _pair(kept: Placed, changes: list[Change], *, continues: bool) -> dict[int, int]:
    """Give each call its output; an output that a reference may call answers itself.

    So does one before which nothing is called: a stored response may have made its call.

    Returns:
        By the position of a call, that of its output.
    """
    asked: list[Asked] = []
    first = next((index for index, item in kept if call_of(item) is not None), None)
    referred = len(kept) + max((index for index, _ in kept), default=0)
    for index, item in kept:
        if item_kind(item) == REFERENCE and may_call(item):
            referred = min(referred, index)
        if (made := call_of(item)) is not None:
            asked.append(Asked(index, (made[0].call, made[1]), 0))
        if (given := output_of(item)) is not None:
            asked.append(Asked(index, (given[0].call, given[1])))
    pairs, left = match(asked)
    outputs = {call.index: output.index for call, output in pairs}
    excused: set[tuple[str, str]] = set()
    for output, known in left:
        stored = continues or first is None or output.index < first or output.index > referred
        if stored and not known and output.key not in excused:
            excused.add(output.key)
            outputs[output.index] = output.index
            continue
        why = "its call was answered before" if known else "nothing before it calls it"
        changes.append(Change("R1", output.index, f"the output left: {why}"))
    return outputs


def _renamed(
    kept: Placed,
    answering: dict[int, int],
    silent: dict[int, Message | None],
    changes: list[Change],
) -> Placed:
    """Give calls whose id an earlier call has one of their own, and their outputs too (R8)."""
    made = [(index, called[1]) for index, item in kept if (called := call_of(item)) is not None]
    taken = [str(item["id"]) for _, item in kept if item.get("id") is not None]
    fresh = {made[at][0]: new for at, new in fresh_ids([call for _, call in made], taken).items()}
    named: Placed = []
    for index, item in kept:
        called, given = call_of(item), output_of(item)
        if called is not None and index in fresh:
            what = f"the later call {called[1]!r} became {fresh[index]!r}"
            changes.append(Change("R8", index, what))
            named.append((index, {**item, called[0].call_id: fresh[index]}))
            if (answer := silent.get(index)) is not None:
                silent[index] = {**answer, called[0].output_id: fresh[index]}
        elif given is not None and answering[index] in fresh:
            own = {output_field(item, given[0]): fresh[answering[index]]}
            named.append((index, {**item, **own}))
        else:
            named.append((index, item))
    return named


def _placed(
    kept: Placed,
    outputs: dict[int, int],
    silent: dict[int, Message | None],
    changes: list[Change],
) -> Placed:
    """Put outputs that stand wrong, and stubs, behind what the model made along with the call."""
    at_place = {index: at for at, (index, _) in enumerate(kept)}
    compactions = list(accumulate(item_kind(item) == COMPACTION for _, item in kept))
    ends = _run_ends(kept)
    behind: dict[int, Placed] = {}
    moved: set[int] = set()
    for at, (index, item) in enumerate(kept):
        answer = silent.get(index)
        if answer is not None:
            changes.append(Change("R2", index, f"{item_kind(item)} got an output that says: none"))
            behind.setdefault(ends[at], []).append((index, answer))
        place = outputs.get(index)
        if place is None:
            continue
        other = at_place[place]
        early = other < at
        if early or compactions[other] != compactions[at]:
            moved.add(other)
            behind.setdefault(ends[at], []).append(kept[other])
            rule, first = ("R1", place) if early else ("R6", index)
            what = f"the output in item {place} moved behind its call in item {index}"
            changes.append(Change(rule, first, what))
    placed: Placed = []
    for at, entry in enumerate(kept):
        if at not in moved:
            placed.append(entry)
        placed += behind.get(at, [])
    return placed


def _run_ends(kept: Placed) -> list[int]:
    """Find for each item the last one that the model made in a row with it, reasoning aside.

    An output may stand there without parting parallel calls, or reasoning from what it led to.
    """
    ends = list(range(len(kept)))
    for at in range(len(kept) - 2, -1, -1):
        following = kept[at + 1][1]
        kind = item_kind(following)
        if kind == COMPACTION or not is_produced(following):
            continue
        if kind != REASONING or ends[at + 1] > at + 1:
            ends[at] = ends[at + 1]
    return ends
