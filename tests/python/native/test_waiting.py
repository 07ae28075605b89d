"""Nobody waits for a lock of the core and holds the interpreter meanwhile: that could be for ever.

A long call that has a lock asks for signals now and then, which needs the interpreter. Each program
has such calls in the main thread, while other threads change the same object.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

SAVED_RETRIEVER = """
import faulthandler, sys, threading, time
from pathlib import Path
from warmset._core import Retriever
from warmset.native import ColdStore

faulthandler.dump_traceback_later(50, exit=True)
folder = Path(sys.argv[1])
store, index = ColdStore.open(folder / "store"), Retriever()
words = [f"word{n} " * 3 for n in range(2_000)]
for id_ in range(1, 40_001):
    text = " ".join(words[id_ * n % 2_000] for n in range(1, 12))
    index.add(id_, (1, 1, 1, 1, 0, 0, id_, True), text)

def change():
    time.sleep(0.004)
    index.set_live([1, 2, 3], True)

for _each in range(6):
    changing = threading.Thread(target=change)
    changing.start()
    about = {"covers": 8_000, "fingerprint": "f", "note": b"", "changes": index.changes}
    index.save(folder / "index", store, **about)
    changing.join()
"""

VERIFIED_INDEX = """
import faulthandler, sys, threading, time
import numpy as np
from warmset import native

faulthandler.dump_traceback_later(50, exit=True)
made = native.HotIndex(64)
rows = np.random.default_rng(1).normal(size=(600_000, 64)).astype(np.float32)
made.add(np.arange(600_000), rows)
place = sys.argv[1] + "/index"
made.save(place)
index = native.HotIndex.open(place)

def change():
    time.sleep(0.004)
    index.add([700_000], rows[:1])
    index.remove([700_000])

def look():
    time.sleep(0.006)
    len(index), 5 in index, index.dim

for _each in range(4):
    others = [threading.Thread(target=one) for one in (change, look)]
    for one in others:
        one.start()
    index.verify()
    for one in others:
        one.join()
"""


@pytest.mark.parametrize("program", [SAVED_RETRIEVER, VERIFIED_INDEX])
def test_a_long_call_and_changes_at_once_end(program, tmp_path):
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)  # noqa: S603
    assert (done.returncode, done.stderr) == (0, "")
