"""Nothing crosses from one tenant to another, or from one conversation into another's ids."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from warmset import Filter, Memory
from warmset.errors import InvalidInputError, NotFound

# A separator that is glued between names would make these pairs one.
PAIRS = [
    (("acme", "trip"), ("globex", "trip")),
    (("a\0b", "c"), ("a", "b\0c")),
    (("A", "trip"), ("a", "trip")),
    (("é", "trip"), ("e\u0301", "trip")),
    (("\ud800", "trip"), ("\ufffd", "trip")),
]


@pytest.fixture(params=["held", "reopened"])
def both(request, tmp_path, bag):
    """Opens one store for two tenants."""
    with ExitStack() as handles:

        def opened(first, second):
            made = []
            for _ in range(2 if request.param == "reopened" else 1):
                for memory in made:
                    memory.close()
                made = [
                    handles.enter_context(Memory.open(tmp_path, embedder=bag, tenant=tenant))
                    for tenant in (first[0], second[0])
                ]
                for memory, (_, name), word in zip(made, (first, second), "xy", strict=True):
                    memory.conversation(name).sync([said(f"secret of {word}"), said("yes")])
            return made

        yield opened


def said(text):
    return {"role": "user", "content": text}


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_tenants_do_not_see_each_other(both, first, second):
    one, other = both(first, second)
    assert one.flush()
    for memory, (_, name), word in ((one, first, "x"), (other, second, "y")):
        conversation = memory.conversation(name)
        assert memory.conversations() == [name]
        assert memory.stats()["messages"] == len(conversation) == 2
        for where in (None, Filter(branches=True), Filter(ids=range(100)), Filter(kind="turn")):
            found = memory.search("secret", k=100, where=where)
            assert set(found.ids) <= set(conversation.ids)
            assert found[0].summary == f"secret of {word}"
        assert f"secret of {'y' if word == 'x' else 'x'}" not in str(
            conversation.window("secret?", budget=9_000).messages
        )
    for id_ in other.conversation(second[1]).ids:
        with pytest.raises(NotFound):
            one.conversation(first[1]).fetch(id_)
        with pytest.raises(NotFound):
            one.conversation(second[1]).fetch(id_)
    with pytest.raises(InvalidInputError, match="tenant"):
        one.search("secret", where=Filter(tenant=2))


def test_a_conversation_does_not_see_another():
    with Memory.open(None, embedder="lexical") as memory:
        one, other = memory.conversation("one"), memory.conversation("other")
        (mine,) = one.append(said("the blue kite"))
        (theirs,) = other.append(said("the blue kite, again"))
        assert one.search("kite")[0].id == mine
        assert len(one.search("kite")) == 1
        assert set(memory.search("kite").ids) == {mine, theirs}
        with pytest.raises(NotFound, match="'one' has no message"):
            one.fetch([mine, theirs])
        with pytest.raises(InvalidInputError, match="search the memory"):
            one.search("kite", where=Filter(conversation="other"))


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (Filter(role="assistant"), [2]),
        (Filter(role="user"), [1, 3]),
        (Filter(role="nobody"), []),
        (Filter(conversation="b"), [3]),
        (Filter(conversation="nothing there"), []),
        (Filter(since="2024-01-02"), [2, 3]),
        (Filter(before="2024-01-02"), [1]),
        (Filter(since="2024-01-02", before="2024-01-03"), [2]),
        (Filter(since="2025-01-02"), []),
        (Filter(ids=[1, 3, 99]), [1, 3]),
        (Filter(ids=[]), []),
        (Filter(exclude=[1]), [2, 3]),
        (Filter(ids=[1, 2], exclude=[2]), [1]),
    ],
    ids=repr,
)
def test_filters(where, found):
    with Memory.open(None, embedder="lexical") as memory:
        ids = memory.conversation("a").append(said("kite one"), at="2024-01-01")
        ids += memory.conversation("a").append(
            {"role": "assistant", "content": "kite two"}, at="2024-01-02"
        )
        ids += memory.conversation("b").append(said("kite three"), at="2024-01-03")
        assert ids == [1, 2, 3]
        assert sorted(memory.search("kite", where=where).ids) == found
