"""A few runs of everything that may go wrong while a hook runs; see `breaking_hooks`."""

from __future__ import annotations

import pytest
from breaking_hooks import Broken
from hook_sessions import HOSTS


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    return Broken(tmp_path_factory.mktemp("hooks"), seed=3)


FAULTS = [
    "malformed",
    "cut_off",
    "odd_fields",
    "corrupt_file",
    "corrupt_transcript",
    "no_room",
    "kill",
    "locked_session",
    "locked_words",
    "no_store",
    "pipe_transcript",
    "silent_helper",
    "open_input",
]


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_is_broken_the_agent_goes_on(broken, fault):
    assert {one.__name__ for one in (*broken.faults, *broken.slow)} == set(FAULTS)
    broken.faults, broken.slow, kept = [getattr(broken, fault)], [], (broken.faults, broken.slow)
    broken.slow = broken.faults
    try:
        for _ in HOSTS if fault in {"silent_helper", "open_input"} else range(4):
            broken.once()
    finally:
        broken.faults, broken.slow = kept
