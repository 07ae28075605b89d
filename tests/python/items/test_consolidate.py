"""`Memory.items.consolidate`: what is archived for its age, and what stays."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest
from other_process import other, said

from warmset import Memory
from warmset.errors import Conflict, InvalidInputError, ReadOnly
from warmset.items import Consolidation, ConsolidationPolicy, NewItem
from warmset.items.consolidate import run
from warmset.store.log import Log

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
OLD = ConsolidationPolicy(archive_after="90d", similarity=None)


@pytest.fixture
def items(memory):
    return memory.items


def put(items, name, age=100.0, **fields):
    fields = {"memory_type": "note", "text": f"the {name} of it", **fields}
    items.put(NewItem(memory_id=name, timestamp=NOW - age * DAY, **fields))
    return name


def names(found):
    return {one.memory_id for one in found}


def gone(plan):
    return [name for name, _reason in plan.archived]


def plan(items, policy=OLD, **options):
    return items.consolidate(policy, now=NOW, **options)


def do(items, policy=OLD, **options):
    return plan(items, policy, dry_run=False, **options)


# --- for their age --------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["90d", timedelta(days=90)])
def test_an_item_is_archived_from_an_age_on(items, given):
    put(items, "exact", 90)
    put(items, "younger", 90 - 1e-9)
    put(items, "oldest", 200)
    found = plan(items, ConsolidationPolicy(archive_after=given))
    assert found == Consolidation(
        archived=(("oldest", "200 days old, never used"), ("exact", "90 days old, never used")),
        kept=1,
        tokens=found.tokens,
    )
    assert found.tokens == sum(items.get(name).token_count for name in ("exact", "oldest"))


def test_nothing_is_archived_for_its_age_without_one(items):
    put(items, "a", 10_000)
    assert plan(items, ConsolidationPolicy()).archived == ()


def test_a_use_keeps_an_item(items, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    for name in ("never", "long ago", "exact", "lately"):
        put(items, name)
    used = {
        "long ago": NOW - 40 * DAY,
        "exact": NOW - 30 * DAY,
        "lately": (NOW - 30 * DAY + timedelta(microseconds=1)).replace(tzinfo=None),
        "unknown": NOW,
    }
    assert gone(plan(items, used=used)) == ["never"]
    idle = ConsolidationPolicy(archive_after="90d", unused_for="30d")
    found = plan(items, idle, used=lambda: used)
    assert gone(found) == ["exact", "long ago", "never"]
    assert dict(found.archived)["exact"] == "100 days old, last used 30 days ago"
    assert len(gone(plan(items, idle))) == 4
    monkeypatch.undo()
    time.tzset()


def test_a_reward_keeps_an_item(items):
    put(items, "none")
    put(items, "low", reward=0.0)
    put(items, "exact", reward=0.5)
    put(items, "lower", reward=0.49)
    assert gone(plan(items)) == ["none"]
    least = ConsolidationPolicy(archive_after="90d", least_reward=0.5, similarity=None)
    assert gone(plan(items, least)) == ["low", "lower", "none"]
    assert dict(plan(items, least).archived)["lower"] == "100 days old, never used, reward 0.49"


def test_only_some_types_and_no_names_that_are_to_be_kept(items):
    put(items, "a")
    put(items, "b", memory_type="other")
    put(items, "c")
    policy = ConsolidationPolicy(archive_after="90d", memory_types="note", keep=["c", "unknown"])
    found = plan(items, policy)
    assert (gone(found), found.kept) == (["a"], 1)
    types = ConsolidationPolicy(archive_after="90d", memory_types=["note", "other"])
    assert gone(plan(items, types)) == ["a", "b", "c"]


def test_messages_and_memories_stay(memory, items):
    memory.conversation("log").append(said("hello"), at=NOW - 1000 * DAY)
    memory.remember("a fact")
    found = do(items, ConsolidationPolicy(archive_after="1s"))
    assert (found.archived, found.merged, found.kept) == ((), (), 0)
    assert len(items.query()) == 2


def test_what_others_need_stays_with_them(items):
    put(items, "raw")
    put(items, "base")
    put(items, "made", derived_from=["raw"], dependencies=["base"])
    put(items, "young", 5, derived_from=["made"])
    put(items, "free")
    assert gone(plan(items)) == ["free"]
    items.archive("young")
    found = plan(items)
    assert set(gone(found)) == {"raw", "base", "made", "free"}
    assert gone(found).index("made") < gone(found).index("base")
    assert gone(found).index("made") < gone(found).index("raw")


def test_items_that_need_each_other_go_together(items):
    put(items, "a", dependencies=["b"])
    put(items, "b", dependencies=["a"])
    assert set(gone(plan(items))) == {"a", "b"}
    one = ConsolidationPolicy(archive_after="90d", similarity=None, limit=1)
    assert (gone(plan(items, one)), plan(items, one).left) == ([], 2)


def test_what_is_shown_in_the_place_of_another_one_stays(memory, items):
    [turn] = memory.conversation("log").append(said("hello"), at=NOW)
    put(items, "first", 5)
    put(items, "heir", supersedes=["first"])
    put(items, "heir of a message", supersedes=[f"turn:{turn}"])
    put(items, "of nothing", supersedes=["erased", "again"])
    put(items, "again", 5)  # later, so it is shown
    found = do(items)
    assert gone(found) == ["of nothing"]
    assert names(items.query()) == {"heir", "heir of a message", "again"}
    put(items, "first", 100)
    put(items, "heir", supersedes=["first"], text="anew")
    assert set(gone(do(items))) == {"first", "heir"}


def test_the_limit_leaves_the_rest_for_another_call(items):
    for age in (100, 300, 200):
        put(items, f"n{age}", age)
    put(items, "needs the oldest", 95, dependencies=["n300"])
    policy = ConsolidationPolicy(archive_after="90d", similarity=None, limit=2)
    first = do(items, policy)
    assert (gone(first), first.left, first.kept) == (["needs the oldest", "n300"], 2, 2)
    assert gone(do(items, policy)) == ["n200", "n100"]
    assert do(items, policy) == Consolidation(applied=True)


# --- done, and taken back -------------------------------------------------------------------------


def test_a_dry_run_writes_nothing(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        for name in "ab":
            put(memory.items, name, text="the same text")
        put(memory.items, "c")
        before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
        position = Log(memory._handle.engine.store).follow(limit=None).position
        found = plan(memory.items, ConsolidationPolicy(archive_after="90d", keep=["a", "b"]))
        assert plan(memory.items, ConsolidationPolicy()).merged
        assert found.archived
        assert not found.applied
        after = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
        assert after == before
        assert Log(memory._handle.engine.store).follow(limit=None).position == position
        assert len(memory.items.query()) == 3


def test_what_is_done_is_what_was_planned_and_can_be_restored(items):
    put(items, "a")
    put(items, "b", 95, text="the ferry leaves at noon")
    put(items, "c", 5, text="the ferry leaves at noon")
    put(items, "d", 4, text="the ferry leaves at noon", meta={"k": 1}, reward=0.25)
    before = {name: items.get(name) for name in "abcd"}
    policy = ConsolidationPolicy(archive_after="90d")
    planned, done = plan(items, policy), do(items, policy)
    assert done.applied
    assert (done.archived, done.merged) == (planned.archived, planned.merged)
    assert (done.skipped, done.kept, done.tokens) == ((), planned.kept, planned.tokens)
    assert done.merged == (("d", "c", "the same text"),)
    assert names(items.query()) == {"c"}
    assert names(items.query("ferry", archived=True)) == {"b", "c", "d"}
    gone_ = items.get("d")
    assert (gone_.archived, gone_.merged_into, gone_.text) == (True, "c", before["d"].text)
    assert items.get("a").merged_into is None
    items.archive("d")
    assert items.get("d").merged_into == "c"
    items.restore("a", "b", "d")
    assert {name: items.get(name) for name in "abcd"} == before
    assert do(items, policy).archived == planned.archived


def test_a_merged_item_that_is_put_again_is_shown(items):
    put(items, "a", text="the same text")
    put(items, "b", 5, text="the same text")
    assert do(items, ConsolidationPolicy()).merged == (("a", "b", "the same text"),)
    put(items, "a", text="the same text")
    assert items.get("a").merged_into is None
    assert names(items.query()) == {"a", "b"}


def test_a_store_opened_again_has_what_was_done(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as memory:
        put(memory.items, "a", text="the same text")
        put(memory.items, "b", 5, text="the same text")
        do(memory.items, ConsolidationPolicy())
    with Memory.open(tmp_path, embedder="lexical", mode="read") as memory:
        assert memory.items.get("a").merged_into == "b"
        assert plan(memory.items, ConsolidationPolicy()).kept == 1
        with pytest.raises(ReadOnly):
            do(memory.items)


def test_more_items_than_fit_in_a_batch(items):
    items.put_many(
        NewItem(memory_type="note", text=f"n {n}", memory_id=f"{n}", timestamp=NOW - 99 * DAY)
        for n in range(1_050)
    )
    found = do(items, ConsolidationPolicy(archive_after="90d", limit=2_000))
    assert (len(found.archived), found.left, found.skipped) == (1_050, 0, ())
    assert items.query() == []


def test_an_asynchronous_twin(items):
    put(items, "a")
    assert gone(asyncio.run(items.aconsolidate(OLD, now=NOW))) == ["a"]


# --- what changes meanwhile -----------------------------------------------------------------------


def meanwhile(monkeypatch, change):
    """Let something happen between the plan and its doing."""
    apply = run._apply

    def later(*arguments):
        change()
        return apply(*arguments)

    monkeypatch.setattr(run, "_apply", later)


def test_what_changed_meanwhile_is_left_and_listed(items, monkeypatch):
    for name in ("erased", "anew", "archived", "needed", "free"):
        put(items, name)
    for name in ("twin", "other twin", "third twin"):
        put(items, name, 6, text="the same text")
    put(items, "kept", 5, text="the same text")
    put(items, "lone", 6, text="another text")
    put(items, "kept too", 5, text="another text")

    def change():
        items.erase("erased", "kept too")
        put(items, "anew", text="other words")
        items.archive("archived", "third twin")
        put(items, "new", 1, dependencies=["needed"])
        put(items, "other twin", 6, text="no more the same text")

    meanwhile(monkeypatch, change)
    found = do(items, ConsolidationPolicy(archive_after="90d"))
    assert gone(found) == ["free"]
    assert found.merged == (("twin", "kept", "the same text"),)
    assert dict(found.skipped) == {
        "erased": "it was erased meanwhile",
        "anew": "it was put anew meanwhile",
        "archived": "it was archived meanwhile",
        "needed": "another item needs it meanwhile",
        "other twin": "it was put anew meanwhile",
        "third twin": "it was archived meanwhile",
        "lone": "kept too, which says the same, was erased meanwhile",
    }
    assert names(items.query()) == {"anew", "needed", "new", "other twin", "kept", "lone"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("a", "it was put anew meanwhile"),
        ("kept", "kept, which says the same, was put anew meanwhile"),
    ],
)
def test_another_process_changes_an_item_while_it_is_written(tmp_path, monkeypatch, change, reason):
    with Memory.open(tmp_path, embedder="lexical", mode="shared") as memory:
        items = memory.items
        put(items, "a", 6, text="the same text")
        put(items, "kept", 5, text="the same text")
        put(items, "b")
        log = memory._handle.engine.log
        write, calls = type(log).write, []

        def late(self, rows, **options):
            if not calls:
                code = f"""
from warmset.items import NewItem
memory.items.put(NewItem(memory_type="note", text="anew", memory_id={change!r}))
"""
                other(tmp_path, code, mode="shared")
            calls.append(rows)
            return write(self, rows, **options)

        monkeypatch.setattr(type(log), "write", late)
        found = do(items, ConsolidationPolicy(archive_after="90d"))
        assert (gone(found), found.merged) == (["b"], ())
        assert dict(found.skipped) == {"a": reason}
        assert items.get(change).text == "anew"
        assert not items.get("a").archived
        assert len(calls) == 2


def test_what_never_comes_to_rest_is_left(memory, items, monkeypatch):
    put(items, "a")
    log = memory._handle.engine.log

    def never(_self, _rows, **_options):
        raise Conflict(None, (b"k",), "version", 5)

    monkeypatch.setattr(type(log), "write", never)
    assert do(items).skipped == (("a", "others keep changing it"),)


def test_two_processes_share_what_is_to_be_done(tmp_path):
    with Memory.open(tmp_path, embedder="lexical", mode="shared") as memory:
        put(memory.items, "a", text="the same text")
        put(memory.items, "b", 5, text="the same text")
        code = """
from warmset.items import ConsolidationPolicy
print(memory.items.consolidate(ConsolidationPolicy(), dry_run=False).merged)
"""
        told = other(tmp_path, code, mode="shared")
        assert told == "(('a', 'b', 'the same text'),)\n"
        assert do(memory.items, ConsolidationPolicy()).merged == ()
        assert names(memory.items.query()) == {"b"}
        memory.items.erase("b")
        memory.items.restore("a")
        assert names(memory.items.query()) == {"a"}


# --- shown, and refused ---------------------------------------------------------------------------


def test_a_plan_is_shown_as_a_table(items):
    put(items, "old")
    put(items, "b", 6, text="the same text")
    put(items, "c", 5, text="the same text")
    policy = ConsolidationPolicy(archive_after="90d")
    assert str(plan(items, policy)) == (
        "          item  into  reason\n"
        "archived  old         100 days old, never used\n"
        "merged    b     c     the same text\n"
        "2 of 3 items, 7 tokens: planned, nothing was changed"
    )
    one = Consolidation(skipped=(("x", "it was erased meanwhile"),), left=2, applied=True)
    assert str(one).splitlines()[1:] == [
        "skipped  x           it was erased meanwhile",
        "0 of 0 items, 0 tokens, 2 left: done",
    ]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"archive_after": "90"}, 'archive_after: expected a timedelta, or a time as "90d"'),
        ({"archive_after": 90}, "archive_after: expected"),
        ({"unused_for": timedelta(-1)}, "unused_for: expected"),
        ({"least_reward": 1.01}, "least_reward: expected 0 to 1"),
        ({"least_reward": float("nan")}, "least_reward: expected 0 to 1"),
        ({"similarity": 0}, "similarity: expected a number over 0 to 1"),
        ({"similarity": 1.01}, "similarity: expected a number over 0 to 1"),
        ({"similarity": True}, "similarity: expected"),
        ({"memory_types": ["note", "conversation"]}, "memory_types: messages"),
        ({"memory_types": [5]}, "memory_types: expected"),
        ({"keep": [""]}, "keep: expected"),
        ({"limit": 0}, "limit: expected"),
    ],
)
def test_a_wrong_policy_is_refused(fields, words):
    with pytest.raises(InvalidInputError, match=words):
        ConsolidationPolicy(**fields)


def test_a_policy_at_its_limits_is_taken():
    ConsolidationPolicy(archive_after=timedelta(0), least_reward=0, similarity=1, limit=1)
    ConsolidationPolicy(least_reward=1, similarity=1e-9)


def test_what_is_no_policy_and_no_use_is_refused(items):
    with pytest.raises(InvalidInputError, match="policy: expected"):
        items.consolidate("90d")
    for used in (["a"], {"a": 5}, lambda: 5):
        with pytest.raises(InvalidInputError, match="used: expected"):
            items.consolidate(OLD, used=used)
    with pytest.raises(InvalidInputError, match="now: expected"):
        items.consolidate(OLD, now=5)
