"""The static embedder: against model2vec's definition, done by hand, and at its edges."""

from __future__ import annotations

import json
import re
import sys
import threading
import unicodedata

import numpy as np
import pytest

from warmset import Memory
from warmset.embed import Embedder, StaticEmbedder, named, safetensors, weights as weights_module
from warmset.embed.base import Contextual, context_share
from warmset.embed.pins import POTION
from warmset.embed.static import MAX_PIECES
from warmset.embed.wordpiece import WordPieces
from warmset.errors import InvalidInputError, MissingExtraError, ModelDamaged, ModelMissing

TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    "the lazy dog",
    "Caroline went to the LGBTQ support group yesterday!",
    "def parse(self, path): return json.loads(path.read_text())",
    "Crème brûlée, 漢字",
    "a" * 150,
    "word " * 2_000,
    ("a" * 150 + " ") * 99 + "word " * 400 + "whale " * 112 + "harpoon",
]


@pytest.fixture(scope="module")
def files():
    try:
        return weights_module.resolve(POTION)
    except ModelMissing as error:
        pytest.skip(f"offline and without the model: {error}")


@pytest.fixture(scope="module")
def static(files):
    assert files.tensors.is_file()
    return StaticEmbedder()


class ByHand:
    """WordPiece and a mean, in plain Python: what BERT's tokeniser and model2vec say they do."""

    def __init__(self, files):
        known = json.loads(files.tokenizer.read_text(encoding="utf-8"))
        self.vocabulary = known["model"]["vocab"]
        self.table = safetensors.read(files.tensors)["embeddings"].astype(np.float64)

    def pieces(self, text):
        text = unicodedata.normalize("NFD", text.lower())
        text = "".join(sign for sign in text if unicodedata.category(sign) != "Mn")
        text = re.sub(r"([\u4e00-\u9fff])", r" \1 ", text)
        for word in re.findall(r"[^\W_]+|[^\w\s]|_", text):
            yield from self.word(word)

    def word(self, word):
        found, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.vocabulary:
                    found.append(self.vocabulary[piece])
                    start = end
                    break
            else:
                return []
        return found if len(word) <= 100 else []

    def vector(self, text):
        rows = self.table[[*self.pieces(text)][:MAX_PIECES]]
        mean = rows.mean(axis=0)
        return mean / np.linalg.norm(mean)


def test_it_is_what_model2vec_defines(static, files):
    by_hand = ByHand(files)
    wanted = np.array([by_hand.vector(text) for text in TEXTS if set(text) != {"a"}])
    found = static.embed([text for text in TEXTS if set(text) != {"a"}])
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert (found.dtype, found.flags.c_contiguous) == (np.float32, True)


def test_it_is_an_embedder_with_a_name(static):
    assert isinstance(static, Embedder)
    assert isinstance(named("static"), StaticEmbedder)
    assert (static.name, static.dim, static.remote) == ("potion-base-8M", 256, False)
    assert static.fingerprint == "potion-base-8M/f65d0f325faa"


def test_a_vector_depends_on_its_text_alone(static):
    together = static.embed(TEXTS)
    np.testing.assert_array_equal(
        together, np.concatenate([static.embed([text]) for text in TEXTS])
    )
    queries = static.embed_query(TEXTS)
    np.testing.assert_array_equal(
        queries, np.concatenate([static.embed_query([text]) for text in TEXTS])
    )


def test_queries_lack_the_three_directions_in_which_words_differ_most(static, files):
    table = ByHand(files).table
    values, directions = np.linalg.svd(table, full_matrices=False)[1:]
    assert values[2] > 1.02 * values[3]  # so that it is clear which three they are
    rows = static.embed(TEXTS).astype(np.float64)
    rest = rows - rows @ directions[:3].T @ directions[:3]
    wanted = rest / np.linalg.norm(rest, axis=1, keepdims=True)
    found = static.embed_query(TEXTS)
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    assert np.abs(found - rows).max() > 0.01
    np.testing.assert_allclose(found @ directions[:3].T, 0, atol=1e-4)
    assert np.abs(found @ directions[3]).max() > 0.01
    assert (found.dtype, found.flags.c_contiguous) == (np.float32, True)
    assert static.embed_query([]).shape == (0, 256)
    with pytest.raises(InvalidInputError):
        static.embed_query("a text")


def test_it_asks_for_more_of_the_context(static):
    assert isinstance(static, Contextual)
    assert context_share(static) == 0.7


def test_a_text_without_known_pieces_has_the_mean_of_the_table(static, files):
    rows = static.embed(["", " \n", "\ud800", "a" * 150, "\U00013000"])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(rows[0], rows[1])
    mean = ByHand(files).table.mean(axis=0)
    np.testing.assert_allclose(rows[3], mean / np.linalg.norm(mean), atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(static.embed_query([""]), axis=1), 1, rtol=1e-6)
    assert static.embed([]).shape == (0, 256)
    with pytest.raises(InvalidInputError):
        static.embed("a text")


def test_what_means_the_same_is_near(static):
    rows = static.embed(["a dog barks", "the puppy is barking", "quarterly tax returns"])
    assert rows[0] @ rows[1] > 0.5 > rows[0] @ rows[2]


def test_long_texts_are_split(static):
    found = static.split("word " * 1_000)
    assert len(found) > 4
    assert all(len(text.split()) <= 200 for text in found)
    assert static.split("short") == ["short"]


def test_threads_share_it(files):
    fresh = StaticEmbedder(path=files.tensors.parent)
    found = []
    make = fresh.embed_query
    threads = [threading.Thread(target=lambda: found.append(make(TEXTS))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({rows.tobytes() for rows in found}) == 1
    assert len(found) == 6


def test_a_store_takes_it_by_name_and_keeps_others_out(files, tmp_path):
    assert files.tensors.is_file()
    with Memory.open(tmp_path, embedder="static") as memory:
        log = memory.conversation("log")
        log.append(
            [{"role": "user", "content": text} for text in ("my puppy barks", "tax returns")]
        )
        assert memory.flush(30)
        assert memory.stats()["embedder"] == "potion-base-8M"
        assert memory.search("dog noise")[0].summary == "my puppy barks"


def test_a_machine_without_it_is_told_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("WARMSET_CACHE", str(tmp_path))
    monkeypatch.setattr(weights_module, "SOURCES", {})
    with pytest.raises(ModelMissing, match="warmset model pull --model static"):
        StaticEmbedder()


@pytest.mark.parametrize("module", ["safetensors", "tokenizers"])
def test_a_missing_package_names_the_extra_at_once(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf'{module} .*"warmset\[local\]"'):
        StaticEmbedder()


def test_a_flipped_byte_is_refused(files, tmp_path):
    data = bytearray(files.tensors.read_bytes())
    data[10_000_000] ^= 1
    (tmp_path / "model.safetensors").write_bytes(data)
    (tmp_path / "tokenizer.json").symlink_to(files.tokenizer)
    with pytest.raises(ModelDamaged, match="sha256"):
        StaticEmbedder(path=tmp_path)


def test_pieces_are_counted_as_words_cost_them(files):
    pieces = WordPieces(files.tokenizer)
    for text in ("", "a plain one", "unaffordable!?", "żółć 北京 🙂", "\u00a0x\x07y", "0123 " * 90):
        assert pieces.count(text) == sum(word.cost for word in pieces.words(text))
        assert not text.isascii() or pieces.count(text) <= len(text)
