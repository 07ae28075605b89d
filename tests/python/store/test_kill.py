"""A real writer is killed at random moments, and what it had acknowledged is there, exactly.

``WARMSET_KILLS=20000`` kills more of them, ``WARMSET_SEED`` other ones.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "support" / "cold_kills.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="writers are forked")
def test_what_a_killed_writer_had_acknowledged_is_there(tmp_path):
    kills = int(os.environ.get("WARMSET_KILLS", "500"))
    seed = int(os.environ.get("WARMSET_SEED", "1"))
    print(f"{kills} kills, seed {seed}")
    run = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, PROGRAM, tmp_path, str(seed), str(kills)],
        stdout=subprocess.PIPE,
        check=True,
    )
    told = json.loads(run.stdout)
    print(told)
    assert told["wrong"] == []
    assert told["kills"] == kills
    assert told["acknowledged"] > kills, "most writers came to do something"
