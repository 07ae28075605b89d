"""A caller that sends our windows back as its history keeps its past."""

from __future__ import annotations

import copy
import logging
from types import SimpleNamespace

import pytest
from checked_locks import alone

from warmset import Memory, PreparedCompaction
from warmset.quote.format import TAG
from warmset.state.branches import History
from warmset.state.rendered import WINDOWS
from warmset.window.sent_back import _noted, _until


def said(role, text):
    return {"role": role, "content": text}


def talk(count=42, *, system="Answer in a line."):
    made = [said("system", system)] if system else []
    for at in range(count):
        made.append(said("user", f"Question {at} about the boats in the harbour? " * 4))
        made.append(said("assistant", f"Answer {at} on the crane, the tide and the boats. " * 4))
    return [*made, said("user", "What about the boats of question 7?")]


def looked_up():
    """A call and its result in Anthropic's dialect, and an answer."""
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "Two boats."}
    return [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        said("assistant", "Two."),
    ]


def gemini(messages):
    roles = {"assistant": "model", "user": "user"}
    return [{"role": roles[m["role"]], "parts": [{"text": m["content"]}]} for m in messages]


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as opened:
        yield opened


def texts(conversation):
    return [str(dict(turn)) for turn in conversation.fetch(conversation.ids)]


def test_a_window_sent_back_with_a_new_message_keeps_the_whole_path(memory):
    conversation, history = memory.conversation("talk"), talk()
    window = memory.process(history, conversation="talk", budget=3_000)
    assert len(window.messages) < 12
    new = [said("assistant", "Four."), said("user", "And of question 8?")]
    again = memory.process([*window.messages, *new], conversation="talk", budget=3_000)
    assert [dict(turn) for turn in conversation.fetch(conversation.ids)] == [*history, *new]
    assert again.synced.appended == conversation.ids[-2:]
    assert (again.synced.branched_at, again.synced.left) == (None, 0)
    assert again.synced.recognised == again.synced.kept == len(window.messages)
    assert not any("left" in note for note in again.report.notes)


def test_a_window_that_its_caller_changes_is_known_as_it_was_sent(memory):
    conversation, history = memory.conversation("talk"), talk()
    window = memory.process(history, conversation="talk", budget=3_000)
    sent = copy.deepcopy(window.messages)
    for message in window.messages:
        message["content"] = "gone"
    window.messages.clear()
    new = [said("assistant", "Four."), said("user", "And of question 8?")]
    again = memory.process([*sent, *new], conversation="talk", budget=3_000)
    assert again.synced.recognised == len(sent)
    assert [dict(turn) for turn in conversation.fetch(conversation.ids)] == [*history, *new]


def test_the_same_window_again_and_again_takes_one_place(memory):
    conversation, history = memory.conversation("talk"), talk()
    conversation.append(history)
    first = conversation.window("What about the crane?", budget=2_500)
    for _ in range(WINDOWS + 1):
        conversation.window("What about the boats of question 30?", budget=3_000)
    new = [said("assistant", "It is new."), said("user", "And the tide?")]
    again = memory.process([*first.messages, *new], conversation="talk", budget=3_000)
    assert again.synced.recognised == len(first.messages)
    stored = [dict(turn) for turn in conversation.fetch(conversation.ids)]
    assert stored == [*history, first.messages[-1], *new]


@pytest.mark.parametrize("mode", ["jit", "recency", "full"])
@pytest.mark.parametrize("dialect", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize("system", [None, "Be kind."])
def test_every_kind_of_window_is_recognised_for_as_long_as_it_is_sent_back(
    memory, mode, dialect, system
):
    history = talk(system=None)
    history = gemini(history) if dialect == "gemini" else history
    shape = gemini if dialect == "gemini" else list
    if dialect == "anthropic":
        history[1:2] = looked_up()
    conversation, sent = memory.conversation("talk"), history
    everything = list(history)
    options = {
        "budget": 60_000 if mode == "full" else 2_500,
        "mode": mode,
        "system": system,
        "dialect": dialect,
    }
    for step in range(12):
        window = memory.process(sent, conversation="talk", **options)
        assert [dict(turn) for turn in conversation.fetch(conversation.ids)] == everything
        new = shape([said("assistant", f"Reply {step}."), said("user", f"Next {step}?")])
        everything += new
        sent = [*window.messages, *new]


def looked_at(step):
    """Two calls at once, their results as messages of their own, and an answer."""
    ids = [f"c{step}a", f"c{step}b"]
    calls = [{"type": "tool_use", "id": id_, "name": "look", "input": {}} for id_ in ids]
    results = [
        {"type": "tool_result", "tool_use_id": id_, "content": f"Shelf {id_}. " * 20} for id_ in ids
    ]
    return [
        said("user", f"Next {step}?"),
        {"role": "assistant", "content": calls},
        *({"role": "user", "content": [one]} for one in results),
        said("assistant", f"Reply {step}."),
        said("user", "What did Shelf c1a or c2b have?"),
    ]


@pytest.mark.parametrize("mode", ["jit", "recency", "steady"])
@pytest.mark.parametrize("merged", [True, False])
@pytest.mark.parametrize("begins", [[], [said("system", "Be kind.")]])
def test_neighbours_may_come_back_merged_or_as_they_were(memory, mode, merged, begins):
    conversation, everything = memory.conversation("talk"), [*begins, *looked_at("x")]
    sent, merges = list(everything), 0
    for step in range(16):
        window = memory.process(
            sent, conversation="talk", budget=900, mode=mode, dialect="anthropic"
        )
        assert window.synced.left == 0
        assert [dict(turn) for turn in conversation.fetch(conversation.ids)] == everything
        new = [said("assistant", "Welcome."), *looked_at(step)]
        everything += new
        kept = window.messages if merged else list(window.sent.messages)
        merges += len(window.messages) < len(window.sent.messages)
        sent = [*kept, *new]
    assert merges > 10


def test_one_window_may_be_the_front_of_a_list_for_as_long_as_it_is_used(memory):
    conversation, history = memory.conversation("talk"), talk()
    sent = memory.process(history, conversation="talk", budget=3_000).messages
    for step in range(20):
        new = [said("assistant", f"Reply {step}."), said("user", f"Next question {step}?")]
        sent, history = [*sent, *new], [*history, *new]
        memory.process(sent, conversation="talk", budget=3_000)
        assert [dict(turn) for turn in conversation.fetch(conversation.ids)] == history


def test_the_request_of_a_window_is_stored_when_it_comes_back(memory):
    conversation, history = memory.conversation("talk"), talk()[:-1]
    conversation.append(history)
    for dialect in ("openai", "anthropic"):
        before = list(conversation.fetch(conversation.ids))
        window = conversation.window("Which boats?", budget=3_000, dialect=dialect)
        reply = said("assistant", f"All of them, in {dialect}.")
        conversation.sync([*window.messages, reply])
        found = [dict(turn) for turn in conversation.fetch(conversation.ids)]
        assert found == [*map(dict, before), said("user", "Which boats?"), reply]


def test_a_window_in_another_dialect_is_recognised(memory):
    conversation, history = memory.conversation("talk"), talk()
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    history[-1:] = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Two boats."},
        said("assistant", "Two."),
        said("user", "Which ones?"),
    ]
    window = memory.process(history, conversation="talk", budget=3_000, dialect="anthropic")
    new = [said("assistant", "The red ones."), said("user", "And?")]
    synced = conversation.sync([*window.messages, *new])
    assert synced.branched_at is None
    assert [dict(turn) for turn in conversation.fetch(conversation.ids)] == [*history, *new]


def test_a_cut_sent_back_keeps_the_whole_path(memory):
    conversation, history = memory.conversation("talk"), talk(system=None)
    history[1:2] = looked_up()
    conversation.append(history)
    cuts = (conversation.fit(budget=budget) for budget in range(1_300, 1_700, 40))
    cut = next(one for one in cuts if len(one.messages) > len(one.ids))  # a filler is in the gap
    new = [said("assistant", "Four."), said("user", "And of question 8?")]
    synced = conversation.sync([*cut.messages, *new])
    assert synced.branched_at is None
    assert [dict(turn) for turn in conversation.fetch(conversation.ids)] == [*history, *new]


def test_the_task_in_one_line_stands_for_the_task(memory):
    conversation, history = memory.conversation("talk"), talk(system=None)
    history[0] = said("user", "Plan the harbour. " * 300)
    conversation.append(history)
    new = [said("assistant", "Four."), said("user", "And of question 8?")]
    for made in (conversation.fit(budget=700), conversation.window(budget=700)):
        assert len(made.messages[0]["content"]) < 300
        conversation.sync([*made.messages, *new])
        assert [dict(turn) for turn in conversation.fetch(conversation.ids)] == [*history, *new]


def test_a_summary_is_never_stored_as_a_turn(memory):
    compaction = PreparedCompaction(trigger_ratio=0.3, deadline=30.0)
    conversation, history = memory.conversation("talk"), talk()
    options = {"budget": 3_000, "mode": "full", "compaction": compaction}
    memory.process(history[:60], conversation="talk", **options)
    window = memory.process(history, conversation="talk", **options)
    assert [part.name for part in window.parts].count("summary") == 1
    new = [said("assistant", "Four."), said("user", "And of question 8?")]
    memory.process([*window.messages, *new], conversation="talk", **options)
    assert [dict(turn) for turn in conversation.fetch(conversation.ids)] == [*history, *new]


def test_an_edit_in_a_window_branches_where_it_was_made_and_keeps_what_comes_before(memory):
    conversation, history = memory.conversation("talk"), talk()
    window = memory.process(history, conversation="talk", budget=3_000)
    edited = [*window.messages[:-1], said("user", "No: of question 9?")]
    synced = conversation.sync(edited)
    assert synced.branched_at == synced.kept + 86 - len(window.messages) == 85
    assert (len(synced.appended), synced.left) == (1, 1)
    found = [dict(turn) for turn in conversation.fetch(conversation.ids)]
    assert found == [*history[:-1], edited[-1]]


def test_an_edited_system_prompt_in_front_of_a_window_keeps_the_past(memory):
    conversation, history = memory.conversation("talk"), talk()
    window = memory.process(history, conversation="talk", budget=3_000)
    fresh, new = said("system", "It is Tuesday."), said("assistant", "Four.")
    synced = conversation.sync([fresh, *window.messages[1:], new])
    found = [dict(turn) for turn in conversation.fetch(conversation.ids)]
    assert found == [fresh, *history[1:], new]
    assert (synced.branched_at, synced.left) == (0, 86)


def test_an_edited_task_in_front_of_a_window_keeps_the_past(memory):
    conversation, history = memory.conversation("talk"), talk()
    window = memory.process(history, conversation="talk", budget=3_000)
    fresh = said("user", "Something else about boats?")
    synced = conversation.sync([history[0], fresh, *window.messages[2:]])
    found = [dict(turn) for turn in conversation.fetch(conversation.ids)]
    assert found == [history[0], fresh, *history[2:]]
    assert (synced.kept, synced.branched_at) == (1, 1)


def test_a_request_that_was_replaced_is_not_stored(memory):
    conversation, history = memory.conversation("talk"), talk()[:-1]
    conversation.append(history)
    window = conversation.window("Which boats?", budget=3_000)
    conversation.sync([*window.messages[:-1], said("user", "Which cranes?")])
    found = [dict(turn) for turn in conversation.fetch(conversation.ids)]
    assert found == [*history, said("user", "Which cranes?")]


@alone()
def test_a_window_stands_for_all_that_there_was():
    history = History()
    for id_ in range(1, 10):
        history.add(id_, b"%016d" % id_)
    assert _until(history, [1, 0, 7, 8], 9) == [1, 6, 7, 9]
    assert _until(history, [1, 0], 9) == [1, 9]
    assert _until(history, [0, 1, 0, 0, 9], 9) == [0, 1, 8, 8, 9]
    assert _until(history, [], 9) == []


def test_where_parts_are_not_known_the_last_message_stands_for_all_that_there_was():
    made = SimpleNamespace(
        turns=(1,), plain=[said("user", "a")], messages=[said("user", "b"), said("user", "c")]
    )
    call = SimpleNamespace(source="openai", target="openai", system=None, request="asked")
    history = SimpleNamespace(head=7, ancestors=lambda _: iter(()))
    [front, last] = _noted(history, made, call)()
    assert (front.until, front.request) == (None, None)
    assert (last.until, last.request) == (7, "asked")


def test_without_the_quoted_block_a_window_is_recognised_as_well(memory):
    conversation, history = memory.conversation("talk"), talk()
    window = memory.process(history, conversation="talk", budget=3_000)
    bare = [one for one in window.messages if TAG not in str(one["content"])]
    assert len(bare) == len(window.messages) - 1
    conversation.sync([*bare, said("assistant", "Four.")])
    assert len(conversation) == len(history) + 1


def test_an_edited_list_of_the_caller_s_own_branches_as_before(memory):
    conversation, history = memory.conversation("talk"), talk()
    memory.process(history, conversation="talk", budget=3_000)
    edited = [*history[:2], said("assistant", "Something else."), *history[3:]]
    synced = conversation.sync(edited)
    assert (synced.kept, synced.branched_at, synced.recognised) == (2, 2, 0)
    assert [dict(turn) for turn in conversation.fetch(conversation.ids)] == edited


def test_a_short_list_that_was_sent_whole_may_be_shortened_by_its_caller(memory):
    conversation, history = memory.conversation("talk"), talk(3)
    window = memory.process(history, conversation="talk", budget=3_000)
    assert window.messages == history
    synced = conversation.sync([history[0], *history[3:]])
    assert synced.branched_at == 1
    assert [dict(turn) for turn in conversation.fetch(conversation.ids)] == [
        history[0],
        *history[3:],
    ]


def test_a_quoted_block_in_an_unknown_list_is_not_stored(memory):
    conversation, history = memory.conversation("talk"), talk()
    window = memory.process(history, conversation="talk", budget=3_000)
    block = next(one for one in window.messages if TAG in str(one["content"]))
    conversation.sync([*history, said("assistant", "Four."), block, said("user", "And?")])
    assert len(conversation) == len(history) + 2
    assert not any(TAG in text for text in texts(conversation))


def test_leaving_most_of_the_path_is_reported_and_logged(memory, caplog):
    history = talk()
    memory.process(history, conversation="talk", budget=3_000)
    with caplog.at_level(logging.WARNING, "warmset.store"):
        whole = memory.process(history[:43], conversation="talk", budget=3_000)
        assert not caplog.records
        assert (whole.synced.left, whole.synced.left_most) == (43, False)
        most = memory.process(history[:21], conversation="talk", budget=3_000)
    assert most.synced.left_most
    (note,) = [note for note in most.report.notes if "left" in note]
    assert note.startswith("the list left 22 of 43 messages of the conversation at position 21")
    (record,) = caplog.records
    assert (record.event, record.left, record.branched_at) == ("branched", 22, 21)
    assert (record.tenant, record.conversation) == ("default", "talk")


def test_windows_of_another_conversation_are_not_recognised(memory):
    history = talk()
    window = memory.process(history, conversation="talk", budget=3_000)
    memory.process(history, conversation="other", budget=100_000)
    synced = memory.conversation("other").sync(window.messages)
    assert (synced.branched_at, synced.recognised) == (2, 0)


def test_a_message_keeps_its_hash_whatever_is_in_it(memory):
    conversation, history = memory.conversation("talk"), talk()
    history[-1] = {"role": "user", "content": "\ud83d lone, é", "n": [1.50, 1e300, -0.0, 10**20]}
    window = memory.process(history, conversation="talk", budget=3_000)
    new = said("assistant", "Four.")
    conversation.sync([*window.messages, new])
    assert [dict(turn) for turn in conversation.fetch(conversation.ids)] == [*history, new]


def marked(content):
    """A message with a cache mark, as a caller sends it."""
    block = {"type": "text", "text": content, "cache_control": {"type": "ephemeral"}}
    return {"role": "user", "content": [block]}


def marks(conversation):
    """Return which messages of the whole list have a cache mark."""
    made = conversation.window(budget=100_000, mode="full").messages
    return [at for at, one in enumerate(made) if "cache_control" in str(one)]


def test_marks_of_what_a_window_left_out_are_those_of_the_list_before(memory):
    conversation, history = memory.conversation("talk"), talk(system=None)
    conversation.sync(history)
    conversation.sync([*history[:10], marked(history[10]["content"]), *history[11:]])
    assert marks(conversation) == [10]
    window = conversation.window(budget=1_500, mode="recency")
    assert not any("Question 5 " in str(one) for one in window.messages)
    synced = conversation.sync([*window.messages, said("assistant", "Four.")])
    assert synced.recognised == len(window.messages)
    assert marks(conversation) == [10]
