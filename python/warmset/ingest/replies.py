"""What the replies in a batch of messages were made behind; see `warmset.messages.thinking`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError
from warmset.messages import facts, text_message
from warmset.messages.prefix import PrefixHash
from warmset.messages.thinking import THOUGHTS
from warmset.state.branches import ROOT
from warmset.state.sent_lists import SentList
from warmset.store.epochs import request_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.engine.engine import Engine
    from warmset.messages import Dialect, Message
    from warmset.messages.prefix import Prefix
    from warmset.state.ledger import Ledger
    from warmset.store.epochs import Step


def sent_with(window: object) -> SentList | None:
    """Return the list of the window that a caller sent.

    Raises:
        InvalidInputError: It is no window.
    """
    if window is None:
        return None
    found = getattr(window, "sent", None)
    if not isinstance(found, SentList) and not hasattr(window, "messages"):
        raise InvalidInputError(f"window: expected the window that was sent, found {window!r:.80}")
    return found if isinstance(found, SentList) else None


class Replies:
    """Finds what the replies in a batch were made behind; the caller holds the engine's lock.

    That is the list of the window that was sent, or the only list that was made since the last
    reply, or the last list of an epoch, if another process made it. In a conversation that began in
    this process, and for which no list was made, the caller sends its own: then it is what stands
    before each reply. Where neither is known, the thinking of a reply is not bound to anything, and
    leaves the next list.

    Args:
        engine: The store.
        ledger: The conversation.
        head: The message that the batch follows.
        sent: The list of the window that the caller names.
    """

    def __init__(self, engine: Engine, ledger: Ledger, head: int, sent: SentList | None) -> None:
        self._engine = engine
        self._ledger = ledger
        self._head = head
        self._named = sent is not None
        self._sent = ledger.sent_lists.only(head) if sent is None else sent
        self._after: PrefixHash | None = None
        self._step: Step | None = None
        if sent is None and ledger.sent_lists.unknown:  # another process may have made the list
            self._step = engine.epochs_of(ledger.tenant, ledger.name).sent_at(head)

    def behind(self, batch: Sequence[Message], dialect: Dialect) -> list[Prefix | None]:
        """Return what each message was made behind; None for those without thinking.

        Args:
            batch: The messages, in order.
            dialect: Their dialect.
        """
        ours = THOUGHTS.get(dialect)
        found: list[Prefix | None] = [None] * len(batch)
        if ours is None or not any(map(ours.count, batch)):
            return found
        if self._sent is not None:
            self._reply(batch, dialect, self._sent, found)
        elif self._step is not None:
            self._recorded(batch, dialect, self._step, found)
        elif self._is_own:
            self._after = self._path(dialect)
            for at, message in enumerate(batch):
                if ours.count(message):
                    found[at] = self._after.prefix()
                self._after.add(ours.pieces(message))
        return found

    @property
    def _is_own(self) -> bool:
        """Whether the caller sends its own list: nothing of this conversation was made for it.

        That is known only where the conversation began in this process.
        """
        ledger = self._ledger
        begins = self._head == ROOT and not ledger.entries
        return not ledger.sent_lists.ever and (begins or ledger.began_here)

    def stored(self, ids: Sequence[int], roles: Sequence[str]) -> None:
        """Take note that the batch is stored."""
        ledger = self._ledger
        if self._head == ROOT and ids and len(ledger.entries) == len(ids):
            ledger.began_here = True
        if "assistant" in roles:
            ledger.sent_lists.replied()
        if self._after is not None and ids:
            ledger.path_hash = ids[-1], self._after

    def _reply(
        self,
        batch: Sequence[Message],
        dialect: Dialect,
        sent: SentList,
        found: list[Prefix | None],
    ) -> None:
        """Note the first reply of the batch, which was made behind a list."""
        ours = THOUGHTS[dialect]
        request = None if sent.request is None else text_message(dialect, "user", sent.request)
        after: PrefixHash | None = None
        for at, message in enumerate(batch):
            if facts(message, dialect).role == "assistant":
                after = sent.after(dialect) if after is None else after
                if after is None:
                    break
                if ours.count(message):
                    found[at] = after.prefix()
                after.add(ours.pieces(message))
            elif after is not None or not (self._named or message == request):
                break

    def _recorded(
        self, batch: Sequence[Message], dialect: Dialect, step: Step, found: list[Prefix | None]
    ) -> None:
        """Note the first reply of the batch, which was made behind a list of an epoch."""
        if step.dialect != dialect:
            return
        for at, message in enumerate(batch):
            fact = facts(message, dialect)
            if fact.role == "assistant":
                found[at] = step.behind if THOUGHTS[dialect].count(message) else None
                return
            if step.asked is None or request_hash(fact.text) != step.asked:
                return

    def _path(self, dialect: Dialect) -> PrefixHash:
        """Return the hash of the conversation up to the head."""
        known = self._ledger.path_hash
        if known is not None and known[0] == self._head:
            return known[1].copy()
        made, history = PrefixHash(known=False), self._ledger.history
        path = [self._head, *history.ancestors(self._head)][::-1] if self._head else []
        read, _ = self._engine.copies.get(path)
        ours, variants = THOUGHTS[dialect], self._ledger.variants
        # As the caller sent them, for the list is its own: without the thinking that it left out.
        bare = {at for at, id_ in enumerate(path) if id_ in variants and variants[id_].bare}
        written = ours.reader(read)
        for at in range(len(read)):
            if (message := written(at, bare)) is not None:
                made.add(ours.pieces(message))
        return made
