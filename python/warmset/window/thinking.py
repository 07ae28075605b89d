"""The model's thinking in a window: what it was made behind, and a window without the rest.

A reply's thinking stays only where the window shows, before it, exactly what was sent for it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from operator import is_
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from warmset.messages import LANGUAGES, Thinking, loop_start
from warmset.messages.prefix import PrefixHash
from warmset.messages.thinking import THOUGHTS, judge, thinks
from warmset.state.sent_lists import SentList
from warmset.tokens import message_tokens
from warmset.window.listed import bare_places, marked, without_bare
from warmset.window.render import beside_system, render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.engine.engine import Engine
    from warmset.messages import Dialect, Message, System
    from warmset.messages.canonical import Variant
    from warmset.messages.prefix import Prefix
    from warmset.messages.thinking import Judged
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger
    from warmset.window.assemble import Assembled
    from warmset.window.render import Call
    from warmset.window.result import Part

Moved: TypeAlias = "Mapping[bytes, tuple[bytes, bytes]]"
"""By the hash of the messages before a reply, what stands there instead, with and without
thinking."""

_NOT_VERBATIM = ("index", "retrieved", "summary", "dates", "memories", "pinned")


class _Around(NamedTuple):
    """How a window's own messages become those of the call.

    Args:
        front: The messages that are put before them.
        leading: How many of them are passed as the system prompt.
        system: The system prompt beside the messages.
    """

    front: list[Message]
    leading: int
    system: System | None


def sent_list(ledger: Ledger, call: Call, made: Assembled) -> SentList | None:
    """Return a window as what a reply is made behind; None for one in another dialect."""
    if call.source != call.target:
        return None
    around = _around(call, made)
    return SentList(
        dialect=call.target,
        messages=[*around.front, *made.plain[around.leading :]],
        system=around.system,
        tools=call.tools,
        model=call.model,
        until=ledger.history.head,
        request=call.request,
        undetermined=ledger.dialect is None,
    )


def prefixes_of(call: Call, made: Assembled) -> list[Prefix]:
    """Return what stands before each message of a list, and before what would come next.

    Args:
        call: The call that the list is for, in a dialect whose thinking is bound.
        made: The list.
    """
    ours, around = THOUGHTS[call.target], _around(call, made)
    after = PrefixHash(system=around.system, tools=call.tools, model=call.model)
    for message in around.front:
        after.add(ours.pieces(message))
    found = [after.prefix()] * around.leading
    for message in made.plain[around.leading :]:
        found.append(after.prefix())
        after.add(ours.pieces(message))
    return [*found, after.prefix()]


def judge_turns(
    entries: Mapping[int, Entry],
    variants: Mapping[int, Variant],
    dialect: Dialect,
    after: PrefixHash,
    plain: Sequence[Message],
    turns: Sequence[int],
    model: str,
    moved: Moved | None = None,
) -> Judged:
    """Leave out of a list the thinking before which something is not as it was.

    Args:
        entries: The conversation's messages.
        variants: How the caller's last list has messages, by their ids.
        dialect: Their dialect.
        after: The hash of what is sent before the list.
        plain: The messages of the list.
        turns: The id of each; `ROOT` for one that is no turn.
        model: The model that the list is for.
        moved: What stands before a reply behind a compaction, instead of what it was made behind.

    Returns:
        The list; what was removed is numbered by it, and has the ids of the turns.
    """
    bare = bare_places(variants, plain, turns) if variants else set[int]()
    if not thinks(plain, dialect):
        return _with_ids(without_bare(plain, bare), turns)
    read = LANGUAGES[dialect].grammar.facts
    known = [
        entries[turn].facts if turn in entries else read(message)
        for turn, message in zip(turns, plain, strict=True)
    ]

    def witness(at: int, _message: Message) -> Prefix | None:
        entry = entries.get(turns[at])
        behind = None if entry is None else entry.behind
        now = None if behind is None or not moved else moved.get(behind.messages)
        if behind is None or now is None:
            return behind
        return replace(behind, messages=now[0], spoken=now[1])

    judged = judge(plain, dialect, witness, after, model=model, loop=loop_start(known), bare=bare)
    return _with_ids(judged, turns)


def _with_ids(judged: Judged, turns: Sequence[int]) -> Judged:
    removed = tuple(replace(one, id=turns[one.index] or None) for one in judged.thinking.removed)
    return replace(judged, thinking=replace(judged.thinking, removed=removed))


def without_unbound(
    engine: Engine, ledger: Ledger, call: Call, made: Assembled, moved: Moved | None = None
) -> tuple[Assembled, Thinking]:
    """Leave out of a window the thinking before which something is not as it was.

    Messages are as the caller's last list has them: without the thinking that it leaves out, with
    its cache marks, as far as the provider takes that many.

    Args:
        engine: Has the vocabulary to count with.
        ledger: The conversation.
        call: The call that the window is for.
        made: The window.
        moved: See `judge_turns`.

    Returns:
        The window, and what became of the thinking.
    """
    dialect, variants = call.target, ledger.variants
    if call.source != dialect:
        return made, Thinking()
    shown = marked(variants, made.plain, made.turns, dialect, system=call.system, tools=call.tools)
    same = all(map(is_, shown, made.plain))
    if same and not (variants or thinks(shown, dialect)):
        return made, Thinking()
    given, made = made, replace(made, plain=shown)
    around = _around(call, made)
    after = PrefixHash(system=around.system, tools=call.tools, model=call.model)
    for message in around.front:
        after.add(THOUGHTS[dialect].pieces(message))
    plain, turns = made.plain[around.leading :], made.turns[around.leading :]
    judged = judge_turns(ledger.entries, variants, dialect, after, plain, turns, call.model, moved)
    if same and not judged.thinking.changed:
        return given, judged.thinking
    kept = [*made.plain[: around.leading], *judged.messages]
    rest = [(turn, one) for turn, one in zip(made.turns, kept, strict=True) if one is not None]
    now = [one for _, one in rest]
    merged = len(made.messages) < len(made.plain) - around.leading
    done = (
        beside_system(now, call.system)
        if dialect == "anthropic" and not merged
        else render(call, now)
    )

    def tokens(message: Message | None) -> int:
        return 0 if message is None else message_tokens([message], engine.encoding)[0]

    saved = {
        turns[at]: tokens(plain[at]) - tokens(judged.messages[at]) for at in judged.thinking.changed
    }
    made = replace(
        made,
        messages=done.messages,
        system=done.system,
        plain=now,
        turns=[turn for turn, _ in rest],
        parts=tuple(_less(part, saved) for part in made.parts),
        tokens=made.tokens - sum(saved.values()),
    )
    return made, judged.thinking


def _less(part: Part, saved: Mapping[int, int]) -> Part:
    """Return a part of a window without the tokens of thinking that left it."""
    less = 0 if part.name in _NOT_VERBATIM else sum(saved.get(id_, 0) for id_ in part.ids)
    return replace(part, tokens=part.tokens - less) if less else part


def _around(call: Call, made: Assembled) -> _Around:
    plain = list(made.plain)
    if call.target == "anthropic":
        leading = sum(1 for _ in takewhile(lambda one: one.get("role") == "system", plain))
        return _Around([], leading, beside_system(plain, call.system).system)
    if call.system is not None and call.target in ("openai", "responses"):
        return _Around([{"role": "system", "content": call.system}], 0, None)
    return _Around([], 0, call.system)
