"""The official conformance suite: every scenario that applies passes, the rest has its reason."""

from __future__ import annotations

import json

import pytest

from tests.conformance.scenarios import REVISIONS, SCENARIOS, SUITE
from tests.conformance.suite import RESULTS, Unavailable, command, run

KEPT = json.loads(RESULTS.read_text())


def failures(results):
    return {
        f"{revision} {name}": one["failed"]
        for revision, scenarios in results["revisions"].items()
        for name, one in scenarios.items()
        if one.get("failed")
    }


def unknown(results):
    return sorted(
        name
        for scenarios in results["revisions"].values()
        for name, one in scenarios.items()
        if "judged" not in one and not one["not applicable"]
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What the suite finds now; it is not there on every machine."""
    try:
        command()
    except Unavailable as error:
        pytest.skip(str(error))
    return run(tmp_path_factory.mktemp("conformance"))


def test_every_scenario_that_applies_passes(results):
    assert failures(results) == {}
    assert unknown(results) == []
    for revision in REVISIONS:
        assert results["revisions"][revision].keys() == KEPT["revisions"][revision].keys()


def test_the_results_that_are_kept_are_those_of_this_list():
    assert KEPT["suite"] == SUITE
    assert list(KEPT["revisions"]) == list(REVISIONS)
    assert failures(KEPT) == {}
    every = {name: one for found in KEPT["revisions"].values() for name, one in found.items()}
    assert every.keys() == SCENARIOS.keys()
    for name, one in every.items():
        assert SCENARIOS[name] == one.get("judged", one.get("not applicable")), name
        assert "judged" not in one or one["passed"] > 0, name
