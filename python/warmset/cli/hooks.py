"""``warmset hooks``: install the hooks of an agent, take them away, tell how they are."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, get_args

import cyclopts
from cyclopts import Parameter
from rich.console import Console

from warmset.errors import InvalidInputError
from warmset.serve.hooks import config, editing
from warmset.serve.hooks.hosts import (
    HostName,
    Scope,
    host_of,
)
from warmset.serve.hooks.installing import installed, memories_in, prepare, status as status_of
from warmset.serve.hooks.places import Places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.serve.hooks.editing import Change
    from warmset.serve.hooks.installing import Status

SHOWN: Final = 5
"""How many failures are printed."""

_Yes = Annotated[bool, Parameter(negative="")]
_Json = Annotated[bool, Parameter(name="--json", negative="")]

app = cyclopts.App(
    name="hooks",
    help="Give Claude Code or Codex a memory by its hooks: install, uninstall, status.",
)


@app.command
def install(
    host: HostName,
    /,
    *,
    memory: Path,
    scope: Scope = "user",
    embedder: str | None = None,
    context_tokens: int | None = None,
    yes: _Yes = False,
) -> int:
    """Install the hooks of an agent; the change is shown, and you are asked.

    Args:
        host: The agent: claude-code or codex.
        memory: The store's directory; it is made if it is not there.
        scope: Whose settings: user, or project for the present directory.
        embedder: The helper's source of vectors: minilm, static, openai, cohere or voyage; words
            alone if not given.
        context_tokens: The context of the agent's model; what its transcript says if not given.
        yes: Do not ask.
    """
    there = host_of(host, scope)
    places = Places(str(memory.resolve()))
    change = editing.with_hooks(there, Path(places.memory), places)
    if change.is_none:
        print(f"{change.path} has these hooks already")
    elif not agreed([change], "install these hooks?", yes=yes):
        return 1
    prepare(memory, config.Config(embedder=embedder, context_tokens=context_tokens))
    if not change.is_none:
        editing.apply([change], places)
        print(f"installed in {change.path}; undo it with: warmset hooks uninstall {host}")
    if host == "codex":
        print("Codex runs new hooks once you trust them: open /hooks in Codex")
    return 0


@app.command
def uninstall(
    host: HostName, /, *, memory: Path | None = None, scope: Scope = "user", yes: _Yes = False
) -> int:
    """Take the hooks of an agent away; every other byte of its settings stays.

    What was remembered stays in the store.

    Args:
        host: The agent: claude-code or codex.
        memory: The store's directory; the one that the hooks are for if not given.
        scope: Whose settings: user, or project for the present directory.
        yes: Do not ask.
    """
    there = host_of(host, scope)
    stores = [memory.resolve()] if memory is not None else memories_in(there)
    places = Places(str(stores[0])) if stores and Places(str(stores[0])).is_there else None
    change = editing.without_ours(there.hooks, places)
    if change.is_none:
        print(f"{change.path} has no hooks of warmset")
        return 0
    if not agreed([change], "take these hooks away?", yes=yes):
        return 1
    editing.apply([change], places)
    print(f"{change.path} is as it was without them")
    return 0


@app.command
def status(*, memory: Path | None = None, as_json: _Json = False) -> int:
    """Tell which hooks are installed, whether they run, and what went wrong.

    The exit code is 1 if anything is broken, or failed in the last 24 hours.

    Args:
        memory: The store's directory; those that hooks are installed for if not given.
        as_json: Print one JSON object.
    """
    found = [
        installed(host_of(name, scope), scope)
        for name in get_args(HostName)
        for scope in get_args(Scope)
    ]
    found = [one for one in found if one.events or one.server or one.broken]
    stores = [one.memory for one in found if one.memory] if memory is None else [str(memory)]
    told = [one for one in map(status_of, map(Path, dict.fromkeys(stores))) if one is not None]
    bad = any(one.broken for one in found) or any(one.recent for one in told)
    if as_json:
        made = {"hosts": [_plain(one) for one in found], "stores": [one.as_json() for one in told]}
        print(json.dumps({"healthy": not bad, **made}, indent=1))
        return int(bad)
    out = Console(soft_wrap=True, highlight=False, markup=False)
    for one in found:
        server = ", MCP server" if one.server else ""
        out.print(f"{one.host} ({one.scope}): {one.events} events{server} in {one.file}")
        if one.broken:
            out.print(f"  broken: {one.broken}", style="red")
    for store in told:
        show(store, out)
    if not found and not told:
        print("no hooks are installed; see warmset hooks install --help")
    return int(bad)


def show(store: Status, out: Console) -> None:
    """Print how the hooks of a store are."""
    lives = f"helper {store.helper}" if store.helper else "no helper, it starts with the next event"
    out.print(f"hooks of {store.memory}: {lives}, embedder {store.embedder}")
    out.print(f"  {store.waiting} jobs wait; {store.recent} failures in the last 24 hours")
    for one in store.failures[:SHOWN]:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(one.at))
        out.print(f"  {when} UTC {one.host} {one.event}: {one.what}", style="yellow")


def agreed(changes: Sequence[Change], question: str, *, yes: bool) -> bool:
    """Show changes, and ask unless that was answered before.

    Raises:
        InvalidInputError: Nobody is there to be asked.
    """
    for change in changes:
        print(change.diff(), end="")
    if yes:
        return True
    try:
        said = input(f"{question} [y/N] ")
    except EOFError:
        raise InvalidInputError("nobody is there to be asked; give --yes") from None
    if said.strip().lower() in ("y", "yes"):
        return True
    print("nothing was changed")
    return False


def _plain(one: object) -> dict[str, object]:
    return {name: getattr(one, name) for name in one.__slots__}  # type: ignore[attr-defined]
