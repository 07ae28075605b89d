"""LangGraph's checkpoints in a log, judged by its conformance suite and checkpoint-postgres' tests.

Not re-expressed: tests of connections, pools, pipelines and migrations, which a log has not; of
`pending_sends` of checkpoints before version 4, which no supported LangGraph writes.
"""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, TypedDict

import pytest

pytest.importorskip("langgraph", reason="the framework whose checkpoints these are")

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.graph import END, START, StateGraph

from warmset.adapters.langgraph import WarmsetSaver
from warmset.errors import Conflict
from warmset.native import ColdStore, Log


def made(path=None, **options):
    return WarmsetSaver(Log(ColdStore.open(path)), **options)


def test_the_conformance_suite_passes_base_and_extended(capsys):
    suite = pytest.importorskip("langgraph.checkpoint.conformance", reason="its suite")
    from langgraph.checkpoint.conformance.initializer import checkpointer_test  # noqa: PLC0415

    @checkpointer_test(name="WarmsetSaver")
    async def fresh():
        yield made()

    report = asyncio.run(suite.validate(fresh))
    counts = {name: (one.tests_passed, one.tests_failed) for name, one in report.results.items()}
    skipped = [name for name, one in report.results.items() if not one.detected]
    with capsys.disabled():
        passed, failed = map(sum, zip(*counts.values(), strict=True))
        print(f"\nlanggraph-checkpoint-conformance: {passed} passed, {failed} failed, {skipped=}")
    assert not [why for one in report.results.values() for why in one.failures or ()]
    assert not skipped
    assert sum(one for one, _ in counts.values()) >= 81


def put(saver, thread, parent, step, values, versions, *, ns="", metadata=None, name=None):
    names = {"thread_id": thread, "checkpoint_ns": ns}
    if parent is not None:
        names["checkpoint_id"] = parent["configurable"]["checkpoint_id"]
    checkpoint = empty_checkpoint()
    name = name or str(uuid6(clock_seq=step))
    checkpoint.update(v=4, id=name, channel_values=values, channel_versions=versions)
    beside = {"source": "loop", "step": step, "parents": {}, **(metadata or {})}
    new = {key: versions[key] for key in values}
    return saver.put({"configurable": names}, checkpoint, beside, new)


def three(saver, thread, ns="", metadata=None):
    steps = [
        ({"a": [1], "s": ["shared"]}, {"a": "1", "s": "1"}),
        ({"a": [1, 2]}, {"a": "2", "s": "1"}),
        ({"a": [1, 2, 3]}, {"a": "3", "s": "1"}),
    ]
    parent = None
    for step, (values, versions) in enumerate(steps):
        parent = put(saver, thread, parent, step, values, versions, ns=ns, metadata=metadata)
        saver.put_writes(parent, [("a", step)], f"task {step}")
    return parent


def cells(saver, thread, kind):
    """What lies in the log of a thread."""
    found = saver._place.log.scan(saver._threads.key(thread, kind), limit=None)
    return [tuple(part.decode() for part in one.key[4:]) for one in found]


def everything(saver, thread):
    return {kind: cells(saver, thread, kind) for kind in "cbw"}


def name_of(config):
    return config["configurable"]["checkpoint_id"]


# --- pruning --------------------------------------------------------------------------------------


def test_keep_latest_keeps_each_namespaces_head_with_its_writes_and_values():
    saver = made()
    heads = {ns: three(saver, "t", ns) for ns in ("", "sub:1")}
    three(saver, "other")
    before = {ns: saver.get_tuple(head) for ns, head in heads.items()}
    other = everything(saver, "other")
    saver.prune(["t"])
    assert cells(saver, "t", "c") == [(ns, name_of(heads[ns])) for ns in ("", "sub:1")]
    assert [one[:2] for one in cells(saver, "t", "w")] == cells(saver, "t", "c")
    values = [("a", "3"), ("s", "1")]
    assert cells(saver, "t", "b") == [(ns, *one) for ns in ("", "sub:1") for one in values]
    for ns, head in heads.items():
        assert saver.get_tuple(head) == before[ns]._replace(parent_config=None)
    assert everything(saver, "other") == other


def delta_thread(saver, thread, evidence):
    if evidence == "counters":
        first = put(saver, thread, None, 0, {"m": [1]}, {"m": "1"})
        counted = {"counters_since_delta_snapshot": {"m": [1, 1]}}
        put(saver, thread, first, 1, {}, {"m": "2"}, metadata=counted)
    elif evidence == "snapshot":
        types = pytest.importorskip("langgraph.checkpoint.serde.types")
        if not hasattr(types, "_DeltaSnapshot"):
            pytest.skip("this version of LangGraph has no delta channels")
        first = put(saver, thread, None, 0, {"m": types._DeltaSnapshot([1])}, {"m": "1"})
        put(saver, thread, first, 1, {}, {"m": "2"})
    else:
        marked = {"delta_writes_versioned": True}
        put(saver, thread, None, 0, {"m": [1]}, {"m": "1"}, metadata=marked)


@pytest.mark.parametrize("evidence", ["counters", "snapshot", "versioned"])
def test_keep_latest_refuses_a_batch_with_a_delta_channel(evidence):
    saver = made()
    three(saver, "ordinary")
    delta_thread(saver, "delta", evidence)
    before = [everything(saver, name) for name in ("ordinary", "delta")]
    with pytest.raises(NotImplementedError, match="delta"):
        saver.prune(["ordinary", "delta"])
    assert [everything(saver, name) for name in ("ordinary", "delta")] == before
    saver.prune(["ordinary", "delta"], strategy="delete")
    assert [everything(saver, name) for name in ("ordinary", "delta")] == [
        {"c": [], "b": [], "w": []}
    ] * 2


def test_a_plain_true_is_no_delta_channel():
    saver = made()
    first = put(saver, "t", None, 0, {"flag": True}, {"flag": "1"})
    head = put(saver, "t", first, 1, {"flag": True}, {"flag": "2"})
    saver.prune(["t"])
    assert cells(saver, "t", "c") == [("", name_of(head))]


def test_a_subgraphs_call_goes_with_the_checkpoint_that_it_started_from():
    saver = made()
    older = put(saver, "t", None, 0, {}, {})
    head = put(saver, "t", older, 1, {}, {})
    began = {
        "finished:1": name_of(older),
        "interrupted:2": name_of(head),
        "running:3": str(uuid6(clock_seq=2)),
        "own_checkpointer": name_of(older),
    }
    for ns, root in began.items():
        three(saver, "t", ns, {"parents": {"": root}})
    saver.prune(["t"])
    stay = {"interrupted:2", "running:3", "own_checkpointer"}
    assert {ns for ns, _ in cells(saver, "t", "c")} == {"", *stay}
    assert {ns for ns, *_ in cells(saver, "t", "b")} == stay
    assert {ns for ns, *_ in cells(saver, "t", "w")} == stay


def test_writes_that_came_before_their_checkpoint_stay():
    saver = made()
    head = three(saver, "t")
    later = str(uuid6(clock_seq=3))
    config = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": later}}
    saver.put_writes(config, [("a", 4)], "task")
    saver.prune(["t"])
    put(saver, "t", head, 3, {}, {"a": "3", "s": "1"}, name=later)
    assert [value for *_, value in saver.get_tuple(config).pending_writes] == [4]


class Hurried(Log):
    """A log in which something happens before the next batch is written."""

    __slots__ = ("before",)

    def write(self, rows, **options):
        action, self.before = getattr(self, "before", None), None
        if action is not None:
            action()
        return super().write(rows, **options)


def test_a_checkpoint_that_another_handle_saves_meanwhile_stays(tmp_path):
    log = Hurried(ColdStore.open(tmp_path / "s"))
    saver, other = WarmsetSaver(log), made(tmp_path / "s")
    head = three(saver, "t")
    lower = "0" + name_of(head)[1:]
    saved = []

    def save():
        values, versions = {"a": [1, 2, 3, 4]}, {"a": "4", "s": "1"}
        saved.append(put(other, "t", head, 3, values, versions, name=lower))
        other.put_writes(saved[0], [("a", 4)], "task")

    log.before = save
    saver.prune(["t"])
    assert cells(saver, "t", "c") == [("", lower), ("", name_of(head))]
    found = saver.get_tuple(saved[0])
    assert found.checkpoint["channel_values"] == {"a": [1, 2, 3, 4], "s": ["shared"]}
    assert [value for *_, value in found.pending_writes] == [4]


@pytest.mark.parametrize("strategy", ["keep_latest", "delete"])
def test_prune_refuses_a_text_and_an_unknown_strategy(strategy):
    saver = made()
    for thread in ("ab", "a", "b"):
        three(saver, thread)
    before = [everything(saver, thread) for thread in ("ab", "a", "b")]
    with pytest.raises(TypeError, match="not a str"):
        saver.prune("ab", strategy=strategy)
    with pytest.raises(ValueError, match="keep_all"):
        saver.prune(["ab"], strategy="keep_all")
    assert [everything(saver, thread) for thread in ("ab", "a", "b")] == before


def test_what_is_pruned_leaves_no_bytes_if_deleting_means_erasing(tmp_path):
    saver = made(tmp_path / "s", delete="erase")
    first = put(saver, "t", None, 0, {"a": "SECRET"}, {"a": "1"})
    put(saver, "t", first, 1, {"a": "KEPT"}, {"a": "2"})
    saver.prune(["t"])
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"SECRET" not in held
    assert b"KEPT" in held


# --- runs, copies, lists --------------------------------------------------------------------------


def test_a_runs_checkpoints_go_with_the_values_that_only_they_use():
    saver = made()
    first = put(
        saver, "t", None, 0, {"a": 1, "s": 0}, {"a": "1", "s": "1"}, metadata={"run_id": "x"}
    )
    head = put(saver, "t", first, 1, {"a": 2}, {"a": "2", "s": "1"}, metadata={"run_id": "y"})
    saver.put_writes(first, [("a", 1)], "task")
    saver.delete_for_runs(["x", "nobody's"])
    assert everything(saver, "t") == {
        "c": [("", name_of(head))],
        "b": [("", "a", "2"), ("", "s", "1")],
        "w": [],
    }
    assert saver.get_tuple(head).checkpoint["channel_values"] == {"a": 2, "s": 0}


def test_a_copy_needs_an_empty_target():
    saver = made()
    three(saver, "t")
    saver.copy_thread("t", "copy")
    assert everything(saver, "copy") == everything(saver, "t")
    with pytest.raises(Conflict):
        saver.copy_thread("t", "copy")


def test_threads_whose_names_are_numbers_and_lists_of_all_of_them():
    saver = made()
    ids = [put(saver, thread, None, 0, {}, {}) for thread in (7, "seven", "")]
    found = [*saver.list(None)]
    assert [one.config["configurable"]["checkpoint_id"] for one in found] == sorted(
        map(name_of, ids), reverse=True
    )
    assert (
        saver.get_tuple({"configurable": {"thread_id": 7}}).config["configurable"]["thread_id"] == 7
    )
    assert len([*saver.list(None, limit=2)]) == 2
    assert [*saver.list(None, limit=0)] == []


def test_branches_never_share_a_version():
    saver = made()
    versions = {
        saver.get_next_version("00000000000000000000000000000003.5", None) for _ in range(99)
    }
    assert len(versions) == 99
    assert all(one.startswith(f"{4:032}.") for one in versions)
    assert saver.get_next_version(3, None).startswith(f"{4:032}.")


# --- delta channels -------------------------------------------------------------------------------


def chain(saver, length, *, seed_at=0, ns=""):
    """A chain of checkpoints whose first one has a value, the others writes."""
    parent = None
    for at in range(length):
        values = {"m": ["seed"]} if at == seed_at else {}
        parent = put(saver, "t", parent, at, values, {"m": str(at + 1)}, ns=ns)
        saver.put_writes(parent, [("m", f"second of {at}")], f"b {at}", "~2")
        saver.put_writes(parent, [("m", f"first of {at}"), ("other", at)], f"z {at}", "~1")
    return parent


def test_delta_history_is_the_nearest_value_and_the_writes_since_in_the_order_of_tasks():
    saver = made()
    head = chain(saver, 6, seed_at=2)
    found = saver.get_delta_channel_history(config=head, channels=["m", "none"])
    expected = [f"{which} of {at}" for at in (2, 3, 4) for which in ("first", "second")]
    assert [value for *_, value in found["m"]["writes"]] == expected
    assert found["m"]["seed"] == ["seed"]
    assert found["none"] == {"writes": []}


def test_delta_history_without_a_value_goes_to_the_root():
    saver = made()
    head = chain(saver, 3, seed_at=9)
    found = saver.get_delta_channel_history(config=head, channels=["m"])
    assert "seed" not in found["m"]
    assert len(found["m"]["writes"]) == 4
    root = put(saver, "r", None, 0, {"m": 1}, {"m": "1"})
    assert saver.get_delta_channel_history(config=root, channels=["m"]) == {"m": {"writes": []}}
    assert saver.get_delta_channel_history(config=root, channels=[]) == {}


def test_delta_history_without_a_name_begins_at_the_newest_checkpoint():
    saver = made()
    head = chain(saver, 4)
    config = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": ""}}
    by_name = saver.get_delta_channel_history(config=head, channels=["m"])
    assert saver.get_delta_channel_history(config=config, channels=["m"]) == by_name
    nobody = {"configurable": {"thread_id": "nobody"}}
    assert saver.get_delta_channel_history(config=nobody, channels=["m"]) == {"m": {"writes": []}}


def test_delta_history_agrees_with_the_walk_of_the_base_class():
    from langgraph.checkpoint.base import BaseCheckpointSaver  # noqa: PLC0415

    walk = getattr(BaseCheckpointSaver, "get_delta_channel_history", None)
    if walk is None:
        pytest.skip("this version of LangGraph has no delta channels")
    saver = made()
    head = chain(saver, 7, seed_at=1, ns="sub")
    asked = {"config": head, "channels": ["m", "other"]}
    assert saver.get_delta_channel_history(**asked) == walk(saver, **asked)


def test_delta_history_ends_where_parents_make_a_circle():
    saver = made()
    first = put(saver, "t", None, 0, {}, {"m": "1"}, name="a")
    second = put(saver, "t", first, 1, {}, {"m": "2"}, name="b")
    put(saver, "t", second, 0, {}, {"m": "1"}, name="a")
    found = saver.get_delta_channel_history(config=second, channels=["m"])
    assert found == {"m": {"writes": []}}


# --- real graphs ----------------------------------------------------------------------------------


class State(TypedDict):
    said: Annotated[list, operator.add]


def graph(saver):
    def answer(state):
        return {"said": [f"answer {len(state['said'])}"]}

    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=saver)


def test_a_graph_resumes_after_a_restart(tmp_path):
    config = {"configurable": {"thread_id": "t"}}
    for at in range(3):
        with ColdStore.open(tmp_path / "s") as store:
            found = graph(WarmsetSaver(Log(store))).invoke({"said": [f"ask {at}"]}, config)
            history = [*graph(WarmsetSaver(Log(store))).get_state_history(config)]
    assert found["said"] == [x for at in range(3) for x in (f"ask {at}", f"answer {2 * at + 1}")]
    assert len(history) == 9


def test_a_graph_runs_asynchronously_a_hundred_threads_at_once(tmp_path):
    async def main():
        compiled = graph(made(tmp_path / "s", tenant="t"))
        found = await asyncio.gather(
            *(
                compiled.ainvoke({"said": [str(at)]}, {"configurable": {"thread_id": str(at)}})
                for at in range(100)
            )
        )
        assert [one["said"] for one in found] == [[str(at), "answer 1"] for at in range(100)]

    asyncio.run(main())
