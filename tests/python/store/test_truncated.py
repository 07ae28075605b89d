"""A file that is cut short under a reader: an exception where nothing is mapped, never a signal.

Each reader is a process of its own, because what must not happen would end the process.
"""

from __future__ import annotations

import os

import pytest
from cold_rows import child, row, segments

from warmset.native import ColdStore

READER = """
import sys
from warmset.native import ColdStore
from warmset.errors import StoreError

_, path, read, first = sys.argv
with ColdStore.open(path, mode="read", read=read, segment_bytes=4096) as store:
    if first == "warm":
        assert store.verify()["records"] == 60
        assert len(store.page(max_bytes=1 << 40)) == 60
    print("open", flush=True)
    sys.stdin.readline()
    lost = []
    for seq in range(1, 61):
        try:
            assert store.get(seq).payload == b"%d " % seq * 200
        except StoreError as error:
            assert type(error).__name__ == "Truncated", error
            assert error.found < error.expected
            lost.append(seq)
    kept = [record.seq for record in store.page(max_bytes=1 << 40)]
    damages = [tuple(one["seqs"]) for one in store.verify()["damages"] if one["seqs"]]
print(sorted(lost), sorted(set(range(1, 61)) - set(kept)), damages, flush=True)
"""


@pytest.mark.parametrize("read", ["map", "pread"])
@pytest.mark.parametrize("first", ["warm", "cold"])
@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9])
def test_a_sealed_file_that_is_truncated_under_a_reader(keep, first, read, tmp_path):
    with ColdStore.open(tmp_path, segment_bytes=4096) as store:
        for seq in range(1, 61):
            assert store.append([row(b"%d " % seq * 200)]) == [seq]
    victim = segments(tmp_path)[5]
    data = victim.read_bytes()
    held = [seq for seq in range(1, 61) if b"%d " % seq * 200 in data]
    short = data[: int(len(data) * keep)]
    gone = [seq for seq in held if b"%d " % seq * 200 not in short]
    assert gone
    with child(READER, tmp_path, read, first) as reader:
        assert reader.stdout.readline() == b"open\n"
        os.truncate(victim, len(short))
        out = reader.communicate(b"\n")[0].decode()
    assert reader.returncode == 0, "neither SIGBUS (-7, 135) nor a wrong payload"
    lost, missing, damages = eval("[" + out.replace("] [", "], [") + "]")  # noqa: S307 - our own
    assert lost == missing == gone
    assert all(any(a <= seq <= b for a, b in damages) for seq in gone)


STORM = """
import os, sys
from warmset.native import ColdStore
from warmset.errors import StoreError

_, path = sys.argv
seen = 0
with ColdStore.open(path, mode="read", read="pread", segment_bytes=4096) as store:
    print("open", flush=True)
    for turn in range(400):
        for seq in range(20, 40):
            try:
                assert store.get(seq).payload == b"%d " % seq * 200
            except StoreError:
                seen += 1
        store.page(max_bytes=1 << 40)
        store.verify()
print(seen, flush=True)
"""


def test_positional_reads_survive_truncations_at_any_moment(tmp_path):
    with ColdStore.open(tmp_path, segment_bytes=4096) as store:
        for seq in range(1, 61):
            store.append([row(b"%d " % seq * 200)])
    files = {path: path.read_bytes() for path in segments(tmp_path)[3:9]}
    with child(STORM, tmp_path) as reader:
        assert reader.stdout.readline() == b"open\n"
        while reader.poll() is None:
            for path, data in files.items():
                os.truncate(path, len(data) // 3)
                with path.open("r+b") as file:
                    file.write(data)
        out = reader.stdout.read()
    assert reader.returncode == 0, "never a signal, never a wrong payload"
    assert int(out) > 0, "some reads met a short file"
