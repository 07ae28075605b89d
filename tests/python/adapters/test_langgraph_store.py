"""LangGraph's store in a log, judged by the behaviours that langgraph-checkpoint-postgres tests.

Not re-expressed: tests of SQL patterns, migrations, pools and pipelines, which a log has not; the
index types of pgvector; its thread that sweeps. Distance "l2" is refused.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter, defaultdict

import numpy as np
import pytest

pytest.importorskip("langgraph", reason="the framework whose store this is")

from langchain_core.embeddings import Embeddings
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from warmset.adapters.langgraph import WarmsetStore
from warmset.errors import InvalidInputError
from warmset.native import ColdStore, Log

DIMS = 100
START = 1_800_000_000.0


class Letters(Embeddings):
    """The letters of a text, each with a random direction."""

    def __init__(self):
        drawn = random.Random(42)
        self.directions = defaultdict(lambda: [drawn.gauss(0, 1) for _ in range(DIMS)])
        self.asked = []

    def embed_query(self, text):
        found = np.zeros(DIMS)
        for letter, count in Counter(text).items():
            found += count * np.asarray(self.directions[letter])
        norm = np.linalg.norm(found)
        return (found / norm if norm else found).tolist()

    def embed_documents(self, texts):
        self.asked.append(texts)
        return [self.embed_query(text) for text in texts]


class Clock:
    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now


def made(path=None, **options):
    return WarmsetStore(Log(ColdStore.open(path)), **options)


def searching(fields=None, distance="cosine", path=None, **options):
    index = {"dims": DIMS, "embed": Letters(), "fields": fields, "distance_type": distance}
    return made(path, index=index, **options)


def keys(found):
    return [item.key for item in found]


# --- items ----------------------------------------------------------------------------------------


def test_an_item_is_put_changed_and_deleted():
    store = made()
    store.put(("test", "documents"), "doc", {"title": "First"})
    first = store.get(("test", "documents"), "doc")
    assert (first.namespace, first.key, first.value) == (
        ("test", "documents"),
        "doc",
        {"title": "First"},
    )
    assert first.created_at == first.updated_at
    assert first.created_at.tzinfo is not None
    store.put(("test", "documents"), "doc", {"title": "Second"})
    second = store.get(("test", "documents"), "doc")
    assert second.value == {"title": "Second"}
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at
    assert store.get(("test", "others"), "doc") is None
    store.delete(("test", "documents"), "doc")
    assert store.get(("test", "documents"), "doc") is None
    store.delete(("test", "documents"), "doc")


def test_a_batch_reads_first_then_writes_all_the_last_put_of_a_key_wins():
    store = made()
    store.put(("test", "foo"), "one", {"data": 1})
    results = store.batch(
        [
            PutOp(("test", "bar"), "two", {"data": 2}),
            GetOp(("test", "foo"), "one"),
            GetOp(("test", "bar"), "two"),
            SearchOp(("test",), filter={"data": 1}),
            ListNamespacesOp(),
            PutOp(("test", "bar"), "two", {"data": 3}),
            PutOp(("test", "foo"), "none", None),
        ]
    )
    assert [results[at] for at in (0, 2, 5, 6)] == [None] * 4
    assert results[1].value == {"data": 1}
    assert keys(results[3]) == ["one"]
    assert results[4] == [("test", "foo")]
    assert store.get(("test", "bar"), "two").value == {"data": 3}


def test_a_batch_that_cannot_be_carried_out_changes_nothing():
    store = made()
    for bad in (PutOp(("v",), "x", {"bad": object()}), "no operation"):
        with pytest.raises((TypeError, ValueError)):
            store.batch([PutOp(("valid",), "key", {}), bad])
        assert store.get(("valid",), "key") is None


@pytest.mark.parametrize("namespace", [("foo.bar",), ("foo", ""), ("foo", 1)])
@pytest.mark.parametrize("kind", ["get", "put", "delete", "search", "prefix", "suffix"])
def test_namespaces_that_langgraph_refuses_are_refused_in_a_batch(namespace, kind):
    from langgraph.store import base  # noqa: PLC0415

    if not hasattr(base, "validate_op_namespace"):
        pytest.skip("this version of LangGraph leaves it to stores")
    operation = {
        "get": GetOp(namespace, "key"),
        "put": PutOp(namespace, "key", {"changed": True}),
        "delete": PutOp(namespace, "key", None),
        "search": SearchOp(namespace),
        "prefix": ListNamespacesOp((MatchCondition("prefix", namespace),)),
        "suffix": ListNamespacesOp((MatchCondition("suffix", namespace),)),
    }[kind]
    with pytest.raises(InvalidNamespaceError):
        made().batch([operation])


def test_an_item_is_not_taken_for_a_namespace_or_the_other_way_round():
    store = made()
    store.put(("a",), "b", {"v": 1})
    store.put(("a", "b"), "c", {"v": 2})
    store.put(("a", "b", "c"), "d", {"v": 3})
    assert sorted(item.value["v"] for item in store.search(("a", "b"))) == [2, 3]
    assert store.list_namespaces() == [("a",), ("a", "b"), ("a", "b", "c")]
    store.clear(("a", "b"))
    assert keys(store.search(("a",))) == ["b"]


# --- namespaces and filters -----------------------------------------------------------------------


def test_search_stays_within_the_labels_of_a_prefix():
    store = made()
    spaces = [("foo",), ("foo", "child"), ("foobar",), ("foo2",), ("a%b",), ("axxb",), ("u_1",)]
    for namespace in [*spaces, ("uX1",)]:
        store.put(namespace, "k", {"v": 1})

    def found(*prefix):
        return {item.namespace for item in store.search(prefix, limit=100)}

    assert found("foo") == {("foo",), ("foo", "child")}
    assert found("foob") == set()
    assert found("a%b") == {("a%b",)}
    assert found("u_1") == {("u_1",)}
    assert found() == {*spaces, ("uX1",)}


def test_namespaces_are_listed_by_prefix_suffix_depth_and_page():
    store = made()
    spaces = [
        ("prod", "documents", "public"),
        ("test", "documents", "private"),
        ("test", "documents", "public"),
        ("test", "images", "public"),
        ("uid", "users", "alice"),
        ("uid", "users", "alice\n"),
        ("uid", "users", "malice"),
    ]
    for namespace in spaces:
        store.put(namespace, "k", {})
    assert store.list_namespaces() == spaces
    assert store.list_namespaces(prefix=("test",)) == spaces[1:4]
    assert store.list_namespaces(suffix=("public",)) == [spaces[0], *spaces[2:4]]
    assert store.list_namespaces(suffix=("alice",)) == [("uid", "users", "alice")]
    assert store.list_namespaces(prefix=spaces[4], suffix=spaces[4]) == [spaces[4]]
    assert store.list_namespaces(prefix=("*", "documents"), suffix=("public",)) == [
        spaces[0],
        spaces[2],
    ]
    assert store.list_namespaces(max_depth=1) == [("prod",), ("test",), ("uid",)]
    assert store.list_namespaces(limit=2, offset=1) == spaces[1:3]
    assert store.list_namespaces(prefix=("test", "documents", "public", "deeper")) == []


def test_without_a_query_the_newest_come_first_page_by_page():
    store = made()
    for at in range(30):
        store.put(("n",), f"k{at}", {"v": at})
    store.put(("n",), "k3", {"v": 100})
    expected = ["k3", *(f"k{at}" for at in reversed(range(30)) if at != 3)]
    assert keys(store.search(("n",), limit=100)) == expected
    assert keys(store.search(("n",), limit=7, offset=5)) == expected[5:12]
    assert keys(store.search(("n",), limit=4, offset=28)) == expected[28:]
    assert all(item.score is None for item in store.search(("n",)))


def test_a_search_goes_on_behind_its_first_pages(monkeypatch):
    monkeypatch.setattr("warmset.adapters.langgraph.reads.PAGE", 5)
    monkeypatch.setattr("warmset.adapters.langgraph.reads.LISTED", 16)
    store = made()
    store.batch([PutOp(("n",), f"k{at}", {"tags": [at % 4], "at": at}) for at in range(60)])
    expected = [f"k{at}" for at in reversed(range(60))]
    assert keys(store.search(("n",), limit=60)) == expected
    assert keys(store.search(("n",), limit=40, offset=9)) == expected[9:49]
    third = [key for key in expected if int(key[1:]) % 4 == 2]
    assert keys(store.search(("n",), filter={"tags": [2]}, limit=7)) == third[:7]
    assert keys(store.search(("n",), filter={"tags": [2]}, limit=7, offset=5)) == third[5:12]
    assert keys(store.search(("n",), filter={"tags": [2]}, limit=100)) == third


FILTERS = [
    {"color": "red"},
    {"color": {"$ne": "red"}},
    {"score": {"$gt": 3.2}},
    {"score": {"$gte": 3, "$lt": 4}},
    {"score": {"$lte": 3.0}},
    {"score": 3},
    {"flag": True},
    {"tags": ["a", "b"]},
    {"nested": {"x": 1}},
    {"nested": {"x": {"$gt": 0}}},
    {"missing": None},
    {"color": "red", "score": {"$gt": 3}},
    {"long": "x" * 300},
    {"note": "two\nlines"},
    {"big": 2**70},
    {"huge": 10**400},
    {"edge": 2**63},
    {"edge": -(2**63)},
    {},
]


@pytest.mark.parametrize("wanted", FILTERS, ids=str)
@pytest.mark.parametrize("wide", [False, True])
def test_filters_find_what_langgraphs_own_store_finds(wanted, wide):
    ours, theirs = made(), InMemoryStore()
    values = [
        {"color": "red", "score": 4.5, "tags": ["a", "b"], "flag": True},
        {"color": "red", "score": 3, "nested": {"x": 1}, "flag": False},
        {"color": "green", "score": 3.0, "long": "x" * 300, "note": "two\nlines"},
        {"color": "blue", "score": 3.5, "big": 2**70, "missing": None},
        {"huge": 10**400, "edge": 2**63, "score": 0},
        {"edge": -(2**63), "score": 0},
    ]
    for at, value in enumerate(values):
        more = {f"field {each}": each for each in range(100)} if wide else {}
        for store in (ours, theirs):
            store.put(("test",), str(at), {**more, **value})
    if wanted == {"missing": None}:
        expected = ["0", "1", "2", "3", "4", "5"]
    else:
        expected = sorted(keys(theirs.search(("test",), filter=wanted or None)))
    assert sorted(keys(ours.search(("test",), filter=wanted))) == expected


def test_a_number_is_no_truth_value_and_an_unknown_operator_is_refused():
    store = made()
    store.put(("t",), "one", {"v": 1, "s": "5"})
    store.put(("t",), "true", {"v": True, "s": 5})
    assert keys(store.search(("t",), filter={"v": 1})) == ["one"]
    assert keys(store.search(("t",), filter={"v": True})) == ["true"]
    assert keys(store.search(("t",), filter={"s": {"$gt": 4}})) == ["true"]
    store.put(("u",), "true", {"nested": {"x": True}})
    assert keys(store.search(("u",), filter={"nested": {"x": True}})) == ["true"]
    assert keys(store.search(("u",), filter={"nested": {"x": 1}})) == []
    with pytest.raises(ValueError, match=r"\$near"):
        store.search(("t",), filter={"v": {"$near": 1}})


# --- search by meaning ----------------------------------------------------------------------------


def test_the_nearest_come_first_and_what_was_changed_is_found_by_its_new_text():
    store = searching()
    store.put(("t",), "one", {"text": "zany zebra Xerxes"})
    store.put(("t",), "two", {"text": "something about dogs"})
    before = store.search(("t",), query="Zany Xerxes")
    assert keys(before) == ["one", "two"]
    store.put(("t",), "one", {"text": "new text about dogs"})
    after = {item.key: item.score for item in store.search(("t",), query="Zany Xerxes")}
    assert after["one"] < before[0].score
    everywhere = {item.key: item.score for item in store.search((), query="Zany Xerxes")}
    assert everywhere == after
    store.put(("t",), "unindexed", {"text": "new text about dogs"}, index=False)
    assert "unindexed" not in keys(store.search(("t",), query="new text about dogs"))
    assert "unindexed" in keys(store.search(("t",)))
    store.delete(("t",), "one")
    assert keys(store.search(("t",), query="Zany Xerxes")) == ["two"]


def test_meaning_filters_and_pages_together():
    store = searching(["text"])
    for at in range(20):
        store.put(
            ("t", f"n{at % 2}"), str(at), {"text": "ab" * (at + 1) + "c", "even": at % 4 == 0}
        )
    everything = store.search(("t",), query="abab", limit=100)
    assert len(everything) == 20
    scores = [item.score for item in everything]
    assert scores == sorted(scores, reverse=True)
    pages = [store.search(("t",), query="abab", limit=6, offset=at) for at in range(0, 24, 6)]
    assert [key for page in pages for key in keys(page)] == keys(everything)
    assert keys(store.search(("t",), query="abab", filter={"even": True}, limit=100)) == [
        item.key for item in everything if item.value["even"]
    ]
    assert keys(store.search(("t", "n1"), query="abab", limit=100)) == [
        item.key for item in everything if item.namespace == ("t", "n1")
    ]
    assert store.search((), query="abab", limit=3) == everything[:3]
    assert store.search(("nobody",), query="abab") == []


def test_several_texts_of_an_item_count_as_the_best_of_them():
    store = searching(["key0", "key1", "key3", "list[*]"])
    store.put(("t",), "one", {"key1": "xxx", "key2": "yyy", "key3": "zzz"})
    store.put(("t",), "two", {"key0": "uuu", "key1": "vvv", "key2": "www", "key3": "xxx"})
    store.put(("t",), "list", {"list": [f"{letter}" * 3 for letter in "abcdefgh"]})
    both = store.search(("t",), query="xxx", limit=2)
    assert sorted(keys(both)) == ["one", "two"]
    assert [item.score for item in both] == pytest.approx([1, 1], abs=1e-5)
    assert keys(store.search(("t",), query="uuu"))[0] == "two"
    assert keys(store.search(("t",), query="hhh"))[0] == "list"
    assert all(item.score < 0.99 for item in store.search(("t",), query="www"))
    assert len(store.search(("t",), query="hhh", limit=3)) == 3
    store.put(("t",), "list", {"list": ["q"]}, index=["list[0]"])
    assert store.search(("t",), query="hhh")[0].score < 0.99


@pytest.mark.parametrize("distance", ["cosine", "inner_product"])
@pytest.mark.parametrize("query", ["aaa", "bbb", "abcd", "poisson"])
def test_scores_are_those_of_the_distance(distance, query):
    store = searching(["key0"], distance)
    store.put(("t",), "doc", {"key0": "aaab"})
    one, two = (np.asarray(Letters().embed_query(text)) for text in ("aaab", query))
    embedder = store.embeddings
    one, two = (np.asarray(embedder.embed_query(text)) for text in ("aaab", query))
    expected = float(one @ two)
    [found] = store.search((), query=query)
    assert found.score == pytest.approx(expected, abs=1e-5)


def test_a_vector_of_length_zero_scores_0_and_breaks_nothing():
    for distance in ("cosine", "inner_product"):
        store = searching(["text"], distance)
        store.put(("t",), "empty", {"text": ""})
        store.put(("t",), "full", {"text": "abc"})
        store.embeddings.directions["z"] = [0.0] * DIMS
        store.put(("t",), "zero", {"text": "zzz"})
        found = {item.key: item.score for item in store.search(("t",), query="abc")}
        assert found["full"] == pytest.approx(1, abs=1e-5)
        assert found["zero"] == 0
        assert {item.score for item in store.search(("t",), query="z")} == {0.0}
        store.put(("t",), "zero", {"text": "abc"})
        assert len(store.search(("t",), query="abc")) == len(found)


def test_each_text_is_embedded_once_a_batch():
    store = searching(["text"])
    same = [PutOp(("t",), str(at), {"text": "same"}) for at in range(5)]
    store.batch([*same, SearchOp(("t",), query="same"), SearchOp(("t",), query="other")])
    assert store.embeddings.asked == [["same", "other"]]
    assert len(store.search(("t",), query="")) == 5


def test_an_embedder_that_breaks_its_word_is_refused_and_nothing_is_written():
    bad = {"dims": 3, "embed": lambda texts: [[1.0, 2.0] for _ in texts]}
    store = made(index=bad)
    with pytest.raises(InvalidInputError, match="3 dimensions"):
        store.put(("t",), "k", {"text": "x"})
    bad["embed"] = lambda texts: [[1.0, math.nan, 0.0] for _ in texts]
    with pytest.raises(InvalidInputError, match="finite"):
        made(index=bad).put(("t",), "k", {"text": "x"})
    assert store.get(("t",), "k") is None
    with pytest.raises(InvalidInputError, match="'cosine' or 'inner_product'"):
        searching(distance="l2")


def test_vectors_of_another_dimension_are_refused(tmp_path):
    searching(path=tmp_path / "s").put(("t",), "k", {"text": "x"})
    other = made(
        tmp_path / "s", index={"dims": 2, "embed": lambda texts: [[1.0, 2.0]] * len(texts)}
    )
    with pytest.raises(InvalidInputError, match="100 dimensions, the embedder 2"):
        other.search(("t",), query="x")


def test_other_handles_search_what_was_put_changed_cleared_and_erased(tmp_path):
    stores = [searching(["text"], path=tmp_path / "s", delete="erase") for _ in range(2)]
    writer, reader = stores
    reader.embeddings.directions = writer.embeddings.directions
    for at, text in enumerate(["aaa", "bbb", "ccc", "ddd"]):
        writer.put(("t", text), str(at), {"text": text})
    assert keys(reader.search(("t",), query="aaa"))[0] == "0"
    writer.put(("t", "aaa"), "0", {"text": "zzz"})
    assert reader.search(("t", "aaa"), query="zzz")[0].score > 0.6
    writer.delete(("t", "bbb"), "1")
    writer.clear(("t", "ccc"))
    assert sorted(keys(reader.search(("t",), query="aaa"))) == ["0", "3"]
    assert sorted(keys(searching(path=tmp_path / "s").search(("t",), query="aaa"))) == ["0", "3"]
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b'"bbb"' not in held
    assert b'"ddd"' in held


def test_asynchronous_calls_do_the_same():
    async def main():
        store = searching()
        await asyncio.gather(*(store.aput(("t",), str(at), {"text": "a" * at}) for at in range(20)))
        assert len(await store.asearch(("t",), query="aa", limit=100)) == 20
        assert (await store.aget(("t",), "3")).value == {"text": "aaa"}
        await store.adelete(("t",), "3")
        assert await store.aget(("t",), "3") is None
        assert await store.alist_namespaces() == [("t",)]

    asyncio.run(main())


# --- expiry ---------------------------------------------------------------------------------------


def timed(**settings):
    clock = Clock()
    return made(ttl={"refresh_on_read": True, **settings}, clock=clock), clock


def test_reading_puts_an_expiry_off_and_a_sweep_takes_what_was_not_read():
    store, clock = timed(default_ttl=10)
    for key in ("got", "found", "left"):
        store.put(("t",), key, {"k": key})
    store.put(("t",), "ever", {}, ttl=None)
    clock.now += 9 * 60
    store.get(("t",), "got")
    store.search(("t",), filter={"k": "found"})
    store.get(("t",), "left", refresh_ttl=False)
    clock.now += 2 * 60
    assert store.sweep_ttl() == 1
    assert sorted(keys(store.search(("t",), refresh_ttl=False))) == ["ever", "found", "got"]
    clock.now += 10 * 60
    assert store.sweep_ttl() == 2
    assert keys(store.search(("t",))) == ["ever"]


def test_what_has_expired_is_shown_until_the_sweep_unless_it_is_omitted():
    store, clock = timed(default_ttl=1)
    store.put(("gone",), "k", {"data": 1})
    store.put(("kept",), "k", {"data": 1}, ttl=None)
    clock.now += 61
    assert store.get(("gone",), "k", refresh_ttl=False) is not None
    assert keys(store.search(("gone",), refresh_ttl=False)) == ["k"]
    assert ("gone",) in store.list_namespaces()
    store.ttl_config["omit_expired"] = True
    assert store.get(("gone",), "k") is None
    assert store.search(("gone",)) == []
    assert store.list_namespaces() == [("kept",)]
    store.ttl_config["omit_expired"] = False
    assert store.get(("gone",), "k", refresh_ttl=False) is not None


def test_omitted_items_fill_no_page():
    store, clock = timed(omit_expired=True)
    for key in ("c", "b", "expired", "a"):
        store.put(("t",), key, {}, ttl=1 if key == "expired" else None)
        clock.now += 1
    clock.now += 60
    assert keys(store.search(("t",), limit=2)) == ["a", "b"]
    assert keys(store.search(("t",), limit=2, offset=2)) == ["c"]


def test_omitted_items_fill_no_page_of_a_search_by_meaning():
    clock = Clock()
    store = searching(["text"], ttl={"omit_expired": True}, clock=clock)
    for at in range(12):
        store.put(("t",), str(at), {"text": "a" * 30 + "b" * at}, ttl=1 if at < 8 else None)
    clock.now += 61
    assert sorted(keys(store.search((), query="a", limit=3))) == ["10", "8", "9"]


def test_reading_writes_only_after_an_eighth_of_the_time():
    store, clock = timed(default_ttl=8)
    store.put(("t",), "k", {})
    version = store._place.log.follow().position
    clock.now += 59
    store.get(("t",), "k")
    assert store._place.log.follow(version).changes == []
    clock.now += 1
    store.get(("t",), "k")
    assert [change.what for change in store._place.log.follow(version).changes] == ["patched"]
    assert store.get(("t",), "k").updated_at == store.get(("t",), "k").created_at


class Between:
    """A log in which something happens once, behind the first cell that is read."""

    def __init__(self, log, happens):
        self.log, self.happens = log, happens

    def __getattr__(self, name):
        return getattr(self.log, name)

    def get(self, key, **options):
        found = self.log.get(key, **options)
        happens, self.happens = self.happens, lambda: None
        happens()
        return found


def test_an_item_that_is_put_again_behind_a_read_keeps_its_new_expiry():
    log, clock = Log(ColdStore.open(None)), Clock()
    other = WarmsetStore(log, clock=clock)
    other.put(("n",), "k", {"v": 1}, ttl=10)
    clock.now += 300
    between = Between(log, lambda: other.put(("n",), "k", {"v": 2}, ttl=100))
    assert WarmsetStore(between, clock=clock).get(("n",), "k").value == {"v": 1}
    [cell] = log.scan()
    assert cell.expires == (clock.now + 6_000) * 1_000_000


def test_a_batch_sweeps_when_its_time_has_come():
    store, clock = timed(default_ttl=1, sweep_interval_minutes=5)
    store.put(("t",), "k", {})
    clock.now += 299
    assert store.get(("t",), "k", refresh_ttl=False) is not None
    clock.now += 1
    assert store.get(("t",), "k", refresh_ttl=False) is None
