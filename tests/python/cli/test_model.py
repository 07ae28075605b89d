"""``warmset model``: path, pull, verify."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from warmset.cli import model
from warmset.embed import reference, weights as weights_module
from warmset.embed.pins import POTION, TOKENIZER, WEIGHTS, Pin


@pytest.fixture
def kept(weights, tmp_path, monkeypatch):
    """A cache of this test alone that holds the real weights."""
    monkeypatch.setenv("WARMSET_CACHE", str(tmp_path))
    model_dir = weights_module.model_dir()
    model_dir.mkdir(parents=True)
    (model_dir / WEIGHTS.name).symlink_to(weights.tensors)
    (model_dir / TOKENIZER.name).symlink_to(weights.tokenizer)
    return model_dir


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """A cache without anything, and nobody to ask."""
    monkeypatch.setenv("WARMSET_CACHE", str(tmp_path))
    monkeypatch.setattr(weights_module, "SOURCES", {})
    return weights_module.model_dir()


def pin(data: bytes) -> Pin:
    return Pin("model.safetensors", len(data), hashlib.sha256(data).hexdigest())


def run(*tokens: str) -> int:
    return model.app(tokens, result_action="return_value")


def test_path_lists_what_is_there(empty, capsys):
    assert run("path") == 0
    assert capsys.readouterr().out == f"{empty}\n"
    empty.mkdir(parents=True)
    (empty / "a.onnx").write_bytes(b"x" * 1234)
    (empty / ".pull-1").mkdir()
    assert run("path") == 0
    assert capsys.readouterr().out.splitlines() == [str(empty), f"{'1,234':>12}  a.onnx"]


def test_pull_builds_anew_and_verify_proves_it(kept, capsys):
    assert run("pull") == 0
    made = capsys.readouterr().out.replace("\n", "")
    assert made.startswith(str(kept / "int8-"))
    Path(made).write_bytes(b"nonsense")
    assert run("verify") == 1
    assert "warmset model pull" in capsys.readouterr().err
    assert run("pull", "--precision", "int8") == 0
    capsys.readouterr()
    assert run("verify") == 0
    out = capsys.readouterr().out
    assert out.count("sha256 ok") == 2
    assert out.count(" ok ") >= len(reference.load().texts)
    assert out.isascii()


@pytest.mark.usefixtures("weights")
def test_verify_takes_a_cosine_of_exactly_what_is_needed(capsys, monkeypatch):
    assert run("verify", "--json") == 0
    least = json.loads(capsys.readouterr().out)["least"]
    for floor, code in ((least, 0), (least + 1e-6, 1)):
        monkeypatch.setitem(reference.FLOORS, "int8", floor)
        assert run("verify", "--json") == code
        found = json.loads(capsys.readouterr().out)
        assert (found["needed"], found["ok"]) == (floor, code == 0)
        assert run("verify") == code
        assert (" bad " in capsys.readouterr().out) == bool(code)


@pytest.mark.usefixtures("kept")
def test_verify_fails_on_vectors_that_differ(capsys, monkeypatch):
    known = reference.load()
    wrong = reference.Reference(known.texts, known.vectors[::-1])
    monkeypatch.setattr(reference, "load", lambda: wrong)
    assert run("verify", "--precision", "fp32") == 1
    assert " bad " in capsys.readouterr().out


def test_verify_fails_on_a_damaged_file(kept, capsys):
    (kept / TOKENIZER.name).unlink()
    (kept / TOKENIZER.name).write_bytes(b"{}")
    assert run("verify") == 1
    assert "is damaged" in capsys.readouterr().err


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize("command", ["pull", "verify"])
def test_without_a_model_the_exit_code_is_1(capsys, command):
    assert run(command) == 1
    assert "warmset model pull" in capsys.readouterr().err


@pytest.mark.usefixtures("empty")
def test_the_process_exits_with_the_code():
    with pytest.raises(SystemExit) as caught:
        model.app(["verify"])
    assert caught.value.code == 1


def test_the_static_model_is_pulled_by_its_name(empty, monkeypatch, capsys):
    assert run("pull", "--model", "static") == 1
    assert "run: warmset model pull --model static" in capsys.readouterr().err
    tokenizer = replace(pin(b"{}"), name="tokenizer.json")
    small = replace(POTION, weights=pin(b"table"), tokenizer=tokenizer)

    def fetch(into, _progress, wanted):
        assert wanted is small
        (into / small.weights.name).write_bytes(b"table")
        (into / small.tokenizer.name).write_bytes(b"{}")

    monkeypatch.setattr(model, "POTION", small)
    monkeypatch.setattr(weights_module, "SOURCES", {"a": fetch})
    assert run("pull", "--model", "static") == 0
    kept = empty.parent / "potion-base-8M"
    assert str(kept / small.weights.name) in capsys.readouterr().out.replace("\n", "")
    assert run("path", "--model", "static") == 0
    assert str(kept) in capsys.readouterr().out
    assert not empty.exists(), "the other model was not asked for"
