"""Bad input: an error of one family that says what to do, and a store that is as it was."""

from __future__ import annotations

import os

import numpy as np
import pytest

from warmset import Budget, Filter, Memory
from warmset.embed import MiniLM
from warmset.errors import (
    BudgetTooSmall,
    ConversionError,
    InvalidInputError,
    InvalidMessageError,
    NotAStore,
    NotFiniteError,
    NotFound,
    StoreIOError,
    WarmsetError,
)

NAN = float("nan")
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}


def said(text, **more):
    return {"role": "user", "content": text, **more}


TALK = [said("the blue kite"), {"role": "assistant", "content": "it flies"}, said("and the boat?")]


# --- opening --------------------------------------------------------------------------------------

PATHS = {
    "empty": ("", NotAStore, "empty"),
    "file": ("file", NotAStore, "file"),
    "directory": ("full", NotAStore, "empty or a new directory"),
    "under a file": ("file/below", StoreIOError, "file"),
    "too long": ("x" * 5_000, StoreIOError, "too long"),
    "NUL": ("a\0b", WarmsetError, "path"),
    "number": (5, WarmsetError, "path"),
    "bytes": (b"bytes", WarmsetError, "path"),
}


@pytest.mark.parametrize(("path", "error", "says"), PATHS.values(), ids=PATHS)
def test_a_path_that_is_no_store(tmp_path, monkeypatch, path, error, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(error, match=f"(?i){says}") as caught:
        Memory.open(path, embedder="lexical")
    assert isinstance(caught.value, WarmsetError)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["file", "full", "notes.txt"]
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_directory_that_cannot_be_written(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(StoreIOError, match="closed"):
        Memory.open(tmp_path / "closed" / "store", embedder="lexical")


OPTIONS = {
    "embedder name": ({"embedder": "bert"}, "lexical"),
    "embedder number": ({"embedder": 5}, "Embedder"),
    "embedder list": ({"embedder": []}, "Embedder"),
    "embedder class": ({"embedder": MiniLM}, r"MiniLM\(\)"),
    "embedder False": ({"embedder": False}, "Embedder"),
    "encoding": ({"encoding": "p50k"}, "o200k_base"),
    "no encoding": ({"encoding": None}, "encoding"),
    "read": ({"read": "mmap"}, "pread"),
    "tenant": ({"tenant": ""}, "tenant"),
    "tenant number": ({"tenant": 5}, "tenant"),
    "durability": ({"durability": "none"}, "fsync"),
    "mode": ({"mode": "write"}, "exclusive"),
    "views": ({"views": "context"}, "views: expected 'both' or 'turn'"),
    "on_busy": ({"on_busy": "wait"}, "spool"),
    "encryption": ({"encryption": b"short"}, "32"),
    "sync_interval": ({"durability": "interval", "sync_interval": -1.0}, "sync_interval"),
}


@pytest.mark.parametrize(("options", "says"), OPTIONS.values(), ids=OPTIONS)
def test_an_option_of_open(tmp_path, options, says):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.conversation("log").append(TALK)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.seg")}
    with pytest.raises(InvalidInputError, match=says):
        Memory.open(tmp_path, **{"embedder": "lexical", **options})
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.seg")} == before
    with Memory.open(tmp_path, embedder="lexical") as memory:
        assert len(memory.conversation("log")) == 3


# --- using ----------------------------------------------------------------------------------------

MESSAGES = {
    "None": (None, InvalidMessageError, "list"),
    "number": (5, InvalidMessageError, "list"),
    "text": ("hello", InvalidMessageError, "list"),
    "list of text": (["hello"], InvalidMessageError, "message 0"),
    "no role": ([{"content": "x"}], InvalidMessageError, "role"),
    "strange role": ([*TALK, {"role": "king", "content": "x"}], InvalidMessageError, "message 3"),
    "no content": ([{"role": "user"}], InvalidMessageError, "content"),
    "content number": ([{"role": "user", "content": 5}], InvalidMessageError, "content"),
    "part": ([{"role": "user", "content": ["x"]}], InvalidMessageError, "part"),
    "calls": ([{**CALL, "tool_calls": [{}]}], InvalidMessageError, r"tool_calls\[0\]"),
    "tool": ([{"role": "tool", "content": "x"}], InvalidMessageError, "tool_call_id"),
    "NaN": ([said("x", n=NAN)], NotFiniteError, "message 0: n is nan"),
    "deep NaN": ([said("x", n=[{"m": -np.inf}])], NotFiniteError, r"n\[0\].m is -inf"),
    "key": ([said("x") | {5: 1}], InvalidMessageError, "key"),
    "bytes": ([said(b"x")], InvalidMessageError, "bytes"),
    "object": ([said("x", n=object())], InvalidMessageError, "object"),
    "huge number": ([said("x", n=10**5_000)], InvalidMessageError, "string"),
    "other dialect": (
        [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f"}]}],
        InvalidInputError,
        "openai|tool_use|input",
    ),
    "circle": (None, InvalidMessageError, "deep"),
}
_circle: list = []
_circle.append(_circle)
MESSAGES["circle"] = ([said("x", n=_circle)], InvalidMessageError, "deep")

BESIDE = {
    "at": ({"at": "yesterday"}, "at: "),
    "at NaN": ({"at": NAN}, "at: "),
    "at milliseconds": ({"at": 1.7e12}, "seconds since 1970"),
    "at long ago": ({"at": -9e10}, "at: "),
    "at a bool": ({"at": True}, "at: "),
    "speaker": ({"speaker": " "}, "speaker: "),
    "speaker number": ({"speaker": 5}, "speaker: "),
    "session": ({"session": 1.5}, "session: "),
    "meta": ({"meta": [1]}, "meta: "),
    "meta NaN": ({"meta": {"n": NAN}}, "meta: "),
    "meta object": ({"meta": {"n": object()}}, "meta: "),
    "meta key": ({"meta": {5: 1}}, "meta: "),
}

OTHERS = {
    "k 0": (lambda m, _: m.search("kite", k=0), "k: "),
    "k -1": (lambda m, _: m.search("kite", k=-1), "k: "),
    "k float": (lambda m, _: m.search("kite", k=2.5), "k: "),
    "k text": (lambda m, _: m.search("kite", k="3"), "k: "),
    "k None": (lambda m, _: m.search("kite", k=None), "k: "),
    "query None": (lambda m, _: m.search(None), "query: "),
    "query bytes": (lambda m, _: m.search(b"kite"), "query: "),
    "where a dict": (lambda m, _: m.search("kite", where={"ids": [1]}), "where"),
    "where kind": (lambda m, _: m.search("kite", where=Filter(kind="bogus")), "kind"),
    "where ids": (lambda m, _: m.search("kite", where=Filter(ids="ab")), "ids"),
    "where id": (lambda m, _: m.search("kite", where=Filter(ids=[-1])), "ids"),
    "where since": (lambda m, _: m.search("kite", where=Filter(since="soon")), "since"),
    "where conversation": (
        lambda m, _: m.search("x", where=Filter(conversation=5)),
        "conversation",
    ),
    "conversation": (lambda m, _: m.conversation(""), "conversation"),
    "conversation None": (lambda m, _: m.conversation(None), "conversation"),
    "process": (lambda m, _: m.process(TALK, conversation="", budget=99), "conversation"),
    "fetch None": (lambda _, c: c.fetch(None), "ids: "),
    "fetch text": (lambda _, c: c.fetch("1"), "ids: "),
    "fetch bool": (lambda _, c: c.fetch(True), "ids: "),
    "query blank": (lambda _, c: c.window(" \n", budget=99), "query: "),
    "query number": (lambda _, c: c.window(5, budget=99), "query: "),
    "budget 0": (lambda _, c: c.window(budget=0), "budget: "),
    "budget negative": (lambda _, c: c.window(budget=-5), "budget: "),
    "budget text": (lambda _, c: c.window(budget="100"), "budget: "),
    "budget float": (lambda _, c: c.window(budget=100.0), "budget: "),
    "budget None": (lambda _, c: c.window(budget=None), "budget: "),
    "budget True": (lambda _, c: c.window(budget=True), "budget: "),
    "budget leaves nothing": (lambda _, c: c.window(budget=Budget(14_336)), "lower max_reply"),
    "mode": (lambda _, c: c.window(budget=99, mode="best"), "jit, full, recency"),
    "mode array": (lambda _, c: c.window(budget=99, mode=np.array(["jit", "x"])), "mode: "),
    "role array": (lambda _, c: c.window(budget=99, index_role=np.array(["x", "y"])), "role: "),
    "fetch arrays": (lambda _, c: c.fetch([np.array([1, 2])]), "ids: "),
    "erase arrays": (lambda m, _: m.erase(ids=[np.array([1, 2])]), "ids: "),
    "mode None": (lambda _, c: c.window(budget=99, mode=None), "mode: "),
    "recent": (lambda _, c: c.window(budget=99, recent=-1), "recent: "),
    "shortlist": (lambda _, c: c.window(budget=99, shortlist=0), "shortlist: "),
    "max_picked": (lambda _, c: c.window(budget=99, max_picked=0), "max_picked: "),
    "index_share 1": (lambda _, c: c.window(budget=99, index_share=1), "index_share: "),
    "index_share NaN": (lambda _, c: c.window(budget=99, index_share=NAN), "index_share: "),
    "index_share text": (lambda _, c: c.window(budget=99, index_share="x"), "index_share: "),
    "wait": (lambda _, c: c.window(budget=99, wait=-1), "wait: "),
    "wait text": (lambda _, c: c.window(budget=99, wait="x"), "wait: "),
    "dialect": (lambda _, c: c.window(budget=99, dialect="cohere"), "openai, responses"),
    "dialect number": (lambda _, c: c.window(budget=99, dialect=5), "openai, responses"),
    "system number": (lambda _, c: c.window(budget=99, system=5), "system"),
    "tools number": (lambda _, c: c.window(budget=99, tools=5), "tools"),
    "tools text": (lambda _, c: c.window(budget=99, tools="search"), "tools"),
}


@pytest.fixture
def kept(tmp_path):
    """A store with a talk; at the end it holds that talk and nothing else."""
    with Memory.open(tmp_path, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        conversation.append(TALK)
        yield memory, conversation
        assert conversation.ids == [1, 2, 3]
        assert memory.stats()["records"] == 3
    for _ in range(2):
        with Memory.open(tmp_path, embedder="lexical") as memory:
            assert memory.conversation("log").fetch([1, 2, 3]) == TALK
            assert memory.conversations() == ["log"]


@pytest.mark.parametrize(("given", "error", "says"), MESSAGES.values(), ids=MESSAGES)
@pytest.mark.parametrize("verb", ["append", "sync", "process"])
def test_messages(kept, given, error, says, verb):
    memory, conversation = kept
    use = {
        "append": conversation.append,
        "sync": conversation.sync,
        "process": lambda given: memory.process(given, conversation="log", budget=999),
    }[verb]
    known = given
    if error is InvalidInputError:  # it is another dialect than a conversation's that is known
        known = [CALL, {"role": "tool", "tool_call_id": "a", "content": "x"}, *given]
    with pytest.raises(error, match=says) as caught:
        use(known)
    assert isinstance(caught.value, WarmsetError)


@pytest.mark.parametrize(("beside", "says"), BESIDE.values(), ids=BESIDE)
def test_what_stands_beside_a_message(kept, beside, says):
    _, conversation = kept
    for use in (
        conversation.append,
        lambda new, **options: conversation.sync([*TALK, new], **options),
    ):
        with pytest.raises(InvalidInputError, match=says):
            use(said("x"), **beside)


@pytest.mark.parametrize(("use", "says"), OTHERS.values(), ids=OTHERS)
def test_everything_else(kept, use, says):
    with pytest.raises(WarmsetError, match=says) as caught:
        use(*kept)
    assert isinstance(caught.value, InvalidInputError)


@pytest.mark.parametrize("id_", [0, 4, -1, 2**70])
def test_an_id_that_nobody_has(kept, id_):
    with pytest.raises(NotFound, match="'log' has no message"):
        kept[1].fetch(id_)
    with pytest.raises(NotFound):
        kept[1].fetch([1, id_])


def test_a_blank_search_finds_nothing(kept):
    for query in ("", " \n", "\0", "\ud800", "the of and"):
        assert list(kept[0].search(query)) == []


def test_a_budget_that_is_too_small_says_what_is_needed(kept):
    with pytest.raises(BudgetTooSmall, match="raise the budget") as caught:
        kept[1].window("How much?", budget=5)  # a request that is not appended stores nothing
    assert caught.value.have == 5
    assert kept[1].window("How much?", budget=caught.value.need).tokens <= caught.value.need


def test_a_dialect_that_cannot_say_it():
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        conversation.append([{"role": "user", "content": "x", "name": "Zoë"}])
        with pytest.raises(ConversionError, match="name"):
            conversation.window(budget=999, dialect="anthropic")
        assert conversation.window(budget=999).messages[0]["name"] == "Zoë"
