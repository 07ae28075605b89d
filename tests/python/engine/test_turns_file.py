"""Conversations that are taken up from a file are those that the records tell of."""

from __future__ import annotations

import json
import random
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from bag import Bag
from other_process import other
from turns import talk

from warmset import Memory
from warmset._core import SavedTurns, TurnsDraft
from warmset.engine import index_file, turns_file
from warmset.errors import EmbedderError, IndexDamaged, NotFound
from warmset.index.file_lock import NAME, TURNS
from warmset.native import ColdStore, Log, RemoveEntries
from warmset.state.kept_ledger import kept
from warmset.store.records import Job, VectorMeta, key_of

FILES = (NAME, TURNS)
MAPS = Path("/proc/self/maps")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Let a store with few turns have the files."""
    monkeypatch.setattr(index_file, "LEAST", 1)


def said(text, role="user"):
    return {"role": role, "content": text}


def opened(path, embedder=None, **options):
    return Memory.open(path, embedder=embedder or Bag(), durability="os", **options)


def settles(text):
    return "umbrella" in text


def known(memory):
    """All that the engine knows of what the store has."""
    engine = memory._engine
    with engine.lock:
        ledgers = {
            name: (
                kept(one),
                list(one.entries.values()),
                one.history.path,
                one.history.digests(),
                [one.history.turns.parent(id_) for id_ in one.entries],
                [one.history.turns.row(id_) for id_ in one.entries],
            )
            for name, one in sorted(engine.ledgers.items())
        }
        book = engine.indexer.book
        return {
            "ledgers": ledgers,
            "derived": sorted(engine.derived),
            "choices": {name: made.id for name, made in engine.choices.items()},
            "outdated": engine.outdated(),
            "described": dict(sorted(engine.described.items())),
            "vectors": sorted(book.rows().tolist()),
            "twice": book.twice(),
            "ready": book.turns(),
            "generation": engine.indexer.vectorizer.newest,
            "made_by": engine.indexer.vectorizer.made_by(),
            "lost": engine.lost,
        }


def source(memory):
    """Whether conversations lie in the file, and whether any was taken up."""
    ledgers = memory._engine.ledgers
    return ledgers.owners.saved is not None, len(ledgers.here)


def history(memory, rng, count):
    """Do this and that with some conversations."""
    logs = [memory.conversation(name) for name in ("a", "b", "c")]
    for at in range(count):
        log = rng.choice(logs)
        act = rng.choice(
            ["append"] * 6
            + ["sync", "shorter", "pop", "gone", "truncate", "keep", "window", "steady", "fact"]
        )
        one = talk(rng.randint(1, 4), rng.randrange(1000))
        if act == "append":
            speaker, session = rng.choice([None, "Ann", "Bob"]), rng.choice([None, None, "s"])
            one.append(said(f"Thanks, Maria! It is number {at}.", "assistant"))
            log.append(one, speaker=speaker, session=session, at=1e9 + at * rng.choice([1, 9e3]))
        elif act == "sync":
            full = log.messages()
            log.sync([*full[: rng.randint(0, len(full))], *one, said(f"edit {at}")])
        elif act == "shorter":
            log.sync(log.messages()[: rng.randint(1, 9)] or one)
        elif act in ("pop", "gone") and len(log) > 1:
            log.pop(rng.randint(1, 2), forget=act == "gone")
        elif act == "truncate" and len(log):
            log.truncate(rng.choice(log.ids))
        elif act == "keep":
            log.keep(b"state %d" % at)
        elif act in ("window", "steady") and len(log):
            mode = "jit" if act == "window" else "steady"
            log.window("the umbrella?", budget=300, mode=mode)
        elif act == "fact":
            memory.remember(f"The boat has number {at}.")


def copies(path, to):
    to.mkdir()
    for name in FILES:
        shutil.copy(path / name, to / name)


def bring_back(path, saved):
    for name in FILES:
        shutil.copy(saved / name, path / name)


def alone(path):
    """Delete the files, so that the records are read."""
    for name in FILES:
        (path / name).unlink(missing_ok=True)


def check_reopened(path, expected):
    """Check that a store opens from its files, and knows the same."""
    with opened(path) as memory:
        assert source(memory) == (True, 0)
        assert known(memory) == expected


def from_records(path):
    """Return what is known of a store once its files are gone."""
    alone(path)
    with opened(path) as memory:
        return known(memory)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("describes", [False, True])
def test_what_the_file_says_is_what_the_records_say(seed, describes, tmp_path):
    rng, path, saved = random.Random(seed), tmp_path / "store", tmp_path / "saved"
    options = {"decisions": settles} if describes else {}
    with opened(path, **options) as memory:
        history(memory, rng, 40)
        memory.flush(60)
    copies(path, saved)
    if rng.random() < 0.7:  # records that came after the file
        with opened(path, **options) as memory:
            history(memory, rng, 15)
            memory.flush(60)
            if rng.random() < 0.3:
                memory.erase(ids=[rng.choice(memory.conversation("a").ids)])
    if rng.random() < 0.6:
        bring_back(path, saved)
    shutil.copytree(path, bare := tmp_path / "bare")
    alone(bare)
    for again in (options, {}):  # with other callables, other descriptions count
        with opened(bare, **again) as memory:
            memory.flush(60)
            expected = known(memory)
            alone(bare)
        alone(bare)
        with opened(path, **again) as memory:
            memory.flush(60)
            assert known(memory) == expected


def test_nothing_is_taken_up_before_it_is_asked_for(tmp_path):
    with opened(tmp_path) as memory:
        for name in ("b", "a", "c"):
            memory.conversation(name).append(talk(9))
        ids = memory.conversation("a").ids
        memory.flush(60)
        expected = memory.stats()
    with opened(tmp_path) as memory:
        assert source(memory) == (True, 0)
        assert memory.conversations() == ["b", "a", "c"]
        told = memory.stats()
        assert [told[name] for name in ("messages", "conversations", "ready", "pending")] == [
            expected[name] for name in ("messages", "conversations", "ready", "pending")
        ]
        assert ids[3] in memory._engine._owners
        assert 10**6 not in memory._engine._owners
        with pytest.raises(NotFound):
            memory._engine.owner(10**6)
        assert source(memory) == (True, 0)
        assert memory.conversation("a").ids == ids
        assert source(memory) == (True, 1)
        assert memory.conversation("none").ids == []
        assert memory._engine.owner(ids[0]) is memory._engine.owner(ids[-1])
        assert memory.search("the car number 7", k=3)
        assert len(memory.conversation("b")) == 9
        assert memory._engine.ledgers.owners.saved is not None
    assert memory._engine.ledgers.owners.saved is None
    if MAPS.exists():  # the map is given back
        assert str(tmp_path) not in MAPS.read_text()


def test_a_file_is_written_again_from_what_was_not_taken_up(tmp_path):
    with opened(tmp_path) as memory:
        for name in ("a", "b", "empty"):
            log = memory.conversation(name)
            log.append(talk(9), speaker="Ann")
            log.keep(b"state")
        memory.conversation("empty").truncate(memory.conversation("empty").ids[0])
        memory.conversation("opaque").keep(b"state")
    with opened(tmp_path) as memory:
        assert source(memory) == (True, 0)
        memory.conversation("a").append(talk(9, 50))
        memory.flush(60)
    with opened(tmp_path) as memory:
        assert source(memory) == (True, 0)
        found = known(memory)
        assert len(found["ledgers"]) == 4
    assert from_records(tmp_path) == found


def test_a_store_of_an_earlier_version_gets_the_file(tmp_path):
    with opened(tmp_path) as memory:
        memory.conversation("a").append(talk(9))
    (tmp_path / TURNS).unlink()
    with opened(tmp_path) as memory:
        assert source(memory)[0] is False
        assert memory.stats()["index"]["source"] == "file"
    assert (tmp_path / TURNS).exists()
    with opened(tmp_path) as memory:
        assert source(memory) == (True, 0)


def changed(path, **fields):
    """Write the file again with other fields in its note."""
    with ColdStore.open(path) as store:
        saved = SavedTurns.open(path / TURNS, store)
        note = json.loads(saved.note()) | fields
        draft = TurnsDraft([], saved, list(range(len(saved))))
        draft.save(path / TURNS, store, saved.vectors(), json.dumps(note).encode())


@pytest.mark.parametrize(
    "fields",
    [
        {"form": 0},
        {"version": "0.0.1"},
        {"covers": 3},
        {"encoding": "cl100k_base"},
        {"last": []},
        {"digest": "00"},
        {"derived": [1]},
        {"embedder": ["zz", ""]},
        {"embedder": ["00"]},
        {"choices": None},
    ],
)
def test_a_file_of_other_records_or_rules_is_not_used(fields, tmp_path):
    with opened(tmp_path) as memory:
        memory.conversation("a").append([*talk(60), said("What of the umbrella?")])
        memory.conversation("b").append(talk(9))
        memory.conversation("b").pop(1)
        chosen(memory.conversation("a"))
        memory.flush(60)
        expected = known(memory)
        assert len(expected["choices"]) == 1
    changed(tmp_path)
    with opened(tmp_path) as memory:
        assert source(memory)[0]
    changed(tmp_path, **fields)
    with opened(tmp_path) as memory:
        assert not source(memory)[0]
        assert known(memory) == expected


@pytest.mark.parametrize("alike", [False, True])
def test_messages_that_the_store_has_otherwise_are_read_again(alike, tmp_path):
    """Two stores went on from one, and the file of one came to the other."""
    with opened(tmp_path / "one") as memory:
        memory.conversation("b").append(talk(9))
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    for name in ("one", "two"):
        with opened(tmp_path / name) as memory:
            memory.conversation("a").append([said(f"it is {name}"), said("the end")], at=5.0)
            memory.flush(60)
            expected = known(memory)
    with ColdStore.open(tmp_path / "two") as store:
        last = json.loads(SavedTurns.open(tmp_path / "two" / TURNS, store).note())["last"]
    bring_back(tmp_path / "two", tmp_path / "one")
    if alike:  # even if the last record were the same
        changed(tmp_path / "two", last=last)
    with opened(tmp_path / "two") as memory:
        assert source(memory)[0] == alike
        assert memory.conversation("a").messages()[0] == said("it is two")
        assert known(memory)["ledgers"] == expected["ledgers"]


@pytest.fixture
def large(tmp_path):
    """A store whose file has several blocks; what is known of it, and a question with choices."""
    with opened(tmp_path) as memory:
        for name in ("a", "b", "c"):
            log = memory.conversation(name)
            log.append(talk(400), speaker="Ann")
            log.sync([*talk(390), said("another end")])
            log.append(said("What of the umbrella?"))
            chosen(log)
        memory.flush(60)
        expected = known(memory)
        assert len(expected["choices"]) == 3
    return tmp_path, expected


def chosen(log):
    """Return a window whose choices are stored."""
    return log.window(budget=600).messages


def found_in(memory):
    """What searches and windows find, and how much is indexed."""
    hits = [list(memory.search(query, k=50)) for query in ("umbrella 7", "the boat near the car")]
    return hits, len(memory._engine.retriever), [chosen(memory.conversation(n)) for n in "abc"]


@pytest.mark.parametrize("met", ["at open", "when it is asked for"])
def test_every_part_that_is_damaged_is_read_from_the_records(met, large, monkeypatch):
    path, expected = large
    if met == "when it is asked for":  # it came after the file was opened
        monkeypatch.setattr(turns_file, "check", lambda _saved: None)
    with opened(path, mode="read") as memory:
        ids = {name: memory.conversation(name).ids for name in "abc"}
        answers = found_in(memory)
    bytes_ = (path / TURNS).read_bytes()
    taken = found = 0
    for number, at in enumerate(range(5, len(bytes_), len(bytes_) // 40)):
        flipped = bytearray(bytes_)
        flipped[at] ^= 1 << at % 8
        (path / TURNS).write_bytes(flipped)
        with opened(path, mode="read") as memory:
            taken += source(memory)[0]
            first = "abc"[number % 3]
            if number % 2:
                assert memory._engine.owner(ids["b"][0]).name == "b"
            assert memory.conversation(first).ids == ids[first]
            assert memory.conversations() == ["a", "b", "c"]
            assert known_without_damage(memory, expected) == expected
            assert found_in(memory) == answers
            assert ids["c"][3] in memory._engine._owners
            assert memory._engine.owner(ids["c"][3]).name == "c"
            lookups = [Job(id_, "turn") in memory._engine.indexer.book for id_ in ids["b"]]
            found += all(lookups)  # where the file is damaged, they are made again
    if met == "at open":
        assert (taken, found) == (0, number + 1)
    else:
        assert taken > 20
        assert found >= 8
    for length in (0, 1, len(bytes_) // 2, len(bytes_) - 1):
        (path / TURNS).write_bytes(bytes_[:length])
        with opened(path, mode="read") as memory:
            assert known(memory) == expected


def test_what_was_taken_up_before_a_part_turned_out_damaged_is_forgotten(large, monkeypatch):
    path, expected = large
    restore, met = turns_file.TurnsFile._restore, []

    def fails_late(self, note):
        restore(self, note)
        met.append(len(self._engine.derived))
        raise ValueError("the last part is odd")

    monkeypatch.setattr(turns_file.TurnsFile, "_restore", fails_late)
    with opened(path, mode="read") as memory:
        assert source(memory)[0] is False
        assert known(memory) == expected
    assert met[0]


def known_without_damage(memory, expected):
    """Return what is known; vectors that cannot be looked up are not known, and made again."""
    try:
        return known(memory)
    except IndexDamaged:
        memory._engine.indexer.book._saved = None
        found = known(memory)
        assert {tuple(row) for row in found["vectors"]} <= {
            tuple(row) for row in expected["vectors"]
        }
        return found | {name: expected[name] for name in ("vectors", "ready")}


def test_that_a_reply_came_behind_a_list_is_known(tmp_path):
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    reply = {"role": "assistant", "content": [thinking, {"type": "text", "text": "yes"}]}
    with opened(tmp_path) as memory:
        for name in ("behind", "alone"):
            log = memory.conversation(name)
            log.append(said("Is it?"))
            bound = (
                {"window": log.window(budget=900, dialect="anthropic")} if name == "behind" else {}
            )
            log.append(reply, **bound)
    for files in (True, False):
        if not files:
            alone(tmp_path)
        with opened(tmp_path) as memory:
            assert source(memory)[0] == files
            with memory._engine.lock:
                lists = [
                    memory._engine.ledger("default", n).sent_lists for n in ("behind", "alone")
                ]
                assert [(one.stored, one.ever) for one in lists] == [(True, True), (False, False)]


def test_an_erasure_over_a_damaged_file_leaves_nothing(large, monkeypatch):
    path, _expected = large
    monkeypatch.setattr(turns_file, "check", lambda _saved: None)
    with opened(path) as memory:
        memory.conversation("b").append(said("the secret zebra"))
        memory.flush(60)
        memory._engine.index.save()
    bytes_ = (path / TURNS).read_bytes()
    for at in range(5, len(bytes_), 16_384):
        shutil.copytree(path, place := path / f"copy {at}", ignore=shutil.ignore_patterns("copy*"))
        (place / TURNS).write_bytes(bytes([*bytes_[:at], bytes_[at] ^ 1, *bytes_[at + 1 :]]))
        with opened(place) as memory:
            memory.erase(conversation="b")
            assert memory.conversations() == ["a", "c"]
            assert memory.search("zebra", k=3) is not None
            memory.flush(60)
        assert not any(b"zebra" in file.read_bytes() for file in place.iterdir() if file.is_file())
        with opened(place) as memory:
            found = known(memory)
            hits = [hit.id for hit in memory.search("zebra umbrella", k=500)]
            assert all(id_ in memory._engine._owners for id_ in hits)
        assert from_records(place) == found


def test_a_conversation_that_was_only_asked_for_is_not_saved(tmp_path):
    with opened(tmp_path) as memory:
        memory.conversation("a").append(talk(9))
        assert memory.conversation("never").ids == []
    assert b"never" not in (tmp_path / TURNS).read_bytes()


def test_an_index_of_other_views_and_an_erasure_elsewhere_are_made_anew(tmp_path):
    with opened(tmp_path) as memory:
        memory.conversation("a").append(talk(9))
        memory.conversation("a").sync(talk(3))
        memory.flush(60)
        left = memory._engine.ledger("default", "a").history.turns.ids()[-1]
    with ColdStore.open(tmp_path) as store:
        store.erase(records=[left])
        store.compact()
    with opened(tmp_path, views="turn") as memory:
        memory.flush(60)
        expected = known(memory)
    alone(tmp_path)
    with opened(tmp_path, views="turn") as memory:
        assert known(memory) == expected


def test_vectors_that_another_process_made_meanwhile_are_made_twice(tmp_path):
    with opened(tmp_path) as memory:
        memory.conversation("a").append(talk(2))
        memory.flush(60)
        book = memory._engine.indexer.book
        of, generation, _view, record = book.rows().tolist()[0]
        meta = VectorMeta(of=of, view="turn", dim=64, generation=generation)
        rows = memory._engine.indexer.vectorizer.vectors([Job(of, "turn")])
        book.keep([meta.draft(key_of("default", "a"), rows[0][1])], rows)
        assert book.twice() == [(generation, record)]
        memory.conversation("a").pop(2, forget=True)
        memory.conversation("a").append(talk(2))
        memory.flush(60)
        memory._engine.index.save()
    with opened(tmp_path) as memory:
        memory.reembed()  # what is gone already is not erased again
        assert set(memory._engine.indexer.book.rows()[:, 1].tolist()) == {generation + 1}


def test_choices_that_ended_have_ended(tmp_path):
    with opened(tmp_path) as memory:
        for name in ("a", "b"):
            log = memory.conversation(name)
            log.append([*talk(60), said("What of the umbrella?")])
            chosen(log)
        log.sync(talk(59))
        memory.flush(60)
        expected = known(memory)
        assert [name for _, name in expected["choices"]] == ["a"]
        assert len(expected["outdated"]) == 1
    with opened(tmp_path) as memory:
        assert source(memory)[0]
        assert known(memory) == expected


def test_a_conversation_that_was_erased_is_not_taken_up_again(tmp_path):
    with opened(tmp_path) as memory:
        for name in ("a", "b"):
            memory.conversation(name).append(talk(9))
        memory.flush(60)
        ids = memory.conversation("a").ids
    with opened(tmp_path) as memory:
        assert memory._engine.owner(ids[0]).name == "a"
        memory.erase(conversation="a")
        assert source(memory)[0]
        assert ids[0] not in memory._engine._owners
        assert memory.conversations() == ["b"]
        assert memory.conversation("a").ids == []
        memory.conversation("a").append(talk(2))
        assert len(memory.conversation("a")) == 2
        assert memory.conversations() == ["b", "a"]


def test_a_removal_by_the_log_alone_is_in_the_next_files(tmp_path):
    """Somebody who knows nothing of the files removed a message."""
    with opened(tmp_path) as memory:
        memory.conversation("a").append([*talk(200), said("the secret zebra")])
        memory.conversation("b").append(talk(200))
        memory.flush(60)
        last = memory.conversation("a").ids[-1]
    with ColdStore.open(tmp_path) as store:
        Log(store).write([RemoveEntries(key_of("default", "a"), [last])])
    assert b"zebra" in (tmp_path / NAME).read_bytes()
    with opened(tmp_path) as memory:
        assert source(memory)[0]
        assert len(memory.conversation("a")) == 200
        expected = known(memory)
    assert b"zebra" not in (tmp_path / NAME).read_bytes()
    check_reopened(tmp_path, expected)


def out_of_reach(_texts):
    raise EmbedderError("out of reach")


def test_vectors_that_were_not_made_are_made_after_opening(tmp_path):
    bag = Bag()
    with opened(tmp_path, bag) as memory:
        memory.conversation("a").append(talk(3))
        memory.flush(60)
        bag.before = out_of_reach
        memory.conversation("a").append([said("a zebra")])
        memory.flush(1)
        memory._engine.index.save()
    with opened(tmp_path) as memory:
        assert memory.flush(60)
        assert memory.stats()["ready"] == 4
    with opened(tmp_path, views="turn") as memory:
        assert memory.flush(60)
    with opened(tmp_path) as memory:
        assert source(memory)[0]


def test_a_store_that_is_searched_by_words_alone_is_embedded_later(tmp_path):
    with Memory.open(tmp_path, embedder="lexical", durability="os") as memory:
        memory.conversation("a").append(talk(9))
    with opened(tmp_path) as memory:
        assert source(memory)[0]
        assert memory.flush(60)
        assert memory.stats()["ready"] == 9
    with Memory.open(tmp_path, embedder="lexical", durability="os") as memory:
        assert source(memory)[0]
        assert memory._engine.index.foreign
        memory.conversation("a").append(talk(9))
    with opened(tmp_path) as memory:
        assert memory.flush(60)
        assert memory.stats()["ready"] == 18


def test_vectors_are_found_until_they_are_erased(tmp_path):
    with opened(tmp_path) as memory:
        memory.conversation("a").append(talk(9))
        memory.flush(60)
        first, second = memory.conversation("a").ids[:2]
    with opened(tmp_path) as memory:
        book = memory._engine.indexer.book
        assert Job(first, "turn") in book
        assert Job(first, "context") in book
        assert Job(first, "item") not in book
        memory.erase(ids=[first])
        assert Job(first, "turn") not in book
        assert Job(second, "turn") in book
        assert first not in book.rows()[:, 0]
        assert second in book.rows()[:, 0]
        assert not any((tmp_path / name).exists() for name in FILES)
        memory.reembed()
        rows = book.rows()
        assert set(rows[:, 1].tolist()) == {2}
        assert len(rows) == len({tuple(row[:3]) for row in rows.tolist()})
    with opened(tmp_path) as memory:
        assert memory.stats()["ready"] == 8


def test_what_an_erasure_elsewhere_took_is_in_no_file(tmp_path):
    """Somebody who knows nothing of the files erased, so they are deleted at the next opening."""
    with opened(tmp_path) as memory:
        memory.conversation("a").append([*talk(9), said("the secret zebra")], speaker="Zoe")
        memory.conversation("b").append(talk(9))
        memory.flush(60)
        last = memory.conversation("a").ids[-1]
    with ColdStore.open(tmp_path) as store:
        store.erase(records=[last])
        store.compact()
    with opened(tmp_path) as memory:
        assert not any((tmp_path / name).exists() for name in FILES)
        assert memory.stats()["index"]["why"] == "the store has other turns"
        assert len(memory.conversation("a")) == 9
        memory.flush(60)
        expected = known(memory)
    with opened(tmp_path) as memory:
        assert source(memory)[0]
        assert known(memory) == expected


def test_what_a_removal_took_is_not_in_the_next_file(tmp_path):
    with opened(tmp_path) as memory:
        memory.conversation("a").append([*talk(200), said("the secret zebra")])
        memory.flush(60)
    with opened(tmp_path) as memory:
        memory.conversation("a").pop(1, forget=True)
        expected = known(memory)
    assert b"zebra" not in (tmp_path / NAME).read_bytes()
    check_reopened(tmp_path, expected)


def test_a_store_with_lost_records_has_no_file(tmp_path):
    with opened(tmp_path) as memory:
        memory.conversation("a").append(talk(9))
    with ColdStore.open(tmp_path) as store:
        store.append([("turn", [b"default", b"a"], b"{", b"not json", ())])
    for _ in range(2):
        with opened(tmp_path) as memory:
            memory.conversation("a").append(talk(9))
            assert len(memory.stats()["damaged"]) == 1
        assert not (tmp_path / TURNS).exists()


def test_another_process_goes_on_from_the_file(tmp_path):
    with opened(tmp_path) as memory:
        memory.conversation("a").append(talk(9))
        memory.flush(60)
    with opened(tmp_path) as memory:
        other(
            tmp_path,
            "memory.conversation('a').append({'role': 'user', 'content': 'from elsewhere'})",
            bag=True,
        )
        assert memory.conversation("a").messages()[-1]["content"] == "from elsewhere"
        assert len(memory.conversation("a")) == 10


def test_a_file_that_cannot_be_written_leaves_none(tmp_path, monkeypatch):
    with opened(tmp_path) as memory:
        memory.conversation("a").append(talk(9))
    with opened(tmp_path) as memory:
        memory.conversation("a").append(talk(9))

        def fail(*_args):
            raise IndexDamaged("a part", 0, "it is odd")

        monkeypatch.setattr(turns_file.TurnsFileDraft, "save", fail)
        for _ in range(2):  # with a file of an earlier time, and without one
            memory._engine.index.save()
            assert "odd" in memory.stats()["index"]["failed"]
            assert not (tmp_path / TURNS).exists()


def test_rows_of_a_book_are_the_newest(tmp_path):
    with opened(tmp_path) as memory:
        memory.conversation("a").append(talk(4))
        memory.flush(60)
    with opened(tmp_path) as memory:
        book = memory._engine.indexer.book
        before = book.rows().tolist()
        of, generation, _view, record = before[0]
        meta = VectorMeta(of=of, view="turn", dim=64, generation=generation)
        assert not book.note(meta, record)
        assert book.twice() == []
        assert book.note(meta, 10**6)
        assert book.twice() == [(generation, record)]
        assert book.rows().tolist() == [*before[1:], [of, generation, 0, 10**6]]
        assert book.turns() == 4


def test_vectors_in_a_damaged_part_are_made_again(tmp_path, monkeypatch):
    with opened(tmp_path) as memory:
        (id_, *_) = memory.conversation("a").append(talk(4))
        memory.flush(60)
    with opened(tmp_path) as memory:
        book = memory._engine.indexer.book
        assert Job(id_, "turn") in book

        def vector(*_args):
            raise IndexDamaged("vectors", 0, "it is odd")

        monkeypatch.setattr(book, "_saved", SimpleNamespace(vector=vector))
        assert Job(id_, "turn") not in book


def test_a_file_is_mapped_only_where_it_may_be_replaced(tmp_path, monkeypatch):
    with opened(tmp_path) as memory:
        memory.conversation("a").append(talk(4))
    asked = []
    opens = turns_file.SavedTurns.open

    class Spy:
        @staticmethod
        def open(path, store, *, read):
            asked.append(read)
            return opens(path, store, read=read)

    monkeypatch.setattr(turns_file, "SavedTurns", Spy)
    for platform in ("linux", "win32"):
        monkeypatch.setattr(sys, "platform", platform)
        with opened(tmp_path):
            pass
    monkeypatch.undo()
    assert asked == ["map", "pread"]
