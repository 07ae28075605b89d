"""``warmset wrap | unwrap``: an agent with hooks, an MCP server, and the proxy, in one command."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from warmset.cli.hooks import agreed
from warmset.errors import InvalidInputError
from warmset.serve.hooks import config, editing, running
from warmset.serve.hooks.hosts import (
    Scope,
    host_of,
)
from warmset.serve.hooks.installing import memories_in, prepare
from warmset.serve.hooks.places import Places

if TYPE_CHECKING:
    from warmset.serve.hooks.hosts import Host

HOSTS: Final = {"claude": "claude-code", "claude-code": "claude-code", "codex": "codex"}
"""The programs that have hooks, each with its host's name."""

_Flag = Annotated[bool, Parameter(negative="")]
_Rest = Annotated[str, Parameter(allow_leading_hyphen=True)]


def wrap(
    program: str,
    /,
    *arguments: _Rest,
    memory: Path | None = None,
    scope: Scope = "user",
    embedder: str | None = None,
    context_tokens: int | None = None,
    no_proxy: _Flag = False,
    no_run: _Flag = False,
    yes: _Flag = False,
) -> int:
    """Run an agent with a memory: hooks, an MCP server, and the proxy before its provider.

    Hooks and the MCP server are written to the agent's settings, once; the change is shown, and you
    are asked. The proxy runs while the agent runs, and no setting names it: if it does not come up,
    the agent runs without it. Any other program than Claude Code and Codex gets the proxy alone.

    Args:
        program: claude, codex, or any other agent's command.
        arguments: Arguments of the agent; put -- before the first one that begins with a hyphen.
        memory: The store's directory, which is made if it is not there; the one that the agent's
            hooks are for if not given.
        scope: Whose settings: user, or project for the present directory.
        embedder: The source of vectors: minilm, static, openai, cohere or voyage; words alone if
            not given.
        context_tokens: The context of the agent's model; what its transcript says if not given.
        no_proxy: Leave the proxy out: hooks store the turns.
        no_run: Write the settings, and do not run the agent.
        yes: Do not ask.
    """
    host = host_of(HOSTS[program], scope) if program in HOSTS else None
    command = host.program if host is not None else program
    if not no_run and shutil.which(command) is None:
        raise InvalidInputError(f"{command} is not installed; nothing was changed")
    places = Places(str(_memory(memory, host).resolve()))
    told = config.Config(embedder=embedder, context_tokens=context_tokens)
    if host is not None:
        changes = [
            editing.with_hooks(host, Path(places.memory), places),
            editing.with_server(host, Path(places.memory), places),
        ]
        new = [one for one in changes if not one.is_none]
        if new and not agreed(new, f"write these settings of {host.program}?", yes=yes):
            return 1
        if new or not places.is_there:
            prepare(Path(places.memory), told)
            editing.apply(new, places)
    if no_run:
        return 0
    words = [command, *arguments]
    if no_proxy:
        return running.run(words, os.environ)
    source = embedder or config.read(places.config).embedder or "lexical"
    with running.proxy(places.memory, embedder=source, environ=os.environ) as address:
        if address is None:
            print(
                "warmset: the proxy did not come up, the agent runs without it; see warmset serve "
                f"--memory {places.memory}",
                file=sys.stderr,
            )
            return running.run(words, os.environ)
        if host is not None and host.name == "codex":
            words[1:1] = ["-c", f'openai_base_url="{address}/v1"']
        return running.run(words, running.environment(address, os.environ))


def unwrap(
    program: str, /, *, memory: Path | None = None, scope: Scope = "user", yes: _Flag = False
) -> int:
    """Undo what warmset wrap changed in an agent's settings; every other byte of them stays.

    What was remembered stays in the store.

    Args:
        program: claude or codex.
        memory: The store's directory; the one that the agent's hooks are for if not given.
        scope: Whose settings: user, or project for the present directory.
        yes: Do not ask.
    """
    if program not in HOSTS:
        raise InvalidInputError(f"{program}: warmset wrap changes no settings of it")
    host = host_of(HOSTS[program], scope)
    stores = [memory.resolve()] if memory is not None else memories_in(host)
    places = Places(str(stores[0])) if stores and Places(str(stores[0])).is_there else None
    files = dict.fromkeys((host.hooks, host.servers))
    changes = [editing.without_ours(path, places) for path in files]
    changes = [one for one in changes if not one.is_none]
    if not changes:
        print(f"there is nothing of warmset in the settings of {host.program}")
        return 0
    if not agreed(changes, "undo these settings?", yes=yes):
        return 1
    editing.apply(changes, places)
    print(f"the settings of {host.program} are as they were")
    return 0


def _memory(given: Path | None, host: Host | None) -> Path:
    stores = [given] if given is not None else [] if host is None else memories_in(host)
    if not stores:
        raise InvalidInputError("memory: name the directory of a store with --memory")
    return stores[0]
