"""Reasoning of a Responses list stays with every item of its response, or takes their ids along."""

import pytest
from responses_items import SAID, TOLD, USER, call, output

from warmset import BudgetTooSmall, Memory, fit
from warmset.messages import facts, repair, units, validate
from warmset.testing.oracle import together

# The items of one response share the end of their ids, or in newer ids the beginning.
STEM, OTHER = "67ccd2bf17f0819081ff3bb2cf6508e6", "68ddd3c028f1920192aa4cc3df7619f7"
NEWER = "0f3e6d7e2a1c4b5d006909c1"


def rs(stem, more=""):
    return {"type": "reasoning", "id": f"rs_{more}{stem}", "summary": []}


def fc(call_id, stem, more=""):
    return call(call_id, id=f"fc_{more}{stem}")


def told(stem):
    return {**TOLD, "id": f"msg_{stem}"}


def members(items):
    found = [unit.members for unit in units([facts(item, "responses") for item in items])]
    assert [list(one) for one in found] == together(items, "responses")
    return found


@pytest.mark.parametrize(
    ("items", "parts"),
    [
        (
            [rs(STEM), fc("a", STEM, "1"), output("a"), fc("b", STEM, "2"), output("b")],
            [(0, 1, 2, 3, 4)],
        ),
        (
            [rs(NEWER + "a"), fc("a", NEWER + "b"), output("a"), fc("b", NEWER + "c"), output("b")],
            [(0, 1, 2, 3, 4)],
        ),
        (
            [rs(STEM), fc("a", STEM), output("a"), fc("b", OTHER), output("b")],
            [(0, 1, 2), (3, 4)],
        ),
        ([rs("1"), fc("a", "2"), output("a"), fc("b", "3"), output("b")], [(0, 1, 2, 3, 4)]),
        ([rs("1"), fc("a", "2"), output("a"), call("b"), output("b")], [(0, 1, 2), (3, 4)]),
        ([rs(STEM), fc("a", STEM), output("a"), told(STEM)], [(0, 1, 2, 3)]),
        ([rs(STEM), fc("a", STEM), output("a"), USER, told(STEM)], [(0, 1, 2), (3,), (4,)]),
        ([rs("1"), fc("a", "1"), output("a"), rs("2"), fc("b", "2"), output("b")], None),
        ([rs(STEM), fc("a", STEM), output("a"), rs(OTHER), fc("b", OTHER), output("b")], None),
        (
            [rs(STEM), fc("a", STEM), output("a"), rs(STEM, "x"), fc("b", STEM), output("b")],
            [(0, 1, 2, 3, 4, 5)],
        ),
        ([fc("a", STEM), output("a"), fc("b", STEM), output("b")], [(0, 1), (2, 3)]),
    ],
)
def test_items_of_one_response_are_one_unit(items, parts):
    assert members(items) == (parts or [(0, 1, 2), (3, 4, 5)])


def test_a_stored_conversation_has_the_same_units():
    items = [USER, rs(STEM), fc("a", STEM), output("a", "yes " * 200), fc("b", STEM)]
    items += [output("b"), SAID, {**USER, "content": "more? " * 50}]
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("c")
        for item in items:
            conversation.append([item])
        accounts = conversation._ledger.accounts()
        assert [accounts.unit(n).members for n in range(len(accounts.roll))] == members(items)


@pytest.mark.parametrize("budget", range(20, 400, 7))
def test_no_cut_parts_an_item_from_its_reasoning(budget):
    items = [USER]
    for number, stem in enumerate((STEM, OTHER, NEWER)):
        a, b = f"a{number}", f"b{number}"
        items += [rs(stem), fc(a, stem, "1"), output(a, "x " * 20)]
        items += [fc(b, stem, "2"), output(b, "y " * 20)]
        items += [told(stem), {**USER, "content": f"next {number}"}]
    try:
        kept = fit(items, budget=budget).messages
    except BudgetTooSmall:
        return
    ids = [item["id"] for item in kept if "id" in item]
    for stem in (STEM, OTHER, NEWER):
        assert sum(stem in one for one in ids) in (0, 4)
    assert validate(kept) == []


def test_reasoning_with_an_id_is_followed_by_a_message_with_one():
    (found,) = validate([USER, rs("1"), SAID], dialect="responses")
    assert (found.rule, found.index, found.severity) == ("R3", 1, "refused")
    assert "message behind it has none" in found.why
    assert validate([USER, rs("1"), call("a"), output("a")], dialect="responses") == []
    assert validate([USER, rs("1"), TOLD], dialect="responses") == []
    assert repair([USER, rs("1"), SAID], dialect="responses").messages == [USER, SAID]
    sealed = {"type": "reasoning", "summary": [], "encrypted_content": "…"}
    assert validate([USER, sealed, SAID], dialect="responses") == []
    (found,) = validate([USER, sealed, USER], dialect="responses")
    assert (found.rule, found.severity) == ("R3", "discouraged")


def test_items_lose_their_ids_with_their_reasoning():
    lost = {"type": "reasoning", "summary": []}
    items = [USER, lost, fc("a", "1"), output("a"), USER, rs("2"), fc("b", "2"), output("b")]
    mended = repair(items, dialect="responses")
    assert mended.messages == [USER, call("a"), *items[3:5], call("b"), items[7]]
    assert [change.rule for change in mended.changes] == ["R4", "R3", "R10", "R3"]
    hosted = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    mended = repair([USER, lost, hosted, TOLD], dialect="responses").messages
    assert mended == [USER, {key: value for key, value in TOLD.items() if key != "id"}]
    kept = [USER, rs("1"), hosted, TOLD]
    assert repair(kept, dialect="responses").messages == kept


def test_an_output_whose_call_is_stored_stays():
    alone = [output("a")]
    assert repair(alone, dialect="responses").messages == alone
    (found,) = validate(alone, dialect="responses")
    assert (found.rule, found.severity) == ("R1", "discouraged")
    assert "continues=True" in found.fix
    assert validate(alone, dialect="responses", continues=True) == []
    mixed = [USER, call("b"), output("b"), output("a")]
    assert validate(mixed, dialect="responses")[0].severity == "refused"
    assert repair(mixed, dialect="responses").messages == mixed[:3]
    assert validate(mixed, dialect="responses", continues=True) == []
    assert repair(mixed, dialect="responses", continues=True).messages == mixed
    early = [output("b"), USER, call("b")]
    assert validate(early, dialect="responses", continues=True)[0].severity == "refused"
