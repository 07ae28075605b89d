"""The server-sent events of a stream that arrives in pieces of any size.

The events are read by httpx2. It reads whole streams, so it is given stretches of one: each ends
behind a blank line, where no event is open. Where such an end is not found, the stretch grows.
"""

from __future__ import annotations

from typing import Final

from warmset._extras import extra

with extra("serve"):
    from httpx2 import EventSource, Request, Response

_AT_ONCE: Final = 1 << 16
"""The bytes that make it worth to read a stretch."""

_BLANK: Final = (b"\n\n", b"\n\r\n", b"\r\r")
_HEADERS: Final = {"content-type": "text/event-stream; charset=utf-8"}
_REQUEST: Final = Request("GET", "http://localhost/")


class Events:
    """Gives the data of the events of one stream."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._due = _AT_ONCE

    def feed(self, data: bytes) -> list[str]:
        """Take the next bytes.

        Returns:
            The data of events that they ended; a few may be kept back for `rest`.

        Raises:
            UnicodeDecodeError: The bytes are not UTF-8.
        """
        self._pending += data
        return self.rest() if len(self._pending) >= self._due else []

    def rest(self) -> list[str]:
        """Return the data of all events that have ended and were not returned yet.

        Raises:
            UnicodeDecodeError: The bytes are not UTF-8.
        """
        end = max(at + len(one) if (at := self._pending.rfind(one)) >= 0 else 0 for one in _BLANK)
        stretch = bytes(self._pending[:end])
        del self._pending[:end]
        # Each search looks at all that is pending: at twice the size, so that it stays linear.
        self._due = max(_AT_ONCE, 2 * len(self._pending))
        if not stretch:
            return []
        stretch.decode()  # httpx2 would replace what is not UTF-8
        response = Response(200, headers=_HEADERS, content=stretch, request=_REQUEST)
        # No event is larger than what is read at most; see `Assembler`.
        events = EventSource(response, max_event_size=None)
        return [event.data for event in events if event.data]
