"""Messages as complaints show them: ids and names whole, long texts cut."""

from __future__ import annotations

from typing import Any, Final

from warmset.errors import WarmsetError
from warmset.messages import accept

_WHOLE: Final = frozenset(
    {"approval_request_id", "call_id", "id", "name", "role", "tool_call_id", "tool_use_id", "type"}
)
"""Fields whose values are never cut."""

_TEXT_CHARS: Final = 80
_OTHER_CHARS: Final = 400


def shown(message: Any) -> str:
    """Return a message in one line: texts over 80 characters are cut, ids and names are not."""
    try:
        [plain] = accept([message])
    except (WarmsetError, RecursionError):  # an evictor returns anything
        line = repr(message)
        return line if len(line) <= _OTHER_CHARS else f"{line[:_OTHER_CHARS]}…"
    return repr(_cut(plain, ""))


def _cut(value: Any, field: str) -> Any:
    if isinstance(value, dict):
        return {key: _cut(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [_cut(one, field) for one in value]
    if not isinstance(value, str) or field in _WHOLE or len(value) <= _TEXT_CHARS:
        return value
    return f"{value[:_TEXT_CHARS]}…"
