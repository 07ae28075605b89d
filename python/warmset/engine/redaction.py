"""The redaction hook of a memory: what every text passes through before it is stored or sent.

It runs before a lock is taken, in a thread of its own for as long as is allowed. A hook that fails
never lets the original through: the call raises, and nothing is stored.
"""

from __future__ import annotations

import inspect
import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from warmset._support.locks import guarded, lock
from warmset._support.log import event, room
from warmset.errors import InvalidInputError, RedactionError
from warmset.llm.deadline import Deadline, OutOfTimeError, TooManyCallsError
from warmset.messages.redact import redacted, redacted_data
from warmset.text.private import has_tag, without_private

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.messages import Message

LOG: Final = room("store")

_T = TypeVar("_T")


@dataclass(slots=True)
class RedactionCounts:
    """What the redaction of one memory changed.

    Args:
        messages: Messages of which a text changed.
        private: Texts with a part in `<private>` tags, those of queries and memories included.
    """

    messages: int = 0
    private: int = 0


@guarded(
    "self._lock",
)
class Redactor:
    """Leaves out private parts, and passes what is left through the caller's function.

    Args:
        hook: The function; None for none.
        timeout: The most seconds that it may take for the texts of one call.
        private: Whether text in `<private>` tags is left out.

    Raises:
        InvalidInputError: The hook is not a function of a text, or the time not a number above 0.
    """

    def __init__(self, hook: Callable[[str], str] | None, *, timeout: float, private: bool) -> None:
        check_hook(hook)
        number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
        if not number or not 0 < timeout < threading.TIMEOUT_MAX:
            raise InvalidInputError(
                f"redact_timeout: expected seconds, above 0, found {timeout!r:.80}"
            )
        self._hook = hook
        self._private = private
        self._deadline = Deadline(timeout)
        self._lock = lock("redaction")
        self.counts = RedactionCounts()

    @property
    def has_hook(self) -> bool:
        """Whether every text passes through a function of the caller's."""
        return self._hook is not None

    def may_change(self, text: str) -> bool:
        """Return whether a text, or a text that is a part of it, may have to be redacted."""
        return self._hook is not None or (self._private and has_tag(text))

    def text(self, text: str) -> str:
        """Return a text as it may be stored or sent.

        Raises:
            RedactionError: The hook failed.
        """
        return self._run(lambda: self._rewrite(text)) if self._is_on else text

    def data(self, value: Any) -> Any:
        """Return a JSON value with every text in it, and every name of a field, redacted.

        Raises:
            RedactionError: The hook failed.
        """
        return self._run(lambda: redacted_data(value, self._rewrite)) if self._is_on else value

    def messages(self, batch: Sequence[Message]) -> list[Message]:
        """Return messages as they may be stored; those without a changed text are the same objects.

        Raises:
            RedactionError: The hook failed.
        """
        listed = list(batch)
        if not self._is_on or not listed:
            return listed
        return self._run(lambda: [redacted(message, self._rewrite) for message in listed])

    def note(self, tenant: str, conversation: str | None, messages: int) -> None:
        """Count and log messages that were stored without all of their text; not under a lock."""
        if messages:
            with self._lock:
                self.counts.messages += messages
            fields = {"tenant": tenant, "conversation": conversation, "messages": messages}
            event(LOG, logging.INFO, "redacted", **fields)

    @property
    def _is_on(self) -> bool:
        return self._private or self._hook is not None

    def _rewrite(self, text: str) -> str:
        if self._private:
            shown = without_private(text)
            if shown is not text:
                with self._lock:
                    self.counts.private += 1
                text = shown
        if self._hook is None:
            return text
        try:
            made: object = self._hook(text)
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # in a thread of its own
            raise RedactionError(
                f"redact: the function raised {type(error).__name__}; nothing was stored or sent"
            ) from error
        if not isinstance(made, str):
            if inspect.iscoroutine(made):
                made.close()
            raise RedactionError(
                f"redact: expected a text, found {type(made).__name__}; nothing was stored or sent"
            )
        return made

    def _run(self, work: Callable[[], _T]) -> _T:
        """Do the work, and give up when the hook takes too long."""
        if self._hook is None:
            return work()
        try:
            made: _T = self._deadline.run(work)
        except TooManyCallsError as error:
            raise RedactionError(
                "redact: eight earlier calls have not ended yet; nothing was stored or sent"
            ) from error
        except OutOfTimeError as error:
            raise RedactionError(
                f"redact: the function took longer than {self._deadline.seconds:g} s; nothing was "
                "stored or sent; give it more time with redact_timeout"
            ) from error
        return made


def check_hook(hook: object) -> None:
    """Refuse what cannot be a redaction hook; None is none.

    Raises:
        InvalidInputError: It is not a plain function.
    """
    if hook is None:
        return
    fits = callable(hook) and not isinstance(hook, type)
    if not fits or any(map(inspect.iscoroutinefunction, (hook, type(hook).__call__))):
        raise InvalidInputError(
            f"redact: expected a function of a text that is not async, found {hook!r:.80}"
        )
