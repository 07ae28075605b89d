"""`repair`: fixes a list that a provider would reject."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from warmset.errors import InvalidInputError
from warmset.messages.bound import BoundThinking
from warmset.messages.codec import accept
from warmset.messages.dialects import resolve
from warmset.messages.languages import LANGUAGES
from warmset.messages.mending import CONTINUED, Change, Unanswered
from warmset.messages.model import Request, Severity
from warmset.messages.sent import Beside
from warmset.messages.thinking import Thinking, rule_of
from warmset.messages.validate import violations

if TYPE_CHECKING:
    from warmset.messages.model import Dialect, Message
    from warmset.messages.sdk_objects import MessageLike
    from warmset.messages.turns import System


_PASSES = 3
"""How often a mended list is looked at again."""


@dataclass(frozen=True, slots=True)
class RepairResult:
    """A repaired list.

    Args:
        messages: The messages to send; those that needed no change are the caller's own objects.
        changes: What was changed, in the order of the list; empty for a valid list.
        thinking: What became of the model's thinking, if anything was changed before it.
    """

    messages: list[Any]
    changes: list[Change]
    thinking: Thinking = field(default_factory=Thinking)


def repair(
    messages: Iterable[MessageLike],
    *,
    dialect: str | None = None,
    unanswered: Unanswered = "stub",
    mend: Severity = "refused",
    continues: bool = False,
    model: str | None = "",
    sent: object = None,
    system: System | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
) -> RepairResult:
    """Repair a list that a provider would refuse, so that the provider takes it.

    A list that the provider takes is returned as it is, unless `mend` says otherwise: every change
    costs the provider's prompt cache, and newer models their reasoning behind it.

    As far as they apply to the dialect: results without a call are removed, misplaced results move
    after their call, second results of a call are removed, unanswered calls get a placeholder
    result, empty messages are removed, duplicate ids are made unique. Equal lists give equal
    results; a repaired list needs no further change; messages before the first change stay the
    same. Thinking and reasoning leave where something before them changed, for models that look.

    Args:
        messages: Messages as callers have them.
        dialect: The dialect of the messages; detected if not given.
        unanswered: How to treat calls without a result: "stub" adds a placeholder result, "drop"
            removes the calls.
        mend: The least severity of a violation for which the list is repaired: "refused" leaves a
            list as it is that only has violations of severity "discouraged". A result that may
            answer a stored call stays in both, and so does a step without a signature.
        continues: As in `validate`.
        model: As in `validate`.
        sent: As in `validate`; without it, the list itself is taken for what was sent.
        system: As in `validate`.
        tools: As in `validate`.

    Returns:
        The messages, and what was changed.

    Raises:
        InvalidMessageError: A message is malformed and cannot be read.
        InvalidInputError: `unanswered` or `mend` is neither of the two, or `sent` cannot be read.
        UnknownDialectError: The dialect is not supported.
    """
    if unanswered not in get_args(Unanswered):
        raise InvalidInputError(f"unanswered: expected 'stub' or 'drop', found {unanswered!r}")
    if mend not in get_args(Severity):
        raise InvalidInputError(f"mend: expected 'refused' or 'discouraged', found {mend!r}")
    listed = isinstance(messages, Iterable) and not isinstance(messages, (str, bytes, Mapping))
    given = list(messages) if listed else []
    plain = accept(given if listed else messages)
    chosen = resolve(plain, dialect)
    beside = Beside.of(system, tools, model)
    request = Request(continues, beside.model)
    mended, changes = plain, list[Change]()
    if any(mend in (one.severity, "discouraged") for one in violations(plain, chosen, request)):
        mended, changes = _mended(plain, chosen, unanswered, request)
    elif sent is None:
        return RepairResult(given, [])
    taken, thinking = _bound(plain, mended, chosen, beside, sent, changes)
    own = {id(one): theirs for one, theirs in zip(plain, given, strict=True)}
    return RepairResult([own.get(id(message), message) for message in taken], changes, thinking)


def _mended(
    plain: list[Message], dialect: Dialect, unanswered: Unanswered, request: Request
) -> tuple[list[Message], list[Change]]:
    """Mend a list until nothing in it is refused; the changes of each pass follow each other."""
    mended, changes = LANGUAGES[dialect].mend(plain, unanswered, request)
    for _ in range(_PASSES):  # what one change leaves behind may need another
        if all(one.severity != "refused" for one in violations(mended, dialect, request)):
            break
        mended, more = LANGUAGES[dialect].mend(mended, unanswered, request)
        last = len(plain) - 1
        changes += [Change(one.rule, min(one.index, last), one.what) for one in more]
    if plain and not mended:
        said = LANGUAGES[dialect].grammar.facts(plain[-1]).text.strip() or CONTINUED
        mended = [LANGUAGES[dialect].grammar.say("user", said)]
        what = "nothing was left of the list, so what the last message said became the user's"
        changes = [*changes, Change(changes[-1].rule, len(plain) - 1, what)]
    return mended, changes


def _bound(
    plain: list[Message],
    mended: list[Message],
    dialect: Dialect,
    beside: Beside,
    sent: object,
    changes: list[Change],
) -> tuple[list[Message], Thinking]:
    """Leave out the thinking before which something changed, and write down where."""
    judged = BoundThinking(plain, dialect, beside, sent).judge(mended)
    for one in judged.thinking.removed:
        rule = rule_of(dialect, one.why)
        changes.append(Change(rule, one.index, f"the thinking left: {one.why}"))
    left = {one.index for one in judged.thinking.removed}
    nameless = "the id left: its reasoning is not in the list"
    changes.extend(Change("R3", at, nameless) for at in judged.thinking.changed if at not in left)
    changes.sort(key=lambda one: one.index)
    return [one for one in judged.messages if one is not None], judged.thinking
