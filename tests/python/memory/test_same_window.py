"""A window that comes back with what clients change in a list; redacted lists; SDK objects."""

from __future__ import annotations

import client_noise as noise
import pytest

from warmset import Memory
from warmset.quote.format import TAG


def said(role, text):
    return {"role": role, "content": text}


def talk(count=42):
    made = []
    for at in range(count):
        made.append(said("user", f"Question {at} about the boats in the harbour? " * 4))
        made.append(said("assistant", f"Answer {at} on the crane, the tide and the boats. " * 4))
    return [*made, said("user", "What about the boats of question 7?")]


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as opened:
        yield opened


@pytest.mark.parametrize(
    "kinds", [("blocks",), ("marked",), ("nulls", "turned"), ("marked", "turned")]
)
def test_a_window_that_comes_back_with_noise_is_recognised(memory, kinds):
    history = talk()
    chat = memory.conversation("c")
    window = memory.process(history, conversation="c", budget=3_000)
    assert any(TAG in str(one["content"]) for one in window.messages)
    for turn in range(4):
        listed = [
            *noise.noisy(window.messages, *kinds),
            said("assistant", f"It is {turn}."),
            said("user", f"And question {turn}?"),
        ]
        window = memory.process(listed, conversation="c", budget=3_000)
        assert window.synced.branched_at is None
        assert len(window.synced.appended) == 2
        history = [*history, *listed[-2:]]
        assert [dict(one) for one in chat.fetch(chat.ids)] == history
        assert len(chat._ledger.entries) == len(history)


def test_a_cut_that_comes_back_with_noise_is_recognised(memory):
    history = talk()
    chat = memory.conversation("c")
    chat.sync(history)
    cut = chat.fit(budget=2_000)
    assert len(cut.messages) < len(history)
    synced = chat.sync([*noise.noisy(cut.messages, "blocks"), said("assistant", "Four.")])
    assert (len(synced.appended), synced.branched_at) == (1, None)
    assert len(chat) == len(history) + 1


def test_our_block_among_noise_in_an_unknown_list_is_not_stored(memory):
    history = talk()
    chat = memory.conversation("c")
    window = memory.process(history, conversation="c", budget=3_000)
    block = next(one for one in window.messages if TAG in str(one["content"]))
    chat.sync([*history, said("assistant", "Four."), *noise.noisy([block], "marked")])
    assert len(chat) == len(history) + 1


def test_thinking_that_our_window_left_out_may_be_missing_in_it(memory):
    whole = noise.anthropic()
    filler = [said("user", "Boats and cranes? " * 60), said("assistant", "Many boats. " * 60)]
    history = [*whole[:-1], *filler * 8, whole[-1]]
    chat = memory.conversation("c")
    chat.sync(history)
    options = {"conversation": "c", "budget": 900, "model": "claude-opus-5-5"}
    window = memory.process(history, **options)
    assert len(window.messages) < len(history)
    listed = noise.thoughtless([*window.messages, said("assistant", "So."), said("user", "Ah.")])
    again = memory.process(listed, **options)
    assert (len(again.synced.appended), again.synced.branched_at) == (2, None)
    assert len(chat._ledger.entries) == len(history) + 2


@pytest.mark.parametrize("kind", noise.NOISE)
def test_a_redacted_list_is_recognised_with_noise(kind):
    def hook(text):
        return text.replace("boats", "boats [x]")  # changes its own results, too

    whole = noise.anthropic()
    with Memory.open(None, embedder="lexical", redact=hook) as memory:
        chat = memory.conversation("c")
        ids = list(chat.sync(whole).appended)
        stored = [dict(one) for one in chat.fetch(ids)]
        assert "boats [x]" in str(stored)
        for listed in (whole, stored):
            synced = chat.sync(noise.noisy(listed, kind))
            assert (synced.appended, synced.branched_at, synced.redacted) == ([], None, 0)
        assert [dict(one) for one in chat.fetch(ids)] == stored


def test_sdk_objects_and_dicts_with_noise_are_the_same_messages(memory):
    types = pytest.importorskip("anthropic.types")
    chat, whole = memory.conversation("c"), noise.anthropic()
    usage = {"input_tokens": 1, "output_tokens": 1}
    for count in noise.calls(whole):
        listed = noise.noisy(whole[:count], "marked")
        for at, one in enumerate(listed):
            if one["role"] == "assistant" and isinstance(one["content"], list):
                fields = {"id": "m", "model": "x", "type": "message", "usage": usage}
                listed[at] = types.Message.model_validate({**one, **fields})
        synced = memory.process(listed, conversation="c", budget=9_000, mode="full").synced
        assert (synced.branched_at, len(chat._ledger.entries)) == (None, count)
    assert chat.sync(noise.noisy(whole, "without old thinking", "turned")).appended == []


def test_responses_output_objects_and_dicts_with_noise_are_the_same_items(memory):
    types = pytest.importorskip("openai.types.responses")
    made = {
        "reasoning": types.ResponseReasoningItem,
        "function_call": types.ResponseFunctionToolCall,
    }
    chat, whole = memory.conversation("c"), noise.responses()
    for count in noise.calls(whole):
        listed = [
            made[one["type"]].model_validate(one) if one["type"] in made else one
            for one in noise.noisy(whole[:count], "marked")
        ]
        synced = memory.process(listed, conversation="c", budget=9_000, mode="full").synced
        assert (synced.branched_at, len(chat._ledger.entries)) == (None, count)
    for listed in (noise.nameless(whole), whole):
        assert chat.sync(listed).appended == []
