"""Events of a preparation, told while others come."""

from __future__ import annotations

import threading

import pytest

from warmset._support.locks import rlock
from warmset.prepare.states import Counters, Track


@pytest.mark.usefixtures("busy_interpreter")
def test_no_event_is_lost_while_events_are_told():
    track, lock, counters = Track("default", "log"), rlock("engine"), Counters()
    seen, done = [], threading.Event()

    def tell():
        while not done.is_set():
            track.tell(seen.append, counters)

    teller = threading.Thread(target=tell)
    teller.start()
    for at in range(20_000):
        with lock:
            track.turn("preparing", "as a test has it", boundary=at)
            track.turn("failed", "as a test has it", boundary=at)
    done.set()
    teller.join(60)
    track.tell(seen.append, counters)
    assert [event.boundary for event in seen] == [at for at in range(20_000) for _ in range(2)]
