"""Records by themselves: limits, sources, what a newer version wrote, and which twin is which."""

from __future__ import annotations

import numpy as np
import pytest

from warmset.errors import InvalidInputError, TooLarge
from warmset.messages.prefix import Prefix, PrefixHash
from warmset.native import Add, ColdStore, Log, RemoveBelow, RemoveEntries
from warmset.options import MAX_TURN
from warmset.store.derived import Derived, derived_draft
from warmset.store.descriptions import Described, described, description_draft, read_parts, turn_of
from warmset.store.records import (
    EMBEDDING,
    REMOVED,
    Identity,
    Removal,
    TurnMeta,
    VectorMeta,
    as_kept,
    dump,
    key_of,
    load,
    names_of,
    turn_draft,
    vectors_of,
)

KEY = [b"t", b"c"]


def test_a_message_may_have_as_many_bytes_as_are_allowed():
    payload = bytes(MAX_TURN)
    assert turn_draft(KEY, TurnMeta(at=1.0), payload)[3] is payload
    with pytest.raises(TooLarge):
        turn_draft(KEY, TurnMeta(at=1.0), payload + b"x")


def test_the_meta_of_a_turn_is_read_as_it_was_written():
    behind = Prefix.decode(PrefixHash(system="s").prefix().encode())
    one = TurnMeta(
        at=1.5, speaker="Ann", session="3", dialect="gemini", parent=0, extra={"a": [1]},
        behind=behind,
    )  # fmt: skip
    assert TurnMeta.decode(one.encode()) == one
    assert TurnMeta.decode(TurnMeta(at=1.5).encode()) == TurnMeta(at=1.5)
    for name in ("by", "session", "parent", "meta"):
        with pytest.raises(InvalidInputError, match=name):
            TurnMeta.decode(dump({"at": 1.0, name: 1.5}))


@pytest.mark.parametrize("name", ["log", "log/1", "ö", "\ud800", "\udfff x"])
def test_any_text_may_be_a_name(name):
    assert names_of(tuple(key_of(name, f"{name} 2"))) == (name, f"{name} 2")
    with pytest.raises(InvalidInputError, match="conversation"):
        key_of(name, "")


def test_a_dialect_that_only_a_newer_version_knows_is_none():
    data = TurnMeta(at=1.0, dialect="openai", parent=3).encode()
    assert TurnMeta.decode(data) == TurnMeta(at=1.0, dialect="openai", parent=3)
    newer = data.replace(b"openai", b"of 2030")
    assert TurnMeta.decode(newer) == TurnMeta(at=1.0, parent=3)


def test_vectors_have_all_turns_of_which_they_have_words_as_sources():
    meta = VectorMeta(of=5, view="context", dim=2, generation=3)
    rows = np.array([[1, 2], [3, 4]], np.float32)
    kind, key, data, payload, sources = meta.draft(KEY, rows, [4, 6])
    assert (kind, key, sources) == ("half_embedding", KEY, (5, 4, 6))
    assert VectorMeta.decode(data) == meta
    assert np.array_equal(vectors_of(payload, meta.dim), rows)


def test_vectors_have_half_precision_and_those_of_earlier_versions_are_rounded():
    rows = np.array([[1 / 3, -1e-5], [2049 / 4096, 2051 / 4096]], np.float32)
    *_, payload, _ = VectorMeta(of=5, view="turn", dim=2, generation=3).draft(KEY, rows)
    assert len(payload) == 2 * rows.size
    nearest = [[0.333251953125, -1.0013580322265625e-05], [0.5, 0.5009765625]]  # ties to even
    for read in (
        vectors_of(payload, 2),
        vectors_of(rows.astype("<f4").tobytes(), 2, EMBEDDING),
        as_kept(rows),
        as_kept(as_kept(rows)),
    ):
        assert read.dtype == np.float32
        assert np.array_equal(read, np.array(nearest, np.float32))


@pytest.mark.parametrize("probe", [None, np.array([0.6, 0.8], np.float32)])
def test_an_embedder_is_read_as_it_was_written(probe):
    one = Identity(name="n", fingerprint=None, dim=2, generation=4, probe=probe)
    _, _, meta, payload, _ = one.draft()
    read = Identity.decode(load(meta), payload)
    assert (read.name, read.fingerprint, read.dim, read.generation) == ("n", None, 2, 4)
    assert (read.probe is None) == (probe is None)
    assert probe is None or np.array_equal(read.probe, probe)


# --- derived --------------------------------------------------------------------------------------


@pytest.fixture
def store():
    with ColdStore.open(None) as made:
        yield made


def put(store, derived, kind="item", tenant="t", conversation="c", *, payload=b"p", **fields):
    (id_,) = store.append([derived_draft(kind, tenant, conversation, fields, payload)])
    (record,) = (one for one in store.page(id_) if one.seq == id_)
    return derived.take(record), record


def test_records_are_listed_by_kind_tenant_and_conversation(store):
    derived = Derived()
    wanted = {}
    for kind in ("item", "summary"):
        for tenant in ("t", "u"):
            for conversation in ("c", "d", None):
                made, record = put(store, derived, kind, tenant, conversation)
                wanted[kind, tenant, conversation] = made.id
                version = derived.version(kind, tenant)
                assert derived.take(record) is None, "it is there already"
                assert derived.version(kind, tenant) == version
    assert (len(derived), derived.last) == (12, made.id)
    for (kind, tenant, conversation), id_ in wanted.items():
        if conversation is not None:
            assert [one.id for one in derived.of(kind, tenant, conversation)] == [id_]
        whole = [id_ for (k, t, _), id_ in wanted.items() if (k, t) == (kind, tenant)]
        assert [one.id for one in derived.of(kind, tenant)] == whole


def among(*gone):
    """Return what tells which ids are gone."""
    return lambda _scope, ids: [id_ for id_ in ids if id_ in gone]


def test_what_is_erased_is_neither_listed_nor_held_and_its_twin_is(store):
    derived = Derived()
    old, _ = put(store, derived, what="w")
    new, _ = put(store, derived, what="w")
    other, _ = put(store, derived, what="w", payload=b"q")
    assert set(derived.held("t", "c", "w").values()) == {new.id, other.id}
    version = derived.version("item", "t")
    assert [one.id for one in derived.forget(among(old.id))] == [old.id]
    assert derived.version("item", "t") != version
    assert set(derived.held("t", "c", "w").values()) == {new.id, other.id}
    assert (old.id in derived, new.id in derived) == (False, True)
    newest, _ = put(store, derived, what="w")
    elsewhere, _ = put(store, derived, tenant="u", what="w")
    assert set(derived.held("t", "c", "w").values()) == {newest.id, other.id}
    derived.forget(among(newest.id))
    assert set(derived.held("t", "c", "w").values()) == {new.id, other.id}
    assert set(derived.held("u", "c", "w").values()) == {elsewhere.id}
    derived.forget(among(new.id, other.id, elsewhere.id))
    assert (dict(derived.held("t", "c", "w")), len(derived)) == ({}, 0)
    assert list(derived.of("item", "t")) == []


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.001, 1.001, True, "1"])
def test_a_confidence_is_from_0_to_1(store, confidence):
    good = confidence in (0.0, 1.0) and not isinstance(confidence, (bool, str))
    derived = Derived()
    if good:
        assert put(store, derived, "distilled", confidence=confidence)[0] is not None
    else:
        with pytest.raises(InvalidInputError):
            put(store, derived, "distilled", confidence=confidence)


# --- descriptions ---------------------------------------------------------------------------------


def test_a_description_counts_if_the_callables_in_use_made_all_of_it(store):
    names = {"summary_line": "a", "decisions": "b"}
    derived = Derived()
    parts = {"summary_line": "a line", "decisions": False}
    (id_,) = store.append([("turn", KEY, b"{}", b"{}", ())])
    (seq,) = store.append([description_draft("t", "c", id_, names, parts)])
    (record,) = store.page(seq)
    made = derived.take(record)
    assert turn_of(made) == id_
    assert described(made, names) == Described(seq, decision=False), "not left to the rule"
    for other in (
        {},
        {"summary_line": "a"},
        {**names, "entities": "c"},
        {**names, "decisions": "c"},
    ):
        assert described(made, other) is None
    assert read_parts(record.payload) == {"summary_line": "a line"}
    plain = description_draft("t", "c", id_, {"summary_line": "a"}, {"summary_line": "a line"})
    (seq,) = store.append([plain])
    made = derived.take(store.page(seq)[0])
    assert described(made, {"summary_line": "a"}) == Described(seq, decision=None)


def test_a_description_of_which_a_callable_failed_does_not_count_and_one_of_several_turns_neither(
    store,
):
    names = {"summary_line": "a", "decisions": "b"}
    ids = store.append([("turn", KEY, b"{}", b"{}", ())] * 2)
    half = description_draft("t", "c", ids[0], names, {"summary_line": "a line"})
    seqs = store.append([half, (*half[:4], tuple(ids)), (*half[:4], ())])
    derived = Derived()
    made = [derived.take(record) for record in store.page(seqs[0])]
    assert [turn_of(one) for one in made] == [ids[0], None, None]
    assert described(made[0], names) is None
    assert described(made[0], {"summary_line": "a"}) == Described(seqs[0], decision=None)


@pytest.mark.parametrize(
    ("payload", "parts"),
    [
        (b"", {}),
        (b"{", {}),
        (b"[]", {}),
        (b'{"summary_line": 1, "entities": ["a"]}', {"entities": ["a"]}),
        (b'{"summary_line": "a", "entities": ["a", 1]}', {"summary_line": "a"}),
        (b'{"entities": "a"}', {}),
    ],
)
def test_parts_of_another_form_are_left_out(payload, parts):
    assert read_parts(payload) == parts


def test_a_removal_says_what_it_takes_away():
    talk = ("t", "c")

    def last(store):
        *_, one = (Removal.decode(one.payload) for one in store.page(1) if one.kind == REMOVED)
        return one.below, [id_ for ids in one.entries for id_ in ids]

    with ColdStore.open(None) as store:
        log = Log(store)
        ids = [one.id for one in log.write([Add(talk, b"x") for _ in range(4)])]
        log.write([RemoveEntries(talk, [ids[0], ids[1], ids[3]])])
        assert last(store) == (False, [ids[0], ids[1], ids[3]])
        log.write([RemoveBelow(("t",))])
        assert last(store) == (True, [])


def test_a_removal_of_another_form_is_refused():
    for payload in (b"", b"\x02", b"\2" + bytes(7), b"\1" + bytes(7) + b"\1" + bytes(7)):
        with pytest.raises(ValueError, match="ranges of ids"):
            Removal.decode(payload)
