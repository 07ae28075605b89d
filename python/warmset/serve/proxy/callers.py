"""Who asks, and in which conversation, as far as a request and the store say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from warmset.errors import InvalidInputError, NotFound
from warmset.serve.proxy.listed import SIZE, listed_of
from warmset.serve.proxy.naming import conversation_of
from warmset.serve.proxy.recognition import PREFIX, Recognition, Stored
from warmset.serve.proxy.resent import ResentLists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from warmset.conversation import Conversation
    from warmset.memory import Memory
    from warmset.messages import Dialect, Message
    from warmset.serve.proxy.listed import Listed
    from warmset.serve.proxy.options import ProxyOptions
    from warmset.serve.proxy.resent import ResentList
    from warmset.serve.proxy.surfaces import Surface


class TenantOf(Protocol):
    """What tells whose memory a request uses."""

    def tenant(self, headers: Mapping[str, str], query: str, /) -> str:
        """Return the tenant."""
        ...


_ATTACHED: Final = ("recognition",)
_LISTS: Final = ("lists",)
"""The names by which a store tells recognition and the lists that something was erased."""


@dataclass(frozen=True, slots=True)
class Talk:
    """The conversation of a request.

    Args:
        tenant: Whose it is.
        name: Its name.
        listed: The list that it was recognised by; None where the request names it.
    """

    tenant: str
    name: str
    listed: Listed | None = None


class Callers:
    """Tells who asks, and in which conversation.

    Args:
        tenants: Tells tenants by their keys.
        options: Which fields of a request name the conversation.
    """

    def __init__(self, tenants: TenantOf, options: ProxyOptions) -> None:
        self._tenants = tenants
        self._options = options
        self._recognition = Recognition()
        self._lists = ResentLists()

    def tenant(self, headers: Mapping[str, str], query: str, /) -> str:
        """Return the tenant of a request, by its key.

        Args:
            headers: Its headers by their names in lower case.
            query: What stands behind its path.
        """
        return self._tenants.tenant(headers, query)

    def read(self, memory: Memory, text: str, start: int, /) -> tuple[ResentList, int] | None:
        """Read a list of messages that may begin as an earlier one of the same tenant.

        Args:
            memory: What the tenant has; once something of it is erased, no list is held any more.
            text: A text with the list in it.
            start: Where it begins.

        Returns:
            The list, and where it ends; None if it is no list of objects, or has none.

        Raises:
            ValueError: It is no JSON.
        """
        engine = memory.__warmset_engine__()
        with engine.lock:
            engine.attached[_LISTS] = self._lists
        return self._lists.read(memory.tenant, text, start)

    def conversation(
        self,
        memory: Memory,
        headers: Mapping[str, str],
        body: Mapping[str, Any],
        surface: Surface,
        listed: Callable[[Dialect], Listed],
        /,
    ) -> Talk:
        """Return the conversation: as the request names it, else by its list.

        A list belongs to no conversation that has messages of another dialect: it could not be
        stored there.

        Args:
            memory: What the tenant has.
            headers: As above.
            body: The request.
            surface: What it is.
            listed: Returns what recognition needs of its list.

        Raises:
            HeaderError: The header that names it has a wrong value.
            InvalidInputError: A message is none of the dialect.
            StoreError: The store could not be read.
        """
        engine = memory.__warmset_engine__()  # what others erased is told before anything is found
        with engine.lock:
            engine.attached[_ATTACHED] = self._recognition
        named = conversation_of(headers, body, self._options)
        if named is not None:
            return Talk(memory.tenant, named)
        dialect = surface.dialect
        given = listed(dialect)

        def stored(like: Listed) -> Iterator[Stored]:
            for name in memory.conversations():
                one = memory.conversation(name) if name.startswith(PREFIX) else None
                if one is not None and _takes(one, dialect):
                    found = _read(one, like, dialect)
                    if found is not None:
                        yield Stored(name, found)

        while True:
            found = self._recognition.recognise(memory.tenant, given, stored)
            if found.new or _takes(memory.conversation(found.name), dialect):
                return Talk(memory.tenant, found.name, given)
            self._recognition.drop(memory.tenant, found.name)

    def replied(self, talk: Talk, reply: Sequence[Message], surface: Surface, /) -> None:
        """Note what was answered, so that the same question asked again is another conversation.

        Args:
            talk: The conversation.
            reply: What was answered.
            surface: What the request is.
        """
        if talk.listed is not None:
            said = listed_of(reply, surface.dialect).joined
            self._recognition.replied(talk.tenant, talk.name, talk.listed, said)


def _takes(one: Conversation, dialect: Dialect) -> bool:
    """Return whether a conversation takes messages of a dialect."""
    return one.dialect in (None, dialect)


def _read(one: Conversation, like: Listed, dialect: Dialect) -> Listed | None:
    """Read a conversation, and none but its first messages if it begins otherwise than a list.

    Returns:
        What it is known by; None if it begins otherwise, or was erased meanwhile.
    """
    try:
        first = _opening(one, like.opening, dialect)
        if first != like.joined[: like.opening * SIZE]:
            return None
        found = listed_of(list(one.messages()), dialect)
    except (InvalidInputError, NotFound):
        return None
    return found if found.key == like.key else None


def _opening(one: Conversation, count: int, dialect: Dialect) -> bytes:
    """Return the digests of the first messages of a conversation that say something."""
    ids, read = one.ids, list[Any]()
    while len(read) < len(ids):
        read += one.fetch(ids[len(read) : len(read) + count])
        try:
            found = listed_of(read, dialect)
        except InvalidInputError:  # thinking alone so far
            continue
        if len(found) >= count:
            return found.joined[: count * SIZE]
    return b""
