"""What users can call is what is written down: names, parameters, defaults, how fields compare."""

from __future__ import annotations

import difflib
import sys

import pytest

from tests import signatures


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="others print signatures otherwise")
def test_the_public_api_is_what_is_written_down():
    written = signatures.PLACE.read_text("utf-8").splitlines()
    found = list(signatures.lines())
    changed = [*difflib.unified_diff(written, found, lineterm="", n=0)][2:]
    assert not changed, "\n".join(changed)
