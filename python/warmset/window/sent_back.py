"""Notes what a window holds, so that a list that begins with it is recognised.

See `warmset.state.rendered`.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from warmset._core import content_hash
from warmset.messages import dumps
from warmset.messages.canonical import Form, form_of
from warmset.state.branches import ROOT
from warmset.state.rendered import Rendered, Shown, same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.messages import Message
    from warmset.messages.canonical import Form
    from warmset.state.branches import History
    from warmset.state.ledger import Ledger
    from warmset.window.assemble import Assembled
    from warmset.window.cut_result import CutResult
    from warmset.window.render import Call

FORMS: Final = 2_048
"""Forms of messages that are remembered; they are hashes, and hold no text."""

_FORMS: dict[bytes, Form] = {}
_ASSISTANT = ("assistant", "model")
_SYSTEM = ("system", "developer")


def note_window(ledger: Ledger, made: Assembled, call: Call) -> None:
    """Hold a window's messages, unless they are simply those of the conversation.

    The caller holds the engine's lock.
    """
    turns = list(made.turns)
    same = made.messages == made.plain and turns == ledger.history.path[: len(turns)]
    if made.messages and not same:
        if call.source == call.target == "anthropic":
            unmerged = _unmerged(ledger.history, made, call)
            if len(unmerged.shown) > len(made.messages):
                ledger.windows.add(unmerged)
        ledger.windows.add(_noted(ledger.history, made, call))


def note_cut(ledger: Ledger, cut: CutResult) -> None:
    """Hold a cut's messages, if something was left out.

    The caller holds the engine's lock. What the messages are is found when it is needed.
    """
    ledger.sent_lists.note(cut.sent)
    if not cut.is_whole:
        history, head, bare = ledger.history, ledger.history.head, replace(cut)

        def made() -> Rendered:
            turns, own = bare.turns, iter(bare.own)
            return Rendered(
                _turn(history, turn, last) if turn else _shown(_Message(next(own), last, ours=True))
                for turn, last in zip(turns, _until(history, turns, head), strict=True)
            )

        ledger.windows.add(made)


@dataclass(frozen=True, slots=True)
class _Message:
    """A message of a window as it was sent, and what it stands for; see `Shown`."""

    message: Message
    until: int | None
    ours: bool = False
    beside: bool = False
    request: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Noted:
    """The messages of a window, which are read when they are needed.

    Args:
        history: The turns.
        shown: The messages, in order; of a turn that is shown as it is stored, its id, and the last
            turn that it stands for.
    """

    history: History
    shown: tuple[_Message | tuple[int, int], ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Noted) and same(self.shown, other.shown)

    def __hash__(self) -> int:
        return hash(len(self.shown))

    def __call__(self) -> Rendered:
        return Rendered(
            _turn(self.history, *one) if isinstance(one, tuple) else _shown(one)
            for one in self.shown
        )


def _noted(history: History, made: Assembled, call: Call) -> _Noted:
    """Note the messages of a window; the caller may change them later, so they are copied."""
    turns = made.turns
    until = _until(history, turns, history.head)
    spans = _spans(made, call)
    if spans is None:
        *front, last = made.messages
        shown = (_Message(deepcopy(message), None) for message in front)
        newest = _Message(deepcopy(last), history.head, request=call.request)
        return _Noted(history, (*shown, newest))
    asked = len(turns) if call.request is None else len(turns) - 1
    rows: list[_Message | tuple[int, int]] = []
    for message, (start, end) in zip(made.messages, spans, strict=True):
        if start == end:
            rows.append(_Message(deepcopy(message), ROOT, ours=True, beside=True))
            continue
        stored = turns[start] if message is made.plain[start] else ROOT
        if stored:
            rows.append((stored, until[end - 1]))
            continue
        request = call.request if end > asked else None
        ours = request is None and not any(turns[start:end])
        rows.append(_Message(deepcopy(message), until[end - 1], ours=ours, request=request))
    return _Noted(history, tuple(rows))


def _unmerged(history: History, made: Assembled, call: Call) -> _Noted:
    """Note the messages of a window as they were before neighbours of one role became one."""
    rows: list[_Message | tuple[int, int]] = []
    last = len(made.plain) - 1
    leading = sum(1 for _ in takewhile(lambda one: one.get("role") in _SYSTEM, made.plain))
    until = _until(history, made.turns, history.head)
    for at in range(leading, len(made.plain)):
        if made.turns[at]:
            rows.append((made.turns[at], until[at]))
            continue
        request = call.request if at == last else None
        message = deepcopy(made.plain[at])
        rows.append(_Message(message, until[at], ours=request is None, request=request))
    return _Noted(history, tuple(rows))


def _until(history: History, turns: Sequence[int], head: int) -> list[int]:
    """Return the last turn that each message, and all before it, stands for.

    A message that is no turn stands for all that comes before the next one, and the last message
    for all that there is.
    """
    until: list[int] = []
    following = head
    for turn in reversed(turns):
        until.append(turn or following)
        if turn:
            following = next(history.ancestors(turn), ROOT)
    until.reverse()
    return [*until[:-1], head] if until else until


def _spans(made: Assembled, call: Call) -> list[tuple[int, int]] | None:
    """Return which messages each message of the window was made of; None if that is not known.

    An empty range is a system prompt that the caller passed beside the messages.
    """
    plain, at = made.plain, 0
    spans: list[tuple[int, int]] = []
    for message in made.messages:
        start = at
        if call.source != call.target or call.target == "anthropic":
            while at < len(plain) and plain[at] != message and plain[at].get("role") in _SYSTEM:
                at = start = at + 1  # it stands beside the messages now
        if at == len(plain):
            return None
        if message is plain[at] or message == plain[at]:
            at += 1
        elif call.target == "anthropic":
            at += _run(plain[at:])
        elif spans or call.system is None:
            return None
        spans.append((start, at))
    return spans if at == len(plain) else None


def _run(plain: Sequence[Message]) -> int:
    """Count the messages at the front that become one message where roles alternate."""
    sides = [_side(message.get("role")) for message in plain]
    return next((at for at, side in enumerate(sides) if side != sides[0]), len(sides))


def _side(role: object) -> str:
    if role in _SYSTEM:
        return "system"
    return "assistant" if role in _ASSISTANT else "user"


def _turn(history: History, turn: int, until: int) -> Shown:
    return Shown(history.digest_of(turn), until, turn=turn)


def _shown(sent: _Message) -> Shown:
    digest = content_hash(dumps(sent.message))
    form = _form(digest, sent.message)
    return Shown(digest, sent.until, sent.ours, sent.beside, sent.request, form=form)


def _form(digest: bytes, message: Message) -> Form:
    """Return a message's form; messages of ours stand in one window after the other."""
    form = _FORMS.get(digest)
    if form is None:
        form = form_of(message)
        if len(_FORMS) >= FORMS:
            _FORMS.clear()
        _FORMS[digest] = form
    return form
