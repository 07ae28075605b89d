"""The index in a file: what it finds is what an index made from the records finds, to the bit."""

from __future__ import annotations

import errno
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from bag import Bag
from other_process import other, said
from turns import talk

from warmset import Filter, Memory
from warmset._core import Retriever, lock_file
from warmset.engine import index_file as indexfile
from warmset.errors import Locked, StoreIOError
from warmset.index import file_lock as saved
from warmset.native import ColdStore

SUPPORT = Path(__file__).parents[1] / "support"
QUERIES = (
    "the automobile in the garden",
    "umbrella number 17",
    "teapot",
    "nothing of this",
    "ok",
    "what did Ann say of a boat?",
)


def opened(path, embedder="bag", **options):
    return Memory.open(path, embedder=Bag() if embedder == "bag" else embedder, **options)


def answers(memory):
    """What a memory finds and shows, to the bit."""
    found: list[object] = []
    for query in QUERIES:
        scopes = (None, Filter(branches=True), Filter(conversation="log", branches=True))
        found += [list(memory.search(query, k=400, where=where)) for where in scopes]
    for name in memory.conversations():
        window = memory.conversation(name).window("the automobile?", budget=700)
        report = replace(window.report, milliseconds=0, cached=0, money=None, choices=())
        found.append((window.messages, report, list(window.report.choices)))
    return found


def index_of(memory):
    return memory.stats()["index"]


def same(path, tmp_path, embedder="bag", source="file"):
    """Check that a store with its file answers as a copy without one; gives its figures."""
    copy = tmp_path / f"copy {len(list(tmp_path.iterdir()))}"
    shutil.copytree(path, copy)
    (copy / saved.NAME).unlink(missing_ok=True)
    with opened(copy, embedder) as memory:
        memory.flush(60)
        assert index_of(memory)["source"] == "records"
        expected = answers(memory), memory.stats()["rows"], memory.stats()["messages"]
    with opened(path, embedder) as memory:
        memory.flush(60)
        told = index_of(memory)
        assert told["source"] == source, told
        assert (answers(memory), memory.stats()["rows"], memory.stats()["messages"]) == expected
        assert memory.stats()["damaged"] == []
    return told


@pytest.fixture
def path(tmp_path):
    """A store with three conversations, speakers, branches and an edit."""
    place = tmp_path / "store"
    with opened(place) as memory:
        log = memory.conversation("log")
        log.append(talk(90))
        log.append(talk(20, 90), speaker="Ann")
        memory.conversation("other").append(talk(60, 30), speaker="Bob")
        edited = [*talk(40), said("another end of it, with an umbrella"), *talk(30, 200)]
        log.sync(edited)
        with opened(place) as tenant:
            tenant.conversation("side").append(talk(10))
        assert memory.flush(60)
        assert index_of(memory)["source"] == "records"
    assert (place / saved.NAME).exists()
    return place


def test_what_was_saved_answers_as_what_was_made_from_the_records(path, tmp_path):
    told = same(path, tmp_path)
    assert told["covered"] > 200
    assert told["why"] is None


@pytest.mark.parametrize("how", [{"durability": "os"}, {"mode": "exclusive"}, {"read": "pread"}])
def test_a_store_is_opened_in_any_way(path, tmp_path, how):
    with opened(path, **how) as memory:
        assert index_of(memory)["source"] == "file"
        memory.conversation("log").append(talk(40, 500))
        memory.flush(60)
        answered = answers(memory)
    with opened(path, **how) as memory:
        assert index_of(memory)["source"] == "file"
        assert answers(memory) == answered
    same(path, tmp_path)


def test_nothing_is_indexed_or_embedded_again(path, monkeypatch):
    monkeypatch.setattr(
        "warmset.engine.library.Library.index_turn", lambda *_: pytest.fail("indexed")
    )
    monkeypatch.setattr("warmset.index.indexer.Indexer.restore", lambda *_: pytest.fail("restored"))
    before = (path / saved.NAME).stat().st_mtime_ns
    bag = Bag()
    with Memory.open(path, embedder=bag) as memory:
        assert memory.search("automobile", k=3)
        assert memory.flush(60)
    assert [text for text in bag.texts if "number" in text] == []
    assert (path / saved.NAME).stat().st_mtime_ns == before


def test_later_turns_branches_and_speakers_are_caught_up(path, tmp_path):
    with opened(path) as memory:
        assert index_of(memory)["source"] == "file"
        log = memory.conversation("log")
        log.append([said("the lamp is lit"), said("ok")])  # less than one in a hundred
        memory.flush(60)
        answered = answers(memory)
        kept = (path / saved.NAME).read_bytes()
    (path / saved.NAME).write_bytes(kept)
    with opened(path) as memory:
        assert answers(memory) == answered
        log = memory.conversation("log")
        log.append(talk(5, 900), speaker="Ann")
        log.append(talk(5, 950), speaker="Cara")
        memory.conversation("new").append(talk(5, 970), speaker="Bob")
        log.sync([*talk(40), said("yet another end, with a boat")])
        memory.flush(60)
        answered = answers(memory)
    (path / saved.NAME).write_bytes(kept)
    same(path, tmp_path)
    with opened(path) as memory:
        assert answers(memory) == answered


def test_another_process_adds_turns_after_the_file_was_written(path, tmp_path):
    kept = (path / saved.NAME).read_bytes()
    other(path, "log.append([{'role': 'user', 'content': 'the teapot of another'}])", bag=True)
    (path / saved.NAME).write_bytes(kept)
    same(path, tmp_path)
    with opened(path) as memory:
        other(path, "log.append([{'role': 'user', 'content': 'the kettle of a third'}])", bag=True)
        assert memory.search("kettle", k=1)[0].summary == "the kettle of a third"
    same(path, tmp_path)


def test_what_is_erased_is_in_no_file(path, tmp_path):
    text = "the zyzzyva sleeps"
    vector = Bag().embed([text])[0].tobytes()

    def traces():
        files = [one.read_bytes() for one in path.rglob("*") if one.is_file()]
        return sum(b"zyzzyva" in data or vector in data for data in files)

    with opened(path) as memory:
        memory.conversation("log").append([said(text), *talk(5, 500)])
        first = memory.conversation("log").ids[-6]
        memory.flush(60)
        memory._engine.index.save()
        data = (path / saved.NAME).read_bytes()
        assert b"zyzzyva" in data
    (path / f"{saved.NAME}.77-0.new").write_bytes(vector)  # somebody died while saving
    with opened(path) as memory:
        assert index_of(memory)["source"] == "file"
        assert traces() >= 3
        memory.erase(ids=[first])
        assert traces() == 0
        assert not (path / saved.NAME).exists()
        memory.flush(60)
        memory._engine.index.save()  # out of an index that was opened with it
        assert (path / saved.NAME).exists()
        assert traces() == 0
        memory.erase(conversation="other")
        assert memory.conversation("other").ids == []
    same(path, tmp_path)
    data = (path / saved.NAME).read_bytes()
    assert b"bob" not in data  # who spoke in what is gone
    assert b"other" not in data
    assert traces() == 0


def test_what_another_process_erased_is_in_no_file_that_this_one_saves(path):
    with opened(path) as memory:
        memory.conversation("side").append([said("the zyzzyva sleeps"), *talk(5, 500)])
        memory.flush(60)
        memory._engine.index.save()
        assert b"zyzzyva" in (path / saved.NAME).read_bytes()
        other(path, "memory.erase(conversation='side')", bag=True)
        assert b"zyzzyva" not in (path / saved.NAME).read_bytes()  # written anew at its end
        (path / saved.NAME).unlink()
        memory._engine.index.save()
        assert b"zyzzyva" not in (path / saved.NAME).read_bytes()


def test_an_erasure_waits_for_who_saves_and_nobody_saves_meanwhile(path, monkeypatch):
    with opened(path) as memory:
        lock = lock_file(path / saved.LOCK)
        monkeypatch.setattr(saved, "WAIT", 0.05)
        with pytest.raises(Locked):
            memory.erase(ids=memory.conversation("log").ids[:1])
        assert (path / saved.NAME).exists()
        assert memory.stats()["messages"] == 211
        lock.release()
        memory.erase(ids=memory.conversation("log").ids[:1])
        assert not (path / saved.NAME).exists()
        with saved.erasing(path):
            memory._engine.index.save()
            assert not (path / saved.NAME).exists()
        memory._engine.index.save()
        assert (path / saved.NAME).exists()


def test_vectors_that_are_made_anew_leave_no_old_ones(path):
    with Memory.open(path, embedder=Bag(salt="new", fingerprint="new")) as memory:
        assert memory.stats()["rows"] == 0
        memory.reembed()
        assert not (path / saved.NAME).exists()
        answered = answers(memory)
    with Memory.open(path, embedder=Bag(salt="new", fingerprint="new")) as memory:
        assert index_of(memory)["source"] == "file"
        assert answers(memory) == answered
    with opened(path) as memory:  # not the embedder of the vectors: none are searched
        assert memory.stats()["rows"] == 0
    with Memory.open(path, embedder=Bag(salt="new", fingerprint="new")) as memory:
        assert answers(memory) == answered


def test_without_an_embedder_the_vectors_stay_in_the_file(path, tmp_path):
    kept = (path / saved.NAME).read_bytes()
    same(path, tmp_path, embedder="lexical")
    with opened(path, "lexical") as memory:
        assert memory.stats()["rows"] == 0
        memory.conversation("log").append(talk(50, 700))
    assert (path / saved.NAME).read_bytes() == kept
    same(path, tmp_path)


def test_words_alone_are_saved_too(tmp_path):
    with opened(tmp_path / "store", "lexical") as memory:
        memory.conversation("log").append(talk(150))
    same(tmp_path / "store", tmp_path, embedder="lexical")
    told = same(tmp_path / "store", tmp_path)  # an embedder came: there are no vectors yet
    assert told["covered"] > 0


@pytest.mark.parametrize("at", [0.0, 0.1, 0.5, 0.9, 0.9999])
def test_a_flipped_byte_is_made_good_from_the_records(path, tmp_path, at):
    file = path / saved.NAME
    data = bytearray(file.read_bytes())
    inner = [place for place, byte in enumerate(data) if byte]  # padding says nothing
    place = inner[int(at * len(inner))]
    data[place] ^= 0x10
    file.write_bytes(data)
    told = same(path, tmp_path, source="records")
    assert told["why"]
    assert same(path, tmp_path)["why"] is None


@pytest.mark.parametrize("data", [b"", b"x", b"wshot\0\0\0", bytes(5_000)])
def test_a_file_that_is_none_is_made_good(path, tmp_path, data):
    (path / saved.NAME).write_bytes(data)
    same(path, tmp_path, source="records")
    same(path, tmp_path)


def test_a_cut_file_is_made_good(path, tmp_path):
    data = (path / saved.NAME).read_bytes()
    (path / saved.NAME).write_bytes(data[:-70])
    same(path, tmp_path, source="records")


def test_the_file_of_another_store_is_not_taken(path, tmp_path):
    with opened(tmp_path / "two") as memory:
        memory.conversation("log").append(talk(150))
        memory.flush(60)
    shutil.copy(path / saved.NAME, tmp_path / "two" / saved.NAME)
    told = same(tmp_path / "two", tmp_path, source="records")
    assert "another store" in told["why"]


def test_a_file_of_another_version_is_not_taken(path, tmp_path, monkeypatch):
    monkeypatch.setattr(indexfile, "FORM", indexfile.FORM + 1)
    assert "version" in same(path, tmp_path, source="records")["why"]
    assert same(path, tmp_path)["why"] is None
    monkeypatch.undo()
    assert "version" in same(path, tmp_path, source="records")["why"]


def test_a_file_that_is_ahead_is_not_taken(path, tmp_path):
    old = tmp_path / "old"
    shutil.copytree(path, old)
    with opened(path) as memory:
        memory.conversation("log").append(talk(40, 600))
        memory.flush(60)
    shutil.copy(path / saved.NAME, old / saved.NAME)
    assert "ahead" in same(old, tmp_path, source="records")["why"]


def test_a_file_with_vectors_of_another_generation_is_not_taken(path, tmp_path):
    with ColdStore.open(path) as store:
        retriever = Retriever()
        covers, _, note = retriever.load(path / saved.NAME, store)
        about = {"covers": covers, "note": note, "changes": retriever.changes}
        assert retriever.save(path / saved.NAME, store, fingerprint="7 bag", **about)
    assert "another embedder" in same(path, tmp_path, source="records")["why"]


def test_a_file_of_turns_that_the_store_never_had_is_not_taken(path, tmp_path):
    """A store that lost its end and went on has the same ids for other turns."""
    old = tmp_path / "old"
    shutil.copytree(path, old)
    for place, start in ((path, 600), (old, 800)):
        with opened(place) as memory:
            memory.conversation("log").append(talk(40, start))
            memory.flush(60)
    shutil.copy(path / saved.NAME, old / saved.NAME)
    assert "other turns" in same(old, tmp_path, source="records")["why"]


def test_who_only_reads_leaves_a_file_that_does_not_fit(path):
    file = path / saved.NAME
    file.write_bytes(b"no index")
    with opened(path, mode="read") as memory:
        assert index_of(memory)["why"]
        assert file.read_bytes() == b"no index"


def test_a_file_from_before_an_erasure_is_not_taken(path, tmp_path):
    """Somebody who knows nothing of the file erased."""
    with ColdStore.open(path) as store:
        store.erase(records=[3])
        store.compact()
    assert "other turns" in same(path, tmp_path, source="records")["why"]
    same(path, tmp_path)


def test_where_there_are_no_locks_nothing_is_saved_and_all_is_erased(path, monkeypatch):
    def none(_path):
        raise StoreIOError(errno.ENOLCK, "no locks")

    monkeypatch.setattr("warmset.engine.index_file.lock_file", none)
    with opened(path) as memory:
        memory._engine.index.save()
        assert "no locks" in index_of(memory)["failed"]
        memory.erase(ids=memory.conversation("log").ids[:1])
        assert not (path / saved.NAME).exists()
    assert not (path / saved.NAME).exists()


def test_an_encrypted_store_has_none(tmp_path):
    key = bytes(range(32))
    with opened(tmp_path / "store", encryption=key) as memory:
        memory.conversation("log").append(talk(150))
        memory.flush(60)
        memory.rebuild_index()
        assert index_of(memory)["saved"] == 0
    assert not (tmp_path / "store" / saved.NAME).exists()


def test_a_store_with_encrypted_records_has_none_without_the_option_either(tmp_path):
    path = tmp_path / "store"
    with opened(path, encryption="keys") as memory:
        memory.conversation("secret").append(said("The port is 8080."))
    with opened(path) as memory:
        memory.conversation("log").append(talk(150))
        memory.flush(60)
        memory.rebuild_index()
        assert index_of(memory)["saved"] == 0
    assert not (path / saved.NAME).exists()


def test_a_small_store_has_none(tmp_path):
    with opened(tmp_path / "store") as memory:
        memory.conversation("log").append(talk(indexfile.LEAST - 1))
        memory.flush(60)
    assert not (tmp_path / "store" / saved.NAME).exists()


KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from bag import Bag
from warmset import Memory
from turns import talk
memory = Memory.open(sys.argv[1], embedder=Bag())
log = memory.conversation("log")
log.append(talk(30, 300))
memory.flush()
memory._engine.index.save()
log.append(talk(7, 400), speaker="Dan")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_a_process_that_is_killed_after_a_save(path, tmp_path):
    text = KILLED.format(tests=str(SUPPORT))
    command = [sys.executable, "-c", text, str(path)]
    done = subprocess.run(command, check=False, capture_output=True)  # noqa: S603 - fixed
    assert done.returncode == -signal.SIGKILL, done.stderr
    told = same(path, tmp_path)
    with opened(path) as memory:
        assert memory.stats()["messages"] == 248
        assert memory.stats()["next_seq"] > told["covered"] + 7


def test_the_file_is_written_by_a_thread_when_it_lacks_many_turns(path, tmp_path, monkeypatch):
    monkeypatch.setattr(indexfile, "STEP", 20)
    with opened(path) as memory:
        log = memory.conversation("log")
        for n in range(30):
            log.append(talk(1, 400 + n))
        memory.search("a boat")  # what waits for a search is indexed
        log.append(talk(1, 430))
        assert memory._engine.index._background._thread is not None
        assert memory._engine.index._background.join(60)
        assert index_of(memory)["saved"] > index_of(memory)["covered"] > 0
        shutil.copytree(path, tmp_path / "as it is")
    same(tmp_path / "as it is", tmp_path)


def test_a_turn_that_comes_while_the_file_is_written_is_never_half_in_it(path, tmp_path):
    """Savers and writers race; each file that there is in between is right."""
    stop = threading.Event()
    with opened(path) as memory:
        log = memory.conversation("log")

        def write():
            n = 0
            while not stop.is_set():
                log.append(talk(1, 1_000 + n))
                n += 1

        writer = threading.Thread(target=write)
        writer.start()
        for n in range(8):
            memory._engine.index.save()
            shutil.copytree(path, tmp_path / f"between {n}")
        stop.set()
        writer.join()
    for n in range(0, 8, 3):
        same(tmp_path / f"between {n}", tmp_path)


def test_a_save_begins_anew_when_a_turn_comes_between(path, tmp_path, monkeypatch):
    remarks = indexfile.IndexFile._remarks
    with opened(path) as memory:
        more = [talk(1, 1_000)]

        def between(index, digest):
            told = remarks(index, digest)
            if more:
                memory.conversation("log").append(more.pop())
            return told

        monkeypatch.setattr(indexfile.IndexFile, "_remarks", between)
        memory._engine.index.save()
        assert index_of(memory)["saved"] >= memory.conversation("log").ids[-1]
        shutil.copytree(path, tmp_path / "as it is")
    same(tmp_path / "as it is", tmp_path)


def test_what_cannot_be_written_is_told_and_not_raised(path):
    (path / saved.NAME).unlink()
    (path / saved.NAME).mkdir()
    (path / saved.NAME / "in the way").touch()
    with opened(path) as memory:
        assert index_of(memory)["source"] == "records"
        memory._engine.index.save()
        assert index_of(memory)["failed"]
        assert index_of(memory)["saved"] == 0
    assert (path / saved.NAME).is_dir()


def test_the_index_is_rebuilt_on_request(path, tmp_path):
    with opened(path) as memory:
        before = answers(memory)
        (path / saved.NAME).unlink()
        memory.rebuild_index()
        assert answers(memory) == before
        told = index_of(memory)
        assert (told["source"], told["why"]) == ("records", "it was rebuilt")
        assert told["saved"] > 0
    same(path, tmp_path)


def test_a_retriever_is_saved_only_as_it_was(tmp_path):
    with ColdStore.open(tmp_path / "store") as store:
        retriever = Retriever()
        retriever.add(7, (1, 1, 0, 0, 1, 2, 0, True), "a boat")
        about = {"covers": 9, "fingerprint": "f", "note": b"mine", "changes": 1}
        assert retriever.save(tmp_path / "index", store, **about)
        retriever.put_vectors(7, [1.0, 0.0])
        assert not retriever.save(tmp_path / "index", store, **about)
        other_one = Retriever()
        assert other_one.load(tmp_path / "index", store) == (9, "f", b"mine")
        assert (len(other_one), other_one.rows, other_one.changes) == (1, 0, 0)
        other_one.clear()
        assert (len(other_one), other_one.changes) == (0, 1)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["index", "store"]
