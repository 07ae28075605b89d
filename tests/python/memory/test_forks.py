"""Processes that fork with a store open: pre-fork servers, job queues, pools of processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import forked
import pytest

from warmset import Memory
from warmset._support import forks
from warmset.engine import leases
from warmset.errors import InvalidInputError, NotAStore

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")


def runs(name, path):
    """Run one of the programs in a process of its own; gives what it wrote."""
    done = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning"]  # noqa: RUF005
        + [forked.__file__, name, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "ok\n"
    return done.stderr


@pytest.mark.parametrize(
    "name",
    [
        "prefork",
        "prefork_interval",
        "prefork_spool",
        "cells",
        "exclusive",
        "locks",
        "busy",
        "killed",
        "grandchild",
        "first_import",
        "lazy_import",
        "own_import",
        "compaction",
        "pool_fork",
        "pool_spawn",
        "pool_forkserver",
    ],
)
def test_children_open_the_store_and_parents_go_on(name, tmp_path):
    assert runs(name, tmp_path / "store") == ""


@pytest.mark.usefixtures("weights")
def test_a_child_uses_the_model_of_its_parent(tmp_path):
    runs("model", tmp_path / "store")


SERVER = """
import json, os
from bag import Bag
from warmset import Memory
from warmset._support import forks
from warmset.errors import Forked

before = Memory.open({path!r}, embedder=Bag())
before.conversation("master").append({{"role": "user", "content": "opened before the workers"}})
mine = None

def app(environ, start_response):
    global mine
    if mine is None:
        try:
            before.search("workers")
        except Forked:
            before.close()
            mine = Memory.open({path!r}, embedder=Bag())
    mine.conversation("web").append({{"role": "user", "content": environ["PATH_INFO"]}})
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps([os.getpid(), len(mine.conversation("web"))]).encode()]
"""


def test_a_server_that_loads_the_program_before_it_forks_its_workers(tmp_path):
    pytest.importorskip("gunicorn")
    path = tmp_path / "store"
    (tmp_path / "served.py").write_text(SERVER.format(path=str(path)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "served:app", "--preload", "--workers=2"]
    command += ["--graceful-timeout=5"]
    command += [f"--bind=127.0.0.1:{port}", f"--pythonpath={tmp_path},{forked.SUPPORT}"]
    command += ["--no-control-socket"] if "--no-control-socket" in _help() else []
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:  # noqa: S603
        try:
            answers = [_get(port, f"/turn/{n}") for n in range(12)]
            workers = {worker for worker, _ in answers}
            os.kill(next(iter(workers)), signal.SIGKILL)  # another one takes its place
            answers += [_get(port, f"/turn/{n}") for n in range(12, 30)]
        finally:
            server.send_signal(signal.SIGTERM)
            log = server.communicate(timeout=90)[1]
    assert server.returncode == 0, log
    assert server.pid not in {worker for worker, _ in answers}
    assert "Traceback" not in log, log
    with Memory.open(path, embedder="lexical") as memory:
        log = memory.conversation("web")
        stored = [log.fetch(id_)["content"] for id_ in log.ids]
        assert {f"/turn/{n}" for n in range(30)} <= set(stored)
        assert len(memory.conversation("master")) == 1


def _help():
    return subprocess.run(
        [sys.executable, "-m", "gunicorn", "--help"], capture_output=True, text=True, check=True
    ).stdout


def _get(port, path):
    """Ask until somebody answers: the server may not be up, or a worker has just been killed."""
    for _ in range(100):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
                return json.load(answer)
        except OSError:
            time.sleep(0.1)
    raise AssertionError("no answer")


@pytest.mark.parametrize("what", ["open", "close"])
def test_a_store_that_opens_or_closes_slowly_keeps_no_other_one_waiting(
    what, tmp_path, monkeypatch, bag
):
    slow, begun, go_on = tmp_path / "slow", threading.Event(), threading.Event()

    def wait(engine):
        if engine.store.path == slow:
            begun.set()
            assert go_on.wait(20)

    class Slow(leases.Engine):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            if what == "open":
                wait(self)

        def close(self, timeout):
            if what == "close":
                wait(self)
            super().close(timeout)

    monkeypatch.setattr(leases, "Engine", Slow)
    first = threading.Thread(target=lambda: Memory.open(slow, embedder=bag).close())
    first.start()
    assert begun.wait(10)
    with Memory.open(tmp_path / "other", embedder=bag) as memory:
        memory.conversation("log").append({"role": "user", "content": "at once"})
    opened = []
    second = threading.Thread(target=lambda: opened.append(Memory.open(slow, embedder=bag)))
    second.start()
    time.sleep(0.1)
    assert not opened, "the same path waits"
    go_on.set()
    first.join()
    second.join()
    opened[0].conversation("log").append({"role": "user", "content": "again"})
    opened[0].close()
    assert not leases._places


def test_an_open_that_fails_leaves_nothing_behind(tmp_path, bag):
    (tmp_path / "file").write_text("no store")
    for _ in range(2):
        with pytest.raises(NotAStore):
            Memory.open(tmp_path / "file", embedder=bag)
    assert not leases._places
    with Memory.open(tmp_path / "store", embedder=bag):
        with pytest.raises(InvalidInputError, match="open in this process"):
            Memory.open(tmp_path / "store", embedder="lexical")
        assert len(leases._places) == 1
    assert not leases._places


def test_locks_are_found_while_another_thread_makes_some(monkeypatch):
    class Changing:
        tries = 0

        def __iter__(self):
            self.tries += 1
            if self.tries < 3:
                raise RuntimeError("Set changed size during iteration")
            return iter((lock,))

    lock = forks.Lock()
    monkeypatch.setattr(forks, "_locks", Changing())
    assert forks._all_locks() == [lock]
