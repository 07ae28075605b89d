"""Verdicts of a run of modules that outlast the process, and how they go."""

from __future__ import annotations

from datetime import timedelta

import pytest

from warmset import Memory
from warmset.errors import Locked
from warmset.items import NewItem
from warmset.items.cells import PAYLOADS
from warmset.route import Need, Router, TaskSpec, Verdict, verdicts

CHUNKS = Need(type="chunk", scope="global")
SPECS = [
    TaskSpec(task_type=task, required_memory=[CHUNKS], max_context_tokens=2_000)
    for task in ("read", "sum", "write")
]


class Sceptic:
    """Finds one item irrelevant."""

    def judge(self, request, candidates, said):  # noqa: ARG002 - as every triage is called
        words = ("supplementary", "irrelevant")
        return {one.id: Verdict(words[one.memory_id == "c0"], "so") for one in candidates}


def fill(memory, **fields):
    memory.items.put_many(
        [
            NewItem(memory_type="chunk", text=f"Unit {n} made {n}7.", memory_id=f"c{n}", **fields)
            for n in range(3)
        ]
    )


def run(memory, name="may", **options):
    return Router(memory, specs=SPECS, **options).pipeline(name)


def cells(memory, now=None):
    log = memory.items.sources.handle.engine.log
    return log.scan(("default", PAYLOADS, verdicts.RUN), limit=None, now=now)


def test_another_process_goes_on_with_the_verdicts(tmp_path):
    with Memory.open(tmp_path / "m", embedder="lexical") as memory:
        fill(memory)
        one = run(memory, triage=Sceptic())
        one.run("read", lambda _payload: ("x", 1.0), query="unit")
        one.judge("sum", "irrelevant", "c1", "c0")
        said = one.verdicts()
    with Memory.open(tmp_path / "m", embedder="lexical", mode="read") as memory:
        other = run(memory)
        assert other.verdicts() == said
        assert list(other.verdicts()["c0"]) == ["read", "sum"]
        payload = other.route("write", query="unit")
        assert payload.request.earlier == {"c0": ("read", "sum"), "c1": ("sum",)}
        assert other.verdicts()["c2"] == {"read": "supplementary", "write": "supplementary"}
        assert run(memory, "june").verdicts() == {}
        assert run(memory, record=False).verdicts() == {}


def test_a_module_that_judges_again_comes_last(memory):
    fill(memory)
    one = run(memory)
    one.route("read", query="unit", conversation="a")
    one.judge("sum", "irrelevant", "c1")
    assert list(run(memory).verdicts()["c1"]) == ["read", "sum"]
    one.judge("read", "irrelevant", "c1")
    assert list(run(memory).verdicts()["c1"]) == ["sum", "read"]


def test_the_last_word_counts_wherever_it_was_said(memory):
    fill(memory)
    one = run(memory, triage=Sceptic())
    one.route("read", query="unit", conversation="a")
    one.judge("read", "essential", "c0")
    assert run(memory).verdicts()["c0"] == {"read": "essential"}
    one.route("read", query="unit", conversation="a")
    assert run(memory).verdicts() == one.verdicts()
    assert one.verdicts()["c0"] == {"read": "irrelevant"}


def test_the_same_words_are_not_written_again(memory):
    fill(memory)
    one = run(memory)
    one.route("read", query="unit")
    [before] = cells(memory)
    one.route("read", query="another unit")
    [after] = cells(memory)
    assert before.version == after.version


def test_several_writers_keep_what_each_of_them_says(memory):
    fill(memory)
    one, other = run(memory), run(memory)
    one.judge("read", "irrelevant", "c0")
    other.judge("read", "irrelevant", "c1")
    assert run(memory).verdicts() == {
        "c0": {"read": "irrelevant"},
        "c1": {"read": "irrelevant"},
    }


def test_verdicts_are_written_anew_if_another_one_was_faster(memory, monkeypatch):
    fill(memory)
    log = memory.items.sources.handle.engine.log
    one, other, get = run(memory), run(memory), type(log).get

    def late(self, key):
        cell = get(self, key)
        monkeypatch.undo()
        other.judge("read", "irrelevant", "c1")
        return cell

    monkeypatch.setattr(type(log), "get", late)
    one.judge("read", "irrelevant", "c0")
    assert set(run(memory).verdicts()) == {"c0", "c1"}


def test_verdicts_of_a_conversation_are_erased_with_it(tmp_path):
    with Memory.open(tmp_path / "m", embedder="lexical") as memory:
        fill(memory)
        memory.items.put(
            NewItem(memory_type="chunk", text="Its own.", memory_id="zebra", conversation="a")
        )
        [turn] = memory.conversation("a").append({"role": "user", "content": "Hello."})
        one = run(memory)
        one.route("read", query="unit", conversation="a")
        one.route("sum", query="unit", conversation="b")
        one.judge("write", "irrelevant", "zebra", "c0", f"turn:{turn}", "nothing")
        memory.erase(conversation="a")
        left = run(memory).verdicts()
        assert {task for words in left.values() for task in words} == {"sum", "write"}
        assert (left["c0"]["write"], left["nothing"]["write"]) == ("irrelevant", "irrelevant")
        assert f"turn:{turn}" not in left
        assert "write" not in left.get("zebra", {})


def test_verdicts_expire_as_records_do(memory):
    fill(memory)
    run(memory, keep_records=timedelta(microseconds=1)).judge("read", "irrelevant", "c0")
    assert run(memory).verdicts() == {}
    for keep, lasts in ((timedelta(days=3), 3 * 86_400_000_000), (None, None)):
        run(memory, f"{keep}", keep_records=keep).judge("read", "irrelevant", "c0")
        [cell] = [one for one in cells(memory) if one.key[3].decode() == f"{keep}"]
        assert lasts == (None if cell.expires is None else cell.expires - cell.at)


def test_without_records_nothing_is_written(memory):
    fill(memory)
    one = run(memory, record=False, triage=Sceptic())
    one.route("read", query="unit")
    one.judge("read", "irrelevant", "c1")
    assert cells(memory) == []
    assert one.verdicts()["c0"] == {"read": "irrelevant"}


def test_verdicts_are_no_records_of_payloads(memory):
    fill(memory)
    one = run(memory)
    one.judge("read", "irrelevant", "c0")
    router = Router(memory, specs=SPECS)
    assert router.payloads() == []
    made = one.route("read", query="unit")
    assert [record.payload_id for record in router.payloads()] == [made.payload_id]


@pytest.mark.parametrize("method", ["get", "write"])
def test_verdicts_that_cannot_be_written_cost_no_payload(memory, monkeypatch, method):
    fill(memory)
    one = run(memory, triage=Sceptic())

    def fails(*_args, **_given):
        raise Locked("store", "somebody")

    monkeypatch.setattr(type(memory.items.sources.handle.engine.log), method, fails)
    one.route("read", query="unit")
    assert one.verdicts()["c0"] == {"read": "irrelevant"}
