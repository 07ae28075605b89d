"""How the fields of a request name its conversation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST: Final = 512
"""The most characters of a name."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def is_name(text: str) -> bool:
    """Tell whether a text can name a conversation.

    It has 1 to 512 characters, is not blank, and has neither control characters nor surrogates.
    """
    return bool(text.strip()) and len(text) <= LONGEST and not _CONTROL.search(text)


def name_in(request: Mapping[str, Any], fields: Iterable[str]) -> str | None:
    """Return the name that the first of some fields has; None if none has one.

    Args:
        request: The request.
        fields: Fields, as `metadata.session_id`, in the order in which they count.
    """
    for path in fields:
        value: Any = request
        for part in path.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, str) and is_name(value):
            return value
    return None
