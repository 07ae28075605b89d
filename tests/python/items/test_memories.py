"""Memories: kept once, found by words and vector, edited, erased, gone with what they are of."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from busy import held_elsewhere
from vectors_by_word import WordEmbedder

from warmset import Memory, Weights, compact_context
from warmset.compact import CompactWeights, forget_vectors
from warmset.compact.distil import CUES, clip, confidence_of, is_novel, memory_type_of
from warmset.embed import FunctionEmbedder
from warmset.errors import InvalidInputError, Locked, NotFound
from warmset.items.dedupe import put
from warmset.receipts import Spooled

FERRY = "the ferry leaves at 7:35 from the northern pier"
MAST = "the mast of the boat was repaired by Olga"


@pytest.fixture(autouse=True)
def _fresh():
    forget_vectors()


@pytest.fixture(params=["lexical", "vectors"])
def memory(request):
    embedder = "lexical" if request.param == "lexical" else WordEmbedder()
    with Memory.open(None, embedder=embedder) as made:
        yield made


def test_a_memory_is_listed_and_found(memory):
    first = memory.remember(FERRY, memory_type="habit", confidence=0.9, meta={"by": ["me", 1]})
    second = memory.remember(MAST)
    assert [one.id for one in memory.memories()] == [second, first]
    [one] = memory.memories(memory_type="habit")
    assert (one.text, one.memory_type, one.confidence) == (FERRY, "habit", 0.9)
    assert one.meta == {"by": ["me", 1]}
    assert one.score is None
    found = memory.memories(query="which pier does the ferry leave from")
    assert found[0].id == first
    assert found[0].score > found[1].score
    assert [one.id for one in memory.memories(query="mast boat", k=1)] == [second]
    assert memory.memories(query="   ", k=1)[0].id == first


def test_a_vector_finds_what_no_word_does():
    class Paraphrase(WordEmbedder):
        fingerprint = "words-that-know-ships"

        def embed(self, texts):
            return super().embed([text.replace("vessel", "ferry leaves pier") for text in texts])

    with Memory.open(None, embedder=Paraphrase()) as memory:
        memory.remember(MAST)
        ferry = memory.remember(FERRY)
        assert memory.memories(query="vessel")[0].id == ferry


def test_a_score_is_the_weighted_sum_of_words_and_vector(tmp_path):
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        memory.remember(FERRY)

    def score(dense, lexical):
        weights = Weights(dense=dense, lexical=lexical)
        with Memory.open(tmp_path, embedder=WordEmbedder(), weights=weights) as memory:
            return memory.memories(query="where is the ferry?")[0].score

    vector, words = score(1.0, 0.0), score(0.0, 1.0)
    assert 0 < vector < words
    assert score(2.0, 3.0) == pytest.approx(2 * vector + 3 * words)


def test_the_same_fact_is_kept_once(memory):
    first = memory.remember(FERRY)
    assert memory.remember("  The FERRY leaves, at 7:35 from the northern pier. ") == first
    assert memory.remember(FERRY.replace("7:35", "9:10")) != first
    assert memory.remember(FERRY, conversation="a") != first  # it is erased with another scope
    assert len(memory.memories(k=9)) == 3


def test_what_is_alike_and_has_the_same_facts_is_kept_once():
    with Memory.open(None, embedder=WordEmbedder()) as memory:
        long = FERRY + " before breakfast on working days while the harbour sleeps"
        first = memory.remember(long)
        assert memory.remember(long + " still") == first
        assert memory.remember(long + " still 12") != first
        assert memory.remember(MAST) != first


def test_memories_outlive_the_handle_and_the_process(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        first = memory.remember(FERRY)
        with Memory.open(tmp_path, embedder="lexical") as other:
            assert other.memories()[0].id == first
    with Memory.open(tmp_path, embedder="lexical") as memory:
        assert memory.memories(query="ferry")[0].text == FERRY
        assert memory.remember(FERRY) == first


def test_tenants_and_conversations_see_their_own(tmp_path):
    with (
        Memory.open(tmp_path, embedder="lexical") as ours,
        Memory.open(tmp_path, embedder="lexical", tenant="other") as theirs,
    ):
        first = ours.remember(FERRY)
        own = ours.remember(MAST, conversation="a")
        assert theirs.memories() == []
        assert [one.id for one in ours.memories(conversation="a")] == [own, first]
        assert [one.id for one in ours.memories(conversation="b")] == [first]
        for call in (lambda: theirs.revise(first, "mine now"), lambda: theirs.erase(ids=[first])):
            with pytest.raises(NotFound):
                call()
        assert len(ours.memories()) == 2


def test_an_edit_replaces_the_words_and_keeps_the_rest(tmp_path):
    with Memory.open(tmp_path, embedder=WordEmbedder(), durability="os") as memory:
        [turn] = memory.conversation("a").append({"role": "user", "content": FERRY})
        own = {"memory_type": "habit", "confidence": 0.6, "meta": {"x": 1}, "conversation": "a"}
        first = memory.remember(FERRY, **own)
        new = memory.revise(first, "the ferry leaves at 8:20 nowadays")
        assert new > first > turn
        [one] = memory.memories()
        assert (one.text, one.memory_type, one.confidence, one.conversation, one.meta) == (
            "the ferry leaves at 8:20 nowadays",
            "habit",
            0.6,
            "a",
            {"x": 1},
        )
        assert [hit.id for hit in memory.memories(query="7:35 northern pier")] == [new]
        assert memory.revise(new, one.text) == new
        louder = memory.revise(new, "The ferry leaves at 8:20, nowadays!")
        assert memory.memories()[0].text == "The ferry leaves at 8:20, nowadays!"
        for gone in (first, [louder], True, 1.0):
            with pytest.raises(NotFound):
                memory.revise(gone, "again")
        memory.erase(conversation="a")
        assert memory.memories() == []
        with pytest.raises(NotFound):
            memory.revise(louder, "again")


def test_an_edit_that_says_what_another_says_leaves_one(memory):
    first, second = memory.remember(FERRY), memory.remember(MAST)
    assert memory.revise(second, FERRY.upper()) == first
    assert [one.id for one in memory.memories()] == [first]


def test_two_edits_at_once_that_say_the_same_leave_one(memory, monkeypatch):
    first, second = memory.remember("The kite is red"), memory.remember("The kite is blue")
    other = threading.Thread(target=memory.revise, args=(second, "The kite is green"))

    def late(engine, drafts):
        if other.ident is None:
            other.start()
            other.join(0.5)  # it is done by then, unless it waits for us
        return put(engine, drafts)

    monkeypatch.setattr("warmset.items.memories.put", late)
    memory.revise(first, "The kite is green")
    other.join(20)
    assert [one.text for one in memory.memories()] == ["The kite is green"]


def test_an_edit_that_was_cut_short_shows_the_new_words_alone(memory, monkeypatch):
    first = memory.remember(FERRY)
    monkeypatch.setattr(memory._engine, "erase", lambda **_: (_ for _ in ()).throw(OSError))
    with pytest.raises(OSError):
        memory.revise(first, MAST)
    assert [one.text for one in memory.memories()] == [MAST]


def test_erasing_takes_the_bytes(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        first = memory.remember(FERRY)
        memory.remember(MAST)
        assert memory.erase(ids=[first]).records == 1
        assert [one.text for one in memory.memories(query="ferry pier")] == [MAST]
    data = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"northern pier" not in data
    assert b"Olga" in data


def test_a_memory_has_the_callers_name_or_one_made_of_its_id(memory):
    first = memory.remember("the harbour closes at ten", memory_id="harbour")
    other = memory.remember("the ferry takes bicycles")
    names = {one.id: one.memory_id for one in memory.memories()}
    assert names == {first: "harbour", other: f"memory:{other}"}
    assert memory.remember("The harbour closes at ten.", memory_id="harbour") == first
    with pytest.raises(InvalidInputError, match=f"memory_id: 'harbour' is memory {first}"):
        memory.remember("the harbour closes at nine", memory_id="harbour")
    again = memory.remember("the ferry takes bicycles", memory_id="ferry")
    assert again != other, "the caller's name tells it from what says the same"
    memory.erase(ids=[again])
    with pytest.raises(InvalidInputError, match="memory_id: 'memory:77' is what"):
        memory.remember("a third thing", memory_id="memory:77")
    like = "memory:77 of them"
    memory.erase(ids=[memory.remember("a third thing", memory_id=like)])
    twin = memory.revise(first, "The ferry takes bicycles!")
    assert twin != other, "it keeps its name, although another one says the same"
    later = memory.revise(twin, "the harbour closes at eleven")
    assert {one.id: one.memory_id for one in memory.memories()} == {
        later: "harbour",
        other: f"memory:{other}",
    }


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda m: m.remember(" "), "text"),
        (lambda m: m.remember(3), "text"),
        (lambda m: m.remember("x", memory_type="gossip"), "memory_type"),
        (lambda m: m.remember("x", memory_id=""), "memory_id"),
        (lambda m: m.remember("x", memory_id=3), "memory_id"),
        (lambda m: m.remember("x", confidence=1.5), "confidence"),
        (lambda m: m.remember("x", confidence=float("nan")), "confidence"),
        (lambda m: m.remember("x", meta=[1]), "meta"),
        (lambda m: m.remember("x", meta={"a": float("nan")}), "finite|nan"),
        (lambda m: m.remember("x", conversation=""), "conversation"),
        (lambda m: m.memories(k=0), "k"),
        (lambda m: m.memories(query=3), "query"),
        (lambda m: m.memories(memory_type="gossip"), "memory_type"),
    ],
)
def test_what_is_out_of_range_is_refused(memory, call, why):
    with pytest.raises(InvalidInputError, match=why):
        call(memory)
    assert memory.memories() == []


def test_what_is_looked_at_outlives_what_others_do_meanwhile():
    embedder = WordEmbedder()
    with Memory.open(None, embedder=embedder) as memory:
        first = memory.remember(FERRY)
        known = memory.__warmset_keeper__().known(embedder)
        memory.remember(MAST)
        plain = FunctionEmbedder(lambda texts: [[float(len(text)), 1.0] for text in texts])
        other = memory.__warmset_keeper__().known(plain)
        ids, scores, _ = known.nearest(embedder.embed([FERRY]), 1)
        assert (ids[0, 0], round(float(scores[0, 0]), 5)) == (first, 1.0)
        assert other.nearest(plain.embed(["x"]), 1)[2].tolist() == [1]
        assert known.shelf.hard(first)
        memory.erase(ids=[first])
        assert len(memory.memories()) == 1
        assert known.shelf.hard(first) == frozenset()
        gone = np.array([first], np.int64)
        assert not known.shelf.stated(gone).lacking(gone).tolist(), "nothing is known of it"


def test_a_memory_waits_in_the_spool_of_a_busy_store(tmp_path):
    with (
        Memory.open(tmp_path, embedder=WordEmbedder(), on_busy="spool") as memory,
        held_elsewhere(tmp_path),
    ):
        left = memory.remember(FERRY)
        assert isinstance(left, Spooled)
        assert memory.memories() == []
        list_ = [{"role": "user", "content": f"The ferry {n} leaves at nine."} for n in range(30)]
        with pytest.raises(Locked, match="spool"):
            compact_context(list_, memory=memory, target_ratio=0.2)
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        memory.conversation("a").append({"role": "user", "content": "hello"})
        assert [one.text for one in memory.memories() if one.text == FERRY] == [FERRY]
        assert put(memory._engine, []) == []


# --- what a dropped turn becomes ------------------------------------------------------------------

KINDS = [
    ("Actually, the port is 8443 and not 443.", "correction"),
    ("No, the other file.", "correction"),
    ("That’s wrong: it was Tuesday.", "correction"),
    ("I prefer tabs to spaces.", "preference"),
    ("Please never push on Fridays.", "preference"),
    ("She usually swims before work.", "habit"),
    ("We never deploy in December.", "habit"),
    ("We decided to use Postgres.", "decision"),
    ("Let's go with the second design.", "decision"),
    ("Yesterday the importer ran into a timeout.", "episode"),
    ("We met Olga at the station.", "episode"),
    ("The port of the staging server is 8443.", "fact"),
    ("Nobody knows.", "fact"),
    ("The northern actuallys", "fact"),
]


@pytest.mark.parametrize(("text", "kind"), KINDS)
def test_the_kind_is_told_by_cues(text, kind):
    assert memory_type_of(text) == kind


def test_every_cue_tells_its_kind():
    order = list(CUES)
    for kind, cues in CUES.items():
        for cue in cues:
            told = memory_type_of(f"well {cue.upper()} so")
            assert order.index(told) <= order.index(kind), cue
            assert told == kind or any(one in cue for one in CUES[told]), cue


def test_what_is_new_and_long_enough_becomes_a_memory():
    assert is_novel("x" * 40, 0.49)
    assert not is_novel(" " + "x" * 39, 0.0)
    assert not is_novel("x" * 40, 0.5)
    assert (confidence_of(0.0), confidence_of(1.0)) == (0.75, 0.5)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("a" * 9, "a" * 6),
        ("abcde e\u0301", "abcde"),
        ("abcdee\u0301\u0323x", "abcde"),
        ("abcd\U0001f469\u200d\U0001f4bbx", "abcd"),
        ("abcde\U0001f44d\U0001f3fdx", "abcde"),
        ("abcde\U0001f1eb\U0001f1f7x", "abcde"),
        ("abcd\U0001f1eb\U0001f1f7x", "abcd\U0001f1eb\U0001f1f7"),
        ("  abc  ", "abc"),
        ("abcde\r\nx", "abcde"),
        ("e" + "\u0301" * 9, "e" + "\u0301" * 5),
    ],
)
def test_a_text_is_cut_between_characters(text, cut):
    assert clip(text, 6) == cut


def talk(n=30):
    return [
        {
            "role": "user" if at % 2 == 0 else "assistant",
            "content": f"We decided that part {at} goes to {at + 100} " + f"word{at} " * 8,
        }
        for at in range(n)
    ]


def test_novel_drops_become_memories_with_their_provenance():
    with Memory.open(None, embedder=WordEmbedder()) as memory:
        known = talk()[3]["content"]
        memory.remember(known)
        given = [*talk(), {"role": "assistant", "content": "ok"}, *talk(6)[-1:]]
        given[5] = {"role": "assistant", "content": "too short"}
        made = compact_context(given, memory=memory, distill_novel=True, target_ratio=0.5)
        distilled = memory.memories(k=99)
        assert made.stats.distilled == len(distilled) - 1 > 3
        assert made.stats.distilled_kinds == {"decision": made.stats.distilled}
        novel = [
            drop
            for drop in made.dropped
            if drop.terms.coverage < 0.5 and len(given[drop.id]["content"]) >= 40
        ]
        by_source = {one.sources: one for one in distilled if one.sources}
        for drop in novel:
            one = by_source[(int(drop.handle.split(":")[1]),)]
            assert one.text == given[drop.id]["content"].strip()
            assert one.confidence == pytest.approx(0.5 + 0.25 * (1 - drop.terms.coverage))
            assert one.memory_type == "decision"
        assert len(novel) == made.stats.distilled
        assert 3 in made.dropped.ids
        again = compact_context(given, memory=memory, distill_novel=True, target_ratio=0.5)
        assert again.stats.distilled < made.stats.distilled
        covered = {drop.id: drop.terms.coverage for drop in again.dropped}
        assert all(covered.get(drop.id, 1) > 0.99 for drop in novel)


def test_a_memory_that_is_long_is_cut_and_twins_are_kept_once():
    with Memory.open(None, embedder="lexical") as memory:
        long = {"role": "user", "content": "The valve opens at 40 degrees. " * 60}
        given = [*talk(4), long, dict(long), *talk(8)]
        made = compact_context(given, memory=memory, distill_novel=True, target_ratio=0.3)
        assert {4, 5} <= set(made.dropped.ids)
        found = [one for one in memory.memories(k=99) if "valve" in one.text]
        assert len(found) == 1
        assert len(found[0].text) <= 600


def test_turns_of_one_run_that_say_the_same_make_one_memory():
    said = "the valve of the boiler opens at 40 degrees when the pump has run for a while"
    given = talk(20)
    for at, text in ((2, said), (4, said + " today"), (6, said.replace("40", "45"))):
        given[at] = {"role": "user", "content": text}
    with Memory.open(None, embedder=WordEmbedder()) as memory:
        flat = CompactWeights(coverage=0, same=1.0)
        ask = {"distill_novel": True, "target_ratio": 0.3, "weights": flat}
        made = compact_context(given, memory=memory, **ask)
        assert {2, 4, 6} <= set(made.dropped.ids)
        found = sorted(one.text for one in memory.memories(k=99) if "valve" in one.text)
        assert found == [said, said.replace("40", "45")]


def test_erasing_the_source_erases_what_was_distilled():
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("a")
        ids = conversation.append(talk())
        made = compact_context(talk(), memory=conversation, distill_novel=True)
        assert [drop.store_id for drop in made.dropped] == [ids[drop.id] for drop in made.dropped]
        assert not list(memory._engine.derived.of("item", "default"))  # nothing is stored twice
        before = memory.memories(k=99)
        gone = before[0]
        memory.erase(ids=gone.sources)
        assert [one.id for one in memory.memories(k=99)] == [one.id for one in before[1:]]
        memory.erase(conversation="a")
        assert memory.memories() == []
        assert memory.episodes() == []
