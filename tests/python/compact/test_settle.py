"""Coverage against an oracle: what covers a turn, whatever was asked, kept or erased before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from vectors_by_word import WordEmbedder

from warmset import Memory, _core
from warmset._core import HotIndex
from warmset.compact import CompactWeights, forget_vectors, near, twins
from warmset.compact.coverage import Coverage
from warmset.compact.reading import Reads, read_list
from warmset.compact.shared import cache_of
from warmset.items.index import item_index
from warmset.store.records import as_kept
from warmset.text.hard_facts import facts_of

WORDS = WordEmbedder()
TEXTS = st.builds(
    lambda base, more, number: " ".join([*base, *more, *number]),
    st.sampled_from(
        [["the", "ferry", "leaves", "at", "dawn"], ["a", "mast", "of", "oak", "broke"]]
    ),
    st.lists(st.sampled_from(["today", "again", "slowly"]), max_size=2),
    st.lists(st.sampled_from(["7", "8", "Olga"]), max_size=1),
)


def cosines(texts, n):
    """Return the cosine of each pair, as the index has it; what comes from the nth on is stored."""
    rows = WORDS.embed(texts)
    rows[n:] = as_kept(rows[n:])
    index = HotIndex(rows.shape[1])
    index.add(list(range(len(texts))), rows)
    out = np.zeros((len(texts), len(texts)))
    for at, row in enumerate(rows):
        ids, scores = index.search(row, len(texts))
        out[at, ids] = scores
    return out


def oracle(texts, memories, choose, must, *, same, check):
    """Settle the coverage as the module's first lines tell it, turn by turn."""
    told = [*texts, *(memories[id_] for id_ in sorted(memories))]
    n, facts = len(texts), [facts_of(one) for one in told]
    cosine = cosines(told, n)
    counts = [True] * n

    def covered(at):
        later = {}
        for other in range(at + 1, n):  # the same text counts once
            alike = texts[other] == texts[at]
            if counts[other] and (alike or cosine[at, other] >= same):
                later[texts[other]] = (1.0 if alike else min(cosine[at, other], 1.0), facts[other])
        covers = sorted(later.values(), key=lambda one: -one[0])[:3]
        known = sorted(range(n, len(told)), key=lambda one: (-cosine[at, one], one))[:3]
        covers += [(cosine[at, one], facts[one]) for one in known]
        covers.sort(key=lambda one: -one[0])
        if not covers or covers[0][0] <= 0:
            return 0.0
        if check and facts[at] - set().union(*(one for _, one in covers[:3])):
            return 0.0
        return min(covers[0][0], 1.0)

    now = [covered(at) for at in range(n)]
    for round_ in range(9):
        stays = choose(np.array(now)) if round_ < 8 else must
        counts = [one and bool(stay) for one, stay in zip(counts, stays, strict=True)]
        before, now = now, [covered(at) for at in range(n)]
        if round_ < 8 and now == before:
            break
    return now


def settled(texts, choose, must, weights, known=None):
    reads = read_list([{"role": "user", "content": one} for one in texts], None, "o200k_base")[1]
    assert isinstance(reads, Reads)
    cache = cache_of(WORDS, WORDS)
    slots = cache.take([one.digest for one in reads], texts.__getitem__)
    return Coverage(reads, slots, cache, known, weights).settle(choose, must).tolist()


def chooser(bars):
    def choose(coverage):
        return np.array([one <= bar for one, bar in zip(coverage, bars, strict=True)])

    return choose


@given(
    st.lists(st.tuples(TEXTS, st.floats(0, 1)), min_size=1, max_size=12),
    st.sampled_from([0.75, 0.9]),
    st.booleans(),
)
def test_coverage_settles_as_the_oracle_does(turns, same, check):
    texts, bars = map(list, zip(*turns, strict=True))
    choose, must = chooser(bars), np.array([bar > 0.9 for bar in bars])
    weights = CompactWeights(same=same, fact_check=check)
    expected = oracle(texts, {}, choose, must, same=same, check=check)
    assert settled(texts, choose, must, weights) == expected


@pytest.mark.parametrize("must", [(), (0,), (0, 2), (1, 9), (11,)])
def test_choices_that_never_settle_count_what_must_stay_alone(must):
    """Each round, the last turn that counts leaves, as nothing after it says the same."""
    texts, asked = ["the ferry leaves at dawn"] * 12, []

    def choose(coverage):
        asked.append(coverage.tolist())
        return coverage >= 0.5

    stay = np.isin(np.arange(12), must)
    weights = CompactWeights(fact_check=False)
    found = settled(texts, choose, stay, weights)
    assert found == oracle(texts, {}, lambda now: now >= 0.5, stay, same=0.8, check=False)
    assert found == [float(any(at < one for one in must if one < 4)) for at in range(12)]
    assert asked[-1] == found, "what is reported is what was chosen by"


@given(st.data())
def test_memories_that_come_and_go_cover_as_if_all_were_searched(data):
    """The nearest memories are kept between calls; an oracle keeps nothing."""
    with Memory.open(None, embedder=WORDS) as memory:
        shelf, said = item_index(memory._engine, "default", None), {}
        for _ in range(data.draw(st.integers(1, 6))):
            for text in data.draw(st.lists(TEXTS, max_size=3)):
                said[memory.remember(text)] = text
            if said and data.draw(st.booleans()):
                gone = data.draw(st.sampled_from(sorted(said)))
                if data.draw(st.booleans()):
                    memory.erase(ids=[gone])
                else:
                    new = data.draw(TEXTS)
                    said[memory.revise(gone, new)] = new
                said = {one.id: one.text for one in memory.memories(k=99)}
            texts = data.draw(st.lists(TEXTS, min_size=1, max_size=5))
            known = shelf.with_vectors(WORDS)
            said = {one.id: one.text for one in memory.memories(k=99)}
            assert (known is None) == (not said)
            choose, must = chooser([0.5] * len(texts)), np.zeros(len(texts), np.bool_)
            expected = oracle(texts, said, choose, must, same=0.8, check=True)
            assert settled(texts, choose, must, CompactWeights(), known) == expected


@pytest.mark.parametrize("capacity", [0, 32_768])
def test_an_unchanged_shelf_costs_no_search(monkeypatch, capacity):
    """What is new is compared alone; what is gone is gone at once."""
    monkeypatch.setattr(near, "CAPACITY", capacity)
    searched = []

    class Counting:
        def __init__(self, index):
            self.index = index

        def __len__(self):
            return len(self.index)

        def __contains__(self, id_):
            return id_ in self.index

        def search_batch(self, rows, k, *, where=None):
            searched.append((len(rows), None if where is None else list(where.ids)))
            return self.index.search_batch(rows, k, where=where)

    texts = np.array([7, 3, 7, 5])
    rows = WORDS.embed([f"word{one} ferry" for one in (7, 3, 7, 5)])
    plain = HotIndex(rows.shape[1])
    index = Counting(plain)
    kept = near.NearMemories()
    plain.add([1, 2], rows[:2])
    kept.enter([1, 2])
    ids, found = kept.of(texts, rows.__getitem__, index)
    assert ids.tolist() == [[1, 2, -1], [2, 1, -1], [1, 2, -1], ids[3].tolist()]
    assert searched == [(3, None)]
    again = kept.of(texts[::-1], rows[::-1].__getitem__, index)
    assert again[1].tolist() == found[::-1].tolist()
    assert len(searched) == 1
    plain.add([9], rows[3:])
    kept.enter([9])
    ids, _ = kept.of(texts, rows.__getitem__, index)
    assert ids[3, 0] == 9
    assert searched[1:] == [(3, [9])]
    plain.remove([9])
    kept.drop([9])
    ids, _ = kept.of(texts, rows.__getitem__, index)
    assert 9 not in ids
    assert searched[2:] == [(3, None)]
    for late in (8, 4):  # an id that comes back may be lower than those that are there
        plain.add([late], rows[:1])
        kept.enter([late])
        ids, _ = kept.of(texts, rows.__getitem__, index)
    assert ids[0].tolist() == [1, 4, 8]


@pytest.mark.parametrize("capacity", [0, 2, 4, 7])
def test_the_nearest_memories_are_those_of_a_search_whatever_is_kept(monkeypatch, capacity):
    monkeypatch.setattr(near, "CAPACITY", capacity)
    rng = np.random.default_rng(capacity)
    rows = rng.normal(size=(30, 8)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    index, kept, there = HotIndex(8), near.NearMemories(), set()
    for _ in range(40):
        come = {int(one) for one in rng.integers(20, size=2)} - there
        index.add(sorted(come), rows[sorted(come)]) if come else None
        kept.enter(sorted(come))
        there |= come
        if len(there) > 6:
            gone = there.pop()
            index.remove([gone])
            kept.drop([gone])
        texts = rng.integers(20, 30, size=5)
        ids, cosines = kept.of(texts, lambda at, texts=texts: rows[texts[at]], index)
        for text, own, scores in zip(texts, ids, cosines, strict=True):
            found, wanted = index.search(rows[text], 3)
            assert own[: len(found)].tolist() == found.tolist()
            assert scores[: len(found)].tolist() == wanted.tolist()
            assert (own[len(found) :] == -1).all()


def test_a_crowded_text_that_goes_is_nobodys_twin(monkeypatch):
    """Its slot becomes another text's, which says something else."""
    monkeypatch.setattr(twins, "NEAREST", 2)
    turns = np.radians([0, 120, 240])
    ring = np.sin(0.7) * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    rows = np.zeros((4, 3), np.float32)  # a hub, and three that have the hub alone in common
    rows[0, 2], rows[1:, :2], rows[1:, 2] = 1, ring, np.cos(0.7)
    index = HotIndex(3)
    alike = twins.Twins({slot: bytes([slot]) * 16 for slot in range(4)})
    index.add([0, 1, 2, 3], rows)
    alike.meet([0, 1, 2, 3], rows, index)

    def covered(slots, same=0.75):
        crowded = alike.crowded(np.array(slots), same, rows, index)
        asked = {"same": same, "check": False, "crowded": crowded}
        return _core.Coverage(slots, alike.sayings, **asked).now().tolist()

    assert [slot for slot, _ in alike.crowded(np.arange(4), 0.75, rows, index)] == [0]
    assert covered([1, 0]) == [pytest.approx(np.cos(0.7)), 0]
    assert covered([0, 2]) == [pytest.approx(np.cos(0.7)), 0]
    assert covered([1, 2]) == [0, 0]
    assert covered([0, 2], same=0.76) == [pytest.approx(np.cos(0.7)), 0]
    assert alike.crowded(np.arange(4), 0.77, rows, index) == [(0, [])]
    assert covered([0, 2], same=0.77) == [0, 0], "no later text is so much alike"
    alike.forget([0])
    index.remove([0])
    assert covered([1, 0]) == [0, 0]
    assert covered([1, 0, 0]) == [0, 1, 0]


@pytest.fixture(autouse=True)
def _fresh():
    yield
    forget_vectors([WordEmbedder.fingerprint])
