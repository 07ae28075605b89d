"""Vectors of items: made in the background, kept in the store, searched with the words."""

from __future__ import annotations

import pytest
from other_process import other, said
from vectors_by_word import WordEmbedder

from warmset import Memory
from warmset.items import NewItem

NEAR = "boat boat boat mast"
FAR = "ledger audit balance sheet"


def new(text, name, **fields):
    return NewItem(memory_type="t", text=text, memory_id=name, **fields)


def names(found):
    return [one.memory_id for one in found]


class Blind(WordEmbedder):
    """Words of a question get the direction of another word, so that only vectors find it."""

    def embed_query(self, texts):
        return self.embed([text.replace("vessel", "boat") for text in texts])


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path, embedder=Blind()) as made:
        yield made


def test_items_are_found_by_their_vectors_once_they_are_made(memory):
    items = memory.items
    items.put_many([new(NEAR, "near"), new(FAR, "far")])
    assert memory.flush(timeout=30)
    found = items.query("vessel")
    assert names(found)[0] == "near"
    assert found[0].score > 0.4
    assert names(items.query("vessel", memory_type="none")) == []


def test_vectors_are_made_once_and_read_after_that(tmp_path):
    with Memory.open(tmp_path, embedder=Blind()) as memory:
        memory.items.put_many([new(NEAR, "near"), new(FAR, "far")])
        assert memory.flush(timeout=30)
    again = Blind()
    with Memory.open(tmp_path, embedder=again) as memory:
        assert names(memory.items.query("vessel"))[0] == "near"
        assert memory.flush(timeout=30)
        assert again.embedded == 1  # the question
        memory.items.put(new(FAR + " more", "far"))
        assert memory.flush(timeout=30)
        assert again.embedded == 2


def test_another_version_is_searched_by_its_own_vector(memory):
    items = memory.items
    items.put(new(NEAR, "a"))
    assert memory.flush(timeout=30)
    assert names(items.query("vessel")) == ["a"]
    items.put(new(FAR, "a"))
    assert memory.flush(timeout=30)
    assert all(one.score < 0.3 for one in items.query("vessel"))
    items.put(new(NEAR, "a"))
    assert memory.flush(timeout=30)
    assert items.query("vessel")[0].score > 0.4


def test_an_erased_item_leaves_no_vector(memory):
    items = memory.items
    items.put_many([new(NEAR, "near"), new(FAR, "far")])
    assert memory.flush(timeout=30)
    before = memory.stats()["records"]
    items.erase("near")
    assert "near" not in names(items.query("vessel"))
    assert memory.stats()["records"] < before
    items.put(new(NEAR, "near"))
    assert memory.flush(timeout=30)
    assert names(items.query("vessel"))[0] == "near"


def test_all_vectors_are_made_anew_with_another_embedder(tmp_path):
    class Other(Blind):
        fingerprint = "another"

        def embed(self, texts):
            return -super().embed(texts)

    with Memory.open(tmp_path, embedder=Blind()) as memory:
        memory.items.put_many([new(NEAR, "near"), new(FAR, "far")])
        memory.conversation("log").append(said("a boat"))
        assert memory.flush(timeout=30)
    for used in (True, False):
        with Memory.open(tmp_path, embedder=Other()) as memory:
            if used:
                assert set(names(memory.items.query(memory_type="t"))) == {"far", "near"}
            memory.reembed()
            if not used:  # what nobody has used is embedded when somebody does
                memory.items.query()
            assert memory.flush(timeout=30)
            found = memory.items.query("vessel", memory_type="t")
            assert names(found)[0] == "near"
            assert memory.flush(timeout=30)
            [again] = memory.items.query("vessel", memory_type="t", k=1)
            assert again.score > 0.4


def test_vectors_of_another_process_are_searched_here(tmp_path):
    with Memory.open(tmp_path, embedder="lexical", mode="shared") as memory:
        memory.items.put(new(NEAR, "near"))
    code = """
from warmset.items import NewItem
memory.items.put(NewItem(memory_type="t", text="a quiet harbour", memory_id="h"))
assert memory.flush(timeout=30)
print(len(memory.items.query()))
"""
    assert other(tmp_path, code, bag=True, mode="shared") == "2\n"
    from bag import Bag  # noqa: PLC0415 - the embedder of the other process

    with Memory.open(tmp_path, embedder=Bag(), mode="read") as memory:
        assert "near" in names(memory.items.query("boat"))
        assert names(memory.items.query("harbour"))[0] == "h"


def test_vectors_that_another_process_made_anew_are_searched_here(tmp_path):
    from bag import Bag  # noqa: PLC0415 - the embedder of the other process

    with Memory.open(tmp_path, embedder=Bag()) as memory:
        memory.items.put_many([new("a red car", "car"), new("a blue boat", "boat")])
        assert memory.flush(timeout=30)
        assert names(memory.items.query("automobile"))[0] == "car"
        other(tmp_path, "memory.items.query()\nmemory.reembed()", bag=True)
        [found] = memory.items.query("automobile", k=1)
        assert found.memory_id == "car"
        assert found.score > 0.2, "no word of the question stands in it"


def test_an_embedder_that_fails_leaves_the_search_by_words():
    class Broken(WordEmbedder):
        def embed(self, _texts):
            raise OSError

    with Memory.open(None, embedder=Broken()) as memory:
        memory.items.put_many([new(NEAR, "near"), new(FAR, "far")])
        assert not memory.flush(timeout=0.5)
        assert names(memory.items.query("mast")) == ["near"]


def test_items_are_embedded_where_messages_have_no_contexts(tmp_path):
    with Memory.open(tmp_path, embedder=Blind(), views="turn") as memory:
        memory.items.put(new(NEAR, "near"))
        assert memory.flush(timeout=30)
        assert names(memory.items.query("vessel")) == ["near"]
