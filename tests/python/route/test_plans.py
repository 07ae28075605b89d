"""Plans that are used again: only for the same request, and only while nothing changed."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from warmset import Memory
from warmset.errors import BudgetTooSmall
from warmset.items import NewItem
from warmset.route import Need, Router, RuleTriage, TaskSpec
from warmset.route.desk import Present
from warmset.route.plans import Plans

NOW = datetime(2026, 11, 1, tzinfo=UTC)
NOTES = Need(type="note", scope="global")


class Counting(RuleTriage):
    """Counts how often it judges."""

    calls = 0

    def judge(self, request, candidates, said):
        self.calls += 1
        return super().judge(request, candidates, said)


def spec(*needs, decay="hour"):
    return TaskSpec(
        task_type="t", required_memory=needs or (NOTES,), max_context_tokens=2_000, decay=decay
    )


def made(memory, *needs, decay="hour", plans=64):
    triage = Counting()
    router = Router(
        memory, specs=[spec(*needs, decay=decay)], triage=triage, plans=plans, record=False
    )
    return router, triage


def note(n, **fields):
    return NewItem(memory_type="note", text=f"The ferry {n} sails.", memory_id=f"n{n}", **fields)


def test_the_same_request_is_planned_once(memory):
    memory.items.put(note(1))
    router, triage = made(memory)
    one = router.route("t", query="ferry", now=NOW)
    two = router.route("t", query="ferry", now=NOW + timedelta(days=3))
    assert triage.calls == 1
    assert one.messages == two.messages
    assert one.more(["n1"]).refused
    router.route("t", query="a ferry", now=NOW)
    assert triage.calls == 2


@pytest.mark.parametrize(
    "other",
    [
        {"query": "boat"},
        {"query_vector": [1.0, 0.0]},
        {"conversation": "c"},
        {"conversation": "c", "session": "s"},
        {"pipeline": "p"},
        {"error": "e"},
        {"budget": 1_000},
        {"system": "A prompt, which takes room."},
        {"earlier": {"n1": ["x"]}},
    ],
)
def test_another_request_is_planned_anew(memory, other):
    memory.items.put(note(1))
    router, triage = made(memory)
    router.route("t", query="ferry", now=NOW)
    router.route("t", **{"query": "ferry", "now": NOW, **other})
    assert triage.calls == 2


def test_the_same_room_in_another_dialect_needs_no_other_plan(memory):
    memory.items.put(note(1))
    router, triage = made(memory)
    one = router.route("t", query="ferry")
    two = router.route("t", query="ferry", dialect="anthropic")
    assert one.total_tokens == two.total_tokens
    assert triage.calls == 1
    assert two.dialect == "anthropic"


def changes():
    def append(memory):
        memory.conversation("c").append({"role": "user", "content": "hello"})

    return {
        "put": lambda memory: memory.items.put(note(2)),
        "put another type": lambda memory: memory.items.put(
            NewItem(memory_type="rule", text="The ferry.")
        ),
        "put again": lambda memory: memory.items.put(note(1, keys=["k"])),
        "archive": lambda memory: memory.items.archive("n1"),
        "erase": lambda memory: memory.items.erase("n1"),
        "remember": lambda memory: memory.remember("The ferry is red."),
        "append": append,
        "erase a conversation": lambda memory: memory.erase(conversation="old"),
    }


@pytest.mark.parametrize("change", changes())
def test_after_a_change_it_is_planned_anew(memory, change):
    memory.items.put_many([note(1), note(9)])
    memory.conversation("old").append({"role": "user", "content": "ferry"})
    router, triage = made(memory, NOTES, Need(type="conversation", scope="global"))
    router.route("t", query="ferry")
    changes()[change](memory)
    found = router.route("t", query="ferry")
    assert triage.calls == 2
    fresh, _ = made(memory, NOTES, Need(type="conversation", scope="global"), plans=0)
    assert found.to_dict() == fresh.route("t", query="ferry").to_dict()


def test_vectors_that_come_later_change_a_plan():
    with Memory.open(None, embedder=lambda texts: [[1.0, float(len(t))] for t in texts]) as memory:
        with memory._handle.engine.indexer.paused():
            memory.items.put(note(1))
            router, triage = made(memory)
            router.route("t", query="ferry")
        memory.flush(10)
        router.route("t", query="ferry")
        assert triage.calls == 2


def test_what_ages_by_the_hour_is_planned_for_one_moment(memory):
    memory.items.put(note(1, relevance_decay=0.5, timestamp=NOW))
    later = NOW + timedelta(hours=1)
    for needs, decay, calls in [
        ((NOTES,), "hour", 2),
        ((NOTES,), "turn", 1),
        ((Need(type="note", scope="global", recency="30d"),), "turn", 2),
    ]:
        router, triage = made(memory, *needs, decay=decay)
        one = router.route("t", query="ferry", now=NOW)
        router.route("t", query="ferry", now=NOW)
        assert triage.calls == 1
        two = router.route("t", query="ferry", now=later)
        assert triage.calls == calls
        half = 0.5 if decay == "hour" else 1.0
        assert two.context_payload[0].relevance == one.context_payload[0].relevance * half


def test_the_plans_used_last_are_kept(memory):
    memory.items.put(note(1))
    router, triage = made(memory, plans=2)
    for query in ("a", "b", "a", "c", "a"):
        router.route("t", query=query)
    assert triage.calls == 3
    router.route("t", query="b")
    assert triage.calls == 4
    router, triage = made(memory, plans=0)
    router.route("t", query="a")
    router.route("t", query="a")
    assert triage.calls == 2


def test_a_plan_that_was_overtaken_is_not_kept():
    plan = SimpleNamespace(gathered=SimpleNamespace(timeless=True))
    plans = Plans(4)
    assert plans.get("k", (1,), NOW) is None
    plans.keep("k", (0,), NOW, plan)  # made of what was there before
    assert plans.get("k", (1,), NOW) is None
    plans.keep("k", (1,), NOW, plan)
    assert plans.get("k", (1,), NOW) is plan
    assert plans.get("k", (2,), NOW) is None
    assert plans.get("k", (1,), NOW) is None


def test_nothing_keeps_a_text_that_is_erased(memory):
    memory.items.put(note(1))
    memory.items.put(note(2))
    router, _ = made(memory)
    router.route("t", query="ferry")
    desk = router._desk
    assert desk.kept._kept
    memory.items.erase("n1")
    assert not desk.kept._kept
    with desk.plans._lock:
        assert not desk.plans._made
    router.route("t", query="ferry")
    kept = dict(desk.kept._kept)
    memory.items.archive("n2")  # not erased, and not to be shown
    assert router.route("t", query="ferry").context_payload == ()
    assert kept


_ERASES = """
import sys
from warmset import Memory
with Memory.open(sys.argv[1], embedder="lexical") as memory:
    memory.items.erase("n1")
"""


def test_nothing_keeps_a_text_that_another_process_erased(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        memory.items.put(note(1))
        memory.items.put(note(2))
        router, _ = made(memory)
        router.route("t", query="ferry")
        kept = router._desk.kept
        texts = {line.text for line in kept._kept.values()}
        assert len(texts) == 2
        erases = [sys.executable, "-c", _ERASES, str(tmp_path)]
        subprocess.run(erases, check=True)  # noqa: S603 - this test's own program
        made_again = router.route("t", query="ferry")
        assert [one.memory_id for one in made_again.context_payload] == ["n2"]
        assert len(kept._kept) == 1


def test_quotes_are_kept_while_nothing_is_removed(memory, monkeypatch):
    read, texts = [], Present.texts

    def noted(self, some):
        read.append([one.memory_id for one in some])
        return texts(self, some)

    monkeypatch.setattr(Present, "texts", noted)
    memory.items.put(note(1))
    router, _ = made(memory)
    router.route("t", query="ferry")
    memory.items.put(note(2))
    router.route("t", query="ferry")
    assert read == [["n1"], ["n2"]]
    memory.items.put(NewItem(memory_type="note", memory_id="n1", text="The ferry has sunk."))
    router.route("t", query="ferry")  # the older version is gone, and so are all quotes
    assert sorted(read[2]) == ["n1", "n2"]
    assert len(router._desk.kept._kept) == 2


def test_a_budget_that_is_too_small_is_no_plan(memory):
    memory.items.put(note(1))
    must = Need(type="note", scope="global", priority="essential")
    router, triage = made(memory, must)
    for _ in range(2):
        with pytest.raises(BudgetTooSmall):
            router.route("t", query="ferry", budget=55)
    assert triage.calls == 2
