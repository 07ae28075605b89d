"""The document store of Haystack's adapter, beyond Haystack's own suites."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import pytest
from cancelling import ends_before

pytest.importorskip("haystack")
from haystack import Pipeline
from haystack.dataclasses import ByteStream, Document, SparseEmbedding
from haystack.document_stores.errors import DocumentStoreError, DuplicateDocumentError
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from hypothesis import given, strategies as st

from warmset import Memory
from warmset.adapters.haystack import WarmsetDocumentStore, WarmsetEmbeddingRetriever
from warmset.adapters.haystack.filters import condition_of
from warmset.errors import InvalidInputError


@pytest.fixture
def store():
    with WarmsetDocumentStore() as made:
        yield made


def some(count=6, **more):
    return [
        Document(id=f"{n}", content=f"text {n}", meta={"n": n, **more}, embedding=[1.0, float(n)])
        for n in range(count)
    ]


def test_a_document_comes_back_as_it_was_written(store):
    whole = Document(
        id="all",
        content="text",
        blob=ByteStream(b"\x00\xff", meta={"a": 1}, mime_type="image/png"),
        meta={"deep": {"er": [1, {"x": None}]}, "list": [1, 2], "none": None, "big": 2**70},
        score=0.5,
        embedding=[0.1, 0.2, 1e-9],
        sparse_embedding=SparseEmbedding(indices=[1, 5], values=[0.25, 0.5]),
    )
    bare = Document(id="bare")
    assert store.write_documents([whole, bare]) == 2
    assert store.filter_documents() == [whole, bare]
    assert store.filter_documents(
        {"field": "meta.deep.er", "operator": "==", "value": whole.meta["deep"]["er"]}
    ) == [whole]
    assert store.filter_documents({"field": "id", "operator": "==", "value": "bare"}) == [bare]
    assert store.filter_documents({"field": "content", "operator": "==", "value": "text"}) == [
        whole
    ]
    assert store.filter_documents({"field": "meta.big", "operator": ">", "value": 5}) == [whole]


VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from(
        [0.0, 1.0, 0.5, 2**64, "a", "b", "1", "", "2024-01-01", "2024-01-01T00:00:00Z"]
    )
    | st.lists(st.integers(0, 2), max_size=2)
)
METAS = st.lists(
    st.dictionaries(st.sampled_from(["x", "y", "and", "z.z"]), VALUES, max_size=3), max_size=5
)
FIELDS = st.sampled_from(["meta.x", "x", "meta.y", "meta.and", "meta.z.z", "meta.missing"])
ONE = st.fixed_dictionaries(
    {
        "field": FIELDS,
        "operator": st.sampled_from(["==", "!=", ">", ">=", "<", "<="]),
        "value": VALUES,
    }
) | st.fixed_dictionaries(
    {
        "field": FIELDS,
        "operator": st.sampled_from(["in", "not in"]),
        "value": st.lists(VALUES, max_size=3),
    }
)
FILTERS = st.recursive(
    ONE,
    lambda inner: st.fixed_dictionaries(
        {
            "operator": st.sampled_from(["AND", "OR", "NOT"]),
            "conditions": st.lists(inner, min_size=1, max_size=3),
        }
    ),
    max_leaves=5,
)


def answer(store, filters):
    try:
        return [one.id for one in store.filter_documents(filters)]
    except FilterError:
        return "refused"
    except TypeError:  # Haystack's matcher compares what cannot be compared
        return "broken"


@given(METAS, FILTERS)
def test_filters_mean_what_they_mean_in_memory(metas, filters):
    documents = [Document(id=f"{n}", meta=meta) for n, meta in enumerate(metas)]
    peer = InMemoryDocumentStore(shared=False)
    peer.write_documents(documents)
    with WarmsetDocumentStore() as store:
        store.write_documents(documents)
        ours, theirs = answer(store, filters), answer(peer, filters)
        if theirs in ("refused", "broken"):  # we need not look at each document that they look at
            assert ours == theirs or isinstance(ours, list)
        else:
            assert ours == theirs
            assert store.count_documents_by_filter(filters) == len(theirs)


@pytest.mark.parametrize(
    ("filters", "condition"),
    [
        ({"field": "meta.a", "operator": "==", "value": "x"}, {"a": {"in": ["x"]}}),
        ({"field": "a", "operator": "in", "value": ["x", 5]}, {"a": {"in": ["x", 5]}}),
        ({"field": "meta.a", "operator": "==", "value": 1}, {"a": {"in": [1, True]}}),
        ({"field": "meta.a", "operator": "!=", "value": "x"}, {"a": {"ne": "x"}}),
        ({"field": "meta.a", "operator": "!=", "value": 5}, None),
        ({"field": "meta.a", "operator": "==", "value": "2024-01-01"}, None),
        ({"field": "meta.a.b", "operator": "==", "value": "x"}, None),
        ({"field": "content", "operator": "==", "value": "x"}, None),
        (
            {"field": "meta.a", "operator": ">", "value": 3},
            {"and": [{"a": {"exists": True}}, {"not": {"a": {"lte": 3}}}]},
        ),
    ],
)
def test_conditions_that_the_core_judges(filters, condition):
    assert condition_of(filters) == condition
    both = [filters, {"field": "meta.a", "operator": "not in", "value": []}]
    joined = None if condition is None else {"and": [condition]}
    assert condition_of({"operator": "AND", "conditions": both}) == joined
    assert condition_of({"operator": "OR", "conditions": both}) is None
    assert condition_of({"operator": "NOT", "conditions": [filters]}) is None


def test_malformed_filters_are_refused_in_an_empty_store(store):
    inner = {"field": "meta.a", "operator": "==", "value": 1}
    for filters in (
        {"field": "meta.a", "operator": "~", "value": 1},
        {"field": "meta.a", "operator": "in", "value": 1},
        {"operator": "XOR", "conditions": [inner]},
        {"operator": "OR", "conditions": [inner, {"field": "meta.a", "operator": "=="}]},
    ):
        with pytest.raises(FilterError):
            store.filter_documents(filters)
    with pytest.raises(ValueError, match="operator and conditions"):
        store.filter_documents({"meta.a": 1})


def test_retrieval_is_that_of_the_memory_store():
    documents = [*some(), Document(id="without"), Document(id="0 0", embedding=[0.0, 0.0])]
    for function in ("cosine", "dot_product"):
        peer = InMemoryDocumentStore(embedding_similarity_function=function, shared=False)
        peer.write_documents(documents)
        with WarmsetDocumentStore(embedding_similarity_function=function) as store:
            store.write_documents(documents)
            for options in (
                {},
                {"top_k": 2, "scale_score": True},
                {"filters": {"field": "meta.n", "operator": "<", "value": 3}},
                {"return_embedding": True, "top_k": 3},
            ):
                ours = store.embedding_retrieval(
                    [1.0, 2.0], **{"return_embedding": False, **options}
                )
                theirs = peer.embedding_retrieval([1.0, 2.0], **options)
                assert [one.id for one in ours] == [one.id for one in theirs]
                assert [one.score for one in ours] == pytest.approx([one.score for one in theirs])
                assert [one.embedding for one in ours] == [one.embedding for one in theirs]


def test_what_cannot_be_done_is_refused_in_haystacks_words(store, tmp_path):
    store.write_documents(some())
    with pytest.raises(DocumentStoreError, match="dimension"):
        store.embedding_retrieval([1.0])
    with pytest.raises(ValueError, match="finite"):
        store.embedding_retrieval([1.0, float("nan")])
    with pytest.raises(ValueError, match="plain JSON"):
        store.write_documents([Document(id="x", meta={"x": object()})])
    with pytest.raises(DuplicateDocumentError, match="'3'"):
        store.write_documents([Document(id="new"), Document(id="3")])
    assert store.count_documents() == 6
    with pytest.raises(InvalidInputError, match="embedding_similarity_function"):
        WarmsetDocumentStore(embedding_similarity_function="l2")
    (tmp_path / "file").write_text("no store")
    with pytest.raises(DocumentStoreError):
        WarmsetDocumentStore(tmp_path / "file")
    store.close()
    with pytest.raises(DocumentStoreError, match="closed"):
        store.count_documents()


def test_updates_of_two_handles_lose_nothing(tmp_path):
    stores = [WarmsetDocumentStore(tmp_path / "s", durability="os") for _ in range(2)]
    stores[0].write_documents(some(count=1))
    wanted = {"field": "meta.n", "operator": "==", "value": 0}

    async def work():
        await asyncio.gather(
            *(stores[n % 2].update_by_filter_async(wanted, {f"by {n}": n}) for n in range(12))
        )

    asyncio.run(work())
    [one] = stores[1].filter_documents()
    assert one.meta == {"n": 0, **{f"by {n}": n for n in range(12)}}
    assert one.embedding == [1.0, 0.0]
    for each in stores:
        each.close()


def test_metadata_of_documents_with_and_without_columns(store):
    store.write_documents([*some(), Document(id="deep", meta={"n": 7, "deep": {"x": 1}})])
    assert store.get_metadata_fields_info() == {"n": {"type": "int"}, "deep": {"type": "keyword"}}
    assert store.get_metadata_field_min_max("meta.n") == {"min": 0, "max": 7}
    assert store.get_metadata_field_unique_values("deep") == ([{"x": 1}], 1)
    unique = {"filters": {}, "metadata_fields": ["n", "deep", "none"]}
    assert store.count_unique_metadata_by_filter(**unique) == {"n": 7, "deep": 1, "none": 0}


def test_indexes_and_tenants_do_not_see_each_other(tmp_path):
    with Memory.open(tmp_path / "s", embedder="lexical", tenant="ann") as memory:
        memory.conversation("chat").append({"role": "user", "content": "hello"})
        mine, other = WarmsetDocumentStore(memory), WarmsetDocumentStore(memory, index="other")
        mine.write_documents(some())
        assert other.count_documents() == 0
        other.write_documents(some(count=2))
        mine.delete_all_documents()
        assert (mine.count_documents(), other.count_documents()) == (0, 2)
        assert memory.conversations() == ["chat"]
        with pytest.raises(DocumentStoreError, match="given by its directory"):
            mine.to_dict()


def test_return_embedding_may_be_left_off():
    with WarmsetDocumentStore(return_embedding=False) as store:
        store.write_documents(some())
        assert all(one.embedding is None for one in store.filter_documents())
        store.update_by_filter({"field": "meta.n", "operator": "==", "value": 5}, {"m": 1})
        assert store.embedding_retrieval([1.0, 5.0], top_k=1, return_embedding=True)[
            0
        ].embedding == [1.0, 5.0]


# --- pipelines ------------------------------------------------------------------------------------


def test_a_pipeline_is_saved_and_loaded(tmp_path):
    store = WarmsetDocumentStore(
        tmp_path / "s",
        index="i",
        tenant="t",
        delete="erase",
        durability="os",
        return_embedding=False,
    )
    store.write_documents(some())
    two = {"field": "meta.n", "operator": "==", "value": 2}
    assert store.update_by_filter(two, {"m": 2}) == 1
    pipeline = Pipeline()
    wanted = {"field": "meta.n", "operator": ">", "value": 1}
    pipeline.add_component(
        "retriever",
        WarmsetEmbeddingRetriever(store, filters=wanted, top_k=2, filter_policy="merge"),
    )
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["warmset.*"])
    inputs = {"retriever": {"query_embedding": [1.0, 0.0]}}
    found = [one.id for one in pipeline.run(inputs)["retriever"]["documents"]]
    assert found == ["2", "3"]
    assert again.run(inputs) == pipeline.run(inputs)
    inner = again.get_component("retriever").document_store
    assert inner.to_dict() == store.to_dict()
    assert inner.filter_documents() == store.filter_documents()
    assert inner.filter_documents()[0].embedding is None
    narrower = {"filters": {"field": "meta.m", "operator": "==", "value": 2}, "top_k": 9}
    merged = again.run({"retriever": {"query_embedding": [1.0, 0.0], **narrower}})
    assert [one.id for one in merged["retriever"]["documents"]] == ["2"]
    inner.close()
    store.close()
    with pytest.raises(DocumentStoreError, match="master key"):
        WarmsetDocumentStore(encryption=b"k" * 32).to_dict()


async def test_the_retriever_in_an_event_loop(store):
    await store.write_documents_async(some())
    retriever = WarmsetEmbeddingRetriever(store, scale_score=True)
    found = await retriever.run_async([1.0, 0.0], top_k=1, return_embedding=True)
    assert (found["documents"][0].id, found["documents"][0].embedding) == ("0", [1.0, 0.0])
    assert retriever.run([1.0, 0.0], scale_score=False)["documents"][0].score == pytest.approx(1.0)
    with pytest.raises(InvalidInputError, match="top_k"):
        WarmsetEmbeddingRetriever(store, top_k=0)
    with pytest.raises(InvalidInputError, match="found a str"):
        WarmsetEmbeddingRetriever("store")


async def test_a_hundred_tasks_at_once(tmp_path):
    store = WarmsetDocumentStore(tmp_path / "s", durability="os")

    async def work(n):
        one = Document(id=f"{n}", meta={"n": n}, embedding=[1.0, float(n)])
        assert await store.write_documents_async([one]) == 1
        assert await store.write_documents_async([one], DuplicatePolicy.SKIP) == 0
        same = {"field": "meta.n", "operator": "==", "value": n}
        assert await store.filter_documents_async(same) == [one]
        near = await store.embedding_retrieval_async([1.0, float(n)], top_k=1, filters=same)
        assert near[0].id == f"{n}"
        if n % 2:
            assert await store.delete_by_filter_async(same) == 1

    await asyncio.gather(*(work(n) for n in range(100)))
    assert await store.count_documents_async() == 50
    store.close()


CHILD = """
import sys
from haystack.dataclasses import Document
from warmset.adapters.haystack import WarmsetDocumentStore
store = WarmsetDocumentStore(sys.argv[1])
for n in range(10_000):
    store.write_documents([Document(id=f"{n} {part}", embedding=[1.0, n]) for part in range(2)])
    print(n, flush=True)
"""


def test_what_was_written_is_there_after_a_kill(tmp_path):
    child = subprocess.Popen(  # noqa: S603 - fixed
        [sys.executable, "-c", CHILD, str(tmp_path / "s")],
        stdout=subprocess.PIPE,
        text=True,
    )
    last = -1
    for line in child.stdout:
        last = int(line)
        if last >= 10:
            os.kill(child.pid, signal.SIGKILL)
            break
    child.communicate()
    with WarmsetDocumentStore(tmp_path / "s") as store:
        ids = {one.id for one in store.filter_documents()}
        assert {f"{n} {part}" for n in range(last + 1) for part in range(2)} <= ids
        assert len(ids) % 2 == 0
        assert {one.id for one in store.embedding_retrieval([1.0, 1.0], top_k=len(ids) + 1)} == ids


# --- boundaries -----------------------------------------------------------------------------------


def test_what_was_put_while_a_filter_looked_is_not_deleted(tmp_path):
    for how in ("remove", "erase"):
        with WarmsetDocumentStore(tmp_path / how, delete=how) as store:
            store.write_documents(some(count=3))
            matching = store._matching

            def late(*given, store=store, matching=matching):
                found = matching(*given)
                new = Document(id="1", content="new", meta={"n": 50})
                store.write_documents([new], DuplicatePolicy.OVERWRITE)
                return found

            store._matching = late
            assert store.delete_by_filter({"field": "n", "operator": "<", "value": 9}) == 3
            store._matching = matching
            assert [one.content for one in store.filter_documents()] == ["new"]


def test_embeddings_come_only_where_they_are_wanted(store):
    store.write_documents(some(count=1))
    retriever = WarmsetEmbeddingRetriever(store, return_embedding=True, scale_score=True)

    def shown(found):
        return found["documents"][0].embedding

    assert store.embedding_retrieval([1.0, 0.0], return_embedding=False)[0].embedding is None
    assert store.embedding_retrieval([1.0, 0.0])[0].embedding == [1.0, 0.0]
    assert shown(retriever.run([1.0, 0.0])) == [1.0, 0.0]
    assert shown(retriever.run([1.0, 0.0], return_embedding=False)) is None
    [one] = retriever.run([-1.0, 0.0], scale_score=False)["documents"]
    assert one.score == pytest.approx(-1.0)
    [one] = retriever.run([-1.0, 0.0])["documents"]
    assert one.score == pytest.approx(0.0)


def test_a_score_of_0_and_an_empty_content_are_what_they_are(store):
    written = Document(id="a", content="", score=0.0, embedding=[1.0, 0.0])
    store.write_documents([written, Document(id="b", score=0.75, embedding=[1.0, 0.0])])
    assert store.filter_documents()[0] == written
    found = store.embedding_retrieval([0.0, 1.0])
    assert [one.score for one in found] == [0.0, 0.0]


@pytest.mark.parametrize("edge", [2**63 - 1, 2**63, -(2**63), -(2**63) - 1])
def test_numbers_at_the_edge_of_64_bits_are_compared(store, edge):
    numbers = [edge - 1, edge, edge + 1, float("1e300"), 0]
    store.write_documents([Document(id=f"{n}", meta={"x": one}) for n, one in enumerate(numbers)])
    peer = InMemoryDocumentStore(shared=False)
    peer.write_documents(store.filter_documents())
    for operator in (">", ">=", "<", "<=", "==", "!="):
        filters = {"field": "x", "operator": operator, "value": edge}
        assert answer(store, filters) == answer(peer, filters)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("operator", ["<", ">=", "=="])
def test_numbers_that_are_not_finite_are_compared(store, operator, value):
    documents = [Document(id=f"{n}", meta={"x": x}) for n, x in enumerate([0, -1.5, 2**70])]
    store.write_documents(documents)
    peer = InMemoryDocumentStore(shared=False)
    peer.write_documents(documents)
    filters = {"field": "x", "operator": operator, "value": value}
    assert answer(store, filters) == answer(peer, filters)


def test_values_of_different_types_are_different_values(store):
    values = [1, "1", 1.0, True, "True"]
    store.write_documents([Document(id=f"{n}", meta={"x": x}) for n, x in enumerate(values)])
    found, count = store.get_metadata_field_unique_values("x")
    assert count == 5
    assert sorted(map(repr, found)) == sorted(map(repr, values))


def test_a_part_of_a_value_is_found_whatever_the_case(store):
    store.write_documents(
        [Document(id=f"{n}", meta={"x": x}) for n, x in enumerate(["Heron", "crane"])]
    )
    for term in ("HER", "her", "Her"):
        assert store.get_metadata_field_unique_values("x", term) == (["Heron"], 1)


def test_filters_of_a_run_replace_those_of_the_retriever_unless_they_are_joined(store):
    store.write_documents(some())
    above = {"field": "n", "operator": ">", "value": 3}
    named = {"field": "id", "operator": "in", "value": ["1", "5"]}

    def found(**policy):
        retriever = WarmsetEmbeddingRetriever(store, filters=above, **policy)
        return sorted(one.id for one in retriever.run([1.0, 0.0], filters=named)["documents"])

    assert found() == ["1", "5"]
    assert found(filter_policy="merge") == ["5"]


class Counting(WarmsetDocumentStore):
    """A store whose subclass changes a method."""

    def count_documents(self):
        return 1_000 + super().count_documents()


async def test_the_asynchronous_methods_are_those_of_a_subclass():
    with Counting() as store:
        assert await store.count_documents_async() == 1_000


async def test_a_cancelled_deletion_by_filter_ends_when_it_is_done(store):
    store.write_documents(some())
    wanted = {"field": "n", "operator": "<", "value": 2}
    assert not await ends_before(
        store.shelf, "delete_as_found", lambda: store.delete_by_filter_async(wanted)
    )
    assert store.count_documents() == 4
