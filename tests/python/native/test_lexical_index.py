"""The index of terms: against `bm25s`, through additions, removals, bytes; odd input; threads."""

from __future__ import annotations

import random
import threading

import bm25s
import numpy as np
import pytest

from warmset import native
from warmset.errors import (
    DuplicateIdError,
    IndexDamaged,
    InvalidInputError,
    UnknownIdError,
    WarmsetError,
)
from warmset.native import LexicalIndex

K1, B = 1.2, 0.6
COMMON = [
    "pool",
    "size",
    "twelve",
    "worker",
    "fails",
    "lunch",
    "noon",
    "deploy",
    "review",
    "friday",
    "index",
    "window",
]
NAMES = ["src/db_pool.rs", "HTTPServerError", "v1.2.3", "max_retry_count", "東京都", "café"]


def text(rng: random.Random, longest: int = 30) -> str:
    words = [*COMMON, *NAMES, *(f"word{n}" for n in range(400))]
    # Few words are common, and most are rare.
    return " ".join(
        words[int(len(words) ** rng.random()) - 1] for _ in range(rng.randint(0, longest))
    )


def scored(texts: dict[int, str], query: str) -> dict[int, float]:
    """What bm25s says of each text, brought to our scale."""
    ids = sorted(texts)
    asked = sorted(set(native.terms(query)))
    tokens = [native.terms(texts[id_]) for id_ in ids]
    oracle = bm25s.BM25(method="lucene", k1=K1, b=B, dtype="float64")
    oracle.index(tokens, show_progress=False)
    known = [term for term in asked if term in oracle.vocab_dict]
    scores = oracle.get_scores(known) if known else np.zeros(len(ids))
    # Lucene leaves k1 + 1 out; the most that a query could reach takes it out of ours as well.
    most = 0.0
    for term in asked:
        held = sum(term in words for words in tokens)
        most += np.log(1 + (len(ids) - held + 0.5) / (held + 0.5))
    found = zip(ids, scores.tolist(), strict=True)
    return {id_: score / most for id_, score in found if score > 0}


def check(index: LexicalIndex, texts: dict[int, str], query: str, k: int) -> None:
    ids, scores = index.search(query, k)
    assert (ids.dtype, scores.dtype) == (np.uint64, np.float32)
    expected = scored(texts, query)
    assert len(ids) == min(k, len(expected))
    assert len(set(ids.tolist())) == len(ids)
    for id_, score in zip(ids.tolist(), scores.tolist(), strict=True):
        assert score == pytest.approx(expected[id_], rel=2e-6)
    # The ranking is that of the oracle wherever its scores are not as good as equal.
    best = sorted(expected.values(), reverse=True)[: len(ids)]
    assert scores.tolist() == pytest.approx(best, rel=2e-6)
    order = list(zip((-scores).tolist(), ids.tolist(), strict=True))
    assert order == sorted(order)


@pytest.mark.parametrize("seed", range(4))
def test_scores_and_ranking_are_those_of_bm25s(seed: int) -> None:
    rng = random.Random(seed)
    index, texts = LexicalIndex(), dict[int, str]()
    for round_ in range(6):
        new = {rng.randrange(2**64): text(rng) for _ in range(60)}
        index.add(list(new), list(new.values()))
        texts |= new
        gone = rng.sample(sorted(texts), 25)
        index.remove(gone)
        texts = {id_: said for id_, said in texts.items() if id_ not in gone}
        if round_ % 2:
            index = LexicalIndex.from_bytes(index.to_bytes())
        assert len(index) == len(texts)
        assert all(id_ in index for id_ in texts)
        assert not any(id_ in index for id_ in gone)
        for _ in range(8):
            check(index, texts, text(rng, 8) or "pool", rng.choice([1, 5, 40, 1000]))


def test_constants_are_those_that_were_given() -> None:
    index = LexicalIndex(k1=0.0)
    index.add([1, 2], ["pool pool pool pool", "pool and other words"])
    assert index.search("pool", 2)[1].tolist() == [1.0, 1.0]
    index = LexicalIndex.from_bytes(index.to_bytes(), k1=1.2, b=0.0)
    ids, scores = index.search("pool", 2)
    assert ids.tolist() == [1, 2]
    assert scores.tolist() == pytest.approx([4 / 5.2, 1 / 2.2])


def test_a_name_is_found_by_a_part_and_comes_first_as_a_whole() -> None:
    index = LexicalIndex()
    index.add(
        range(3),
        ["the pool in src, a db pool", "see src/db_pool.rs, among many other things", "lunch"],
    )
    assert index.search("src/db_pool.rs", 3)[0].tolist() == [1, 0]
    assert set(index.search("db", 3)[0].tolist()) == {0, 1}


def test_a_batch_goes_in_or_out_as_a_whole() -> None:
    index = LexicalIndex()
    index.add([3, 4], ["red", "blue"])
    with pytest.raises(DuplicateIdError):
        index.add([5, 3], ["green", "green"])
    with pytest.raises(UnknownIdError):
        index.remove([4, 5])
    with pytest.raises(InvalidInputError, match="texts: expected 2"):
        index.add([7, 8], ["one"])
    assert (len(index), 3 in index, 5 in index) == (2, True, False)
    assert index.search("green", 3)[0].tolist() == []
    assert repr(index) == "LexicalIndex(texts=2)"


@pytest.mark.parametrize("k", [0, -1, 1.5, True, None])
def test_k_is_a_positive_integer(k: object) -> None:
    with pytest.raises(InvalidInputError, match="k: expected"):
        LexicalIndex().search("red", k)  # type: ignore[arg-type]


@pytest.mark.parametrize("constants", [{"k1": -1}, {"k1": float("nan")}, {"b": 1.1}, {"b": -0.1}])
def test_constants_out_of_range_are_refused(constants: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError):
        LexicalIndex(**constants)
    with pytest.raises(InvalidInputError):
        LexicalIndex.from_bytes(LexicalIndex().to_bytes(), **constants)


def test_bytes_that_were_changed_are_refused_or_noticed() -> None:
    index = LexicalIndex()
    index.add(range(300), [text(random.Random(n)) for n in range(300)])
    good = index.to_bytes()
    for bad in (b"", good[:-1], good + b"\0", b"\0" * 300):
        with pytest.raises(IndexDamaged):
            LexicalIndex.from_bytes(bad)
    for at in range(0, len(good), 97):
        changed = bytearray(good)
        changed[at] ^= 0x10
        with pytest.raises(IndexDamaged):
            LexicalIndex.from_bytes(bytes(changed)).verify()
    LexicalIndex.from_bytes(good).verify()


def test_any_string_is_a_text_and_a_query() -> None:
    index = LexicalIndex()
    texts = ["", "\ud800 lone", "\0", "a" * 100_000, "🙂", "\u0301", "-_./:@'#"]
    index.add(range(len(texts)), texts)
    for query in texts:
        index.search(query, 3)
    assert index.search("lone", 3)[0].tolist() == [1]


def test_threads_add_and_search_at_once() -> None:
    index, failures = LexicalIndex(), list[WarmsetError]()

    def work(start: int) -> None:
        try:
            for id_ in range(start, start + 200):
                index.add([id_], [f"pool worker{id_}"])
                assert id_ in index.search(f"worker{id_}", 2)[0].tolist()
        except WarmsetError as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n * 1000,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(index) == 800
