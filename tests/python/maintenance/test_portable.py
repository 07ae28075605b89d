"""Export and import: a store that went through a file holds the same conversations."""

from __future__ import annotations

import io
import json
import stat

import pytest
from cold_rows import everything, row
from hypothesis import HealthCheck, given, settings, strategies as st

from warmset import Memory
from warmset.errors import InvalidInputError, StoreError
from warmset.maintenance import Import, export, survey
from warmset.native import ColdStore

NAMES = st.sampled_from(["a", "b", "söö", "\ud800", "\ud83d\ude00", "😀", "x\0y"])
TEXTS = st.text(st.characters(codec=None) | st.sampled_from("\ud83d\ude00\0\u2028😀"), max_size=9)
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    LEAVES | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
EXTRAS = st.dictionaries(TEXTS.filter(lambda k: k not in {"role", "content"}), VALUES, max_size=3)


@st.composite
def steps(draw, talks=99, most=8):
    """What is done to a store: appends, and full lists that are edited, cut short or come back."""
    done = []
    for _ in range(draw(st.integers(1, most))):
        message = {"role": draw(st.sampled_from(["user", "assistant"])), "content": draw(TEXTS)}
        message |= draw(EXTRAS)
        done.append(
            (
                draw(st.sampled_from(["append", "append", "cut", "edit", "back"])),
                draw(st.sampled_from(["default", "ten\udfffant"][:talks])),
                draw(NAMES) if talks > 1 else "a",
                message,
                {
                    "at": draw(st.floats(0, 2**33)),
                    "speaker": draw(st.none() | st.sampled_from(["Ann", "\ud83d\ude00"])),
                    "session": draw(st.none() | st.sampled_from(["one", "\ud800"])),
                    "meta": draw(st.none() | st.dictionaries(TEXTS, VALUES, max_size=2)),
                },
            )
        )
    return done


def make(path, done):
    lists = {}
    for tenant in ("default", "ten\udfffant"):
        with Memory.open(path, embedder="lexical", tenant=tenant) as memory:
            for what, whose, name, message, beside in done:
                if whose != tenant:
                    continue
                conversation = memory.conversation(name)
                full = lists.setdefault((tenant, name), [])
                if what == "append" or not full:
                    conversation.append(message, **beside)
                    full.append(message)
                    continue
                if what == "edit":
                    full[len(full) // 2 :] = [message]
                elif what == "cut":
                    del full[len(full) // 2 + 1 :]
                else:
                    full += [message, message]
                conversation.sync(full, **beside)


def shown(path):
    """Everything that a caller can see of a store, with positions for ids."""
    out = []
    for tenant in ("default", "ten\udfffant"):
        with Memory.open(path, embedder="lexical", tenant=tenant) as memory:
            for name in memory.conversations():
                ledger = memory._engine.ledger(tenant, name)
                ids = sorted(ledger.entries)
                place = {id_: at for at, id_ in enumerate(ids)} | {0: -1}
                out.append((tenant, name, [place[id_] for id_ in memory.conversation(name).ids]))
                for id_ in ids:
                    entry = ledger.entries[id_]
                    parent = place[ledger.history.turns.parent(id_)]
                    beside = (entry.at, entry.speaker, entry.session, json.dumps(entry.extra))
                    out.append((json.dumps(memory._engine.message(id_)), parent, beside))
    return out


def carry(source, target, file, **options):
    with ColdStore.open(source, mode="read") as store:
        with file.open("w") as out:
            made = export(store, out, **options)
        with ColdStore.open(target) as into:
            work = Import(into, survey(file))
            work.run()
    return made, work


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(done=steps())
def test_conversations_come_through_a_file_as_they_were(done, tmp_path_factory):
    path = tmp_path_factory.mktemp("portable")
    make(path / "one", done)
    # What is there already moves the ids.
    with ColdStore.open(path / "two") as store:
        store.append([row(key=[b"other"]) for _ in range(7)])
    made, work = carry(path / "one", path / "two", path / "file")
    assert made.records == work.done == work.total
    assert (work.loose, made.unknown, made.damages) == (0, 0, 0)
    with ColdStore.open(path / "two") as store:
        store.erase(prefix=[b"other"])
        before = [(r.kind, r.key, r.payload) for r in everything(store)]
    with ColdStore.open(path / "one", mode="read") as store:
        assert before == [(r.kind, r.key, r.payload) for r in everything(store)], "byte for byte"
    assert shown(path / "two") == shown(path / "one")


def trees(path):
    """What each message of a store follows, and the current path, by conversation."""
    out = {}
    for tenant in ("default", "ten\udfffant"):
        with Memory.open(path, embedder="lexical", tenant=tenant) as memory:
            for name in memory.conversations():
                history = memory._engine.ledger(tenant, name).history
                out[tenant, name] = (followed(history), list(history.path))
    return out


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(done=steps(talks=1, most=16), choice=st.randoms(use_true_random=False))
def test_what_follows_what_is_known_after_erasures_here_and_elsewhere(
    done, choice, tmp_path_factory
):
    path = tmp_path_factory.mktemp("erased")
    make(path / "one", done)
    for _ in range(2):
        before = trees(path / "one")
        ids = [id_ for parents, _ in before.values() for id_ in parents]
        gone = {id_ for id_ in ids if choice.random() < 0.4}
        expected = {}
        for name, (parents, current) in before.items():
            kept = {}
            for id_ in parents.keys() - gone:
                at = parents[id_]
                while at in gone:
                    at = parents[at]
                kept[id_] = at
            if kept:
                expected[name] = (kept, [id_ for id_ in current if id_ not in gone])
        for tenant in ("default", "ten\udfffant"):
            with Memory.open(path / "one", embedder="lexical", tenant=tenant) as memory:
                mine = [i for (t, _), (ps, _) in before.items() if t == tenant for i in ps]
                memory.erase(ids=gone & set(mine))
                for (whose, name), tree in expected.items():
                    if whose == tenant:
                        history = memory._engine.ledger(tenant, name).history
                        assert (followed(history), history.path) == tree, "at once"
        assert trees(path / "one") == expected, "reopened"
    carry(path / "one", path / "two", path / "file")
    assert shown(path / "two") == shown(path / "one")


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["turn", "summary", "episode", "item", "distilled", "prepared"]),
        st.lists(st.binary(max_size=4), min_size=1, max_size=3),
        st.binary(max_size=9) | st.sampled_from([b"{}", b'{"a":1}', b'{"a": 1}', b"[]", b"1"]),
        st.binary(max_size=9) | st.sampled_from([b"{}", b'{"a":1}', b'{"a":"\xed\xa0\x80"}', b"{"]),
        st.lists(st.integers(0, 99), max_size=3),
    ),
    max_size=12,
)


@given(rows=ROWS)
def test_any_record_comes_through_a_file_with_its_provenance(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("portable")
    with ColdStore.open(path / "one") as store:
        ids = []
        for kind, key, meta, payload, picks in rows:
            sources = sorted({ids[pick % len(ids)] for pick in picks}) if ids else []
            ids += store.append([(kind, key, meta, payload, sources)])
    with ColdStore.open(path / "two") as store:
        store.append([row(key=[b"other", b"other", b"other", b"other"]) for _ in range(5)])
    _, work = carry(path / "one", path / "two", path / "file")
    assert (work.done, work.loose) == (len(rows), 0)
    with ColdStore.open(path / "one") as one, ColdStore.open(path / "two") as two:
        old, new = everything(one), everything(two)[5:]
        ids = {before.seq: after.seq for before, after in zip(old, new, strict=True)}
        for before, after in zip(old, new, strict=True):
            for name in ("kind", "key", "meta", "payload"):
                assert getattr(after, name) == getattr(before, name)
            assert after.sources == tuple(ids[source] for source in before.sources)


def test_a_line_is_readable_and_holds_nothing_but_ascii(tmp_path):
    with Memory.open(tmp_path / "one", embedder="lexical") as memory:
        memory.conversation("söö").append(
            {"role": "user", "content": "😀"}, at=5.0, speaker="Ann", meta={"k": [1]}
        )
    out = io.StringIO()
    with ColdStore.open(tmp_path / "one", mode="read") as store:
        export(store, out)
    header, line = out.getvalue().encode("ascii").splitlines()
    assert json.loads(header) == {"warmset": "export", "version": 1}
    assert json.loads(line) == {
        "id": 1,
        "kind": "turn",
        "key": ["default", "söö"],
        "meta": {"at": 5.0, "by": "Ann", "meta": {"k": [1]}},
        "payload": {"role": "user", "content": "😀"},
    }


def test_one_subject_is_carried_alone_and_what_it_pointed_to_is_told(tmp_path):
    with ColdStore.open(tmp_path / "one") as store:
        store.append([row(b"1", key=[b"t", b"a"]), row(b"2", key=[b"t", b"b"])])
        store.append([row(b"3", key=[b"t", b"a"], kind="summary", sources=[1, 2])])
        store.append([row(b"4", key=[b"u", b"a"])])
    for prefix, kept in (([b"t", b"a"], [b"1", b"3"]), ([b"t"], [b"1", b"2", b"3"])):
        target = tmp_path / str(len(kept))
        made, work = carry(tmp_path / "one", target, tmp_path / "file", prefix=prefix)
        assert made.records == len(kept)
        assert work.loose == (1 if len(kept) == 2 else 0)
        with ColdStore.open(target) as store:
            assert [r.payload for r in everything(store)] == kept
            assert everything(store)[-1].sources == ((1,) if len(kept) == 2 else (1, 2))


def test_vectors_are_left_out_and_made_anew(tmp_path, bag):
    with Memory.open(tmp_path / "one", embedder=bag) as memory:
        for n in range(5):
            memory.conversation("log").append({"role": "user", "content": f"a vehicle {n}"})
        assert memory.flush(60)
    made, work = carry(tmp_path / "one", tmp_path / "two", tmp_path / "file")
    assert (made.records, work.done) == (5, 5)
    assert made.vectors > 5
    with Memory.open(tmp_path / "two", embedder=bag) as memory:
        assert memory.flush(60)
        assert memory.search("automobile", k=1)[0].score > 0


BAD = {
    "empty": "",
    "no header": '{"id": 1}\n',
    "newer": '{"warmset": "export", "version": 2}\n',
    "a list": "[]\n",
    "no JSON": "nonsense\n",
    "not ASCII": "ü\n",
}
LINES = [
    "nonsense",
    "[]",
    "{}",
    '{"id": 0, "kind": "turn", "key": ["a"], "meta": {}, "payload": {}}',
    '{"id": 2, "kind": 2, "key": ["a"], "meta": {}, "payload": {}}',
    '{"id": 1, "kind": "turn", "key": ["a"], "meta": {}, "payload": {}}',
    '{"id": 2, "kind": "turn", "key": [], "meta": {}, "payload": {}}',
    '{"id": 2, "kind": "turn", "key": "ab", "meta": {}, "payload": {}}',
    '{"id": 2, "kind": "turn", "key": {"a": 1}, "meta": {}, "payload": {}}',
    '{"id": 2, "kind": "turn", "key": ["a"], "meta": {"parent": 7}, "payload": {}}',
    '{"id": 2, "kind": "turn", "key": ["a"], "meta": {"parent": 2}, "payload": {}}',
    '{"id": 2, "kind": "turn", "key": 3, "meta": {}, "payload": {}}',
    '{"id": 2, "kind": "turn", "key": [{"base64": "*"}], "meta": {}, "payload": {}}',
    '{"id": 2, "kind": "turn", "key": ["a"], "meta64": "*", "payload": {}}',
    '{"id": 2, "kind": "turn", "key": ["a"], "meta": {}, "payload64": "e30=*"}',
    '{"id": 2, "kind": "turn", "key": ["a"], "meta": {}}',
    '{"id": 2, "kind": "turn", "key": ["a"], "meta": {}, "payload": 3}',
    '{"id": 2, "kind": "turn", "key": ["a"], "meta": {}, "payload": {}, "sources": [true]}',
    '{"id": 2, "kind": "turn", "key": ["a"], "meta": {}, "payload": {}, "sources": 1}',
]
GOOD = '{"id": 1, "kind": "turn", "key": ["a"], "meta": {}, "payload": {}}'
HEADER = '{"warmset": "export", "version": 1}\n'


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_what_is_no_export_is_refused(text, tmp_path):
    (tmp_path / "file").write_text(text)
    with ColdStore.open(None) as store, pytest.raises(InvalidInputError, match="file"):
        Import(store, survey(tmp_path / "file"))


@pytest.mark.parametrize("line", LINES)
def test_a_bad_line_is_named_before_anything_is_appended(line, tmp_path):
    (tmp_path / "file").write_text(f"{HEADER}{GOOD}\n{line}\n")
    with ColdStore.open(None) as store:
        with pytest.raises(InvalidInputError, match="line 3"):
            Import(store, survey(tmp_path / "file")).run()
        assert store.stats()["records"] == 0


def test_a_conversation_that_is_there_already_is_not_mixed_with(tmp_path):
    (tmp_path / "file").write_text(HEADER + GOOD)
    with ColdStore.open(None) as store:
        Import(store, survey(tmp_path / "file")).run()
        with pytest.raises(InvalidInputError, match="'a' has records in the store already"):
            Import(store, survey(tmp_path / "file"))
        store.erase(prefix=[b"a"])
        Import(store, survey(tmp_path / "file")).run()
        assert len(everything(store)) == 1


def test_an_import_that_stops_says_how_far_it_came(tmp_path):
    big = '{"id": 400, "kind": "turn", "key": ["a"], "meta": {}, "payload": {"x": "%s"}}'
    many = [GOOD.replace('"id": 1', f'"id": {n}') for n in range(1, 400)]
    (tmp_path / "file").write_text(HEADER + "\n".join([*many, big % ("x" * 2000)]))
    with ColdStore.open(None, max_record=1000) as store:
        work, told = Import(store, survey(tmp_path / "file")), []
        with pytest.raises(StoreError):
            work.run(lambda *one: told.append(one))
        assert (work.done, work.total) == (256, 400)
        assert told == [(256, 400)]
        assert store.stats()["records"] == 256


def test_a_head_that_is_lost(tmp_path):
    (tmp_path / "file").write_text(
        HEADER
        + '{"id":7,"kind":"turn","key":["t","c"],"meta":{"at":1.0},'
        + '"payload":{"role":"user","content":"x"}}\n'
        + '{"id":8,"kind":"checkpoint","key":["t","c"],"meta":{"what":"head","id":5},'
        + '"payload64":""}'
    )
    with ColdStore.open(tmp_path / "two") as store:
        work = Import(store, survey(tmp_path / "file"))
        work.run()
        assert (work.done, work.loose) == (1, 1)
    with Memory.open(tmp_path / "two", embedder="lexical", tenant="t") as memory:
        assert memory.conversation("c").ids == [1]


def test_a_path_that_ends_with_an_entry_that_is_no_message_is_carried_as_it_was(tmp_path):
    with Memory.open(tmp_path / "one", embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append([{"role": "user", "content": word} for word in ("a", "b")])
        log.pop()
        log.keep(b"a checkpoint")
        log.append({"role": "user", "content": "c"})
        log.pop()
        assert [turn["content"] for turn in log] == ["a"]
    carry(tmp_path / "one", tmp_path / "two", tmp_path / "file")
    with Memory.open(tmp_path / "two", embedder="lexical") as memory:
        assert [turn["content"] for turn in memory.conversation("log")] == ["a"]


def test_the_file_of_an_export_is_private(tmp_path):
    from warmset.cli.app import run  # noqa: PLC0415 - beside its only use

    with Memory.open(tmp_path / "one", embedder="lexical") as memory:
        memory.conversation("log").append({"role": "user", "content": "x"})
    assert run(["export", str(tmp_path / "one"), "--out", str(tmp_path / "file")]) == 0
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "one"]


def test_a_message_whose_parent_was_erased_is_carried_on(tmp_path):
    messages = [{"role": "user", "content": f"message {n}"} for n in range(4)]
    with Memory.open(tmp_path / "one", embedder="lexical") as memory:
        log = memory.conversation("log")
        log.sync(messages)
        log.sync([*messages[:2], {"role": "user", "content": "another"}])
        branched = log.ids
        memory.erase(ids=[branched[1]])
        kept = [hit["content"] for hit in memory.conversation("log").fetch(log.ids)]
    made, work = carry(tmp_path / "one", tmp_path / "two", tmp_path / "file")
    assert (made.records, work.done, work.loose) == (5, 5, 0)  # with the head
    with Memory.open(tmp_path / "two", embedder="lexical") as memory:
        log = memory.conversation("log")
        assert [one["content"] for one in log.fetch(log.ids)] == kept


def followed(history):
    """Return what each message follows."""
    return {id_: history.turns.parent(id_) for id_ in history.turns.ids()}
