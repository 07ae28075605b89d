"""Where imports of transcripts are tried."""

from __future__ import annotations

import pytest


@pytest.fixture
def store(tmp_path):
    """A place for a store, where nothing is yet."""
    return tmp_path / "store"


@pytest.fixture
def files(tmp_path):
    """An empty folder for what is imported."""
    place = tmp_path / "files"
    place.mkdir()
    return place
