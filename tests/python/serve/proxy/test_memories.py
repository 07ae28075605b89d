"""The handles of tenants: how many are kept, and which ones are given up."""

from __future__ import annotations

import pytest

from warmset.serve.proxy.memories import Memories


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens memories of which some are kept."""
    made = []

    def start(most):
        made.append(
            Memories(tmp_path / "s", {"embedder": "lexical", "durability": "os"}, most=most)
        )
        return made[-1]

    yield start
    for one in made:
        one.close()


def used(memories, tenant):
    """Use the memory of a tenant, and return it."""
    with memories.of(tenant) as memory:
        memory.conversation("x").append([{"role": "user", "content": tenant}])
        return memory


def test_so_many_are_kept_and_those_go_that_were_not_used_for_longest(opened):
    memories = opened(2)
    first = {name: used(memories, name) for name in "ab"}
    assert used(memories, "b") is first["b"]
    assert used(memories, "a") is first["a"]
    used(memories, "c")
    assert used(memories, "a") is first["a"]
    assert used(memories, "b") is not first["b"]


def test_what_is_in_use_is_kept_whatever_its_age(opened):
    memories = opened(1)
    with memories.of("a") as held:
        for name in "bcb":
            used(memories, name)
        held.conversation("x").append([{"role": "user", "content": "hi"}])
        assert used(memories, "a") is held
        assert used(memories, "a") is held
    assert used(memories, "a") is held
