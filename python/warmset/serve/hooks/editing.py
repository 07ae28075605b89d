"""Changes the files of a host: shown before, written as a whole, and undone byte for byte.

A change only adds. How to undo it is kept with the hooks: where the added parts are, and what the
file was afterwards. If it is still that, the parts are taken out and every byte is as before. If
somebody changed other lines meanwhile, the parts are looked for and taken out; if they were changed
themselves, the entries are taken out by what they say.
"""

from __future__ import annotations

import difflib
import json
import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError
from warmset.serve.hooks import files, json_edit, toml_edit
from warmset.serve.hooks.draft import Draft, digest, without
from warmset.serve.hooks.hosts import MCP_NAME, entries, is_our_server, is_ours, server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from warmset.serve.hooks.hosts import Host
    from warmset.serve.hooks.places import Places

_MOST: Final = 64_000_000
_MOST_RECORD: Final = 16_000_000
_NEW_MODE: Final = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A file of a host, as it is and as it is to be.

    Args:
        path: The file that is named in the settings; it may be a symbolic link.
        before: Its bytes; None if it is not there.
        after: What they are to be; None if it is to go.
        record: How to undo the change later; None if nothing is left to undo.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    record: dict[str, Any] | None = field(repr=False, default=None)

    @property
    def is_none(self) -> bool:
        """Whether nothing changes."""
        return self.before == self.after

    def diff(self) -> str:
        """Return the change as a unified diff."""
        old, new = _shown(self.before), _shown(self.after)
        name = str(self.path)
        first = name if self.before is not None else os.devnull
        return "".join(difflib.unified_diff(old, new, first, name, n=2))


def with_hooks(host: Host, memory: Path, places: Places) -> Change:
    """Return the change that adds a host's hooks, in the place of those of another store.

    Raises:
        InvalidInputError: The file is no JSON object, or its hooks have another shape.
        OSError: It cannot be read.
    """
    path, name = host.hooks, str(host.hooks)
    bare, made_by_us, before = _bare(path, places, _without_hooks)
    wanted = entries(host, memory)
    draft = _begun(bare)
    json_edit.loaded(draft.text, name)
    for event, groups in wanted.items():
        json_edit.add(draft, ("hooks", event), groups)
    return _change(path, before, _ended(bare, draft), made=made_by_us)


def with_server(host: Host, memory: Path, places: Places) -> Change:
    """Return the change that adds the MCP server of a store, in the place of another store's.

    Raises:
        InvalidInputError: The file is not valid, or another server has the name.
        OSError: It cannot be read.
    """
    path, name = host.servers, str(host.servers)
    bare, made_by_us, before = _bare(path, places, _without_server)
    is_toml = path.suffix == ".toml"
    draft = Draft(bare) if is_toml else _begun(bare)
    loaded = toml_edit.loaded if is_toml else json_edit.loaded
    there: Any = loaded(draft.text, name)
    for key in host.servers_at:
        there = there.get(key) if isinstance(there, dict) else None
    if there is not None:
        raise InvalidInputError(
            f"{name} has an MCP server {host.servers_at[-1]!r} of another kind; nothing was "
            "changed: rename it first"
        )
    made = server(memory)
    if is_toml:
        toml_edit.add(draft, host.servers_at, made)
        return _change(path, before, draft, made=made_by_us)
    json_edit.add(draft, host.servers_at, {"type": "stdio", **made})
    return _change(path, before, _ended(bare, draft), made=made_by_us)


def without_ours(path: Path, places: Places | None) -> Change:
    """Return the change that takes everything of ours from a file of a host.

    Args:
        path: The file.
        places: Where it is kept how to undo it; None if that is not known.

    Raises:
        InvalidInputError: The file is not valid.
        OSError: It cannot be read.
    """
    take = _without_server if path.suffix == ".toml" else _without_both
    bare, made_by_us, before = _bare(path, places, take)
    after = None if before is None or (made_by_us and not _says_anything(bare)) else bare
    return Change(path=path, before=before, after=None if after is None else _bytes(after))


def apply(changes: Iterable[Change], places: Places | None) -> None:
    """Write changes, all of them or none.

    Args:
        changes: The changes.
        places: Where it is kept how to undo them; None if there is no such place any more.

    Raises:
        InvalidInputError: A file was changed meanwhile.
        OSError: The operating system refused.
    """
    done: list[Change] = []
    try:
        for change in changes:
            _write(change)
            done.append(change)
        if places is not None:
            _keep(done, places)
    except BaseException:
        for change in reversed(done):
            with suppress(OSError, InvalidInputError):
                _write(Change(path=change.path, before=change.after, after=change.before))
        raise


def kept(places: Places) -> dict[str, Any]:
    """Return how to undo each change that was made, by the file's path.

    Raises:
        OSError: It cannot be read.
    """
    try:
        return files.read_json(places.installed, _MOST_RECORD) or {}
    except ValueError:
        return {}


def read(path: Path) -> bytes | None:
    """Return the bytes of a host's file; None if it is not there.

    Raises:
        InvalidInputError: It is no regular file, or it is larger than any file of settings.
        OSError: It cannot be read.
    """
    try:
        about = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise InvalidInputError(f"{path} is a link to nothing; nothing was changed") from None
        return None
    if not stat.S_ISREG(about.st_mode) or about.st_size > _MOST:
        raise InvalidInputError(f"{path} is no file of settings; nothing was changed")
    return path.read_bytes()


def _bare(
    path: Path, places: Places | None, take: Callable[[Path, str], str]
) -> tuple[str, bool, bytes | None]:
    """Return a file's text without anything of ours, whether it is ours alone, and its bytes."""
    before = read(path)
    text = "" if before is None else _decoded(path, before)
    record = None if places is None else kept(places).get(_key(path))
    made = before is None
    if isinstance(record, dict):
        made = made or bool(record.get("made"))
        bare = _undone(text, record)
        with suppress(InvalidInputError):  # lines that look like ours, in a file that was changed
            return take(path, bare) if bare.strip() else bare, made, before
    return take(path, text) if text.strip() else text, made, before


def _begun(bare: str) -> Draft:
    """Return a draft of a JSON object; an empty file counts as an empty object."""
    return Draft(bare if bare.strip() else "{\n}\n")


def _ended(bare: str, draft: Draft) -> Draft:
    """Return the draft with all of its text as added, where the file was empty."""
    if bare.strip():
        return draft
    whole = Draft(bare)
    whole.insert(len(bare), draft.text)
    return whole


def _undone(text: str, record: dict[str, Any]) -> str:
    """Take what was added from a text, if it can be found as it was written."""
    if digest(text) == record.get("after"):
        return without(text, [(start, end) for start, end in record["places"]])
    parts = [part for part in record.get("parts", ()) if isinstance(part, str) and part]
    if all(text.count(part) == 1 for part in parts):
        return without(text, [(at := text.index(part), at + len(part)) for part in parts])
    return text


def _without_hooks(path: Path, text: str) -> str:
    made = json_edit.loaded(text, str(path))
    hooks = made.get("hooks")
    if not isinstance(hooks, dict) or not any(map(_has_ours, hooks.values())):
        return text
    for event, groups in hooks.items():
        if _has_ours(groups):
            text = json_edit.take(text, ("hooks", event), is_ours)
    return json_edit.take(text, ("hooks",), lambda left: left == {})


def _without_server(path: Path, text: str) -> str:
    if path.suffix != ".toml":
        json_edit.loaded(text, str(path))
        shorter = json_edit.take(text, ("mcpServers", MCP_NAME), is_our_server)
        return (
            shorter
            if shorter == text
            else json_edit.take(shorter, ("mcpServers",), lambda left: left == {})
        )
    servers = toml_edit.loaded(text, str(path)).get("mcp_servers")
    if isinstance(servers, dict) and is_our_server(servers.get(MCP_NAME)):
        return toml_edit.take(text, ("mcp_servers", MCP_NAME))
    return text


def _without_both(path: Path, text: str) -> str:
    return _without_server(path, _without_hooks(path, text))


def _has_ours(groups: Any) -> bool:
    return isinstance(groups, list) and any(map(is_ours, groups))


def _says_anything(text: str) -> bool:
    """Return whether anything is left in a file that an installation made."""
    return "".join(text.split()) not in ("", "{}")


def _change(path: Path, before: bytes | None, draft: Draft, *, made: bool) -> Change:
    parts, places = draft.parts(), draft.places()
    record = {"after": digest(draft.text), "places": places, "parts": parts, "made": made}
    return Change(path=path, before=before, after=_bytes(draft.text), record=record)


def _write(change: Change) -> None:
    """Replace a file as a whole; its mode, and a link that leads to it, stay."""
    if read(change.path) != change.before:
        raise InvalidInputError(f"{change.path} was changed meanwhile; run the command again")
    if change.is_none:
        return
    real = change.path.resolve()
    if change.after is None:
        real.unlink()
        return
    real.parent.mkdir(parents=True, exist_ok=True)
    number, beside = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
    try:
        with open(number, "wb") as file:
            file.write(change.after)
            file.flush()
            os.fsync(number)
        mode = _NEW_MODE
        if change.before is not None:
            about = real.stat()
            mode = stat.S_IMODE(about.st_mode)
            with suppress(OSError, AttributeError):
                os.chown(beside, about.st_uid, about.st_gid)
        os.chmod(beside, mode)
        os.replace(beside, real)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def _keep(changes: Iterable[Change], places: Places) -> None:
    """Keep how to undo changes; forget it for those that leave nothing to undo."""
    made = kept(places)
    for change in changes:
        if change.record is None:
            made.pop(_key(change.path), None)
        else:
            made[_key(change.path)] = change.record
    files.replace(places.installed, json.dumps(made).encode())


def _key(path: Path) -> str:
    return str(path.resolve())


def _decoded(path: Path, found: bytes) -> str:
    try:
        return found.decode()
    except UnicodeDecodeError:
        raise InvalidInputError(f"{path} is no UTF-8; nothing was changed: mend it first") from None


def _bytes(text: str) -> bytes:
    return text.encode()


def _shown(found: bytes | None) -> list[str]:
    text = "" if found is None else found.decode("utf-8", "replace")
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n\\ No newline at end of file\n"
    return lines
