"""Following a log: what is said of each change, pages, positions, and when to begin anew."""

from __future__ import annotations

import copy
import pickle
import shutil

import pytest

from warmset.native import (
    Add,
    Change,
    Changes,
    ColdStore,
    Cut,
    Log,
    Patch,
    Put,
    Remove,
    RemoveBelow,
    RemoveEntries,
    space,
)

SPACE = ("t", space("s"))
A, B, C = ((*SPACE, name) for name in "abc")
LIST = ("t", space("l"), "list")
TALK = ("t", "conversation")


@pytest.fixture
def log():
    with ColdStore.open(None) as store:
        yield Log(store)


def ids(outcomes):
    assert {outcome.status for outcome in outcomes} == {"written"}
    return [outcome.id for outcome in outcomes]


def some(log):
    """One change of each sort, and what is expected of it; nothing else has happened."""
    encoded = [
        tuple(part if isinstance(part, bytes) else part.encode() for part in key)
        for key in (A, B, LIST, TALK, SPACE)
    ]
    a, b, list_, talk, below = encoded
    [first] = ids(log.write([Put(A, b"1")]))
    [second] = ids(log.write([Add(LIST, b"1", uid="x")]))
    [third] = ids(log.write([Add(LIST, b"2", uid="x")]))
    [fourth] = ids(log.write([Patch(A, {"n": 1})]))
    [made] = ids(log.write([Put(B, b"of it", sources=[first])]))
    [said, more] = ids(log.write([Add(TALK, b"a"), Add(TALK, b"b")]))
    [head] = ids(log.write([Cut(TALK, said)]))
    [removed] = ids(log.write([Remove(A)]))
    [entries] = ids(log.write([RemoveEntries(LIST, [third])]))
    ids(log.write([Put(B, b"2")]))
    put = log.version(B)
    [prefix] = ids(log.write([RemoveBelow(SPACE)]))
    log.erase(ids=[more])
    return [
        (first, a, "put", {}),
        (second, list_, "added", {"parent": 0}),
        (third, list_, "added", {"parent": 0, "replaces": second}),
        (fourth, a, "patched", {"of": first}),
        (made, b, "put", {}),
        (said, talk, "added", {"parent": 0}),
        (more, talk, "added", {"parent": said}),
        (head, talk, "head", {"tail": said}),
        (removed, a, "removed", {"derived": (range(made, made + 1),)}),
        (entries, list_, "removed entries", {"ids": (range(second, third + 1),)}),
        (put, b, "put", {}),
        (prefix, below, "removed below", {}),
        (None, (), "erased", {"ids": (range(more, more + 1),)}),
    ]


def test_each_change_says_what_it_is(log):
    expected = some(log)
    changes = log.follow().changes
    # What was erased is not shown any more.
    expected = [one for one in expected if one[0] != expected[6][0]]
    assert [one.what for one in changes] == [one[2] for one in expected]
    for change, (id_, key, _, fields) in zip(changes, expected, strict=True):
        assert id_ is None or change.id == id_
        assert change.key == key
        known = {name: getattr(change, name) for name in ("parent", "replaces", "of", "tail")}
        assert known == {name: fields.get(name) for name in known}
        assert change.ids == fields.get("ids", ())
        assert change.derived == fields.get("derived", ())


def test_a_change_is_compared_shown_pickled_and_hashed(log):
    some(log)
    found = log.follow()
    for change in found.changes:
        for same in (pickle.loads(pickle.dumps(change)), copy.deepcopy(change)):  # noqa: S301
            assert type(same) is Change
            assert same == change
            assert hash(same) == hash(change)
            assert same.covers(1, A) == change.covers(1, A)
        with pytest.raises(AttributeError):
            change.id = 5
    shown = [repr(change) for change in found.changes]
    assert shown[0] == r"Change(1, 'put', (b't', b'\xffs', b'a'))"
    assert shown[-1] == f"Change({found.changes[-1].id}, 'erased')"
    assert len({*found.changes}) == len(found.changes) == len(set(shown))
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301


def test_a_removal_covers_what_was_written_before_it(log):
    [first, other] = ids(log.write([Put(A, b"1"), Put((*A, "below"), b"1")]))
    [made] = ids(log.write([Add(LIST, b"of it", sources=[first])]))
    [removed, later] = ids(log.write([Remove(A), Put(A, b"2")]))
    [removal] = [one for one in log.follow().changes if one.what == "removed"]
    assert removal.id == removed
    assert removal.covers(first, A)
    assert removal.covers(made, LIST)
    assert not removal.covers(later, A)
    assert not removal.covers(other, (*A, "below"))
    log.write([RemoveBelow(A)])
    below = log.follow().changes[-1]
    assert below.covers(later, A)
    assert below.covers(other, [*A, "below"])
    assert not below.covers(other, SPACE)
    assert not log.follow().changes[0].covers(first, A)


def test_removed_entries_are_those_of_the_list(log):
    first, second, third = ids(log.write([Add(LIST, b"%d" % n) for n in range(3)]))
    [_, later] = ids(log.write([Cut(LIST, first), Add(LIST, b"later")]))
    [cut] = [one for one in log.follow().changes if one.what == "removed entries"]
    assert not cut.covers(first, LIST)
    assert cut.covers(second, LIST)
    assert cut.covers(third, LIST)
    assert not cut.covers(second, A)
    assert not cut.covers(later, LIST)
    assert second in cut.ids[0]


def test_an_erasure_covers_a_prefix_and_what_was_made_from_it(log):
    [first, other] = ids(log.write([Put(A, b"1"), Put(("u", space("s"), "a"), b"1")]))
    [made] = ids(log.write([Add(LIST, b"of it", sources=[first])]))
    position = log.follow().position
    log.erase(prefix=SPACE)
    [later] = ids(log.write([Put(A, b"2")]))
    erasure, put = (
        log.follow(position, prefix=("elsewhere",)).changes
        + log.follow(position, prefix=A).changes[1:]
    )
    assert (erasure.what, put.id) == ("erased", later)
    assert erasure.covers(first, A)
    assert erasure.covers(made, LIST)
    assert not erasure.covers(other, ("u", space("s"), "a"))
    assert not erasure.covers(later, A)


def test_pages_follow_each_other(log):
    all_ids = ids(log.write([Add(LIST, b"%d" % n) for n in range(5)]))
    position, seen = None, []
    while True:
        found = log.follow(position, limit=2)
        assert isinstance(found, Changes)
        assert len(found.changes) <= 2
        position = found.position
        if not found.changes:
            break
        seen += [one.id for one in found.changes]
    assert seen == all_ids
    log.write([Put(A, b"x")])
    assert [one.what for one in log.follow(position, limit=None).changes] == ["put"]
    assert log.follow(limit=0).changes == []
    assert len(log.follow().changes) == 6


def test_changes_are_of_what_lies_below_the_prefix(log):
    log.write([Put(A, b""), Add(LIST, b""), Put(("u", space("s"), "a"), b"")])
    assert [one.what for one in log.follow(prefix=SPACE).changes] == ["put"]
    assert [one.what for one in log.follow(prefix=("t",)).changes] == ["put", "added"]


def test_another_handle_sees_what_was_written_since(tmp_path):
    with ColdStore.open(tmp_path) as one, ColdStore.open(tmp_path) as other:
        log, follower = Log(one), Log(other)
        position = follower.follow().position
        assert type(position) is bytes
        for n in range(3):
            log.write([Put(A, b"%d" % n)])
            found = follower.follow(position)
            assert [change.id for change in found.changes] == [log.version(A)]
            position = found.position


def test_who_missed_something_that_went_begins_anew(tmp_path):
    with ColdStore.open(tmp_path, segment_bytes=4096) as store:
        log = Log(store)
        log.write([Put(A, b"1")])
        position = log.follow().position
        log.write([Remove(A)])
        for n in range(60):
            log.write([Put(B, b"%100d" % n)], sync=False)
        log.compact()
        assert log.follow(position) is None
        anew = log.follow()
        assert A[-1].encode() not in {change.key[-1] for change in anew.changes}
        assert log.follow(anew.position).changes == []


def test_a_position_is_of_one_store_and_of_one_time_of_it(tmp_path):
    with ColdStore.open(tmp_path / "store") as store:
        log = Log(store)
        log.write([Put(A, b"1")])
    shutil.copytree(tmp_path / "store", tmp_path / "backup")
    with ColdStore.open(tmp_path / "store") as store, ColdStore.open(None) as stranger:
        Log(store).write([Put(A, b"2")])
        position = Log(store).follow().position
        assert Log(stranger).follow(position) is None
    shutil.rmtree(tmp_path / "store")
    shutil.copytree(tmp_path / "backup", tmp_path / "store")
    with ColdStore.open(tmp_path / "store") as store:
        assert Log(store).follow(position) is None
