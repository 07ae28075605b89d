"""The role of the message that has index lines: the user's, or one of instructions.

Quoted turns stand in a message of the user, whatever the role of index lines is, and so do the
lines of an Anthropic list that is made anew: no system message may stand before what the user says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError
from warmset.messages.anthropic.models import refuses_system

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.state.ledger import Ledger
    from warmset.store.epochs import InsertionRole
    from warmset.window.render import Call
    from warmset.window.request import Ask

_TAKE = ("anthropic", "openai", "responses")


def check_index_role(call: Call, ask: Ask) -> None:
    """Refuse index lines in a message of instructions where the list cannot have one.

    Args:
        call: The call that the list is for.
        ask: The arguments of the window.

    Raises:
        InvalidInputError: The dialect or the model takes no such message, or the messages are
            converted to another dialect.
    """
    if ask.options.index_role == "user":
        return
    why = None
    if call.target not in _TAKE:
        why = f"a list of {call.target} has no system messages between others"
    elif call.source != call.target:
        why = f"the messages are converted from {call.source} to {call.target}"
    elif call.target == "anthropic" and refuses_system(call.model):
        why = f"{call.model} takes no system message between others"
    if why is not None:
        raise InvalidInputError(f"index_role: {why}; leave the option out, or pass 'user'")


def lines_role(
    engine: Engine, ledger: Ledger, call: Call, ask: Ask, *, front: bool
) -> InsertionRole:
    """Return the role of a message that has index lines; the caller holds the engine's lock.

    In lists of OpenAI it is "developer", or "system" where the list has messages of that role: a
    model may refuse both in one list.

    Args:
        engine: The store, from which messages are read.
        ledger: The conversation.
        call: The call that the list is for.
        ask: The arguments of the window.
        front: Whether the message stands before the first message that is shown.
    """
    if ask.options.index_role == "user":
        return "user"
    if call.target == "anthropic":
        # A request that is no message yet would follow it, and no user may.
        return "user" if front or call.request is not None else "system"
    if call.system is not None:
        return "system"
    said = ledger.first_system()
    if said is not None and engine.message(said.id).get("role") == "system":
        return "system"
    return "developer"
