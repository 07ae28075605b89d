"""What a caller says that it sent last, as the witness of the thinking in its next list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError
from warmset.messages.codec import accept
from warmset.messages.dialects import facts, faults
from warmset.messages.prefix import PrefixHash
from warmset.messages.thinking import THOUGHTS, prefixes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.messages.model import Dialect, Message
    from warmset.messages.prefix import Prefix
    from warmset.messages.thinking import Witness
    from warmset.messages.turns import System

LISTS: Final = ("messages", "input", "contents")
"""The names by which the calls of providers name their list of messages."""

_SYSTEMS: Final = ("system", "instructions", "system_instruction")


@dataclass(frozen=True, slots=True)
class Beside:
    """What a request has besides its messages.

    Args:
        system: The system prompt.
        tools: The tools.
        model: The model's name; empty if it is not known.

    Raises:
        InvalidInputError: One of them has the wrong type.
    """

    system: System | None = None
    tools: Sequence[Mapping[str, Any]] | None = None
    model: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.model, str):
            raise InvalidInputError(f"model: expected a model's name, found {self.model!r:.80}")
        if self.tools is not None and not isinstance(self.tools, (list, tuple)):
            raise InvalidInputError(f"tools: expected a list of schemas, found {self.tools!r:.80}")
        if self.system is not None and not isinstance(self.system, (str, list, tuple)):
            raise InvalidInputError(f"system: expected a text or blocks, found {self.system!r:.80}")

    @classmethod
    def of(cls, system: Any, tools: Any, model: Any) -> Beside:
        """Check what a caller sends with a list; no model is a model that is not known.

        Raises:
            InvalidInputError: One of them has the wrong type.
        """
        return cls(system, tools, "" if model is None else model)

    def front(self) -> PrefixHash:
        """Return the hash of a list before its first message."""
        return PrefixHash(system=self.system, tools=self.tools, model=self.model)


def witness_of(
    messages: Sequence[Message], dialect: Dialect, beside: Beside, sent: object = None
) -> Witness:
    """Return what the thinking of a list was made behind.

    Args:
        messages: The list as the caller has it.
        dialect: Its dialect.
        beside: What is sent with it.
        sent: What was sent last: a window, the keyword arguments of a provider's call, or a list of
            messages. None takes the list itself for what was sent, up to each reply.

    Raises:
        InvalidInputError: `sent` is none of these.
    """
    ours = THOUGHTS.get(dialect)
    if ours is None:
        return lambda _at, _message: None
    if sent is None:
        known = prefixes(messages, dialect, beside.front())
    else:
        listed, around = read_sent(sent, beside, dialect)
        after = around.front()
        known = prefixes(listed, dialect, after)
        known = _reply(messages, dialect, known, after) | known
    return lambda _at, message: known.get(ours.key(message))


def read_sent(sent: object, beside: Beside, dialect: Dialect) -> tuple[list[Message], Beside]:
    """Read what was sent: its messages, and what was beside them.

    Args:
        sent: A window, the keyword arguments of a provider's call, or a list of messages.
        beside: What a list of messages is taken to have been sent with.
        dialect: The dialect of the messages.

    Raises:
        InvalidInputError: It is none of these, or one of its messages is of another dialect.
    """
    listed, around = _read(sent, beside)
    for at, fault in faults(listed, dialect):
        raise InvalidInputError(f"sent: message {at} is not of {dialect}: {fault.why}")
    return listed, around


def _read(sent: object, beside: Beside) -> tuple[list[Message], Beside]:
    if isinstance(sent, Mapping):
        name = next((name for name in LISTS if name in sent), None)
        system = next((sent[name] for name in _SYSTEMS if sent.get(name)), None)
        if name is not None:
            named = sent.get("model")
            around = Beside.of(system, sent.get("tools"), named)
            if not around.model:
                around = replace(around, model=beside.model)
            return accept(sent[name]), around
    elif (listed := getattr(sent, "messages", None)) is not None:
        around = Beside(getattr(sent, "system", None), getattr(sent, "tools", None), beside.model)
        return accept(listed), around
    elif isinstance(sent, Iterable) and not isinstance(sent, (str, bytes)):
        return accept(sent), beside
    raise InvalidInputError(
        f"sent: expected a window, the arguments of a provider's call or a list, found {sent!r:.80}"
    )


def _reply(
    messages: Sequence[Message],
    dialect: Dialect,
    known: Mapping[bytes, Prefix],
    after: PrefixHash,
) -> dict[bytes, Prefix]:
    """Return what the reply to a list was made behind.

    It begins where a list is, thinking aside, what was sent. In a list that is not, it is the first
    reply whose thinking was not sent, behind the last one whose thinking was.

    Args:
        messages: The list.
        dialect: Its dialect.
        known: What the thinking that was sent was made behind.
        after: The hash of what was sent.
    """
    ours, spoken = THOUGHTS[dialect], after.prefix().spoken
    fresh = [bool(ours.count(one)) and ours.key(one) not in known for one in messages]
    walk, start = PrefixHash(), None
    for at, message in enumerate(messages):
        if _is_reply(message, dialect) and walk.prefix().spoken == spoken:
            start = at
            break
        walk.add(ours.pieces(message))
    if start is None:
        old = [at for at, one in enumerate(messages) if ours.count(one) and not fresh[at]]
        behind = range(old[-1] + 1 if old else 0, len(messages))
        first = next((at for at in behind if fresh[at]), len(messages))
        start = _run_of(messages, dialect, first)
    run = list(takewhile(lambda one: _is_reply(one, dialect), messages[start:]))
    made = prefixes(run, dialect, after.copy())
    return {key: prefix for key, prefix in made.items() if key not in known}


def _run_of(messages: Sequence[Message], dialect: Dialect, at: int) -> int:
    """Return where the reply begins that a message is in."""
    while 0 < at < len(messages) and _is_reply(messages[at - 1], dialect):
        at -= 1
    return at


def _is_reply(message: Message, dialect: Dialect) -> bool:
    return facts(message, dialect).role == "assistant"
