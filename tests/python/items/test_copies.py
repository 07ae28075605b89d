"""Copies of dropped messages: each goes with the last message that says the same, and no other."""

from __future__ import annotations

import pytest
from cold_rows import row
from hypothesis import HealthCheck, given, settings, strategies as st

from warmset import Memory, compact_context
from warmset.errors import Erased
from warmset.maintenance import erase_conversation
from warmset.native import ColdStore

WORDS = ("alpha", "beta", "gamma")


def said(word):
    return {"role": "user", "content": f"{word} " * 30}


def around(*messages):
    """A list of which the messages in the middle leave, when it is compacted to next to nothing."""
    tail = [{"role": ("user", "assistant")[n % 2], "content": f"later {n} " * 9} for n in range(14)]
    return [said("task"), *messages, *tail]


def dropped(place, *words):
    """Have messages leave a list; give the handle of each."""
    made = compact_context(around(*map(said, words)), memory=place, target_ratio=0.05)
    found = {words[one.id - 1]: one.handle for one in made.dropped if 0 < one.id <= len(words)}
    assert found.keys() == {*words}
    return found


@pytest.mark.parametrize("own", [1, 2, 3])
@pytest.mark.parametrize("listed", [1, 2, 3, 4])
def test_of_messages_that_say_the_same_each_has_a_turn(own, listed):
    same = said("same")
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("a")
        ids = log.append(around(*[same] * own))[1 : own + 1]
        given_list = around(*[dict(same) for _ in range(listed)])
        made = compact_context(given_list, memory=log, target_ratio=0.05)
        found = [one.store_id for one in made.dropped if 0 < one.id <= listed]
        assert found == [ids[min(n, own - 1)] for n in range(listed)], "the last for the rest"
        assert all(memory.restore(one.handle) == given_list[one.id] for one in made.dropped)


TENANTS = ("default", "other")
OPTIONS = {"embedder": "lexical", "durability": "os"}
SAID = st.lists(
    st.tuples(st.sampled_from(["default", "other"]), st.sampled_from("ab"), st.sampled_from(WORDS)),
    max_size=6,
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    turns=SAID,
    copies=st.sets(st.tuples(st.sampled_from(["default", "other"]), st.sampled_from(["", "b"]))),
    way=st.sampled_from(["conversation", "command", "ids", "items"]),
    picked=st.sets(st.integers(0, 5)),
)
def test_a_copy_goes_with_the_last_message_that_says_the_same(
    turns, copies, way, picked, tmp_path_factory
):
    path = tmp_path_factory.mktemp("copies")
    kept, ids = written(path, turns, copies)
    mine = [one for one in ids if one[1] == "default"]
    if way in ("ids", "items"):
        gone = {one[0] for at, one in enumerate(mine) if at in picked}
    else:
        gone = {one[0] for one in mine if one[2] == "a"}
    said_still = {one[3] for one in mine if one[0] not in gone}
    lost = {one[3] for one in mine if one[0] in gone} - said_still
    left = {key: handle for key, handle in kept.items() if key[0] == "other" or key[2] not in lost}
    done = erased(path, way, sorted(gone))
    for tenant in TENANTS:
        with Memory.open(path, tenant=tenant, **OPTIONS) as memory:
            for key, handle in kept.items():
                if key[0] == tenant:
                    assert restored(memory, handle) == (said(key[2]) if key in left else None)
            count = sum(len(memory.conversation(name)) for name in "ab")
            assert count == sum(one[1] == tenant and one[0] not in gone for one in ids)
    assert done.records == len(gone)
    assert done.derived == len(kept) - len(left)


def written(path, turns, copies):
    """Store copies and turns; give the handles, and the ids of the turns with what they say."""
    kept, ids = {}, []
    for tenant in TENANTS:
        with Memory.open(path, tenant=tenant, **OPTIONS) as memory:
            for name in sorted(name for whose, name in copies if whose == tenant):
                place = memory.conversation(name) if name else memory
                found = dropped(place, *WORDS)
                kept |= {(tenant, name, word): handle for word, handle in found.items()}
            for whose, name, word in turns:
                if whose == tenant:
                    (id_,) = memory.conversation(name).append(said(word))
                    ids.append((id_, tenant, name, word))
    return kept, ids


def erased(path, way, ids):
    if way == "command":
        with ColdStore.open(path) as store:
            return erase_conversation(store, "default", "a")
    with Memory.open(path, **OPTIONS) as memory:
        if way == "items":
            return memory.items.erase(*(f"turn:{id_}" for id_ in ids))
        return memory.erase(**({"ids": ids} if way == "ids" else {"conversation": "a"}))


def restored(memory, handle):
    try:
        return memory.restore(handle)
    except Erased:
        return None


def test_copies_count_once_where_they_are_named_or_in_the_conversation(tmp_path):
    with Memory.open(tmp_path, **OPTIONS) as memory:
        copies = [int(one.split(":")[1]) for one in dropped(memory, *WORDS).values()]
        (id_,) = memory.conversation("a").append(said(WORDS[0]))
        gone = memory.erase(ids=[id_, copies[0]])
        assert (gone.records, gone.derived) == (2, 0)
        log = memory.conversation("b")
        log.append(said("task"))
        dropped(log, *WORDS)
        log.append([said(word) for word in WORDS])
    with ColdStore.open(tmp_path) as store:
        inside = [one for one in store.page() if one.key[1:2] == (b"b",)]
        gone = erase_conversation(store, "default", "b")
        assert (gone.records, gone.derived) == (len(inside), 2), "and two copies of the tenant's"


@pytest.mark.parametrize("way", ["command", "conversation"])
def test_copies_of_what_a_side_chain_says_go_with_its_session(tmp_path, way):
    with Memory.open(tmp_path, **OPTIONS) as memory:
        handles = dropped(memory, *WORDS)
        inner = dropped(memory.conversation("a/side"), *WORDS)
        memory.conversation("a").append(said(WORDS[0]))
        memory.conversation("a/side").append(said(WORDS[1]), meta={"side_chain_of": "a"})
        memory.conversation("b").append(said(WORDS[2]))
    erased(tmp_path, way, [])
    with Memory.open(tmp_path, **OPTIONS) as memory:
        assert memory.conversations() == ["b"]
        assert [restored(memory, handles[word]) is None for word in WORDS] == [True, True, False]
        assert all(restored(memory, inner[word]) is None for word in WORDS)


def test_a_copy_goes_with_a_message_that_is_erased_by_its_name():
    with Memory.open(None, embedder="lexical") as memory:
        handles = dropped(memory, *WORDS)
        (id_,) = memory.conversation("a").append(said(WORDS[0]))
        gone = memory.items.erase(f"turn:{id_}")
        assert (gone.records, gone.derived) == (1, 1)
        assert [restored(memory, handles[word]) is None for word in WORDS] == [True, False, False]


def test_a_record_that_nobody_can_read_is_no_copy_and_ends_no_erasure(tmp_path):
    with Memory.open(tmp_path, **OPTIONS) as memory:
        handles = dropped(memory, *WORDS)
        memory.conversation("a").append(said(WORDS[0]))
    strange = [row(b"?", kind="item", key=(b"default",), meta=meta) for meta in (b"\xff", b"[]")]
    with ColdStore.open(tmp_path) as store:
        left = store.append(strange)
        gone = erase_conversation(store, "default", "a")
        assert (gone.records, gone.derived) == (1, 1)
        assert [store.get(id_).payload for id_ in left] == [b"?", b"?"]
    with Memory.open(tmp_path, **OPTIONS) as memory:
        assert [restored(memory, handles[word]) is None for word in WORDS][:2] == [True, False]


def test_records_whose_key_is_missing_end_no_erasure(tmp_path):
    with Memory.open(tmp_path, **OPTIONS) as memory:
        copies = [int(one.split(":")[1]) for one in dropped(memory, *WORDS).values()]
        memory.conversation("a").append(said(WORDS[0]))
    with ColdStore.open(tmp_path, encryption="keys") as store:
        store.append([row(key=(b"default", b"locked"))])
    (key,) = (tmp_path / "keys").glob("*.key")
    key.unlink()
    with ColdStore.open(tmp_path) as store:
        gone = erase_conversation(store, "default", "a")
        assert (gone.records, gone.derived) == (1, 1)
        with pytest.raises(Erased):
            store.get(copies[0])
        assert all(store.get(id_).payload for id_ in copies[1:])
