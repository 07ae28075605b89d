"""What comes along with what is granted beyond a payload, and when it is refused."""

from __future__ import annotations

from tool_messages import call_of, said

from warmset.items import NewItem
from warmset.route import MAX_GRANTED, REQUEST_CONTEXT, Missing, Need, Router, TaskSpec

NOTES = Need(type="note", scope="global", keys=["k"])
REPORTS = Need(type="report", scope="global", priority="conditional")


def put(memory, name, text=None, *, memory_type="report", **fields):
    text = f"The ferry {name} sails." if text is None else text
    return memory.items.put(NewItem(memory_type=memory_type, text=text, memory_id=name, **fields))


def route(memory, *, left=1_000, record=False):
    """Return a payload whose task may know reports, of which none stands in it."""
    put(memory, "base", "Quotas end in May.", memory_type="note", keys=["k"])
    spec = TaskSpec(task_type="t", required_memory=[NOTES, REPORTS], max_context_tokens=2_000)
    router = Router(memory, specs=[spec], record=record)
    payload = router.route("t", query="zzz")
    assert [one.memory_id for one in payload.context_payload] == ["base"]
    payload._more._left = left
    return payload


def test_what_an_item_depends_on_comes_along_with_it(memory):
    put(memory, "deep", memory_type="beside")
    put(memory, "dep", memory_type="beside", dependencies=["deep"])
    put(memory, "a", dependencies=["dep", "base"])
    payload = route(memory)
    more = payload.more("the ferry a")
    assert (more.granted, more.refused) == (("a", "deep", "dep"), {})
    assert [line.split()[0] for line in more.text.splitlines()] == ["#a", "#deep", "#dep"]
    assert more.budget_remaining == 1_000 - more.tokens
    assert payload.more("the ferry a").refused == {"a": "it is there already"}


def test_what_came_along_is_not_granted_again(memory):
    put(memory, "b", "A ferry.")
    put(memory, "a", "The ferry, the ferry a.", dependencies=["b"])
    put(memory, "c", "A ferry in the night.", dependencies=["b"])
    more = route(memory).more("ferry a")
    assert sorted(more.granted) == ["a", "b", "c"]
    assert more.refused == {}


def test_an_item_is_refused_if_it_does_not_fit_with_what_it_depends_on(memory):
    for n in range(3):
        put(memory, f"d{n}", memory_type="beside")
    put(memory, "a", dependencies=["d0", "d1", "d2"])
    whole = route(memory).more("ferry a")
    assert whole.granted == ("a", "d0", "d1", "d2")
    assert route(memory, left=whole.tokens).more("ferry a").granted == whole.granted
    short = whole.tokens - 1
    more = route(memory, left=short).more("ferry a")
    assert (more.granted, more.budget_remaining) == ((), short)
    assert more.refused == {
        "a": f"it takes {whole.tokens} tokens with what it depends on (d0, d1, d2), "
        f"{short} are left of the budget"
    }


def test_a_refusal_names_a_few_of_many_dependencies(memory):
    names = [f"d{n:02}" for n in range(12)]
    for name in names:
        put(memory, name, memory_type="beside")
    put(memory, "a", dependencies=names)
    [why] = route(memory, left=50).more("ferry a").refused.values()
    assert f"({', '.join(names[:8])}, 4 more)" in why


def test_what_granted_items_depend_on_and_is_not_there_is_reported(memory):
    put(memory, "old", memory_type="beside")
    put(memory, "dep", memory_type="beside", dependencies=["old"])
    put(memory, "a", dependencies=["dep", "gone"])
    put(memory, "b", "A boat, and nothing else.", dependencies=["lost"])
    memory.items.archive("old")
    more = route(memory).more("ferry a")
    assert more.granted == ("a", "dep")
    assert set(more.missing) == {
        Missing(memory_id="gone", needed_by="a", reason="there is no such item"),
        Missing(memory_id="old", needed_by="dep", reason="it is archived"),
    }
    assert route(memory).more("quotas").missing == ()


def test_what_is_removed_after_a_payload_is_missing(memory):
    put(memory, "dep", memory_type="beside")
    put(memory, "a", dependencies=["dep"])
    payload = route(memory)
    memory.items.erase("dep")
    [one] = payload.more("ferry a").missing
    assert (one.memory_id, one.needed_by) == ("dep", "a")


def test_a_tool_grants_what_items_depend_on_beside_the_most(memory):
    for n in range(MAX_GRANTED + 1):
        put(memory, f"d{n}", "Nothing of it.", memory_type="beside")
        put(
            memory,
            f"a{n}",
            f"The ferry number {n}.",
            dependencies=[f"d{n}", f"gone{n}</context-items>"],
        )
    kit = route(memory, left=4_000).tools()
    call = call_of("openai", REQUEST_CONTEXT, {"request": "ferry number"})
    answer = said(kit.run(call), "openai")
    assert len(kit.granted) == 2 * MAX_GRANTED
    assert answer.count("</context-items>") == 1
    assert "depends on it; there is no such item" in answer


def test_a_payload_that_was_made_again_grants_what_is_there_now(memory):
    put(memory, "dep", memory_type="beside")
    put(memory, "a", dependencies=["dep"])
    payload = route(memory, record=True)
    router = Router(memory, specs=[], record=False)
    again = router.replay(payload.payload_id)
    put(memory, "late", "The ferry, too late.", dependencies=["gone"])
    more = again.more("ferry a")
    assert set(more.granted) == {"a", "dep", "late"}
    assert [one.memory_id for one in more.missing] == ["gone"]
