"""The files of a store: regular ones in its own directories, none open after `close`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from warmset.errors import StoreError
from warmset.native import ColdStore

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="symbolic links and pipes")
TURN = ("turn", [b"t", b"c"], b"{}", b"said", ())


def filled(path: Path) -> list[int]:
    with ColdStore.open(path, encryption="keys") as store:
        ids = store.append([TURN, TURN])
        store.erase(records=ids[:1])
        return ids


FILES = ["00000000000000000001.seg", "mark", "lock", "erased"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["link", "pipe", "dangling"])
def test_what_is_no_regular_file_is_refused(tmp_path, name, kind):
    filled(tmp_path / "s")
    file, moved = tmp_path / "s" / name, tmp_path / name
    before = file.read_bytes()
    file.rename(moved)
    if kind == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to(moved if kind == "link" else tmp_path / "nowhere")
    with pytest.raises(StoreError, match="no regular file"):
        ColdStore.open(tmp_path / "s").append([TURN])
    assert moved.read_bytes() == before
    assert not (tmp_path / "nowhere").exists()
    file.unlink()
    moved.rename(file)
    assert ColdStore.open(tmp_path / "s", mode="read").page()


@pytest.mark.parametrize("name", ["keys", "spool"])
def test_a_directory_behind_a_link_is_refused(tmp_path, name):
    filled(tmp_path / "s")
    (tmp_path / "s" / name).rename(tmp_path / "elsewhere")
    (tmp_path / "s" / name).symlink_to(tmp_path / "elsewhere")
    before = sorted((tmp_path / "elsewhere").iterdir())
    with pytest.raises(StoreError, match="no directory"):
        ColdStore.open(tmp_path / "s", encryption="keys").append([TURN])
    assert sorted((tmp_path / "elsewhere").iterdir()) == before


def test_a_link_in_the_spool_is_reported_and_stops_nobody(tmp_path):
    (tmp_path / "s").mkdir()
    filled(tmp_path / "s")
    (tmp_path / "secret").write_text("not for a store")
    os.mkfifo(tmp_path / "s" / "spool" / f"{1:032x}.spl")
    (tmp_path / "s" / "spool" / f"{2:032x}.spl").symlink_to(tmp_path / "secret")
    with ColdStore.open(tmp_path / "s") as store:
        assert store.append([TURN])
        details = [one["detail"] for one in store.report()["damages"]]
    assert len(details) == 2
    assert all("no regular file" in one for one in details)
    assert (tmp_path / "secret").read_text() == "not for a store"


def test_the_directory_itself_may_be_reached_through_a_link(tmp_path):
    filled(tmp_path / "s")
    (tmp_path / "link").symlink_to(tmp_path / "s")
    with ColdStore.open(tmp_path / "link") as store:
        assert store.append([TURN])


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no list of open files")
@pytest.mark.parametrize("mode", ["shared", "exclusive", "read"])
def test_a_closed_store_keeps_no_file_and_no_map(tmp_path, mode):
    filled(tmp_path / "s")

    def held() -> tuple[int, int]:
        open_now = [one for one in Path("/proc/self/fd").iterdir() if os.path.lexists(one)]
        fds = sum(str(tmp_path) in str(one.readlink()) for one in open_now)
        return fds, Path("/proc/self/maps").read_text().count(str(tmp_path))

    stores = [ColdStore.open(tmp_path / "s", mode=mode)]
    assert stores[0].page()
    if mode != "read":
        stores[0].append([TURN])
    assert held() != (0, 0)
    stores[0].close()
    assert held() == (0, 0)
    assert stores[0].notices
    assert stores[0].report() == {"cuts": [], "damages": []}
