"""Two to eight processes on one store, some of them killed: nothing that was told is untrue.

``WARMSET_PROCESSES_SECONDS=60`` runs longer, ``WARMSET_SEED`` other crowds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "support" / "cold_crowd.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_processes_that_share_a_store_and_are_killed(tmp_path):
    seconds = float(os.environ.get("WARMSET_PROCESSES_SECONDS", "8"))
    seed = int(os.environ.get("WARMSET_SEED", "1"))
    print(f"{seconds} seconds, seed {seed}")
    run = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, PROGRAM, tmp_path, str(seed), str(seconds)],
        stdout=subprocess.PIPE,
        check=True,
    )
    told = json.loads(run.stdout)
    print(told)
    assert told["wrong"] == []
    for what in ("writer", "reader", "hook", "kill", "A", "S", "R"):
        assert told["count"].get(what, 0) > 0, f"no {what}: the crowd did not do its work"
