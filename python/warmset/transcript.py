"""What a conversation keeps: messages go in, and are read back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, overload

from warmset import intake
from warmset.errors import InvalidInputError
from warmset.threads import twin
from warmset.turn import Synced, Turn, read_turn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from warmset.handle import Handle
    from warmset.ledger import Ledger
    from warmset.messages import Dialect


class Transcript:
    """The messages of a conversation; see `Conversation`."""

    def __init__(self, memory: Handle, id_: str) -> None:
        self._memory = memory
        self.id = id_

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r}, {len(self)} messages)"

    def __len__(self) -> int:
        return len(self._ledger.history.path)

    @property
    def _ledger(self) -> Ledger:
        self._memory.look()
        return self._memory.engine.ledger(self._memory.tenant, self.id)

    @property
    def dialect(self) -> Dialect | None:
        """How its messages are written; None while all of them would fit every dialect."""
        return self._ledger.dialect

    @property
    def ids(self) -> list[int]:
        """Ids of the messages on the current path, in order."""
        return list(self._ledger.history.path)

    def append(
        self,
        messages: Iterable[Mapping[str, Any]] | Mapping[str, Any],
        *,
        at: datetime | float | str | None = None,
        speaker: str | None = None,
        session: str | int | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> list[int]:
        """Keep messages at the end of the conversation, exactly as they are; repeats are legal.

        Args:
            messages: One message or several; SDK objects are dumped without their unset fields.
            at: When they were said: a datetime (naive means UTC), seconds since 1970 UTC, or an ISO
                8601 text; now if not given.
            speaker: Who said them, for conversations between people with names.
            session: The session's name; without one, 8 hours of silence begin a new session.
            meta: Your own fields, plain JSON.

        Returns:
            One id a message. When this returns, they are durable and can be found by their words.

        Raises:
            InvalidMessageError: One cannot be stored; none was.
            InvalidInputError: An option has the wrong type, or the dialect is another one.
            StoreError: They could not be kept; none was.
        """
        self._memory.check_open()
        beside = intake.Beside(at, speaker, session, meta)
        return intake.append(self._memory.engine, self._ledger, messages, beside)

    def sync(
        self,
        full_list: Sequence[Mapping[str, Any]],
        *,
        at: datetime | float | str | None = None,
        speaker: str | None = None,
        session: str | int | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Synced:
        """Bring the conversation to a full list, keeping what it has in common with it.

        An edited message or a shortened list opens a branch: what is left behind stays in the store
        and can be fetched, and is never served in a window. A list that comes back to it finds it
        again.

        Args:
            full_list: All messages of the conversation.
            at: When the new ones were said; see `append`.
            speaker: Who said the new ones.
            session: The session of the new ones.
            meta: Your own fields for the new ones.

        Returns:
            How many were known, ids of the new ones, and where it branched.

        Raises:
            InvalidMessageError: A message cannot be stored; nothing changed.
            StoreError: They could not be kept; nothing changed.
        """
        self._memory.check_open()
        beside = intake.Beside(at, speaker, session, meta)
        return intake.sync(self._memory.engine, self._ledger, full_list, beside)

    @overload
    def fetch(self, ids: int) -> Turn: ...
    @overload
    def fetch(self, ids: Iterable[int]) -> list[Turn]: ...
    def fetch(self, ids: int | Iterable[int]) -> Turn | list[Turn]:
        """Read messages back, whatever path they are on.

        Args:
            ids: One id or several.

        Returns:
            One message or several, in the order of the ids.

        Raises:
            NotFound: No message of this conversation has that id.
            StoreError: It could not be read.
        """
        self._memory.check_open()
        if isinstance(ids, Iterable):
            return [self._fetch(id_) for id_ in ids]
        return self._fetch(ids)

    aappend = twin(append)

    def _fetch(self, id_: int) -> Turn:
        return read_turn(self._memory.engine, self._ledger, self.id_of(id_))

    @staticmethod
    def id_of(id_: object) -> int:
        """Return an id as it is.

        Raises:
            InvalidInputError: It is no integer.
        """
        if isinstance(id_, bool) or not isinstance(id_, int):
            raise InvalidInputError(f"ids: expected an id or several, found {id_!r}")
        return id_
