"""Saved indexes: opened, changed, saved again; damaged, cut, foreign and newer files."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys

import numpy as np
import oracle_index as oracle
import pytest
from alarm import Alarm, Alarmed

from warmset import Filter
from warmset.errors import (
    EmbedderMismatch,
    IndexDamaged,
    InvalidInputError,
    NewerIndex,
    NotAnIndex,
    SavedIndexError,
    StoreIOError,
    UnknownIdError,
)
from warmset.native import HotIndex

DIM = 33
READS = ["map", "pread"]
IDS = 2 * 4096  # where the ids lie in a file
WHERE = [
    None,
    Filter(tenant=1, conversation=3),
    Filter(conversation=2),
    Filter(kind="turn", since=40, before=400),
    Filter(ids=range(0, 900, 7), exclude=[14, 21]),
    Filter(role=2),
]


def material(n=700, metric="cosine"):
    """Rows that are hard to tell apart, unordered ids, labels of every kind."""
    rng = np.random.default_rng(n)
    labels = {
        "tenant": rng.integers(0, 3, n),
        "conversation": rng.integers(0, 5, n),
        "kind": rng.integers(0, 3, n),
        "role": rng.integers(0, 4, n),
        "at": np.arange(n),
    }
    return oracle.hard_rows(rng, n, DIM, metric), rng.permutation(n), labels


def filled(n=700, metric="cosine", **how):
    rows, ids, labels = material(n, metric)
    index = HotIndex(DIM, metric=metric, **how)
    index.add(ids, rows, **labels)
    return index


def agree(one, other, queries):
    assert len(one) == len(other)
    for where in WHERE:
        for k in (1, 12, 2000):
            for query in queries:
                found = one.search(query, k, where=where)
                assert oracle.same(found, other.search(query, k, where=where))


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("metric", ["cosine", "ip"])
def test_an_opened_index_answers_and_changes_as_the_one_that_was_saved(tmp_path, metric, read):
    rng = np.random.default_rng(2)
    here = filled(metric=metric)
    rows, _, _ = material(metric=metric)
    queries = oracle.hard_queries(rng, 8, rows)
    for turn in range(5):
        here.save(tmp_path / "index")
        there = HotIndex.open(tmp_path / "index", read=read)
        there.verify()
        assert (there.dim, there.metric, there.fingerprint) == (DIM, metric, None)
        agree(here, there, queries)
        gone = [int(id_) for id_ in rng.integers(0, 700, 40) if id_ in here]
        fresh = np.arange(1000 + 50 * turn, 1050 + 50 * turn)
        back = gone[:9]
        for index in (here, there):
            index.remove(sorted(set(gone)))
            index.add(fresh, rows[fresh % 700], tenant=1, conversation=3, at=41, role=2)
            index.add(sorted(set(back)), rows[: len(set(back))], kind=1, at=90)
            with pytest.raises(UnknownIdError):
                index.remove([5000])
        agree(here, there, queries)
        there.verify()
        here = there


def test_the_same_entries_give_the_same_bytes(tmp_path):
    one, other = filled(), filled()
    other.add([9999], np.ones((1, DIM)))
    other.remove([9999])
    one.save(tmp_path / "one")
    other.save(str(tmp_path / "other"))
    HotIndex.open(tmp_path / "one").save(tmp_path / "again")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "again").read_bytes()


def test_an_empty_index(tmp_path):
    HotIndex(7, metric="ip", fingerprint="nobody’s").save(tmp_path / "index")
    for read in READS:
        index = HotIndex.open(tmp_path / "index", read=read)
        assert (len(index), index.dim, index.fingerprint) == (0, 7, "nobody’s")
        assert len(index.search(np.ones(7), 3)[0]) == 0
        index.add([1], np.ones((1, 7)))
        assert index.search(np.ones(7), 3)[0].tolist() == [1]


# --- the embedder --------------------------------------------------------------------------------


def test_another_embedder_is_refused(tmp_path):
    filled(fingerprint="minilm-1").save(tmp_path / "named")
    filled().save(tmp_path / "unnamed")
    assert HotIndex.open(tmp_path / "named").fingerprint == "minilm-1"
    again = HotIndex.open(tmp_path / "named", fingerprint="minilm-1")
    again.save(tmp_path / "again")
    assert HotIndex.open(tmp_path / "again", fingerprint="minilm-1").fingerprint == "minilm-1"
    for name in ("named", "unnamed"):
        with pytest.raises(EmbedderMismatch) as caught:
            HotIndex.open(tmp_path / name, fingerprint="minilm-2")
        assert caught.value.given == "minilm-2"
    assert HotIndex.open(tmp_path / "unnamed").fingerprint is None


# --- files that are not what they should be ------------------------------------------------------


@pytest.mark.parametrize("read", READS)
def test_a_foreign_file_and_none_at_all(tmp_path, read):
    (tmp_path / "foreign").write_bytes(b"SQLite format 3\0" * 999)
    (tmp_path / "empty").write_bytes(b"")
    for name in ("foreign", "empty"):
        with pytest.raises(NotAnIndex, match="rebuild it"):
            HotIndex.open(tmp_path / name, read=read)
    with pytest.raises(StoreIOError) as caught:
        HotIndex.open(tmp_path / "missing", read=read)
    assert caught.value.filename == str(tmp_path / "missing")
    with pytest.raises(StoreIOError):
        HotIndex.open(tmp_path, read=read)


@pytest.mark.parametrize("read", READS)
def test_a_cut_file_is_refused(tmp_path, read):
    filled().save(tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    for length in [*range(8, len(whole), len(whole) // 97), len(whole) - 1]:
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(IndexDamaged, match="rebuild it"):
            HotIndex.open(tmp_path / "cut", read=read)


def test_a_newer_file_is_refused(tmp_path):
    filled().save(tmp_path / "index")
    data = bytearray((tmp_path / "index").read_bytes())
    data[8] = 9
    data[60:64] = crc32c(data[:60]).to_bytes(4, "little")
    (tmp_path / "index").write_bytes(data)
    with pytest.raises(NewerIndex, match=r"index format 9\.0.*upgrade warmset"):
        HotIndex.open(tmp_path / "index")


def crc32c(data):
    """The checksum, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_a_flipped_bit_is_an_equal_answer_or_an_error(tmp_path):
    index = filled(90)
    queries = oracle.hard_queries(np.random.default_rng(3), 2, material(90)[0])
    index.save(tmp_path / "index")
    whole = (tmp_path / "index").read_bytes()
    rng = np.random.default_rng(4)
    kinds = {"open": 0, "search": 0, "verify": 0}
    for at in rng.integers(0, len(whole), 600):
        data = bytearray(whole)
        data[at] ^= 1 << int(rng.integers(8))
        (tmp_path / "flipped").write_bytes(data)
        step = "open"
        try:
            opened = HotIndex.open(tmp_path / "flipped")
            step = "search"
            agree(opened, index, queries)
            assert [id_ for id_ in range(90) if id_ not in opened] == []
            step = "verify"
            opened.verify()
        except SavedIndexError:
            kinds[step] += 1
    assert min(kinds["open"], kinds["search"]) > 3, kinds


def test_a_damaged_index_stays_refused_and_is_not_saved(tmp_path):
    filled().save(tmp_path / "index")
    data = bytearray((tmp_path / "index").read_bytes())
    data[IDS + 11] ^= 4
    (tmp_path / "index").write_bytes(data)
    index = HotIndex.open(tmp_path / "index")
    for _ in range(2):
        for use in (
            lambda: index.search(np.ones(DIM), 700),
            lambda: index.search_batch(np.ones((3, DIM)), 700, threads=2),
            lambda: 3 in index,
            lambda: index.add([5000], np.ones((1, DIM))),
            lambda: index.remove([3]),
            lambda: index.save(tmp_path / "other"),
            index.verify,
        ):
            with pytest.raises(IndexDamaged) as caught:
                use()
            assert caught.value.path == str(tmp_path / "index")
            assert caught.value.offset == IDS
    assert not (tmp_path / "other").exists()


# --- files that change under a reader ------------------------------------------------------------


def test_a_file_that_is_replaced_or_removed_under_a_reader(tmp_path):
    old, queries = filled(), np.eye(DIM, dtype=np.float32)[:3]
    old.save(tmp_path / "index")
    opened = HotIndex.open(tmp_path / "index")
    filled(50).save(tmp_path / "index")
    agree(opened, old, queries)
    (tmp_path / "index").unlink()
    opened.verify()
    opened.save(tmp_path / "index")
    agree(HotIndex.open(tmp_path / "index"), old, queries)


def test_a_copy_in_memory_outlives_any_change_of_the_file(tmp_path):
    old = filled()
    old.save(tmp_path / "index")
    opened = HotIndex.open(tmp_path / "index", read="pread")
    os.truncate(tmp_path / "index", 10)
    opened.verify()
    agree(opened, old, np.eye(DIM, dtype=np.float32)[:3])


def test_a_save_that_fails_leaves_the_old_file(tmp_path):
    filled(50).save(tmp_path / "index")
    before = (tmp_path / "index").read_bytes()
    with pytest.raises(StoreIOError):
        filled().save(tmp_path / "missing" / "index")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreIOError):
        filled().save(tmp_path / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "index"]
    assert (tmp_path / "index").read_bytes() == before


FULL = """
import sys
import numpy as np
from warmset.native import HotIndex
from warmset.errors import StoreFull, StoreIOError
index = HotIndex(32)
index.add(range(40_000), np.random.default_rng(1).standard_normal((40_000, 32)))
try:
    index.save(sys.argv[1])
except (StoreFull, StoreIOError) as error:
    print(type(error).__name__)
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs ulimit")
def test_a_file_that_may_not_grow(tmp_path):
    filled(50).save(tmp_path / "index")
    before = (tmp_path / "index").read_bytes()
    command = ["bash", "-c", 'ulimit -f 500; trap "" XFSZ; exec "$@"', "-", sys.executable]
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [*command, "-c", FULL, tmp_path / "index"], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "StoreIOError", done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
    assert (tmp_path / "index").read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="modes are those of a Unix")
def test_only_its_owner_reads_the_file(tmp_path):
    filled(50).save(tmp_path / "index")
    assert stat.S_IMODE((tmp_path / "index").stat().st_mode) == 0o600


# --- arguments -----------------------------------------------------------------------------------


def test_arguments_that_cannot_be(tmp_path):
    filled(50).save(tmp_path / "index")
    with pytest.raises(InvalidInputError, match='read: expected one of "map", "pread"'):
        HotIndex.open(tmp_path / "index", read="mmap")
    for bad in (3, None, [tmp_path]):
        with pytest.raises(TypeError):
            HotIndex.open(bad)
        with pytest.raises(TypeError):
            filled(50).save(bad)
    with pytest.raises(TypeError):
        HotIndex.open(tmp_path / "index", fingerprint=7)


# --- long calls ----------------------------------------------------------------------------------


@pytest.mark.parametrize("read", READS)
def test_ctrl_c_ends_a_long_call(tmp_path, read):
    index = HotIndex(64)
    index.add(range(60_000), np.random.default_rng(1).standard_normal((60_000, 64)))
    index.save(tmp_path / "index")
    before = (tmp_path / "index").read_bytes()
    opened = HotIndex.open(tmp_path / "index", read=read)

    def again_and_again(use):
        while True:
            use()

    for use in (opened.verify, lambda: opened.save(tmp_path / "index")):
        Alarm(Alarmed()).ends(lambda use=use: again_and_again(use))
        assert [path.name for path in tmp_path.iterdir()] == ["index"]
        assert (tmp_path / "index").read_bytes() == before
    opened.verify()
