"""Calls and responses of Gemini contents, brought together again."""

from __future__ import annotations

from typing import TypeAlias

from warmset.messages.gemini import parts as p
from warmset.messages.mending import NO_RESULT, Change, Unanswered
from warmset.messages.model import Message

Entry: TypeAlias = tuple[int, Message]
"""A content, and the position in the list that was given of the content that it is about."""

_Place: TypeAlias = tuple[int, int]
"""A part: the position of its entry, and its own in the content."""


def pair(entries: list[Entry], unanswered: Unanswered, changes: list[Change]) -> list[Entry]:
    """Put the responses to every content with calls into one content right behind it.

    A response with an id belongs to the latest call of that id that has none yet; otherwise to the
    latest content with an open call of its name, there to the first one. One without a call leaves.

    Args:
        entries: Well-formed contents.
        unanswered: What becomes of calls without a response.
        changes: Where to write down what was changed.

    Returns:
        The contents, those that needed no change as the same objects.
    """
    return _Pairing(entries, unanswered, changes).mended()


class _Open:
    """The calls that have no response yet, by what a response may know of them."""

    def __init__(self) -> None:
        self._stacks: dict[tuple[str, str], list[_Place]] = {}
        self._closed: set[_Place] = set()

    def add(self, place: _Place, call: Message) -> None:
        for known in (("id", call.get("id") or ""), ("name", call["name"])):
            self._stacks.setdefault(known, []).append(place)
        if not call.get("id"):
            self._stacks.setdefault(("nameless", call["name"]), []).append(place)

    def take(self, response: Message) -> _Place | None:
        """Close the call that a response answers, and return it; None where it answers none."""
        found = response.get("id") or ""
        if not found:
            return self._pop("name", response["name"])
        return self._pop("id", found) or self._pop("nameless", response["name"])

    def _pop(self, field: str, value: str) -> _Place | None:
        stack = self._stacks.get((field, value), [])
        while stack:
            place = stack.pop()
            if place not in self._closed:
                self._closed.add(place)
                return place
        return None


class _Pairing:
    """One list on its way: which response answers which call."""

    def __init__(self, entries: list[Entry], unanswered: Unanswered, changes: list[Change]) -> None:
        self._entries = entries
        self._unanswered = unanswered
        self._changes = changes
        self._answers: dict[_Place, _Place] = {}  # by call
        self._match()

    def _match(self) -> None:
        open_calls = _Open()
        for at, (index, message) in enumerate(self._entries):
            found = list(enumerate(p.parts(message)))
            for place, part in found:
                response = p.get(part, p.RESPONSE)
                if response is None:
                    continue
                call = open_calls.take(response)
                if call is None:
                    what = f"the response {p.label(response)!r} was left out: no call waits for it"
                    self._changes.append(Change("G3", index, what))
                else:
                    self._answers[call] = (at, place)
            for place, part in reversed(found):
                call_found = p.get(part, p.CALL)
                if call_found is not None:
                    open_calls.add((at, place), call_found)

    def mended(self) -> list[Entry]:
        """Return the contents with every call answered right behind it."""
        mended: list[Entry] = []
        asker: int | None = None  # the content before, if it calls
        for at, (index, message) in enumerate(self._entries):
            if p.is_model(message):
                asking = self._asking(at)
                if asking is not None:
                    mended += self._answering(None, asker)
                    mended.append((index, asking))
                    asker = at if p.calls(asking) else None
            else:
                mended += self._answering(at, asker)
                asker = None
        return mended + self._answering(None, asker)

    def _asking(self, at: int) -> Message | None:
        """Return a content, without unanswered calls where these are dropped; None if it leaves."""
        index, message = self._entries[at]
        if self._unanswered == "stub":
            return message
        kept: list[Message] = []
        for place, part in enumerate(p.parts(message)):
            call = p.get(part, p.CALL)
            if call is None or (at, place) in self._answers:
                kept.append(part)
            else:
                what = f"call {p.label(call)!r} was left out: nothing answers it"
                self._changes.append(Change("G3", index, what))
        if len(kept) == len(p.parts(message)):
            return message
        return None if all(map(p.is_thought, kept)) else message | {"parts": kept}

    def _answering(self, at: int | None, asker: int | None) -> list[Entry]:
        """Return the user's content at a position with the responses to the calls before it.

        Args:
            at: Its position; None where there is none.
            asker: The position of the calls before it; None where none are.

        Returns:
            The responses, in a content of their own where the user's has none so far, and the
            content without responses that belong elsewhere; nothing where nothing is left.
        """
        due = [] if asker is None else self._responses(asker, at)
        asked = 0 if asker is None else self._entries[asker][0]
        made: list[Entry] = [(asked, {"role": "user", "parts": [part for _, part in due]})]
        if at is None:
            return made if due else []
        index, message = self._entries[at]
        before = p.parts(message)
        rest = [part for part in before if p.key(part, p.RESPONSE) is None]
        if len(due) + len(rest) == len(before) and all(
            place is not None and place[0] == at and part is before[place[1]] for place, part in due
        ):
            return [(index, message)]
        if any(place is not None and place[0] == at for place, _ in due):
            return [(index, message | {"parts": [*(part for _, part in due), *rest]})]
        left = message if len(rest) == len(before) else message | {"parts": rest}
        return (made if due else []) + ([(index, left)] if rest else [])

    def _responses(self, asker: int, at: int | None) -> list[tuple[_Place | None, Message]]:
        """Return the parts that answer a content's calls, in the calls' order, and their places."""
        index, message = self._entries[asker]
        due: list[tuple[_Place | None, Message]] = []
        for place, part in enumerate(p.parts(message)):
            call = p.get(part, p.CALL)
            if call is None:
                continue
            answer = self._answers.get((asker, place))
            if answer is None:
                if self._unanswered == "stub":
                    what = f"call {p.label(call)!r} got a stub: no response"
                    self._changes.append(Change("G3", index, what))
                    due.append((None, _stub(part, call)))
                continue
            given = p.parts(self._entries[answer[0]][1])[answer[1]]
            fitted = _fitted(given, call)
            if answer[0] != at:
                what = f"the response to {p.label(call)!r} was moved to its call"
                self._changes.append(Change("G3", index, what))
            if fitted is not given:
                what = f"the response to {p.label(call)!r} was given its id and name"
                self._changes.append(Change("G3", index, what))
            due.append((answer, fitted))
        return due


def _stub(part: Message, call: Message) -> Message:
    """Make the response that says that there is none, written as the call's part is."""
    name = p.RESPONSE if p.CALL in part else "function_response"
    known = {"id": call["id"]} if call.get("id") else {}
    return {name: known | {"name": call["name"], "response": {"error": NO_RESULT}}}


def _fitted(part: Message, call: Message) -> Message:
    """Return a part whose response has the id and the name of a call."""
    response: Message = p.get(part, p.RESPONSE)
    if p.sign(response) == p.sign(call):
        return part
    known = {"id": call["id"]} if call.get("id") else {}
    fitted = p.without(response, "id") | known | {"name": call["name"]}
    return p.put(part, p.RESPONSE, fitted)
