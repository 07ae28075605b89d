"""The proxy's own files: how large they may be, and who waits for whom."""

from __future__ import annotations

import threading
import time

import pytest

from warmset.errors import Locked, StoreIOError
from warmset.serve.proxy import own_files


def test_a_file_has_at_most_so_many_bytes(tmp_path):
    path = tmp_path / "file"
    assert own_files.read(path, most=3) is None
    path.write_bytes(b"abc")
    assert own_files.read(path, most=3) == b"abc"
    with pytest.raises(StoreIOError, match="more than 2 bytes"):
        own_files.read(path, most=2)


def test_who_comes_second_waits(tmp_path, monkeypatch):
    waited, order = threading.Event(), []
    sleep = time.sleep

    def noted(seconds):
        waited.set()
        sleep(seconds)

    def second():
        with own_files.locked(tmp_path):
            order.append("second")

    monkeypatch.setattr(time, "sleep", noted)
    thread = threading.Thread(target=second)
    with own_files.locked(tmp_path):
        thread.start()
        while not waited.wait(0.05):
            assert thread.is_alive()
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_who_waits_too_long_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(own_files, "WAIT", 0.02)
    with (
        own_files.locked(tmp_path),
        pytest.raises(Locked, match="keys of the proxy"),
        own_files.locked(tmp_path),
    ):
        raise AssertionError("two are inside")
