"""What the provider keeps of a conversation: requests that bring only what is new.

A request names the last response, or the conversation as the provider has it, and goes upstream as
it came. What it brings is stored with its reply, in one batch, behind what it goes on from: two
that go on from the same response are two branches. Of a response that is made in the background,
what was asked is stored at once, and the reply when somebody fetches it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from warmset._support.forks import Lock
from warmset.errors import NotFound
from warmset.messages.interactions.kinds import BLOCKS, USER
from warmset.messages.text import kind_of
from warmset.serve.proxy import response_ids
from warmset.serve.proxy.response_ids import Place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.memory import Memory
    from warmset.messages import Message
    from warmset.serve.proxy.surfaces import Surface
    from warmset.serve.replies import Reply

WAITING: Final = ("queued", "in_progress")
"""The statuses of a response whose reply is still to come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Onward:
    """Where a request that goes as it came, and its reply, are appended.

    Args:
        tenant: Whose conversation it is.
        conversation: Its name.
        after: The message that they follow; None for the last one.
        given: What the request brings.
        began: Whether the conversation had messages when the request came.
        awaited: The id of the response whose reply is fetched; None for one that is made.
    """

    tenant: str
    conversation: str
    after: int | None = None
    given: Sequence[Message] = ()
    began: bool = True
    awaited: str | None = None


def list_of(surface: Surface, given: object) -> list[Any] | None:
    """Return the input of a request as messages; None if it is none.

    A text, or blocks of content outside of a step, are what the user says.

    Args:
        surface: What the request is.
        given: The value of its field.
    """
    if isinstance(given, str) and given.strip():
        if surface.name == "responses":
            return [{"role": "user", "content": given}]
        if surface.name == "interactions":
            return [{"type": USER, "content": [{"type": "text", "text": given}]}]
    if surface.name == "interactions":
        blocks = [given] if isinstance(given, dict) else given
        if isinstance(blocks, list) and blocks and all(kind_of(one) in BLOCKS for one in blocks):
            return [{"type": USER, "content": blocks}]
    return given if isinstance(given, list) and given else None


def is_continued(surface: Surface, body: Mapping[str, Any]) -> bool:
    """Return whether the provider has what stands before the list of a request.

    Args:
        surface: What it is.
        body: The request.
    """
    if surface.name == "responses" and body.get("conversation"):
        return True
    return surface.previous is not None and bool(body.get(surface.previous))


def is_kept(surface: Surface, body: Mapping[str, Any]) -> bool:
    """Return whether the provider keeps the response, so that a later request may name it.

    Args:
        surface: What the request is.
        body: The request.
    """
    return surface.previous is not None and body.get("store") is not False


class Provided:
    """Stores what comes with requests that the provider has the beginning of."""

    def __init__(self) -> None:
        self._fetching = Lock()

    def onward(
        self,
        memory: Memory,
        surface: Surface,
        body: Mapping[str, Any],
        given: Sequence[Message],
        named: str | None,
    ) -> Onward | None:
        """Return where a request goes on; None if that is not known here.

        Args:
            memory: What the tenant has.
            surface: What the request is.
            body: The request.
            given: What it brings.
            named: The name that it gives its conversation.

        Raises:
            StoreError: The store could not be read.
        """
        previous = body.get(surface.previous or "")
        if isinstance(previous, str) and previous:
            place = response_ids.find(memory, previous)
            if place is None or place.waits:
                return None
            return Onward(
                tenant=memory.tenant,
                conversation=place.conversation,
                after=place.last,
                given=given,
            )
        whole = body.get("conversation")
        id_ = whole.get("id") if isinstance(whole, dict) else whole
        if previous or not isinstance(id_, str) or not id_:
            return None
        name = named or response_ids.name_of(memory.tenant, id_)
        began = len(memory.conversation(name)) > 0
        return Onward(tenant=memory.tenant, conversation=name, given=given, began=began)

    def fetched(self, memory: Memory, id_: str) -> Onward | None:
        """Return where the reply belongs that a client fetches; None if it is not waited for.

        Args:
            memory: What the tenant has.
            id_: The id of the response.

        Raises:
            StoreError: The store could not be read.
        """
        place = response_ids.find(memory, id_)
        if place is None or not place.waits:
            return None
        return Onward(
            tenant=memory.tenant,
            conversation=place.conversation,
            after=place.last,
            awaited=id_,
        )

    def append(self, memory: Memory, onward: Onward, reply: Reply, *, kept: bool) -> Place | None:
        """Store what a request brought, with its reply as far as that is there.

        Args:
            memory: What the tenant has.
            onward: Where they belong.
            reply: What was answered.
            kept: Whether the provider keeps the response.

        Returns:
            Where the response stands; None if nothing was stored.

        Raises:
            NotFound: The conversation, or what they follow, was erased meanwhile.
            WarmsetError: They could not be stored.
        """
        if onward.awaited is None:
            return self._append(memory, onward, reply, kept=kept)
        with self._fetching:  # several may fetch one reply at once
            if self.fetched(memory, onward.awaited) != onward:
                return None
            return self._append(memory, onward, reply, kept=True)

    def _append(self, memory: Memory, onward: Onward, reply: Reply, *, kept: bool) -> Place | None:
        waits = not reply.is_complete
        batch = [*onward.given, *(() if waits else reply.messages)]
        if not batch:
            return None
        conversation = memory.conversation(onward.conversation)
        if onward.after is None and onward.began and not len(conversation):
            raise NotFound("the conversation was erased")
        last = conversation.append(batch, after=onward.after)[-1]
        place = Place(onward.conversation, last, waits=waits)
        if kept and reply.id is not None:
            response_ids.note(memory, reply.id, place)
        return place
