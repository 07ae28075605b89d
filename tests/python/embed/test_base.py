"""The contract of vectors, and functions as embedders."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

from warmset import embed
from warmset.embed import Embedder, FunctionEmbedder, as_embedder, checked
from warmset.embed.base import listed, readable
from warmset.errors import EmbedderError, InvalidInputError


def lengths(texts: list[str]) -> list[list[float]]:
    return [[len(text), 1.0] for text in texts]


def test_all_is_sorted_and_complete():
    assert list(embed.__all__) == sorted(embed.__all__)
    assert all(hasattr(embed, name) for name in embed.__all__)


def test_importing_the_package_imports_nothing_heavy():
    code = (
        "import sys, warmset.embed; "
        "print([m for m in ('onnx', 'onnxruntime', 'openai', 'tokenizers') if m in sys.modules])"
    )
    done = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


# --- checked ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        [[3, 4], [0, -2]],
        np.array([[3, 4], [0, -2]], np.float16),
        np.array([[3, 0], [4, -2]], np.int8).T,
        [np.array([3e200, 4e200]), np.array([0.0, -5e-324])],
    ],
)
def test_checked_gives_unit_rows(given):
    found = checked(given, 2)
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, -1]], rtol=1e-6)


def test_checked_does_not_alias_its_argument():
    given = np.array([[1, 0]], np.float32)
    checked(given, 1)[0, 0] = 5
    assert given[0, 0] == 1


def test_checked_of_nothing():
    assert checked([], 0).shape == (0, 0)
    assert checked([], 0, 7).shape == (0, 7)


@pytest.mark.parametrize(
    ("given", "n", "dim", "says"),
    [
        ([[1, 2]], 2, None, r"shape \(1, 2\), not \(2, d\)"),
        ([[1, 2]], 1, 3, r"shape \(1, 2\), not \(1, 3\)"),
        ([1, 2], 2, None, r"shape \(2,\)"),
        ([[[1]]], 1, None, r"shape \(1, 1, 1\)"),
        ([[], []], 2, None, r"shape \(2, 0\)"),
        ([[1, 2], [1]], 2, None, "not an array"),
        ([["a"]], 1, None, "not real numbers"),
        ([[1j]], 1, None, "not real numbers"),
        ([[None]], 1, None, "not real numbers"),
        (None, 1, None, "not real numbers"),
        ([[1, 1], [1, float("nan")]], 2, None, "text 1 holds a NaN"),
        ([[1, 1], [1, 1], [float("-inf"), 1]], 3, None, "text 2 holds a NaN or an infinity"),
        ([[1, 1], [0, -0.0]], 2, None, "text 1 is all zeros"),
    ],
)
def test_checked_names_what_is_wrong(given, n, dim, says):
    with pytest.raises(EmbedderError, match=says) as caught:
        checked(given, n, dim)
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own
    assert (type(again), str(again)) == (EmbedderError, str(caught.value))


def test_listed_refuses_one_string_and_other_things():
    assert listed(("a", "b")) == ["a", "b"]
    with pytest.raises(InvalidInputError, match="pass \\[text\\]"):
        listed("abc")
    with pytest.raises(InvalidInputError, match="text 1 is a bytes"):
        listed(["a", b"b"])  # type: ignore[list-item]


def test_readable_joins_pairs_and_replaces_lone_surrogates():
    assert readable("a\ud83d\ude42b") == "a🙂b"
    assert readable("a\ud800b\udc00") == "a\ufffdb\ufffd"
    assert readable("naïve\0") == "naïve\0"


# --- functions ----------------------------------------------------------------------------------


def test_a_function_is_held_to_the_contract():
    made = as_embedder(lengths)
    assert isinstance(made, Embedder)
    assert (made.name, made.fingerprint, made.dim, made.remote) == ("lengths", None, None, False)
    np.testing.assert_allclose(made.embed(["abc", ""]), [[3 / 10**0.5, 1 / 10**0.5], [0, 1]])
    assert made.dim == 2
    np.testing.assert_array_equal(made.embed_query(["abc"]), made.embed(["abc"]))
    assert as_embedder(made) is made


def test_a_function_may_not_change_its_dimension():
    made = FunctionEmbedder(lambda texts: np.ones((len(texts), len(texts))))
    assert made.embed(["a", "b"]).shape == (2, 2)
    with pytest.raises(EmbedderError, match=r"\(3, 3\), not \(3, 2\)"):
        made.embed(["a", "b", "c"])


def test_a_function_that_raises_is_named():
    def broken(texts: list[str]) -> object:
        raise KeyError(texts[0])

    with pytest.raises(EmbedderError, match="toy raised KeyError: 'x'") as caught:
        FunctionEmbedder(broken, name="toy").embed(["x"])
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_function_gets_readable_text_and_a_list_of_its_own():
    seen: list[list[str]] = []

    def keep(texts: list[str]) -> list[list[float]]:
        seen.append(list(texts))
        answer = lengths(texts)
        texts.clear()
        return answer

    assert FunctionEmbedder(keep).embed(["a\ud800", "\0", "x" * 1_000_000]).shape == (3, 2)
    assert seen[0][:2] == ["a\ufffd", "\0"]


def test_a_function_is_not_called_for_nothing():
    made = FunctionEmbedder(lambda _: 1 / 0, dim=5)
    assert made.embed([]).shape == (0, 5)


def test_first_batches_race_for_the_dimension():
    barrier = threading.Barrier(2)

    def racing(texts: list[str]) -> object:
        barrier.wait(30)
        return np.ones((1, len(texts[0])))

    made = FunctionEmbedder(racing)
    failed: list[EmbedderError] = []

    def run(text: str) -> None:
        try:
            made.embed([text])
        except EmbedderError as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(text,)) for text in ("ab", "abc")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(failed) == 1


def test_a_function_embedder_splits_by_words():
    made = FunctionEmbedder(lengths)
    assert made.split("short") == ["short"]
    found = made.split("word " * 1000)
    assert max(len(passage.split()) for passage in found) == 150
    assert max(map(len, made.split("我" * 5000))) == 150


class Partial:
    name = "partial"

    def embed(self, texts):
        return texts


@pytest.mark.parametrize("bad", [Partial(), None, "lexical", 3, FunctionEmbedder, embed.MiniLM])
def test_what_is_no_embedder_is_refused(bad):
    with pytest.raises(InvalidInputError):
        as_embedder(bad)


def test_bad_options_are_refused():
    with pytest.raises(InvalidInputError):
        FunctionEmbedder(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError):
        FunctionEmbedder(lengths, dim=0)
