"""What a consolidation merges: near duplicates that have the same facts, and nothing else."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from vectors_by_word import WordEmbedder

from warmset import Memory
from warmset.items import ConsolidationPolicy, NewItem
from warmset.items.consolidate import merging
from warmset.items.consolidate.merging import Read, merged
from warmset.text.said import Said

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SAME = ConsolidationPolicy()
BASE = "the harbour office opens every morning and sells tickets for the ferry to Ulm at 12 euros"
"""It has 11 terms, so that one of them may be another one."""


@pytest.fixture
def items(memory):
    return memory.items


def put(items, name, text=BASE, age=10.0, **fields):
    at = NOW - timedelta(days=age)
    fields = {"memory_type": "note", "text": text, "timestamp": at, **fields}
    items.put(NewItem(memory_id=name, **fields))


def pairs(items, policy=SAME, **options):
    found = items.consolidate(policy, now=NOW, **options)
    return {(name, into) for name, into, _reason in found.merged}


def test_the_newer_of_two_that_say_the_same_stays(items):
    put(items, "old", age=10)
    put(items, "new", BASE.replace("every morning", "each morning"), age=5)
    put(items, "elsewhere", "another text about something else", age=4)
    found = items.consolidate(SAME, now=NOW)
    assert [one[:2] for one in found.merged] == [("old", "new")]
    assert found.merged[0][2].startswith("the same facts, ")
    assert found.kept == 2
    assert pairs(items, ConsolidationPolicy(similarity=None)) == set()


@pytest.mark.parametrize(
    "other",
    [
        BASE.replace("12", "13"),
        BASE.replace("Ulm", "Bonn"),
        BASE.replace("opens", "never opens"),
        BASE.replace("opens", "doesn't open"),
        BASE.replace("ferry", "bus").replace("tickets", "coffee").replace("office", "shop"),
    ],
)
def test_what_differs_in_a_fact_a_denial_or_many_terms_is_not_merged(items, other):
    put(items, "a")
    put(items, "b", other, age=5)
    assert pairs(items) == set()


def test_all_facts_must_be_in_one_item(items):
    put(items, "a")
    put(items, "b", BASE.replace("12", "13"), age=5)
    put(items, "c", BASE.replace("Ulm", "Bonn"), age=4)
    assert pairs(items) == set()


def test_facts_may_be_more_in_the_one_that_stays_only(items):
    put(items, "less", age=10)
    put(items, "more", f"{BASE} or 15", age=5)
    assert pairs(items) == {("less", "more")}
    put(items, "more", f"{BASE} or 15", age=20)
    assert pairs(items) == set()


@pytest.mark.parametrize(
    ("field", "one", "two"),
    [
        ("memory_type", "note", "other"),
        ("conversation", "c", None),
        ("conversation", "c", "d"),
        ("session_id", "s", "t"),
        ("module_context", "m", None),
        ("pipeline", "p", "q"),
    ],
)
def test_items_of_other_types_and_scopes_are_not_merged(items, field, one, two):
    put(items, "a", **{field: one})
    put(items, "b", age=5, **{field: two})
    assert pairs(items) == set()
    put(items, "c", age=2, **{field: one})
    assert pairs(items) == {("a", "c")}


@pytest.mark.parametrize("field", ["sections", "keys", "entities"])
def test_whoever_asks_for_a_label_still_finds_it(items, field):
    put(items, "a", **{field: ["x", "y"]})
    put(items, "b", age=5, **{field: ["x"]})
    assert pairs(items) == set()
    put(items, "b", age=5, **{field: ["y", "x", "z"]})
    assert pairs(items) == {("a", "b")}


def test_a_more_trusted_item_is_not_merged_into_a_less_trusted_one(items):
    put(items, "user", origin="user")
    put(items, "web", age=5, origin="web")
    assert pairs(items) == set()
    put(items, "web", age=20, origin="web")
    assert pairs(items) == {("web", "user")}


def test_what_was_used_stays_then_what_has_a_reward_then_the_newest(items):
    put(items, "used", age=40)
    put(items, "used before", age=1)
    put(items, "good", age=30, reward=0.9)
    put(items, "new", age=2)
    put(items, "bad", age=1, reward=0.1)
    used = {"used": NOW, "used before": NOW - timedelta(1)}
    assert {into for _, into in pairs(items, used=used)} == {"used"}
    assert {into for _, into in pairs(items, used={"used before": NOW})} == {"used before"}
    assert {into for _, into in pairs(items)} == {"good"}
    items.archive("good")
    assert {into for _, into in pairs(items)} == {"used before"}
    items.archive("used before")
    assert pairs(items) == {("bad", "new"), ("used", "new")}


@pytest.mark.parametrize("many", [64, 0])
def test_of_several_that_say_the_same_the_newest_takes_an_item_in(items, many, monkeypatch):
    """They keep each other out by their labels; with many of one fact some are looked at alone."""
    monkeypatch.setattr(merging, "_MANY", many)
    put(items, "old", age=10)
    for age, word in enumerate(("each", "any", "this"), 1):
        put(items, word, BASE.replace("every", word), age=age, keys=[word])
    assert pairs(items) == {("old", "each")}


def test_what_others_need_or_the_policy_keeps_is_not_merged_away(items):
    for age, name in enumerate(("needed", "raw", "kept", "heir", "free", "stays"), 1):
        put(items, name, age=20 - age, supersedes=["first"] if name == "heir" else ())
    put(items, "made", "made of it", derived_from=["raw"], dependencies=["needed"])
    put(items, "first", "what was said at first")
    put(items, "heir", age=16, supersedes=["first"], meta={"k": 1})  # later than what it replaces
    policy = ConsolidationPolicy(keep=["kept"])
    assert pairs(items, policy) == {("free", "stays")}
    assert pairs(items, ConsolidationPolicy(keep=["kept", "free"])) == set()


def test_what_is_left_for_its_size_still_needs_others(items):
    put(items, "a", "one of two", age=100, dependencies=["b", "c"])
    put(items, "b", "two of two", age=100, dependencies=["a"])
    put(items, "c", age=10)
    put(items, "d", age=5)
    policy = ConsolidationPolicy(archive_after="90d", limit=1)
    found = items.consolidate(policy, now=NOW)
    assert (found.archived, found.merged, found.left) == ((), (), 2)
    assert pairs(items, ConsolidationPolicy(archive_after="90d", limit=3)) == {("c", "d")}


def test_hidden_items_are_neither_merged_nor_merged_into(items):
    put(items, "a", age=10)
    put(items, "superseded", age=5)
    put(items, "archived", age=5)
    put(items, "heir", "quite another text", supersedes=["superseded"])
    items.archive("archived")
    assert pairs(items) == set()
    put(items, "goes", age=100)
    old = ConsolidationPolicy(archive_after="90d")
    found = items.consolidate(old, now=NOW)
    assert [name for name, _ in found.archived] == ["goes"]
    assert found.merged == ()


def test_long_texts_are_merged_only_if_they_are_equal(items):
    long = "word " * 4_001
    put(items, "a", long)
    put(items, "b", long + "more", age=5)
    assert pairs(items) == set()
    put(items, "c", long, age=2)
    put(items, "d", "!!!", age=2)
    put(items, "e", "!!!", age=1)
    put(items, "f", "???", age=1)
    assert pairs(items) == {("a", "c"), ("d", "e")}


def test_archived_and_merged_items_share_the_limit(items):
    put(items, "old", "an old one", age=100)
    for age in range(3):
        put(items, f"n{age}", age=age)
    policy = ConsolidationPolicy(archive_after="90d", limit=2)
    found = items.consolidate(policy, now=NOW)
    assert (len(found.archived), len(found.merged), found.left) == (1, 1, 1)
    one = items.consolidate(ConsolidationPolicy(archive_after="90d", limit=1), now=NOW)
    assert (len(one.archived), one.merged, one.left) == (1, (), 2)


# --- by vectors -----------------------------------------------------------------------------------


def test_vectors_decide_where_there_are_any(tmp_path):
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        items = memory.items
        put(items, "a", "boat mast boat mast boat mast boat sail")
        put(items, "b", "boat mast boat mast boat mast boat keel", age=5)
        put(items, "c", "boat mast boat mast boat mast boat 5", age=4)
        assert memory.flush(timeout=30)
        found = items.consolidate(SAME, now=NOW).merged
        assert found == (
            ("b", "c", "the same facts, similarity 0.973"),
            ("a", "c", "the same facts, similarity 0.973"),
        )
        assert pairs(items, ConsolidationPolicy(similarity=0.98)) == set()


def read(id_, text, vector=None, *, used=None, at=0, may_go=True, labels=(), origin="user"):
    held = SimpleNamespace(
        id=id_, memory_id=str(id_), at=at, reward=None, origin=origin, names=lambda _column: labels
    )
    row = None if vector is None else np.asarray(vector, np.float32)
    return Read(held, Said(text), row, used, may_go)


def ids(found):
    return {(one.held.id, into.held.id) for one, into, _reason in found}


def test_the_least_cosine_is_enough():
    some = [read(1, "a boat", [1, 0]), read(2, "the ship", [0.5, math.sqrt(0.75)], at=1)]
    assert ids(merged(some, 0.5)) == {(1, 2)}
    assert ids(merged(some, math.nextafter(0.5, 1))) == set()


def test_one_without_a_vector_is_compared_by_terms():
    some = [read(1, "a boat is here", [1, 0]), read(2, "the boat is here", None, at=1)]
    assert ids(merged(some, 0.99)) == {(1, 2)}
    assert ids(merged([read(1, "a ship is here", [1, 0]), some[1]], 0.1)) == set()


def test_nine_tenths_of_the_terms_are_enough():
    words = [f"{chr(98 + n)}a{chr(98 + n)}uk" for n in range(20)]
    whole = read(1, " ".join(words), at=1)
    enough = read(2, " ".join([*words[:18], "xaxyk", "yayxk"]))
    assert ids(merged([whole, enough], 0.5)) == {(2, 1)}
    less = read(2, " ".join([*words[:17], "xaxyk", "yayxk", "zazyk"]))
    assert ids(merged([whole, less], 0.5)) == set()
    for made, pair in ((enough, {(2, 1)}), (less, set())):
        named = read(1, f"{whole.said.text} Ulm", at=1)
        other = read(2, f"{made.said.text} Ulm", [1, 0])
        assert ids(merged([named, other], 0.5)) == pair


def test_near_vectors_are_found_among_many_with_the_same_facts(monkeypatch):
    monkeypatch.setattr(merging, "_MANY", 4)
    rows = np.eye(40, dtype=np.float32)
    some = [read(n, f"Ulm {n * 'x'}", rows[n], at=n) for n in range(40)]
    twin = read(50, "Ulm again", rows[7] * 0.96 + rows[8] * 0.28, at=-1)
    bare = read(51, "Ulm " + "x" * 9, None, at=-2)
    assert ids(merged([*some, twin, bare], 0.95)) == {(50, 7), (51, 9)}
    late = read(52, "Ulm " + "x" * 12, rows[13] * -1, at=-3)
    assert ids(merged([*some, late], 0.95)) == {(52, 12)}  # the same text


TEXTS = st.lists(
    st.sampled_from(["boat", "mast", "not", "12", "Ulm", "Bonn", "sail", "keel", "harbour"]),
    min_size=1,
    max_size=6,
).map(" ".join)
READS = st.lists(
    st.tuples(
        TEXTS,
        st.none() | st.sampled_from([(1.0, 0.0), (0.8, 0.6), (0.0, 1.0)]),
        st.sampled_from([(), ("x",), ("x", "y")]),
        st.booleans(),
        st.sampled_from(["user", "web"]),
    ),
    max_size=12,
)


def plainly(some, similarity):
    """Merge items by comparing each with all that stay."""
    stay, found = [], set()
    for one in sorted(some, key=lambda one: one.worth, reverse=True):
        fitting = [into for into in stay if one.may_go and _says(into, one, similarity)]
        equal = [into for into in fitting if into.said.text == one.said.text]
        if fitting:
            found.add((one.held.id, (equal or fitting)[0].held.id))
        else:
            stay.append(one)
    return found


def _says(into, one, similarity):
    ranks = ["user", "web"]
    if ranks.index(into.held.origin) > ranks.index(one.held.origin):
        return False
    if set(one.held.names("keys")) - set(into.held.names("keys")):
        return False
    if into.said.text == one.said.text:
        return True
    if one.said.facts - into.said.facts or one.said.denials != into.said.denials:
        return False
    if one.vector is not None and into.vector is not None:
        return float(np.dot(one.vector, into.vector)) >= similarity
    shared = one.said.terms & into.said.terms
    return bool(one.said.terms) and len(shared) >= 0.9 * len(one.said.terms)


@settings(max_examples=200)
@given(READS, st.sampled_from([0.7, 0.9]))
def test_merging_is_as_comparing_each_with_all(given_, similarity):
    some = [
        read(n, text, vector, at=n, labels=labels, may_go=may_go, origin=origin)
        for n, (text, vector, labels, may_go, origin) in enumerate(given_)
    ]
    assert ids(merged(some, similarity)) == plainly(some, similarity)
