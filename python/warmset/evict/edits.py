"""What a policy may ask for, checked: everybody can write one, and a mistake should name itself."""

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
    """Return the positions of the messages that an edit is about.

    Raises:
        InvalidInputError: It is no edit, or names what is not there, or the same unit twice.
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
    return [at for unit in places for at in view.units[unit].members]


def read_stand_in(message: Message, dialect: Dialect) -> Facts:
    """Read what a policy wrote.

    Raises:
        InvalidInputError: It is no message of the dialect.
    """
    if not isinstance(message, dict):
        raise InvalidInputError(f"policy: a stand-in is no message: found {message!r:.80}")
    fault = LANGUAGES[dialect].grammar.fault(message)
    if fault is not None:
        raise InvalidInputError(f"policy: a stand-in is no message: {fault.why}")
    return read(message, dialect)


def check_swap(edit: Swap, old: Facts, new: Facts) -> None:
    """Raise `InvalidInputError` unless a stand-in has the links of what it stands for."""
    if edit.kind not in get_args(StandInKind):
        raise InvalidInputError(f"policy: {edit.kind!r} is no kind of stand-in")
    if (new.role, new.calls, new.results) != (old.role, old.calls, old.results):
        raise InvalidInputError(
            f"policy: {edit!r:.120} must have the same role, calls and results as what it replaces"
        )


def check_fold(new: Facts) -> None:
    """Raise `InvalidInputError` unless a summary is a plain message of user or assistant."""
    if new.calls or new.results or new.role not in ("user", "assistant"):
        raise InvalidInputError("policy: a summary must be a plain message of user or assistant")
