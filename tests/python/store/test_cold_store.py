"""The store through Python: what was acknowledged comes back, and every refusal has its class."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

import pytest
from cold_rows import row, segments

from warmset._core import content_hash
from warmset.errors import (
    Closed,
    Corrupt,
    InvalidInputError,
    Locked,
    NotAStore,
    NotFound,
    StoreError,
    StoreIOError,
    TooLarge,
)
from warmset.native import ColdStore, Record

KINDS = ["turn", "summary", "embedding", "episode", "distilled", "prepared", "item", "checkpoint"]
READS = ["map", "pread"]
PLACES = ["disk", "memory"]


def random_rows(seed, n):
    rng = random.Random(seed)
    parts = [b"", b"\0", b"tenant", b"\xff" * 9, "söö".encode()]
    return [
        row(
            rng.randbytes(rng.choice([0, 1, 7, 8, 9, 100, 3000])),
            kind=rng.choice(KINDS),
            key=rng.choices(parts, k=rng.randrange(4)),
            meta=rng.choice(parts),
        )
        for _ in range(n)
    ]


def open_at(place, tmp_path, **options):
    return ColdStore.open(None if place == "memory" else tmp_path / "store", **options)


def parts(record):
    return (record.kind, list(record.key), record.meta, record.payload)


def everything(store, **options):
    out, start = [], 1
    while records := store.page(start, **options):
        out += records
        start = records[-1].seq + 1
    return out


# --- what comes back -----------------------------------------------------------------------------


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("segment_bytes", [None, 4096], ids=["one segment", "many segments"])
def test_records_come_back_as_they_were_given(place, read, segment_bytes, tmp_path):
    rows = random_rows(1, 120)
    with open_at(place, tmp_path, read=read, segment_bytes=segment_bytes) as store:
        seqs = []
        for start in range(0, 120, 6):
            seqs += store.append(rows[start : start + 6])
        assert seqs == sorted(set(seqs))
        assert seqs[0] == 1
        for seq, given in zip(seqs, rows, strict=True):
            record = store.get(seq)
            assert isinstance(record, Record)
            assert (record.seq, parts(record)) == (seq, given)
            assert record.hash == content_hash(given[3])
            assert repr(record) == f'Record(seq={seq}, kind="{given[0]}", {len(given[3])} bytes)'
        for options in ({}, {"max_bytes": 0}, {"max_bytes": 5000}, {"max_bytes": 2**40}):
            assert [parts(r) for r in everything(store, **options)] == rows
        assert store.page(seqs[50])[0].seq == seqs[50]
        stats, report = store.stats(), store.verify()
        assert (stats["records"], report["records"]) == (120, 120)
        assert stats["next_seq"] > seqs[-1]
        assert stats["segments"] == 1 if segment_bytes is None else stats["segments"] > 10
        assert stats["bytes"] > sum(len(given[3]) for given in rows)
        assert report["damages"] == []
        assert store.report() == {"cuts": [], "damages": []}
    if place == "disk":
        assert len(segments(tmp_path / "store")) == stats["segments"]


@pytest.mark.parametrize("read", READS)
def test_a_store_is_there_after_closing(read, tmp_path):
    rows = random_rows(2, 60)
    with ColdStore.open(tmp_path, segment_bytes=4096) as store:
        first = store.append(rows[:30])
        before = store.stats()
    with ColdStore.open(str(tmp_path), read=read, segment_bytes=4096) as store:
        after = store.stats()
        assert (after["records"], after["next_seq"]) == (30, before["next_seq"])
        assert store.path == tmp_path
        second = store.append(rows[30:])
        assert second[0] > first[-1]
    with ColdStore.open(tmp_path, read=read) as store:
        assert [parts(r) for r in everything(store)] == rows
        assert [r.seq for r in everything(store)] == first + second
        assert store.report() == {"cuts": [], "damages": []}


def test_a_dropped_store_lets_go_of_its_path(tmp_path):
    store = ColdStore.open(tmp_path)
    store.append([row(b"x")])
    del store
    with ColdStore.open(tmp_path, lock_wait=0.0) as store:
        assert store.get(1).payload == b"x"


def test_a_store_in_memory_has_no_path_and_is_its_own():
    with ColdStore.open(None) as one, ColdStore.open(None) as two:
        one.append([row(b"x")])
        assert one.path is None
        assert repr(one) == "ColdStore(None)"
        assert two.page() == []


def test_an_empty_batch_writes_nothing(tmp_path):
    with ColdStore.open(tmp_path) as store:
        before = store.stats()
        assert store.append([]) == []
        assert store.stats() == before
        assert store.page() == []


@pytest.mark.parametrize("payload", [b"", b"\0", bytes(range(256)) * 4000], ids=len)
def test_the_content_hash_tells_payloads_apart(payload):
    assert len(content_hash(payload)) == 16
    assert content_hash(payload) == content_hash(bytes(payload))
    assert content_hash(payload) != content_hash(payload + b"\0")


def test_the_content_hash_is_pinned():
    """It is on disk: the published value of xxh3-128 of nothing, little-endian."""
    assert content_hash(b"")[::-1].hex() == "99aa06d3014798d86001c324468d497f"


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        "seal",
        "tombstone",
        "spooled",
        "batch_member",
        "batch_commit",
        "other",
        "",
        "Turn",
        "turn ",
        "x\0",
    ],
)
def test_unknown_and_reserved_kinds_are_refused(kind):
    with ColdStore.open(None) as store:
        with pytest.raises(InvalidInputError, match="kind: expected one of turn, summary"):
            store.append([row(b"good"), row(b"bad", kind=kind)])
        assert store.stats()["records"] == 0, "all or none"


@pytest.mark.parametrize(
    "given",
    [
        ("turn", [b"k"], b"m"),
        ("turn", [b"k"], b"m", b"p", b"q"),
        ("turn", ["k"], b"m", b"p"),
        ("turn", b"k", b"m", b"p"),
        ("turn", [b"k"], "m", b"p"),
        ("turn", [b"k"], b"m", "p"),
        ("turn", [b"k"], b"m", bytearray(b"p")),
        (1, [b"k"], b"m", b"p"),
        "turn",
        None,
    ],
    ids=repr,
)
def test_a_row_of_other_things_is_refused(given):
    with ColdStore.open(None) as store:
        with pytest.raises((TypeError, ValueError)):
            store.append([row(b"good"), given])
        assert store.stats()["records"] == 0


@pytest.mark.parametrize("part", ["payload", "meta", "key"])
def test_too_large_a_record_is_refused_and_nothing_of_its_batch_is_kept(part, tmp_path):
    with ColdStore.open(tmp_path, max_record=1000) as store:
        big = {"payload": b"x" * 1001, "meta": b"x" * 1001, "key": [b"x" * 1001]}
        given = {"payload": b"", part: big[part]}
        with pytest.raises(TooLarge, match="split it or store a reference") as caught:
            store.append([row(b"good"), row(given.pop("payload"), **given)])
        assert caught.value.size > caught.value.limit == 1000
        assert store.stats()["records"] == 0
        (seq,) = store.append([row(b"x" * 1000)])
    with ColdStore.open(tmp_path, max_record=10) as store:
        assert len(store.get(seq).payload) == 1000, "what was written under a larger limit is read"


@pytest.mark.parametrize("seq", [0, 2, 99, 2**63, 2**64 - 1])
@pytest.mark.parametrize("place", PLACES)
def test_an_id_that_was_never_given(place, seq, tmp_path):
    with open_at(place, tmp_path) as store:
        store.append([row(b"x")])
        with pytest.raises(NotFound, match=f"no record has id #{seq}"):
            store.get(seq)
        with pytest.raises(LookupError):
            store.get(seq)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("read", "mmap"),
        ("read", ""),
        ("read", "MAP"),
        ("lock_wait", -1.0),
        ("lock_wait", float("nan")),
        ("lock_wait", float("inf")),
        ("lock_wait", 1e300),
    ],
)
def test_options_that_cannot_be(name, value, tmp_path):
    with pytest.raises(InvalidInputError, match=name):
        ColdStore.open(tmp_path / "store", **{name: value})
    assert not (tmp_path / "store").exists()


def test_paths_that_are_no_store_are_left_as_they_were(tmp_path):
    (tmp_path / "file").write_bytes(b"mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_bytes(b"mine")
    for path in ("", tmp_path / "file", tmp_path / "full"):
        with pytest.raises(NotAStore, match="name an empty or a new directory"):
            ColdStore.open(path)
    assert (tmp_path / "file").read_bytes() == b"mine"
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["notes.txt"]


def test_a_path_that_cannot_be_made_is_an_os_error(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError) as caught:
        ColdStore.open(tmp_path / "file" / "store")
    if isinstance(caught.value, StoreIOError):
        assert caught.value.errno
        assert "file" in str(caught.value)


def test_two_at_once_are_refused_at_once(tmp_path):
    with ColdStore.open(tmp_path, mode="exclusive") as store:
        store.append([row(b"x")])
        for path in (tmp_path, str(tmp_path), tmp_path / ".." / tmp_path.name):
            with pytest.raises(Locked, match=str(os.getpid())) as caught:
                ColdStore.open(path, lock_wait=0.0)
            assert Path(caught.value.path).resolve() == tmp_path
            assert "process" in caught.value.owner
        assert store.append([row(b"y")]) == [2]
    with ColdStore.open(tmp_path, lock_wait=0.0) as store:
        assert store.stats()["records"] == 2


def test_a_store_that_is_let_go_in_time_is_waited_for(tmp_path):
    store = ColdStore.open(tmp_path, mode="exclusive")
    timer = threading.Timer(0.2, store.close)
    timer.start()
    with ColdStore.open(tmp_path, lock_wait=30.0) as other:
        assert other.append([row(b"x")]) == [1]
    timer.join()


USES = {
    "append": lambda s: s.append([row(b"x")]),
    "append nothing": lambda s: s.append([]),
    "get": lambda s: s.get(1),
    "page": lambda s: s.page(),
    "stats": lambda s: s.stats(),
    "verify": lambda s: s.verify(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("place", PLACES)
def test_a_closed_store_says_so(place, use, tmp_path):
    with open_at(place, tmp_path) as store:
        store.append([row(b"x")])
    store.close()
    with pytest.raises(Closed, match="open it again"):
        use(store)
    assert store.report() == {"cuts": [], "damages": []}


def test_an_error_in_a_with_block_closes_and_is_not_swallowed(tmp_path):
    with pytest.raises(KeyError), ColdStore.open(tmp_path) as store:
        raise KeyError
    with pytest.raises(Closed):
        store.stats()


# --- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [1, 8, 40, 150])
@pytest.mark.parametrize("read", READS)
def test_a_torn_tail_is_cut_kept_aside_and_reported(keep, read, tmp_path):
    rows = random_rows(3, 9)
    with ColdStore.open(tmp_path) as store:
        seqs = [seq for given in rows for seq in store.append([given])]
    (segment,) = segments(tmp_path)
    torn = segment.read_bytes()[-300:][:keep]
    with segment.open("ab") as file:
        file.write(torn)
    with ColdStore.open(tmp_path, read=read) as store:
        (found,) = store.report()["cuts"]
        assert (found["segment"], store.report()["damages"]) == (1, [])
        assert Path(found["aside"]).read_bytes() == torn
        assert found["bytes"] == keep
        assert [parts(r) for r in everything(store)] == rows
        (fresh,) = store.append([row(b"after")])
        assert fresh > seqs[-1]
        assert store.verify()["damages"] == []
    with ColdStore.open(tmp_path, read=read) as store:
        assert store.report() == {"cuts": [], "damages": []}
        assert [r.seq for r in everything(store)] == [*seqs, fresh]


@pytest.mark.parametrize("cut", [1, 8, 40, 150])
@pytest.mark.parametrize("read", READS)
def test_an_acknowledged_record_that_is_cut_off_is_damage_and_not_a_torn_tail(cut, read, tmp_path):
    rows = random_rows(3, 9)
    with ColdStore.open(tmp_path) as store:
        seqs = [seq for given in rows for seq in store.append([given])]
        (last,) = store.append([row(b"z" * 200)])
    (segment,) = segments(tmp_path)
    os.truncate(segment, segment.stat().st_size - cut)
    with ColdStore.open(tmp_path, read=read) as store:
        assert [parts(r) for r in everything(store)] == rows
        (damage,) = store.report()["damages"]
        assert damage["seqs"] == (last, last)
        with pytest.raises(StoreError):
            store.get(last)
        (fresh,) = store.append([row(b"after")])
        assert fresh > last, "an id that was acknowledged is never given again"
        assert [d["seqs"] for d in store.verify()["damages"]] == [(last, last)]
    with ColdStore.open(tmp_path, read=read) as store:
        assert [r.seq for r in everything(store)] == [*seqs, fresh]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("when", ["while closed", "while open"])
@pytest.mark.parametrize("victim", [0, 6, 12])
def test_a_damaged_record_costs_no_other(victim, when, read, tmp_path):
    payloads = [bytes([65 + n]) * 300 for n in range(20)]
    store = ColdStore.open(tmp_path, read=read, segment_bytes=4096)
    seqs = [seq for payload in payloads for seq in store.append([row(payload)])]
    assert store.stats()["segments"] == 3
    if when == "while closed":
        store.close()
    for segment in segments(tmp_path):
        at = segment.read_bytes().find(payloads[victim])
        if at >= 0:
            with segment.open("r+b") as file:
                file.seek(at + 100)
                file.write(b"#")
            name = segment.name
    if when == "while closed":
        store = ColdStore.open(tmp_path, read=read, segment_bytes=4096)
    with store:
        with pytest.raises(Corrupt, match=name):
            store.get(seqs[victim])
        others = [payload for payload in payloads if payload != payloads[victim]]
        assert [r.payload for r in everything(store)] == others
        for seq, payload in zip(seqs, payloads, strict=True):
            if payload != payloads[victim]:
                assert store.get(seq).payload == payload
        (damage,) = store.report()["damages"]
        assert damage["seqs"] == (seqs[victim], seqs[victim])
        assert Path(damage["path"]).name == name
        assert damage["bytes"][1] - damage["bytes"][0] >= 300
        assert damage["detail"]
        report = store.verify()
        assert report["records"] == 19
        assert [d["seqs"] for d in report["damages"]] == [(seqs[victim], seqs[victim])]
        assert store.append([row(b"after")])[0] > seqs[-1]


def test_a_missing_segment_is_reported_and_costs_its_own_records(tmp_path):
    payloads = [bytes([65 + n]) * 300 for n in range(20)]
    with ColdStore.open(tmp_path, segment_bytes=4096) as store:
        seqs = [seq for payload in payloads for seq in store.append([row(payload)])]
    gone = segments(tmp_path)[1]
    held = [n for n, payload in enumerate(payloads) if payload in gone.read_bytes()]
    assert held
    gone.unlink()
    with ColdStore.open(tmp_path, segment_bytes=4096) as store:
        (damage,) = store.report()["damages"]
        assert damage["seqs"] == (seqs[held[0]], seqs[held[-1]])
        assert "missing" in damage["detail"]
        kept = [payload for n, payload in enumerate(payloads) if n not in held]
        assert [r.payload for r in everything(store)] == kept
        with pytest.raises(StoreError):
            store.get(seqs[held[0]])


# --- threads -------------------------------------------------------------------------------------


class Crowd:
    """Eight threads that append and two that read; what was acknowledged, and what went wrong."""

    def __init__(self, store):
        self.store, self.given, self.failures = store, {}, []
        self.done = threading.Event()

    def run(self):
        writers = [threading.Thread(target=self.write, args=(me,)) for me in range(8)]
        readers = [threading.Thread(target=self.read) for _ in range(2)]
        for thread in writers + readers:
            thread.start()
        for thread in writers:
            thread.join()
        self.done.set()
        for thread in readers:
            thread.join()

    def write(self, me):
        rng = random.Random(me)
        for turn in range(25):
            size = rng.randrange(1, 4)
            batch = [row(f"{me} {turn} {n}".encode() + rng.randbytes(99)) for n in range(size)]
            seqs = self.store.append(batch)
            if seqs != list(range(seqs[0], seqs[0] + size)):
                self.failures.append((me, turn, seqs))
            if [parts(self.store.get(seq)) for seq in seqs] != batch:
                self.failures.append((me, turn))
            self.given.update(zip(seqs, batch, strict=True))

    def read(self):
        seen = 0
        while not self.done.is_set():
            seqs = [r.seq for r in everything(self.store, max_bytes=2000)]
            if seqs != list(range(1, len(seqs) + 1)) or len(seqs) < seen:
                self.failures.append(seqs)
            seen = len(seqs)


@pytest.mark.usefixtures("busy_interpreter")
@pytest.mark.parametrize("place", PLACES)
def test_no_acknowledged_record_of_any_thread_is_lost(place, tmp_path):
    with open_at(place, tmp_path, segment_bytes=16_384) as store:
        crowd = Crowd(store)
        crowd.run()
        assert crowd.failures == []
        assert {r.seq: parts(r) for r in everything(store)} == crowd.given
        assert store.verify()["records"] == len(crowd.given) >= 200
    if place == "disk":
        with ColdStore.open(tmp_path / "store") as store:
            assert {r.seq: parts(r) for r in everything(store)} == crowd.given


def test_closing_under_appends_is_clean(tmp_path):
    """Each append is acknowledged and there at the next open, or raises Closed."""
    store = ColdStore.open(tmp_path)
    acknowledged, odd = [], []

    def write():
        while True:
            try:
                acknowledged.extend(store.append([row(b"x" * 50)]))
            except Closed:
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, it is wrong
                odd.append(error)
                return

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(acknowledged) < 50:
        time.sleep(0.001)
    store.close()
    for thread in threads:
        thread.join()
    assert odd == []
    with ColdStore.open(tmp_path) as again:
        assert [r.seq for r in everything(again)] == sorted(acknowledged)
