"""Two engines on one store, as two processes have it: each comes to what the other one did."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager

import pytest
from bag import Bag
from checked_locks import elsewhere
from guarded import guard
from hypothesis import HealthCheck, example, given, settings, strategies as st

from warmset import Memory
from warmset.engine import Engine, Handle
from warmset.index.query_vectors import QueryVectors
from warmset.memory_options import MemoryOptions
from warmset.messages import dumps
from warmset.native import ColdStore
from warmset.store.derived import derived_draft
from warmset.store.forgetting import when_erased
from warmset.store.options import StoreOptions
from warmset.store.records import TurnMeta, turn_draft


class Share:
    """A share in an engine of one's own."""

    def __init__(self, engine):
        self.engine = engine
        indexer = engine.indexer
        self.vectors = None if indexer is None else QueryVectors(indexer.vectorizer)

    def release(self, timeout):
        self.engine.close(timeout)


@contextmanager
def process(path, embedder=None, **options):
    """Open a store with an engine that shares nothing with others but the files."""
    engine = Engine(
        path, embedder=embedder, opening=StoreOptions(durability="os"), encoding="o200k_base"
    )
    guard(engine)
    options = MemoryOptions(embedder=embedder or "lexical", **options)
    with Memory(Handle(Share(engine), options.tenant, options.redactor()), options) as memory:
        yield memory


@pytest.fixture
def pair(tmp_path):
    """Make two memories, the first with an embedder."""
    with process(tmp_path, Bag()) as one, process(tmp_path) as two:
        yield one, two


def said(*texts):
    return [{"role": "user", "content": text} for text in texts]


def texts(memory, name="log"):
    log = memory.conversation(name)
    return [turn["content"] for turn in log.fetch(log.ids)]


def embedded(memory):
    return memory._engine.indexer.vectorizer.embedder.texts


# --- vectors --------------------------------------------------------------------------------------


def test_what_another_process_appends_gives_the_turn_before_it_its_context(pair):
    one, two = pair
    one.conversation("log").append(said("the first"))
    assert one.flush(30)
    assert embedded(one) == ["the first"]
    two.conversation("log").append(said("the second", "the third"))
    assert texts(one) == ["the first", "the second", "the third"]
    assert one.flush(30)
    assert sorted(embedded(one)) == sorted(
        [
            *("the first", "the second", "the third"),
            *("the first\nthe second", "the first\nthe second\nthe third"),
        ]
    )


def test_vectors_of_another_process_are_searched_and_not_made_again(tmp_path):
    with process(tmp_path, Bag()) as one, process(tmp_path, Bag()) as two:
        two.conversation("log").append(said("a car", "a boat", "a plane"))
        assert two.flush(30)
        made = len(embedded(two))
        assert one.search("automobile", k=1)[0].id == two.conversation("log").ids[0]
        assert one.flush(30)
        assert embedded(one) == ["automobile"]
        two.conversation("log").append(said("an airship"))
        assert two.flush(30)
        made = len(embedded(two))
        assert texts(one)[-1] == "an airship"
        assert one.flush(30)
        assert embedded(one) == ["automobile"]
        assert one.stats()["rows"] == 4
        two.erase(ids=two.conversation("log").ids[-1:])
        assert one.flush(30)
        made += 1  # the turn before it has another context
        assert one.stats()["rows"] == two.stats()["rows"] == 3
        two.erase(ids=two.conversation("log").ids[:1])
        assert one.search("ship boat", k=1)[0].id == two.conversation("log").ids[0]
        assert one.flush(30)
        assert one.stats()["rows"] == two.stats()["rows"] == 2
        assert len(embedded(two)) <= made + 2, "the contexts that had words of it"


def test_nothing_is_asked_of_an_embedder_that_is_not_the_stores(tmp_path):
    with process(tmp_path, Bag()) as one:
        one.conversation("log").append(said("a car"))
        assert one.flush(30)
    other = Bag(fingerprint="other")
    with process(tmp_path, other) as one, process(tmp_path) as two:
        two.conversation("log").append(said("a boat"))
        assert texts(one) == ["a car", "a boat"]
        stats = one.stats()
        assert (stats["pending"], stats["failed"], other.texts) == (0, {}, [])


def test_a_turn_that_came_and_was_erased_is_not_waited_for(pair):
    one, two = pair
    one.conversation("log").append(said("a"))
    two.conversation("log").append(said("b"))
    two.conversation("gone").append(said("c"))
    two.erase(conversation="gone")
    two.erase(ids=two.conversation("log").ids[-1:])
    assert texts(one) == ["a"]
    assert one.flush(30)
    assert (one.stats()["pending"], one.stats()["failed"]) == (0, {})
    assert not {"b", "c"} & {*embedded(one)}


class Between:
    """A store in which something happens after the first page that is read."""

    def __init__(self, store, happens):
        self._store, self._happens = store, [happens]

    def __getattr__(self, name):
        return getattr(self._store, name)

    def page(self, *args, **options):
        made = self._store.page(*args, **options)
        while made and self._happens:
            self._happens.pop()()
        return made


def test_turns_that_are_erased_while_they_are_read_are_not_waited_for(pair):
    one, two = pair
    one.conversation("log").append(said("a"))
    two.conversation("log").append(said("b", "c"))
    two.conversation("gone").append(said("d"))

    def happens():
        with elsewhere():
            two.erase(conversation="gone")
            two.erase(ids=two.conversation("log").ids[1:2])

    one._engine.store = Between(one._engine.store, happens)
    assert texts(one) == ["a", "c"]
    assert one.conversations() == ["log"]
    assert one.flush(30)
    assert (one.stats()["pending"], one.stats()["failed"]) == (0, {})


# --- records --------------------------------------------------------------------------------------


def test_records_are_taken_up_in_their_order_whoever_wrote_them(pair):
    one, two = pair
    log = one.conversation("log")
    log.append(said("a"))
    two.conversation("log").append(said("b"))
    two.conversation("log").append({"role": "assistant", "content": "c"})
    # Without a look at the store first: another process may have written since the last one.
    engine = one._engine
    with engine.lock:
        ledger = engine.ledger("default", "log")
        engine.append(ledger, said("d"), [TurnMeta(at=5.0)])
        assert [engine.message(id_)["content"] for id_ in ledger.history.path] == [*"abcd"]
    assert texts(two) == texts(one) == [*"abcd"]


def test_what_stays_of_a_branch_is_where_it_was_in_every_process(pair):
    one, two = pair
    log = one.conversation("log")
    log.sync(said(*"abc"))
    log.sync(said(*"apqr"))
    gone = log.ids[1]
    log.sync(said(*"abc"))
    assert texts(two) == [*"abc"]
    two.erase(ids=[gone])
    for memory in pair:
        assert texts(memory) == [*"abc"]
    made = one.conversation("log").sync(said(*"aqr"))
    assert (made.kept, made.appended) == (3, [])
    assert texts(two) == [*"aqr"]


def test_a_turn_that_was_read_in_part_when_a_signal_came_is_there_once(pair, monkeypatch):
    one, two = pair
    two.conversation("log").append(said(*"ab"))

    def interrupted(*_given):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(one._engine, "index_turn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        len(one.conversation("log"))
    assert texts(one) == texts(two) == [*"ab"]
    assert one.stats()["messages"] == 2


def test_a_message_that_names_no_dialect_is_read_in_that_of_its_conversation(tmp_path):
    """Its writer did not know yet that another process had begun the conversation."""
    shown = [
        {"role": "user", "content": "where?"},
        {"type": "reasoning", "id": f"rs_{'a' * 21}", "summary": [], "encrypted_content": "e"},
        {"role": "assistant", "content": "at the quay"},
        {"role": "user", "content": "and now?"},
    ]
    with process(tmp_path / "one") as one, process(tmp_path / "two") as two:
        logs = one.conversation("log"), two.conversation("log")
        logs[0].append(shown)
        logs[1].append(shown[:2])
        with ColdStore.open(tmp_path / "two") as store:
            key, meta = [b"default", b"log"], TurnMeta(at=5.0)
            store.append([turn_draft(key, meta, dumps(message)) for message in shown[2:]])
        met = set()
        for budget in range(16, 40):
            ours, theirs = (log.window(mode="recency", budget=budget).messages for log in logs)
            assert ours == theirs
            met.add(len(ours))
        assert met == {2, 4}, "the reply goes with its reasoning"


@pytest.mark.parametrize("id_", ["1e999", "-1e999", '"x"', "[]", "null", "99"])
def test_a_record_that_cannot_be_read_costs_no_other(tmp_path, id_):
    with process(tmp_path) as one:
        one.conversation("log").append(said("a"))
        key, meta = [b"default", b"log"], f'{{"what":"head","id":{id_}}}'.encode()
        with ColdStore.open(tmp_path) as store:
            store.append([("checkpoint", key, meta, b"", ())])
        one.conversation("log").append(said("b"))
        assert texts(one) == ["a", "b"]
        assert len(one.stats()["damaged"]) == 1


def test_messages_cost_the_same_in_every_process(pair):
    _, two = pair
    text = "Überraschungsgäste übernachten wöchentlich in Приморье, 東京都に行きました。 " * 9
    two.conversation("log").append(said(f"boats {text}"))
    found = [memory.search("boats")[0] for memory in pair]
    assert found[0].tokens == found[1].tokens
    windows = [memory.conversation("log").window(mode="full", budget=9_000) for memory in pair]
    assert windows[0].tokens == windows[1].tokens


def test_a_move_is_of_the_conversation_as_it_is_by_then(pair):
    one, two = pair
    ids = one.conversation("log").append(said(*"abc"))
    engine = one._engine
    with engine.lock:
        ledger = engine.ledger("default", "log")
        with elsewhere():
            two.erase(ids=ids[2:])
        engine.move(ledger, ids[0])
    assert texts(one) == texts(two) == ["a"]
    assert list(two.search("b").ids) == []


def test_a_message_goes_to_the_conversation_as_it_is_by_then(pair):
    one, two = pair
    one.conversation("log").append(said(*"ab"))
    engine = one._engine
    with engine.lock:
        ledger = engine.ledger("default", "log")
        with elsewhere():
            two.erase(conversation="log")
        engine.append(ledger, said("c"), [TurnMeta(at=5.0)])
    assert texts(one) == texts(two) == ["c"]
    assert list(one.search("c").ids) == one.conversation("log").ids


def test_the_choices_of_another_process_stay_when_older_ones_are_erased(pair, tmp_path):
    def choices():
        with ColdStore.open(tmp_path, mode="read") as store:
            return [one.seq for one in store.page() if b'"choices"' in one.meta]

    one, two = pair
    log = two.conversation("log")
    for n in range(40):
        log.append(said(f"Question {n} of the boats in the harbour? " * 4))
        log.append({"role": "assistant", "content": f"Answer {n} of the crane. " * 6})
    (gone,) = two.conversation("other").append(said("a secret"))
    for n in range(2):
        log.append(said(f"What about question {n}?"))
        shown = log.window(budget=1_500).messages
        if n == 0:
            log.append({"role": "assistant", "content": "It is 0."})
    assert len(one.conversation("log")) == 83
    assert len(choices()) == 2
    two.erase(ids=[gone])
    assert len(choices()) == 1
    assert one.conversation("log").window(budget=1_500).messages == shown
    assert len(choices()) == 1, "they are used again"


def test_an_erasure_knows_what_others_wrote_until_then(pair):
    one, two = pair
    (gone,) = one.conversation("log").append(said("a"))
    (id_,) = two.conversation("log").append(said("b"))
    seen = []

    def copies():
        seen.append(one._engine.knows(id_))
        return ()

    one._engine.erase(records=[gone], copies=copies)
    assert seen == [True]


def test_a_derived_record_is_there_as_soon_as_it_is_stored(pair):
    one, two = pair
    two._engine.put([derived_draft("item", "default", "log", {"what": "x"}, b"1")])
    ids = one._engine.put([derived_draft("item", "default", "log", {"what": "x"}, b"2")])
    assert ids[0] in one._engine.derived
    assert [made.id for made in one._engine.derived.of("item", "default")] == [1, 2]


def test_an_entry_that_is_no_message_leaves_every_process_with_its_removal(pair):
    one, two = pair
    log = one.conversation("log")
    ids = log.append(said("a", "b"))
    kept = log.keep(b"a checkpoint")
    assert texts(two) == ["a", "b"]
    log.truncate(ids[-1], forget=True)
    assert texts(two) == ["a", "b"]
    for memory in pair:
        engine = memory._engine
        with engine.lock:
            assert kept not in engine.ledger("default", "log").history.opaque
            assert not engine.takes_up(range(kept, kept + 1))
            assert engine.takes_up(range(ids[-1], kept + 1))


def test_texts_of_an_erasure_are_forgotten_in_every_process(pair):
    one, two = pair
    calls = []
    when_erased(lambda: calls.append("first"))
    when_erased(lambda: calls.append("second"))

    class Work:
        def forget(self):
            calls.append("work")

        def close(self, timeout, /):
            pass

    one._engine.attached["work",] = Work()
    one.conversation("log").append(said("a", "b"))
    assert texts(two) == ["a", "b"]
    two.erase(ids=two.conversation("log").ids[:1])
    assert sorted({*calls}) == ["first", "second"]
    calls.clear()
    assert texts(one) == ["b"]
    assert sorted(calls) == ["first", "second", "work"]
    calls.clear()
    one.conversation("log").append(said("c"))
    assert calls == [], "nothing more was erased"


def test_a_reply_of_another_process_ends_what_was_sent_before_it(tmp_path):
    def thought(n):
        thinking = {"type": "thinking", "thinking": "hm", "signature": f"s{n}"}
        return {"role": "assistant", "content": [thinking, {"type": "text", "text": f"a{n}"}]}

    def sent(memory):
        log = memory.conversation("log")
        return log.window(mode="full", budget=9_999, dialect="anthropic", model="claude-opus-5-5")

    with process(tmp_path) as one, process(tmp_path) as two:
        one.conversation("log").append(said("u"))
        sent(one)
        two.conversation("log").append([{"role": "assistant", "content": "plain"}, *said("v")])
        sent(one)
        one.conversation("log").append(thought(1))
        one.conversation("log").append(said("w"))
        assert sent(one).report.thinking.kept == 1


# --- everything at once ---------------------------------------------------------------------------

WORDS = ("ant", "bee", "cow", "dog", "eel", "fox")
DEEDS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(["append", "append", "edit", "cut", "back", "erase", "drop", "look"]),
        st.integers(0, 5),
    ),
    max_size=10,
)


@example(deeds=[(0, "append", 1), (0, "append", 2), (0, "edit", 0)])
@example(deeds=[(0, "append", 1), (1, "look", 0), (0, "edit", 0), (1, "append", 2)])
@example(deeds=[(0, "append", 1), (0, "append", 2), (0, "cut", 0), (1, "append", 3)])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(deeds=DEEDS)
def test_two_processes_and_a_third_one_have_the_same(deeds, tmp_path_factory):
    path = tmp_path_factory.mktemp("two")
    now, lists = [], [[]]
    with ExitStack() as open_:
        both = [open_.enter_context(process(path)) for _ in range(2)]
        for who, deed, n in deeds:
            memory, log = both[who], both[who].conversation("log")
            match deed:
                case "append":
                    log.append(said(WORDS[n]))
                    now = [*now, WORDS[n]]
                case "edit":
                    now = [*now[:n], WORDS[n], WORDS[0]]
                    log.sync(said(*now))
                case "cut":
                    now = now[:n]
                    log.sync(said(*now))
                case "back":
                    now = lists[n % len(lists)]
                    log.sync(said(*now))
                case "erase" if now:
                    memory.erase(ids=[log.ids[n % len(now)]])
                    now = [one for at, one in enumerate(now) if at != n % len(now)]
                case "drop":
                    memory.erase(conversation="log")
                    now = []
                case _:
                    assert texts(memory) == now
            lists.append(now)
        for memory in both:
            alike(memory, now)
    with process(path) as memory:
        alike(memory, now)
    with ColdStore.open(path, mode="read") as store:
        assert not store.report()["damages"]


def alike(memory, now):
    """Check what a process has of the conversation, and what it finds."""
    log = memory.conversation("log")
    assert texts(memory) == now
    assert log.ids == sorted(log.ids)
    for word in WORDS:
        found = {hit.id for hit in memory.search(word, k=20)}
        assert found == {id_ for id_, text in zip(log.ids, now, strict=True) if text == word}
    assert memory.stats()["failed"] == {}
    assert memory.stats()["damaged"] == []
