"""Facts and units over generated conversations, against naive oracles."""

from hypothesis import given, strategies as st
from message_strategies import anthropic_lists, facts_lists, openai_lists

from warmset.messages import (
    anchor,
    dumps,
    exchange_start,
    facts,
    last_said,
    loads,
    resolve,
    units,
    validate,
)

LISTS = {"openai": openai_lists, "anthropic": anthropic_lists}
either = st.sampled_from(sorted(LISTS)).flatmap(
    lambda dialect: st.tuples(st.just(dialect), LISTS[dialect]())
)


def naive_units(read):
    """Merge sets until nothing merges; open calls are one flat list."""
    groups = [{index} for index in range(len(read))]
    open_calls = []
    for index, fact in enumerate(read):
        for call in fact.results:
            asked = [at for at, name in open_calls if name == call]
            if asked:
                open_calls.reverse()
                open_calls.remove((asked[-1], call))
                open_calls.reverse()
                both = [group for group in groups if asked[-1] in group or index in group]
                groups = [group for group in groups if group not in both]
                groups.append(set().union(*both))
        open_calls += [(index, call) for call in fact.calls]
    still_open = {at for at, _ in open_calls}
    return sorted((tuple(sorted(group)), bool(group & still_open)) for group in groups)


@given(facts_lists)
def test_units_are_those_of_the_naive_oracle(read):
    assert [(unit.members, unit.open) for unit in units(read)] == naive_units(read)


@given(facts_lists)
def test_units_partition_the_list_in_order(read):
    found = units(read)
    assert sorted(m for unit in found for m in unit.members) == list(range(len(read)))
    assert all(list(unit.members) == sorted(unit.members) for unit in found)
    assert [unit.members[0] for unit in found] == sorted(unit.members[0] for unit in found)


@given(facts_lists)
def test_the_kind_of_a_unit_tells_what_is_in_it(read):
    for unit in units(read):
        inside = [read[member] for member in unit.members]
        if unit.kind == "tool":
            assert any(fact.calls for fact in inside)
        else:
            assert len(inside) == 1
            assert not inside[0].calls
            assert (unit.kind == "orphan") == bool(inside[0].results)
            assert (unit.kind == "system") == inside[0].is_system


@given(either)
def test_valid_lists_are_resolved_and_pass_validation(pair):
    dialect, messages = pair
    assert resolve(messages, dialect) == dialect
    assert validate(messages, dialect=dialect) == []


@given(either, st.data())
def test_a_valid_list_without_some_units_is_valid_but_for_its_first_message(pair, data):
    dialect, messages = pair
    found = units([facts(message, dialect) for message in messages])
    gone = data.draw(st.sets(st.sampled_from(found)))
    kept = sorted(m for unit in found if unit not in gone for m in unit.members)
    problems = validate([messages[m] for m in kept], dialect=dialect)
    assert [problem for problem in problems if problem.rule != "A1"] == []


@given(either)
def test_anchor_and_exchange_are_the_first_and_last_request(pair):
    dialect, messages = pair
    asking = [i for i, message in enumerate(messages) if asks(message)]
    read = [facts(message, dialect) for message in messages]
    assert (anchor(read), last_said(read)) == (asking[0], asking[-1])
    plain = [i for i in asking if not read[i].results]
    assert exchange_start(read) == (plain or asking)[-1]


def asks(message):
    content = message["content"]
    return message["role"] == "user" and (
        isinstance(content, str) or {part["type"] for part in content} != {"tool_result"}
    )


@given(either)
def test_facts_survive_the_store(pair):
    dialect, messages = pair
    for message in messages:
        assert facts(loads(dumps(message)), dialect) == facts(message, dialect)
