"""Checks of the edits that policies return, so that a mistake in a custom policy is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from warmset.errors import InvalidInputError
from warmset.evict.slots import read
from warmset.evict.view import Fold, Leave, StandInKind, Swap
from warmset.messages import LANGUAGES

if TYPE_CHECKING:
    from warmset.evict.view import Edit, View
    from warmset.messages import Dialect, Facts, Message


def touched_by(edit: Edit, view: View) -> list[int]:
    """Return the positions of the messages that an edit affects.

    Raises:
        InvalidInputError: It is not an edit, or it names a unit or message that does not exist, or
            the same unit twice.
    """
    if isinstance(edit, Swap):
        places, count = [edit.at], len(view.messages)
    elif isinstance(edit, (Leave, Fold)):
        places = [edit.unit] if isinstance(edit, Leave) else list(edit.units)
        count = len(view.units)
    else:
        raise InvalidInputError(f"policy: expected Leave, Swap or Fold, found {edit!r:.120}")
    known = all(type(at) is int and 0 <= at < count for at in places)
    if not known or not places or len(set(places)) < len(places):
        raise InvalidInputError(f"policy: {edit!r:.120} is no edit of this list")
    if isinstance(edit, Swap):
        return places
    if isinstance(edit, Fold) and len(edit.handles) not in (0, len(places)):
        raise InvalidInputError(f"policy: {edit!r:.120} needs one handle for each unit, or none")
    return [at for unit in places for at in view.units[unit].members]


def read_stand_in(message: Message, dialect: Dialect) -> Facts:
    """Check a message that a policy wrote.

    Raises:
        InvalidInputError: It is not a message of the dialect.
    """
    if not isinstance(message, dict):
        raise InvalidInputError(f"policy: a stand-in is no message: found {message!r:.80}")
    fault = LANGUAGES[dialect].grammar.fault(message)
    if fault is not None:
        raise InvalidInputError(f"policy: a stand-in is no message: {fault.why}")
    return read(message, dialect)


def check_swap(edit: Swap, old: Facts, new: Facts) -> None:
    """Raise `InvalidInputError` unless a replacement has the original's calls and results."""
    _check_kind(edit.kind)
    if (new.role, new.calls, new.results) != (old.role, old.calls, old.results):
        raise InvalidInputError(
            f"policy: {edit!r:.120} must have the same role, calls and results as what it replaces"
        )


def check_fold(edit: Fold, new: Facts) -> None:
    """Raise `InvalidInputError` unless a replacement is a plain user or assistant message."""
    _check_kind(edit.kind)
    if new.calls or new.results or new.role not in ("user", "assistant"):
        raise InvalidInputError("policy: a summary must be a plain message of user or assistant")


def _check_kind(kind: object) -> None:
    if kind not in get_args(StandInKind):
        raise InvalidInputError(f"policy: {kind!r} is no kind of stand-in")
