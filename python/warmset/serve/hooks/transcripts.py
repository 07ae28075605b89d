"""Reads the end of an agent's transcript: what was said, the files in use, the plan, the tokens.

The transcripts are those of Claude Code (a message a line) and of Codex (a rollout); each line
tells by itself which of the two it is. A line that is torn, or that says nothing here, is passed
over. Only the main thread counts: what subagents said is left out.
"""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

TAIL: Final = 4_000_000
"""Bytes at the end of a transcript that are read."""

HEAD: Final = 100_000
"""Bytes at the beginning in which the first request is looked for."""

USAGE_TAIL: Final = 1_000_000
"""Bytes at the end in which the last usage is looked for."""

_MOST_TEXT: Final = 20_000
_PATHS: Final = ("file_path", "notebook_path", "path")
_HARNESS: Final = (
    "<command-",
    "<local-command",
    "<environment_context>",
    "<user_instructions>",
    "<system-reminder>",
    "<turn_aborted>",
    "# AGENTS.md instructions",
    "Caveat: The messages below",
    "[Request interrupted",
)
"""How texts begin that stand under the user's role, and were written by the host."""

_PATCHED: Final = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")


_OWN: Final = ("<earlier-turns>", "<kept-in-memory>", "<context-items>")
"""What begins a quotation that warmset itself put into a conversation."""


class Turn(NamedTuple):
    """What one line of a transcript says.

    Args:
        role: "user", "assistant", or "summary" for the host's own summary of what it compacted.
        text: The text; empty where there are calls of tools alone.
        key: The line's own id; None if it has none.
        at: Its time, as it stands there.
        files: The files that its calls name.
        plan: The items of the plan that it sets, each with its status; empty if it sets none.
        boundary: Whether what came before it was compacted.
    """

    role: str
    text: str
    key: str | None = None
    at: str | None = None
    files: tuple[str, ...] = ()
    plan: tuple[tuple[str, str], ...] = ()
    boundary: bool = False


class Usage(NamedTuple):
    """What the last call of the main thread took.

    Args:
        used: Its tokens, input and output; 0 if the conversation was compacted since.
        window: The model's context in tokens, where the transcript says it.
        model: The model's name; empty if it is not known.
    """

    used: int
    window: int | None
    model: str


def turns(path: str, *, end: int | None = None, last: int | None = None) -> list[Turn]:
    """Return the turns at the end of a transcript, oldest first.

    Args:
        path: The transcript.
        end: Where to stop reading, in bytes; the end of the file if not given.
        last: How many of the last turns with a text are wanted, at least; all of the last `TAIL`
            bytes if not given.

    Raises:
        OSError: It cannot be read.
    """
    found: list[Turn] = []
    texts = 0
    for raw in reversed(_tail(path, end, TAIL).split(b"\n")):
        line = parsed(raw) if raw else None
        some = [] if line is None else list(turns_of(line))
        found += reversed(some)
        texts += sum(bool(turn.text) for turn in some)
        if last is not None and texts >= last:
            break
    return found[::-1]


def first_request(path: str) -> str:
    """Return what the user asked first; empty if that is not at the beginning of the transcript.

    Raises:
        OSError: It cannot be read.
    """
    for raw in _tail(path, HEAD, HEAD).split(b"\n"):
        line = parsed(raw) if raw else None
        for turn in () if line is None else turns_of(line):
            if turn.role == "user":
                return turn.text
    return ""


def turns_of(line: dict[str, Any]) -> Iterator[Turn]:
    """Yield the turns of one line."""
    if isinstance(line.get("payload"), dict):
        yield from _codex(line, line["payload"])
    elif line.get("isSidechain") is not True:
        yield from _claude(line)


def usage(path: str) -> Usage | None:
    """Return what the last call of the main thread took; None if the transcript does not say.

    Raises:
        OSError: It cannot be read.
    """
    model = ""
    for raw in reversed(_tail(path, None, USAGE_TAIL).split(b"\n")):
        wanted = b'usage"' in raw or b"compact" in raw or b'"model"' in raw
        line = parsed(raw) if wanted else None
        if line is None or line.get("isSidechain") is True:
            continue
        if line.get("subtype") == "compact_boundary" or line.get("type") == "compacted":
            return Usage(0, None, model)
        found = _usage_of(line)
        if found is not None:
            return found
    return None


def size(path: str) -> int:
    """Return the length of a transcript in bytes.

    Raises:
        OSError: It cannot be read.
    """
    return os.stat(path).st_size


def _usage_of(line: dict[str, Any]) -> Usage | None:
    payload = line.get("payload")
    if isinstance(payload, dict):
        info = payload.get("info")
        if payload.get("type") != "token_count" or not isinstance(info, dict):
            return None
        last = info.get("last_token_usage")
        used = _number(last, "total_tokens") if isinstance(last, dict) else 0
        window = _number(info, "model_context_window") or None
        return Usage(used, window, "") if used else None
    message = line.get("message")
    if line.get("type") != "assistant" or not isinstance(message, dict):
        return None
    counts = message.get("usage")
    if not isinstance(counts, dict):
        return None
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    used = sum(_number(counts, name) for name in (*names, "output_tokens"))
    model = message.get("model")
    return Usage(used, None, model if isinstance(model, str) else "") if used else None


def _number(where: dict[str, Any], name: str) -> int:
    value = where.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _claude(line: dict[str, Any]) -> Iterator[Turn]:
    key, at = _text(line.get("uuid")) or None, _text(line.get("timestamp")) or None
    kind, message = line.get("type"), line.get("message")
    if line.get("subtype") == "compact_boundary":
        yield Turn("summary", "", key, at, boundary=True)
    if kind not in ("user", "assistant") or not isinstance(message, dict):
        return
    content = message.get("content")
    text, files, plan = _blocks(content)
    if line.get("isCompactSummary") is True:
        yield Turn("summary", text, key, at)
    elif kind == "assistant":
        if text or files or plan:
            yield Turn("assistant", text, key, at, files, plan)
    elif text and line.get("isMeta") is not True and not text.startswith(_HARNESS):
        yield Turn("user", text, key, at)


def _codex(line: dict[str, Any], payload: dict[str, Any]) -> Iterator[Turn]:
    at, kind = _text(line.get("timestamp")) or None, payload.get("type")
    key = _text(payload.get("id")) or None
    if line.get("type") == "compacted":
        yield Turn("summary", _clean(payload.get("message")), key, at, boundary=True)
    if line.get("type") != "response_item":
        return
    if kind == "message" and payload.get("role") in ("user", "assistant"):
        text, _, _ = _blocks(payload.get("content"))
        if text and not text.startswith(_HARNESS):
            yield Turn(str(payload["role"]), text, key, at)
    elif kind in ("function_call", "custom_tool_call"):
        given = payload.get("arguments") if kind == "function_call" else payload.get("input")
        files, plan = _call(_text(payload.get("name")), given)
        if files or plan:
            yield Turn("assistant", "", key, at, files, plan)


def _blocks(
    content: object,
) -> tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the text of a message's content, the files and the plan of its calls."""
    if isinstance(content, str):
        return _clean(content), (), ()
    texts: list[str] = []
    files: list[str] = []
    plan: tuple[tuple[str, str], ...] = ()
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        if block.get("type") in ("text", "input_text", "output_text"):
            texts.append(_clean(block.get("text")))
        elif block.get("type") == "tool_use":
            named, planned = _call(_text(block.get("name")), block.get("input"))
            files += named
            plan = planned or plan
    return "\n".join(one for one in texts if one), tuple(files), plan


def _call(name: str, given: object) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the files that a call of a tool names, and the plan that it sets."""
    if isinstance(given, str) and name == "apply_patch":
        rows = given.splitlines()
        named = [
            row.removeprefix(mark) for row in rows for mark in _PATCHED if row.startswith(mark)
        ]
        return tuple(one.strip() for one in named), ()
    if isinstance(given, str):
        given = parsed(given.encode("utf-8", "surrogatepass"))
    if not isinstance(given, dict):
        return (), ()
    files = tuple(_text(given.get(field)) for field in _PATHS if _text(given.get(field)))
    items = given.get("todos") if name == "TodoWrite" else given.get("plan")
    steps: list[tuple[str, str]] = []
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            said = _text(item.get("content")) or _text(item.get("step"))
            steps.append((_clean(said), _text(item.get("status"))))
    return files, tuple(step for step in steps if step[0])


def _clean(text: object) -> str:
    """Return a text without what is private, and without what warmset itself put there."""
    if not isinstance(text, str):
        return ""
    text = text[:_MOST_TEXT]
    if "private" in text.lower() and "<" in text:
        from warmset.text.private import without_private  # noqa: PLC0415 - seldom needed

        text = without_private(text)
    if any(tag in text for tag in _OWN):
        from warmset.text.markup import without_markup  # noqa: PLC0415 - seldom needed

        text = without_markup(text)
    return text.strip()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def parsed(raw: bytes) -> dict[str, Any] | None:
    """Return the object of a line; None if it is torn, or none."""
    try:
        line = json.loads(raw.decode())
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None


def _tail(path: str, end: int | None, most: int) -> bytes:
    """Return whole lines at the end of a file, or before a place in it."""
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with open(number, "rb") as file:
        about = os.fstat(number)
        if not stat.S_ISREG(about.st_mode):
            raise OSError(22, "the transcript is no regular file", path)
        stop = about.st_size if end is None else min(end, about.st_size)
        start = max(0, stop - most)
        file.seek(start)
        found = file.read(stop - start)
    return found if start == 0 else found.partition(b"\n")[2]
