"""What was read of a message is kept by all that is in it, and goes when something is erased."""

from __future__ import annotations

from itertools import pairwise

import pytest

from warmset import Memory, _core, compact_context, count_tokens
from warmset.compact import reading
from warmset.compact.reading import Readings, read_list
from warmset.messages import MAX_DEPTH, facts
from warmset.text.hard_facts import _stated


def key(value):
    return _core.message_keys([value], MAX_DEPTH - 1)[0]


def nested(levels):
    out = {"role": "user"}
    for _ in range(levels - 1):
        out = {"x": out}
    return out


def test_whatever_json_tells_apart_has_a_key_of_its_own():
    values = [
        1,
        1.0,
        True,
        "1",
        [1],
        {"1": 1},
        0,
        0.0,
        -0.0,
        False,
        None,
        "",
        [],
        {},
        [[]],
        -1,
        "é",
    ]
    pairs = [{"a": "", "b": "x"}, {"b": "x", "a": ""}, {"a": "b", "": "x"}, {"ab": "", "x": ""}]
    keys = [key({"x": value}) for value in values] + [key(one) for one in pairs]
    assert None not in keys
    assert len(set(keys)) == len(keys)
    assert keys == [key({"x": value}) for value in values] + [key(one) for one in pairs]
    assert {len(one) for one in keys} == {16}


class Text(str):
    """A text that may do what it likes."""

    __slots__ = ()


@pytest.mark.parametrize(
    "odd",
    [
        {"x": float("inf")},
        {"x": 2**64},
        {"x": "\ud800"},
        {"\ud800": 1},
        {1: "x"},
        {"x": (1,)},
        {"x": {1}},
        {"x": Text("x")},
        ["role", "user"],
        "user",
        None,
        nested(MAX_DEPTH),
    ],
)
def test_what_is_not_plain_json_has_none(odd):
    assert key(odd) is None
    assert key(nested(MAX_DEPTH - 2)) is not None
    assert _core.message_keys([{}, odd, {}], 3)[::2] == [key({})] * 2


def test_messages_without_a_key_are_read_each_time():
    plain = {"role": "user", "content": "hello"}
    lone, large = {**plain, "content": "\ud800 there"}, {**plain, "n": 2**70}
    given = [plain, lone, large, plain]
    for _ in range(2):
        found, reads, dialect = read_list(given, None, "o200k_base")
        assert found == given
        assert dialect == "openai"
        assert reads[0] is reads[3]
        assert [one.facts for one in reads] == [facts(one, "openai") for one in given]
        assert reads.costs.tolist() == [one.cost for one in reads]
        assert 3 + reads.costs.sum() == count_tokens(given)
    assert reads[1] is not read_list(given, None, "o200k_base")[1][1]


def test_tokens_are_those_of_the_vocabulary_that_was_asked_for():
    given = [{"role": "user", "content": "Zażółć gęślą jaźń, 漢字 and 12345678 crates"}]
    found = [
        3 + int(read_list(given, None, encoding)[1].costs.sum())
        for encoding in ("o200k_base", "cl100k_base", "o200k_base")
    ]
    large, small = (count_tokens(given, encoding=one) for one in ("o200k_base", "cl100k_base"))
    assert found == [large, small, large]
    assert large != small


def test_what_is_used_stays_and_the_rest_goes(monkeypatch):
    monkeypatch.setattr(reading, "_CHARACTERS", 1_000)
    monkeypatch.setattr(reading, "_SHELVES", {})
    used = {"role": "user", "content": "used again and again"}
    first = read_list([used], None, "o200k_base")[1][0]
    once = [{"role": "user", "content": f"said once {n} " * 9} for n in range(40)]
    seen = [read_list([used, one], None, "o200k_base")[1] for one in once]
    assert all(reads[0] is first for reads in seen)
    assert read_list([once[0]], None, "o200k_base")[1][0] is not seen[0][1]
    assert read_list([once[-1]], None, "o200k_base")[1][0] is seen[-1][1]
    together = read_list(once, None, "o200k_base")[1]  # more than a generation holds
    assert len({id(one) for one in together}) == len(once)
    assert all(one.digest != other.digest for one, other in pairwise(together))


def test_a_table_that_was_forgotten_is_still_whole_for_who_has_it():
    shelf = Readings()
    table, lacking = shelf.look([b"a", b"b", b"a"])
    assert lacking == [0, 1, 2]
    made = list(read_list([{"role": "user", "content": n} for n in "aba"], None, "o200k_base")[1])
    shelf.forget()
    shelf.keep(table, [b"a", b"b", b"a"], made)
    assert table.reads[table.row[b"b"]] is made[1]
    assert shelf.look([b"a"])[1] == [0]


@pytest.mark.parametrize("what", ["turns", "memory"])
def test_erasing_takes_what_the_process_keeps_of_texts(what):
    given = [{"role": "user", "content": f"Zanzibar_4711 number {n} of many"} for n in range(20)]
    with Memory.open(None, embedder="lexical") as memory:
        ids = memory.conversation("a").append(given)
        known = memory.remember(given[0]["content"])
        compact_context(given)
        read = read_list(given, None, "o200k_base")[1][0]
        assert _stated.cache_info().currsize
        memory.memories(query="Zanzibar")
        memory.erase(ids=ids if what == "turns" else [known])
        texts = [
            text for one in memory._engine.item_indexes.values() for text in one._texts.values()
        ]
        assert len(texts) == (what == "turns")
        shelves = list(reading._SHELVES.values())
        assert not [table for one in shelves for table in (one._young, one._old) if table.row]
        assert not _stated.cache_info().currsize
        assert read is not read_list(given, None, "o200k_base")[1][0]
