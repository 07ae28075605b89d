"""Messages as programs keep them: a list, an object with a list, or a message or a list a line."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from warmset import messages
from warmset.errors import InvalidInputError
from warmset.maintenance.transcripts.fields import (
    listed,
    mapping,
    moment,
    number,
    text,
    without_none,
)
from warmset.maintenance.transcripts.item import Item
from warmset.maintenance.transcripts.lines import beside
from warmset.store.seen import SIZE, Seen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warmset.maintenance.transcripts.lines import Line
    from warmset.maintenance.transcripts.report import ImportReport
    from warmset.messages import Dialect

_LISTS: Final = ("messages", "input", "contents", "conversation", "history", "items")
"""Fields of an object that hold a list of messages."""

_NAMES: Final = ("conversation_id", "session_id", "thread_id", "conversation", "id", "name")
"""Fields of an object that name its conversation."""

_TIMES: Final = ("timestamp", "created_at", "create_time", "at", "time", "date")

_ENVELOPE: Final = frozenset(
    (*_TIMES, "conversation_id", "session_id", "thread_id", "uuid", "speaker")
)
"""Fields beside a message that are no part of it."""

_SAID: Final = ("content", "parts", "text", "steps")


def is_message(value: object) -> bool:
    """Return whether a value looks like a message of one of the dialects."""
    if not isinstance(value, dict):
        return False
    role = isinstance(value.get("role"), str) and any(name in value for name in _SAID)
    called = isinstance(value.get("role"), str) and "tool_calls" in value
    item = value.get("type") in (
        "message",
        "function_call",
        "function_call_output",
        "reasoning",
    ) and ("role" in value or "call_id" in value or "summary" in value)
    return role or called or item


def list_in(value: object) -> list[Any] | None:
    """Return the list of messages in an object; None if there is none."""
    if isinstance(value, dict):
        for name in _LISTS:
            found = value.get(name)
            if isinstance(found, list) and found and all(map(is_message, found)):
                return found
    return None


class Plain:
    """Messages without ids: one is known by what it says, and how often it was said before.

    Args:
        name: The conversation of messages that name none.
        report: What is counted.
    """

    def __init__(self, name: str, report: ImportReport) -> None:
        self._name = name
        self._report = report
        self._said: dict[str, _Said] = {}
        self._dialects: dict[str, Dialect] = {}
        self._lists = 0

    def feed(self, line: Line) -> Iterator[Item]:
        """Take one line, a message or a list of them; see `Parser`."""
        if line.value is None:
            yield from beside(line, self._name, self._report)
        else:
            yield from self.value(line.value, line.raw)

    def rest(self, *, ended: bool) -> Iterator[Item]:
        """Yield nothing: each message is an item."""
        del ended
        yield from ()

    def value(self, value: Any, raw: bytes) -> Iterator[Item]:
        """Yield the items of a value: a message, a list of them, or an object with a list."""
        many = listed(value)
        if many and all(map(is_message, many)):
            yield from self.listed(many, {})
        elif (found := list_in(value)) is not None:
            yield from self.listed(found, mapping(value))
        elif is_message(value):
            name = number(mapping(value), *_NAMES[:3]) or self._name
            yield self._message(mapping(value), name, None)
        else:
            yield Item(
                conversation=self._name, uids=(self._uid(self._name, value),), kind="value", raw=raw
            )

    def listed(self, found: list[Any], around: dict[str, Any]) -> Iterator[Item]:
        """Yield the messages of one of several lists of a file."""
        self._lists += 1
        name = number(around, *_NAMES) or (
            self._name if self._lists == 1 else f"{self._name}#{self._lists}"
        )
        dialect = messages.detect(found) if _fits(found) else None
        for one in found:
            yield self._message(one, name, dialect)

    def _message(self, value: dict[str, Any], name: str, dialect: Dialect | None) -> Item:
        kept = {key: one for key, one in value.items() if key not in _ENVELOPE}
        if _fits([kept]):
            found = dialect or messages.detect([kept])
            if found is not None:
                self._dialects.setdefault(name, found)
        own = text(value, "uuid") or (text(value, "id") if "type" in value else None)
        if own is None and isinstance(value.get("id"), (str, int)):
            own = str(kept.pop("id"))
        return Item(
            conversation=name,
            uids=(own or self._uid(name, value),),
            message=kept,
            raw=json.dumps(value).encode(),
            at=moment(value, *_TIMES),
            speaker=text(value, "speaker"),
            meta=without_none({"source": "messages"}),
            dialect=self._dialects.get(name),
        )

    def _uid(self, name: str, value: object) -> str:
        said = self._said.setdefault(name, _Said())
        data = json.dumps(value, sort_keys=True, ensure_ascii=True).encode()
        return said.name(blake2b(data, digest_size=SIZE).digest())


class _Said:
    """What was said so far, and how often what was said more than once."""

    def __init__(self) -> None:
        self._once = Seen()
        self._more: Counter[bytes] = Counter()

    def name(self, digest: bytes) -> str:
        """Return a name for the next message of that digest."""
        if self._once.add(digest):
            return digest.hex()
        self._more[digest] += 1
        return f"{digest.hex()}#{self._more[digest] + 1}"


def _fits(found: list[Any]) -> bool:
    try:
        messages.accept(found)
    except InvalidInputError:
        return False
    return True
