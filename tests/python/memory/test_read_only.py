"""Mode "read": nothing is written, whatever is asked; a read-only mount will do."""

from __future__ import annotations

import subprocess

import pytest
from other_process import other
from vectors_by_word import WordEmbedder

from warmset import Memory
from warmset.errors import NotAStore, ReadOnly


def said(n):
    return {"role": "user", "content": f"The crate {n} stands on the northern pier."}


@pytest.fixture
def place(tmp_path):
    """A store whose last turn and last memory have no vectors yet."""
    path = tmp_path / "store"
    with Memory.open(path, embedder=WordEmbedder()) as memory:
        memory.conversation("log").append([said(n) for n in range(150)])
        memory.remember("The ferry leaves at nine.")
        memory.flush()
    with Memory.open(path, embedder="lexical") as memory:
        memory.conversation("log").append(said(777))
        memory.remember("The barge waits for the tide.")
    return path


def contents(path):
    return {one: one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file()}


def use(path):
    with Memory.open(path, embedder=WordEmbedder(), mode="read") as memory:
        log = memory.conversation("log")
        assert len(log) == 151
        assert log.fetch(log.ids[-1])["content"] == said(777)["content"]
        assert memory.search("crate 777", k=1).ids == [log.ids[-1]]
        assert log.window("Where is crate 12?", budget=400).messages
        assert log.fit(budget=400).messages
        assert memory.memories(query="ferry")[0].text == "The ferry leaves at nine."
        assert memory.memories(query="barge")[0].text == "The barge waits for the tide."
        assert memory.flush(5)
        assert memory.stats()["messages"] == 151
        writes = {
            "append": lambda: log.append(said(1)),
            "sync": lambda: log.sync([said(1)]),
            "remember": lambda: memory.remember("new"),
            "erase": lambda: memory.erase(conversation="log"),
            "erase ids": lambda: memory.erase(ids=log.ids[:1]),
            "reembed": memory.reembed,
            "rebuild": memory.rebuild_index,
        }
        for write in writes.values():
            with pytest.raises(ReadOnly):
                write()
        assert memory.erase(ids=[]).records == 0  # nothing is written for it
        assert len(log) == 151


@pytest.mark.parametrize("damaged", [False, True])
def test_nothing_is_written(place, damaged):
    if damaged:  # a file that is of no use stays, too
        (place / "index").write_bytes(b"nonsense" * 99)
    before = contents(place)
    use(place)
    assert contents(place) == before
    with Memory.open(place, embedder=WordEmbedder()) as memory:
        assert memory.flush()
        with Memory.open(place.parent / "other", embedder="lexical") as other:
            assert other.conversations() == []


def test_a_read_only_mount(place, tmp_path):
    mount = tmp_path / "mount"
    mount.mkdir()
    for arguments in (["--bind", place, mount], ["-o", "remount,ro,bind", mount]):
        if subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode:  # noqa: S603, S607
            pytest.skip("this user may not mount")
    try:
        with pytest.raises(OSError, match="Read-only"):
            (mount / "file").write_bytes(b"")
        use(mount)
    finally:
        subprocess.run(["umount", mount], check=True)  # noqa: S603, S607


def test_what_others_write_and_erase_is_followed(place):
    with Memory.open(place, embedder="lexical", mode="read") as reader:
        log = reader.conversation("log")
        first = log.ids[0]
        message = {"role": "user", "content": "one more from elsewhere"}
        other(place, f"log.append({message})\nmemory.erase(ids=log.ids[:1])")
        assert len(log) == 151
        assert first not in log.ids
        assert reader.search("elsewhere", k=1).ids == [log.ids[-1]]


def test_there_must_be_a_store(tmp_path):
    with pytest.raises(NotAStore):
        Memory.open(tmp_path / "nothing", embedder="lexical", mode="read")
    assert not (tmp_path / "nothing").exists()
