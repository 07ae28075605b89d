"""The memory of a server: opened when needed, tried again, shared by threads, left to no child."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from warmset import Memory
from warmset.errors import Closed, NotAStore, WarmsetError
from warmset.serve.mcp.opening import OpenMemory


def test_it_opens_once_for_all_threads_and_closes_for_good(tmp_path):
    held = OpenMemory(tmp_path / "s.ws", {"embedder": "lexical"})
    assert not (tmp_path / "s.ws").exists()
    found = []
    threads = [threading.Thread(target=lambda: found.append(held.get())) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(set(map(id, found))) == 1
    held.close()
    with pytest.raises(Closed):
        found[0].stats()
    with pytest.raises(Closed, match="the server has ended"):
        held.get()
    held.close()


def test_it_tries_again_after_a_failure(tmp_path):
    held = OpenMemory(tmp_path / "s.ws", {"embedder": "lexical", "mode": "read"})
    with pytest.raises(WarmsetError) as caught:
        held.get()
    assert isinstance(caught.value, NotAStore)
    Memory.open(tmp_path / "s.ws", embedder="lexical").close()
    assert held.get().stats()["messages"] == 0
    held.close()


FORKING = """
import os, sys
from pathlib import Path
from warmset.serve.mcp.opening import OpenMemory
held = OpenMemory(Path(sys.argv[1]), {"embedder": "lexical"})
held.get().remember("Said by the parent.")
child = os.fork()
if child == 0:
    held.get().remember("Said by the child.")
    held.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert len(held.get().memories()) == 2
held.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_child_of_a_fork_opens_it_anew(tmp_path):
    line = [sys.executable, "-W", "ignore", "-c", FORKING, str(tmp_path / "s.ws")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
