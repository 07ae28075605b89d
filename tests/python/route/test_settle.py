"""What is redundant leaves only if what says it too stands in the payload."""

from __future__ import annotations

from judging import SPEC, Model, candidate, texts

from warmset import Memory
from warmset.items import NewItem
from warmset.route import LLMTriage, Router, Verdict
from warmset.route.choice import Judged
from warmset.route.settle import settled

A, B, C = candidate(1, "a", relevance=20.0), candidate(2, "b"), candidate(3, "c")
KEPT = Verdict("supplementary", "a need names it")
QUERY = "Why did more boats take the margin?"
COST = {1: 90, 2: 10, 3: 10}
SAID = {"a": "Ship 77 at 12 o'clock.", "b": "ship 77", "c": "chairs 5"}


def settle(verdicts, room, some=(A, B, C), said=SAID, cost=COST, closures=None):
    judged = Judged(
        candidates=some,
        verdicts={one.id: verdicts.get(one.memory_id, KEPT) for one in some},
        costs=cost,
        closures=closures or {},
    )
    found, chosen = settled(judged, room, texts(said))
    words = {one.memory_id: found.verdicts[one.id].classification for one in some}
    return words, {one.memory_id for one in some if one.id in chosen}


SAME = Verdict("redundant", "said in a", twin=1)
CLAIMED = Verdict("redundant", "by a model")


def test_with_room_for_all_nothing_changes():
    words, chosen = settle({"b": SAME}, 100)
    assert words["b"] == "redundant"
    assert chosen == {"a", "c"}


def test_it_stays_where_its_twin_has_no_room():
    words, chosen = settle({"b": SAME}, 20)
    assert words == {"a": "supplementary", "b": "supplementary", "c": "supplementary"}
    assert chosen == {"b", "c"}


def test_its_reason_says_so():
    judged = Judged(candidates=[A, B], verdicts={1: KEPT, 2: SAME}, costs=COST, closures={})
    found, _ = settled(judged, 20, texts(SAID))
    assert found.verdicts[2].reason == "a, which has it, has no room"
    assert judged.verdicts[2] is SAME


def test_another_one_without_room_does_not_matter():
    words, chosen = settle({"b": SAME}, 95)
    assert words["b"] == "redundant"
    assert chosen == {"a"}


def test_a_fact_that_has_no_room_brings_it_back():
    said = SAID | {"b": "ship 77, chairs 5"}
    words, chosen = settle({"b": SAME}, 95, said=said)
    assert words["b"] == "supplementary"
    assert "b" in chosen or chosen == {"a"}


def test_what_a_model_calls_redundant_needs_its_facts_in_the_payload():
    words, chosen = settle({"b": CLAIMED}, 20)
    assert words["b"] == "supplementary"
    assert chosen == {"b", "c"}
    assert settle({"b": CLAIMED}, 95)[0]["b"] == "redundant"


def test_what_is_left_out_for_another_reason_takes_its_twins_along():
    words, chosen = settle({"a": Verdict("irrelevant", "no"), "b": SAME}, 5)
    assert words["b"] == "redundant"
    assert chosen == set()


def test_what_comes_first_takes_its_room_from_the_others():
    first = Verdict("supplementary", "it must", first=True)
    assert settle({"c": first}, 95)[1] == {"b", "c"}
    assert settle({"a": first}, 99)[1] == {"a"}
    assert settle({"a": first}, 100)[1] in ({"a", "b"}, {"a", "c"})
    assert settle({"b": first, "c": first}, 15)[1] == {"b"}


def test_raw_material_comes_back_only_without_what_was_worked_up():
    made = candidate(1, "a", relevance=20.0, derived_from=("b",))
    raw = Verdict("redundant", "worked up in a", twin=1)
    said = SAID | {"b": "ship 99 and 1,000 more facts"}
    assert settle({"b": raw}, 95, [made, B, C], said)[0]["b"] == "redundant"
    words, chosen = settle({"b": raw}, 20, [made, B, C], said)
    assert words["b"] == "supplementary"
    assert chosen == {"b", "c"}


def test_what_stands_there_as_a_dependency_is_not_brought_back():
    closures = {3: frozenset({2})}
    words, chosen = settle({"b": SAME}, 25, closures=closures)
    assert chosen == {"b", "c"}
    assert words["b"] == "redundant"


def test_in_a_payload_the_short_one_stands_for_the_long_one_that_has_no_room():
    with Memory.open(None, embedder="lexical") as memory:
        long = f"margin 77 {'boats and more boats ' * 60}"
        memory.items.put_many(
            [
                NewItem(memory_type="document_chunk", memory_id=name, text=text)
                for name, text in {"long": long, "short": "boats margin 77"}.items()
            ]
        )
        router = Router(memory, specs=[SPEC])
        whole = router.route("dcf", query=QUERY)
        assert [one.reason for one in whole.excluded] == ["said in long"]
        [inside] = whole.context_payload
        left = whole.total_tokens - inside.tokens + 200
        few = router.route("dcf", query=QUERY, budget=left)
        assert [one.memory_id for one in few.context_payload] == ["short"]
        [out] = few.excluded
        assert (out.memory_id, out.classification) == ("long", "supplementary")


def test_a_claim_of_a_model_is_undone_where_the_budget_is_small():
    with Memory.open(None, embedder="lexical") as memory:
        said = {"big": f"margin 77 {'of boats ' * 120}", "small": "The number 77, margin apart."}
        memory.items.put_many(
            [
                NewItem(memory_type="document_chunk", memory_id=name, text=text)
                for name, text in said.items()
            ]
        )

        def complete(prompt):
            [line] = [one for one in prompt.splitlines() if "apart" in one]
            return Model({int(line[1]): ("redundant", "the other has it")})(prompt)

        router = Router(memory, specs=[SPEC], triage=LLMTriage(complete))
        whole = router.route("dcf", query="margin")
        [out] = whole.excluded
        assert (out.memory_id, out.reason) == ("small", "the other has it")
        [inside] = whole.context_payload
        left = whole.total_tokens - inside.tokens + 200
        few = router.route("dcf", query="margin", budget=left)
        assert [one.memory_id for one in few.context_payload] == ["small"]
        why = "called redundant, but 1 of its facts stand nowhere else"
        assert few.context_payload[0].reason == why
