"""A memory for tests of routes."""

from __future__ import annotations

import pytest

from warmset import Memory


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as made:
        yield made
