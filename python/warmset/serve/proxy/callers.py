"""Who asks, and in which conversation, as far as a request and the store say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from warmset.serve.proxy.listed import listed_of
from warmset.serve.proxy.naming import conversation_of
from warmset.serve.proxy.recognition import PREFIX, Recognition, Stored

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from warmset.memory import Memory
    from warmset.messages import Message
    from warmset.serve.proxy.listed import Listed
    from warmset.serve.proxy.options import ProxyOptions
    from warmset.serve.proxy.surfaces import Surface


class TenantOf(Protocol):
    """What tells whose memory a request uses."""

    def tenant(self, headers: Mapping[str, str], query: str, /) -> str:
        """Return the tenant."""
        ...


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

    def tenant(self, headers: Mapping[str, str], query: str, /) -> str:
        """Return the tenant of a request, by its key.

        Args:
            headers: Its headers by their names in lower case.
            query: What stands behind its path.
        """
        return self._tenants.tenant(headers, query)

    def conversation(
        self,
        memory: Memory,
        headers: Mapping[str, str],
        body: Mapping[str, Any],
        surface: Surface,
        /,
    ) -> Talk:
        """Return the conversation: as the request names it, else by its list.

        Args:
            memory: What the tenant has.
            headers: As above.
            body: The request.
            surface: What it is.

        Raises:
            HeaderError: The header that names it has a wrong value.
            InvalidInputError: A message is none of the dialect.
            StoreError: The store could not be read.
        """
        named = conversation_of(headers, body, self._options)
        if named is not None:
            return Talk(memory.tenant, named)
        dialect = surface.dialect
        listed = listed_of(body[surface.messages], dialect)

        def stored(like: Listed) -> Iterator[Stored]:
            for name in memory.conversations():
                one = memory.conversation(name)
                if name.startswith(PREFIX) and one.dialect == dialect and len(one):
                    found = listed_of(list(one.messages()), dialect)
                    if found.key == like.key:
                        yield Stored(name, found)

        found = self._recognition.recognise(memory.tenant, listed, stored)
        return Talk(memory.tenant, found.name, listed)

    def replied(self, talk: Talk, reply: Sequence[Message], surface: Surface, /) -> None:
        """Note what was answered, so that the same question asked again is another conversation.

        Args:
            talk: The conversation.
            reply: What was answered.
            surface: What the request is.
        """
        if talk.listed is not None:
            said = listed_of(reply, surface.dialect).digests
            self._recognition.replied(talk.tenant, talk.name, talk.listed, said)
