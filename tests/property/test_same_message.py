"""Noise in a caller's lists changes no conversation, and hides no edit."""

from __future__ import annotations

from copy import deepcopy

import client_noise as noise
import pytest
from hypothesis import given, settings, strategies as st

from warmset import Memory

WORDS = st.sampled_from(["boats", "cranes", "tide", ""])
MARKED = st.lists(st.sampled_from(["blocks", "marked", "nulls", "turned"]), unique=True)
KINDS = st.lists(st.sampled_from(list(noise.NOISE)), max_size=3, unique=True)


@st.composite
def histories(draw):
    """Draw Anthropic lists with thinking, calls and answers."""
    made = []
    for turn in range(draw(st.integers(1, 4))):
        made.append({"role": "user", "content": f"{draw(WORDS)} {len(made)}"})
        for _ in range(draw(st.integers(0, 3))):
            n = len(made)
            use = {"type": "tool_use", "id": f"t{n}", "name": "f", "input": {"n": None}}
            thoughts = [noise.thought(n)] * draw(st.booleans())
            made.append({"role": "assistant", "content": [*thoughts, use]})
            result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": draw(WORDS)}
            made.append({"role": "user", "content": [result]})
        n = len(made)
        thoughts = [noise.thought(n)] * draw(st.booleans())
        made.append({"role": "assistant", "content": [*thoughts, noise.text(f"a{n} {turn}")]})
    return [*made, {"role": "user", "content": "And now?"}]


def sent(draw, whole, count, kinds=KINDS):
    kinds = draw(kinds)
    if "marked" in kinds and "texts" in kinds:
        kinds = [kind for kind in kinds if kind != "texts"]
    return noise.noisy(whole[:count], *kinds)


@given(data=st.data(), whole=histories())
@settings(max_examples=25)
def test_noise_at_every_call_stores_the_path_without_noise(data, whole):
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("c")
        for count in noise.calls(whole):
            listed = sent(data.draw, whole, count)
            synced = chat.sync(listed)
            assert synced.branched_at is None
            assert len(chat._ledger.entries) == len(chat.ids) == count
            window = chat.window(budget=90_000, mode="full")
            assert [at for at, one in enumerate(window.messages) if noise.thinks(one)] == [
                at for at, one in enumerate(listed) if noise.thinks(one) and thinks(window, at)
            ]


def thinks(window, at):
    """Tell whether thinking that the list has was not left out for another reason."""
    return all(one.index != at for one in window.report.thinking.removed)


@given(data=st.data(), whole=histories())
@settings(max_examples=25)
def test_an_edit_among_noise_is_a_branch_at_its_place(data, whole):
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("c")
        chat.sync(sent(data.draw, whole, len(whole), MARKED))
        at = data.draw(st.integers(0, len(whole) - 1))
        edited = deepcopy(whole)
        message = edited[at]
        if isinstance(message["content"], str):
            message["content"] += "!"
        else:
            block = message["content"][-1]
            key = {"text": "text", "tool_use": "name", "tool_result": "content"}[block["type"]]
            block[key] += "!"
        before = list(chat.ids)
        synced = chat.sync(sent(data.draw, edited, len(edited)))
        assert (synced.branched_at, synced.kept) == (at, at)
        assert len(synced.appended) == len(whole) - at
        back = chat.sync(sent(data.draw, whole, len(whole)))
        assert (back.appended, chat.ids) == ([], before)


def test_every_kind_of_noise_is_some():
    whole = noise.anthropic()
    for kind in noise.NOISE:
        made = noise.noisy(whole, kind)
        assert str(made) != str(whole), kind
    assert noise.noisy(whole) == whole
    with pytest.raises(KeyError):
        noise.noisy(whole, "another")
