"""The hosts whose agents have hooks: where their settings are, and what is written there."""

from __future__ import annotations

import math
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from warmset.errors import InvalidInputError
from warmset.serve.hooks import entry
from warmset.serve.hooks.entry import DEADLINES

if TYPE_CHECKING:
    from collections.abc import Mapping

HostName: TypeAlias = Literal["claude-code", "codex"]
Scope: TypeAlias = Literal["user", "project"]

MCP_NAME: Final = "warmset"
"""The name of the server among those of a host."""

_CAPPED: Final = {"claude-code": {"SessionEnd": 2}, "codex": {"SessionEnd": 3}}
"""Seconds that a host allows an event's hooks at most; a longer time-out is warned of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host of agents.

    Args:
        name: Its name.
        program: Its command.
        hooks: The file with its hooks.
        servers: The file with its MCP servers.
        servers_at: The keys that lead to the table of servers there.
        base_url: The environment variable with the provider's base URL.
        suffix: What stands behind the proxy's address there.
    """

    name: HostName
    program: str
    hooks: Path
    servers: Path
    servers_at: tuple[str, ...]
    base_url: str
    suffix: str


def host_of(name: str, scope: str = "user", *, environ: Mapping[str, str] | None = None) -> Host:
    """Return a host.

    Args:
        name: "claude-code" or "codex".
        scope: "user" for all of the user's agents, "project" for those in the present directory.
        environ: The environment, in which hosts say where their settings are.

    Raises:
        InvalidInputError: There is no such host or scope.
    """
    if name not in get_args(HostName):
        raise InvalidInputError(f"host: expected one of {', '.join(get_args(HostName))}")
    if scope not in get_args(Scope):
        raise InvalidInputError(f"scope: expected one of {', '.join(get_args(Scope))}")
    given = os.environ if environ is None else environ
    home = Path(given.get("HOME") or Path.home())
    if name == "claude-code":
        own = given.get("CLAUDE_CONFIG_DIR")
        folder = Path(own) if own else home / ".claude"
        servers = Path(own) / ".claude.json" if own else home / ".claude.json"
        if scope == "project":
            folder, servers = Path.cwd() / ".claude", Path.cwd() / ".mcp.json"
        return Host(
            name="claude-code",
            program="claude",
            hooks=folder / "settings.json",
            servers=servers,
            servers_at=("mcpServers", MCP_NAME),
            base_url="ANTHROPIC_BASE_URL",
            suffix="",
        )
    folder = Path(given.get("CODEX_HOME") or home / ".codex")
    if scope == "project":
        folder = Path.cwd() / ".codex"
    return Host(
        name="codex",
        program="codex",
        hooks=folder / "hooks.json",
        servers=folder / "config.toml",
        servers_at=("mcp_servers", MCP_NAME),
        base_url="OPENAI_BASE_URL",
        suffix="/v1",
    )


def command(host: Host, event: str, memory: Path) -> str:
    """Return the command line of a hook."""
    words = [sys.executable, "-I", "-S", entry.__file__, host.name, event, str(memory)]
    return shlex.join(words)


def entries(host: Host, memory: Path) -> dict[str, list[dict[str, Any]]]:
    """Return what is written for each event, in the shape that both hosts share."""
    found: dict[str, list[dict[str, Any]]] = {}
    for event, deadline in DEADLINES.items():
        longest = math.ceil(deadline) + 2
        seconds = min(longest, _CAPPED[host.name].get(event, longest))
        handler = {"type": "command", "command": command(host, event, memory), "timeout": seconds}
        found[event] = [{"hooks": [handler]}]
    return found


def is_ours(group: Any) -> bool:
    """Return whether a group of handlers is one that an installation wrote, of any version."""
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        return False
    return any(
        is_our_command(one.get("command")) for one in group["hooks"] if isinstance(one, dict)
    )


def is_our_command(said: object) -> bool:
    """Return whether a command line runs our hook."""
    marks = ("warmset/serve/hooks/entry.py", "warmset\\serve\\hooks\\entry.py")
    return isinstance(said, str) and any(mark in said for mark in marks)


def server(memory: Path) -> dict[str, Any]:
    """Return the MCP server of a store, as a host starts it."""
    args = ["-P", "-m", "warmset", "mcp", "--memory", str(memory)]
    return {"command": sys.executable, "args": args}


def is_our_server(made: Any) -> bool:
    """Return whether an MCP server is ours, of any store."""
    args = made.get("args") if isinstance(made, dict) else None
    return isinstance(args, list) and args[:4] == ["-P", "-m", "warmset", "mcp"]
