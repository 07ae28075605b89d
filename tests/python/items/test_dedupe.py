"""Which memories are the same, at exact cosines; what an erasure and an edit leave in indexes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from warmset import Memory
from warmset.errors import InvalidInputError, NotFound
from warmset.items.dedupe import SAME, keep_novel
from warmset.items.index import item_index
from warmset.items.item import Fresh, says

FERRY = "the ferry leaves at 7:35 from the northern pier"
MAST = "the mast of the boat was repaired by Olga"


class Rows:
    """An embedder without a model; `embed` is to be given."""

    name, remote, dim = "rows", False, 2

    def embed_query(self, texts):
        return self.embed(texts)

    def split(self, text):
        return [text]


def kept(memory, texts, conversation=None, **options):
    """Store texts in one go; each one's id, and whether it is new."""
    engine, embedder = memory._engine, memory._engine.indexer.vectorizer.embedder
    fresh = [Fresh(text=text, memory_type="fact", confidence=0.5, **options) for text in texts]
    index = item_index(engine, memory.tenant, None)
    return keep_novel(engine, index, fresh, conversation, embedder)


@pytest.mark.parametrize(
    ("origins", "stored"), [(("web", "user"), 2), (("user", "web"), 1), (("web", "web"), 1)]
)
def test_of_equal_texts_of_one_run_none_stands_for_one_that_is_trusted_more(origins, stored):
    with Memory.open(None, embedder="lexical") as memory:
        index = item_index(memory._engine, memory.tenant, None)
        fresh = [
            Fresh(text=FERRY, memory_type="fact", confidence=0.5, origin=one) for one in origins
        ]
        made = keep_novel(memory._engine, index, fresh, None, None)
        assert len({id_ for id_, _ in made}) == stored
        assert {one.origin for one in memory.memories()} == {*origins[:stored]}


EDGE = math.degrees(math.acos(SAME))


def test_texts_of_one_run_are_compared_with_those_before_them():
    """The second is near the first, the third near the second alone: one memory, of the first."""
    where = {"red": 0.0, "amber": 0.9 * EDGE, "yellow": 1.8 * EDGE, "blue": 90.0}

    class Colours(Rows):
        fingerprint = "colours"

        def embed(self, texts):
            found = [math.radians(where[text.split()[-1]]) for text in texts]
            return np.array([(math.cos(one), math.sin(one)) for one in found], np.float32)

    names = [f"this sail is painted {name}" for name in where]
    with Memory.open(None, embedder=Colours()) as memory:
        made = kept(memory, names)
        ids = [id_ for id_, _ in made]
        assert [new for _, new in made] == [True, False, False, True]
        assert ids[0] == ids[1] == ids[2] != ids[3]
        assert {one.id for one in memory.memories()} == {ids[0], ids[3]}
    with Memory.open(None, embedder=Colours()) as memory:
        back = kept(memory, names[::-1])  # the first stays, whatever comes behind it
        assert [new for _, new in back] == [True, True, False, False]
        assert back[1][0] == back[2][0] == back[3][0]
        again = kept(memory, names)
        assert [new for _, new in again][1:] == [False, False, False]


@pytest.mark.parametrize("cosine", [SAME, float(np.nextafter(np.float32(SAME), np.float32(0)))])
def test_a_cosine_of_exactly_the_least_is_a_duplicate(cosine):
    with Memory.open(None, embedder=exact(cosine)) as memory:
        first = memory.remember("this sail is painted red")
        again = memory.remember("this sail is painted amber")
        assert (again == first) == (cosine == SAME)


def exact(cosine):
    """An embedder by which two texts have exactly this cosine, as numbers of single precision."""
    least = np.float32(cosine)
    rest = np.float32(math.sqrt(1 - float(least) ** 2))

    class Exact(Rows):
        fingerprint = f"exact {least}"

        def embed(self, texts):
            rows = [(1, 0) if text.endswith("red") else (least, rest) for text in texts]
            return np.array(rows, np.float32)

    return Exact()


def test_memories_of_another_conversation_and_with_other_facts_are_not_the_same():
    with Memory.open(None, embedder=exact(0.99)) as memory:
        first = memory.remember("this sail is painted red")
        other = memory.remember("this sail is painted amber", conversation="log")
        assert other != first
        assert memory.remember("sail 12 is painted amber") not in (first, other)
        named = memory.remember("this sail is painted amber", memory_id="sail")
        assert named not in (first, other)
        assert memory.remember("this sail is painted amber") in (first, named)


def test_of_one_run_texts_with_other_facts_are_not_the_same():
    texts = ["sail 12 is painted red", "sail 13 is painted red", "here sail 12 is painted red"]
    with Memory.open(None, embedder=exact(0.99)) as memory:
        made = kept(memory, texts)
        assert [new for _, new in made] == [True, True, False]
        assert made[0][0] == made[2][0]


def test_a_vector_that_points_elsewhere_counts_as_none():
    with Memory.open(None, embedder=exact(-0.5)) as memory:
        near, far = memory.remember("this sail is painted red"), memory.remember("a drum of amber")
        found = memory.memories(query="coloured red")
        assert [one.id for one in found] == [near, far]
        assert [found[0].score > 0.9, found[1].score] == [True, 0.0]


@pytest.mark.parametrize("sign", "%$€£/+-")
def test_signs_of_quantities_make_another_text(sign):
    assert says(f"pay 5{sign} at once") != says("pay 5 at once")
    assert says(f"pay 5{sign} at once") == says(f"Pay: 5{sign}, at once!")


def test_a_full_stop_makes_no_other_text():
    assert says("The valve opens.") == says("the  valve, opens")
    assert says("7.35") != says("735")


# --- erasing and editing --------------------------------------------------------------------------


def test_an_erasure_leaves_nothing_in_the_indexes_at_once():
    with Memory.open(None, embedder="lexical") as memory:
        first, second = memory.remember(FERRY), memory.remember(MAST)
        scopes = [item_index(memory._engine, memory.tenant, one) for one in (None, "log")]
        for one in scopes:
            assert set(one.refresh()) == {first, second}
        memory.erase(ids=[first])
        for one in scopes:
            assert one.known_as(None, FERRY) is None
            assert one.known_as(None, MAST) == second
            with pytest.raises(KeyError):
                one.text(first)


def test_ids_of_two_tenants_are_not_erased_together(tmp_path):
    with (
        Memory.open(tmp_path, embedder="lexical") as ours,
        Memory.open(tmp_path, embedder="lexical", tenant="t") as theirs,
    ):
        mine, other = ours.remember(FERRY), theirs.remember(MAST)
        for ids in ([mine, other], [other, mine], [other]):
            with pytest.raises(NotFound):
                ours.erase(ids=ids)
        assert [one.id for one in ours.memories()] == [mine]
        assert [one.id for one in theirs.memories()] == [other]


@pytest.mark.parametrize("wrong", [[True], [False], [-1], ["1"], [1.0], "1", b"1", 7])
def test_what_is_no_id_is_not_erased(wrong):
    with Memory.open(None, embedder="lexical") as memory:
        first = memory.remember(FERRY)
        with pytest.raises(InvalidInputError, match="ids"):
            memory.erase(ids=wrong)
        assert [one.id for one in memory.memories()] == [first]


@pytest.mark.parametrize("how", ["both", "neither"])
def test_either_a_conversation_or_ids_are_erased(how):
    with Memory.open(None, embedder="lexical") as memory:
        ids = memory.conversation("log").append({"role": "user", "content": FERRY})
        given = {"conversation": "log", "ids": ids} if how == "both" else {}
        with pytest.raises(InvalidInputError, match="either a conversation or ids"):
            memory.erase(**given)
        assert memory.conversation("log").ids == ids


def broken(**_):
    raise OSError("cut short")


def test_a_text_that_was_replaced_may_be_stored_again(monkeypatch):
    """The edit was cut short, so the old record is still there; it stays hidden."""
    with Memory.open(None, embedder="lexical") as memory:
        first = memory.remember(FERRY)
        with monkeypatch.context() as patched:
            patched.setattr(memory._engine, "erase", broken)
            with pytest.raises(OSError, match="cut short"):
                memory.revise(first, MAST)
        assert [one.text for one in memory.memories()] == [MAST]
        again = memory.remember(FERRY)
        assert again != first
        assert [one.text for one in memory.memories()] == [FERRY, MAST]


def test_memories_of_one_score_come_in_the_order_of_their_ids():
    with Memory.open(None, embedder="lexical") as memory:
        ids = [memory.remember(f"boat number {at}") for at in range(5)]
        assert [one.id for one in memory.memories(query="zebra")] == ids
        assert [one.id for one in memory.memories()] == ids[::-1]


def test_a_memory_is_redacted_before_it_is_cut():
    """A secret that ends behind the 600 characters is found while all of it is there."""

    def redact(text):
        return text.replace("secret-12345", "[gone]")

    with Memory.open(None, embedder="lexical", redact=redact) as memory:
        memory.remember("x" * 592 + " secret-12345 and so on")
        [one] = memory.memories()
        assert "secret" not in one.text
        assert len(one.text) <= 600
