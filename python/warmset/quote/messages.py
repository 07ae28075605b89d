"""Messages that one window after the other shows whole, read once; each is handed out as a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from warmset.state.prompt_prefix import mark_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.messages import Message
    from warmset.state.prompt_prefix import Mark

ROOM: Final = 96_000_000
"""Bytes of messages, as JSON, that are kept at most: half of them are old, and leave if they are
not asked for again while as many others are. The other half takes a list of 100,000 messages as a
whole; a longer one would be read anew each time: its beginning leaves before it comes again."""

LONG: Final = 1_000
"""Messages of a list that is held as a whole if it is asked for twice in a row."""

LARGEST: Final = 1_000_000
"""Bytes of a message that is kept."""


class _Kept(NamedTuple):
    message: Message
    mark: Mark
    size: int
    flat: bool


class _Whole(NamedTuple):
    """A list that was asked for as a whole, of which every message is kept."""

    ids: list[int]
    messages: list[Message]
    marks: list[Mark]
    flat: bool

    @classmethod
    def of(cls, ids: Sequence[int], found: Sequence[_Kept]) -> _Whole:
        messages, marks = [one.message for one in found], [one.mark for one in found]
        return cls(list(ids), messages, marks, all(one.flat for one in found))

    def copied(self) -> tuple[list[Message], list[Mark]]:
        copy = dict.copy if self.flat else copied
        return list(map(copy, self.messages)), self.marks.copy()


class Copies:
    """Messages of one store that were read lately.

    Args:
        read: Reads messages in one go, each with its size in bytes.
    """

    def __init__(self, read: Callable[[Sequence[int]], list[tuple[Message, int]]]) -> None:
        self._read = read
        self._young: dict[int, _Kept] = {}
        self._old: dict[int, _Kept] = {}
        self._whole: _Whole | None = None
        self._long: list[int] = []  # the long list that was asked for last
        self._bytes = 0
        self._cleared = 0

    def get(self, ids: Sequence[int]) -> tuple[list[Message], list[Mark]]:
        """Return messages that nobody else has, in order, and what tells each from others.

        Raises:
            NotFound: No message has one of these ids.
            StoreError: One could not be read.
        """
        whole, young, cleared = self._whole, self._young, self._cleared
        if whole is not None and whole.ids == ids:
            return whole.copied()
        found = [young.get(id_) for id_ in ids]
        if None in found:
            self._fetch([id_ for id_, one in zip(ids, found, strict=True) if one is None], found)
            if cleared != self._cleared:  # somebody erased something meanwhile
                read = [message for message, _ in self._read(ids)]
                return read, list(map(mark_of, read))
        there = [one for one in found if one is not None]
        if len(ids) >= LONG:
            again, self._long = ids == self._long, list(ids)
            if again and all(map(young.__contains__, ids)):  # one that grows is never held
                whole = _Whole.of(ids, there)
                if cleared == self._cleared:
                    self._whole = whole
                return whole.copied()
        read = [one.message.copy() if one.flat else copied(one.message) for one in there]
        return read, [one.mark for one in there]

    def messages(self, ids: Sequence[int]) -> list[Message]:
        """Return messages that nobody else has, in order; see `get`."""
        return self.get(ids)[0]

    def clear(self) -> None:
        """Forget everything, what is just being read too: it may have been erased meanwhile."""
        self._cleared += 1
        self._young, self._old, self._whole, self._bytes = {}, {}, None, 0

    def _fetch(self, wanted: list[int], found: list[_Kept | None]) -> None:
        """Find messages that are not young, and put them into the gaps, in order."""
        cleared, old = self._cleared, self._old
        missing = [id_ for id_ in wanted if id_ not in old]
        read = iter(self._read(missing)) if missing else iter(())
        gaps = (at for at, one in enumerate(found) if one is None)
        for id_, at in zip(wanted, gaps, strict=True):
            one = old.get(id_)
            if one is None:
                message, size = next(read)
                one = _Kept(message, mark_of(message), size, _is_flat(message))
            found[at] = one
            if cleared == self._cleared and one.size <= LARGEST:
                self._keep(id_, one)

    def _keep(self, id_: int, one: _Kept) -> None:
        if id_ in self._young:
            return
        self._young[id_] = one
        self._bytes += one.size
        if self._bytes > ROOM // 2:
            self._young, self._old, self._whole, self._bytes = {}, self._young, None, 0


def copied(value: Any) -> Any:
    """Copy plain JSON, so that nothing but texts and numbers is shared."""
    if type(value) is dict:
        return {
            key: one if type(one) is str or one is None else copied(one)
            for key, one in value.items()
        }
    if type(value) is list:
        return [one if type(one) is str else copied(one) for one in value]
    return value


def _is_flat(message: Message) -> bool:
    """Tell whether a message holds no other object: then a copy of it shares nothing."""
    return not any(isinstance(value, (dict, list)) for value in message.values())
