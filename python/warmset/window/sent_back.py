"""Notes what a window holds, so that a list that begins with it is recognised.

See `warmset.state.rendered`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from warmset._core import content_hash
from warmset.messages import dumps
from warmset.messages.canonical import Form, form_of
from warmset.state.branches import ROOT
from warmset.state.rendered import Rendered, Shown

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
        ledger.windows.add(rendered(ledger.history, made, call))


def note_cut(ledger: Ledger, cut: CutResult) -> None:
    """Hold a cut's messages, if something was left out.

    The caller holds the engine's lock. What the messages are is found when it is needed.
    """
    ledger.sent_lists.note(cut.sent)
    if len(cut) != len(ledger.history.path):
        history, head, bare = ledger.history, ledger.history.head, replace(cut)

        def made() -> Rendered:
            turns, own = bare.turns, iter(bare.own)
            return Rendered(
                _turn(history, turn, last) if turn else _shown(next(own), last, ours=True)
                for turn, last in zip(turns, _until(history, turns, head), strict=True)
            )

        ledger.windows.add(made)


def rendered(history: History, made: Assembled, call: Call) -> Rendered:
    """Return how the messages of a window are recognised, and what they stand for."""
    turns = made.turns
    until = _until(history, turns, history.head)
    spans = _spans(made, call)
    if spans is None:
        *front, last = made.messages
        newest = _shown(last, history.head, request=call.request)
        return Rendered([*(_shown(message, None) for message in front), newest])
    asked = len(turns) if call.request is None else len(turns) - 1
    shown: list[Shown] = []
    for message, (start, end) in zip(made.messages, spans, strict=True):
        if start == end:
            shown.append(_shown(message, ROOT, ours=True, beside=True))
            continue
        stored = turns[start] if message is made.plain[start] else ROOT
        if stored:
            shown.append(_turn(history, stored, until[end - 1]))
            continue
        request = call.request if end > asked else None
        ours = request is None and not any(turns[start:end])
        shown.append(_shown(message, until[end - 1], ours=ours, request=request))
    return Rendered(shown)


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


def _shown(
    message: Message,
    until: int | None,
    *,
    ours: bool = False,
    beside: bool = False,
    request: str | None = None,
) -> Shown:
    digest = content_hash(dumps(message))
    return Shown(digest, until, ours, beside, request, form=_form(digest, message))


def _form(digest: bytes, message: Message) -> Form:
    """Return a message's form; messages of ours stand in one window after the other."""
    form = _FORMS.get(digest)
    if form is None:
        form = form_of(message)
        if len(_FORMS) >= FORMS:
            _FORMS.clear()
        _FORMS[digest] = form
    return form
