"""Hits with scores and signals of one's own, as a search returns them."""

from __future__ import annotations

import numpy as np

from warmset._core import SearchSignals
from warmset.retrieve.hits import SIGNALS, Found


def made_hits(ids, scores, *, by="lexical", signals=None):
    """Return hits, best first, with some signals; the others are 0."""
    nothing = [0.0] * len(ids)
    columns = (
        np.array(ids, np.int64),
        np.array(scores, np.float64),
        SearchSignals([(signals or {}).get(name, nothing) for name in SIGNALS]),
    )
    return Found(None, columns, by=by, why=None)
