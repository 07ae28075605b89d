"""Documents of adapters: handles, processes, deletions, names, vectors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from warmset import Memory
from warmset.adapters._documents import PARTIAL, Shelf, Written, columns_of
from warmset.errors import Conflict, DimensionError, InvalidInputError, ReadOnly
from warmset.native import ColdStore

KINDS = {"kind": "documents", "collection": "c", "tenant": None, "metric": "cosine"}


def shelf(source, *, delete="remove", **changes):
    options = changes.pop("options", {"durability": "os"} if isinstance(source, Path) else {})
    return Shelf(source, delete=delete, options=options, **{**KINDS, **changes})


def document(id_, text="text", vector=(1.0, 0.0), **columns):
    return Written(id=id_, payload=text.encode(), columns=columns, vector=vector)


def found(place, vector=(1.0, 0.0), k=10, **options):
    return [one.id for one in place.search(vector, k, **options)]


@pytest.fixture
def two(tmp_path):
    a, b = shelf(tmp_path / "s"), shelf(tmp_path / "s")
    yield a, b
    a.close()
    b.close()


# --- handles and processes ------------------------------------------------------------------------


def test_two_handles_see_each_other_at_once(two):
    a, b = two
    assert found(b) == []
    a.put([document("1")])
    assert found(b) == ["1"]
    b.put([document("1", vector=(-1.0, 0.5)), document("2")])
    assert found(a) == ["2", "1"]
    a.delete(["2"])
    assert found(b) == ["1"]
    assert [one.id for one in b.get(["2", "1"])] == ["1"]
    b.clear()
    assert found(a) == []
    assert a.count() == 0
    b.put([document("2")])
    assert found(a) == ["2"]


def test_a_handle_that_was_away_learns_of_every_kind_of_deletion(tmp_path):
    for how in ("remove", "erase"):
        a, b = shelf(tmp_path / how, delete=how), shelf(tmp_path / how, delete=how)
        a.put([document(str(n), vector=(1.0, n)) for n in range(6)])
        assert len(found(b)) == 6
        a.delete(["0"])
        a.delete_as_found(a.get(["1", "2"]))
        a.log.compact()
        assert found(b) == ["3", "4", "5"]
        a.clear()
        a.put([document("9")])
        a.log.compact()
        assert found(b) == ["9"]
        assert len(b.vectors) == 1
        a.close()
        b.close()


def test_a_search_never_shows_a_document_that_is_not_as_it_was_found(two, monkeypatch):
    a, b = two
    a.put([document("1", "old"), document("2", "stays", (0.9, 0.1))])
    before = b.vectors.search

    def changed_meanwhile(*given):
        hits = before(*given)
        monkeypatch.setattr(b.vectors, "search", before)
        a.put([document("1", "new", (0.0, 1.0))])
        return hits

    monkeypatch.setattr(b.vectors, "search", changed_meanwhile)
    hits = b.search((1.0, 0.0), 2)
    assert [(one.id, one.payload) for one in hits] == [("2", b"stays"), ("1", b"new")]


OTHER = """
import sys
sys.path.insert(0, sys.argv[1])
from test_documents_shelf import document, found, shelf
from pathlib import Path
place = shelf(Path(sys.argv[2]))
"""


def run(path, code, **popen):
    script = [sys.executable, "-c", OTHER + code, str(Path(__file__).parent), str(path)]
    return subprocess.Popen(  # noqa: S603 - fixed
        script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen
    )


def test_two_processes_see_each_other(tmp_path):
    mine = shelf(tmp_path / "s")
    mine.put([document("mine"), document("gone")])
    code = "print(found(place)); place.delete(['gone']); place.put([document('theirs')])"
    done = run(tmp_path / "s", code)
    out, error = done.communicate(timeout=60)
    assert done.returncode == 0, error
    assert out.strip() == "['mine', 'gone']"
    assert found(mine) == ["mine", "theirs"]
    mine.close()


def test_what_was_put_is_there_after_a_kill(tmp_path):
    code = """
for n in range(10_000):
    place.put([document(f"{n}-{part}", vector=(1.0, n)) for part in range(3)])
    print(n, flush=True)
"""
    child = run(tmp_path / "s", code)
    last = -1
    for line in child.stdout:
        last = int(line)
        if last >= 20:
            os.kill(child.pid, signal.SIGKILL)
            break
    child.communicate()
    place = shelf(tmp_path / "s")
    ids = {one.id for one in place.find()}
    assert {f"{n}-{part}" for n in range(last + 1) for part in range(3)} <= ids
    assert len(ids) % 3 == 0  # a batch is whole, or not there
    assert set(found(place, k=len(ids) + 5)) == ids
    place.close()


@pytest.mark.usefixtures("busy_interpreter")
def test_threads_put_delete_and_search_one_handle(tmp_path):
    place = shelf(tmp_path / "s")
    faults = []

    def work(worker):
        try:
            for n in range(12):
                place.put([document(f"{worker}-{n}", vector=(1.0, worker + 1, n))])
                assert f"{worker}-{n}" in found(place, (1.0, worker + 1, n), k=200)
                if n % 3 == 0:
                    place.delete([f"{worker}-{n}"])
                    assert f"{worker}-{n}" not in found(place, (1.0, worker + 1, n), k=200)
        except BaseException as error:  # noqa: BLE001 - shown by the test
            faults.append(error)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not faults, faults
    assert place.count() == len(found(place, (1.0, 1.0, 1.0), k=200)) == 4 * 8
    place.close()


def test_a_memory_and_a_store_that_are_open_are_shared(tmp_path):
    with Memory.open(tmp_path / "s", embedder="lexical", tenant="ann") as memory:
        memory.conversation("chat").append({"role": "user", "content": "hello"})
        place = shelf(memory)
        place.put([document("1")])
        assert place.prefix[0] == "ann"
        place.close()  # not the memory's store
        assert memory.conversations() == ["chat"]
        memory.erase(conversation="chat")
        assert found(place) == ["1"]
    with ColdStore.open(tmp_path / "s") as store:
        assert found(shelf(store)) == []
        assert found(shelf(store, tenant="ann")) == ["1"]
        with pytest.raises(InvalidInputError, match="the store is open already"):
            shelf(store, options={"durability": "os"})


def test_a_store_is_read_where_it_cannot_be_written(tmp_path):
    with_one = shelf(tmp_path / "s")
    with_one.put([document("1")])
    with_one.close()
    reading = shelf(tmp_path / "s", options={"mode": "read"})
    assert found(reading) == ["1"]
    with pytest.raises(ReadOnly):
        reading.put([document("2")])
    reading.close()


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["remove", "erase"])
def test_names_do_not_collide(tmp_path, how):
    with ColdStore.open(tmp_path / "s") as store:
        names = [("c", None), ("c/1", None), ("cc", None), ("c", "other"), ("documents", None)]
        places = [shelf(store, collection=c, tenant=t, delete=how) for c, t in names]
        places.append(shelf(store, kind="others", delete=how))
        ids = ["1", "c", "/1", "c/1", "é", " ", "x" * 500]
        for number, place in enumerate(places):
            place.put([document(id_, f"{number} {id_}") for id_ in ids])
        for number, place in enumerate(places):
            assert [one.payload.decode() for one in place.get(ids)] == [
                f"{number} {id_}" for id_ in ids
            ]
        places[0].delete(["1"])
        places[0].clear()
        assert [place.count() for place in places] == [0, *[len(ids)] * 5]
        assert [len(found(place)) for place in places] == [0, *[len(ids)] * 5]


@pytest.mark.parametrize("name", ["", 3, b"c"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(InvalidInputError, match="collection: expected a name"):
        shelf(None, collection=name)
    with pytest.raises(InvalidInputError, match="tenant: expected a name"):
        shelf(None, tenant=name)


def test_what_cannot_be_stored_is_refused_and_nothing_is_put():
    place = shelf(None)
    bad = [
        document(3),
        document("x" * 20_000),
        document("1", vector=()),
        document("1", vector=[[1.0]]),
        document("1", vector=["a"]),
        document("1", vector=[1.0, float("nan")]),
        document("1", vector=[1e300]),
    ]
    for one in bad:
        with pytest.raises(InvalidInputError):
            place.put([document("good"), one])
    assert place.count() == 0
    assert place.put([]) == []
    place.delete([])
    for source in (3, b"path"):
        with pytest.raises(InvalidInputError, match="expected a directory"):
            shelf(source)
    with pytest.raises(InvalidInputError, match="delete: expected"):
        shelf(None, delete="forget")
    with pytest.raises(InvalidInputError, match="metric: expected"):
        shelf(None, metric="l2")


# --- deletion and encryption ----------------------------------------------------------------------


def in_files(path, text):
    files = [one for one in Path(path).rglob("*") if one.is_file()]
    return any(text.encode() in one.read_bytes() for one in files)


@pytest.mark.parametrize("encryption", [None, "keys"])
def test_erased_bytes_are_in_no_file(tmp_path, encryption):
    options = {"encryption": encryption}
    removing = shelf(tmp_path / "s", options=options)
    removing.put([document(id_, f"secret of {id_}") for id_ in "abc"])
    assert in_files(tmp_path / "s", "secret of a") is (encryption is None)
    removing.delete(["a"])
    assert [one.id for one in removing.find()] == ["b", "c"]
    erasing = shelf(removing.log.store, delete="erase", options={})
    erasing.delete(["b", "never there"])
    assert not in_files(tmp_path / "s", "secret of b")
    erasing.put([document("c", "secret of c, second version")])
    erasing.delete_as_found(erasing.get(["c"]))
    assert not in_files(tmp_path / "s", "secret of c")
    assert found(removing) == []
    removing.close()


def test_clearing_an_erasing_collection_removes_its_encryption_key(tmp_path):
    with ColdStore.open(tmp_path / "s", encryption="keys") as store:
        mine, other = (shelf(store, collection=name, delete="erase") for name in ("a", "b"))
        mine.put([document("1", "mine")])
        other.put([document("1", "other")])
        keys = lambda: sum(one.is_file() for one in (tmp_path / "s").rglob("keys/*"))  # noqa: E731
        before = keys()
        mine.clear()
        assert keys() == before - 1
        assert [one.payload for one in other.get(["1"])] == [b"other"]
        mine.put([document("2", "again")])
        assert [one.payload for one in mine.get(["1", "2"])] == [b"again"]
        assert found(mine) == ["2"]


def test_what_was_put_after_it_was_found_is_not_deleted(two):
    a, b = two
    a.put([document("1", "old"), document("2", "old")])
    seen = a.find()
    b.put([document("1", "new")])
    a.delete_as_found(seen)
    assert [(one.id, one.payload) for one in a.find()] == [("1", b"new")]
    erasing = shelf(a.log.store, delete="erase")
    seen = erasing.find()
    b.put([document("1", "newer")])
    erasing.delete_as_found(seen)
    assert [one.payload for one in a.find()] == [b"newer"]


def test_a_put_that_expects_documents_as_found(two):
    a, b = two
    a.put([document("1", "old"), document("2", "old")])
    seen = a.get(["1"])
    b.put([document("1", "new")])
    with pytest.raises(Conflict):
        a.put([document("1", "mine"), document("3")], expect=seen)
    assert [one.payload for one in a.find()] == [b"new", b"old"]
    tries = []

    def change():
        tries.append(1)
        seen = a.get(["1"])
        if len(tries) < 3:
            b.put([document("1", f"{len(tries)}")])
        a.put([document("1", "mine")], expect=seen)
        return "done"

    assert a.retried(change) == "done"
    assert len(tries) == 3


# --- vectors --------------------------------------------------------------------------------------


def test_vectors_come_back_as_they_were_put():
    place = shelf(None)
    rng = np.random.default_rng(3)
    wide = rng.random(5).tolist()
    short = rng.random(5).astype(np.float32)
    place.put(
        [
            document("wide", vector=wide),
            document("short", vector=short),
            document("none", vector=None),
        ]
    )
    by_id = {one.id: one.vector for one in place.find()}
    assert by_id["wide"].tolist() == wide
    assert by_id["short"].dtype == np.float32
    assert by_id["short"].tolist() == short.tolist()
    assert by_id["none"] is None
    assert sorted(found(place, wide)) == ["short", "wide"]


def test_a_vector_of_zeros_scores_nothing_and_breaks_nothing():
    place = shelf(None)
    place.put(
        [
            document("against", vector=(-1.0, 0.0)),
            document("zero", vector=(0.0, 0.0)),
            document("with", vector=(2.0, 0.0)),
        ]
    )
    scores = {one.id: round(one.score, 6) for one in place.search((1.0, 0.0), 5)}
    assert scores == {"with": 1.0, "zero": 0.0, "against": -1.0}
    assert found(place) == ["with", "zero", "against"]
    assert found(place, k=2) == ["with", "zero"]
    version = place.get(["zero"])[0].cell.version
    assert found(place, among={version}) == ["zero"]
    assert [one.score for one in place.search((0.0, 0.0), 5)] == [0.0] * 3
    assert found(place, (0.0, 0.0), k=1, among={version}) == ["zero"]
    place.put([document("zero", vector=(0.0, 1.0))])
    assert found(place, (0.0, 1.0), k=1) == ["zero"]
    place.put([document("zero", vector=(0.0, 0.0))])
    place.delete(["zero"])
    assert found(place) == ["with", "against"]


def test_inner_products_are_of_vectors_as_they_are():
    place = shelf(None, metric="ip")
    place.put([document("1", vector=(3.0, 0.0)), document("0", vector=(0.0, 0.0))])
    assert [(one.id, one.score) for one in place.search((2.0, 9.0), 5)] == [("1", 6.0), ("0", 0.0)]


def test_a_query_of_another_dimension_is_refused():
    place = shelf(None)
    assert found(place, (1.0, 2.0, 3.0)) == []
    place.put([document("1")])
    with pytest.raises(DimensionError) as error:
        place.search((1.0, 2.0, 3.0), 1)
    assert (error.value.expected, error.value.found) == (2, 3)
    place.put([document("2", vector=(1.0, 2.0, 3.0))])
    assert found(place, (1.0, 2.0, 3.0)) == ["2"]
    assert found(place) == ["1"]
    assert found(place, k=0) == []
    assert found(place, among=set()) == []


@given(
    steps=st.lists(
        st.one_of(
            st.tuples(
                st.just("put"),
                st.integers(0, 5),
                st.lists(st.integers(-3, 3), min_size=3, max_size=3),
            ),
            st.tuples(st.sampled_from(["delete", "look", "compact"]), st.integers(0, 5)),
            st.tuples(st.just("clear")),
        ),
        max_size=14,
    ),
    how=st.sampled_from(["remove", "erase"]),
)
def test_two_handles_find_what_a_scan_finds(steps, how):
    with ColdStore.open(None) as store:
        a, b = shelf(store, delete=how), shelf(store)
        model = {}
        for number, (step, *rest) in enumerate(steps):
            if step == "put":
                a.put([document(str(rest[0]), str(number), rest[1])])
                model[str(rest[0])] = np.array(rest[1], dtype=float)
            elif step == "delete":
                a.delete([str(rest[0])])
                model.pop(str(rest[0]), None)
            elif step == "clear":
                a.clear()
                model.clear()
            elif step == "compact":
                store.compact()
            query = np.array([1.0, 2.0, 0.5])
            if step in ("look", "clear") or number == len(steps) - 1:
                scores = {one.id: one.score for one in b.search(query, 10)}
                norm = {id_: np.linalg.norm(each) for id_, each in model.items()}
                expected = {
                    id_: float(each @ query) / (norm[id_] * np.linalg.norm(query) or 1)
                    for id_, each in model.items()
                }
                assert scores == pytest.approx(expected, abs=1e-6)
                assert list(scores.values()) == sorted(scores.values(), reverse=True)


# --- columns --------------------------------------------------------------------------------------


def test_what_cannot_be_a_column_is_marked():
    whole = {"a": 1, "b": "x", "c": [1, "two", None], "d": None, "e": True, "f": 0.5, "g": (1, 2)}
    assert columns_of(whole) == {**whole, "g": [1, 2]}
    for value in (
        {"x": 1},
        [[1]],
        [{"x": 1}],
        2**63,
        -(2**63) - 1,
        float("inf"),
        "x" * 5_000,
        "\ud800",
    ):
        assert columns_of({"a": 1, "b": value}) == {"a": 1, PARTIAL: True}
    assert columns_of({"\0partial": False}) == {PARTIAL: True}
    many = {f"name {n}": "x" * 4_000 for n in range(9)}
    assert set(columns_of(many)) == {"name 0", "name 1", "name 2", "name 3", PARTIAL}


@given(
    st.dictionaries(
        st.text(max_size=30),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: (
                st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=2)
            ),
        ),
        max_size=30,
    )
)
def test_every_metadata_has_columns_that_can_be_put(meta):
    place = shelf(None)
    try:
        place.put([document("1"), Written(id="2", payload=b"", columns=columns_of(meta))])
    except InvalidInputError as error:
        pytest.fail(str(error))
    assert len(place.find({"a": 1})) <= 2
