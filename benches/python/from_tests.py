"""What the tests lend: the brute force by the canonical sum, and the vectors."""

from __future__ import annotations

import sys

from benches.python.setting import ROOT

sys.path.insert(0, str(ROOT / "tests" / "python" / "support"))

import index_vectors
import oracle_index as oracle
import real_vectors

__all__ = ["index_vectors", "oracle", "real_vectors"]
