"""Modules one after the other, and tasks that are unsure."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from warmset import Memory
from warmset.errors import InvalidInputError, NotFound
from warmset.items import NewItem
from warmset.route import Need, Pipeline, Router, TaskSpec, Verdict

CHUNKS = Need(type="document_chunk", scope="global")
OUTPUTS = Need(type="module_output", scope="current_pipeline")


class Sceptic:
    """Finds some items irrelevant."""

    def __init__(self, *names):
        self.names = names

    def judge(self, request, candidates, said):  # noqa: ARG002 - as every triage is called
        return {
            one.id: Verdict("irrelevant" if one.memory_id in self.names else "supplementary", "so")
            for one in candidates
        }


def specs(tokens=2_000, *needs):
    return [
        TaskSpec(
            task_type=task, required_memory=needs or (CHUNKS, OUTPUTS), max_context_tokens=tokens
        )
        for task in ("read", "sum", "write")
    ]


def fill(memory, count=4):
    memory.items.put_many(
        [
            NewItem(
                memory_type="document_chunk",
                text=f"Revenue of unit {n} was {n}7.",
                memory_id=f"c{n}",
            )
            for n in range(count)
        ]
    )


def names(payload):
    return {one.memory_id for one in payload.context_payload}


def test_a_later_module_gets_the_output_and_not_what_it_was_made_from(memory):
    fill(memory)
    run = Router(memory, specs=specs()).pipeline("may")
    first = run.route("read", query="revenue")
    assert names(first) == {"c0", "c1", "c2", "c3"}
    made = run.output("read", "Revenue was 07, 17, 27 and 37.", derived_from=first)
    assert made == "may/read"
    second = run.route("sum", query="revenue")
    assert names(second) == {"may/read"}
    assert {one.reason for one in second.excluded} == {"worked up in may/read"}
    other = Router(memory, specs=specs()).pipeline("june")
    assert names(other.route("sum", query="revenue")) == {"c0", "c1", "c2", "c3"}
    item = memory.items.get("may/read")
    assert (item.module_context, item.pipeline, item.origin) == ("read", "may", "import")
    assert item.derived_from == tuple(one.memory_id for one in first.context_payload)
    memory.items.erase("c0")  # and what was made from it
    with pytest.raises(NotFound):
        memory.items.get("may/read")


def test_an_output_is_put_again_under_its_name(memory):
    run = Router(memory, specs=specs()).pipeline("may")
    run.output("read", "One.")
    run.output("read", data={"two": 2}, derived_from=["may/read"], keys=["k"], confidence=0.5)
    [only] = memory.items.query(pipeline="may")
    assert (only.data, only.keys, only.confidence, only.origin) == (
        {"two": 2},
        ("k",),
        0.5,
        "assistant",
    )
    run.output("read", "Three.", memory_id="own")
    assert {one.memory_id for one in memory.items.query(pipeline="may")} == {"may/read", "own"}


def test_an_output_belongs_to_the_conversation_of_its_payload(memory):
    fill(memory)
    run = Router(memory, specs=specs()).pipeline("may")
    payload = run.route("read", query="revenue", conversation="c")
    assert memory.items.get(run.output("read", "x", derived_from=payload)).conversation == "c"
    name = run.output("read", "x", derived_from=payload, conversation="d")
    assert memory.items.get(name).conversation == "d"


def test_an_output_has_a_session_a_time_and_a_decay(memory):
    fill(memory)
    run = Router(memory, specs=specs()).pipeline("may")
    at = datetime(2026, 5, 31, tzinfo=UTC)
    given = {"session_id": "s1", "timestamp": at, "relevance_decay": 0.5}
    item = memory.items.get(run.output("read", "x", conversation="c", **given))
    assert (item.session_id, item.timestamp, item.relevance_decay) == ("s1", at, 0.5)
    item = memory.items.get(run.output("read", "y"))
    assert (item.session_id, item.relevance_decay) == (None, 1.0)
    for field, value in {"session_id": " ", "timestamp": "May", "relevance_decay": 0}.items():
        with pytest.raises(InvalidInputError, match=field):
            run.output("read", "x", **{field: value})


def test_an_output_of_another_session_is_not_of_the_current_one(memory):
    own = Need(type="module_output", scope="current_session")
    router = Router(
        memory, specs=[TaskSpec(task_type="t", required_memory=[own], max_context_tokens=900)]
    )
    run = router.pipeline("may")
    for session in ("s1", "s2"):
        run.output(f"read {session}", session, conversation="c", session_id=session)
    assert names(run.route("t", query="q", conversation="c", session="s2")) == {"may/read s2"}


def test_what_one_module_had_no_use_for_is_worth_less_to_the_next_and_never_out(memory):
    fill(memory, 2)
    router = Router(memory, specs=specs(), triage=Sceptic("c0"))
    run = router.pipeline("may")
    assert names(run.route("read", query="revenue of unit 0")) == {"c1"}
    assert run.verdicts()["c0"] == {"read": "irrelevant"}
    run = Router(memory, specs=specs()).pipeline("may")
    run.judge("read", "irrelevant", "c0")
    run.judge("sum", "irrelevant", "c0")
    payload = run.route("write", query="revenue of unit 0")
    assert [one.memory_id for one in payload.context_payload] == ["c1", "c0"]
    assert payload.context_payload[1].reason == "a need names it; of no use for read, sum"
    own = run.route("read", query="revenue of unit 0")  # its own word does not count for itself
    assert own.request.earlier == {"c0": ("sum",)}
    assert run.verdicts()["c0"] == {
        "read": "supplementary",
        "sum": "irrelevant",
        "write": "supplementary",
    }
    with pytest.raises(InvalidInputError, match="classification"):
        run.judge("read", "bad", "c0")


def test_each_verdict_halves_the_worth(memory):
    fill(memory, 1)
    router = Router(memory, specs=specs())
    [one] = router.route("read", query="revenue").context_payload
    plain = router._desk.gatherer.gather(
        router.specs["read"], router.route("read", query="revenue").request
    )
    request = router.route("read", query="revenue", earlier={"c0": ["a", "b"]}).request
    less = router._desk.gatherer.gather(router.specs["read"], request)
    assert less.candidates[0].worth == plain.candidates[0].worth / 4
    assert less.candidates[0].relevance == plain.candidates[0].relevance == one.relevance


def test_an_essential_item_stays_whatever_modules_said(memory):
    fill(memory, 2)
    must = Need(type="document_chunk", scope="global", priority="essential")
    run = Router(memory, specs=specs(2_000, must)).pipeline("may")
    run.judge("read", "irrelevant", "c0", "c1")
    assert names(run.route("sum", query="x")) == {"c0", "c1"}


def test_another_payload_reads_what_was_left_out(memory):
    fill(memory)
    router = Router(memory, specs=specs())
    run = router.pipeline("may")
    run.output("read", "Revenue was 07 and 17.", derived_from=["c0", "c1"])
    first = run.route("sum", query="revenue")
    assert names(first) == {"may/read", "c2", "c3"}
    second = router.reroute(first, 0.25)
    assert names(second) == {"may/read", "c0", "c1", "c2", "c3"}
    why = {one.memory_id: one.reason for one in second.context_payload}
    assert why["c0"] == "left out before; the task was unsure (0.25)"
    assert why["c2"] == "a need names it"
    for wrong in (True, -0.1, 1.1, float("nan"), "low"):
        with pytest.raises(InvalidInputError, match="confidence"):
            router.reroute(first, wrong)


def test_another_payload_keeps_to_the_budget_and_shows_other_items(memory):
    fill(memory, 12)
    router = Router(memory, specs=specs(260))
    first = router.route("sum", query="revenue of unit 3")
    second = router.reroute(first, 0.0)
    assert second.total_tokens <= 260
    fresh = names(second) - names(first)
    assert fresh
    assert names(second) & names(first)
    assert fresh <= {one.memory_id for one in first.excluded}


def test_what_is_superseded_does_not_come_back(memory):
    fill(memory, 1)
    memory.items.put(
        NewItem(
            memory_type="document_chunk", text="Revenue was 8.", memory_id="new", supersedes=["c0"]
        )
    )
    router = Router(memory, specs=specs())
    first = router.route("sum", query="revenue")
    assert [one.memory_id for one in first.excluded] == ["c0"]
    assert names(router.reroute(first, 0.1)) == {"new"}


def test_an_unsure_task_is_called_once_more(memory):
    fill(memory, 12)
    router = Router(memory, specs=specs(260))
    seen = []

    def call(payload):
        seen.append(names(payload))
        return f"answer {len(seen)}", confidences[len(seen) - 1]

    for confidences, answer, calls, rerouted in [
        ((0.7,), "answer 1", 1, False),
        ((0.69, 0.8), "answer 2", 2, True),
        ((0.69, 0.69), "answer 1", 2, True),
        ((0.5, 0.1), "answer 1", 2, True),
    ]:
        seen.clear()
        made = router.run("sum", call, query="revenue")
        assert (made.answer, len(seen), made.rerouted) == (answer, calls, rerouted)
        assert names(made.payload) == seen[int(answer[-1]) - 1]
        assert made.confidence == confidences[int(answer[-1]) - 1]
    confidences = (0.8, 0.9)
    seen.clear()
    assert router.run("sum", call, query="revenue", threshold=0.81).answer == "answer 2"
    for wrong in ("no tuple", ("a", 2.0), ("a", "b"), ("a",), None):
        with pytest.raises(InvalidInputError):
            router.run("sum", lambda _payload, wrong=wrong: wrong, query="revenue")
    with pytest.raises(InvalidInputError, match="threshold"):
        router.run("sum", call, query="revenue", threshold=2)


def test_a_task_with_everything_is_not_called_again(memory):
    fill(memory, 2)
    calls = []

    def call(payload):
        calls.append(payload)
        return "x", 0.1

    assert not Router(memory, specs=specs()).run("sum", call, query="revenue").rerouted
    assert len(calls) == 1


def test_a_pipeline_runs_its_modules_and_remembers(memory):
    fill(memory)
    run = Router(memory, specs=specs(), triage=Sceptic("c1")).pipeline("may")
    made = run.run("read", lambda payload: (len(payload.context_payload), 0.9), query="revenue")
    assert made.answer == 3
    assert made.payload.request.pipeline == "may"
    assert run.verdicts()["c1"] == {"read": "irrelevant"}
    with pytest.raises(TypeError, match="pipeline"):
        run.route("read", query="q", pipeline="june")
    with pytest.raises(InvalidInputError, match="pipeline"):
        Router(memory, specs=specs()).pipeline("")


def test_twins_do_the_same(memory):
    fill(memory)
    router = Router(memory, specs=specs())
    run = router.pipeline("may")

    async def go():
        one = await router.aroute("read", query="revenue")
        two = await run.aroute("read", query="revenue")
        three = await router.areroute(one, 0.5)
        four = await router.arun("read", lambda _payload: ("x", 1.0), query="revenue")
        five = await run.arun("read", lambda _payload: ("x", 1.0), query="revenue")
        name = await run.aoutput("read", "out")
        return one, two, three, four.payload, five.payload, name

    *payloads, name = asyncio.run(go())
    assert name == "may/read"
    assert all(names(one) == names(payloads[0]) for one in payloads)


def test_another_process_goes_on_with_the_run(tmp_path):
    with Memory.open(tmp_path / "m", embedder="lexical") as memory:
        fill(memory)
        Router(memory, specs=specs()).pipeline("may").output("read", "All.", derived_from=["c0"])
    with Memory.open(tmp_path / "m", embedder="lexical") as memory:
        run = Router(memory, specs=specs()).pipeline("may")
        assert isinstance(run, Pipeline)
        assert "may/read" in names(run.route("sum", query="all"))
