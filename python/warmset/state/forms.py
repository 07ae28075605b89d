"""The canonical forms of a conversation's stored messages, computed when they are first needed."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from warmset._support.locks import guarded
from warmset.errors import Erased, NotFound
from warmset.messages.canonical import Form, form_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.messages import Message

    Read = Callable[[Sequence[int]], list[Message]]

_AHEAD: Final = 256
"""Messages of the path that are read at once at most."""

_GONE: Final = Form(b"erased")
"""The form of a message that was erased meanwhile: no message is like it."""


@guarded(
    "engine",
    fields=("_of", "_ahead"),
)
class StoredForms:
    """The canonical forms of stored messages; they are kept in memory only."""

    def __init__(self) -> None:
        self._of: dict[int, Form] = {}
        self._ahead = 1

    def get(self, id_: int, path: Sequence[int], read: Read) -> Form:
        """Return the form of a stored message.

        Where one is needed, those after it usually are as well: more and more are read at once.

        Args:
            id_: Its id.
            path: Ids of the messages on the current path.
            read: Reads messages by their ids.
        """
        found = self._of.get(id_)
        if found is not None:
            return found
        at = bisect_left(path, id_)
        near = path[at : at + self._ahead] if at < len(path) and path[at] == id_ else [id_]
        wanted = [one for one in near if one not in self._of]
        try:
            forms = map(form_of, read(wanted))
            self._of.update(zip(wanted, forms, strict=True))
            self._ahead = min(self._ahead * 2, _AHEAD)
        except (Erased, NotFound):
            return _GONE if len(wanted) == 1 else self._alone(id_, read)
        return self._of[id_]

    def _alone(self, id_: int, read: Read) -> Form:
        try:
            (message,) = read([id_])
        except (Erased, NotFound):
            return _GONE
        return self._of.setdefault(id_, form_of(message))
