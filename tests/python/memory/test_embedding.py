"""Vectors: made off the path, kept, never made twice, never mixed; turns outlive every failure."""

from __future__ import annotations

import shutil
import threading

import numpy as np
import pytest

from warmset import Filter, Memory
from warmset.errors import (
    DimensionError,
    EmbedderError,
    EmbedderMismatch,
    InvalidInputError,
    ModelDamaged,
    NotFiniteError,
    WarmsetError,
    ZeroNormError,
)
from warmset.index import batch_size as pace

TALK = [
    "let us plan the spring fair",
    "the car needs new tyres",
    "we begin at nine on Friday",
    "bring the long ladder",
    "",
    " ".join(f"lake {n} is frozen" for n in range(200)),
]


def said(text):
    return {"role": "user", "content": text}


def told(path, embedder, texts=TALK, name="log"):
    """A store with a talk, embedded and closed."""
    with Memory.open(path, embedder=embedder) as memory:
        memory.conversation(name).append([said(text) for text in texts])
        assert memory.flush(20)


def best(memory, query, **options):
    return memory.search(query, **options)[0].summary[:30]


# --- once -----------------------------------------------------------------------------------------


def test_meaning_finds_what_words_do_not(bag):
    with Memory.open(None, embedder=bag) as memory:
        memory.conversation("log").append([said(text) for text in TALK])
        assert memory.flush(20)
        found = memory.search("automobile")
        assert found[0].summary == "the car needs new tyres"
        assert (found.by, found.why) == ("fused", None)
        assert found[0].terms["dense"] > 0
        assert memory.stats()["rows"] > len(TALK), "a long turn has several rows"


@pytest.mark.parametrize("plain", [False, True], ids=["embedder", "function"])
def test_reopening_embeds_nothing(tmp_path, bag, plain):
    told(tmp_path, bag.embed if plain else bag)
    with Memory.open(tmp_path, embedder=bag.embed if plain else bag) as memory:
        memory.conversation("log").sync([said(TALK[0]), said("another ending")])
        memory.conversation("log").sync([said(text) for text in TALK])
        assert memory.flush(20)
    for _ in range(2):
        bag.calls, bag.texts = 0, []
        with Memory.open(tmp_path, embedder=bag.embed if plain else bag) as memory:
            assert memory.flush(20)
            assert (bag.calls, bag.texts) == (0, [])
            assert memory.stats()["pending"] == 0
            assert best(memory, "automobile") == "the car needs new tyres"
            assert bag.texts[0] == "automobile"
            assert len(bag.texts) == 1 + plain, "the query, and a probe for what has no identity"


def test_a_reopened_store_searches_as_before(tmp_path, bag):
    told(tmp_path, bag)
    with Memory.open(tmp_path, embedder=bag) as memory:
        before = [(hit.id, hit.score) for hit in memory.search("begin the automobile fair")]
        memory.conversation("log").append(said("and the lake?"))
        assert memory.flush(20)
        after = [(hit.id, hit.score) for hit in memory.search("begin the automobile fair")]
    with Memory.open(tmp_path, embedder=bag) as memory:
        again = [(hit.id, hit.score) for hit in memory.search("begin the automobile fair")]
    assert before[0] != after[0] or before == after
    assert again == after


def test_every_text_is_embedded_once(bag):
    with Memory.open(None, embedder=bag) as memory:
        for text in TALK:
            memory.conversation("log").append(said(text))
        assert memory.flush(20)
    assert len(bag.texts) == len(set(bag.texts))
    assert set(TALK[:4]) <= set(bag.texts)
    assert "" not in bag.texts


def test_a_query_is_embedded_once(bag):
    with Memory.open(None, embedder=bag) as memory:
        memory.conversation("log").append([said(text) for text in TALK])
        assert memory.flush(20)
        bag.texts = []
        for _ in range(3):
            memory.search("automobile")
            memory.conversation("log").search("automobile")
        assert bag.texts == ["automobile"]


def test_what_was_pending_at_a_crash_is_embedded_at_the_next_open(tmp_path, bag):
    gate = threading.Event()
    bag.before = lambda _texts: gate.wait(20)
    memory = Memory.open(tmp_path / "store", embedder=bag)
    memory.conversation("log").append([said(text) for text in TALK])
    shutil.copytree(tmp_path / "store", tmp_path / "crashed")
    gate.set()
    memory.close()
    other = type(bag)()
    with Memory.open(tmp_path / "crashed", embedder=other) as memory:
        assert memory.flush(20)
        assert set(TALK[:4]) <= set(other.texts)
        assert best(memory, "automobile") == "the car needs new tyres"


def test_closing_finishes_what_is_pending_or_leaves_it_to_the_next_open(tmp_path, bag):
    gate, ended = threading.Event(), []
    bag.before = lambda _texts: ended.append(gate.wait(20))
    memory = Memory.open(tmp_path, embedder=bag)
    memory.conversation("log").append([said(text) for text in TALK])
    memory.close(timeout=0.2)
    assert ended == [], "the embedder was still at it"
    gate.set()
    other = type(bag)()
    with Memory.open(tmp_path, embedder=other) as memory:
        assert best(memory, "ladder", wait=20) == "bring the long ladder"
        memory.conversation("log").append(said("late"))
    # The first handle's thread ends in peace, and what was pending when the second closed is done.
    last = type(bag)()
    with Memory.open(tmp_path, embedder=last) as memory:
        assert memory.flush(20)
        assert last.texts == []


# --- another embedder -----------------------------------------------------------------------------

OTHERS = {
    "fingerprint": lambda kind: kind(fingerprint="other", salt="x"),
    "fingerprint only": lambda kind: kind(fingerprint="other"),
    "dimension": lambda kind: kind(dim=32),
    "no fingerprint": lambda kind: kind(fingerprint=None),
    "function": lambda kind: kind(salt="x").embed,
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_another_embedder_is_refused_and_reembed_mends_it(tmp_path, bag, other):
    told(tmp_path, bag)
    given = other(type(bag))
    with Memory.open(tmp_path, embedder=given) as memory:
        with pytest.raises(EmbedderMismatch, match=r"reembed\(\)") as caught:
            memory.search("automobile")
        assert caught.value.stored == bag.name
        (id_,) = memory.conversation("log").append(said("a word for the zeppelin"))
        assert memory.flush(20) is False
        assert "reembed" in memory.stats()["failed"][id_]
        assert len(memory.conversation("log")) == len(TALK) + 1
        done = []
        memory.reembed(lambda *at: done.append(at))
        assert done[-1][0] == done[-1][1] > len(TALK)
        assert memory.stats()["failed"] == {}
        assert best(memory, "automobile") == "the car needs new tyres"
        assert best(memory, "zeppelin") == "a word for the zeppelin"
    bag.texts = []
    with (
        Memory.open(tmp_path, embedder=bag) as memory,
        pytest.raises(EmbedderMismatch),
    ):
        memory.search("automobile")
    with Memory.open(tmp_path, embedder=other(type(bag))) as memory:
        assert memory.flush(20)
        assert best(memory, "automobile") == "the car needs new tyres"


@pytest.mark.parametrize("dim", [64, 32])
def test_a_vector_of_another_embedder_is_refused_as_its_text_is(tmp_path, bag, dim):
    told(tmp_path, bag, [*TALK[:4], *(f"note {n} of a long afternoon" for n in range(30))])
    other = type(bag)(fingerprint="other", dim=dim, salt="x")
    with Memory.open(tmp_path, embedder=other) as memory:
        log = memory.conversation("log")
        for vector in (other.embed_query(["automobile"])[0], bag.embed_query(["automobile"])[0]):
            with pytest.raises(EmbedderMismatch, match=r"reembed\(\)"):
                memory.search("automobile", query_vector=vector)
            with pytest.raises(EmbedderMismatch):
                log.search("automobile", query_vector=vector)
            for mode in ("jit", "steady"):
                with pytest.raises(EmbedderMismatch):
                    log.window("automobile", query_vector=vector, budget=200, mode=mode)
        memory.reembed()
        vector = other.embed_query(["automobile"])[0]
        assert best(memory, "?", query_vector=vector) == "the car needs new tyres"


@pytest.mark.parametrize("dim", [64, 32])
def test_a_vector_of_another_function_is_refused(tmp_path, bag, dim):
    told(tmp_path, bag.embed)
    other = type(bag)(salt="x", dim=dim)
    vector = other.embed_query(["automobile"])[0]
    with Memory.open(tmp_path, embedder=other.embed) as memory:
        for _ in range(2):
            with pytest.raises(EmbedderMismatch):
                memory.search("automobile", query_vector=vector)
    same = type(bag)()
    vector = same.embed_query(["automobile"])[0]
    with Memory.open(tmp_path, embedder=same.embed) as memory:
        assert memory.flush(20)
        same.calls = 0
        for _ in range(2):
            assert best(memory, "?", query_vector=vector) == "the car needs new tyres"
        assert same.calls == 1, "the probe"


@pytest.mark.parametrize("stored", [False, True])
def test_no_probe_is_embedded_for_a_vector_where_it_would_tell_nothing_or_take_long(
    tmp_path, bag, stored
):
    """In a store that has no vectors yet, and by an embedder that is far away."""
    vector = bag.embed_query(["automobile"])[0]
    far = type(bag)(fingerprint=None, remote=True)
    if stored:
        told(tmp_path, far)
    given = type(bag)(fingerprint=None, remote=stored)
    with Memory.open(tmp_path, embedder=given) as memory:
        found = memory.search("car", query_vector=vector)
        assert len(found) == (len(TALK) - 1 if stored else 0)
        assert given.calls == 0


def test_a_function_that_fails_is_not_needed_where_vectors_are_given(tmp_path, bag):
    told(tmp_path, bag.embed)
    vector = bag.embed_query(["automobile"])[0]

    def broken(_texts):
        raise EmbedderError("out of order")

    with Memory.open(tmp_path, embedder=broken) as memory:
        assert best(memory, "?", query_vector=vector) == "the car needs new tyres"


@pytest.mark.parametrize("given", [False, True], ids=["text", "vector"])
def test_memories_for_a_window_are_not_looked_for_by_another_embedder(tmp_path, bag, given):
    with Memory.open(tmp_path, embedder=bag) as memory:
        memory.conversation("log").append(said("the car needs new tyres"))
        memory.remember("the car is blue")
        assert memory.flush(20)
    other = type(bag)(fingerprint="other", salt="x")
    vector = other.embed_query(["automobile"])[0] if given else None
    with Memory.open(tmp_path, embedder=other) as memory, pytest.raises(EmbedderMismatch):
        memory.conversation("log").window("?", query_vector=vector, budget=500, mode="steady")


@pytest.mark.parametrize("dim", [64, 32])
def test_a_function_is_known_by_its_probe(tmp_path, bag, dim):
    told(tmp_path, bag.embed)
    with Memory.open(tmp_path, embedder=type(bag)().embed) as memory:
        assert best(memory, "automobile") == "the car needs new tyres"
    with Memory.open(tmp_path, embedder=type(bag)(salt="x", dim=dim).embed) as memory:
        how = "probe text have a cosine of" if dim == 64 else "64 dimensions, not 32"
        with pytest.raises(EmbedderMismatch, match=how):
            memory.search("automobile")
        with pytest.raises(EmbedderMismatch):
            memory.search("automobile")
        memory.conversation("log").append(said("never mixed"))
        assert memory.flush(20) is False
    with Memory.open(tmp_path, embedder=bag.embed) as memory:
        assert memory.flush(20)
        assert best(memory, "never mixed") == "never mixed"


def test_two_functions_of_one_name_are_two_embedders_in_one_process(tmp_path, bag):
    def lengths(dim):
        return lambda texts: [[1.0, len(text), *[2.0] * (dim - 2)] for text in texts]

    first = lengths(4)
    with Memory.open(tmp_path, embedder=first):
        Memory.open(tmp_path, embedder=first).close()
        Memory.open(tmp_path, embedder=lengths(4)).close()  # the same, in another object
        with pytest.raises(InvalidInputError, match="4 dimensions, not 6"):
            Memory.open(tmp_path, embedder=lengths(6))
    with (
        Memory.open(tmp_path / "bag", embedder=bag.embed),
        pytest.raises(InvalidInputError, match=r"probe text have a cosine of -?0\.\d+"),
    ):
        Memory.open(tmp_path / "bag", embedder=type(bag)(salt="x").embed)
    other = type(bag)(fingerprint="other")
    with (
        Memory.open(tmp_path / "named", embedder=bag),
        pytest.raises(InvalidInputError, match="close it first"),
    ):
        Memory.open(tmp_path / "named", embedder=other)
    assert other.calls == 0, "those with fingerprints are not asked"


def test_a_store_without_vectors_takes_any_embedder(tmp_path, bag):
    told(tmp_path, "lexical")
    with Memory.open(tmp_path, embedder=bag) as memory:
        assert memory.flush(20)
        assert best(memory, "automobile") == "the car needs new tyres"
    with Memory.open(tmp_path, embedder="lexical") as memory:
        assert best(memory, "tyres") == "the car needs new tyres"
        with pytest.raises(InvalidInputError, match="no embedder"):
            memory.reembed()


@pytest.mark.parametrize("fails_at", [1, 2, 4])
def test_reembedding_that_fails_half_way_changes_nothing(tmp_path, bag, monkeypatch, fails_at):
    monkeypatch.setattr(pace, "MOST", pace.LEAST)
    texts = [f"turn {n} of the car" for n in range(40)]
    told(tmp_path, bag, texts)
    other = type(bag)(fingerprint="other", dim=32)

    def fail(_texts):
        if other.calls == fails_at:
            raise EmbedderError("the plug was pulled")

    other.before = fail
    with Memory.open(tmp_path, embedder=other) as memory:
        with pytest.raises(EmbedderError, match="plug"):
            memory.reembed()
        with pytest.raises(EmbedderMismatch):
            memory.search("automobile")
    bag.texts = []
    with Memory.open(tmp_path, embedder=bag) as memory:
        assert memory.flush(20)
        assert bag.texts == []
        assert memory.search("automobile")[0].terms["dense"] > 0
        assert memory.stats()["rows"] == 40
    with Memory.open(tmp_path, embedder=other) as memory:
        memory.reembed()
        assert memory.search("automobile")[0].terms["dense"] > 0
    with Memory.open(tmp_path, embedder=other) as memory:
        other.texts = []
        assert memory.flush(20)
        assert other.texts == []
        assert memory.stats()["rows"] == 40


def test_a_failed_reembed_of_the_same_embedder_leaves_this_handle_usable(bag):
    with Memory.open(None, embedder=bag) as memory:
        memory.conversation("log").append([said(text) for text in TALK])
        assert memory.flush(20)
        before = memory.search("automobile")[0]

        def fail(_texts):
            raise EmbedderError("no")

        bag.before = fail
        with pytest.raises(EmbedderError):
            memory.reembed()
        bag.before = lambda _texts: None
        assert memory.search("automobile")[0] == before
        memory.conversation("log").append(said("one more"))
        assert memory.flush(20)
        memory.reembed()
        assert memory.search("automobile")[0].summary == before.summary


# --- failures -------------------------------------------------------------------------------------


def nothing(_texts):
    raise RuntimeError("out of order")


ANSWERS = {
    "raises": nothing,
    "NaN": lambda texts: np.full((len(texts), 4), np.nan),
    "infinity": lambda texts: np.full((len(texts), 4), np.inf),
    "zeros": lambda texts: np.zeros((len(texts), 4)),
    "too few rows": lambda texts: np.ones((len(texts) + 1, 4))[2:],
    "one vector": lambda texts: np.ones(4 + len(texts)),
    "None": lambda _texts: None,
    "texts": list,
    "complex": lambda texts: np.ones((len(texts), 4), complex),
    "no columns": lambda texts: np.ones((len(texts), 0)),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_turns_outlive_an_embedder_that_fails(tmp_path, answer):
    broken = True

    def embed(texts):
        return answer(texts) if broken else [[1.0, len(text), 2.0, 3.0] for text in texts]

    with Memory.open(tmp_path, embedder=embed) as memory:
        ids = memory.conversation("log").append([said("the kite"), said("the lake")])
        assert memory.flush(20) is False
        stats = memory.stats()
        assert set(stats["failed"]) == set(ids)
        assert all(isinstance(why, str) and why for why in stats["failed"].values())
        assert (stats["pending"], stats["messages"]) == (0, 2)
        found = memory.search("kite", k=1)
        assert (found.by, found.ids) == ("lexical", ids[:1])
        assert found.why
        vector = [1, 1, 2, 3]
        assert memory.search("kite", query_vector=vector, k=1).ids == ids[:1], "found by its words"
        broken = False
        assert memory.flush(20) is True
        assert memory.stats()["failed"] == {}
        assert memory.search("kite")[0].terms["dense"] > 0
    with Memory.open(tmp_path, embedder=embed) as memory:
        assert memory.conversation("log").ids == ids
        assert memory.stats()["rows"] == 2


def test_what_failed_is_tried_again_at_the_next_open(tmp_path, bag):
    bag.before = nothing
    with Memory.open(tmp_path, embedder=bag) as memory:
        memory.conversation("log").append(said("the car"))
        assert memory.flush(20) is False
    bag.before = lambda _texts: None
    with Memory.open(tmp_path, embedder=bag) as memory:
        assert memory.flush(20) is True
        assert best(memory, "automobile") == "the car"


def test_one_text_that_cannot_be_embedded_costs_no_other_its_vector(bag):
    def picky(texts):
        if any("poison" in text for text in texts):
            raise ValueError("cannot read this")

    bag.before = picky
    with Memory.open(None, embedder=bag) as memory:
        texts = [f"turn {n}" for n in range(7)] + ["poison"] + [f"turn {n}" for n in range(8, 14)]
        ids = memory.conversation("log").append([said(text) for text in texts])
        assert memory.flush(20) is False
        assert memory.flush(20) is False
        assert memory.stats()["rows"] == 13
        assert ids[7] in memory.stats()["failed"]


def test_a_remote_embedder_that_fails_leaves_the_words(bag):
    remote = type(bag)(remote=True)
    with Memory.open(None, embedder=remote) as memory:
        memory.conversation("log").append([said(text) for text in TALK])
        assert memory.flush(20)
        remote.before = nothing_remote
        found = memory.search("tyres")
        assert (found.by, found[0].summary) == ("lexical", "the car needs new tyres")
        assert "unreachable" in found.why


@pytest.mark.parametrize("error", [EmbedderError, RuntimeError, ModelDamaged])
def test_a_local_embedder_that_fails_leaves_the_words_and_says_why(bag, error, caplog):
    with Memory.open(None, embedder=bag) as memory:
        log = memory.conversation("log")
        log.append([said(text) for text in TALK])
        assert memory.flush(20)

        def fail(_texts):
            raise error("the plug is pulled")

        bag.before = fail
        caplog.set_level("WARNING", "warmset")
        found = memory.search("tyres")
        assert (found.by, found[0].summary) == ("lexical", "the car needs new tyres")
        assert "the plug is pulled" in found.why
        log.append([said("more of it " * 99)] * 30 + [said("which tyres does it need?")])
        report = log.window(budget=2_500).report
        assert report.searched_by == "lexical"
        assert any("the plug is pulled" in note for note in report.notes)
        events = [one for one in caplog.records if one.event == "fell_back"]
        assert {"query_vector"} <= {one.what for one in events}
        bag.before = lambda _texts: None
        assert memory.search("tyres").by == "fused", "the next one is tried again"


def nothing_remote(_texts):
    raise EmbedderError("unreachable")


def test_a_slow_remote_embedder_yields_words_first_and_vectors_later(bag):
    remote = type(bag)(remote=True)
    with Memory.open(None, embedder=remote) as memory:
        memory.conversation("log").append([said(text) for text in TALK * 3])
        assert memory.flush(20)
        gate, ended = threading.Event(), []
        remote.before = lambda _texts: ended.append(gate.wait(20))
        found = memory.search("automobile", wait=0.1)
        window = memory.conversation("log").window("automobile", budget=2_000)
        assert ended == [], "the embedder was still at it"
        assert found.by == window.report.searched_by == "lexical"
        assert "words alone" in " ".join(window.report.notes)
        gate.set()
        assert memory.search("automobile", wait=20).by == "fused"


# --- state ----------------------------------------------------------------------------------------


def test_a_slow_embedder_never_blocks_an_append(bag):
    gate, ended = threading.Event(), []
    bag.before = lambda _texts: ended.append(gate.wait(20))
    memory = Memory.open(None, embedder=bag)
    try:
        for n in range(30):
            memory.conversation("log").append(said(f"turn {n}"))
        assert ended == [], "the embedder was still at the first"
        assert memory.stats()["pending"] == 30
        assert memory.flush(0.05) is False
        window = memory.conversation("log").window("turn 7", query_vector=np.ones(64), budget=1_000)
        assert window.report.pending == 30
        # The task and the recent turns are shown as they are: they need not be found.
        assert " ".join(window.report.notes).startswith("25 turns were found by words alone")
    finally:
        gate.set()
        assert memory.flush(20)
        assert memory.stats()["pending"] == 0
        memory.close()


def test_without_an_embedder_every_report_says_so():
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        conversation.append([said(f"turn {n} of the fair") for n in range(20)])
        assert memory.stats()["embedder"] == "lexical"
        assert memory.flush(0.1)
        for options in ({}, {"query_vector": [1.0, 2.0]}):
            assert memory.search("fair", **options).by == "lexical"
            report = conversation.window("the fair", budget=150, **options).report
            assert report.searched_by == "lexical"
            assert "without an embedder" in " ".join(report.notes)


VECTORS = {
    "short": ([1.0] * 63, DimensionError),
    "long": ([1.0] * 65, DimensionError),
    "empty": ([], DimensionError),
    "NaN": ([float("nan")] * 64, NotFiniteError),
    "infinity": ([1e300] * 64, NotFiniteError),
    "zero": ([0.0] * 64, ZeroNormError),
    "two": (np.ones((2, 64)), InvalidInputError),
    "number": (5.0, InvalidInputError),
    "letters": ("x" * 64, InvalidInputError),
    "numbers as texts": (["1"] * 64, InvalidInputError),
    "complex": (np.ones(64, complex), InvalidInputError),
    "dates": (np.ones(64, "datetime64[s]"), InvalidInputError),
    "ragged": ([[1.0], [1.0, 2.0]], InvalidInputError),
    "nothing": ([None] * 64, InvalidInputError),
}


@pytest.mark.parametrize(("vector", "error"), VECTORS.values(), ids=VECTORS)
def test_a_query_vector_that_cannot_be_one(bag, vector, error):
    with Memory.open(None, embedder=bag) as memory:
        conversation = memory.conversation("log")
        conversation.append([said(text) for text in TALK * 3])
        assert memory.flush(20)
        for use in (
            lambda: memory.search("car", query_vector=vector),
            lambda: conversation.search("car", query_vector=vector),
            lambda: conversation.window("car", query_vector=vector, budget=2_000),
        ):
            with pytest.raises(error) as caught:
                use()
            assert isinstance(caught.value, WarmsetError)
            assert len(str(caught.value)) > 10


@pytest.mark.parametrize(
    "make", [list, np.array, lambda v: np.array([v]), lambda v: np.array(v, int)]
)
def test_a_query_vector_takes_the_place_of_the_query(bag, make):
    with Memory.open(None, embedder=bag) as memory:
        memory.conversation("log").append([said(text) for text in TALK[:4]])
        assert memory.flush(20)
        bag.texts = []
        vector = make((bag._row("car needs tyres") * 100).round().tolist())
        found = memory.search("zzz", query_vector=vector, where=Filter(role="user"))
        assert found[0].summary == "the car needs new tyres"
        assert bag.texts == []
