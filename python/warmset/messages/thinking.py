"""Which thinking of a list a model still takes, and lists without the rest.

A block of thinking is bound to its prefix: what stood before it when the model made it. Whoever
changes a list, or makes another one of its messages, must leave out the thinking whose prefix is
not there any more. A provider refuses a list that keeps it, or drops it silently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from warmset.messages.anthropic import thinking as a_thinking
from warmset.messages.model import Message, Violation
from warmset.messages.prefix import THINKING_MOVED, UNKNOWN, Prefix, PrefixHash
from warmset.messages.responses import thinking as r_thinking

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from warmset.messages.model import Dialect, Severity
    from warmset.messages.prefix import Pieces

LEFT_OUT: Final = "the caller's list has left it out"
"""Why thinking leaves that is stored, and that the caller no longer sends."""

Witness: TypeAlias = Callable[[int, Message], Prefix | None]
"""Returns what a message with thinking was made behind, by its position and itself."""


class Thoughts(Protocol):
    """How a dialect writes thinking; the dialect's module implements it."""

    CHANGED: str
    LEFT_OUT: str

    def severity(self, model: str, /) -> Severity | None:
        """Tell what becomes of a list whose thinking has another prefix; None for nothing."""
        ...

    def count(self, message: Message, /) -> int:
        """Count the blocks of thinking in a message."""
        ...

    def key(self, message: Message, /) -> bytes:
        """Return a hash that tells the thinking of a message from any other."""
        ...

    def keys(self, message: Message, /) -> Sequence[bytes]:
        """Return the keys that a message may have once some of its thinking left, in order."""
        ...

    def must_lead(self, model: str, /) -> bool:
        """Tell whether a model may refuse a tool loop that does not begin with its thinking."""
        ...

    def pieces(self, message: Message, /) -> Pieces:
        """Return a message as it enters the hash of a prefix."""
        ...

    def reader(
        self, messages: Sequence[Message], /
    ) -> Callable[[int, Collection[int]], Message | None]:
        """Return a function that writes a message whose list lost thinking in some places."""
        ...


THOUGHTS: Final[Mapping[Dialect, Thoughts]] = {"anthropic": a_thinking, "responses": r_thinking}
"""The dialects whose providers bind thinking to its prefix."""


@dataclass(frozen=True, slots=True)
class RemovedThinking:
    """Thinking that was left out of a list.

    Args:
        index: The position of its message in the list that was given.
        blocks: The number of blocks, or of reasoning items.
        why: Why it was left out.
        id: The id of its message, if that is stored.
    """

    index: int
    blocks: int
    why: str
    id: int | None = None


@dataclass(frozen=True, slots=True)
class Thinking:
    """What became of the model's thinking in a list.

    Args:
        kept: The number of blocks, or of reasoning items, that are in the list.
        removed: What was left out, and why.
        disabled: Whether the request must be sent with thinking disabled, as all until the tool
            loop at the end of the list is finished: thinking that has to begin the loop was left
            out.
        changed: Positions of the messages that are not sent as they were given, or not at all,
            because thinking left: those that had it, and items that lost their id with it.
    """

    kept: int = 0
    removed: tuple[RemovedThinking, ...] = ()
    disabled: bool = False
    changed: tuple[int, ...] = ()

    @property
    def why(self) -> tuple[str, ...]:
        """The reasons why thinking was left out, each once."""
        return tuple(dict.fromkeys(one.why for one in self.removed))


@dataclass(frozen=True, slots=True)
class Judged:
    """A list without the thinking that its model does not take.

    Args:
        messages: Each message, None where nothing is left of it; the same objects where nothing
            changed.
        thinking: What became of the thinking.
    """

    messages: list[Message | None]
    thinking: Thinking


def rule_of(dialect: Dialect, why: str) -> str:
    """Return the name of the rule that thinking would break, by the reason why it leaves."""
    ours = THOUGHTS[dialect]
    return ours.LEFT_OUT if why == THINKING_MOVED else ours.CHANGED


def thinks(messages: Iterable[Message], dialect: Dialect) -> bool:
    """Return whether a list has thinking that is bound to its prefix."""
    ours = THOUGHTS.get(dialect)
    return ours is not None and any(map(ours.count, messages))


def prefixes(
    messages: Sequence[Message], dialect: Dialect, after: PrefixHash
) -> dict[bytes, Prefix]:
    """Return what the thinking of a list stands behind, by the key of its message.

    Args:
        messages: The messages.
        dialect: Their dialect.
        after: The hash of what stands before them, to which they are added.
    """
    ours = THOUGHTS.get(dialect)
    found: dict[bytes, Prefix] = {}
    if ours is None:
        return found
    for message in messages:
        if ours.count(message):
            found.setdefault(ours.key(message), after.prefix())
        after.add(ours.pieces(message))
    return found


def judge(
    messages: Sequence[Message],
    dialect: Dialect,
    witness: Witness,
    after: PrefixHash,
    *,
    model: str = "",
    loop: int | None = None,
    bare: Collection[int] = (),
) -> Judged:
    """Leave out the thinking whose prefix is not the one that it was made behind.

    Args:
        messages: A list that is going to be sent.
        dialect: Its dialect.
        witness: Returns what a message with thinking was made behind, by its position and itself;
            where that is not known, the thinking leaves.
        after: The hash of what is sent before the messages; they are added to it.
        model: The model that the list is for. Where it does not look at prefixes, only thinking of
            another model leaves.
        loop: The position of the reply whose thinking begins a tool loop that is not finished.
        bare: The positions of messages whose thinking leaves because the caller has left it out.

    Returns:
        The list, and what became of the thinking.
    """
    ours = THOUGHTS.get(dialect)
    counts = [] if ours is None else [ours.count(message) for message in messages]
    if ours is None or not any(counts):
        return Judged(list(messages), Thinking())
    bound = ours.severity(model) is not None
    written = ours.reader(messages)
    left: set[int] = set()
    removed: list[RemovedThinking] = []
    made: list[Message | None] = []
    for at, message in enumerate(messages):
        if counts[at]:
            why = (
                LEFT_OUT
                if at in bare
                else _why_not(witness(at, message), after.prefix(), model, bound=bound)
            )
            if why is not None:
                left.add(at)
                removed.append(RemovedThinking(at, counts[at], why))
        one = written(at, left)
        made.append(one)
        if one is not None:
            after.add(ours.pieces(one))
    kept = sum(counts) - sum(one.blocks for one in removed)
    disabled = loop is not None and loop in left and ours.must_lead(model)
    changed = tuple(at for at, one in enumerate(made) if one is not messages[at])
    return Judged(made, Thinking(kept, tuple(removed), disabled, changed))


def _why_not(witness: Prefix | None, now: Prefix, model: str, *, bound: bool) -> str | None:
    """Return why thinking leaves; None if it stays."""
    if witness is None:
        return UNKNOWN if bound else None
    why = witness.differs(replace(now, model=model))
    return why if bound or witness.is_foreign(model) else None


def invalid(
    messages: Sequence[Message],
    dialect: Dialect,
    witness: Witness,
    after: PrefixHash,
    model: str,
) -> Iterator[tuple[int, str]]:
    """Yield the thinking of a list whose prefix is not the one that it was made behind.

    The arguments are those of `judge`; nothing is left out.

    Returns:
        The position of each message whose thinking the model does not take, and why; none if the
        model does not look at prefixes.
    """
    ours = THOUGHTS.get(dialect)
    if ours is None or ours.severity(model) is None:
        return
    for at, message in enumerate(messages):
        if ours.count(message):
            why = _why_not(witness(at, message), after.prefix(), model, bound=True)
            if why is not None:
                yield at, why
        after.add(ours.pieces(message))


def broken(
    messages: Sequence[Message],
    dialect: Dialect,
    witness: Witness,
    after: PrefixHash,
    model: str,
) -> Iterator[Violation]:
    """Yield what `invalid` finds, as violations of the rules of the list's dialect."""
    ours = THOUGHTS.get(dialect)
    severity = None if ours is None else ours.severity(model)
    if severity is None:
        return
    fix = "leave it and all later thinking out, or send what stood before it"
    for at, why in invalid(messages, dialect, witness, after, model):
        rule = rule_of(dialect, why)
        yield Violation(rule, at, f"thinking is bound to its prefix: {why}", fix, severity)
