"""What stays or leaves together, and where a request begins."""

from warmset.messages import Facts, Unit, anchor, exchange_start, last_said, units


def calls(*ids):
    return Facts("assistant", "", ids)


def results(*ids, asks=False):
    return Facts("user", "", (), ids, request=asks)


USER = Facts("user", "hi", request=True)
SAID = Facts("assistant", "hi")


def test_plain_messages_are_units_of_one():
    found = units([Facts("system", ""), Facts("developer", ""), USER, SAID])
    assert found == [
        Unit((0,), "system"),
        Unit((1,), "system"),
        Unit((2,), "user"),
        Unit((3,), "assistant"),
    ]


def test_parallel_calls_and_their_late_results_in_any_order_are_one_unit():
    found = units([USER, calls("a", "b"), results("b"), USER, results("a"), SAID])
    assert found == [
        Unit((0,), "user"),
        Unit((1, 2, 4), "tool"),
        Unit((3,), "user"),
        Unit((5,), "assistant"),
    ]


def test_a_call_without_its_result_is_open():
    assert units([calls("a", "b"), results("a")]) == [Unit((0, 1), "tool", open=True)]


def test_an_id_that_comes_again_belongs_to_its_latest_open_call():
    found = units([calls("a"), results("a"), calls("a"), results("a"), results("a")])
    assert found == [Unit((0, 1), "tool"), Unit((2, 3), "tool"), Unit((4,), "orphan")]
    assert units([calls("a"), calls("a"), results("a")]) == [
        Unit((0,), "tool", open=True),
        Unit((1, 2), "tool"),
    ]
    assert units([calls("a"), calls("a"), results("a"), results("a")]) == [
        Unit((0, 3), "tool"),
        Unit((1, 2), "tool"),
    ]


def test_a_result_before_its_call_is_an_orphan():
    assert units([results("a"), calls("a")]) == [
        Unit((0,), "orphan"),
        Unit((1,), "tool", open=True),
    ]


def test_one_message_that_answers_two_assistants_makes_one_unit_of_them():
    found = units([calls("a"), USER, calls("b"), results("b", "a", asks=True)])
    assert found == [Unit((0, 2, 3), "tool"), Unit((1,), "user")]


def test_a_message_with_one_known_result_is_no_orphan():
    assert units([calls("a"), results("x", "a")]) == [Unit((0, 1), "tool")]


def test_a_request_is_more_than_results():
    read = [Facts("system", ""), results("x"), USER, calls("a"), results("a"), SAID]
    assert (anchor(read), exchange_start(read)) == (2, 2)
    read += [calls("b"), results("b", asks=True), SAID]
    assert (anchor(read), exchange_start(read), last_said(read)) == (2, 2, 7)
    only = [calls("b"), results("b", asks=True), SAID]
    assert (anchor(only), exchange_start(only), last_said(only)) == (1, 1, 1)
    assert (anchor([SAID]), exchange_start([])) == (None, None)


def test_a_hundred_thousand_messages():
    # A walk that is not linear takes hours here.
    ids = [f"c{n}" for n in range(10_000)]
    read = [calls(*ids), *(results(call) for call in reversed(ids))]
    read += [fact for n in range(22_500) for fact in (USER, calls(f"d{n}"), results(f"d{n}"), SAID)]
    found = units(read)
    assert len(found[0].members) == 10_001
    assert len(found) == 1 + 3 * 22_500


def test_chains_of_merged_units_stay_linear():
    read = [calls(f"c{n}") for n in range(50_000)]
    read += [results(f"c{n}", f"c{n + 1}") for n in range(0, 49_998, 2)]
    read += [results(f"c{n}") for n in (49_998, 49_999)]
    found = units(read)
    assert {len(unit.members) for unit in found} == {2, 3}
