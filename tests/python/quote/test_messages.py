"""Messages that windows show again: read once, handed out as copies, counted and compared once."""

from __future__ import annotations

import json
import random

import pytest
from preparing import process, talk

from warmset import Memory, count_tokens
from warmset.errors import BudgetTooSmall, Erased
from warmset.quote.messages import LARGEST, Copies, copied
from warmset.state.prompt_prefix import Known, Sent
from warmset.testing import random_history

ONE, TWO, THREE = ({"role": "user", "content": text} for text in ("one", "two", "three"))
HELLO = {"type": "text", "text": "hello"}


class Source:
    """Messages by their ids; it remembers which were read."""

    def __init__(self, size=10):
        self.size, self.read, self.gone = size, [], lambda: None

    def __call__(self, ids):
        self.read += ids
        self.gone()
        return [(self.message(id_), self.size) for id_ in ids]

    def message(self, id_):
        return {"role": "user", "content": f"{id_}" if id_ % 2 else [{**HELLO, "n": [id_]}]}


def spoil(value):
    """Change everything in a message that can be changed."""
    for one in value.values() if isinstance(value, dict) else value:
        if isinstance(one, (dict, list)):
            spoil(one)
    value.clear()


def test_a_message_is_read_once_and_handed_out_as_a_copy():
    source = Source()
    copies = Copies(source)
    for ids in ([1, 2], [2, 3, 1], [3, 2]):
        messages, marks = copies.get(ids)
        assert messages == [source.message(id_) for id_ in ids]
        assert len(set(marks)) == len(ids)
        for message in messages:
            spoil(message)
    assert source.read == [1, 2, 3]
    assert copies.messages([2]) == [source.message(2)]
    copies.clear()
    copies.get([1])
    assert source.read == [1, 2, 3, 1]


@pytest.mark.parametrize("flat", [True, False])
def test_a_long_list_that_is_asked_for_again_is_handed_out_as_a_copy(flat, monkeypatch):
    monkeypatch.setattr("warmset.quote.messages.LONG", 4)
    source = Source()
    copies = Copies(source)
    ids = [1, 3, 5, 7] if flat else [1, 2, 3, 4]
    for _ in range(3):
        messages, marks = copies.get(ids)
        assert messages == [source.message(id_) for id_ in ids]
        assert len(set(marks)) == 4
        for message in messages:
            spoil(message)
        messages.clear()
        marks.clear()
    assert source.read == ids
    for others in (ids[::-1], [*ids, 9], ids[:3], ids[1:]):
        assert copies.messages(others) == [source.message(id_) for id_ in others]
    copies.clear()
    source.read.clear()
    copies.get(ids)
    assert source.read == ids, "what was erased meanwhile is asked for again"


def test_a_long_list_is_not_held_where_its_messages_are_not_kept(monkeypatch):
    monkeypatch.setattr("warmset.quote.messages.LONG", 2)
    source = Source(LARGEST + 1)
    copies = Copies(source)
    for _ in range(3):
        copies.get([1, 3])
    assert source.read == [1, 3] * 3


def test_a_long_list_leaves_with_the_messages_that_are_kept(monkeypatch):
    monkeypatch.setattr("warmset.quote.messages.LONG", 2)
    monkeypatch.setattr("warmset.quote.messages.ROOM", 80)
    source = Source()
    copies = Copies(source)
    for _ in range(2):
        copies.get([1, 3])
    for id_ in range(5, 21, 2):
        copies.get([id_])
    source.read.clear()
    copies.get([1, 3])
    assert source.read == [1, 3]


def test_a_window_of_everything_shares_no_object_of_a_message():
    given = {"role": "user", "content": "one", "data": {"n": {"deep": [1]}}}
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append(given)
        for _ in range(3):
            found = log.window(mode="full", budget=1_000).messages
            assert found == [given]
            spoil(found)


def test_what_is_not_asked_for_again_leaves(monkeypatch):
    monkeypatch.setattr("warmset.quote.messages.ROOM", 16 * LARGEST)
    source = Source(LARGEST // 2)
    copies = Copies(source)
    for id_ in range(1, 100):
        copies.get([0, id_])
    assert source.read == list(range(100)), "what is asked for again stays"
    source.read.clear()
    copies.get(range(100))
    assert 0 not in source.read
    assert set(range(1, 66)) <= set(source.read), "no more than 34 are kept"
    assert 99 not in source.read
    source.size = LARGEST + 1
    copies.clear()
    source.read.clear()
    copies.get([1])
    copies.get([1])
    assert source.read == [1, 1], "very large ones are not kept"


def test_a_message_that_is_asked_for_twice_takes_its_room_once(monkeypatch):
    monkeypatch.setattr("warmset.quote.messages.ROOM", 16 * LARGEST)
    source = Source(LARGEST)
    copies = Copies(source)
    copies.get([id_ for id_ in range(1, 9) for _ in (0, 1)])  # half of the room
    copies.get(range(9, 17))
    source.read.clear()
    copies.get([1])
    assert source.read == []


def test_a_message_that_is_erased_while_it_is_read_is_not_kept():
    source = Source()
    copies = Copies(source)
    copies.get([1])

    def once():
        source.gone = lambda: None
        copies.clear()  # as somebody does who erases one

    source.gone = once
    assert copies.messages([1, 2]) == [source.message(1), source.message(2)]
    assert source.read == [1, 2, 1, 2], "what was kept is asked for again: it may be gone"
    source.read.clear()
    copies.get([1, 2])
    assert source.read == [1, 2], "nothing was kept"

    copies.clear()

    def erased():
        copies.clear()
        if len(source.read) > 4:
            raise Erased("2 was erased")

    source.gone = erased
    with pytest.raises(Erased):
        copies.get([1, 2])


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "gemini", "responses", "interactions"])
def test_a_copy_shares_nothing_that_can_be_changed(dialect):
    for seed in range(20):
        for message in random_history(seed, dialect).messages:
            kept = json.dumps(message)
            again = copied(message)
            assert json.dumps(again) == kept
            spoil(again)
            assert json.dumps(message) == kept


def test_the_front_that_was_sent_before_is_counted():
    blocks = {"role": "user", "content": [HELLO]}
    last, counts = Sent(), []
    for messages in ([ONE, TWO], [ONE, TWO, blocks], [ONE, TWO, blocks, THREE], [ONE, THREE]):
        now = Sent(messages)
        counts.append(now.cached(messages, last, "o200k_base"))
        last = now
    assert counts == [0, 10, 15, 5]
    turned = {"content": "one", "role": "user"}
    assert Sent([turned]).cached([turned], last, "o200k_base") == 0, "another order of keys"


def test_the_blocks_that_a_message_begins_with_are_counted():
    other = {"type": "text", "text": "and more"}
    before = Sent([ONE, {"role": "user", "content": [HELLO, HELLO, other]}])
    now = [ONE, {"role": "user", "content": [HELLO, HELLO, HELLO]}, TWO]
    same = [ONE, {"role": "user", "content": [HELLO, HELLO]}]
    assert Sent(now).cached(now, before, "o200k_base") == count_tokens(same) - 3
    text = [ONE, {"role": "user", "content": "hello"}]
    assert Sent(text).cached(text, before, "o200k_base") == count_tokens([ONE]) - 3


def test_what_travels_beside_is_at_the_front():
    tools = [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}]
    before = Sent([ONE], system="Be brief.", tools=tools)
    now = Sent([ONE], system="Be brief.", tools=tools)
    whole = count_tokens([ONE], system="Be brief.", tools=tools) - 3
    assert now.cached([ONE], before, "o200k_base") == whole
    for system, given in (("Be long.", tools), ("Be brief.", None), (None, None)):
        one = Sent([ONE], system=system, tools=given)
        assert one.cached([ONE], before, "o200k_base") == 0


def test_what_is_known_of_messages_is_of_these_objects():
    known = Known()
    known.add([ONE, TWO], [1, 2], [10, 20])
    assert known.find([TWO, dict(ONE), ONE]) == [1, None, 0]


# --- windows --------------------------------------------------------------------------------------


def reads(memory, monkeypatch):
    """Which messages are read from the store."""
    seen, store = [], memory._engine.store

    class Watched:
        def __getattr__(self, name):
            return getattr(store, name)

        def get_many(self, ids):
            seen.extend(ids)
            return store.get_many(ids)

        def get(self, id_):
            seen.append(id_)
            return store.get(id_)

    monkeypatch.setattr(memory._engine, "store", Watched())
    return seen


def test_a_window_of_everything_reads_what_is_new(monkeypatch):
    with process(None, None) as memory:
        talk(log := memory.conversation("log"), 50)
        first = log.window(mode="full", budget=10_000)
        seen = reads(memory, monkeypatch)
        counted = []
        monkeypatch.setattr(
            "warmset.window.render.message_tokens",
            lambda messages, _: counted.extend(messages) or [0],
        )
        talk(log, 1, 50)
        again = log.window(mode="full", budget=10_000)
        assert set(seen) == set(log.ids[-2:])
        assert counted == []
        assert again.messages[:-2] == first.messages
        assert again.report.cached == first.tokens - 3


@pytest.mark.parametrize("source", ["openai", "anthropic", "gemini", "responses", "interactions"])
@pytest.mark.parametrize("target", [None, "openai", "anthropic"])
@pytest.mark.parametrize("encoding", ["o200k_base", "estimate"])
def test_windows_of_everything_cost_what_they_say(source, target, encoding):
    dice = random.Random(source)
    with Memory.open(None, embedder="lexical", encoding=encoding) as memory:
        for seed in range(6):
            log = memory.conversation(f"log {seed}")
            history = random_history(seed, source).messages
            given = [message for message in history if source == target or plain(message)]
            for at in range(0, len(given), 2):
                log.append(given[at : at + 2])
                system = dice.choice([None, "Be brief."])
                options = {"mode": "full", "dialect": target or source, "system": system}
                found = log.window(budget=10**6, **options)
                cost = count_tokens(found.messages, system=found.system, encoding=encoding)
                assert found.tokens == cost
                kept = json.dumps(found.messages)
                for message in found.messages:
                    spoil(message)
                found.messages.clear()
                again = log.window(budget=cost, **options)
                assert json.dumps(again.messages) == kept
                assert again.report.cached == cost - 3
                with pytest.raises(BudgetTooSmall):
                    log.window(budget=cost - 1, **options)


def plain(message):
    """Whether a message is text alone, which every dialect can say."""
    content = message.get("content", message.get("parts"))
    return message.get("role") in {"user", "assistant", "model"} and isinstance(content, str)


def test_an_erased_message_leaves_at_once(tmp_path):
    with process(tmp_path, None) as one, process(tmp_path, None) as other:
        talk(log := one.conversation("log"), 10)
        copy = other.conversation("log")
        for conversation in (log, copy):
            conversation.window(mode="full", budget=10_000)
        gone = copy.ids[3]
        other.erase(ids=[gone])
        for memory, conversation in ((one, log), (other, copy)):
            found = conversation.window(mode="full", budget=10_000)
            assert "Answer 1:" not in json.dumps(found.messages)
            assert len(found.messages) == 19
            with pytest.raises(Erased):
                memory._engine.copies.get([gone])
