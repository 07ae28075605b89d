"""Ctrl-C ends every command and every `with` block; `interrupting.py` measures how soon."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading

import interrupting
import pytest

from warmset import Memory
from warmset.cli import entry

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("interrupted")
    interrupting.prepare(made)
    return made


@pytest.mark.usefixtures("weights")
@pytest.mark.parametrize("name", interrupting.cases(interrupting.Path()))
def test_a_command_and_a_block_end_at_once_at_any_moment(name, folder, monkeypatch):
    # Checked locks have Python in which Ctrl-C leaves them taken; plain ones have none.
    monkeypatch.setenv("WARMSET_CHECK_LOCKS", "0")
    line, limit = interrupting.cases(folder)[name]
    chance = random.Random(name)
    for number, moment in enumerate((0.0, chance.uniform(0, 0.3), chance.uniform(0.3, 2))):
        found = interrupting.interrupt(line, moment, number)
        assert found is None or interrupting.verdict(name, limit + 10, found) is None, found


CAUGHT = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from warmset import Memory
from warmset.cli import entry
begun = threading.Event()
def embed(texts):
    begun.set()
    threading.Event().wait()
try:
    with Memory.open(None, embedder=embed) as memory:
        memory.conversation("log").append([{"role": "user", "content": "x"}] * 9)
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(9)
except KeyboardInterrupt:
    print("caught")
    sys.exit(130)
"""


@pytest.mark.parametrize("caught", [True, False])
def test_a_slow_embedder_does_not_hold_up_a_program_that_was_interrupted(caught):
    code = CAUGHT if caught else CAUGHT.replace("except KeyboardInterrupt", "except OSError")
    done = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )  # the embedder never returns
    assert done.returncode == (130 if caught else -signal.SIGINT), done.stderr
    assert done.stdout == ("caught\n" if caught else "")


@pytest.mark.parametrize(
    ("error", "waits"), [(None, True), (SystemExit, True), (ValueError, False)]
)
def test_only_a_block_that_ends_well_waits_for_pending_vectors(error, waits, bag):
    go_on, made = threading.Event(), []
    bag.before = lambda _texts: made.append(go_on.wait(60))
    timer = threading.Timer(0.3 if waits else 20, go_on.set)

    def use():
        with Memory.open(None, embedder=bag) as memory:
            memory.conversation("log").append([{"role": "user", "content": "x"}] * 3)
            timer.start()
            if error is not None:
                raise error

    if error is None:
        use()
    else:
        with pytest.raises(error):
            use()
    assert bool(made) is waits
    timer.cancel()
    go_on.set()


BACKGROUND = """
import os, signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
from warmset.cli import app, entry
command = app.run
def interrupted(tokens):
    os.kill(os.getpid(), signal.SIGINT)
    return command(tokens)
app.run = interrupted
entry.main()
"""


def test_a_command_in_the_background_goes_on_ignoring_the_signal(folder):
    done = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-c", BACKGROUND, "history", str(folder / "store"), "--json"],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_a_program_that_calls_the_command_has_its_handler_back(monkeypatch):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(sys, "argv", ["warmset", "--version"])
    monkeypatch.setattr("warmset.cli.interrupts.atexit.register", lambda *_call: None)
    try:
        with pytest.raises(SystemExit) as ended:
            entry.main()
        assert ended.value.code == 0
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
