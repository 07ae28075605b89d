"""Calls and results of Anthropic messages, brought together again."""

from __future__ import annotations

from typing import TypeAlias

from warmset.messages.anthropic import walk
from warmset.messages.mending import NO_RESULT, Change, Unanswered
from warmset.messages.model import Message
from warmset.messages.names import plain
from warmset.messages.pairing import fresh_ids

Entry: TypeAlias = tuple[int, Message]
"""A message, and the position in the list that was given of the message that it is about."""

_Place: TypeAlias = tuple[int, int]
"""A block: the position of its entry, and its own in the message."""


def pair(entries: list[Entry], unanswered: Unanswered, changes: list[Change]) -> list[Entry]:
    """Put the results of every call into the user message right behind it.

    A result belongs to the latest call of its id that has none yet; one without such a call leaves.
    What a user said beside results stays where it was, behind them.

    Args:
        entries: Well-formed messages.
        unanswered: What becomes of calls without a result.
        changes: Where to write down what was changed.

    Returns:
        The messages, those that needed no change as the same objects.
    """
    return _Pairing(entries, unanswered, changes).mended()


class _Pairing:
    """One list on its way: which result answers which call, and each call's own id."""

    def __init__(self, entries: list[Entry], unanswered: Unanswered, changes: list[Change]) -> None:
        self._entries = entries
        self._unanswered = unanswered
        self._changes = changes
        self._answers: dict[_Place, _Place] = {}  # by call
        self._ids: dict[_Place, str] = {}  # by call
        self._match()
        self._tell_apart()

    def _match(self) -> None:
        open_calls: dict[str, list[_Place]] = {}  # by id, the one to be answered next comes last
        for at, (index, message) in enumerate(self._entries):
            blocks = list(enumerate(walk.blocks(message)))
            for place, block in blocks:
                if block["type"] == walk.RESULT:
                    if calls := open_calls.get(block["tool_use_id"]):
                        self._answers[calls.pop()] = (at, place)
                    else:
                        what = f"result {block['tool_use_id']!r} was left out: no call waits for it"
                        self._changes.append(Change("A4", index, what))
            for place, block in reversed(blocks):
                if block["type"] == walk.USE:
                    open_calls.setdefault(block["id"], []).append((at, place))

    def _tell_apart(self) -> None:
        """Give each call an id of its own: the first keeps it, others get a number behind it."""
        calls: list[tuple[_Place, str]] = [
            ((at, place), block["id"])
            for at, (_, message) in enumerate(self._entries)
            for place, block in enumerate(walk.blocks(message))
            if block["type"] == walk.USE
        ]
        self._ids = {where: plain(call) for where, call in calls}
        for where, call in calls:
            if (own := self._ids[where]) != call:
                what = f"call {call!r} was named {own}"
                self._changes.append(Change("A17", self._entries[where[0]][0], what))
        for number, own in fresh_ids([self._ids[where] for where, _ in calls]).items():
            where, call = calls[number]
            what = f"a second call {call!r} was named {own}"
            self._changes.append(Change("A4", self._entries[where[0]][0], what))
            self._ids[where] = own

    def mended(self) -> list[Entry]:
        """Return the messages with every call answered right behind it."""
        mended: list[Entry] = []
        asker: int | None = None  # the message before, if it calls
        for at, entry in enumerate(self._entries):
            if entry[1]["role"] == "user":
                mended += self._answering(at, asker)
                asker = None
                continue
            if entry[1]["role"] == "system":
                mended += [*self._answering(None, asker), entry]
                asker = None
                continue
            asking = self._asking(at)
            if asking is None:
                continue
            mended += self._answering(None, asker)
            mended.append((entry[0], asking))
            asker = at if walk.ids(asking, walk.USE) else None
        return mended + self._answering(None, asker)

    def _asking(self, at: int) -> Message | None:
        """Return a message with its calls' own ids, or without some calls; None if it leaves."""
        index, message = self._entries[at]
        content: list[Message] = []
        for place, block in enumerate(walk.blocks(message)):
            if block["type"] != walk.USE:
                content.append(block)
            elif self._unanswered == "drop" and (at, place) not in self._answers:
                what = f"call {block['id']!r} was left out: nothing answers it"
                self._changes.append(Change("A2", index, what))
            else:
                own = self._ids[at, place]
                content.append(block if own == block["id"] else block | {"id": own})
        if same(content, walk.blocks(message)):
            return message
        return None if all(map(walk.is_thought, content)) else message | {"content": content}

    def _answering(self, at: int | None, asker: int | None) -> list[Entry]:
        """Return the user message at a position with the results of the calls before it.

        Args:
            at: Its position; None where there is none, and one is made if there are results.
            asker: The position of the calls before it; None where none are.

        Returns:
            The user message; none where nothing is in it.
        """
        results = [] if asker is None else self._results(asker, at)
        if at is None:
            made: Message = {"role": "user", "content": results}
            return [(self._entries[asker][0], made)] if asker is not None else []
        index, message = self._entries[at]
        before = walk.as_blocks(message)
        after = results + [block for block in before if block["type"] != walk.RESULT]
        if same(before, after):
            return [(index, message)]
        if not walk.results_lead(before):
            self._changes.append(Change("A3", index, "the results were put first"))
        return [(index, message | {"content": after})] if after else []

    def _results(self, asker: int, at: int | None) -> list[Message]:
        """Return the results of a message's calls: first those that stand in place, as they do."""
        index, message = self._entries[asker]
        here: list[tuple[int, Message]] = []
        others: list[Message] = []
        for place, block in enumerate(walk.blocks(message)):
            if block["type"] != walk.USE:
                continue
            call = self._ids[asker, place]
            answer = self._answers.get((asker, place))
            if answer is None:
                if self._unanswered == "stub":
                    self._changes.append(
                        Change("A2", index, f"call {call!r} got a stub: no result")
                    )
                    others.append(_stub(call))
                continue
            result = self._entries[answer[0]][1]["content"][answer[1]]
            if result["tool_use_id"] != call:
                result = result | {"tool_use_id": call}
            if answer[0] == at:
                here.append((answer[1], result))
            else:
                self._changes.append(Change("A2", index, f"result {call!r} was moved to its call"))
                others.append(result)
        here.sort(key=lambda found: found[0])
        return [result for _, result in here] + others


def _stub(call: str) -> Message:
    return {"type": walk.RESULT, "tool_use_id": call, "content": NO_RESULT, "is_error": True}


def same(one: list[Message], other: list[Message]) -> bool:
    """Tell whether two lists hold the same blocks, as objects."""
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
