"""The rules: what is redundant by words, and by vectors, and what is kept in spite of them."""

from __future__ import annotations

import numpy as np
import pytest
from judging import REQUEST, SPEC, candidate, texts
from vectors_by_word import WordEmbedder

from warmset import Memory
from warmset.items import NewItem
from warmset.route import Router, RuleTriage
from warmset.route.likeness import MOST_ROWS, Likeness, StoredVectors
from warmset.store.records import as_kept

A, B, C = candidate(1, "a"), candidate(2, "b"), candidate(3, "c")
OTHER = [1.0, 0.0, 0.0]
NEAR = [0.951, float(np.sqrt(1 - 0.951**2)), 0.0]
FAR = [0.949, float(np.sqrt(1 - 0.949**2)), 0.0]


def rows(**by_name):
    """Return vectors of candidates by their names; the calls for them are counted."""
    calls = []

    def vectors(some):
        calls.append([one.memory_id for one in some])
        return {
            one.id: np.array(by_name[one.memory_id], np.float32).reshape(-1, 3)
            for one in some
            if one.memory_id in by_name
        }

    vectors.calls = calls
    return vectors


def words(said, vectors=None, some=(A, B)):
    found = RuleTriage(vectors).judge(REQUEST, some, texts(said))
    return {one.memory_id: found[one.id].classification for one in some}


SAME = {"a": "The ferry leaves at 7:35.", "b": "Our boat sails at 7:35."}


def test_what_is_near_a_worthier_one_and_has_no_fact_of_its_own_is_redundant():
    assert words(SAME) == {"a": "supplementary", "b": "supplementary"}
    assert words(SAME, rows(a=OTHER, b=NEAR)) == {"a": "supplementary", "b": "redundant"}
    assert words(SAME, rows(a=OTHER, b=[0.95, 0.0, 0.3]))["b"] == "redundant"
    assert words(SAME, rows(a=OTHER, b=FAR))["b"] == "supplementary"
    found = RuleTriage(rows(a=OTHER, b=NEAR)).judge(REQUEST, (A, B), texts(SAME))
    assert found[2].reason == "said in a"


def test_a_fact_of_its_own_keeps_it():
    other = SAME | {"b": "Our boat sails at 8:35."}
    assert words(other, rows(a=OTHER, b=NEAR))["b"] == "supplementary"


def test_a_denial_keeps_it():
    denied = SAME | {"b": "Our boat never sails at 7:35."}
    assert words(denied, rows(a=OTHER, b=NEAR))["b"] == "supplementary"
    denied = SAME | {"a": "The ferry never leaves at 7:35."}
    assert words(denied, rows(a=OTHER, b=NEAR))["b"] == "supplementary"
    both = {"a": "The ferry never leaves at 7:35.", "b": "Our boat never sails at 7:35."}
    assert words(both, rows(a=OTHER, b=NEAR))["b"] == "redundant"


def test_what_has_no_vectors_is_compared_by_words():
    assert words(SAME, rows(a=OTHER))["b"] == "supplementary"
    assert words(SAME, rows(b=NEAR))["b"] == "supplementary"
    empty = {"a": np.empty((0, 3)), "b": NEAR}
    assert words(SAME, rows(**empty))["b"] == "supplementary"


def test_every_passage_of_a_long_text_must_be_covered():
    both, third = [*OTHER, *FAR], [0.0, 0.0, 1.0]
    assert words(SAME, rows(a=both, b=[*NEAR, *FAR]))["b"] == "redundant"
    assert words(SAME, rows(a=both, b=[*NEAR, *third]))["b"] == "supplementary"
    assert words(SAME, rows(a=[*third, *OTHER], b=NEAR))["b"] == "redundant"


def test_passages_in_the_middle_of_others_are_their_own():
    said = SAME | {"c": "It goes to sea at 7:35, the old boat."}
    third = [0.0, 0.0, 1.0]
    vectors = rows(a=[*third, *OTHER], b=[0.0, 1.0, 0.0], c=NEAR)
    assert words(said, vectors, (A, B, C)) == {
        "a": "supplementary",
        "b": "supplementary",
        "c": "redundant",
    }
    found = RuleTriage(vectors).judge(REQUEST, (A, B, C), texts(said))
    assert found[3].reason == "said in a"


def test_what_is_redundant_itself_covers_nothing():
    raw, made = candidate(1, "a"), candidate(3, "c", derived_from=("a",))
    said = SAME | {"c": "A timetable with 7:35 in it."}
    vectors = rows(a=OTHER, b=NEAR)
    assert words(said, vectors, (raw, B, made)) == {
        "a": "redundant",
        "b": "supplementary",
        "c": "supplementary",
    }


def test_vectors_are_read_once_and_only_where_they_can_decide():
    vectors = rows(a=OTHER, b=NEAR, c=OTHER)
    said = {"a": "Ship 1.", "b": "Boat 2.", "c": "Raft 3."}
    words(said, vectors, (A, B, C))
    assert vectors.calls == []
    words(SAME | {"c": "Sailing: 7:35"}, vectors, (A, B, C))
    assert vectors.calls == [["a", "b", "c"]]


@pytest.mark.parametrize(("count", "is_near"), [(MOST_ROWS - 1, True), (MOST_ROWS, False)])
def test_the_worthiest_are_compared_up_to_a_number_of_rows(count, is_near):
    vectors = rows(a=np.tile(OTHER, count), b=NEAR)
    near = Likeness(vectors, (A, B)).near(2)
    assert list(near) == ([1] if is_near else [])


def opened(**options):
    return Memory.open(None, embedder=WordEmbedder(), **options)


def put(memory, **said):
    new = [
        NewItem(memory_type="document_chunk", memory_id=name, text=text)
        for name, text in said.items()
    ]
    memory.items.put_many(new)
    memory.items.query("x")  # the index takes them up, and has their vectors made
    memory.flush()


def test_a_store_has_vectors_of_its_items():
    with opened() as memory:
        put(memory, a=SAME["a"], b=SAME["b"])
        sources = memory.items.sources
        found = [candidate(sources.shelf().named(name).id, name) for name in ("b", "a")]
        read = StoredVectors(sources)([*found, candidate(10_000, "gone")])
        for one, row in zip(found, WordEmbedder().embed([SAME["b"], SAME["a"]]), strict=True):
            np.testing.assert_array_equal(read.pop(one.id), [as_kept(row)])
        assert not read


class Alike(WordEmbedder):
    """All texts have the same vector."""

    fingerprint = "all-alike"

    def embed(self, given):
        return super().embed(["same"] * len(given))


def test_a_payload_leaves_out_what_only_the_vectors_know_to_be_the_same():
    with Memory.open(None, embedder=Alike()) as memory:
        put(memory, a=SAME["a"], b=SAME["b"])
        payload = Router(memory, specs=[SPEC]).route("dcf", query="ferry")
        [inside], [outside] = payload.context_payload, payload.excluded
        assert (outside.classification, outside.reason) == (
            "redundant",
            f"said in {inside.memory_id}",
        )
        words_alone = Router(memory, specs=[SPEC], triage=RuleTriage())
        assert len(words_alone.route("dcf", query="ferry").context_payload) == 2


def test_messages_and_memories_have_vectors_too():
    with Memory.open(None, embedder=Alike()) as memory:
        known = memory.remember("The boat leaves at 7:35.")
        memory.memories(query="boat")  # while nothing else is embedded, so that they are stored
        talk = memory.conversation("log")
        [turn] = talk.append([{"role": "user", "content": "The ferry leaves at 7:35."}])
        memory.flush()
        vectors = StoredVectors(memory.items.sources)
        kinds = {"conversation": turn, "fact": known, "document_chunk": 10_000}
        some = [candidate(id_, "x", memory_type=kind) for kind, id_ in kinds.items()]
        assert set(vectors(some)) == {turn, known}
    with Memory.open(None, embedder="lexical") as memory:
        put(memory, a="x")
        one = candidate(memory.items.sources.shelf().named("a").id, "a")
        assert StoredVectors(memory.items.sources)([one]) == {}
