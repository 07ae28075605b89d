"""Random histories of one conversation, written by two processes' engines and by the log itself.

However its path comes about, the messages that an engine has on it are those that the log lists, in
a process that saw everything happen and in one that opens the store now.
"""

from __future__ import annotations

import json
import shutil
import tempfile

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from warmset import ingest, items
from warmset.engine import Redactor
from warmset.engine.engine import Engine
from warmset.errors import Conflict
from warmset.native import Add, ColdStore, Cut, RemoveEntries
from warmset.store.options import StoreOptions

KEY = ("t", "log")
WORDS = st.sampled_from("abcd")
NAMES = st.sampled_from("xyz")
HANDS = st.sampled_from((0, 1))
PLAIN = ingest.Beside(1.0, None, None, None)


def said(word):
    return {"role": "user", "content": word}


class Small(StoreOptions):
    """The options of a store with small segments, so that there is something to compact."""

    def store(self, path):
        return ColdStore.open(
            path, durability="os", encryption=self.encryption, segment_bytes=1_024
        )


class Paths(RuleBasedStateMachine):
    """Two engines on one store, and what the conversation should hold: words with their keys."""

    encryption = None

    @initialize()
    def begin(self):
        self.path = tempfile.mkdtemp()
        self.engines = [self.open(), self.open()]
        self.model = []

    def open(self):
        opening = Small(encryption=self.encryption)
        return Engine(self.path, embedder=None, opening=opening, encoding="o200k_base")

    def teardown(self):
        for engine in getattr(self, "engines", ()):
            engine.close(0)
        shutil.rmtree(getattr(self, "path", ""), ignore_errors=True)

    def hand(self, which):
        engine = self.engines[which]
        engine.follow()
        return engine, engine.ledger(*KEY)

    @rule(which=HANDS, words=st.lists(WORDS, min_size=1, max_size=3))
    def append(self, which, words):
        redactor = Redactor(None, timeout=1, private=False)
        ingest.append_messages(*self.hand(which), list(map(said, words)), PLAIN, redactor)
        self.model += [(word, None) for word in words]

    @rule(which=HANDS, named=st.lists(st.tuples(WORDS, NAMES), min_size=1, max_size=3))
    def append_once(self, which, named):
        redactor = Redactor(None, timeout=1, private=False)
        there = {key: word for word, key in self.model if key is not None}
        new = dict[str, str]()
        for word, key in named:
            if new.setdefault(key, word) != word:
                return
        batch, keys = [said(word) for word, _ in named], [key for _, key in named]
        clash = any(there.get(key, word) != word for word, key in named)
        append = lambda: ingest.append_messages(  # noqa: E731
            *self.hand(which), batch, PLAIN, redactor, key=keys
        )
        if clash:
            with pytest.raises(Conflict):
                append()
            return
        ids = append()
        self.model += [(word, key) for key, word in new.items() if key not in there]
        ledger = self.hand(which)[1]
        assert [ledger.entries[id_].key for id_ in ids] == keys

    @rule(which=HANDS, count=st.integers(1, 4), forget=st.booleans())
    def pop(self, which, count, forget):
        copies = (lambda _: []) if forget else None
        left = ingest.pop_messages(*self.hand(which), count, copies)
        assert [turn["content"] for turn in left] == [word for word, _ in self.model[-count:]]
        del self.model[-count:]

    @rule(which=HANDS, data=st.data(), forget=st.booleans())
    def truncate(self, which, data, forget):
        engine, ledger = self.hand(which)
        place = data.draw(st.integers(0, len(self.model)))
        last = ledger.history.path[place - 1] if place else None
        copies = (lambda _: []) if forget else None
        left = ingest.truncate_messages(engine, ledger, last, copies)
        assert [turn["content"] for turn in left] == [word for word, _ in self.model[place:]]
        del self.model[place:]

    @rule(which=HANDS, data=st.data(), words=st.lists(WORDS, max_size=3))
    def sync(self, which, data, words):
        stays = data.draw(st.integers(0, len(self.model)))
        whole = [*(word for word, _ in self.model[:stays]), *words]
        redactor = Redactor(None, timeout=1, private=False)
        engine, ledger = self.hand(which)
        ingest.sync_messages(engine, ledger, list(map(said, whole)), PLAIN, redactor)
        entries, path = ledger.entries, self.hand(which)[1].history.path
        self.model = [(word, entries[id_].key) for word, id_ in zip(whole, path, strict=True)]

    @rule(which=HANDS, data=st.data(), anywhere=st.booleans())
    def erase(self, which, data, anywhere):
        engine, ledger = self.hand(which)
        known = list(ledger.entries) if anywhere else ledger.history.path
        if not known:
            return
        gone = data.draw(st.sets(st.sampled_from(known), min_size=1, max_size=3))
        path = ledger.history.path
        self.model = [one for one, id_ in zip(self.model, path, strict=True) if id_ not in gone]
        items.erase(engine, "t", conversation=None, ids=gone)

    @rule(which=HANDS)
    def erase_all(self, which):
        engine, _ = self.hand(which)
        items.erase(engine, "t", conversation="log", ids=None)
        self.model = []

    @rule(which=HANDS, keys=st.lists(st.none() | st.just("o"), min_size=1, max_size=2))
    def keep(self, which, keys):
        log = self.engines[which].log
        log.write([Add(KEY, b"opaque", uid=key, if_present="skip") for key in keys])

    @rule(which=HANDS, words=st.lists(WORDS, max_size=2), data=st.data())
    def replace_the_end(self, which, words, data):
        """A batch of the log that cuts and adds, as another program writes it."""
        engine, _ = self.hand(which)
        kept = engine.log.entries(KEY, limit=None)
        kept = kept[: data.draw(st.integers(0, len(kept)))]
        after = kept[-1].id if kept else 0
        turn = json.dumps({"at": 1.0, "parent": 1}).encode()
        rows = [Cut(KEY, after)]
        for word in words:
            payload = json.dumps(said(word), separators=(",", ":")).encode()
            rows += [Add(KEY, payload, turn=turn), Add(KEY, b"opaque")]
        engine.log.write(rows)
        place = sum(one.turn is not None for one in kept)
        self.model[place:] = [(word, None) for word in words]

    @rule(which=HANDS, data=st.data())
    def remove(self, which, data):
        """A removal by the log, of messages on any path and of entries that are none."""
        engine, ledger = self.hand(which)
        # A message whose JSON names its parent is not removed without a cut: when it is compacted
        # away, nothing is left that says what the path was before it.
        turns = [id_ for id_ in ledger.entries if b'"parent"' not in engine.store.get(id_).meta]
        known = [*turns, *ledger.history.opaque]
        if not known:
            return
        gone = data.draw(st.sets(st.sampled_from(known), min_size=1, max_size=3))
        path = ledger.history.path
        self.model = [one for one, id_ in zip(self.model, path, strict=True) if id_ not in gone]
        engine.log.write([RemoveEntries(KEY, sorted(gone))])

    @rule(which=HANDS)
    def compact(self, which):
        self.engines[which].log.compact()

    @rule(which=HANDS)
    def reopen(self, which):
        self.engines[which].close(0)
        self.engines[which] = self.open()

    @invariant()
    @precondition(lambda self: hasattr(self, "engines"))
    def all_have_one_path(self):
        fresh = self.open()
        try:
            listed = [one for one in fresh.log.entries(KEY, limit=None) if one.turn is not None]
            ids = [one.id for one in listed]
            words = [json.loads(one.payload)["content"] for one in listed]
            assert words == [word for word, _ in self.model]
            for engine in (fresh, *self.engines):
                engine.follow()
                ledger = engine.ledger(*KEY)
                seen = [one.id for one in engine.log.entries(KEY, limit=None) if one.turn]
                assert seen == ids
                assert ledger.history.path == ids
                assert engine.lost == []
                assert ledger.history.turns.fingerprint() == (
                    fresh.ledger(*KEY).history.turns.fingerprint()
                )
        finally:
            fresh.close(0)


class SealedPaths(Paths):
    """The same in an encrypted store."""

    encryption = "keys"


TestPaths = Paths.TestCase
TestSealedPaths = SealedPaths.TestCase
SHORT = settings(max_examples=40, stateful_step_count=15, deadline=None)
TestPaths.settings = TestSealedPaths.settings = SHORT
