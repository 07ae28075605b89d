"""What is known of one session of an agent, in a small file that its hooks share."""

from __future__ import annotations

import binascii
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from warmset.serve.hooks import files

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES: Final = 400_000
MOST_SHOWN: Final = 4_000
"""How many memories a session remembers to have shown; the oldest are forgotten first."""

_WAIT: Final = 0.5
_PLAIN: Final = 80


@contextmanager
def session(folder: str, host: str, name: str) -> Iterator[dict[str, Any]]:
    """Lend the state of a session; what was changed is written at the end.

    While it is lent, no other process has it. After an exception nothing is written. A file that is
    damaged counts as one that is not there.

    Args:
        folder: Where sessions are.
        host: The agent's host.
        name: The session's own id.

    Raises:
        TimeoutError: Another process has it.
        OSError: It cannot be read or written.
    """
    files.folder(folder)
    path = os.path.join(folder, f"{_file_name(host)}.{_file_name(name)}.json")
    with files.locked(f"{path}.lock", _WAIT):
        try:
            state = files.read_json(path, MOST_BYTES) or {}
        except ValueError:
            state = {}
        before = repr(state)
        yield state
        if repr(state) != before:
            files.replace_json(path, state)


def _file_name(name: str) -> str:
    """Return a name as a file may have it; hosts name sessions by hexadecimal digits."""
    if name.isascii() and name.replace("-", "").isalnum() and len(name) <= _PLAIN:
        return name
    written = name.encode("utf-8", "surrogatepass")
    return f"x{written.hex()[:_PLAIN]}-{len(written)}-{binascii.crc32(written):08x}"


def shown(state: dict[str, Any]) -> list[str]:
    """Return the names of the memories that a session was shown, the oldest first."""
    found = state.get("shown")
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def show(state: dict[str, Any], names: list[str]) -> None:
    """Note that memories were shown."""
    if names:
        state["shown"] = [*shown(state), *names][-MOST_SHOWN:]
