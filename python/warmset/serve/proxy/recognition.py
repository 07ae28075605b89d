"""Finds the conversation of a list that nothing names, by how it begins and goes on.

A client that keeps its own list sends all of it with each request. Lists are compared by the
digests of their messages:

1. Only conversations of the same tenant with the same opening are looked at. The opening is what
   comes up to the first message of the user.
2. A list without a reply of the model begins a new conversation, unless it goes on from the newest
   one with this opening and that has no reply yet: then it is a request that is sent again.
3. A list with a reply belongs to the conversation with which it has the most messages in common,
   from the first on. More than the opening must be common, or all that is known of it. Among
   equals, one that the list goes on from is taken before one that it leaves, then the newest.
4. Else it is a new conversation.

So two conversations that begin alike are told apart from the first message on in which they differ;
until then, the newest of them is taken. A client that edits or drops its first messages begins a
new conversation with that.

What is known lies in memory, within bounds, and is read from the store again when a list with
replies is not found, or has several of the model's turns that are not known here: after a start, or
because another process on the same store has had the conversation meanwhile. Once anything of the
store is erased, by whichever process, all of it is forgotten.
"""

from __future__ import annotations

import os
import secrets
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from warmset._support.forks import Lock
from warmset._support.locks import guarded
from warmset.serve.proxy.listed import SIZE, TURNS, Listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Load: TypeAlias = Callable[[Listed], Iterable["Stored"]]
    """Reads those conversations of a tenant that begin as a list does, the oldest first."""

PREFIX: Final = "auto-"
"""How the names begin that are made here; 16 hex digits follow."""

TENANTS: Final = 256
CONVERSATIONS: Final = 1_024
MESSAGES: Final = 100_000

_STALE: Final = TURNS
"""So many of the model's turns that are not known here come from somewhere else."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A conversation as the store has it.

    Args:
        name: Its name.
        listed: Its messages.
    """

    name: str
    listed: Listed


@dataclass(frozen=True, slots=True)
class Recognised:
    """The conversation of a list.

    Args:
        name: Its name.
        new: Whether it begins with this list.
        common: How many messages of the list are known of it.
    """

    name: str
    new: bool
    common: int


@dataclass(slots=True)
class _Talk:
    """What is known of a conversation: its messages, and whether the model has replied."""

    key: bytes
    joined: bytes
    replied: bool


class _Tenant:
    """The conversations of a tenant, those first that were not used for longest."""

    def __init__(self) -> None:
        self.talks: OrderedDict[str, _Talk] = OrderedDict()
        self.openings: dict[bytes, dict[str, None]] = {}  # names, the newest last
        self.size = 0

    def find(self, listed: Listed) -> tuple[str, int] | None:
        """Return the conversation of a list, and how many messages they have in common."""
        opening = self.openings.get(listed.key)
        if opening is None:
            return None
        if not listed.replies:
            name = next(reversed(opening))
            talk = self.talks[name]
            same = not talk.replied and listed.joined.startswith(talk.joined)
            return (name, len(talk.joined) // SIZE) if same else None
        best: tuple[int, bool] = (0, False)
        found = None
        for name in opening:
            talk = self.talks[name]
            common = _common(talk.joined, listed.joined)
            rank = (common, common * SIZE == len(talk.joined))
            if rank > (listed.opening, False) and rank >= best:
                best, found = rank, name
        return None if found is None else (found, best[0])

    def note(self, name: str, listed: Listed) -> None:
        """Take up a list as the newest state of a conversation."""
        talk = self.talks.get(name)
        if talk is None:
            self.openings.setdefault(listed.key, {})[name] = None
            talk = self.talks[name] = _Talk(listed.key, b"", replied=False)
        if not talk.joined.startswith(listed.joined):
            self.size += (len(listed.joined) - len(talk.joined)) // SIZE
            talk.joined = listed.joined
        talk.replied |= bool(listed.replies)
        self.talks.move_to_end(name)

    def take(self, key: bytes, stored: Iterable[Stored]) -> None:
        """Take up what the store has, as older than all that is known; what is known is newer."""
        known = dict(self.openings.get(key, {}))
        for one in stored:
            talk = self.talks.get(one.name)
            if talk is None or one.listed.joined.startswith(talk.joined):
                self.note(one.name, one.listed)
        if key in self.openings:
            older = [name for name in self.openings[key] if name not in known]
            self.openings[key] = dict.fromkeys([*older, *known])

    def drop(self, name: str) -> None:
        """Forget a conversation."""
        talk = self.talks.pop(name, None)
        if talk is None:
            return
        self.size -= len(talk.joined) // SIZE
        opening = self.openings[talk.key]
        del opening[name]
        if not opening:
            del self.openings[talk.key]

    def shrink(self, conversations: int, messages: int) -> None:
        """Forget what was not used for longest, but not the last one."""
        while len(self.talks) > 1 and (len(self.talks) > conversations or self.size > messages):
            self.drop(next(iter(self.talks)))


@guarded("self._lock", fields=("_tenants",), calls=("_place",))
class Recognition:
    """Finds conversations; several threads may use it, and the child of a fork begins anew.

    Args:
        tenants: How many tenants are remembered.
        conversations: How many conversations of each.
        messages: How many messages of each tenant's conversations; a single conversation may have
            more. A message takes 16 bytes.
    """

    def __init__(
        self,
        *,
        tenants: int = TENANTS,
        conversations: int = CONVERSATIONS,
        messages: int = MESSAGES,
    ) -> None:
        self._lock = Lock()
        self._most = tenants
        self._bounds = (conversations, messages)
        self._tenants: OrderedDict[str, _Tenant] = OrderedDict()
        self._process = os.getpid()

    def recognise(self, tenant: str, listed: Listed, load: Load | None = None) -> Recognised:
        """Return the conversation of a list, and remember the list as its newest state.

        Args:
            tenant: Whose it is; nobody else's conversations are looked at.
            listed: The list.
            load: Reads from the store what is not remembered; it is called without a lock, at most
                once, and what it raises is raised here.
        """
        if load is not None and listed.replies and self._lacks(tenant, listed):
            stored = [one for one in load(listed) if one.listed.key == listed.key]
            with self._lock:
                self._place(tenant).take(listed.key, stored)
        with self._lock:
            place = self._place(tenant)
            found = place.find(listed)
            name, common = found or (f"{PREFIX}{secrets.token_hex(8)}", 0)
            place.note(name, listed)
            place.shrink(*self._bounds)
        return Recognised(name, found is None, common)

    def replied(self, tenant: str, name: str, listed: Listed, reply: bytes = b"") -> None:
        """Remember that the model has replied to a list.

        Args:
            tenant: Whose conversation it is.
            name: Its name.
            listed: The list that the reply answers.
            reply: The digests of the reply's messages, one after the other, if they are known; with
                them, conversations that were alike so far are told apart by their replies.
        """
        replies = (*listed.replies, len(listed))[-TURNS:] if reply else listed.replies
        after = Listed(listed.joined + reply, listed.opening, replies)
        with self._lock:
            place = self._place(tenant)
            talk = place.talks.get(name)
            if talk is None:
                return
            talk.replied = True
            if listed.joined.startswith(talk.joined):
                place.note(name, after)
                place.shrink(*self._bounds)

    def drop(self, tenant: str, name: str) -> None:
        """Forget one conversation; it is read from the store again where a list is not found."""
        with self._lock:
            self._place(tenant).drop(name)

    def forget(self) -> None:
        """Forget everything, because something was erased: whose digests go is not told.

        What is still there is read from the store again.
        """
        with self._lock:
            self._tenants = OrderedDict()

    def close(self, _timeout: float, /) -> None:
        """Forget everything, because the store is closed."""
        self.forget()

    def _lacks(self, tenant: str, listed: Listed) -> bool:
        """Return whether the store may know better which conversation a list with replies is of."""
        with self._lock:
            found = self._place(tenant).find(listed)
        return found is None or sum(at >= found[1] for at in listed.replies) >= _STALE

    def _place(self, tenant: str) -> _Tenant:
        if self._process != os.getpid():  # a thread of the parent may have been at work
            self._process = os.getpid()
            self._tenants = OrderedDict()
        place = self._tenants.setdefault(tenant, _Tenant())
        self._tenants.move_to_end(tenant)
        while len(self._tenants) > self._most:
            self._tenants.popitem(last=False)
        return place


def _common(one: bytes, other: bytes) -> int:
    """Return how many digests two lists have in common from the first on."""
    least, most = 0, min(len(one), len(other)) // SIZE
    if one[: most * SIZE] == other[: most * SIZE]:
        return most
    while most - least > 1:
        middle = (least + most) // 2
        if one[least * SIZE : middle * SIZE] == other[least * SIZE : middle * SIZE]:
            least = middle
        else:
            most = middle
    return least
