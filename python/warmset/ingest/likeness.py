"""Compares the messages of a caller's list with a conversation's, by their canonical forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.messages.canonical import variant_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.messages.canonical import Form, Variant
    from warmset.state.forms import Read
    from warmset.state.ledger import Ledger


class ListLikeness:
    """Compares the messages of one list; the caller holds the engine's lock.

    Args:
        ledger: The conversation.
        read: Reads stored messages by their ids.
        given: Returns the forms of the list's message at a position: as it may be stored, and as
            it was before it was redacted.
    """

    def __init__(self, ledger: Ledger, read: Read, given: Callable[[int], Sequence[Form]]) -> None:
        self._ledger = ledger
        self._read = read
        self._given = given

    def variant(self, at: int, id_: int) -> Variant | None:
        """Return how the list has a stored message at a position; None if that is another one."""
        return self.like(at, self.stored(id_))

    def like(self, at: int, form: Form) -> Variant | None:
        """Return how the list has a message of that form; None if it has another one there."""
        found = (variant_of(one, form) for one in self._given(at))
        return next((one for one in found if one is not None), None)

    def is_alone(self, id_: int) -> bool:
        """Return whether a stored message has thinking and nothing else."""
        return self.stored(id_).alone

    def is_thinking(self, at: int) -> bool:
        """Return whether the list's message at a position has thinking and nothing else."""
        return self._given(at)[0].alone

    def stored(self, id_: int) -> Form:
        """Return the form of a stored message."""
        return self._ledger.forms.get(id_, self._ledger.history.path, self._read)
