"""Messages that are appended behind a named one."""

from __future__ import annotations

import pytest
from busy import held_elsewhere

from warmset import Memory
from warmset.errors import InvalidInputError, NotFound


def said(*texts):
    return [{"role": "user", "content": text} for text in texts]


def texts(log):
    return [turn["content"] for turn in log.fetch(log.ids)]


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path, embedder="lexical") as made:
        yield made


def test_messages_behind_an_earlier_one_are_a_branch(memory, tmp_path):
    log = memory.conversation("log")
    a, b, _c = log.append(said("a", "b", "c"))
    [d, e] = log.append(said("d", "e"), after=a)
    assert texts(log) == ["a", "d", "e"]
    log.append(said("f"), after=b)
    assert texts(log) == ["a", "b", "f"]
    [g] = log.append(said("g"), after=e)
    assert log.ids == [a, d, e, g]
    memory.close()
    with Memory.open(tmp_path, embedder="lexical") as again:
        assert again.conversation("log").ids == [a, d, e, g]


def test_messages_behind_the_last_one_follow_it(memory):
    log = memory.conversation("log")
    [a] = log.append(said("a"))
    [b] = log.append(said("b"), after=a)
    log.append(said("c"))
    assert texts(log) == ["a", "b", "c"]
    assert log.append([], after=b) == []
    assert texts(log) == ["a", "b", "c"]


def test_what_follows_the_last_one_keeps_the_cut(memory):
    named, plain = memory.conversation("named"), memory.conversation("plain")
    cuts = []
    for at in range(60):
        one = {"role": "user", "content": f"Shelf {at} has {at * 7} boxes of nails. " * 4}
        plain.append(one)
        named.append(one, after=named.ids[-1] if named.ids else None)
        cuts.append([len(log.fit(budget=900).messages) for log in (named, plain)])
    assert len({one for one, _ in cuts}) > 10
    assert all(one == two for one, two in cuts)


def test_a_message_that_is_not_there_is_refused(memory):
    log = memory.conversation("log")
    [a] = log.append(said("a"))
    [other] = memory.conversation("other").append(said("x"))
    for after in (0, other, 10**9):
        with pytest.raises(NotFound):
            log.append(said("b"), after=after)
    for options in ({"after": "a"}, {"after": True}, {"after": a, "key": "k"}):
        with pytest.raises(InvalidInputError):
            log.append(said("b"), **options)
    memory.erase(ids=[a])
    with pytest.raises(NotFound):
        log.append(said("b"), after=a)
    assert texts(log) == []


def test_what_lies_in_the_spool_comes_first(tmp_path):
    with Memory.open(tmp_path, embedder="lexical", on_busy="spool") as memory:
        log = memory.conversation("log")
        [a] = log.append(said("a"))
        with held_elsewhere(tmp_path):
            log.append(said("b"))
            log.append(said("c"), after=a)
        memory.conversation("else").append(said("x"))
        assert texts(log) == ["a", "b", "c"]


def test_a_reply_is_bound_to_the_list_that_was_made_where_it_stands(memory):
    log = memory.conversation("log")
    [a] = log.append(said("a"))
    log.window(budget=10_000, dialect="anthropic", model="claude-opus-5-5")
    [b] = log.append(said("b"))
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    reply = {"role": "assistant", "content": [thinking, {"type": "text", "text": "r"}]}
    [there] = log.append(reply, after=a)
    entries = memory.__warmset_engine__().ledger(memory.tenant, "log").entries
    assert entries[there].behind is not None
    log.append(said("c"), after=b)
    log.window(budget=10_000, dialect="anthropic", model="claude-opus-5-5")
    [elsewhere] = log.append(reply, after=a)
    assert (
        memory.__warmset_engine__().ledger(memory.tenant, "log").entries[elsewhere].behind is None
    )
