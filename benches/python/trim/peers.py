"""Peers whose pins clash, each in an environment and an interpreter of its own.

The directory of environments is given, or named by WARMSET_PEERS. An environment that is not there
is a reason to skip, which is printed; `install` makes it, with pip and nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "WARMSET_PEERS"
# tiktoken fetches its vocabularies from afar; llama-index-core ships the same files.
NEEDS = {
    "llama-index-core": ("llama-index-core",),
    "agent-framework-core": ("agent-framework-core",),
    "litellm": ("litellm",),
    "tiktoken": ("tiktoken", "llama-index-core"),
}
_CONTESTANT = Path(__file__).with_name("contestant.py")


class NoPeer(Exception):  # noqa: N818 - a reason to skip, not a fault
    """A peer's environment is not there, or the peer does not run in it."""


class Peer:
    """A peer that waits in its interpreter until it is asked.

    Args:
        name: The package's name, and that of its environment.
        place: The directory of environments; None if there is none.
        script: What its interpreter runs.
        material: What it works on.

    Raises:
        NoPeer: It cannot be asked; says why.
    """

    def __init__(
        self, name: str, place: Path | None, *, script: Path = _CONTESTANT, **material: object
    ) -> None:
        if place is None:
            raise NoPeer(f"{name}: no directory of environments; give --peers or {VARIABLE}")
        interpreter = _interpreter(place, name)
        if not interpreter.exists():
            raise NoPeer(f"{name}: no environment of that name in --peers; make it with --install")
        self.name = name
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(  # noqa: S603 - our own script
            [interpreter, "-P", "-W", "ignore", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            encoding="utf-8",
        )
        try:
            self.about = self.ask({"peer": name} | material)
        except NoPeer:
            self.close()
            raise

    def ask(self, what: object) -> dict[str, object]:
        """Let it make one call; while it works, the asker waits.

        Raises:
            NoPeer: It died; says its last words.
        """
        into, out = self._process.stdin, self._process.stdout
        try:
            into.write(json.dumps(what) + "\n")
            into.flush()
        except BrokenPipeError:
            pass
        line = out.readline()
        if not line:
            self._process.wait()
            self._said.seek(0)
            words = self._said.read().strip().splitlines() or ["it said nothing"]
            raise NoPeer(f"{self.name}: {words[-1]}")
        return json.loads(line)

    def close(self) -> None:
        """Let it end."""
        self._process.communicate()
        self._said.close()


@contextmanager
def peer(name: str, place: Path | None, **material: object):
    """Start a peer, and end it."""
    found = Peer(name, place, **material)
    try:
        yield found
    finally:
        found.close()


def install(place: Path, environments: dict[str, tuple[str, ...]] = NEEDS) -> None:
    """Make the environments that are not there.

    Args:
        place: The directory of environments.
        environments: What each of them needs.

    Raises:
        subprocess.CalledProcessError: pip failed; it said why.
    """
    for name, needs in environments.items():
        interpreter = _interpreter(place, name)
        if not interpreter.exists():
            venv.create(place / name, with_pip=True)
        command = [interpreter, "-m", "pip", "install", "-q", "--disable-pip-version-check", *needs]
        print(f"installing {', '.join(needs)}", file=sys.stderr)
        subprocess.run(command, check=True)  # noqa: S603 - pip


def _interpreter(place: Path, name: str) -> Path:
    folder = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
    return place / name / folder
