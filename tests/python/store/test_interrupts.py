"""Ctrl-C ends a long call with what the caller's own handler raises, and the store is whole."""

from __future__ import annotations

import os
import shutil
import signal
import threading

import pytest
from alarm import AFTER, Alarm, Alarmed
from cold_rows import everything, payloads, row, segments

from warmset.native import ColdStore, Log

SMALL = 300_000
"""Records of the store that is long to read: any call on it lasts far longer than `AFTER`."""


@pytest.fixture
def alarm():
    return Alarm(Alarmed())


@pytest.fixture(scope="module")
def crashed(tmp_path_factory):
    """The files of a store as a kill leaves them: one long segment without a seal."""
    path = tmp_path_factory.mktemp("long")
    with ColdStore.open(path / "store", durability="os", segment_bytes=1 << 30) as store:
        for first in range(0, SMALL, 10_000):
            half = b"even" if first % 20_000 else b"odd"
            store.append(
                [row(b"%d" % n, key=(b"tenant", half)) for n in range(first, first + 10_000)]
            )
        store.sync()
        shutil.copytree(path / "store", path / "crashed")
    return path / "crashed"


@pytest.fixture
def long_path(crashed, tmp_path):
    return shutil.copytree(crashed, tmp_path / "store")


LONG = {
    "verify": lambda store: store.verify(),
    "page": lambda store: store.page(max_bytes=1 << 40),
}


@pytest.mark.parametrize("use", LONG.values(), ids=LONG)
@pytest.mark.parametrize("read", ["map", "pread"])
def test_a_long_read_ends(use, read, crashed, alarm):
    with ColdStore.open(crashed, mode="read", read=read) as store:
        alarm.ends(lambda: use(store))
        assert store.get(SMALL).payload == b"%d" % (SMALL - 1)
        assert store.stats()["records"] == SMALL


@pytest.mark.parametrize("mode", ["shared", "exclusive", "read"])
def test_opening_a_long_tail_ends_and_leaves_nothing_locked(mode, long_path, alarm):
    before = {path: path.read_bytes() for path in segments(long_path)}
    alarm.ends(lambda: ColdStore.open(long_path, mode=mode))
    assert {path: path.read_bytes() for path in segments(long_path)} == before
    with ColdStore.open(long_path, mode="exclusive", lock_wait=0.0) as store:
        assert store.stats()["records"] == SMALL


@pytest.mark.parametrize("read", ["map", "pread"])
def test_the_first_look_of_a_log_ends_and_is_begun_anew(read, crashed, alarm):
    with ColdStore.open(crashed, mode="read", read=read) as store:
        log = Log(store)
        alarm.ends(log.count)
        assert log.spaces(depth=2) == [(b"tenant", b"even"), (b"tenant", b"odd")]


def test_waiting_for_a_lock_ends(tmp_path, alarm):
    with ColdStore.open(tmp_path) as store:
        store.append([row(b"1")])
        with ColdStore.open(tmp_path, lock_wait=3600.0) as patient:
            with ColdStore.open(tmp_path, mode="exclusive"):
                alarm.ends(lambda: patient.append([row(b"never")]))
            patient.append([row(b"2")])
            with ColdStore.open(tmp_path, mode="exclusive"):
                other = Alarm(Alarmed())
                other.ends(lambda: ColdStore.open(tmp_path, lock_wait=3600.0))
        assert payloads(store) == [b"1", b"2"]


def test_an_erasure_that_is_ended_erased_nothing_and_a_compaction_lost_nothing(long_path, alarm):
    half = SMALL // 2
    with ColdStore.open(long_path, segment_bytes=1 << 30) as store:
        alarm.ends(lambda: store.erase(prefix=[b"tenant", b"odd"]))
        assert store.erasure_report() == {"erasures": [], "pending": 0}
        assert store.erase(prefix=[b"tenant", b"odd"]).records == half
        again = Alarm(Alarmed())
        again.ends(store.compact)
        assert store.erasure_report()["pending"] == half
        assert store.compact().records == half
        assert store.verify()["damages"] == []
    with ColdStore.open(long_path, mode="read") as store:
        kept = everything(store, max_bytes=1 << 26)
        assert len(kept) == half
        assert {record.key[1] for record in kept} == {b"even"}


def test_without_a_handler_of_its_own_it_is_a_keyboard_interrupt(tmp_path):
    with ColdStore.open(tmp_path, mode="exclusive"):
        timer = threading.Timer(AFTER, os.kill, (os.getpid(), signal.SIGINT))

        def wait():
            timer.start()
            ColdStore.open(tmp_path, lock_wait=3600.0)

        # Who was started in the background of a shell without jobs has the signal ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        with pytest.raises(KeyboardInterrupt):
            wait()
        timer.join()
        signal.signal(signal.SIGINT, before)


def test_a_handler_that_raises_nothing_ends_nothing(crashed):
    calm = Alarm(None)
    with ColdStore.open(crashed, mode="read") as store:
        report = calm.within(store.verify)
    assert calm.inside
    assert report["records"] == SMALL


def test_other_threads_are_not_ended_by_a_signal(crashed):
    """Signals are the main thread's: what other threads do goes on, in a group of writers too."""
    found = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with ColdStore.open(crashed, mode="read") as store:
        thread = threading.Thread(target=lambda: found.append(store.verify()["records"]))
        thread.start()
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        thread.join()
    signal.signal(signal.SIGINT, before)
    assert found == [SMALL]


def test_a_writer_that_is_ended_takes_no_other_thread_s_batch_along(tmp_path):
    """The main thread waits for the lock for all; when it is ended, the others go on waiting."""
    given = []
    with ColdStore.open(tmp_path, lock_wait=3600.0) as store:
        with ColdStore.open(tmp_path, mode="exclusive") as owner:
            threads = [
                threading.Thread(target=lambda n=n: given.extend(store.append([row(b"%d" % n)])))
                for n in range(4)
            ]

            def others():
                for thread in threads:
                    thread.start()

            Alarm(Alarmed()).ends(lambda: store.append([row(b"never")]), first=others)
            owner.append([row(b"owner")])
        for thread in threads:
            thread.join()
        assert sorted(payloads(store)) == [b"0", b"1", b"2", b"3", b"owner"]
        assert len(set(given)) == 4


# --- what a caller is told on the way ------------------------------------------------------------


def test_a_check_says_how_far_it_has_come(tmp_path):
    with ColdStore.open(tmp_path, segment_bytes=4096) as store:
        for _ in range(30):
            store.append([row(bytes(1000))])
        told = []
        assert store.verify(lambda *one: told.append(one))["records"] == 30
        assert told[0][0] == 0
        assert [done for done, _ in told] == sorted({done for done, _ in told})
        assert {all_ for _, all_ in told} == {told[-1][0]}
        assert len(told) == store.stats()["segments"] + 1
        error = RuntimeError("mine")

        def give_up(done, _all):
            if done:
                raise error

        for thread in (False, True):
            caught = []

            def run(caught=caught):
                try:
                    store.verify(give_up)
                except RuntimeError as raised:
                    caught.append(raised)

            if thread:
                other = threading.Thread(target=run)
                other.start()
                other.join()
            else:
                run()
            assert caught == [error]
        assert store.verify(lambda *_: store.get(1))["records"] == 30
