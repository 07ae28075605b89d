"""Events for the logger "warmset": a fixed name and fields, and no content.

An event is a word such as "opened" with fields such as `path`. On a record it stands twice: as
attributes, `record.event` and one for each field, for whoever writes JSON, and as a text,
`opened path='/data/talk' records=12`.

Fields hold counts, ids, names of conversations and tenants, paths, names of classes and fixed words
of warmset. No field holds what somebody said: no text of messages, queries, summaries or memories,
no key, and no text of an exception, because it may quote any of these.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from logging import Logger

logging.getLogger("warmset").addHandler(logging.NullHandler())


def room(name: str) -> Logger:
    """Return the logger of a part of warmset, such as "store" or "window"."""
    return logging.getLogger(f"warmset.{name}")


def event(log: Logger, level: int, name: str, **fields: object) -> None:
    """Log an event; never under a lock, for handlers are the caller's code and may call back.

    What a handler raises is dropped: what the event is about has happened, and nobody's turn is
    lost over a record of it.

    Args:
        log: Where it belongs.
        level: How much it matters.
        name: What happened.
        fields: What is known of it; none may be called as an attribute that every record has.
    """
    if log.isEnabledFor(level):
        text = " ".join([name, *(f"{field}=%({field})r" for field in fields)])
        with suppress(Exception):
            log.log(level, text, fields, extra={"event": name, **fields}, stacklevel=2)


def kind(error: BaseException) -> str:
    """Name the class of an error, and that of its cause; what they say may quote content."""
    name, cause = type(error).__name__, error.__cause__
    return name if cause is None else f"{name} from {type(cause).__name__}"


@contextmanager
def watched(log: Logger) -> Iterator[None]:
    """Log an error that is about to end a thread."""
    try:
        yield
    except BaseException as error:
        worker = threading.current_thread().name
        event(log, logging.ERROR, "failed", what="thread", worker=worker, error=kind(error))
        raise


class Later:
    """Events that were noticed under a lock, until somebody logs them without one."""

    def __init__(self) -> None:
        self._held: deque[tuple[Logger, int, str, dict[str, object]]] = deque()

    def __bool__(self) -> bool:
        return bool(self._held)

    def note(self, log: Logger, level: int, name: str, **fields: object) -> None:
        """Take note of an event, under any lock."""
        if log.isEnabledFor(level):
            self._held.append((log, level, name, fields))

    def tell(self) -> None:
        """Log what was noted; not under a lock."""
        with suppress(IndexError):  # several threads may tell at once
            while True:
                log, level, name, fields = self._held.popleft()
                event(log, level, name, **fields)
