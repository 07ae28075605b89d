"""How a request names its conversation: by a header, or by a field of its body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from warmset.errors import InvalidInputError
from warmset.text.request_names import LONGEST, is_name, name_in

if TYPE_CHECKING:
    from collections.abc import Mapping

HEADER: Final = "x-warmset-conversation"


class HeaderError(InvalidInputError):
    """A header that is for the proxy has a wrong value; the answer is 400."""


class Naming(Protocol):
    """What says which fields name conversations."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of the body, as `metadata.session_id`, in the order in which they count."""
        ...


def conversation_of(
    headers: Mapping[str, str], body: Mapping[str, Any], options: Naming
) -> str | None:
    """Return the name of a request's conversation; None if nothing names it.

    A field that is the same in all conversations of a user, as `user` may be, makes them one.

    Args:
        headers: The headers by their names in lower case.
        body: The body.
        options: Says which fields name conversations. One counts if it is a text of 1 to 512
            characters that is neither blank nor has control characters.

    Raises:
        HeaderError: The header is there, and is no name.
    """
    if HEADER in headers:
        return _checked(_utf8(headers[HEADER]).strip(" \t"))
    return name_in(body, options.fields)


def _checked(name: str) -> str:
    if not is_name(name):
        raise HeaderError(
            f"{HEADER}: expected 1 to {LONGEST} characters without control characters; send the "
            "name of the conversation, or leave the header out"
        )
    return name


def _utf8(value: str) -> str:
    """Return a header as UTF-8, where it is: servers hand on its bytes as Latin-1."""
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value
