"""What stands for what: outputs for their raw material, and nothing that is not in the payload."""

from __future__ import annotations

from warmset.items import NewItem
from warmset.route import Need, Router, TaskSpec, Verdict

OUTPUTS = Need(type="module_output", scope="current_pipeline")
CHUNKS = Need(type="document_chunk", scope="global")


def routed(memory, *needs, tokens=2_000, query="sales growth", triage=None):
    spec = TaskSpec(task_type="t", required_memory=needs, max_context_tokens=tokens)
    return Router(memory, specs=[spec], triage=triage).route("t", query=query, pipeline="p")


def names(payload):
    return [one.memory_id for one in payload.context_payload]


def reasons(payload):
    return {one.memory_id: one.reason for one in payload.excluded}


def put(memory, name, text, type_="document_chunk", **fields):
    memory.items.put(NewItem(memory_type=type_, memory_id=name, text=text, **fields))


def output(memory, module, text, *derived_from):
    fields = {"module_context": module, "pipeline": "p", "derived_from": derived_from}
    put(memory, f"p/{module}", text, "module_output", **fields)


def test_an_output_stands_for_the_chunks_that_it_was_made_from_directly_or_not(memory):
    put(memory, "raw", "Sales grew to 45.")
    output(memory, "sales", "sales: 45", "raw")
    output(memory, "margin", "margin: 0.1", "p/sales")
    payload = routed(memory, OUTPUTS, CHUNKS)
    assert sorted(names(payload)) == ["p/margin", "p/sales"]
    assert reasons(payload)["raw"] in {"worked up in p/sales", "worked up in p/margin"}


def test_raw_material_that_an_essential_need_names_stands_beside_its_output(memory):
    put(memory, "raw", "Sales grew to 45.")
    output(memory, "sales", "growth of 3 percent", "raw")
    essential = Need(type="document_chunk", scope="global", priority="essential")
    payload = routed(memory, OUTPUTS, essential)
    assert sorted(names(payload)) == ["p/sales", "raw"]
    assert len(payload.excluded) == 0


def test_what_is_no_raw_material_stands_beside_what_was_made_with_it(memory):
    put(memory, "raw", "Sales grew to 45.")
    put(memory, "tax", "Tax rate: 24 percent", "user_context", origin="user")
    put(memory, "fix", "Read the unit first.", "error_fix")
    output(memory, "sales", "sales: 45", "raw", "tax", "fix")
    output(memory, "margin", "margin: 0.1", "p/sales", "tax")
    needs = [Need(type=one, scope="global") for one in ("user_context", "error_fix")]
    payload = routed(memory, OUTPUTS, CHUNKS, *needs)
    assert sorted(names(payload)) == ["fix", "p/margin", "p/sales", "tax"]


def test_a_memory_is_no_raw_material(memory):
    memory.remember("Report in euros.", memory_type="preference", memory_id="euros")
    output(memory, "sales", "sales: 45", "euros")
    payload = routed(memory, OUTPUTS, Need(type="preference", scope="global"))
    assert sorted(names(payload)) == ["euros", "p/sales"]


def test_a_memory_that_is_not_similar_to_the_query_is_a_candidate_all_the_same(memory):
    memory.remember("Report in euros.", memory_type="preference", memory_id="euros")
    need = Need(type="preference", scope="global", priority="essential")
    payload = routed(memory, need, query="sales")
    assert names(payload) == ["euros"]
    assert (payload.context_payload[0].relevance, payload.needs[0].matched) == (0.0, 1)
    alike = Need(type="preference", scope="global", similarity_match=0.1)
    assert names(routed(memory, alike, query="sales")) == []
    assert names(routed(memory, alike, query="which euros?")) == ["euros"]
    assert [one.memory_id for one in memory.items.query("sales")] == []


def test_raw_material_stands_in_where_its_output_has_no_room(memory):
    put(memory, "raw", "Sales grew to 45.")
    output(memory, "sales", "growth of sales " * 40, "raw")
    both = routed(memory, OUTPUTS, CHUNKS, tokens=2_000)
    assert names(both) == ["p/sales"]
    assert reasons(both)["raw"] == "worked up in p/sales"
    least = both.total_tokens
    assert names(routed(memory, OUTPUTS, CHUNKS, tokens=least)) == ["p/sales"]
    less = routed(memory, OUTPUTS, CHUNKS, tokens=least - 1)
    assert names(less) == ["raw"]
    assert less.context_payload[0].reason == "p/sales, which has it, has no room"
    assert reasons(less)["p/sales"].startswith("no room for its ")


def test_raw_material_of_raw_material_stands_in_as_well(memory):
    put(memory, "oldest", "Sales grew to 45.")
    put(memory, "older", "growth of sales, part 1 " * 30, derived_from=["oldest"])
    output(memory, "sales", "growth of sales " * 60, "older")
    payload = routed(memory, OUTPUTS, CHUNKS, tokens=120)
    assert names(payload) == ["oldest"]
    assert set(reasons(payload)) == {"older", "p/sales"}


def test_what_is_worked_up_twice_is_said_by_the_last_form(memory):
    put(memory, "oldest", "Sales grew to 45.")
    put(memory, "older", "sales growth", derived_from=["oldest"])
    output(memory, "sales", "45", "older")
    payload = routed(memory, OUTPUTS, CHUNKS)
    assert names(payload) == ["p/sales"]
    assert reasons(payload) == {"older": "worked up in p/sales", "oldest": "worked up in older"}


def test_two_that_were_made_from_each_other_are_not_both_left_out(memory):
    put(memory, "one", "Sales grew to 45.")
    put(memory, "two", "Margins fell to 7.", derived_from=["one"])
    put(memory, "one", "Sales grew to 46.", derived_from=["two"])
    payload = routed(memory, CHUNKS)
    assert names(payload) == ["one"]
    assert payload.context_payload[0].reason == "what stands for it was made from it"
    assert reasons(payload) == {"two": "worked up in one"}


def test_what_says_the_same_stands_in_where_the_other_has_no_room(memory):
    text = "Sales of ferries grew in June and July to 45 in all of the harbours."
    put(memory, "short", text)
    put(memory, "long", f"{text} {text} " + "Sales growth. " * 6)
    both = routed(memory, CHUNKS)
    assert (names(both), reasons(both)) == (["long"], {"short": "said in long"})
    less = routed(memory, CHUNKS, tokens=both.total_tokens - 1)
    assert names(less) == ["short"]


def test_raw_material_of_an_essential_output_takes_no_room_of_other_candidates(memory):
    raw = [f"raw{n}" for n in range(30)]
    for n, name in enumerate(raw):
        put(memory, name, f"sales growth {n} " + f"plant{n} quay{n} " * 40)
    put(memory, "needed", "Depreciation is 7.")
    output(memory, "sales", "sales: 45", *raw)
    essential = Need(type="module_output", priority="essential", scope="current_pipeline")
    payload = routed(memory, essential, CHUNKS, tokens=500)
    assert names(payload) == ["p/sales", "needed"]
    assert set(reasons(payload)) == set(raw)


def test_nor_does_raw_material_of_what_an_essential_output_was_made_from(memory):
    raw = [f"raw{n}" for n in range(30)]
    for n, name in enumerate(raw):
        put(memory, name, f"sales growth {n} " + f"plant{n} quay{n} " * 40)
    put(memory, "needed", "Depreciation is 7.")
    output(memory, "sales", "sales: 45", *raw)
    output(memory, "margin", "margin: 0.1", "p/sales")
    essential = Need(
        type="module_output", priority="essential", scope="current_pipeline", module="margin"
    )
    payload = routed(memory, essential, OUTPUTS, CHUNKS, tokens=500)
    assert names(payload) == ["p/margin", "p/sales", "needed"]
    assert set(reasons(payload).values()) == {"worked up in p/margin"}


def test_what_is_larger_than_the_room_takes_no_place_of_others(memory):
    put(memory, "huge", "sales growth " * 500)
    put(memory, "small", "Depreciation is 7.")
    payload = routed(memory, CHUNKS, tokens=100)
    assert names(payload) == ["small"]
    tokens = memory.items.get("huge").token_count
    assert reasons(payload) == {"huge": f"no room for its {tokens} tokens"}


class Says:
    """A triage that says one thing of all candidates, or of none."""

    def __init__(self, verdict):
        self.verdict = verdict

    def judge(self, _request, candidates, _said):
        made_up = {999_999: Verdict("essential", "there is none")}
        return made_up | ({one.id: self.verdict for one in candidates} if self.verdict else {})


def test_what_a_triage_calls_redundant_is_left_out_only_if_nothing_is_lost(memory):
    put(memory, "raw", "Sales grew to 45.")
    payload = routed(memory, CHUNKS, triage=Says(Verdict("redundant", "I know it")))
    assert (names(payload), reasons(payload)) == (["raw"], {})


def test_the_rules_judge_what_a_triage_does_not(memory):
    put(memory, "raw", "Sales grew to 45.")
    output(memory, "sales", "growth of 3 percent", "raw")
    payload = routed(memory, OUTPUTS, CHUNKS, triage=Says(None))
    other = routed(memory, OUTPUTS, CHUNKS)
    others = {"triage": 0, "payload_id": 0}
    assert payload.to_dict() | others == other.to_dict() | others
    assert reasons(payload) == {"raw": "worked up in p/sales"}


def test_what_a_triage_says_of_some_holds_beside_the_rules(memory):
    class OfOne:
        def judge(self, _request, candidates, _said):
            return {candidates[0].id: Verdict("irrelevant", "of no use")}

    put(memory, "first", "Sales growth to 45.")
    put(memory, "second", "Margins fell to 7.")
    payload = routed(memory, CHUNKS, triage=OfOne())
    assert (names(payload), reasons(payload)) == (["second"], {"first": "of no use"})


def test_no_triage_drops_what_is_essential(memory):
    put(memory, "raw", "Sales grew to 45.")
    essential = Need(type="document_chunk", scope="global", priority="essential")
    payload = routed(memory, essential, triage=Says(Verdict("irrelevant", "no")))
    [one] = payload.context_payload
    assert (one.classification, one.reason) == ("essential", "an essential need names it")
