"""Records of payloads: what they hold, how they go, and payloads that are made again from them."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from warmset import Memory
from warmset.errors import (
    BudgetTooSmall,
    Erased,
    InvalidInputError,
    Locked,
    NewerFormat,
    NotFound,
    StoreFull,
)
from warmset.items import NewItem
from warmset.items.cells import PAYLOADS
from warmset.route import Need, PayloadRecord, Router, TaskSpec, Verdict, expiry, used
from warmset.store.rows import Put
from warmset.store.versions import columns_of

CANARY = "tangerine walrus"
SPEC = TaskSpec(
    task_type="answer",
    max_context_tokens=400,
    required_memory=(
        Need(type="rule", priority="essential", scope="global"),
        Need(type="note", scope="global"),
        Need(type="conversation", scope="current_session"),
        Need(type="fact", scope="global"),
    ),
)


class Model:
    """Judges as a model would: with words of its own."""

    def __init__(self):
        self.calls = 0

    def judge(self, request, candidates, text):
        del request
        self.calls += 1
        return {
            one.id: Verdict("essential" if at == 0 else "supplementary", f"quotes {text(one)}")
            for at, one in enumerate(candidates)
        }


def fill(memory):
    memory.items.put_many(
        [
            NewItem(memory_type="rule", memory_id="euro", text="Amounts are in EUR."),
            NewItem(memory_type="note", memory_id="base", text="Freight is what ships cost."),
            NewItem(
                memory_type="note",
                memory_id="margin",
                text=f"The margin fell by 3 % ({CANARY}).",
                sections=("Secret Section",),
                keys=("Secret Key",),
                dependencies=("base", "aside", "nowhere"),
                reward=0.5,
            ),
            NewItem(memory_type="aside", memory_id="aside", text="An aside.", module_context="m"),
            NewItem(memory_type="note", memory_id="old", text="The margin was 14 %."),
            NewItem(memory_type="note", memory_id="raw", text="raw text of the margin"),
            NewItem(
                memory_type="note",
                memory_id="worked",
                text="what it comes to",
                derived_from=("raw",),
            ),
        ]
    )
    memory.items.supersede(
        "old", NewItem(memory_type="note", memory_id="new", text="The margin was 15 %.")
    )
    memory.remember("The customer asks about margins.", memory_id="asks")
    talk = memory.conversation("talk")
    talk.append({"role": "user", "content": "Hello, what about the margin?"})
    talk.append({"role": "assistant", "content": [{"type": "text", "text": "It fell."}]})


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as made:
        fill(made)
        yield made


def routed(router, **given):
    return router.route("answer", query="why did the margin fall?", conversation="talk", **given)


def change(memory):
    """Change all that a payload must not depend on."""
    memory.items.put(NewItem(memory_type="note", memory_id="euro2", text="margin margin margin"))
    memory.items.put(NewItem(memory_type="note", memory_id="base", text="Something else by now."))
    memory.items.put(NewItem(memory_type="note", memory_id="nowhere", text="It is there now."))
    memory.items.supersede(
        "margin", NewItem(memory_type="note", memory_id="newer", text="The margin rose.")
    )
    memory.items.supersede(
        "new", NewItem(memory_type="note", memory_id="newest", text="The margin was 16 %.")
    )
    memory.items.archive("euro", "aside", "worked")
    memory.conversation("talk").append({"role": "user", "content": "And the margin now?"})


def test_a_payload_is_made_again_though_items_came_went_and_changed(memory):
    router = Router(memory, specs=[SPEC])
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    made = routed(router, system="Be brief.", tools=tools)
    assert {"euro", "margin", "base", "aside"} <= {one.memory_id for one in made.context_payload}
    assert {one.memory_id for one in made.missing} == {"nowhere"}
    assert "superseded by new" in {one.reason for one in made.excluded}
    change(memory)
    again = router.replay(made.payload_id)
    assert again == made
    assert again.messages == made.messages
    assert again.total_tokens == made.total_tokens
    assert routed(router).messages != made.messages
    assert asyncio.run(router.areplay(made.payload_id)) == made


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic", "gemini", "interactions"])
def test_a_payload_is_made_again_in_each_dialect(memory, dialect):
    router = Router(memory, specs=[SPEC])
    made = routed(router, system="Be brief.", dialect=dialect)
    assert router.replay(made.payload_id) == made


def test_what_a_model_said_is_not_asked_again(memory):
    model = Model()
    router = Router(memory, specs=[SPEC], triage=model)
    made = routed(router, budget=1_000)
    change(memory)
    assert router.replay(made.payload_id) == made
    assert Router(memory, specs=[]).replay(made.payload_id) == made
    assert model.calls == 1
    record = router.record(made.payload_id)
    assert record.judge == "Model"
    assert record.context_payload == made.context_payload


def test_the_vector_of_a_query_is_on_record(tmp_path):
    def embed(texts):
        return np.ones((len(texts), 3), np.float32)

    with Memory.open(tmp_path, embedder=embed) as memory:
        fill(memory)
        router = Router(memory, specs=[SPEC])
        vector = np.array([1.0, 0.5, 0.25], np.float32)
        made = routed(router, query_vector=vector)
        cell = memory.items.sources.handle.engine.log.get(("default", PAYLOADS, made.payload_id))
        assert np.array_equal(np.frombuffer(cell.own, "<f4"), vector)
        assert router.replay(made.payload_id) == made


def test_a_payload_is_made_again_by_another_process(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        fill(memory)
        made = routed(Router(memory, specs=[SPEC]))
        change(memory)
    code = (
        "import json, sys\n"
        "from warmset import Memory\n"
        "from warmset.route import Router\n"
        "with Memory.open(sys.argv[1], embedder='lexical', mode='read') as memory:\n"
        "    made = Router(memory).replay(sys.argv[2])\n"
        "    print(json.dumps([made.to_dict(), made.messages]))\n"
    )
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code, str(tmp_path), made.payload_id],
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout) == json.loads(json.dumps([made.to_dict(), made.messages]))


def test_an_erased_item_is_named_by_the_ids_of_its_records(memory):
    router = Router(memory, specs=[SPEC])
    made = routed(router)
    gone = [memory.items.get(name).id for name in ("margin", "aside")]
    memory.items.erase("margin", "aside")
    with pytest.raises(Erased) as caught:
        router.replay(made.payload_id)
    assert caught.value.ids == tuple(sorted(gone))
    assert router.record(made.payload_id).context_payload == made.context_payload


def test_an_item_that_was_left_out_counts_as_erased_too(memory):
    router = Router(memory, specs=[SPEC])
    made = routed(router)
    gone = memory.items.get("old").id
    memory.items.erase("old")
    with pytest.raises(Erased) as caught:
        router.replay(made.payload_id)
    assert gone in caught.value.ids


def test_an_older_version_that_a_compaction_took_is_named(memory, monkeypatch):
    router = Router(memory, specs=[SPEC])
    made = routed(router)
    id_ = memory.items.get("margin").id
    change(memory)
    store = memory.items.sources.handle.engine.store

    class Compacted:
        def get(self, seq):
            if seq == id_:
                raise NotFound("gone")
            return store.get(seq)

    monkeypatch.setattr(memory.items.sources.handle.engine, "store", Compacted())
    with pytest.raises(NotFound, match=f"#{id_} were replaced by newer versions"):
        router.replay(made.payload_id)


@pytest.mark.parametrize("encryption", [None, "keys"])
@pytest.mark.parametrize("triage", [None, Model()], ids=["rules", "model"])
def test_no_text_of_an_erased_item_is_left_in_records(tmp_path, encryption, triage):
    with Memory.open(tmp_path, embedder="lexical", encryption=encryption) as memory:
        fill(memory)
        router = Router(memory, specs=[SPEC], triage=triage)
        made = routed(router)
        assert CANARY in str(made.messages)
        log = memory.items.sources.handle.engine.log
        record = log.get(("default", PAYLOADS, made.payload_id))
        for secret in (CANARY, "Secret"):
            assert secret not in record.payload.decode()
            assert secret not in str(record.columns)
        judged = ("default", PAYLOADS, made.payload_id, "judged")
        assert (log.get(judged) is None) == (triage is None)
        memory.items.erase("margin")
        assert log.get(judged) is None
        reasons = [one.reason for one in router.record(made.payload_id).context_payload]
        assert CANARY not in str(reasons)
        assert CANARY not in str(routed(router).messages)
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or CANARY.encode() not in file.read_bytes()


def test_erasing_a_conversation_erases_its_records(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        fill(memory)
        apart = dataclasses.replace(SPEC, required_memory=SPEC.required_memory[:2])
        router = Router(memory, specs=[apart], triage=Model())  # no message is a candidate
        made = router.route("answer", query="who is Mary Canary?", conversation="talk")
        other = router.route("answer", query="what else?")
        memory.erase(conversation="talk")
        log = memory.items.sources.handle.engine.log
        assert log.get(("default", PAYLOADS, made.payload_id, "judged")) is None
        with pytest.raises(NotFound):
            router.replay(made.payload_id)
        assert [one.payload_id for one in router.payloads()] == [other.payload_id]
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"Mary Canary" not in file.read_bytes()


def test_records_are_listed_newest_first(memory):
    router = Router(memory, specs=[SPEC, dataclasses.replace(SPEC, task_type="other")])
    now = datetime(2026, 1, 2, tzinfo=UTC)
    first = routed(router, now=now)
    second = router.route("other", query="what?", pipeline="run", now=now - timedelta(days=1))
    assert [one.payload_id for one in router.payloads()] == [second.payload_id, first.payload_id]
    assert [one.payload_id for one in router.payloads(k=1)] == [second.payload_id]
    assert [one.payload_id for one in router.payloads(task="answer")] == [first.payload_id]
    [mine] = router.payloads(conversation="talk")
    assert mine == PayloadRecord(
        payload_id=first.payload_id,
        task="answer",
        time=now,
        query="why did the margin fall?",
        conversation="talk",
        pipeline=None,
        judge="RuleTriage",
        context_payload=first.context_payload,
        excluded=first.excluded,
        missing=first.missing,
        total_tokens=first.total_tokens,
        budget_remaining=first.budget_remaining,
    )
    assert router.record(second.payload_id).pipeline == "run"
    with pytest.raises(InvalidInputError):
        router.payloads(k=0)


def test_another_tenant_sees_no_record(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        fill(memory)
        made = routed(Router(memory, specs=[SPEC]))
    with Memory.open(tmp_path, embedder="lexical", tenant="other") as memory:
        router = Router(memory, specs=[SPEC])
        assert router.payloads() == []
        assert used(memory) == {}
        with pytest.raises(NotFound):
            router.replay(made.payload_id)


def test_a_record_of_another_format_is_refused(memory):
    router = Router(memory, specs=[SPEC])
    made = routed(router)
    log = memory.items.sources.handle.engine.log
    key = ("default", PAYLOADS, made.payload_id)
    cell = log.get(key)
    said = {**json.loads(cell.payload), "v": 2}
    log.write([Put(key, json.dumps(said).encode(), columns=cell.columns)])
    for call in (router.replay, router.record):
        with pytest.raises(NewerFormat, match="format 2"):
            call(made.payload_id)


@pytest.mark.parametrize("wrong", [None, "", 7])
def test_a_name_of_a_record_is_a_text(memory, wrong):
    with pytest.raises(InvalidInputError, match="payload_id"):
        Router(memory).replay(wrong)


def test_a_record_expires(memory):
    with pytest.raises(InvalidInputError, match="keep_records"):
        Router(memory, keep_records=timedelta(0))
    log = memory.items.sources.handle.engine.log
    for keep in (timedelta(days=3), None):
        made = routed(Router(memory, specs=[SPEC], keep_records=keep, triage=Model()))
        for parts in ((), ("judged",)):
            cell = log.get(("default", PAYLOADS, made.payload_id, *parts))
            lasts = None if cell.expires is None else cell.expires - cell.at
            assert lasts == (None if keep is None else 3 * 86_400_000_000)
    made = routed(Router(memory, specs=[SPEC]))
    cell = log.get(("default", PAYLOADS, made.payload_id))
    assert cell.expires - cell.at == 90 * 86_400_000_000


def cells(memory, now=0):
    """Return the keys of all cells of records that lie in the store, expired ones included."""
    log = memory.items.sources.handle.engine.log
    return [one.key for one in log.scan(("default", PAYLOADS), limit=None, now=now)]


def test_expired_records_are_removed_with_later_ones(memory, monkeypatch):
    monkeypatch.setattr(expiry, "EVERY", 3)
    log = memory.items.sources.handle.engine.log
    log.write([Put(("default", "mine"), b"", expires=9)], now=1)
    short = Router(
        memory, specs=[SPEC], keep_records=timedelta(microseconds=1), triage=Model(), plans=0
    )
    found = []
    for _ in range(5):
        routed(short)
        found.append(len(cells(memory)))
    assert found == [0, 2, 4, 0, 2]  # the first one and each third one after it
    long = Router(memory, specs=[SPEC])
    kept = [routed(long).payload_id for _ in range(4)]
    assert [key[2].decode() for key in cells(memory)] == sorted(kept)
    assert log.get(("default", "mine"), now=2) is not None  # that has a clock of its own


def test_records_are_looked_at_in_turn(memory, monkeypatch):
    monkeypatch.setattr(expiry, "EVERY", 1)
    monkeypatch.setattr(expiry, "LOOKED_AT", 2)
    for _ in range(3):
        routed(Router(memory, specs=[SPEC], keep_records=None))
    kept = len(cells(memory))
    routed(Router(memory, specs=[SPEC], keep_records=timedelta(microseconds=1)))
    router = Router(memory, specs=[SPEC])
    for _ in range(3):
        routed(router)
    assert len(cells(memory)) == kept + 3


def test_what_cannot_be_removed_costs_no_record(memory, monkeypatch):
    router = Router(memory, specs=[SPEC])

    def fails(*_args, **_given):
        raise Locked("store", "somebody")

    monkeypatch.setattr(expiry.Expiry, "_remove", fails)
    made = routed(router)
    assert router.record(made.payload_id).payload_id == made.payload_id
    assert made.notes == ()


def test_no_record_is_written_if_none_is_wanted(memory):
    router = Router(memory, specs=[SPEC], record=False)
    made = routed(router)
    assert (made.payload_id, made.notes) == (None, ())
    assert router.payloads() == []


@pytest.mark.parametrize("error", [Locked("store", "somebody"), StoreFull("no room left")])
def test_a_record_that_cannot_be_written_costs_no_payload(memory, monkeypatch, caplog, error):
    router = Router(memory, specs=[SPEC])
    expected = routed(router)

    def fails(*_args, **_given):
        raise error

    monkeypatch.setattr(type(memory.items.sources.handle.engine.log), "write", fails)
    with caplog.at_level(logging.WARNING, "warmset.route"):
        made = routed(router)
    assert made.messages == expected.messages
    assert made.payload_id is None
    assert made.notes == (f"there is no record of this payload: {type(error).__name__}",)
    assert made.to_dict()["notes"] == list(made.notes)
    earlier = dataclasses.replace(made, notes=("an earlier one",))
    monkeypatch.setattr(type(router._recorder), "_rows", fails)
    again = router._recorder.write(router._desk, SPEC, None, None, earlier)
    assert again.notes == ("an earlier one", *made.notes)
    logged = caplog.records[0]
    assert (logged.event, logged.what, logged.error) == (
        "fell_back",
        "record",
        type(error).__name__,
    )


def test_a_follower_routes_without_a_record(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        fill(memory)
    with Memory.open(tmp_path, embedder="lexical", mode="read") as memory:
        made = routed(Router(memory, specs=[SPEC]))
    assert made.payload_id is None
    assert made.notes == ("there is no record of this payload: ReadOnly",)


def test_a_system_prompt_that_is_no_json_costs_the_record_alone(memory):
    system = [{"type": "text", "text": "Hi", "cache": {1}}]
    made = routed(Router(memory, specs=[SPEC]), system=system, dialect="anthropic")
    assert made.payload_id is None


def test_secrets_of_a_system_prompt_are_not_on_record(tmp_path):
    def redact(text):
        return text.replace("hunter2", "***")

    with Memory.open(tmp_path, embedder="lexical", redact=redact) as memory:
        fill(memory)
        router = Router(memory, specs=[SPEC])
        made = router.route("answer", query="is hunter2 right?", system="The word is hunter2.")
        assert router.replay(made.payload_id).messages[0]["content"] == "The word is ***."
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"hunter2" not in file.read_bytes()


@pytest.mark.parametrize(
    ("system", "kept"),
    [
        ("The word.", "x"),
        ([{"type": "text", "text": "The word."}], [{"type": "text", "text": "x"}]),
    ],
)
def test_a_hook_that_changes_every_text_leaves_a_system_prompt_as_it_is_built(system, kept):
    spec = TaskSpec(
        task_type="answer",
        max_context_tokens=400,
        required_memory=(Need(type="note", scope="global"),),
    )
    with Memory.open(None, embedder="lexical", redact=lambda _text: "x") as memory:
        memory.items.put(NewItem(memory_type="note", memory_id="a", text="The margin."))
        router = Router(memory, specs=[spec])
        made = router.route("answer", query="q", system=system, dialect="anthropic")
        assert router.replay(made.payload_id).system == kept


def test_an_essential_item_that_is_erased_while_it_is_routed_is_reported(memory, monkeypatch):
    router = Router(memory, specs=[SPEC])
    gatherer = router._desk.gatherer
    gather = type(gatherer).gather

    def hooked(self, spec, request):
        found = gather(self, spec, request)
        memory.items.erase("euro", "base", "aside")
        return found

    monkeypatch.setattr(type(gatherer), "gather", hooked)
    made = routed(router)
    [euro] = [one for one in made.excluded if one.memory_id == "euro"]
    assert (euro.classification, euro.reason) == ("irrelevant", "it was removed meanwhile")
    assert {one.memory_id for one in made.missing} == {"base", "aside", "nowhere"}
    assert "margin" in {one.memory_id for one in made.context_payload}
    monkeypatch.undo()
    assert router.replay(made.payload_id) == made


def test_usage_is_when_an_item_last_stood_in_a_payload(memory):
    router = Router(memory, specs=[SPEC])
    now = datetime(2026, 1, 2, tzinfo=UTC)
    names = {one.memory_id for one in routed(router, now=now).context_payload}
    routed(router, now=now - timedelta(days=1))
    found = used(memory)
    assert found == dict.fromkeys(names, now)
    memory.items.erase("margin")
    assert found.keys() - used(memory).keys() == {"margin"}


def test_usage_is_known_of_payloads_with_too_many_names_for_a_column(memory, monkeypatch):
    router = Router(memory, specs=[SPEC])
    monkeypatch.setattr("warmset.route.records.MOST_LISTED", 10)
    made = routed(router)
    assert used(memory).keys() == {one.memory_id for one in made.context_payload}


def test_columns_of_an_older_version_are_read_from_its_record(memory):
    item = NewItem(
        memory_type="note",
        text="x",
        memory_id="typed",
        sections=("Ä", "B"),
        reward=0.25,
        timestamp=datetime(2026, 1, 2, tzinfo=UTC),
    )
    memory.items.put(item)
    engine = memory.items.sources.handle.engine
    held = memory.items.sources.shelf().named("typed")
    cell = memory.items.sources.shelf().cells([held])[0]
    memory.items.put(dataclasses.replace(item, text="y"))
    assert columns_of(engine.store.get(held.id)) == cell.columns


TEXTS = st.sampled_from(["the margin fell", "freight costs 3 %", "never mind", "port 8080 is open"])
ITEMS = st.lists(
    st.tuples(st.sampled_from(["rule", "note", "aside"]), TEXTS, st.integers(0, 5)),
    min_size=1,
    max_size=12,
)


@settings(max_examples=25, deadline=None)
@given(before=ITEMS, after=ITEMS, budget=st.integers(150, 500), query=TEXTS)
def test_any_payload_is_made_again(before, after, budget, query):
    def put(some, start):
        for at, (type_, text, other) in enumerate(some):
            memory.items.put(
                NewItem(
                    memory_type=type_,
                    memory_id=f"i{(start + at) % 9}",
                    text=f"{text} {at}",
                    dependencies=() if other == (start + at) % 9 else (f"i{other}",),
                    module_context=text[:5],
                )
            )

    with Memory.open(None, embedder="lexical") as memory:
        memory.items.put(NewItem(memory_type="rule", memory_id="r", text="a rule"))
        memory.items.put(NewItem(memory_type="note", memory_id="n", text="a note"))
        put(before, 0)
        router = Router(memory, specs=[dataclasses.replace(SPEC, max_context_tokens=budget)])
        try:
            made = router.route("answer", query=query)
        except BudgetTooSmall:
            return
        put(after, 4)
        assert router.replay(made.payload_id) == made
