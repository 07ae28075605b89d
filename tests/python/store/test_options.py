"""How a store is opened: every option does what it says, and what cannot be is refused by name."""

from __future__ import annotations

import copy
import pickle
import stat

import pytest
from cold_rows import everything, payloads, row, segments

from warmset.errors import (
    Erased,
    InvalidInputError,
    Locked,
    NoKey,
    NotAStore,
    NotPortable,
    ReadOnly,
    StoreError,
)
from warmset.native import ColdStore
from warmset.receipts import Spooled

MASTER = bytes(range(32))
WRONG = {
    "mode": ["Shared", "", None, 1, "exclusive "],
    "durability": ["sync", None, 0.05, True],
    "sync_interval": [0, -1.0, float("nan"), float("inf"), "1", True],
    "on_busy": ["wait", None, b"spool"],
    "read": ["mmap", None, "MAP"],
    "encryption": ["key", "", b"", bytes(31), bytes(33), 7, True, bytearray(32)],
    "segment_bytes": [0, -1, 1.5, "1", True, 2**64],
    "max_record": [0, -1, 1.5, "1", True, 2**64],
    "lock_wait": [-1.0, float("nan"), float("inf"), "1", None, True],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_a_bad_value_is_refused_by_name(name, value, tmp_path):
    options = {name: value} | ({"durability": "interval"} if name == "sync_interval" else {})
    with pytest.raises(InvalidInputError, match=f"^{name}: expected ") as caught:
        ColdStore.open(tmp_path / "store", **options)
    pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own bytes
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("path", "options", "name"),
    [
        ("store", {"sync_interval": 0.1}, "sync_interval"),
        ("store", {"durability": "os", "sync_interval": 0.1}, "sync_interval"),
        ("store", {"mode": "exclusive", "on_busy": "spool"}, "on_busy"),
        ("store", {"mode": "read", "on_busy": "spool"}, "on_busy"),
        (None, {"mode": "read"}, "mode"),
    ],
)
def test_options_that_do_not_go_together_are_refused(path, options, name, tmp_path):
    with pytest.raises(InvalidInputError, match=f"^{name}: expected "):
        ColdStore.open(path and tmp_path / path, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_key_is_never_shown():
    with pytest.raises(InvalidInputError) as caught:
        ColdStore.open(None, encryption=b"secret" * 7)
    assert "secret" not in str(caught.value)
    assert "42 bytes" in str(caught.value)


# --- modes ---------------------------------------------------------------------------------------


def test_shared_handles_see_each_other_s_records(tmp_path):
    with ColdStore.open(tmp_path) as one, ColdStore.open(tmp_path) as two:
        ids = one.append([row(b"1")]) + two.append([row(b"2")]) + one.append([row(b"3")])
        assert ids == sorted(set(ids))
        for store in (one, two):
            assert payloads(store) == [b"1", b"2", b"3"]


def test_a_reading_handle_sees_and_never_writes(tmp_path):
    with pytest.raises(NotAStore):
        ColdStore.open(tmp_path / "none", mode="read")
    assert not (tmp_path / "none").exists()
    with ColdStore.open(tmp_path, mode="exclusive") as store:
        store.append([row(b"1")])
        with ColdStore.open(tmp_path, mode="read", lock_wait=0.0) as reader:
            store.append([row(b"2")])
            assert payloads(reader) == [b"1", b"2"]
            for use in (
                lambda: reader.append([row()]),
                lambda: reader.append_or_spool([row()]),
                lambda: reader.erase(prefix=[b"tenant"]),
                reader.compact,
                reader.sync,
            ):
                with pytest.raises(ReadOnly, match="read only"):
                    use()
    (segment,) = segments(tmp_path)
    with segment.open("ab") as file:
        file.write(b"torn")
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with ColdStore.open(tmp_path, mode="read") as reader:
        assert payloads(reader) == [b"1", b"2"]
        reader.verify()
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


# --- durability ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"durability": "fsync"},
        {"durability": "os"},
        {"durability": "interval"},
        {"durability": "interval", "sync_interval": 3600},
    ],
    ids=repr,
)
@pytest.mark.parametrize("mode", ["shared", "exclusive"])
def test_what_is_durable_is_told(options, mode, tmp_path):
    with ColdStore.open(tmp_path, mode=mode, **options) as store:
        assert store.durable_seq() == 0
        ids = store.append([row() for _ in range(5)])
        if options["durability"] == "fsync":
            assert store.durable_seq() == ids[-1]
        if options["durability"] == "os" or "sync_interval" in options:
            assert store.durable_seq() == 0
        assert store.sync() == store.durable_seq() == ids[-1]
    with ColdStore.open(tmp_path, mode="read") as store:
        assert store.durable_seq() == ids[-1]
        assert [record.seq for record in everything(store)] == ids


@pytest.mark.parametrize("mode", ["shared", "exclusive"])
@pytest.mark.parametrize("call", ["append", "append_or_spool"])
def test_an_append_may_do_without_a_sync(call, mode, tmp_path):
    with ColdStore.open(tmp_path, mode=mode) as store:
        (first,) = store.append([row()])
        (second,) = getattr(store, call)([row()], sync=False)
        assert store.get(second).payload == store.get(first).payload
        assert store.durable_seq() == first
        (third,) = store.append([row()])
        assert store.durable_seq() == third
        (last,) = getattr(store, call)([row()], sync=False)
    with ColdStore.open(tmp_path, mode="read") as store:
        assert store.durable_seq() == last
        assert [record.seq for record in everything(store)] == [first, second, third, last]


def test_an_interval_syncs_by_itself(tmp_path):
    with ColdStore.open(tmp_path, durability="interval", sync_interval=0.001) as store:
        (id_,) = store.append([row()])
        while store.durable_seq() < id_:
            pass


# --- spool ---------------------------------------------------------------------------------------


def test_a_busy_store_is_refused_or_spooled_to_and_taken_up_once(tmp_path):
    with ColdStore.open(tmp_path, on_busy="spool", lock_wait=0.0) as store:
        assert store.append_or_spool([row(b"1")]) == [1]
        with ColdStore.open(tmp_path, mode="exclusive") as owner:
            with pytest.raises(Locked):
                store.append([row(b"never")])
            left = store.append_or_spool([row(b"2"), row(b"3", sources=[1])])
            assert isinstance(left, Spooled)
            assert len(left.token) == 32
            assert pickle.loads(pickle.dumps(left)) == left  # noqa: S301 - our own bytes
            assert store.spooled() == [f"{left.token}.spl"]
            assert payloads(store) == payloads(owner) == [b"1"]
        with ColdStore.open(tmp_path, lock_wait=0.0) as strict:
            with ColdStore.open(tmp_path, mode="exclusive"), pytest.raises(Locked):
                strict.append_or_spool([row(b"never")])
            strict.append([row(b"4")])
        assert store.append_or_spool([row(b"5")])[0] == everything(store)[-1].seq
        assert store.spooled() == []
        assert payloads(store) == [b"1", b"2", b"3", b"4", b"5"]
        assert everything(store)[2].sources == (1,)


def test_a_store_that_is_busy_at_open_can_be_spooled_to(tmp_path):
    with ColdStore.open(tmp_path, mode="exclusive") as owner:
        owner.append([row(b"1")])
        with pytest.raises(Locked):
            ColdStore.open(tmp_path, lock_wait=0.0)
        with ColdStore.open(tmp_path, lock_wait=0.0, on_busy="spool") as hook:
            assert isinstance(hook.append_or_spool([row(b"2")]), Spooled)
    with ColdStore.open(tmp_path) as store:
        assert payloads(store) == [b"1", b"2"]
        assert store.spooled() == []


# --- encryption ----------------------------------------------------------------------------------


@pytest.mark.parametrize("encryption", ["keys", MASTER], ids=["keys", "master"])
def test_an_encrypted_store_holds_no_plain_text(encryption, tmp_path):
    with ColdStore.open(tmp_path, encryption=encryption) as store:
        (id_,) = store.append([row(b"the plain payload", meta=b"the plain meta")])
    held = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"the plain" not in held
    with ColdStore.open(tmp_path, encryption=encryption) as store:
        record = store.get(id_)
        assert (record.payload, record.meta) == (b"the plain payload", b"the plain meta")


@pytest.mark.parametrize("mode", ["shared", "exclusive", "read"])
@pytest.mark.parametrize("wrong", ["keys", bytes(32)], ids=["keys", "another"])
def test_a_wrong_master_key_is_refused(wrong, mode, tmp_path):
    with ColdStore.open(tmp_path, encryption=MASTER) as store:
        store.append([row(b"secret")])
    with pytest.raises(InvalidInputError, match=r"^encryption: expected the master key"):
        ColdStore.open(tmp_path, encryption=wrong, mode=mode)
    with ColdStore.open(tmp_path, encryption=MASTER) as store:
        assert payloads(store) == [b"secret"]


def test_without_the_key_no_record_is_read(tmp_path):
    with ColdStore.open(tmp_path, encryption=MASTER) as store:
        (id_,) = store.append([row(b"secret")])
    with ColdStore.open(tmp_path) as store:
        with pytest.raises(NoKey, match=f"#{id_} ") as caught:
            store.get(id_)
        assert caught.value.id == id_
        with pytest.raises(NoKey):
            store.page()
        assert store.verify()["damages"] == []


def test_the_files_are_private(tmp_path):
    with ColdStore.open(tmp_path / "store", encryption="keys", segment_bytes=4096) as store:
        for _ in range(9):
            store.append([row(bytes(1000))])
        store.erase(records=[1])
        store.compact()
        found = [tmp_path / "store", *(tmp_path / "store").rglob("*")]
        assert len(found) > 6
        for path in found:
            want = 0o700 if path.is_dir() else 0o600
            assert stat.S_IMODE(path.stat().st_mode) == want, path


# --- pickles -------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_handle_opens_the_same_store_the_same_way(protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {
        "durability": "interval",
        "sync_interval": 3600,
        "on_busy": "spool",
        "read": "pread",
        "encryption": "keys",
        "segment_bytes": 4096,
        "max_record": 5000,
        "lock_wait": 0.0,
    }
    with ColdStore.open("store", **options) as store:
        store.append([row(b"1")])
        data = pickle.dumps(store, protocol)
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        with pickle.loads(data) as again:  # noqa: S301 - our own bytes
            assert again.path == tmp_path / "store"
            again.append([row(b"2")])
            assert payloads(store) == payloads(again) == [b"1", b"2"]
            assert again.__reduce__()[0].keywords == store.__reduce__()[0].keywords
            assert store.__reduce__()[0].keywords == options | {"mode": "shared"}


def test_a_handle_that_cannot_leave_says_why(tmp_path):
    with ColdStore.open(tmp_path, encryption=MASTER) as secret, ColdStore.open(None) as fleeting:
        for store, why in ((secret, "master key"), (fleeting, "in memory")):
            for use in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(NotPortable, match=why) as caught:
                    use(store)
                assert isinstance(caught.value, TypeError)
                assert isinstance(caught.value, StoreError)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_records_pickle(protocol):
    with ColdStore.open(None) as store:
        store.append([row(b"1")])
        (id_,) = store.append([row(b"\0\xff" * 99, kind="summary", key=[b""], sources=[1])])
        record = store.get(id_)
    for again in (
        pickle.loads(pickle.dumps(record, protocol)),  # noqa: S301 - our own bytes
        copy.copy(record),
        copy.deepcopy(record),
    ):
        for name in ("seq", "kind", "key", "meta", "payload", "sources", "hash"):
            assert getattr(again, name) == getattr(record, name)


# --- erasure -------------------------------------------------------------------------------------


def test_an_erasure_takes_what_was_made_of_it_and_compacting_takes_the_bytes(tmp_path):
    with ColdStore.open(tmp_path, segment_bytes=4096, encryption=None) as store:
        mine = [b"tenant", b"mine"]
        ids = store.append([row(b"SECRET %d" % n, key=mine) for n in range(40)])
        other = store.append([row(b"other %d" % n) for n in range(40)])
        (derived,) = store.append([row(b"about SECRET 3", kind="summary", sources=[ids[3]])])
        with ColdStore.open(tmp_path, mode="read") as reader:
            told = store.erase(prefix=mine)
            assert (told.records, told.derived, told.keys) == (40, 1, 0)
            for handle in (store, reader):
                with pytest.raises(Erased) as caught:
                    handle.get(derived)
                assert caught.value.id == derived
                assert [record.seq for record in everything(handle)] == other
        report = store.erasure_report()
        assert report["pending"] == 41
        (erasure,) = report["erasures"]
        assert (erasure["depth"], erasure["records"]) == (2, 41)
        assert erasure["at"] > 10**18
        assert erasure["upto"] >= derived
        done = store.compact()
        assert done.segments >= 1
        assert done.records == 41
        assert done.bytes > 40 * 8
        assert store.erasure_report()["pending"] == 0
        assert store.compact().segments == 0
        assert store.verify()["damages"] == []
    held = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"SECRET" not in held
    with ColdStore.open(tmp_path) as store:
        assert [record.seq for record in everything(store)] == other


def test_records_are_erased_by_id_and_keys_with_their_scope(tmp_path):
    with ColdStore.open(tmp_path, encryption="keys") as store:
        one, two = store.append([row(b"1"), row(b"2")])
        (three,) = store.append([row(b"3", sources=[two])])
        told = store.erase(records=[two])
        assert (told.records, told.derived, told.keys) == (1, 1, 0)
        assert payloads(store) == [b"1"]
        assert store.erase(records=[two, three]).records == 0
        assert store.erase(prefix=[b"tenant", b"log"]).keys == 1
        with pytest.raises(Erased):
            store.hash_of(one)


@pytest.mark.parametrize(
    "scope",
    [
        {},
        {"prefix": [b"x"], "records": [1]},
        {"prefix": []},
        {"records": []},
        {"prefix": b"tenant"},
        {"prefix": ["tenant"]},
        {"records": b"\1"},
        {"records": [-1]},
        {"records": 1},
    ],
    ids=repr,
)
def test_an_erasure_of_nothing_in_particular_is_refused(scope):
    with ColdStore.open(None) as store:
        store.append([row(b"1")])
        with pytest.raises(InvalidInputError, match=r"^(erase|prefix|records|scope)"):
            store.erase(**scope)
        assert payloads(store) == [b"1"]
