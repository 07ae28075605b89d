"""What was imported before: digests by the million, and lists that nobody can shift."""

from __future__ import annotations

import random
from itertools import pairwise

from warmset.native import ColdStore, Log
from warmset.store.known import SPACE, Known, hash_of
from warmset.store.rows import Add
from warmset.store.seen import SIZE, Seen

SECRET = b"s" * 32


def digests(count, seed=1):
    draw = random.Random(seed)
    return [draw.randbytes(SIZE) for _ in range(count)]


def test_digests_are_told_apart_by_all_of_their_bytes(monkeypatch):
    monkeypatch.setattr("warmset.store.seen._YOUNG", 64)
    some = digests(1_000)
    alike = [one[:8] + other[8:] for one, other in pairwise(some)]
    seen = Seen()
    seen.add_all(b"".join(some[:300]))
    assert [one for one in some if not seen.add(one)] == some[:300]
    assert all(one in seen for one in some)
    assert not any(one in seen for one in alike)
    seen.add_all(b"".join(alike))
    assert all(one in seen for one in [*some, *alike])
    assert not any(one in seen for one in digests(1_000, seed=2))


def test_an_entry_that_is_torn_shifts_nothing_behind_it():
    with ColdStore.open(None) as store:
        log = Log(store)
        known = Known(log, [b"t", b"name"], SECRET)
        uids = ["one", "two", "three"]
        lists = ["t", SPACE, hash_of(b"name", SECRET)]
        first, second, third = (hash_of(uid.encode(), SECRET) for uid in uids)
        log.write([Add(lists, first + second[:7])])
        log.write([Add(lists, third)])
        assert not known.had
        known.load()
        assert known.had
        assert [uid in known for uid in uids] == [True, False, True]
