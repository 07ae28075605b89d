"""Random calls on a store against a dict: handles, kills, torn ends, erasures, compactions."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from warmset.errors import Erased, NotFound, ReadOnly
from warmset.native import ColdStore

CONVERSATIONS = ["one", "two", "o\x00ne", "\U0001f600"]
PAYLOAD = st.one_of(st.binary(max_size=40), st.integers(500, 900).map(lambda n: b"\x80" * n))
OPTIONS = st.fixed_dictionaries(
    {
        "encryption": st.sampled_from([None, "keys", b"m" * 32]),
        "segment_bytes": st.sampled_from([1, 1_500, 1 << 20]),
        "read": st.sampled_from(["map", "pread"]),
        "durability": st.sampled_from(["fsync", "os"]),
    }
)


def key(name):
    return [b"tenant", name.encode("utf-8", "surrogatepass")]


class Store(RuleBasedStateMachine):
    """Two writers and a reader on one directory, and the dict that they must agree with."""

    @initialize(options=OPTIONS)
    def begin(self, options):
        self.options = options
        self.root = Path(tempfile.mkdtemp())
        self.path = self.root / "0"
        self.truth: dict[int, tuple[str, bytes, tuple[int, ...]]] = {}
        self.erased: set[int] = set()
        self.highest = 0
        self.moves = 0
        self.torn = False
        self.open()

    def open(self):
        self.writers = [ColdStore.open(self.path, **self.options) for _ in range(2)]
        self.reader = ColdStore.open(self.path, **{**self.options, "mode": "read"})

    def handles(self):
        return [*self.writers, self.reader]

    @rule(
        which=st.integers(0, 1),
        batch=st.lists(st.tuples(st.sampled_from(CONVERSATIONS), PAYLOAD), max_size=4),
        made=st.booleans(),
    )
    def append(self, which, batch, made):
        sources = [max(self.truth)] if made and self.truth else []
        rows = [("turn", key(name), b"meta", payload, sources) for name, payload in batch]
        ids = self.writers[which].append(rows)
        assert len(ids) == len(batch)
        assert ids == sorted(set(ids))
        assert not ids or ids[0] > self.highest
        for id_, (name, payload) in zip(ids, batch, strict=True):
            self.truth[id_] = (name, payload, tuple(sources))
            self.highest = id_

    @rule(which=st.integers(0, 1), name=st.sampled_from(CONVERSATIONS))
    def erase_a_conversation(self, which, name):
        listed = {id_ for id_, row in self.truth.items() if row[0] == name}
        removed = self.writers[which].erase(prefix=key(name))
        self.forget(listed, removed)

    @precondition(lambda self: self.truth)
    @rule(which=st.integers(0, 1), pick=st.integers(0, 1_000))
    def erase_a_record(self, which, pick):
        ids = sorted(self.truth)
        id_ = ids[pick % len(ids)]
        removed = self.writers[which].erase(records=[id_])
        self.forget({id_}, removed)

    def forget(self, listed, removed):
        gone = set(listed)
        for id_ in sorted(self.truth):
            if set(self.truth[id_][2]) & gone:
                gone.add(id_)
        assert (removed.records, removed.derived) == (len(listed), len(gone - listed))
        for id_ in gone:
            del self.truth[id_]
        self.erased |= gone
        # The tombstone has an id of its own.
        self.highest = max(self.highest + 1, self.writers[0].stats()["next_seq"] - 1)

    @rule(which=st.integers(0, 1))
    def compact(self, which):
        self.writers[which].compact()
        assert self.writers[which].erasure_report()["pending"] == 0
        if self.options["encryption"] is None:
            files = [path.read_bytes() for path in self.path.rglob("*") if path.is_file()]
            kept = {payload for _, payload, _ in self.truth.values()}
            assert all(payload in b"".join(files) for payload in kept)

    @rule(which=st.integers(0, 1))
    def sync(self, which):
        assert self.writers[which].sync() >= max(self.truth, default=0)

    @rule()
    def reopen(self):
        for handle in self.handles():
            handle.close()
        self.open()
        assert self.writers[0].report()["cuts"] == []

    @rule(junk=st.binary(max_size=60))
    def kill(self, junk):
        """Go on with what a killed process leaves: the files as they are, and a torn write."""
        self.moves += 1
        left = self.root / str(self.moves)
        shutil.copytree(self.path, left)
        for handle in self.handles():
            handle.close()
        last = max(left.glob("*.seg"))
        sealed = b"wsegend" in last.read_bytes()[-64:]
        with last.open("ab") as file:
            file.write(b"" if sealed else junk)
        self.path = left
        self.open()
        cuts = self.writers[0].report()["cuts"]
        assert bool(cuts) == bool(junk and not sealed)

    @invariant()
    def every_handle_agrees(self):
        for handle in self.handles():
            found = {}
            start = 1
            while page := handle.page(start, max_bytes=700):
                found |= {record.seq: record for record in page}
                start = page[-1].seq + 1
            turns = {id_: record for id_, record in found.items() if record.kind == "turn"}
            assert set(turns) == set(self.truth)
            for id_, (name, payload, sources) in self.truth.items():
                record = handle.get(id_)
                assert (record.payload, record.sources) == (payload, sources)
                assert list(record.key) == key(name)
                assert turns[id_].payload == payload
            for id_ in self.erased:
                with pytest.raises(Erased):
                    handle.get(id_)
            with pytest.raises(NotFound):
                handle.get(self.highest + 10_000)
        assert self.writers[0].verify()["damages"] == []

    @invariant()
    def the_reader_writes_nothing(self):
        with pytest.raises(ReadOnly):
            self.reader.append([("turn", [], b"", b"")])

    def teardown(self):
        if hasattr(self, "root"):
            for handle in self.handles():
                handle.close()
            shutil.rmtree(self.root)


Store.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
test_a_store_is_a_map_that_grows_and_forgets = Store.TestCase
