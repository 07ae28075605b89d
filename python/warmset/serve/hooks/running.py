"""Runs an agent with the proxy before its provider, for as long as the agent runs.

If the proxy does not come up, the agent runs without it: nothing in its settings names the proxy.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Final

from warmset.serve.hooks.entry import WRAPPED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import FrameType

PATIENCE: Final = 60.0
"""Seconds that the proxy has to come up."""

BASE_URLS: Final = {
    "ANTHROPIC_BASE_URL": ("anthropic", ""),
    "OPENAI_BASE_URL": ("openai", "/v1"),
    "GOOGLE_GEMINI_BASE_URL": ("gemini", ""),
}
"""The variables with a provider's base URL, each with its name among upstreams, and with what
stands behind the proxy's address."""

_READY: Final = re.compile(r"warmset: (http://\S+) keeps turns in ")
_GRACE: Final = 35.0
_LONG: Final = 3600.0


@contextmanager
def proxy(
    memory: str, *, embedder: str, environ: Mapping[str, str], patience: float = PATIENCE
) -> Iterator[str | None]:
    """Run a proxy before the providers that an environment names, while entered.

    Args:
        memory: The store's directory.
        embedder: The source of vectors.
        environ: The agent's environment: a base URL there is where the proxy sends requests.
        patience: Seconds that the proxy has to come up.

    Returns:
        A context manager of the proxy's address; None if it does not come up.
    """
    command = [sys.executable, "-P", "-m", "warmset", "serve", "--memory", memory, "--port", "0"]
    command += ["--tenant", "default", "--embedder", embedder]
    for name, (upstream, _) in BASE_URLS.items():
        if environ.get(name):
            command += ["--upstream", f"{upstream}={environ[name]}"]
    made = subprocess.Popen(  # noqa: S603 - our own command
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for the agent
    )
    try:
        yield _address(made, patience)
    finally:
        made.terminate()
        try:
            made.wait(_GRACE)
        except subprocess.TimeoutExpired:
            made.kill()
            made.wait()
        if made.stderr is not None:
            made.stderr.close()


def environment(address: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of an agent behind the proxy."""
    urls = {name: address + suffix for name, (_, suffix) in BASE_URLS.items()}
    return {**environ, **urls, WRAPPED: "1"}


def run(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run an agent in the foreground, and return its exit code.

    Ctrl-C is the agent's; SIGTERM and SIGHUP are handed on to it.

    Raises:
        OSError: It cannot be started.
    """
    started: list[subprocess.Popen[bytes]] = []
    came: list[int] = []

    def hand_on(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGINT:  # the terminal sends that one to the agent, too
            return
        if started:
            started[0].send_signal(number)
        else:
            came.append(number)

    names = ("SIGINT", "SIGTERM", "SIGHUP")
    before = {
        getattr(signal, name): signal.signal(getattr(signal, name), hand_on)
        for name in names
        if hasattr(signal, name)
    }
    try:
        agent = subprocess.Popen(list(command), env=dict(environ))  # noqa: S603 - asked for
        started.append(agent)
        for number in came:
            agent.send_signal(number)
        code = _waited(agent)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def _waited(agent: subprocess.Popen[bytes]) -> int:
    """Return an agent's exit code once it ends.

    With a limit it is looked for again and again. Without one, a signal that comes just before the
    process sleeps would wait until the agent ends.
    """
    while True:
        with suppress(subprocess.TimeoutExpired):
            return agent.wait(_LONG)


def _address(made: subprocess.Popen[str], patience: float) -> str | None:
    """Return the proxy's address once it says it; None if it ends, or is silent for too long."""
    said: list[str] = []
    ready = threading.Event()

    def listen(stream: IO[str]) -> None:
        try:
            for line in stream:
                found = _READY.search(line)
                if found and not said:
                    said.append(found[1])
                    ready.set()
        except (OSError, ValueError):  # closed at the end
            pass
        ready.set()

    if made.stderr is None:
        return None
    threading.Thread(target=listen, args=(made.stderr,), daemon=True).start()
    ready.wait(patience)
    return said[0] if said else None
