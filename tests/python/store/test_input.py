"""What is no argument of a store's call is refused by name, and nothing is done."""

from __future__ import annotations

import pytest
from cold_rows import payloads, row

from warmset import Memory
from warmset.errors import InvalidInputError
from warmset.native import ColdStore

NO_IDS = [-1, 2**64, 1.0, True, None, "1", b"1"]


@pytest.fixture
def store():
    with ColdStore.open(None) as store:
        store.append([row(b"1"), row(b"2")])
        yield store


@pytest.mark.parametrize("call", ["get", "hash_of", "page"])
@pytest.mark.parametrize("id_", NO_IDS, ids=repr)
def test_what_is_no_id_is_refused(id_, call, store):
    with pytest.raises(InvalidInputError, match=r"^id: expected an integer from 0 to "):
        getattr(store, call)(id_)


@pytest.mark.parametrize("size", [-1, 2**64, "1", False, None, 0.5], ids=repr)
def test_what_is_no_size_of_a_page_is_refused(size, store):
    with pytest.raises(InvalidInputError, match=r"^max_bytes: expected a number of bytes"):
        store.page(max_bytes=size)


@pytest.mark.parametrize(
    "records",
    [
        bytearray(b"\1\2"),
        pytest.param(memoryview(b"\1"), id="view"),
        b"\1",
        "12",
        1,
        {1},
        [True],
        [1.0],
        ["1"],
        [None],
        [-1],
        [2**64],
        (1, 2**70),
    ],
    ids=repr,
)
def test_what_are_no_ids_erase_nothing(records, store):
    with pytest.raises(InvalidInputError, match=r"^records: expected "):
        store.erase(records=records)
    assert payloads(store) == [b"1", b"2"]


@pytest.mark.parametrize("progress", [1, "told", object()])
def test_a_progress_callback_must_be_callable(progress, store):
    with pytest.raises(InvalidInputError, match=r"^progress: expected a function or None"):
        store.verify(progress)


@pytest.mark.parametrize(
    ("records", "name"),
    [
        (None, "records"),
        (5, "records"),
        ("ab", r"records\[0\]"),
        (b"ab", r"records\[0\]"),
        ({"kind": "turn"}, r"records\[0\]"),
        ([list(row())], r"records\[0\]"),
        ([None], r"records\[0\]"),
        ([()], r"records\[0\]"),
        ([row(), (*row(), [1], 1)], r"records\[1\]"),
        ([row(payload="text")], r"records\[0\].payload"),
        ([row(payload=bytearray(b"x"))], r"records\[0\].payload"),
        ([row(payload=None)], r"records\[0\].payload"),
        ([row(meta="m")], r"records\[0\].meta"),
        ([("turn", b"key", b"", b"")], r"records\[0\].key"),
        ([("turn", ["key"], b"", b"")], r"records\[0\].key"),
        ([("turn", 5, b"", b"")], r"records\[0\].key"),
        ([row(kind="\ud800")], "kind"),
        ([row(kind=1)], "kind"),
        ([row(kind="tombstone")], "kind"),
        ([row(sources=[True])], r"records\[0\].sources"),
        ([row(sources=[-1])], r"records\[0\].sources"),
        ([(*row(), b"\1")], r"records\[0\].sources"),
    ],
)
@pytest.mark.parametrize("call", ["append", "append_or_spool"])
def test_what_is_no_record_is_refused(records, name, call, store):
    with pytest.raises(InvalidInputError, match=f"^{name}: expected "):
        getattr(store, call)(records)
    assert payloads(store) == [b"1", b"2"]


class Broken:
    """A path that names itself with something that is no text."""

    def __fspath__(self):
        return b"bytes"


NO_PATHS = [b"bytes", "\ud800", "a\0b", 5, 1.5, ["a"], Broken()]


@pytest.mark.parametrize("opening", [ColdStore.open, Memory.open], ids=["store", "memory"])
@pytest.mark.parametrize("path", NO_PATHS, ids=lambda path: ascii(type(path)))
def test_what_is_no_path_is_refused(path, opening, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {"embedder": "lexical"} if opening == Memory.open else {}
    with pytest.raises(InvalidInputError, match=r"^path: expected a directory's name or None"):
        opening(path, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("opening", [ColdStore.open, Memory.open], ids=["store", "memory"])
def test_a_link_to_nothing_is_called_one(opening, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    options = {"embedder": "lexical"} if opening == Memory.open else {}
    with pytest.raises(InvalidInputError, match=r"link is a symbolic link to .*nothing, which is"):
        opening(tmp_path / "link", **options)
    (tmp_path / "nothing").mkdir()
    opening(tmp_path / "link", **options).close()


@pytest.mark.parametrize("mode", ["shared", "exclusive", "read"])
def test_a_path_with_bytes_that_are_no_text_works(mode, tmp_path):
    path = tmp_path / "name\udce9"
    with ColdStore.open(path) as store:
        store.append([row(b"1")])
    with ColdStore.open(path, mode=mode) as store:
        assert payloads(store) == [b"1"]
        assert store.path == path


@pytest.mark.parametrize(
    "ids", [5, "12", b"12", [True], [1.0], ["1"], [None], [-1], [-7]], ids=repr
)
def test_what_are_no_ids_of_messages_erase_nothing(ids):
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append({"role": "user", "content": "kept"})
        with pytest.raises(InvalidInputError, match=r"^ids: expected "):
            memory.erase(ids=ids)
        assert len(log) == 1


@pytest.mark.parametrize("name", [5, b"log", "", True], ids=repr)
def test_what_is_no_name_of_a_conversation_erases_nothing(name):
    with (
        Memory.open(None, embedder="lexical") as memory,
        pytest.raises(InvalidInputError, match=r"^conversation: expected "),
    ):
        memory.erase(conversation=name)
