"""A full list as the caller gave it, read and redacted before any lock is taken."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from warmset import messages
from warmset._core import content_hash
from warmset.ingest.plain import PLAIN
from warmset.messages.canonical import form_of

if TYPE_CHECKING:
    from warmset._core import ListCopy, ListDraft
    from warmset.engine.redaction import Redactor
    from warmset.messages import Message
    from warmset.messages.canonical import Form
    from warmset.state.ledger import Ledger


@dataclass(slots=True)
class GivenList:
    """The messages of a list, as they may be stored.

    Args:
        full: All messages, as the caller has them.
        draft: Copies of those that are not as in the last list, for `ListCopy.take`.
        digests: The content hash of each, as it may be stored.
        redactor: What every text passes through.
    """

    full: list[Any]
    draft: ListDraft
    digests: list[bytes]
    redactor: Redactor
    _plain: dict[int, Message]
    _original: dict[int, Message] = field(default_factory=dict[int, "Message"])
    _forms: dict[int, tuple[Form, ...]] = field(default_factory=dict[int, "tuple[Form, ...]"])

    @classmethod
    def read(
        cls, full: list[Any], last: ListCopy, redactor: Redactor, *, fixed: bool = False
    ) -> GivenList:
        """Read the messages that are not as in the last list.

        Args:
            full: All messages.
            last: The last list.
            redactor: What every text passes through.
            fixed: Whether nobody changes the messages; see `FixedList`.

        Raises:
            InvalidInputError: A message is not JSON; its position is that among those
                that are read.
            RedactionError: The redaction hook failed.
        """
        hasher = None if redactor.has_hook else PLAIN
        known, fresh, draft = last.known(full, fixed=fixed, hasher=hasher)
        taken = messages.accept([full[at] for at in fresh])
        original = [messages.without_client_only(one) for one in taken]
        plain = redactor.messages(original)
        made = dict(zip(fresh, plain, strict=True))
        for at, one in made.items():
            known[at] = content_hash(messages.dumps(one))
        digests = cast("list[bytes]", known)
        changed = {at: one for at, one in zip(fresh, original, strict=True) if made[at] is not one}
        return cls(full, draft, digests, redactor, made, changed)

    def message(self, at: int) -> Message:
        """Return a message as it may be stored.

        Raises:
            RedactionError: The redaction hook failed.
        """
        if at not in self._plain:
            plain = messages.without_client_only(messages.accept([self.full[at]])[0])
            self._plain[at] = self.redactor.messages([plain])[0]
        return self._plain[at]

    def original(self, at: int) -> Message:
        """Return a message as it was before it was redacted."""
        return self._original.get(at) or self.message(at)

    def forms(self, at: int) -> tuple[Form, ...]:
        """Return the canonical forms of a message: as it may be stored, and as it was before.

        A hook may change its own results again, so a message that was redacted long ago is the one
        that is stored if it was like it before.

        Raises:
            RedactionError: The redaction hook failed.
        """
        found = self._forms.get(at)
        if found is None:
            both = [self.message(at), *([self._original[at]] if at in self._original else [])]
            found = self._forms[at] = tuple(map(form_of, both))
        return found

    def is_redacted(self, at: int) -> bool:
        """Return whether a message was read now and changed by that."""
        return at in self._original

    def leave_stored(self, ledger: Ledger) -> None:
        """Take messages as they are that the conversation or one of its windows has like that.

        They were redacted before they came there, and a hook may change its own results again. The
        caller holds the engine's lock.
        """
        if not self._original:
            return
        found = {at: content_hash(messages.dumps(one)) for at, one in self._original.items()}
        there = ledger.windows.digests() | ledger.history.among(set(found.values())).keys()
        for at, digest in found.items():
            if digest in there:
                self.digests[at] = digest
                self._plain[at] = self._original.pop(at)
