"""The body of a request, and the list in it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from warmset.serve.proxy.fields import Fields
from warmset.serve.proxy.listed import listed_of
from warmset.serve.proxy.provided import list_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.messages import Dialect
    from warmset.serve.proxy.listed import Listed
    from warmset.serve.proxy.resent import ResentList
    from warmset.serve.proxy.surfaces import Surface


class AskedBody:
    """The body of a request.

    Args:
        body: It.
        surface: What the request is.
        read: Reads a list of messages from a text and from where it begins; None where it is none.

    Attributes:
        fields: Its fields.
        given: Its messages; None if it has none. They must not be changed.

    Raises:
        InvalidInputError: It is no JSON object, or has a field twice.
    """

    def __init__(
        self,
        body: bytes,
        surface: Surface,
        read: Callable[[str, int], tuple[ResentList, int] | None],
    ) -> None:
        self._list: ResentList | None = None
        self.fields = Fields(body, partial(self._field, surface.messages, read))
        self.given = list_of(surface, self.fields.values.get(surface.messages))

    def listed(self, dialect: Dialect) -> Listed:
        """Return what recognition needs of the messages.

        Raises:
            InvalidInputError: There are none, or one is not of the dialect.
        """
        if self._list is not None and self._list.messages is self.given:
            return self._list.listed(dialect)
        return listed_of(self.given or (), dialect)

    def _field(
        self,
        wanted: str,
        read: Callable[[str, int], tuple[ResentList, int] | None],
        name: str,
        text: str,
        start: int,
    ) -> tuple[Any, int] | None:
        found = read(text, start) if name == wanted else None
        if found is None:
            return None
        self._list, end = found
        return self._list.messages, end
