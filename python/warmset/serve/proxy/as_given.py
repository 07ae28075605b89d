"""How a client of Google's writes what it sends back: in other bytes, or in pieces.

Google's Python client writes bytes in the alphabet of base64 that is safe in URLs, whichever the
API has sent. Its chat classes, and those of other languages, keep a reply that was streamed as one
content for each piece; who joins the pieces sends one.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from warmset.messages.canonical import form_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.messages import Message
    from warmset.serve.proxy.surfaces import Surface

_CHAT: Final = re.compile(r"google-genai-sdk/\S*\+chat\b")
"""How the chat classes of Google's Python client name themselves."""


def in_pieces(surface: Surface, headers: Mapping[str, str], given: Sequence[Message]) -> bool:
    """Return whether a client sends the pieces of a streamed reply back, each as a content.

    Args:
        surface: What the request is.
        headers: Its headers by their names in lower case.
        given: Its list: one with neighbouring contents of the model is of such a client.
    """
    if not surface.streams:
        return False
    if _CHAT.search(headers.get("x-goog-api-client", "")):
        return True
    replies = [one.get("role") == "model" for one in given]
    return any(one and other for one, other in pairwise(replies))


def as_given(
    surface: Surface, messages: Sequence[Message], given: Sequence[Message]
) -> list[Message]:
    """Return a list in which messages that a client has in other bytes have the client's.

    Args:
        surface: What the request is.
        messages: The list as it was made, of stored messages.
        given: The client's list.
    """
    made: list[Any] = list(messages)
    if surface.provider != "gemini" or made == given:
        return made
    forms = {form_of(one): one for one in given}
    return [one if one in given else forms.get(form_of(one)) or one for one in made]
