"""The capsule that a session hands to the next one in the same folder.

It has at most 4 KB and a revision, and is replaced by compare-and-set: who writes names the
revision that they read, and writes nothing if there is another one by now.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from warmset.serve.hooks import files
from warmset.serve.hooks.cutting import cut

MOST_BYTES: Final = 4_096
"""The most bytes of a capsule's file."""

STALE: Final = 24 * 3_600
"""Seconds after which a capsule is stale."""

State: TypeAlias = Literal["ok", "stale", "missing", "invalidated", "head_mismatch"]

_WAIT: Final = 0.5
_READ: Final = 4_096
_DEEPEST: Final = 64
_ROOM: Final = 600
"""Bytes of a capsule that are not its text."""


class Capsule(NamedTuple):
    """What one session hands to the next.

    Args:
        state: Whether it may be used, and if not, why.
        revision: How often it was written; 0 if it is missing.
        text: What is handed on; empty if it is missing.
        session: The session that wrote it.
        at: When, in seconds since 1970 UTC.
        head: The commit that the folder was at; None if it is in no repository.
    """

    state: State
    revision: int
    text: str = ""
    session: str = ""
    at: float = 0.0
    head: str | None = None


def read(folder: str, cwd: str, *, now: float | None = None) -> Capsule:
    """Return the capsule of a folder that agents work in, and whether it may be used.

    Args:
        folder: Where capsules are.
        cwd: The folder that agents work in.
        now: The time, in seconds since 1970 UTC.

    Raises:
        OSError: It cannot be read.
    """
    made = _read(_path(folder, cwd))
    if made is None:
        return Capsule("missing", 0)
    found = Capsule(
        "ok", made["revision"], made["text"], made["session"], made["at"], made.get("head")
    )
    if made.get("invalidated") is True:
        return found._replace(state="invalidated")
    if (time.time() if now is None else now) - found.at > STALE:
        return found._replace(state="stale")
    if head_of(cwd) != found.head:
        return found._replace(state="head_mismatch")
    return found


def write(
    folder: str, cwd: str, *, expected: int, text: str, session: str, now: float | None = None
) -> int | None:
    """Replace the capsule of a folder, if nobody else did meanwhile.

    Args:
        folder: Where capsules are.
        cwd: The folder that agents work in.
        expected: The revision that was read; 0 if it was missing.
        text: What is handed on; cut to what fits.
        session: The session that writes.
        now: The time, in seconds since 1970 UTC.

    Returns:
        The new revision; None if there is another one than expected, and nothing was written.

    Raises:
        OSError: It cannot be written.
    """
    files.folder(folder)
    path = _path(folder, cwd)
    made = {
        "revision": expected + 1,
        "session": session[:80],
        "at": time.time() if now is None else now,
        "head": head_of(cwd),
        "text": text,
    }
    return _swap(path, expected, made)


def invalidate(folder: str, cwd: str, *, expected: int) -> int | None:
    """Mark a capsule as used up, if nobody replaced it meanwhile; see `write`.

    Raises:
        OSError: It cannot be written.
    """
    path = _path(folder, cwd)
    made = _read(path)
    if made is None:
        return None
    return _swap(path, expected, made | {"revision": expected + 1, "invalidated": True})


def head_of(cwd: str) -> str | None:
    """Return the commit that the repository around a folder is at; None if there is none."""
    place = os.path.abspath(cwd)
    for _ in range(_DEEPEST):
        git = os.path.join(place, ".git")
        if os.path.isdir(git):
            return _head(git)
        if os.path.isfile(git):  # a worktree: a line that names its folder
            named = _line(git).removeprefix("gitdir: ")
            return _head(os.path.join(place, named)) if named else None
        above = os.path.dirname(place)
        if above == place:
            return None
        place = above
    return None


def _head(git: str) -> str | None:
    said = _line(os.path.join(git, "HEAD"))
    if not said.startswith("ref: "):
        return said or None
    name = said.removeprefix("ref: ")
    common = _line(os.path.join(git, "commondir"))
    for home in (git, os.path.join(git, common)) if common else (git,):
        found = _line(os.path.join(home, name)) or _packed(os.path.join(home, "packed-refs"), name)
        if found:
            return found
    return None


def _line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(_READ).strip()
    except OSError:
        return ""


def _packed(path: str, name: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for row in file:
                commit, _, named = row.strip().partition(" ")
                if named == name:
                    return commit
    except OSError:
        pass
    return ""


def _path(folder: str, cwd: str) -> str:
    import hashlib  # noqa: PLC0415 - measured: three milliseconds

    place = os.path.realpath(cwd).encode("utf-8", "surrogateescape")
    return os.path.join(folder, f"{hashlib.sha256(place).hexdigest()[:32]}.json")


def _read(path: str) -> dict[str, Any] | None:
    """Return a capsule's fields; None if it is missing, or no capsule."""
    try:
        made = files.read_json(path, MOST_BYTES)
    except ValueError:
        return None
    kinds = {"revision": int, "at": int | float, "text": str, "session": str}
    if made is None or not all(isinstance(made.get(name), kind) for name, kind in kinds.items()):
        return None
    return made


def _swap(path: str, expected: int, made: dict[str, Any]) -> int | None:

    text = cut(str(made["text"]), MOST_BYTES - _ROOM)
    while True:
        written = json.dumps(made | {"text": text}, ensure_ascii=False).encode("utf-8", "replace")
        if len(written) <= MOST_BYTES:
            break
        text = cut(text, len(text.encode("utf-8", "replace")) - (len(written) - MOST_BYTES) - 16)
    with files.locked(f"{path}.lock", _WAIT):
        there = _read(path)
        if (0 if there is None else there["revision"]) != expected:
            return None
        files.replace(path, written)
    return expected + 1
