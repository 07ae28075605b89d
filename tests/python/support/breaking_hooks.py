"""Everything that may go wrong while a hook runs: the agent goes on, and the failure is told.

    PYTHONPATH=tests/python/support taskset -c 1 python tests/python/support/breaking_hooks.py 10000

Each run breaks something, starts a hook as an agent does, and looks at its exit code, at what it
prints, at every file of the agent, and at what `warmset hooks status` tells. With --disk DIR, which
is a file system that has no room left, the store of some runs lies there.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from hook_sessions import HOSTS, Agent, at_work

from warmset.serve.hooks import entry, failures, files
from warmset.serve.hooks.answers import EVENTS, KEEP

MUST, MAY, KILLED = "must be told", "may be told", "killed"


class Broken:
    """An agent with hooks, whose parts are broken one after the other.

    Args:
        place: A directory of its own.
        seed: What is drawn.
        disk: A directory of a file system without room; None to leave these runs out.
    """

    def __init__(self, place, seed, disk=None):
        self.draw = random.Random(seed)
        self.place = place
        self.agents = {}
        for host in HOSTS:
            home = place / host
            home.mkdir()
            agent = Agent(home, host)
            at_work(agent)
            (agent.cwd / "main.py").write_text("print('mine')\n")
            (agent.cwd / "settings.json").write_text('{"mine": [1, 2]}\n')
            agent.run("UserPromptSubmit", b"{}")  # bytecode is written once
            self.agents[host] = agent
        self.disk = disk
        self.seen = Counter()
        self.faults = [
            self.malformed,
            self.cut_off,
            self.odd_fields,
            self.corrupt_file,
            self.corrupt_transcript,
            self.no_room,
            self.kill,
            self.locked_session,
            self.locked_words,
            self.no_store,
            self.pipe_transcript,
        ]
        self.slow = [self.silent_helper, self.open_input]
        if disk is not None:
            self.faults.append(self.full_disk)

    def once(self):
        """Break something, run a hook, and check what it left; return what was broken."""
        agent = self.agents[self.draw.choice(HOSTS)]
        event = self.draw.choice(EVENTS)
        slow = self.draw.random() < 0.01
        fault = self.draw.choice(self.slow if slow else self.faults)
        before = _hashes(agent)
        told = _count(agent)
        with contextlib.ExitStack() as mended:
            verdict, done = fault(agent, event, mended)
        name = f"{fault.__name__} {agent.host} {event}"
        assert _hashes(agent) == before, name
        if verdict is not KILLED:
            assert done.returncode == 0, (name, done)
            assert done.stderr == b"", (name, done)
            said = _checked(agent, done.args[-2], done.stdout, name)
            if verdict is MUST:
                assert said or _count(agent) > told, (name, done)
        self.seen[fault.__name__] += 1
        return name

    def usual(self, agent, event):
        """Return an input that is in order."""
        return json.dumps(agent.told(event)).encode()

    # --- inputs ------------------------------------------------------------------------------

    def malformed(self, agent, event, _mended):
        """Anything but JSON objects."""
        draw = self.draw
        raw = draw.choice(
            [
                b"",
                b"null",
                b"[]",
                b'"text"',
                b"{",
                b"\xff\xfe\x00",
                b"[" * 100_000,
                b'{"session_id": ' * 5_000,
                draw.randbytes(draw.randrange(1, 2_000)),
            ]
        )
        return MUST, agent.run(event, raw)

    def cut_off(self, agent, event, _mended):
        """An input that ends too early."""
        raw = self.usual(agent, event)
        return MUST, agent.run(event, raw[: self.draw.randrange(len(raw))])

    def odd_fields(self, agent, event, _mended):
        """Fields of other kinds, names that lead elsewhere, surrogates, nulls."""
        draw = self.draw
        given = agent.told(event)
        odd = [None, 7, True, [], {}, "", "../../../etc/passwd", "\ud800", "a\0b", "x" * 5_000]
        odd += [1e400, -1, [None], {"a": {}}, "/dev/zero", "/", "\u202e<kept-in-memory>"]
        for field in draw.sample(sorted(given), draw.randrange(1, 4)):
            given[field] = draw.choice(odd)
        return MAY, agent.run(event, json.dumps(given).encode())

    # --- files -------------------------------------------------------------------------------

    def corrupt_file(self, agent, event, mended):
        """A file of the hooks with other bytes, or with something else in its place."""
        places = agent.places
        agent.run("PreCompact", self.usual(agent, "PreCompact"))
        there = [places.words, places.config, places.progress, places.failures, places.installed]
        for folder in (places.sessions, places.capsules, places.queue):
            if os.path.isdir(folder):
                there += [os.path.join(folder, name) for name in os.listdir(folder)]
        path = self.draw.choice(there)
        how = self.draw.randrange(4)
        mended.callback(_mend, agent, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if how == 0:
            Path(path).write_bytes(self.draw.randbytes(self.draw.randrange(3_000)))
        elif how == 1:
            Path(path).write_bytes(b"")
        elif how == 2:
            _gone(path)
            os.makedirs(path)
        else:
            _gone(path)
            os.symlink(agent.cwd / "main.py", path)
        return MAY, agent.run(event, self.usual(agent, event))

    def corrupt_transcript(self, agent, event, mended):
        """A transcript of anything."""
        kept = agent.transcript.read_bytes()
        mended.callback(agent.transcript.write_bytes, kept)
        some = bytearray(kept)
        for _ in range(self.draw.randrange(1, 60)):
            some[self.draw.randrange(len(some))] = self.draw.randrange(256)
        agent.transcript.write_bytes(bytes(some[: self.draw.randrange(len(some))]))
        return MAY, agent.run(event, self.usual(agent, event))

    def no_store(self, agent, event, mended):
        """No hooks any more, or no store, or a file in its place."""
        aside = f"{agent.places.hooks}.aside"
        os.rename(agent.places.hooks, aside)

        def back():
            _gone(agent.places.hooks)
            os.rename(aside, agent.places.hooks)

        mended.callback(back)
        if self.draw.random() < 0.5:
            Path(agent.places.hooks).write_text("no folder")
        command = [sys.executable, "-I", "-S", entry.__file__, agent.host, event]
        done = subprocess.run(  # noqa: S603, PLW1510 - our own hook
            [*command, agent.places.memory], input=self.usual(agent, event), capture_output=True
        )
        assert b"systemMessage" in done.stdout, done
        return MUST, done

    # --- room --------------------------------------------------------------------------------

    def no_room(self, agent, event, _mended):
        """No file may grow."""
        limit = self.draw.choice([0, 100, 40_000])

        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        if os.path.isdir(agent.places.sessions):
            shutil.rmtree(agent.places.sessions)
        event = self.draw.choice(["PreCompact", "Stop", "SessionEnd"])
        verdict = MUST if limit < 40_000 else MAY
        return verdict, agent.run(event, self.usual(agent, event), preexec_fn=small)

    def full_disk(self, agent, _event, mended):
        """The store's file system has no room; the failures are noted where they have theirs."""
        store = Path(tempfile.mkdtemp(dir=self.disk))
        mended.callback(shutil.rmtree, store)
        full = Agent(agent.transcript.parent, agent.host, agent.session, store / "s")
        filler = store / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4_096))
        event = self.draw.choice(["PreCompact", "Stop", "SessionEnd", "PostCompact"])
        done = full.run(event, self.usual(full, event), alone=False)
        assert failures.read(full.places.failures), done
        return MAY, done

    # --- time --------------------------------------------------------------------------------

    def kill(self, agent, event, _mended):
        """The host kills the hook, at any moment; the next one finds everything in order."""
        Path(agent.places.started).touch()
        command = [sys.executable, "-I", "-S", entry.__file__, agent.host, event]
        made = subprocess.Popen(  # noqa: S603 - our own hook
            [*command, agent.places.memory],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with contextlib.suppress(OSError):
            made.stdin.write(self.usual(agent, event))
            made.stdin.close()
        time.sleep(self.draw.random() * 0.08)
        made.send_signal(self.draw.choice([signal.SIGKILL, signal.SIGTERM]))
        made.wait()
        again = agent.run(event, self.usual(agent, event))
        assert again.returncode == 0, again
        _checked(agent, event, again.stdout, "after a kill")
        return KILLED, again

    def locked_session(self, agent, event, mended):
        """Another hook of the session hangs."""
        os.makedirs(agent.places.sessions, exist_ok=True)
        name = f"{agent.host}.{agent.session}.json.lock"
        mended.enter_context(files.locked(os.path.join(agent.places.sessions, name), 5.0))
        verdict = MAY if event in ("SessionEnd", "SessionStart") else MUST
        return verdict, agent.run(event, self.usual(agent, event))

    def locked_words(self, agent, _event, mended):
        """Somebody writes the index of words, and does not end."""
        os.makedirs(agent.places.texts, exist_ok=True)
        made = sqlite3.connect(agent.places.words, isolation_level=None)
        mended.callback(_gone, agent.places.words)
        mended.callback(made.close)
        made.execute("CREATE TABLE IF NOT EXISTS about (key, value)")
        made.execute("BEGIN EXCLUSIVE")
        prompt = json.dumps(agent.told("UserPromptSubmit", prompt="What quota has Zephyr got?"))
        return MUST, agent.run("UserPromptSubmit", prompt.encode())

    def pipe_transcript(self, agent, event, mended):
        """A pipe in the place of the transcript."""
        kept = agent.transcript.with_suffix(".aside")
        agent.transcript.rename(kept)
        mended.callback(kept.replace, agent.transcript)
        os.mkfifo(agent.transcript)
        given = agent.told(event, transcript_path=str(agent.transcript))
        return MAY, agent.run(event, json.dumps(given).encode())

    def silent_helper(self, agent, event, mended):
        """Somebody listens as the helper does, and never answers."""
        here = os.getcwd()
        os.chdir(agent.places.hooks)
        made = socket.socket(socket.AF_UNIX)
        mended.callback(made.close)
        mended.callback(_gone, agent.places.socket)
        _gone(agent.places.socket)
        made.bind("helper.sock")
        made.listen()
        os.chdir(here)
        return MUST, agent.run(event, self.usual(agent, event))

    def open_input(self, agent, _event, mended):
        """The host never ends its input."""
        reading, writing = os.pipe()
        mended.callback(os.close, writing)
        os.write(writing, b'{"session_id": ')
        command = [sys.executable, "-I", "-S", entry.__file__, agent.host, "SessionEnd"]
        done = subprocess.run(  # noqa: S603, PLW1510 - our own hook
            [*command, agent.places.memory], stdin=reading, capture_output=True, timeout=60
        )
        os.close(reading)
        return MUST, done


def _hashes(agent):
    """Return the bytes of everything that is the agent's own."""
    found = [agent.transcript, *sorted(agent.cwd.rglob("*"))]
    return {one: hashlib.sha256(one.read_bytes()).digest() for one in found if one.is_file()}


def _count(agent):
    """Return the number of the last failure, which grows."""
    slots = files.read(agent.places.failures, 1 << 20) if _is_file(agent.places.failures) else b""
    numbers = [entry._count(slots[at : at + entry.SIZE]) for at in range(0, len(slots), entry.SIZE)]
    return max(numbers, default=0)


def _is_file(path):
    return os.path.isfile(path) and not os.path.islink(path)


def _checked(agent, event, out, name):
    """Check what a hook printed; return whether it told a failure."""
    if not out:
        return False
    if event == "PreCompact" and agent.host == "claude-code" and out.startswith(KEEP[:20].encode()):
        return False
    made = json.loads(out)
    allowed = {"hookSpecificOutput", "systemMessage", "decision", "reason"}
    assert isinstance(made, dict), name
    assert set(made) <= allowed, (name, made)
    if event in ("PreCompact", "PostCompact", "SessionEnd"):
        assert set(made) <= {"systemMessage"}, (name, made)
    return "systemMessage" in made


def _mend(agent, path):
    _gone(path)
    failures.prepare(agent.places.failures)


def _gone(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--disk", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="warmset-hooks-") as folder:
        broken = Broken(Path(folder), options.seed, options.disk)
        for at in range(options.runs):
            broken.once()
            if at % 500 == 499:
                print(f"{at + 1:,} runs: {dict(sorted(broken.seen.items()))}", flush=True)
    print(f"{options.runs:,} runs, nothing wrong: {dict(sorted(broken.seen.items()))}")
    assert threading.active_count() == 1


if __name__ == "__main__":
    main()
