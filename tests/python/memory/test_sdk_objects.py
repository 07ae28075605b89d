"""SDK objects in a conversation: what is stored of them, and that they are recognised."""

from __future__ import annotations

import pytest

from warmset import Memory, Synced, fit

chat_types = pytest.importorskip("openai.types.chat")
anthropic_types = pytest.importorskip("anthropic.types")

ASK = {"role": "user", "content": "Which city?"}
CALL = {"id": "c", "function": {"arguments": "{}", "name": "f"}, "type": "function"}
STORED = {"content": None, "role": "assistant", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "Paris"}


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as opened:
        yield opened


def said():
    """Return a message as the SDK makes it of a stream: with an index, and nulls for the rest."""
    call = chat_types.ParsedFunctionToolCall.model_validate(
        {**CALL, "index": 0, "function": {**CALL["function"], "parsed_arguments": {"a": 1}}}
    )
    return chat_types.ParsedChatCompletionMessage(
        content=None, refusal=None, role="assistant", annotations=[], audio=None, tool_calls=[call]
    )


FORMS = {
    "object": said,
    "dump": lambda: said().model_dump(),
    "dump of what was set": lambda: said().model_dump(exclude_unset=True),
    "stored": lambda: STORED,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_what_is_stored_has_no_client_only_field(memory, form):
    chat = memory.conversation("log")
    ids = chat.append([ASK, form(), RESULT])
    assert [dict(turn) for turn in chat.fetch(ids)] == [ASK, STORED, RESULT]
    assert chat.append(form())
    assert chat.window("Which city?", budget=900, mode="full").messages[1] == STORED


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_list_is_recognised_in_whichever_form_it_is_sent_again(memory, form):
    chat = memory.conversation("log")
    chat.sync([ASK, form(), RESULT])
    for other in FORMS.values():
        assert chat.sync([ASK, other(), RESULT]) == Synced(3, [], None, head=chat.ids[-1])


def test_a_message_is_cleaned_although_its_list_was_seen_before(memory):
    chat = memory.conversation("log")
    nulls = {"role": "assistant", "content": "Paris", "audio": None, "refusal": None}
    clean = {"role": "assistant", "content": "Paris"}
    chat.sync([ASK, nulls])
    chat.sync([{**ASK, "content": "Which town?"}, nulls])
    assert dict(chat.fetch(chat.ids[-1])) == clean
    assert chat.sync([{**ASK, "content": "Which town?"}, clean]).kept == 2


def test_a_reply_of_anthropics_is_a_message_of_the_conversation(memory):
    chat = memory.conversation("log")
    content = [{"type": "tool_use", "id": "t", "name": "f", "input": {}, "caller": None}]
    reply = anthropic_types.Message.model_validate(
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "content": content,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )
    chat.append([ASK, reply])
    stored = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}],
    }
    assert dict(chat.fetch(chat.ids[-1])) == stored
    assert chat.dialect == "anthropic"
    assert memory.process([ASK, stored], conversation="log", budget=900).messages == [ASK, stored]
    assert len(chat) == 2


def test_fit_returns_objects_and_dicts_as_they_are():
    given = [ASK, said(), RESULT, {**said().model_dump(), "tool_calls": None, "content": "Paris"}]
    kept = fit(given, budget=900).messages
    assert all(one is own for one, own in zip(kept, given, strict=True))
    assert "parsed" in kept[3]
