"""Where large texts go, and how they are read again; a policy that puts them there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from warmset._core import ColdStore, content_hash
from warmset.errors import InvalidInputError, NotFound
from warmset.evict.policies import at_least
from warmset.evict.view import Swap

if TYPE_CHECKING:
    from warmset.evict.view import Edit, View

_OFFLOADED: Final = "[offloaded as "
_KEY: Final = [b"warmset", b"offloaded"]


class OffloadStore(Protocol):
    """A place for texts: what was put is there until the place itself goes."""

    def put(self, text: str, /) -> str:
        """Keep a text and return its handle."""
        ...

    def read(self, handle: str, start: int = 0, stop: int | None = None, /) -> str:
        """Return lines of a kept text, from `start` to before `stop`, counted from 0."""
        ...


class BlobStore:
    """Keeps texts in a cold store, or in memory until it goes; the same text has one handle.

    Args:
        store: The store; None keeps the texts in memory.
    """

    def __init__(self, store: ColdStore | None = None) -> None:
        self._store = ColdStore.open(None) if store is None else store
        self._known: dict[str, int] = {}
        self._read_to = 0

    def put(self, text: str, /) -> str:
        """Keep a text, durably where the store is durable.

        Args:
            text: Any text; lone surrogates are kept.

        Returns:
            Its handle, made of the hash of its content.

        Raises:
            InvalidInputError: It is no text.
            StoreError: It could not be kept.
        """
        if not isinstance(text, str):
            raise InvalidInputError(f"shelf: expected a text, found {text!r:.80}")
        data = text.encode("utf-8", "surrogatepass")
        handle = f"shelf:{content_hash(data).hex()}"
        if handle not in self._known:
            self._look()
        if handle not in self._known:
            self._known[handle] = self._store.append([("item", _KEY, b"", data)])[0]
        return handle

    def read(self, handle: str, start: int = 0, stop: int | None = None, /) -> str:
        """Return lines of a text.

        Args:
            handle: What `put` returned.
            start: The first line, counted from 0.
            stop: The line before which to end; None for the end.

        Returns:
            The lines as they were, line ends included.

        Raises:
            NotFound: Nothing was put under that handle.
            InvalidInputError: A line is no number.
            StoreError: It could not be read.
        """
        for name, line in (("start", start), ("stop", stop)):
            if line is not None and (isinstance(line, bool) or not isinstance(line, int)):
                raise InvalidInputError(f"{name}: expected the number of a line, found {line!r}")
        if handle not in self._known:
            self._look()
        if handle not in self._known:
            raise NotFound(f"{handle!r} is no handle of this shelf")
        data = self._store.get(self._known[handle]).payload
        text = data.decode("utf-8", "surrogatepass")
        return text if not start and stop is None else "".join(_lines(text)[start:stop])

    def _look(self) -> None:
        """Find what others put into the store since it was looked at last."""
        while page := self._store.page(self._read_to + 1):
            for record in page:
                if list(record.key) == _KEY:
                    handle = f"shelf:{content_hash(record.payload).hex()}"
                    self._known.setdefault(handle, record.seq)
            self._read_to = page[-1].seq


@dataclass(frozen=True, slots=True)
class OffloadLarge:
    """Put large tool results into a store, once a list is over the budget.

    A handle stays in the result's place, with the first and the last lines.

    Args:
        over: Characters from which on a result is large.
        lines: Lines that stay at the beginning, and at the end.
        store: Where they go; the store that `fit` was given if this is None.

    Raises:
        InvalidInputError: `over` or `lines` is out of its range.
    """

    over: int = 6_000
    lines: int = 20
    store: OffloadStore | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        at_least("over", self.over, 200)
        at_least("lines", self.lines, 0)

    def plan(self, view: View, /) -> list[Edit]:
        """Put the large results of units that are not protected away; see `Policy`.

        Raises:
            InvalidInputError: There is no store.
        """
        if view.total <= view.budget:
            return []
        edits: list[Edit] = []
        for unit in view.units:
            if not unit.protected:
                edits += [edit for at in unit.members if (edit := self._swap(view, at))]
        return edits

    def _swap(self, view: View, at: int) -> Swap | None:
        if not view.facts[at].results:
            return None
        large = {
            place: answer.text
            for place, answer in enumerate(view.tools.answers(view.messages[at]))
            if len(answer.text) > self.over and not answer.text.startswith(_OFFLOADED)
        }
        if not large:
            return None
        store = self.store or view.store
        if store is None:
            raise InvalidInputError("OffloadLarge: give it a store, or give one to fit()")
        if not callable(getattr(store, "put", None)):
            raise InvalidInputError(f"store: expected an object with put(text), found {store!r}")
        handles = {place: store.put(text) for place, text in large.items()}
        texts = {place: self._shown(text, handles[place]) for place, text in large.items()}
        message = view.tools.with_answers(view.messages[at], texts)
        if view.cost_of(message) >= view.costs[at]:
            return None
        reason = f"a result over {self.over} characters went to the store"
        return Swap(at, message, "handle", reason, " ".join(handles.values()))

    def _shown(self, text: str, handle: str) -> str:
        lines = _lines(text)
        most = self.over // 4
        head = "".join(lines[: self.lines])[:most]
        tail = "".join(lines[max(len(lines) - self.lines, self.lines) :])
        tail = tail[max(len(tail) - most, 0) :]
        told = f"{len(lines)} lines, {len(text)} characters; read the rest by this handle"
        return f"{_OFFLOADED}{handle}: {told}]\n{head}\n[…]\n{tail}"


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
