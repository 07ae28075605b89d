"""Arguments of the router that are none: each is refused by an error that names it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from warmset.errors import InvalidInputError, NotFound, SpecError
from warmset.items import NewItem
from warmset.route import Need, Router, TaskSpec, TaskSpecs
from warmset.route.errors_alike import error_text

SPEC = TaskSpec(
    task_type="t", max_context_tokens=2_000, required_memory=(Need(type="note", scope="global"),)
)


@pytest.fixture
def router(memory):
    memory.items.put(NewItem(memory_type="note", memory_id="a", text="The ferry sails."))
    return Router(memory, specs=[SPEC])


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda router: router.run("t", None, query="q"), "call"),
        (lambda router: router.reroute("a", 0.5), "payload"),
        (lambda router: router.pipeline("p").output("m", "x", derived_from=None), "derived_from"),
        (lambda router: router.pipeline("p").output("m", "x", derived_from="abc"), "derived_from"),
        (lambda router: router.pipeline("p").judge(["m"], "irrelevant", "a"), "task"),
        (lambda router: router.pipeline("p").judge("m", "irrelevant", ["a"]), "memory_ids"),
        (lambda router: router.learn_fix("e", "f", origin="user", derived_from=3), "derived_from"),
        (lambda router: router.learn_fix("e", "f", origin={1}), "origin"),
        (lambda router: router.learn_fix("e", "f", origin="user", conversation=b"x"), "conversati"),
        (lambda router: router.route("t", query="q").tools().run_all(None), "calls"),
        (lambda router: router.route("t", query="q").tools().run_all("abc"), "calls"),
        (lambda _router: TaskSpecs.read("\0"), "specs"),
        (lambda _router: TaskSpecs.read("\ud800"), "specs"),
        (lambda _router: TaskSpecs.read(None), "specs"),
    ],
)
def test_an_argument_that_is_none_is_named(router, call, field):
    with pytest.raises(InvalidInputError, match=field):
        call(router)


@pytest.mark.parametrize("budget", [0, -1, 2**63, 2**100, True, 7.0])
def test_a_budget_out_of_range_is_refused_by_its_name(router, budget):
    with pytest.raises(InvalidInputError, match="budget: expected"):
        router.route("t", query="q", budget=budget)


def test_the_largest_budget_holds_everything(router):
    payload = router.route("t", query="q", budget=2**63 - 1)
    assert payload.budget_remaining == 2**63 - 1 - payload.total_tokens
    assert [one.memory_id for one in payload.context_payload] == ["a"]


def test_a_call_that_is_none_is_refused_before_anything_is_routed(router):
    with pytest.raises(InvalidInputError):
        router.run("t", "call", query="q")
    assert router.payloads() == []


@pytest.mark.parametrize("specs", [None, 3])
def test_what_is_no_list_of_specs_is_refused(specs):
    with pytest.raises(SpecError, match="list of specs"):
        TaskSpecs(specs)


def test_arguments_of_items_that_are_none_are_named(memory):
    with pytest.raises(InvalidInputError, match="items: expected a list"):
        memory.items.put_many(None)
    for field in ("archived", "superseded"):
        with pytest.raises(InvalidInputError, match=field):
            memory.items.query(**{field: 1})
    with pytest.raises(InvalidInputError, match="progress"):
        memory.items.add_document("# A\n\ntext", name="d", progress=3)
    assert memory.items.query() == []
    with pytest.raises(NotFound, match=re.escape("['a']")):
        memory.items.archive(["a"])


def test_more_items_than_a_number_of_the_core_can_be_asked_for(memory):
    memory.items.put(NewItem(memory_type="note", memory_id="a", text="The ferry sails."))
    assert [one.memory_id for one in memory.items.query("ferry", k=2**70)] == ["a"]


def test_the_last_moment_of_all_can_be_routed(memory, router):
    late = NewItem(memory_type="note", memory_id="z", text="Last.", timestamp=datetime.max)  # noqa: DTZ901
    memory.items.put(late)
    payload = router.route("t", query="ferry")
    assert {one.memory_id for one in payload.context_payload} == {"a", "z"}
    assert "9999-12-31" in payload.messages[-1]["content"]


@pytest.mark.parametrize("recency", ["9999999w", "9999999h", "last_9999999_turns"])
def test_a_recency_may_span_more_than_all_dates(memory, recency):
    memory.items.put(
        NewItem(
            memory_type="note", memory_id="a", text="Old.", timestamp=datetime(1, 1, 1, tzinfo=UTC)
        )
    )
    need = Need(type="note", scope="global", recency=recency)
    spec = TaskSpec(task_type="t", max_context_tokens=2_000, required_memory=(need,))
    payload = Router(memory, specs=[spec]).route("t", query="q")
    assert [one.memory_id for one in payload.context_payload] == (
        [] if recency == "9999999h" else ["a"]
    )


@pytest.mark.parametrize(
    "varies",
    [
        "https://host.example/a/b",
        "db-7.internal:5432",
        "/var/lib/some.app/1.2/",
        "C:\\Users\\me\\",
        "~/work/" + "long-name" * 20 + "/",
    ],
)
def test_what_varies_is_left_out(varies):
    assert error_text(f"cannot open {varies} now").words == {"cannot", "open", "now"}
