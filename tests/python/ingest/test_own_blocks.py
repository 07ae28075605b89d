"""Quotations of memories in lists that are sent back: found by their words, and never stored."""

from __future__ import annotations

import pytest

from warmset import Memory
from warmset.text.markup import MEMORY_CLOSING, OPENING, PINNED, RECALLED

BLOCK = f"{PINNED}[memory:1, user, Sun 7 May 2023] Answer in German.\n{MEMORY_CLOSING}"
OTHER = f"{RECALLED}[memory:2, tool, Sun 7 May 2023] a\n  b\n{MEMORY_CLOSING}\n"
HELLO = {"role": "user", "content": "hello"}


@pytest.fixture
def chat():
    with Memory.open(None, embedder="lexical") as memory:
        yield memory.conversation("log")


def part(text):
    return {"type": "text", "text": text}


@pytest.mark.parametrize("block", [BLOCK, OTHER])
@pytest.mark.parametrize(
    "message",
    [
        lambda block: {"role": "user", "content": block},
        lambda block: {"role": "user", "content": [part(block)]},
        lambda block: {"role": "system", "content": block},
        lambda block: {"role": "user", "content": f" \n\n{block}"},
    ],
)
def test_a_message_of_nothing_else_is_not_stored(chat, block, message):
    said = [HELLO, {"role": "assistant", "content": "hi"}]
    assert len(chat.sync([message(block), *said]).appended) == 2
    synced = chat.sync([message(block), *said, message(block), {"role": "user", "content": "and?"}])
    assert (len(synced.appended), synced.branched_at) == (1, None)
    assert [one["content"] for one in chat] == ["hello", "hi", "and?"]


def test_what_was_merged_with_one_is_stored_without_it(chat):
    chat.sync([HELLO])
    merged = {"role": "user", "content": [part(BLOCK), part("hello")]}
    synced = chat.sync([merged, {"role": "assistant", "content": "hi"}])
    assert (len(synced.appended), synced.branched_at) == (1, None)
    assert [one["content"] for one in chat] == ["hello", "hi"]


def test_a_system_prompt_is_stored_without_what_is_pinned_at_its_end(chat):
    chat.sync([{"role": "system", "content": f"Be brief.\n\n{BLOCK}"}, HELLO])
    assert [one["content"] for one in chat] == ["Be brief.", "hello"]


@pytest.mark.parametrize(
    "text",
    [
        f"see: {BLOCK}",
        f"{BLOCK} and more",
        BLOCK.replace("Always in mind", "Never in mind"),
        BLOCK.replace(MEMORY_CLOSING, ""),
        f"{OPENING}quoted</earlier-turns>",
        f"{BLOCK}\nwhat is that?\n{BLOCK}x",
    ],
)
@pytest.mark.parametrize("held", [str, lambda text: [part(text)]])
def test_other_texts_are_stored_as_they_are(chat, text, held):
    chat.sync([{"role": "user", "content": held(text)}])
    assert [one["content"] for one in chat] == [held(text)]
