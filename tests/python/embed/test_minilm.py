"""The local embedder with its real weights, against an oracle that shares no code with it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import oracle_minilm
import pytest

from warmset.embed import Embedder, MiniLM, graph, quantise, reference, safetensors
from warmset.embed.wordpiece import WordPieces
from warmset.errors import (
    InvalidInputError,
)

ODD = ["\0", "a\0b", "\ud800", "x\udfff y", "\ufffd", "\u200b", "e\u0301", "\U0010ffff", "[MASK]"]
TURNS = [f"turn {n}: " + "we moved the launch to Friday " * (n % 7) + "ok" * n for n in range(20)]


@pytest.fixture(scope="session", params=["int8", "fp32"])
def minilm(request, weights) -> MiniLM:
    assert weights.tensors.is_file()
    return MiniLM(precision=request.param)


@pytest.fixture(scope="session")
def int8(weights) -> MiniLM:
    assert weights.tensors.is_file()
    return MiniLM()


@pytest.fixture(scope="session")
def pieces(weights) -> WordPieces:
    return WordPieces(weights.tokenizer)


# --- against the oracle -------------------------------------------------------------------------


def test_the_references_are_the_oracles(weights):
    tensors = oracle_minilm.read_tensors(weights.tensors)
    vocabulary = json.loads(weights.tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    known = reference.load()
    assert list(known.texts) == oracle_minilm.SENTENCES
    for text, vector in zip(known.texts, known.vectors, strict=True):
        made = oracle_minilm.embed_ids(oracle_minilm.token_ids(text, vocabulary), tensors)
        np.testing.assert_allclose(vector, made, atol=2e-5)


def test_vectors_agree_with_the_references(minilm):
    cosines = reference.load().cosines(minilm)
    assert cosines.min() >= {"int8": 0.96, "fp32": 0.99999}[minilm._precision]


def test_the_references_tell_sentences_apart():
    vectors = reference.load().vectors
    assert (vectors @ vectors.T)[~np.eye(len(vectors), dtype=bool)].max() < 0.9


def test_word_pieces_are_the_oracles(weights, pieces):
    vocabulary = json.loads(weights.tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    texts = [*oracle_minilm.SENTENCES, *TURNS, "", " \t\n", "a\0b", "e\u0301", "don't—stop…", "€5"]
    for text in texts:
        assert pieces.ids(text) == oracle_minilm.token_ids(text, vocabulary), text


def test_seven_bit_weights_are_good_enough(weights, tmp_path, monkeypatch):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "all-MiniLM-L6-v2").symlink_to(weights.tensors.parent)
    monkeypatch.setattr(quantise, "needs_reduced_range", lambda: True)
    made = MiniLM()
    assert made._artifact.model.name.startswith("int8-reduced-1-")
    assert reference.load().cosines(made).min() >= 0.96


def test_the_graph_is_standard_onnx(weights):
    model = graph.build(safetensors.read(weights.tensors))
    onnx.checker.check_model(model, full_check=True)
    assert {node.domain for node in model.graph.node} == {""}


# --- vectors ------------------------------------------------------------------------------------


def test_it_is_an_embedder(minilm):
    assert isinstance(minilm, Embedder)
    precision = minilm._precision
    assert minilm.name == f"all-MiniLM-L6-v2 ({precision})"
    assert minilm.fingerprint == f"all-MiniLM-L6-v2/{precision}/53aa51172d14"
    assert (minilm.dim, minilm.remote) == (384, False)


def test_an_int8_vector_is_independent_of_its_batch(int8):
    together = int8.embed(TURNS)
    alone = np.concatenate([int8.embed([text]) for text in TURNS])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(int8.embed(TURNS[::-1]), alone[::-1])
    np.testing.assert_array_equal(MiniLM(threads=3).embed(TURNS), alone)
    np.testing.assert_array_equal(int8.embed_query(TURNS), alone)


@pytest.mark.usefixtures("weights")
def test_an_fp32_vector_moves_by_rounding_only():
    fp32 = MiniLM(precision="fp32", threads=None)
    together = fp32.embed(TURNS)
    alone = np.concatenate([fp32.embed([text]) for text in TURNS])
    np.testing.assert_allclose(together, alone, atol=1e-6)


@pytest.mark.parametrize("text", ["", " ", "\n\t ", *ODD, "word " * 200_000, "x" * 1_000_000])
def test_any_text_has_a_vector_and_passages(minilm, text):
    vectors = minilm.embed(["before", text])
    assert vectors.shape == (2, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert 1 <= len(minilm.split(text)) <= 32


def test_blank_texts_all_mean_the_same(int8):
    vectors = int8.embed(["", " ", "\n\t", "\0"])
    np.testing.assert_array_equal(vectors, vectors[[0, 0, 0, 0]])


def test_a_lone_surrogate_reads_as_a_replacement_character(int8):
    np.testing.assert_array_equal(*int8.embed(["a \ud800 b", "a \ufffd b"]))


def test_nothing_gives_nothing(int8):
    assert int8.embed([]).shape == (0, 384)


def test_one_string_is_refused(int8):
    with pytest.raises(InvalidInputError):
        int8.embed("text")


def test_what_exceeds_256_pieces_is_cut_off(int8, pieces):
    words = "tree " * 300
    assert len(pieces.ids(words)) == 256
    assert pieces.ids(words)[-1] == pieces.ids("")[-1]
    np.testing.assert_array_equal(*int8.embed(["tree " * 254 + "house", "tree " * 254]))
    one, other = int8.embed(["tree " * 253 + "house", "tree " * 253])
    assert not np.array_equal(one, other)


@pytest.mark.usefixtures("weights")
def test_threads_may_share_one():
    fresh = MiniLM()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: fresh.embed(TURNS[:6]), range(8)))
    for vectors in found:
        np.testing.assert_array_equal(vectors, found[0])


# --- passages -----------------------------------------------------------------------------------


def test_passages_are_read_whole_overlap_and_cover(int8, pieces):
    words = [f"Word{n}, unbelievably-hyphenated naïveté {n * 37};" for n in range(150)]
    text = "  ".join(words)
    found = int8.split(text)
    assert 2 < len(found) <= 32
    at = reached = 0
    for passage in found:
        assert len(pieces.ids(passage)) <= 202
        at = text.index(passage, at)
        assert text[reached:at].strip() == ""
        assert reached == 0 or reached > at
        reached = at + len(passage)
    assert reached == len(text)


def test_a_short_text_is_not_split(int8):
    for text in ("", "  ", "short ", "tree " * 200):
        assert int8.split(text) == [text]
    assert len(int8.split("tree " * 201)) == 2


def test_of_a_huge_text_beginning_and_end_are_kept(int8, pieces):
    for count in (5_000, 200_000):
        found = int8.split("first " + "filler " * count + "last")
        assert len(found) == 32
        assert found[0].startswith("first ")
        assert found[-1].endswith(" last")
        assert max(len(pieces.ids(passage)) for passage in found) <= 202
