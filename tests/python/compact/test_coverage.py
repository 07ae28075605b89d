"""What is said twice may go once, what is known may go first, a fact that is not known stays."""

from __future__ import annotations

import numpy as np
import pytest
from vectors_by_word import WordEmbedder

from warmset import compact_context
from warmset._core import Coverage
from warmset.compact import CompactWeights, forget_vectors, twins, vectors
from warmset.compact.reading import read_list
from warmset.compact.vectors import VectorCache
from warmset.errors import InvalidInputError

SAME = "the harbour ferry leaves from the northern pier before breakfast on working days"
FILLER = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron"


@pytest.fixture
def words():
    forget_vectors([WordEmbedder.fingerprint])
    yield WordEmbedder()
    forget_vectors([WordEmbedder.fingerprint])


def conversation(early, late, n=24, places=(4, 14)):
    """Two turns of a user among turns that have nothing in common."""
    out = []
    for at in range(n):
        text = " ".join(f"{word}{at}" for word in FILLER.split())
        out.append({"role": "user", "content": text})
    out[places[0]] = {"role": "user", "content": early}
    out[places[1]] = {"role": "user", "content": late}
    return out


def coverage_of(given, place, embedder, **options):
    made = compact_context(given, embedder=embedder, target_ratio=0.6, **options)
    found = [drop for drop in made.dropped if drop.id == place]
    return found[0].terms.coverage if found else None


def test_of_two_turns_that_say_the_same_the_earlier_goes_first(words):
    given = conversation(SAME, SAME)
    assert coverage_of(given, 4, words) == 1.0
    assert coverage_of(given, 14, words) is None
    near = conversation(SAME, SAME + " again")
    assert 0.8 < coverage_of(near, 4, words) < 1
    apart = conversation(SAME, FILLER)
    assert coverage_of(apart, 4, words) == 0


def test_a_fact_that_the_later_turn_lacks_makes_coverage_none(words):
    early, late = SAME + " at 7:35", SAME + " at 9:10"
    assert coverage_of(conversation(early, late), 4, words) in (0, None)
    unchecked = CompactWeights(fact_check=False)
    assert coverage_of(conversation(early, late), 4, words, weights=unchecked) > 0.8
    assert coverage_of(conversation(SAME, late), 4, words) > 0.8  # nothing is missing there


def test_how_alike_two_turns_must_be_is_an_option(words):
    near = conversation(SAME, SAME + " sometimes twice perhaps")
    strict = CompactWeights(same=0.99)
    assert coverage_of(near, 4, words) > 0.8
    assert coverage_of(near, 4, words, weights=strict) == 0


def test_a_later_turn_that_does_not_stay_covers_nothing(words):
    """Three of a kind: the middle one counts only while it stays."""
    given = conversation(SAME, SAME, places=(2, 8))
    long = SAME + " " + " ".join(f"word{n}" for n in range(5))
    given[12] = {"role": "user", "content": long}
    for ratio in np.arange(0.2, 0.95, 0.05):
        made = compact_context(given, embedder=words, target_ratio=float(ratio))
        gone = set(made.dropped.ids)
        for drop in made.dropped:
            later = {2: {8, 12}, 8: {12}, 12: set()}.get(drop.id, set())
            assert bool(drop.terms.coverage) == bool(later - gone)


def test_every_turn_the_same_ends_and_the_last_one_stays(words):
    given = [{"role": "user", "content": SAME} for _ in range(200)]
    made = compact_context(given, embedder=words, target_ratio=0.3)
    assert len(made.messages) == 200 - made.stats.dropped
    assert 199 not in made.dropped.ids
    assert {drop.terms.coverage for drop in made.dropped} == {1.0}
    assert words.embedded == 1


def test_texts_are_embedded_once_and_in_batches(words):
    given = conversation(SAME, SAME)
    compact_context(given, embedder=words, query="ferry")
    assert words.embedded == 24  # 23 texts and the query
    compact_context(
        [*given, {"role": "user", "content": "a new one"}], embedder=words, query="ferry"
    )
    assert words.embedded == 25
    other = WordEmbedder()
    compact_context(given, embedder=other, query="ferry")
    assert other.embedded == 0  # the same fingerprint shares them


def test_what_the_cache_held_before_does_not_change_an_answer(words, monkeypatch):
    monkeypatch.setattr(twins, "NEAREST", 2)
    given = conversation(SAME, SAME + " again", n=40)
    given[20] = {"role": "user", "content": SAME + " today"}
    given[22] = {"role": "user", "content": SAME + " soon"}
    fresh = compact_context(given, embedder=words)
    forget_vectors([WordEmbedder.fingerprint])
    crowd = [{"role": "user", "content": f"{SAME} {word}"} for word in FILLER.split()]
    compact_context(crowd, embedder=words, target_ratio=0.3)
    again = compact_context(given, embedder=words)
    assert list(again.dropped) == list(fresh.dropped)


def test_the_cache_forgets_what_was_not_used_for_longest(words, monkeypatch):
    monkeypatch.setattr(vectors, "CAPACITY", 8)
    cache = VectorCache(words)
    digests = [bytes([n]) * 16 for n in range(12)]
    texts = [f"word{n} {SAME}" for n in range(12)]
    first = cache.take(digests[:8], texts[:8].__getitem__)
    assert sorted(first.tolist()) == list(range(8))
    cache.take(digests[4:12], texts[4:12].__getitem__)
    assert len(cache) == 8  # all that is in use
    cache.take(digests[10:12], texts[10:12].__getitem__)
    assert words.embedded == 12
    cache.take(digests[:1], texts[:1].__getitem__)
    assert words.embedded == 13
    kept = cache.take([digests[11], b"", digests[0]], [texts[11], "", texts[0]].__getitem__)
    assert kept[1] == -1
    covers = Coverage(kept, cache.sayings, same=0.8, check=False, crowded=[])
    near = covers.now()
    assert near[0] > 0.8
    assert near[1:].tolist() == [0, 0]
    assert cache.cosines(SAME, kept)[1] == 0
    assert cache.cosines(SAME, kept)[0] == pytest.approx(0.98, abs=0.03)


def test_long_texts_are_embedded_whole():
    class Cut(WordEmbedder):
        fingerprint = "words-for-tests-cut"

        def split(self, text):
            return [text[:40], text[40:]] if len(text) > 40 else [text]

    cut = Cut()
    one = cut.embed(cut.split(SAME))
    mean = one.sum(axis=0) / np.linalg.norm(one.sum(axis=0))
    cache = VectorCache(cut)
    rows = cache.rows(cache.take([b"x" * 16], [SAME].__getitem__))
    assert rows[0] == pytest.approx(mean, abs=1e-6)


def test_a_failing_embedder_is_an_error():
    def fail(_texts):
        raise RuntimeError("no network")

    with pytest.raises(Exception, match="no network"):
        compact_context(conversation(SAME, SAME), embedder=fail)


def test_calls_that_wait_for_a_result_stay_behind_other_turns():
    functions = [{"name": name, "arguments": "{}"} for name in ("look", "find")]
    calls = [{"id": one["name"], "type": "function", "function": one} for one in functions]
    asked = {"role": "assistant", "content": "word " * 40, "tool_calls": calls}
    answered = {"role": "tool", "tool_call_id": "look", "content": "here"}
    after = [{"role": "assistant", "content": f"well {at} " * 9} for at in range(8)]
    given = [*conversation(SAME, SAME)[:14], asked, answered, *after]
    made = compact_context(given, target_ratio=0.05, dialect="openai")
    assert not {14, 15} & set(made.dropped.ids)
    closed = [*given[:16], {"role": "tool", "tool_call_id": "find", "content": "there"}, *after]
    made = compact_context(closed, target_ratio=0.05, dialect="openai")
    assert {14, 15, 16} <= set(made.dropped.ids)


def test_messages_that_python_takes_for_equal_are_told_apart():
    def use(value):
        part = {"type": "tool_use", "id": "t", "name": "n", "input": {"x": value}}
        return {"role": "assistant", "content": [part]}

    shown = []
    for value in (1, 1.0, True, "1", [1], {"1": 1}):
        _, [read], dialect = read_list([use(value)], None, "o200k_base")
        shown.append(read.facts.text)
        assert dialect == "anthropic"
        assert read_list([use(value)], None, "o200k_base")[1][0] is read
    assert len(set(shown)) == 6
    for wrong in ({"x": float("nan")}, {1: "x"}, {"x": {1, 2}}):
        with pytest.raises(InvalidInputError, match="message 1"):
            read_list([use(1), use(wrong)], None, "o200k_base")
