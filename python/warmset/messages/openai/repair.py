"""A Chat list that OpenAI refuses, mended."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from warmset.messages.mending import NO_RESULT, Change, Unanswered
from warmset.messages.openai.clean import clean
from warmset.messages.openai.grammar import legacy_id
from warmset.messages.openai.rules import says_something
from warmset.messages.pairing import Asked, fresh_ids, match

if TYPE_CHECKING:
    from warmset.messages.model import Message, Request

_RESULTS = ("tool", "function")


_Callers: TypeAlias = dict[int, dict[int, int]]
"""By the place of a message that calls, and the number of the call: the place of its result."""


def mend(
    messages: list[Message], unanswered: Unanswered, _request: Request
) -> tuple[list[Message], list[Change]]:
    """Mend a list; see `repair`."""
    changes: list[Change] = []
    kept = clean(messages, changes)
    callers = _pair(kept, changes)
    if unanswered == "drop":
        kept = _dropped(kept, callers, changes)
    named = _names(kept, callers, changes)
    by_place = dict(kept)
    mended: list[Message] = []
    for at, (index, message) in enumerate(kept):
        if message["role"] in _RESULTS:
            continue
        mended.append(_renamed(message, named.get(index, {})))
        if index in callers:
            run = _run(kept, at)
            mended += _answers(by_place, index, callers[index], run, named.get(index, {}), changes)
    changes.sort(key=lambda change: change.index)
    return mended, changes


def _pair(kept: list[tuple[int, Message]], changes: list[Change]) -> _Callers:
    """Give each call its result; what answers no call leaves."""
    callers: _Callers = {}
    asked: list[Asked] = []
    for index, message in kept:
        role = message["role"]
        if role in _RESULTS:
            key = message["tool_call_id"] if role == "tool" else legacy_id(message["name"])
            asked.append(Asked(index, (role, key)))
            continue
        calls = message.get("tool_calls") or ()
        legacy = message.get("function_call")
        if calls or legacy is not None:
            callers[index] = {}
        asked += [Asked(index, ("tool", call["id"]), n) for n, call in enumerate(calls)]
        if legacy is not None and not calls:
            asked.append(Asked(index, ("function", legacy_id(legacy["name"])), 0))
    pairs, left = match(asked)
    for call, result in pairs:
        callers[call.index][call.number or 0] = result.index
    for result, known in left:
        rule = "C6" if result.key[0] == "function" else "C3" if known else "C1"
        why = "its call was answered before" if known else "nothing calls it"
        changes.append(Change(rule, result.index, f"the result left: {why}"))
    return callers


def _dropped(
    kept: list[tuple[int, Message]], callers: _Callers, changes: list[Change]
) -> list[tuple[int, Message]]:
    """Remove the calls without a result, and the messages that are empty without them."""
    staying: list[tuple[int, Message]] = []
    for index, given in kept:
        message = given
        calls = message.get("tool_calls") or []
        gone = [n for n in range(len(calls)) if n not in callers[index]]
        if gone:
            rest = [call for n, call in enumerate(calls) if n in callers[index]]
            changes += [
                Change("C2", index, f"call {calls[n]['id']!r} left: nobody answered it")
                for n in gone
            ]
            message = {key: value for key, value in message.items() if key != "tool_calls"}
            if rest:
                message = {**given, "tool_calls": rest}
            answers = callers[index].items()
            callers[index] = {n: at for n, (_, at) in enumerate(sorted(answers))}
            if not says_something(message):
                changes.append(Change("C2", index, "the message had nothing left to say and left"))
                continue
            message.setdefault("content", None)
        staying.append((index, message))
    return staying


def _names(
    kept: list[tuple[int, Message]], callers: _Callers, changes: list[Change]
) -> dict[int, dict[int, str]]:
    """Find a new id for each call whose id an earlier call has: by message and number."""
    places = [
        (index, number, call["id"])
        for index, message in kept
        if index in callers
        for number, call in enumerate(message.get("tool_calls") or ())
    ]
    named: dict[int, dict[int, str]] = {}
    for at, fresh in fresh_ids([call for _, _, call in places]).items():
        index, number, call = places[at]
        named.setdefault(index, {})[number] = fresh
        changes.append(Change("C3", index, f"the later call {call!r} became {fresh!r}"))
    return named


def _renamed(message: Message, fresh: dict[int, str]) -> Message:
    if not fresh:
        return message
    calls = [
        {**call, "id": fresh[n]} if n in fresh else call
        for n, call in enumerate(message["tool_calls"])
    ]
    return {**message, "tool_calls": calls}


def _run(kept: list[tuple[int, Message]], at: int) -> list[int]:
    """Return the positions of the results right behind a message."""
    run: list[int] = []
    while (at := at + 1) < len(kept) and kept[at][1]["role"] in _RESULTS:
        run.append(kept[at][0])
    return run


def _answers(
    by_place: dict[int, Message],
    index: int,
    caller: dict[int, int],
    run: list[int],
    fresh: dict[int, str],
    changes: list[Change],
) -> list[Message]:
    """Write the results of a message: those right behind it as they stand, then the others."""
    numbers = {place: number for number, place in caller.items()}
    calls = by_place[index].get("tool_calls") or ()
    order = [numbers[place] for place in run if place in numbers]
    settled = set(order)
    count = len(calls) or len(caller)
    written: list[Message] = []
    for number in [*order, *(n for n in range(count) if n not in settled)]:
        call = fresh.get(number) or (calls[number]["id"] if calls else "")
        place = caller.get(number)
        if place is None:
            changes.append(Change("C2", index, f"call {call!r} got a result that says: none"))
            written.append({"role": "tool", "tool_call_id": call, "content": NO_RESULT})
            continue
        if number not in settled:
            rule = "C6" if not calls else "C2" if place > index else "C1"
            what = f"the result of message {place} moved behind its call in message {index}"
            changes.append(Change(rule, min(place, index), what))
        result = by_place[place]
        written.append({**result, "tool_call_id": call} if number in fresh else result)
    return written
