"""What all Python tests share: hypothesis profiles, the local model, an embedder without one."""

from __future__ import annotations

import importlib
import os
import sys
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import checked_locks  # noqa: F401 - before anything of warmset
import pytest
from bag import Bag
from hypothesis import settings

from warmset.embed import weights as weights_module
from warmset.errors import ModelMissing
from warmset.native import ColdStore
from warmset.prepare import PreparedCompaction
from warmset.store import options as store_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warmset.embed.weights import Weights

# Before any framework is imported: no test reports to anybody.
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("deep", deadline=None, max_examples=5_000)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
settings.load_profile(PROFILE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests of the deep profile take as long as they need."""
    if PROFILE == "deep":
        for item in items:
            item.add_marker(pytest.mark.timeout(0))


@pytest.fixture(autouse=True)
def locks_are_held() -> Iterator[None]:
    """What is guarded was used under its lock, also where the error of a check was caught."""
    yield
    if lock_checks := sys.modules.get("warmset._support.lock_checks"):
        found = list(lock_checks.FOUND)
        lock_checks.FOUND.clear()
        assert not found, "\n".join(found)


@pytest.fixture
def bag() -> Bag:
    """An embedder without a model; `type(bag)(...)` makes others."""
    return Bag()


@pytest.fixture
def busy_interpreter() -> Iterator[None]:
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores that are opened wait a moment for another process's lock, in place of two seconds."""
    hasty = SimpleNamespace(open=partial(ColdStore.open, lock_wait=0.05))
    monkeypatch.setattr(store_options, "ColdStore", hasty)


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests to local servers go past a proxy that the environment names."""
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture(scope="session")
def weights() -> Weights:
    """The official weights of the local model, wherever this machine has them from."""
    try:
        return weights_module.resolve()
    except ModelMissing as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"offline and without the model: {error}")


@pytest.fixture
def hand() -> Any:
    """A worker that runs tasks when told, with its clock."""
    preparing = importlib.import_module("preparing")
    return preparing.Hand(preparing.Clock())


@pytest.fixture
def made(hand: Any) -> Callable[..., PreparedCompaction]:
    """Makes a policy with a clock, a worker and a writer that obey."""
    writer = importlib.import_module("preparing").Writer

    def one(**options: Any) -> PreparedCompaction:
        given = {"summarizer": writer(), "clock": hand.clock, "worker": hand, "carry_tokens": 0}
        return PreparedCompaction(**{**given, **options})

    return one
