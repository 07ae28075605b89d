"""The vector store of LangChain's adapter, beyond LangChain's own suite."""

from __future__ import annotations

import asyncio
import json

import pytest
from cancelling import ends_before

pytest.importorskip("langchain_core")
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from warmset import Memory
from warmset.adapters.langchain import WarmsetVectorStore
from warmset.errors import DimensionError, InvalidInputError

EMBEDDING = DeterministicFakeEmbedding(size=8)


@pytest.fixture
def store():
    with WarmsetVectorStore(EMBEDDING) as made:
        made.add_documents(
            [
                Document(
                    id=f"{n}",
                    page_content=f"text {n}",
                    metadata={"n": n, "even": n % 2 == 0, "tags": ["a", f"t{n}"], "in": {"x": n}},
                )
                for n in range(12)
            ]
        )
        yield made


def ids(documents):
    return sorted(int(one.id) for one in documents)


def test_filters_by_a_condition_on_metadata(store):
    def found(where):
        return ids(store.similarity_search("text", k=20, filter=where))

    assert found({"n": 3}) == [3]
    assert found({"n": {"$gte": 9}, "even": True}) == [10]
    assert found({"tags": {"contains": "t4"}}) == [4]
    assert found({"or": [{"n": 1}, {"n": {"$in": [2, 50]}}]}) == [1, 2]
    assert found({"in": {"exists": True}}) == []  # mappings cannot be filtered by
    assert found({}) == list(range(12))
    with pytest.raises(InvalidInputError, match="nope"):
        found({"n": {"$nope": 1}})
    with pytest.raises(InvalidInputError, match="expected a mapping or a function"):
        found(7)


def test_filters_by_a_function_reach_as_far_as_they_must(store):
    store.add_texts([f"more {n}" for n in range(400)], ids=[f"{n + 100}" for n in range(400)])
    wanted = store.similarity_search(
        "text 3", k=2, filter=lambda one: one.metadata.get("n") in (3, 7)
    )
    assert ids(wanted) == [3, 7]
    assert len(store.similarity_search("text 3", k=2, filter=lambda _: True)) == 2
    assert store.similarity_search("text 3", k=2, filter=lambda _: False) == []


def test_searches_and_reranks_as_the_in_memory_store_does(store):
    peer = InMemoryVectorStore(EMBEDDING)
    documents = store.get_by_ids([f"{n}" for n in range(12)])
    peer.add_documents(documents)
    for k in (1, 4, 50):
        ours = store.similarity_search_with_score("text 5", k=k)
        theirs = peer.similarity_search_with_score("text 5", k=k)
        assert [one.id for one, _ in ours] == [one.id for one, _ in theirs]
        assert [s for _, s in ours] == pytest.approx([s for _, s in theirs], abs=1e-5)
    for options in ({"k": 3}, {"k": 5, "fetch_k": 9, "lambda_mult": 0.1}):
        ours = store.max_marginal_relevance_search("question", **options)
        assert ours == peer.max_marginal_relevance_search("question", **options)
    wanted = {"even": True}
    ours = store.max_marginal_relevance_search("question", k=3, filter=wanted)
    assert ours == peer.max_marginal_relevance_search(
        "question", k=3, filter=lambda one: one.metadata["even"]
    )


def test_relevance_is_between_0_and_1(store):
    scores = [s for _, s in store.similarity_search_with_relevance_scores("text 5", k=12)]
    assert scores[0] == pytest.approx(1.0)
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
    retriever = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.99}
    )
    assert [one.id for one in retriever.invoke("text 5")] == ["5"]


def test_the_last_of_equal_ids_counts_and_none_deletes_all(store):
    assert store.add_texts(["first", "second"], ids=["x", "x"]) == ["x", "x"]
    assert store.get_by_ids(["x"])[0].page_content == "second"
    assert store.delete([]) is True
    assert store.shelf.count() == 13
    assert store.delete() is True
    assert store.similarity_search("text") == []


def test_what_json_cannot_say_is_refused_and_nothing_is_stored(store):
    for metadata in ({"x": object()}, {"x": float("nan")}, {1: "x"}):
        with pytest.raises(InvalidInputError, match="document 'bad'"):
            store.add_documents(
                [
                    Document(id="new", page_content=""),
                    Document(id="bad", page_content="", metadata=metadata),
                ]
            )
    with pytest.raises(ValueError, match="same length"):
        store.add_documents([Document(page_content=text) for text in "ab"], ids=["1"])
    assert store.get_by_ids(["new", "bad"]) == []


def test_embeddings_of_another_size_are_refused(store):
    other = WarmsetVectorStore(DeterministicFakeEmbedding(size=5), store.shelf.log.store)
    with pytest.raises(DimensionError, match="5"):
        other.similarity_search("text")

    class Short(DeterministicFakeEmbedding):
        def embed_documents(self, texts):
            return super().embed_documents(texts)[1:]

    with pytest.raises(InvalidInputError, match="made 1 vectors of 2 texts"):
        WarmsetVectorStore(Short(size=5)).add_texts(["a", "b"])


def test_reopens_with_everything(tmp_path):
    texts = [f"text {n}" for n in range(5)]
    with WarmsetVectorStore.from_texts(
        texts, EMBEDDING, path=tmp_path / "s", ids=list("abcde")
    ) as one:
        expected = one.similarity_search_with_score("text 2", k=5)
    with WarmsetVectorStore(EMBEDDING, tmp_path / "s") as again:
        assert again.similarity_search_with_score("text 2", k=5) == expected
    with Memory.open(tmp_path / "s", embedder="lexical") as memory:
        assert WarmsetVectorStore(EMBEDDING, memory).similarity_search("text 2", k=1)[0].id == "c"


async def test_a_hundred_tasks_at_once(tmp_path):
    made = await WarmsetVectorStore.afrom_texts(
        ["x"], EMBEDDING, path=tmp_path / "s", ids=["x"], durability="os"
    )

    async def work(n):
        await made.aadd_texts([f"text {n}"], ids=[f"{n}"])
        [(one, score)] = await made.asimilarity_search_with_score(f"text {n}", k=1)
        assert (one.id, round(score, 4)) == (f"{n}", 1.0)
        assert [one.id for one in await made.aget_by_ids([f"{n}"])] == [f"{n}"]
        by_vector = await made.asimilarity_search_by_vector(EMBEDDING.embed_query(f"text {n}"), k=1)
        assert by_vector[0].id == f"{n}"
        near = await made.amax_marginal_relevance_search(f"text {n}", k=1)
        assert near[0].id == f"{n}"
        if n % 2:
            assert await made.adelete([f"{n}"]) is True

    await asyncio.gather(*(work(n) for n in range(100)))
    assert made.shelf.count() == 51
    made.close()


async def test_a_cancelled_addition_is_whole_when_the_task_ends(tmp_path, monkeypatch):
    made = WarmsetVectorStore(EMBEDDING, tmp_path / "s", durability="os")
    begun = asyncio.Event()
    loop, put = asyncio.get_running_loop(), made.shelf.put

    def slow(rows):
        loop.call_soon_threadsafe(begun.set)
        return put(rows)

    monkeypatch.setattr(made.shelf, "put", slow)
    task = asyncio.create_task(made.aadd_texts(["a", "b"], ids=["a", "b"]))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert made.shelf.count() == 2
    made.close()


def test_payloads_are_plain_json(store):
    stored = store.shelf.get(["3"])[0]
    assert json.loads(stored.payload)["page_content"] == "text 3"
    assert stored.cell.columns["n"] == 3


def test_relevance_lies_between_opposite_and_the_same(store):
    scores = {one.id: score for one, score in store.similarity_search_with_score("text 3", k=12)}
    found = store.similarity_search_with_relevance_scores("text 3", k=12)
    assert {one.id: score for one, score in found} == {
        id_: pytest.approx((1 + score) / 2) for id_, score in scores.items()
    }
    assert found[0][0].id == "3"
    assert found[0][1] == pytest.approx(1.0)
    assert min(scores.values()) < 0


class Lengths(Embeddings):
    """Vectors that are no unit vectors: the number that a text is, on one axis."""

    def embed_documents(self, texts):
        return [[float(text), 0.0] for text in texts]

    def embed_query(self, text):
        return [float(text), 0.0]


def test_inner_products_are_relevant_from_0_to_1_too():
    with WarmsetVectorStore(Lengths(), metric="ip") as store:
        store.add_texts(["3", "-3", "0"])
        assert [score for _, score in store.similarity_search_with_score("2")] == [6.0, 0.0, -6.0]
        relevance = store.similarity_search_with_relevance_scores("2")
        assert [score for _, score in relevance] == [1.0, 0.5, 0.0]


def test_tenants_and_collections_of_a_store_are_apart():
    first = WarmsetVectorStore(EMBEDDING, tenant="ann", collection="a")
    store = first.shelf.log.store
    first.add_texts(["mine"], ids=["1"])
    for names in ({"tenant": "ann", "collection": "b"}, {"tenant": "bob", "collection": "a"}):
        other = WarmsetVectorStore(EMBEDDING, store, **names)
        assert other.similarity_search("mine") == []
        other.delete()
    again = WarmsetVectorStore(EMBEDDING, store, tenant="ann", collection="a")
    assert [one.id for one in again.similarity_search("mine")] == ["1"]
    first.close()


@pytest.mark.parametrize("how", ["remove", "erase"])
def test_the_bytes_of_a_deleted_document_are_gone_where_that_is_asked_for(tmp_path, how):
    with WarmsetVectorStore(EMBEDDING, tmp_path / "s", delete=how) as store:
        store.add_texts(["heron", "crane"], ids=["h", "c"])
        store.delete(["h"])
        found = b"".join(one.read_bytes() for one in tmp_path.rglob("*") if one.is_file())
    assert (b"heron" in found) is (how == "remove")
    assert b"crane" in found


def test_ids_that_are_given_come_before_those_of_documents(store):
    documents = [Document(id="own", page_content="x"), Document(page_content="y")]
    assert store.add_documents(documents, ids=["given", "too"]) == ["given", "too"]
    own, made = store.add_documents(documents, ids=[])
    assert own == "own"
    assert made not in ("", "own")
    assert store.get_by_ids(["given"])[0].page_content == "x"


async def test_texts_that_a_store_is_opened_with_keep_their_metadata():
    made = await WarmsetVectorStore.afrom_texts(["x", "y"], EMBEDDING, [{"n": 1}, {"n": 2}])
    assert [one.page_content for one in made.similarity_search("x", filter={"n": 2})] == ["y"]
    made.close()


async def test_a_cancelled_deletion_ends_when_it_is_done(store):
    assert not await ends_before(store.shelf, "delete", lambda: store.adelete(["3"]))
    assert store.get_by_ids(["3"]) == []
