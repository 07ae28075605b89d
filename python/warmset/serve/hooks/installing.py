"""Installs hooks, takes them away, and tells how they are."""

from __future__ import annotations

import os
import shlex
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError, WarmsetError
from warmset.memory import Memory
from warmset.serve.hooks import config, editing, failures, files, jobs
from warmset.serve.hooks.hosts import host_of, is_our_command, is_our_server, is_ours
from warmset.serve.hooks.places import Places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warmset.serve.hooks.failures import Failure
    from warmset.serve.hooks.hosts import Host

RECENT: Final = 24 * 3_600.0
"""Seconds for which a failure counts as recent."""


def prepare(memory: Path, told: config.Config) -> Places:
    """Make the store, if it is not there, and what hooks need beside it.

    Args:
        memory: The store's directory.
        told: What the hooks are told.

    Returns:
        The paths of its hooks.

    Raises:
        InvalidInputError: The store is encrypted, or an option is out of its range.
        StoreError: The store cannot be opened.
        OSError: Something cannot be written.
    """
    if told.context_tokens is not None and told.context_tokens < 1:
        raise InvalidInputError("context_tokens: expected at least 1 token")
    places = Places(str(memory.resolve()))
    if places.is_encrypted:
        raise InvalidInputError(
            f"{memory} is encrypted; hooks keep checkpoints and an index of words beside a store, "
            "in the clear: give them a store of their own"
        )
    Memory.open(places.memory, embedder=told.embedder or "lexical").close()
    files.folder(places.hooks)
    failures.prepare(places.failures)
    config.write(places.config, told)
    return places


def memories_in(host: Host) -> list[Path]:
    """Return the stores that a host's hooks and its MCP server are for.

    Raises:
        InvalidInputError: A file is not valid.
        OSError: It cannot be read.
    """
    found = [*_of_hooks(host), *_of_server(host)]
    return list(dict.fromkeys(found))


def _of_hooks(host: Host) -> Iterator[Path]:
    for said in commands(host):
        words = shlex.split(said)
        if words and os.path.isabs(words[-1]):
            yield Path(words[-1])


def commands(host: Host) -> list[str]:
    """Return the command lines of our hooks in a host's file.

    Raises:
        InvalidInputError: The file is not valid.
        OSError: It cannot be read.
    """
    made = _loaded(host.hooks)
    hooks = made.get("hooks")
    groups = hooks.values() if isinstance(hooks, dict) else ()
    found: list[str] = []
    for group in (one for some in groups if isinstance(some, list) for one in some):
        if is_ours(group):
            found += [
                one["command"] for one in group["hooks"] if is_our_command(one.get("command"))
            ]
    return found


def _of_server(host: Host) -> Iterator[Path]:
    made: Any = _loaded(host.servers)
    for key in host.servers_at:
        made = made.get(key) if isinstance(made, dict) else None
    if is_our_server(made):
        yield Path(made["args"][-1])


def _loaded(path: Path) -> dict[str, Any]:
    from warmset.serve.hooks import json_edit, toml_edit  # noqa: PLC0415 - for two lines

    found = editing.read(path)
    if found is None or not found.strip():
        return {}
    text = found.decode("utf-8", "replace")
    load = toml_edit.loaded if path.suffix == ".toml" else json_edit.loaded
    return load(text, str(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """How the hooks of one host are.

    Args:
        host: The host.
        scope: Whose settings these are.
        file: The file with its hooks.
        events: How many of its events have our hook.
        memory: The store that they are for; None if there are none.
        server: Whether the host has our MCP server.
        broken: What keeps them from running; empty if nothing does.
    """

    host: str
    scope: str
    file: str
    events: int
    memory: str | None
    server: bool
    broken: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How the hooks of a store are.

    Args:
        memory: The store's directory.
        helper: The process of the helper; None if none lives.
        waiting: How many jobs wait.
        embedder: What makes the helper's vectors.
        failures: The failures that are kept, the newest first.
    """

    memory: str
    helper: int | None
    waiting: int
    embedder: str
    failures: tuple[Failure, ...]

    @property
    def recent(self) -> int:
        """How many failures are of the last 24 hours."""
        now = time.time()
        return sum(now - one.at < RECENT for one in self.failures)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        told = [one._asdict() for one in self.failures]
        return {**asdict(self), "failures": told, "recent": self.recent}


def installed(host: Host, scope: str) -> Installed:
    """Tell how the hooks of a host are; what is wrong with its files is told, too."""
    try:
        said, stores = commands(host), memories_in(host)
        has_server = any(True for _ in _of_server(host))
        broken = next((why for why in map(_broken, said) if why), "")
    except (OSError, WarmsetError) as error:
        said, stores, has_server, broken = [], [], False, str(error)
    return Installed(
        host=host.name,
        scope=scope,
        file=str(host.hooks),
        events=len(said),
        memory=str(stores[0]) if stores else None,
        server=has_server,
        broken=broken,
    )


def _broken(said: str) -> str:
    """Return what keeps a command line from running."""
    words = shlex.split(said)
    for word in (words[0], words[-4], words[-1]) if len(words) >= 4 else ():  # noqa: PLR2004
        if not os.path.exists(word):
            return f"{word} is not there any more; install the hooks again"
    return ""


def status(memory: Path) -> Status | None:
    """Tell how the hooks of a store are; None if it never had any.

    Raises:
        OSError: What is beside the store cannot be read.
    """
    from warmset.serve.hooks.helper import ping  # noqa: PLC0415 - brings the whole library

    places = Places(str(memory.resolve()))
    if not os.path.isdir(places.hooks):
        return None
    return Status(
        memory=places.memory,
        helper=ping(places),
        waiting=len(jobs.waiting(places.queue)),
        embedder=config.read(places.config).embedder or "lexical",
        failures=tuple(failures.read(places.failures)),
    )


__all__ = ["Installed", "Status", "host_of", "installed", "memories_in", "prepare", "status"]
