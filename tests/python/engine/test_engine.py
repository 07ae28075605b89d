"""One engine: shared by handles, saved at its limits, and what it says of itself."""

from __future__ import annotations

import logging

import pytest
from bag import Bag

from warmset import Memory
from warmset.engine import Leasing, index_file
from warmset.errors import Closed, EmbedderError, InvalidInputError
from warmset.native import ColdStore
from warmset.store.options import StoreOptions


def said(*texts):
    return [{"role": "user", "content": text} for text in texts]


def test_a_store_is_closed_with_its_last_handle(tmp_path):
    handles = [Memory.open(tmp_path, embedder="lexical") for _ in range(3)]
    log = handles[2].conversation("log")
    for gone in (0, 0, 1):
        handles[gone].close()
        log.append(said("the others are closed"))
    assert len(log) == 3
    handles[2].close()
    with pytest.raises(Closed):
        log.append(said("x"))
    with Memory.open(tmp_path, embedder="lexical") as memory:
        assert len(memory.conversation("log")) == 3


def test_a_share_is_given_back_once(tmp_path):
    options = {"embedder": None, "opening": StoreOptions(), "encoding": "o200k_base"}
    one, two = (Leasing(tmp_path, **options).lease() for _ in range(2))
    for _ in range(3):
        one.release(1.0)
    assert two.engine.store.stats()["records"] == 0
    two.release(1.0)
    with pytest.raises(Closed):
        two.engine.store.stats()


def test_damage_is_logged_once(tmp_path, caplog):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        for n in range(5):
            memory.conversation("log").append(said(f"message {n}"))
    (segment,) = tmp_path.glob("*.seg")
    data = bytearray(segment.read_bytes())
    data[data.index(b"message 2")] ^= 1
    segment.write_bytes(data)
    caplog.set_level(logging.ERROR, "warmset.store")
    with Memory.open(tmp_path, embedder="lexical") as memory:
        for n in range(3):
            memory.conversation("log").append(said(f"more {n}"))
            with ColdStore.open(tmp_path) as store:
                meta = b'{"what":"head","id":99}'
                store.append([("checkpoint", [b"default", b"log"], meta, b"", ())])
        assert len(memory.conversation("log")) == 7
        assert len(memory.stats()["damaged"]) == 4
    told = [one.getMessage() for one in caplog.records if one.levelno == logging.ERROR]
    assert sum("damages=1" in one for one in told) == 1
    assert len(told) == 4, "each record that cannot be read, once"


def test_figures_are_of_one_tenant(tmp_path):
    with (
        Memory.open(tmp_path, embedder="lexical") as one,
        Memory.open(tmp_path, embedder="lexical", tenant="t") as two,
    ):
        one.conversation("a").append(said("a", "b"))
        two.conversation("a").append(said("c"))
        two.conversation("b").append(said("d"))
        assert len(two.conversation("empty")) == 0
        figures = [memory.stats() for memory in (one, two)]
        assert [(f["messages"], f["conversations"]) for f in figures] == [(2, 1), (2, 2)]


@pytest.mark.parametrize(("turns", "saved"), [(99, False), (100, True)])
def test_an_index_is_saved_from_a_hundred_turns_on(tmp_path, turns, saved):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.conversation("log").append(said(*(f"turn {n}" for n in range(turns))))
    assert (tmp_path / "index").exists() == saved
    assert index_file.LEAST == 100


def test_an_index_is_saved_again_when_more_than_one_in_a_hundred_changed(tmp_path):
    def write(*texts):
        with Memory.open(tmp_path, embedder="lexical") as memory:
            memory.conversation("log").append(said(*texts))
            assert memory.search(texts[-1].split()[-1], k=1)[0].id == len(
                memory.conversation("log")
            )
        return (tmp_path / "index").stat().st_ino

    first = write(*(f"turn word{n}" for n in range(350)))
    assert write("one kayak") == first
    assert write("two canoes", "and a zeppelin") != first


def test_an_index_is_saved_again_after_an_erasure(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.conversation("log").append(said(*(f"turn word{n}" for n in range(350))))
        memory.conversation("other").append(said("a kayak"))
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.erase(conversation="other")
        assert not (tmp_path / "index").exists()
    assert (tmp_path / "index").exists(), "less than one in a hundred changed"


def crc32c(data):
    """The checksum, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_the_index_of_a_newer_version_is_left_to_that(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.conversation("log").append(said(*(f"turn word{n}" for n in range(150))))
    data = bytearray((tmp_path / "index").read_bytes())
    data[8] = 9
    data[60:64] = crc32c(data[:60]).to_bytes(4, "little")
    (tmp_path / "index").write_bytes(data)
    with Memory.open(tmp_path, embedder="lexical") as memory:
        assert memory.stats()["index"]["source"] == "records"
        assert "9.0" in memory.stats()["index"]["why"]
        assert memory.search("word7").ids == [8]
        assert (tmp_path / "index").read_bytes() == data


@pytest.mark.parametrize(
    "other",
    [
        {"durability": "os"},
        {"on_busy": "spool"},
        {"read": "pread"},
        {"views": "turn"},
        {"encoding": "cl100k_base"},
    ],
)
def test_handles_on_one_path_have_the_same_options(tmp_path, other):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        with pytest.raises(InvalidInputError, match=next(iter(other))):
            Memory.open(tmp_path, embedder="lexical", **other)
        Memory.open(tmp_path, embedder="lexical").close()
        memory.conversation("log").append(said("it is open"))


def test_a_store_is_open_once_under_all_its_paths(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path / "store", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    options = {"embedder": "lexical", "mode": "exclusive"}
    with Memory.open(tmp_path / "store", **options) as memory:
        memory.conversation("log").append(said("one"))
        for path in ("store", tmp_path / "link", "link/../store"):
            with Memory.open(path, **options) as other:
                other.conversation("log").append(said("more"))
        assert len(memory.conversation("log")) == 4


def test_turns_that_say_nothing_are_not_described(tmp_path):
    seen = []
    for _ in range(2):
        with Memory.open(
            tmp_path, embedder="lexical", summary_line=lambda text: seen.append(text) or "line"
        ) as memory:
            log = memory.conversation("log")
            log.append([*said("a", " ", ""), {"role": "assistant", "content": None}])
            assert memory.flush(30)
            assert memory.stats()["undescribed"] == 0
    assert seen == ["a", "a"]


def test_an_index_that_is_rebuilt_finds_the_current_path(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.sync(said("a", "boat", "car"))
        log.sync(said("a", "plane"))
        memory.rebuild_index()
        assert list(memory.search("boat").ids) == list(memory.search("car").ids) == []
        assert memory.search("plane").ids == log.ids[-1:]
        log.sync(said("a", "boat", "car"))
        assert memory.search("boat").ids == log.ids[1:2]
        assert list(memory.search("plane").ids) == []


def test_everything_is_flushed_or_a_flush_tells_that_it_is_not():
    bag = Bag()

    def fail(_texts):
        raise EmbedderError("no")

    with Memory.open(None, embedder=bag, summary_line=lambda text: f"line {text}") as memory:
        log = memory.conversation("log")
        log.append(said("a"))
        assert memory.flush(30)
        bag.before = fail
        log.append(said("b"))
        assert memory.flush(30) is False
        assert memory.stats()["undescribed"] == 0
        bag.before = lambda _texts: None
        assert memory.flush(30)
        assert memory.search("b", k=1)[0].summary == "line b"


def test_a_turn_that_could_not_be_described_is_tried_again_by_a_flush():
    failing = [True]

    def line(text):
        if failing[0] and text == "b":
            raise ValueError(text)
        return f"line {text}"

    with Memory.open(
        None, embedder="lexical", summary_line=line, decisions=lambda _text: True
    ) as memory:
        memory.conversation("log").append(said("a", "b", "c"))
        assert memory.flush(30) is False
        assert memory.stats()["undescribed"] == 1
        assert memory.search("b", k=1)[0].summary == "b"
        assert list(memory._engine.described) == [1, 3], "all parts or none"
        failing[0] = False
        assert memory.flush(30)
        assert (memory.stats()["undescribed"], memory.search("b", k=1)[0].summary) == (0, "line b")


def test_each_turn_has_the_context_that_will_not_change():
    bag = Bag()
    with Memory.open(None, embedder=bag) as memory:
        log = memory.conversation("log")
        for batch in (["a"], ["b", "c"], ["d"]):
            log.append(said(*batch))
            assert memory.flush(30)
        assert sorted(bag.texts) == sorted([*"abcd", "a\nb", "a\nb\nc", "b\nc\nd"])
        assert memory.stats()["rows"] == 4


def test_a_turn_is_found_by_its_month_and_year_and_not_by_the_number_of_its_day(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        for name, at in (("a", "2023-05-30T23:59:59Z"), ("b", "2024-12-30"), ("c", "2025-01-01")):
            memory.conversation(name).append(said(f"step one of {name}"), at=at)
        memory.conversation("d").append(said("step 30"), at="2022-02-02")
        assert memory.search("30").ids == [4]
        assert memory.search("May").ids == [1]
        assert memory.search("2024").ids == [2]
        assert memory.search("January 2025").ids[0] == 3
        assert memory.search("December").ids == [2]
        assert memory.search("02").ids == []
