"""The oldest versions that are tested are those that pyproject.toml promises."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.frameworks.__main__ import FILES, OLDEST
from tests.frameworks.environment import TESTS

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", OLDEST)
def test_the_oldest_version_that_runs_is_the_one_that_is_promised(name):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [promised] = project["optional-dependencies"][name]
    least, tested = promised.split(">=")[1], OLDEST[name][0].split("==")[1]
    assert promised.split(">=")[0] == OLDEST[name][0].split("==")[0]
    assert tested in {least, f"{least}.0", f"{least}.0.0"}


def test_the_files_that_run_are_there():
    assert FILES.keys() == OLDEST.keys()
    assert all((TESTS / one).exists() for several in FILES.values() for one in several)
