"""Export, import and doctor at the edges: missing parents, full batches, keys that are gone."""

from __future__ import annotations

import io
import json

import pytest
from busy import held_elsewhere
from cold_rows import everything, row

from warmset import Memory
from warmset.engine import Redactor
from warmset.errors import NoKey
from warmset.maintenance import Access, Import, examine, export, survey
from warmset.maintenance.access import open_store, pages
from warmset.maintenance.batches import is_batch
from warmset.maintenance.lines import HEADER, from_line, line_of, to_line
from warmset.maintenance.redacting import redacted_draft
from warmset.native import ColdStore

KEY = [b"t", b"a"]


def turn(name, **meta):
    payload = json.dumps({"role": "user", "content": name}, separators=(",", ":")).encode()
    return row(payload, key=KEY, meta=json.dumps(meta, separators=(",", ":")).encode())


def written(store, **options):
    out = io.StringIO()
    made = export(store, out, **options)
    return made, [json.loads(line) for line in out.getvalue().splitlines()]


def carry(store, path, into):
    """Take the records of a store over into another one; give the import and its progress."""
    with path.open("w") as out:
        export(store, out)
    work, told = Import(into, survey(path)), []
    work.run(lambda *one: told.append(one))
    return work, told


# --- exports --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gone", "parent"), [([], 3), ([3], 2), ([3, 2], 1), ([3, 2, 1], None), ([1], 3)]
)
def test_a_message_behind_a_missing_one_follows_what_is_left_before_that(gone, parent):
    with ColdStore.open(None) as store:
        store.append([turn(name) for name in "abcd"])
        store.append([turn("e", parent=3)])
        if gone:
            store.erase(records=gone)
        _, [_, *lines] = written(store)
        (found,) = [line["meta"] for line in lines if line["payload"]["content"] == "e"]
        assert (found.get("parent") or None) == parent


@pytest.mark.parametrize("kind", ["embedding", "half_embedding"])
def test_what_has_vectors_alone_is_there_and_has_no_lines(kind):
    vectors = (kind, [b"t", b"b"], b'{"of":1}', b"\0\0\0\0", ())
    about = ("checkpoint", [], b'{"what":"embedder"}', b"", ())
    with ColdStore.open(None) as store:
        assert len(written(store)[1]) == 1, "the header of an empty store"
        store.append([turn("a"), vectors, about])
        for prefix, records, count in (
            ([], 1, 2),
            ([b"t"], 1, 1),
            ([b"t", b"b"], 0, 1),
            (KEY, 1, 0),
        ):
            made, lines = written(store, prefix=prefix)
            assert (made.records, made.vectors, len(lines)) == (records, count, records + 1)
        assert written(store, prefix=[b"u"])[1] == []


def test_an_export_has_the_named_conversation_and_no_other():
    keys = [[b"t", b"a"], [b"t", b"ab"], [b"t", b"a/b"], [b"ta", b"a"], [b"t"], [b"u", b"a"]]
    with ColdStore.open(None) as store:
        store.append([row(kind="item", key=key) for key in keys])
        for prefix, ids in (([b"t", b"a"], [1]), ([b"t"], [1, 2, 3, 5]), ([], range(1, 7))):
            assert [line["id"] for line in written(store, prefix=prefix)[1][1:]] == [*ids]


def test_a_list_that_was_emptied_comes_through_a_file_empty(tmp_path):
    with Memory.open(tmp_path / "one", embedder="lexical") as memory:
        log = memory.conversation("log")
        log.sync([{"role": "user", "content": name} for name in "ab"])
        log.sync([])
    source, target = (ColdStore.open(tmp_path / name) for name in ("one", "two"))
    with source, target:
        target.append([row(key=[b"other"])])
        work, _ = carry(source, tmp_path / "file", target)
    assert work.loose == 0
    with Memory.open(tmp_path / "two", embedder="lexical") as memory:
        assert memory.conversation("log").ids == []
        assert (
            len(memory.conversation("log").sync([{"role": "user", "content": "a"}]).appended) == 0
        )


@pytest.mark.parametrize("meta", [b"{}", b'{"a":1}', b'{"a": 1}', b'{"a":1.0}', b"[]", b"\xff"])
@pytest.mark.parametrize("payload", [b"{}", b'{"a" :1}', '{"a":"ü"}'.encode(), b'{"a":"\\u00fc"}'])
def test_a_line_reads_as_the_bytes_that_were_written(meta, payload):
    with ColdStore.open(None) as store:
        store.append([row(payload, meta=meta)])
        (record,) = everything(store)
        assert from_line(to_line(record))[1][2:4] == (meta, payload)


# --- imports --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "told"), [(256, [256]), (257, [256, 257]), (513, [256, 512, 513])]
)
def test_a_batch_has_at_most_256_records(tmp_path, count, told):
    with ColdStore.open(None) as source, ColdStore.open(None) as target:
        source.append([turn(f"{n}") for n in range(count)])
        work, found = carry(source, tmp_path / "file", target)
        assert found == [(done, count) for done in told]
        assert (work.done, len(everything(target))) == (count, count)


def test_a_batch_has_at_most_eight_megabytes(tmp_path):
    half = 4 << 20
    texts = [half, half, half, 100, 100, half, half + 1, half]
    with ColdStore.open(None) as source, ColdStore.open(None) as target:
        frame = len(turn("")[3])
        for size in texts:
            source.append([turn("x" * (size - frame))])
        _, told = carry(source, tmp_path / "file", target)
        assert [done for done, _ in told] == [2, 5, 6, 7, 8]


def test_references_to_what_is_not_in_the_file_are_counted(tmp_path):
    with ColdStore.open(None) as source, ColdStore.open(None) as target:
        source.append([turn("a"), turn("b"), turn("c")])
        source.append([row(b"s", kind="summary", key=KEY, sources=[1, 2, 3])])
        with (tmp_path / "file").open("w") as out:
            export(source, out)
        lines = (tmp_path / "file").read_text().splitlines()
        (tmp_path / "file").write_text("\n".join([lines[0], *lines[2:3], lines[4]]))
        target.append([row(key=[b"other"])] * 4)
        work = Import(target, survey(tmp_path / "file"))
        work.run()
        assert (work.done, work.loose) == (2, 2)
        assert everything(target)[-1].sources == (5,)


@pytest.mark.parametrize("kind", ["embedding", "half_embedding"])
def test_a_message_that_follows_what_is_not_imported_follows_the_one_before_it(tmp_path, kind):
    """Vectors are made again; a file that somebody edited may have a message follow one of them."""
    vector = row(kind=kind, key=KEY, sources=[1])
    drafts = (*turn("a"), ()), vector, (*turn("b", at=7.0, parent=2), ())
    lines = [json.dumps(HEADER), *(line_of(id_, one) for id_, one in enumerate(drafts, 1))]
    (tmp_path / "file").write_text("\n".join(lines))
    with ColdStore.open(None) as target:
        work = Import(target, survey(tmp_path / "file"))
        work.run()
        assert (work.done, work.vectors, work.loose) == (2, 1, 1)
        assert [json.loads(one.meta) for one in everything(target)] == [{}, {"at": 7.0}]


# --- redaction ------------------------------------------------------------------------------------


def through(text):
    return text.replace("secret", "***")


@pytest.mark.parametrize(
    ("kind", "meta", "payload"),
    [
        ("turn", {"by": "secret"}, b'{"role":"user","content":"a secret"}'),
        ("turn", {"meta": {"secret": ["secret"]}}, b'{"role":"user","content":"a secret"}'),
        ("item", {"what": "dropped"}, b'{"role":"user","content":"a secret"}'),
        ("distilled", {}, b"a secret"),
        ("prepared", {}, b"a secret"),
        ("summary", {"what": "line"}, b'{"summary_line":"a secret","entities":["secret"]}'),
    ],
)
def test_every_text_of_an_import_is_redacted(kind, meta, payload):
    hook = Redactor(through, timeout=5.0, private=False)
    draft = (kind, KEY, json.dumps(meta).encode(), payload, (1,))
    made = redacted_draft(draft, hook)
    assert b"secret" not in made[2] + made[3]
    assert b"***" in made[3]
    assert (made[0], made[1], made[4]) == (kind, KEY, (1,))
    plain = (kind, KEY, b'{"by":"Ann"}', payload.replace(b"secret", b"fact"), ())
    assert redacted_draft(plain, hook) is plain


def test_quotations_of_steady_windows_are_made_anew():
    hook = Redactor(through, timeout=5.0, private=False)
    meta = b'{"what":"epoch"}'
    assert redacted_draft(("item", KEY, meta, b'["a quotation"]', (1,)), hook) is None
    bare = ("item", KEY, meta, b"", (1,))
    assert redacted_draft(bare, hook) is bare


# --- doctor ---------------------------------------------------------------------------------------


def test_conversations_are_counted_for_each_tenant(tmp_path):
    with ColdStore.open(tmp_path / "store") as store:
        store.append([row(key=[t, c]) for t in (b"t", b"u") for c in (b"a", b"b", b"a")])
        store.append([row(key=[b"t", b"d"]), row(key=[b"v"], kind="item")])
    found = examine(Access(path=tmp_path / "store"))
    assert (found.conversations, found.tenants, found.is_healthy) == (5, 2, True)
    assert found.records == {"item": 1, "turn": 7}


@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_record_whose_key_is_elsewhere_is_counted(tmp_path, count):
    path = tmp_path / "store"
    with ColdStore.open(path, encryption=bytes(range(32))) as store:
        store.append([row(b"%d" % at, key=[b"t", b"%d" % at]) for at in range(count)])
    with open_store(Access(path=path), mode="read") as store:
        locked = []
        assert list(pages(store, locked)) == []
        assert locked == list(range(1, count + 1))
        with pytest.raises(NoKey):
            list(pages(store))
    found = examine(Access(path=path))
    assert (found.encryption, found.is_healthy) == ("master", False)
    assert found.problems[0].startswith(f"{count} records could not be decrypted, the first is #1")
    (tmp_path / "key").write_bytes(bytes(range(32)))
    found = examine(Access(path=path, key_file=tmp_path / "key"))
    assert (found.records, found.is_healthy) == ({"turn": count}, True)


def test_records_around_those_whose_key_is_elsewhere_are_read(tmp_path):
    def write(count, **encryption):
        with ColdStore.open(tmp_path, **encryption) as store:
            return store.append([row(key=[b"t", b"c"]) for _ in range(count)])

    master = {"encryption": bytes(range(32))}
    counts = [3, 2, 1, 1, 2]
    ids = [write(n, **(master if at % 2 else {})) for at, n in enumerate(counts)]
    with open_store(Access(path=tmp_path), mode="read") as store:
        locked = []
        assert [one.seq for one in pages(store, locked)] == [*ids[0], *ids[2], *ids[4]]
        assert locked == [*ids[1], *ids[3]]
    found = examine(Access(path=tmp_path))
    assert found.records == {"turn": 6}
    assert found.problems[0].startswith("3 records could not be decrypted, the first is #4")


def test_a_file_is_a_batch_if_it_is_as_it_was_written(tmp_path):
    path = tmp_path / "store"
    Memory.open(path, embedder="lexical").close()
    with (
        Memory.open(path, embedder="lexical", on_busy="spool") as memory,
        held_elsewhere(path),
    ):
        memory.conversation("log").append({"role": "user", "content": "a"})
        (file,) = (path / "spool").glob("*.spl")
        data = file.read_bytes()
    place = tmp_path / file.name
    for at in range(72):
        place.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert not is_batch(place), at
    for wrong in (data[:-1], data + b"\0", data[:72], data[:71], b""):
        place.write_bytes(wrong)
        assert not is_batch(place)
    place.write_bytes(data)
    assert is_batch(place)
    assert not is_batch(place.rename(tmp_path / f"{'0' * 32}.spl"))
    assert is_batch(tmp_path / "taken up.spl"), "it is gone"
    assert not is_batch(tmp_path)
