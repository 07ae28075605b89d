"""What changed between two consecutive requests, and what that costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from warmset.money.prices import MILLION
from warmset.testing.first_change import PrefixChange, equal, first_change, list_change, size
from warmset.testing.prefix_order import SYSTEM, TOOLS
from warmset.testing.prefix_thinking import InvalidThinking, invalid_thinking, is_compacted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.messages import Dialect, Message
    from warmset.money import Prices
    from warmset.testing.requests import Request
    from warmset.tokens import Counter

_TEXTS: Final = frozenset({"text", "input_text", "output_text"})
"""The types of blocks that a content which is a string stands for."""

_COMPACTED: Final = (
    "a compaction of the provider's is new in the list; whether thinking behind it stays valid was "
    "not checked"
)
_STORED: Final = "the second request goes on behind a stored list; the lists were not compared"
_NO_MARKS: Final = "the first request has no cache_control: Anthropic puts nothing in the cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixDiff:
    """What changed between two consecutive requests.

    Args:
        first: The position of the first of both requests.
        dialect: The dialect of their lists.
        model: The model of the second request, or the one that was given; empty if not known.
        change: The first change, in the order in which the prompt cache reads a request; None if
            the second request begins with all of the first.
        changed: Each part of the request that is not as it was: `model`, `tools`, `system`,
            `messages` and others, in the same order.
        marks_moved: Whether cache marks stand elsewhere, which is no change.
        same: Tokens at the front that are equal, whole blocks and messages only: the cache has no
            more than these.
        lost: Tokens that must be read again, and that the cache would have if the first request had
            only grown.
        money: What these tokens cost more than from the cache, in USD, if the cache has not
            expired; None if the model's price is not known.
        thinking: The thinking and reasoning of the second request that is not valid any more.
        notes: What else there is to know.
    """

    first: int
    dialect: Dialect
    model: str
    change: PrefixChange | None
    changed: tuple[str, ...]
    marks_moved: bool
    same: int
    lost: int
    money: float | None
    thinking: tuple[InvalidThinking, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def append_only(self) -> bool:
        """Whether the second request is the first with messages appended, or equal to it."""
        return self.change is None

    @property
    def ok(self) -> bool:
        """Whether nothing changed and all thinking is valid."""
        return self.change is None and not self.thinking

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {**asdict(self), "append_only": self.append_only, "ok": self.ok}


def diff(
    before: Request,
    after: Request,
    first: int,
    *,
    model: str,
    counter: Counter,
    prices: Prices | None,
) -> PrefixDiff:
    """Compare two consecutive requests; see `PrefixDiff`.

    Args:
        before: The first request.
        after: The second one, of the same dialect.
        first: The position of the first.
        model: The model whose rules hold, instead of the requests' own; empty for theirs.
        counter: Counts tokens.
        prices: The model's prices; None if not known.
    """
    old = [] if after.stored else _alike(before.messages, after.messages)
    new = [] if after.stored else after.messages
    walk = _Walk(before, after, counter)
    walk.run(old, new)
    total, now = walk.total(before, old), walk.total(after, new)
    same, most = walk.same, min(total, now)
    if walk.change is None:
        same = most = total
    lost = max(0, _cacheable(prices, most) - _cacheable(prices, same))
    money = None
    if prices is not None:
        at = prices.at(now)
        money = lost * (at.written - at.cache_read) / MILLION
    compacted = is_compacted(before, after)
    checked = not (compacted or after.stored)
    return PrefixDiff(
        first=first,
        dialect=after.dialect,
        model=model or after.model,
        change=walk.change,
        changed=tuple(walk.changed),
        marks_moved=before.marks != after.marks,
        same=same,
        lost=lost,
        money=money,
        thinking=invalid_thinking(before, after, old, model) if checked else (),
        notes=tuple(_notes(before, after, compacted=compacted)),
    )


class _Walk:
    """Reads two requests in the order of the cache, up to the first change and behind it."""

    def __init__(self, before: Request, after: Request, counter: Counter) -> None:
        self.before, self.after, self.counter = before, after, counter
        self.change: PrefixChange | None = None
        self.changed: list[str] = []
        self.same = self._byte = 0

    def run(self, old: Sequence[Message], new: Sequence[Message]) -> None:
        """Compare all parts, and the lists behind them."""
        both = dict.fromkeys((*self.before.order(), *self.after.order()))
        for name in both:
            self._part(name)
        self._list(old, new)

    def total(self, request: Request, listed: Sequence[Message]) -> int:
        """Count a whole request."""
        beside = self._beside(request.system(), request.tools())
        return beside + sum(self.counter.costs(listed))

    def _part(self, name: str) -> None:
        old, new = self.before.part(name), self.after.part(name)
        if name not in self.before.order() or name not in self.after.order():
            old = new = None  # instructions, which one of both models does not cache
        if name in SYSTEM:
            old, new = _as_alike(old, new)
        if name in TOOLS or (isinstance(old, list) and isinstance(new, list)):
            self._entries(name, old or [], new or [])
        elif not equal(old, new):
            self._found(name, None if self.change else first_change(old, new, name, self._byte))
        elif self.change is None and old is not None:
            self.same += self._count(name, old)
            self._byte += size(old)

    def _entries(self, name: str, old: list[Any], new: list[Any]) -> None:
        equals = _front(old, new)
        if self.change is None:
            self.same += self._count(name, old[:equals])
        if equals < max(len(old), len(new)):
            self._found(name, None if self.change else list_change(old, new, name, self._byte))
        self._byte += sum(map(size, old[:equals]))

    def _list(self, old: Sequence[Message], new: Sequence[Message]) -> None:
        equals = _front(old, new)
        if equals < len(old) and not (
            equals == len(old) - 1 and self._has_grown(old[equals:], new[equals:])
        ):
            name = self.after.name
            byte = self._byte
            self._found(name, None if self.change else list_change(old, new, name, byte))
            if self.changed == [name]:
                begun = _begun(old[equals], new[equals]) if equals < len(new) else None
                listed = [*old[:equals], *([] if begun is None else [begun])]
                self.same += sum(self.counter.costs(listed))

    def _has_grown(self, old: Sequence[Message], new: Sequence[Message]) -> bool:
        """Return whether blocks were appended to the last message, which Anthropic merges anyway.

        The cache has each block of its own, and no thinking stands behind them.
        """
        if self.after.dialect != "anthropic" or not new or old[0]["role"] != "user":
            return False
        begun = _begun(old[0], new[0])
        return begun is not None and equal(begun, old[0])

    def _found(self, name: str, change: PrefixChange | None) -> None:
        self.changed.append(name)
        self.change = self.change or change

    def _count(self, name: str, value: Any) -> int:
        if name in TOOLS:
            return self._beside(None, value)
        return self._beside(value, []) if name in SYSTEM else 0

    def _beside(self, system: Any, tools: list[Any]) -> int:
        whole = self.counter.overhead(system or None, tools or None)
        return whole - self.counter.overhead()


def _front(old: Sequence[Any], new: Sequence[Any]) -> int:
    """Return how many entries at the front of two lists are equal."""
    for at, (one, other) in enumerate(zip(old, new, strict=False)):
        if not equal(one, other):
            return at
    return min(len(old), len(new))


def _begun(old: Message, new: Message) -> Message | None:
    """Return the blocks at the front of two messages that are equal, as a message."""
    for key in ("content", "parts"):
        one, other = old.get(key), new.get(key)
        if isinstance(one, list) and isinstance(other, list):
            rest = [{k: v for k, v in message.items() if k != key} for message in (old, new)]
            same = _front(one, other)
            return {**new, key: one[:same]} if same and equal(*rest) else None
    return None


def _alike(old: Sequence[Message], new: Sequence[Message]) -> list[Message]:
    """Return the first list with contents as strings or blocks, as the second one has them.

    Callers make blocks of a string where they put a cache mark.
    """
    made = []
    for at, message in enumerate(old):
        other = new[at].get("content") if at < len(new) else None
        content = _as_alike(message.get("content"), other)[0]
        made.append(
            message if content is message.get("content") else {**message, "content": content}
        )
    return made


def _as_alike(old: Any, new: Any) -> tuple[Any, Any]:
    """Return two contents as they are, or, where one is a string and one is blocks, alike."""
    if isinstance(old, str) and isinstance(new, list):
        return _blocks(old, new), new
    if isinstance(new, str) and isinstance(old, list):
        block = old[0] if len(old) == 1 else None
        if isinstance(block, dict) and block.keys() == {"type", "text"} and block["type"] in _TEXTS:
            return block["text"], new
    return old, new


def _blocks(text: str, other: list[Any]) -> list[dict[str, Any]] | str:
    kind = other[0].get("type") if other and isinstance(other[0], dict) else None
    return [{"type": kind, "text": text}] if kind in _TEXTS else text


def _cacheable(prices: Prices | None, tokens: int) -> int:
    return tokens if prices is None else prices.cacheable(tokens)


def _notes(before: Request, after: Request, *, compacted: bool) -> list[str]:
    notes = [_STORED] if after.stored else []
    if compacted:
        notes.append(_COMPACTED)
    if after.dialect == "anthropic" and not before.marks and before.model:
        notes.append(_NO_MARKS)
    return notes
