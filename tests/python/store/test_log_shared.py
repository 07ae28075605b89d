"""The log among handles, threads and processes, with keys, after damage, and when it is closed."""

from __future__ import annotations

import json
import shutil
import threading

import pytest
from alarm import Alarm, Alarmed
from cold_rows import child, segments

from warmset.errors import (
    Closed,
    Conflict,
    Corrupt,
    Locked,
    NoKey,
    ReadOnly,
    Uncertain,
)
from warmset.native import Add, ColdStore, Log, Patch, Put, RemoveBelow, Tail, Version, space

A, B, THIRD = (("t", space("s"), name) for name in ("first-key", "other-key", "third"))
LIST = ("t", space("l"), "plain-list")


@pytest.fixture
def pair(tmp_path):
    """Two handles on one store, as two processes have them."""
    with ColdStore.open(tmp_path) as one, ColdStore.open(tmp_path) as other:
        yield Log(one), Log(other)


def payloads(log, list_=LIST):
    return [entry.payload for entry in log.entries(list_)]


def test_two_handles_lose_no_entry_and_see_each_other(pair):
    one, other = pair
    for n in range(20):
        (one, other)[n % 2].write([Add(LIST, b"%d" % n)])
        assert one.tail(LIST) == other.tail(LIST)
    assert payloads(one) == payloads(other) == [b"%d" % n for n in range(20)]
    parents = [entry.parent for entry in one.entries(LIST)]
    assert parents == [0, *(entry.id for entry in one.entries(LIST)[:-1])]
    other.write([RemoveBelow(("t",))])
    assert payloads(one) == []


def test_of_two_handles_one_wins(pair):
    one, other = pair
    version = one.version(A)
    one.write([Put(A, b"one")], expect=[Version(A, version)])
    with pytest.raises(Conflict) as caught:
        other.write([Put(A, b"other")], expect=[Version(A, version)])
    assert caught.value.current == one.version(A)
    assert other.get(A).payload == b"one"


def test_threads_on_two_handles_count_every_step(pair):
    steps = 20
    pair[0].write([Put(THIRD, b"")])

    def work(log):
        done = 0
        while done < steps:
            cell, tail = log.get(A), log.tail(LIST)
            expect = [Version(A, cell.version if cell else 0), Tail(LIST, tail)]
            value = int(cell.payload) + 1 if cell else 1
            try:
                log.write([Put(A, b"%d" % value), Add(LIST, b"")], expect=expect, sync=False)
            except Conflict:
                continue
            done += 1

    threads = [threading.Thread(target=work, args=(log,)) for log in pair * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert int(pair[0].get(A).payload) == len(pair[1].entries(LIST)) == steps * len(threads)


PUT_ONCE = """
import json, sys
from warmset.native import Add, ColdStore, Log, Put, space
path, keys = sys.argv[1], int(sys.argv[2])
with ColdStore.open(path, durability="os", lock_wait=60.0) as store:
    log = Log(store)
    print("ready", flush=True)
    sys.stdin.readline()
    won = []
    for n in range(keys)[:: int(sys.argv[3])]:
        key = ("t", space("once"), str(n))
        [put] = log.write([Put(key, b"", if_present="skip")])
        [add] = log.write([Add(("t", space("l"), "l"), b"", uid=str(n), if_present="skip")])
        if put.status == "written":
            won.append(n)
        assert {put.status, add.status} <= {"written", "present"}
    print(json.dumps(won))
"""


def test_two_processes_put_each_key_once(tmp_path):
    keys = 300
    with ColdStore.open(tmp_path) as store:
        Log(store).write([Put(A, b"")])
    children = [child(PUT_ONCE, tmp_path, keys, step, text=True) for step in (1, -1)]
    for one in children:
        assert one.stdout.readline() == "ready\n"
    won = []
    for one in children:
        one.stdin.write("go\n")
        one.stdin.flush()
    for one in children:
        won.append(json.loads(one.communicate(timeout=120)[0]))
        assert one.returncode == 0
    assert sorted(won[0] + won[1]) == list(range(keys))
    with ColdStore.open(tmp_path) as store:
        log = Log(store)
        assert log.count(("t", space("once"))) == keys
        assert len(log.entries(("t", space("l"), "l"))) == keys


# --- closed, read-only, busy ----------------------------------------------------------------------

CALLS = {
    "write": lambda log: log.write([Put(A, b"")]),
    "get": lambda log: log.get(A),
    "version": lambda log: log.version(A),
    "tail": lambda log: log.tail(LIST),
    "entries": lambda log: log.entries(LIST),
    "scan": lambda log: log.scan(),
    "count": lambda log: log.count(),
    "spaces": lambda log: log.spaces(depth=1),
    "follow": lambda log: log.follow(),
    "erase": lambda log: log.erase(prefix=A),
    "sweep": lambda log: log.sweep(),
    "compact": lambda log: log.compact(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("used", [False, True])
def test_a_closed_store_has_no_log(call, used, tmp_path):
    store = ColdStore.open(tmp_path)
    log = Log(store)
    if used:
        CALLS["write"](log)
        assert log.count() == 1
    store.close()
    with pytest.raises(Closed):
        call(log)


def test_who_only_reads_follows_and_does_not_write(tmp_path):
    with ColdStore.open(tmp_path) as store, ColdStore.open(tmp_path, mode="read") as reader:
        log, follower = Log(store), Log(reader)
        for n in range(3):
            log.write([Put(A, b"%d" % n), Add(LIST, b"%d" % n)])
            assert follower.get(A).payload == b"%d" % n
            assert len(follower.entries(LIST)) == n + 1
        with pytest.raises(ReadOnly):
            follower.write([Put(A, b"x")])


def test_a_busy_store_is_locked(tmp_path):
    with ColdStore.open(tmp_path, lock_wait=0.05) as store:
        log = Log(store)
        with ColdStore.open(tmp_path, mode="exclusive"), pytest.raises(Locked):
            log.write([Put(A, b"x")])
        assert log.get(A) is None
        log.write([Put(A, b"x")])


def test_waiting_for_a_lock_ends_with_ctrl_c(tmp_path):
    alarm = Alarm(Alarmed())
    with ColdStore.open(tmp_path, lock_wait=3600.0) as store:
        log = Log(store)
        with ColdStore.open(tmp_path, mode="exclusive"):
            alarm.ends(lambda: log.write([Put(A, b"never")]))
        assert log.get(A) is None
        log.write([Put(A, b"x")])
        assert log.get(A).payload == b"x"


# --- keys and damage ------------------------------------------------------------------------------


def test_what_is_encrypted_is_so_with_all_that_lies_beside_it(tmp_path):
    secret = b"a secret that nobody should see"
    text = secret.decode()
    with ColdStore.open(tmp_path / "store", encryption="keys") as store:
        log = Log(store)
        log.write(
            [
                Put(A, secret, columns={"c": text}, codec=text, own=secret),
                Patch(A, {"c": text}),
                Put(B, secret),
                Add(LIST, secret, uid=secret, columns={text: 1}, own=secret),
            ]
        )
        assert log.get(A).columns == {"c": text}
        assert log.entries(LIST)[0].uid == secret
    for path in segments(tmp_path / "store"):
        assert secret not in path.read_bytes()
    keys = tmp_path / "store" / "keys"
    shutil.rmtree(keys) if keys.is_dir() else keys.unlink()
    with ColdStore.open(tmp_path / "store", encryption="keys") as store, pytest.raises(NoKey):
        Log(store).get(B)


def test_the_depth_says_whose_key_a_record_has(tmp_path):
    deep = [("t", space("s"), name) for name in "ab"]
    with ColdStore.open(tmp_path, encryption="keys") as store:
        log = Log(store)
        log.write([Put(key, b"x") for key in deep], depth=3)
        erased = store.erase(prefix=[b"t", b"\xffs", b"a"])
        assert (erased.records, erased.keys) == (1, 1)
        assert log.get(deep[0]) is None
        assert log.get(deep[1]).payload == b"x"
        log.write([Put(key, b"x") for key in deep])
        assert store.erase(prefix=[b"t", b"\xffs", b"a"]).keys == 0


def damage(path, text, number):
    """Change a bit of the n-th place with those bytes, counted through all segments."""
    for file in segments(path):
        raw = bytearray(file.read_bytes())
        places = raw.count(text)
        if number >= places:
            number -= places
            continue
        at = -1
        for _ in range(number + 1):
            at = raw.index(text, at + 1)
        raw[at] ^= 4
        file.write_bytes(raw)
        return
    pytest.fail("there is no such place")


def test_a_damaged_version_is_an_error_and_never_an_older_one(tmp_path):
    with ColdStore.open(tmp_path) as store:
        log = Log(store)
        log.write([Put(A, b"payload-1")])
        log.write([Put(A, b"payload-2")])
        damage(tmp_path, b"payload-2", 0)
        with pytest.raises(Corrupt):
            log.get(A)
    with ColdStore.open(tmp_path) as store:
        log = Log(store)
        with pytest.raises((Corrupt, Uncertain)):
            log.get(A)
        log.write([Put(A, b"payload-3")])
        assert log.get(A).payload == b"payload-3"


def test_a_damaged_entry_is_an_error_and_costs_no_other_one(tmp_path):
    with ColdStore.open(tmp_path) as store:
        log = Log(store)
        log.write([Add(LIST, b"payload-%d" % n) for n in range(3)])
        assert len(log.entries(LIST)) == 3
        damage(tmp_path, b"payload-1", 0)
        with pytest.raises(Corrupt):
            log.entries(LIST)
        [first] = log.entries(LIST, limit=1)
        [last] = log.entries(LIST, reverse=True, limit=1)
        assert (first.payload, last.payload) == (b"payload-0", b"payload-2")
    with ColdStore.open(tmp_path) as store:
        assert len(store.report()["damages"]) == 1
        assert Log(store).entries(LIST, reverse=True, limit=1) == [last]


def test_what_a_record_without_a_key_may_have_changed_is_uncertain(tmp_path):
    with ColdStore.open(tmp_path) as store:
        log = Log(store)
        [known], [lost] = (log.write([Put(A, text)]) for text in (b"1", b"2"))
        log.write([Put(THIRD, b"3")])
    damage(tmp_path, b"first-key", 1)
    with ColdStore.open(tmp_path) as store:
        log = Log(store)
        for call in (log.get, log.version):
            with pytest.raises(Uncertain) as caught:
                call(A)
            assert (caught.value.seq, caught.value.version) == (lost.id, known.id)
        assert log.get(THIRD).payload == b"3"
        with pytest.raises(Corrupt):
            log.write([Put(A, b"4")], expect=[Version(A, known.id)])
        with pytest.raises(Corrupt):
            log.write([Put(A, b"4", if_present="skip")])
        log.write([Put(A, b"4")])
        assert log.get(A).payload == b"4"
