"""Which differences between two lists leave a message the same."""

from __future__ import annotations

from copy import deepcopy

import client_noise as noise
import pytest

from warmset import Memory

BUDGET = 50_000


def opened(path=None):
    return Memory.open(path, embedder="lexical")


def stored(chat):
    return len(chat._ledger.entries)


def said(listed):
    """Return what a list says, for comparisons, with no code of warmset's."""

    def plain(value):
        if isinstance(value, dict):
            kept = {
                key: plain(one)
                for key, one in value.items()
                if one is not None and key not in ("cache_control", "prompt_cache_breakpoint")
            }
            return kept | ({"type": "text"} if str(kept.get("type")).endswith("_text") else {})
        return [plain(one) for one in value] if isinstance(value, list) else value

    return [plain(one) for one in noise.noisy(listed, "blocks")]


CASES = [
    pytest.param(dialect, kind, id=f"{dialect}-{kind}")
    for dialect in noise.LISTS
    for kind in noise.NOISE
]


@pytest.mark.parametrize(("dialect", "kind"), CASES)
def test_a_loop_with_noise_stores_each_message_once(dialect, kind, tmp_path):
    whole = noise.LISTS[dialect]()
    for path in (None, tmp_path / "store"):
        memory = opened(path)
        for count in noise.calls(whole):
            listed = noise.noisy(whole[:count], kind)
            window = memory.process(listed, conversation="c", budget=BUDGET, mode="full")
            chat = memory.conversation("c")
            synced = window.synced
            assert synced.branched_at is None
            assert synced.kept + len(synced.appended) == len(listed)
            assert stored(chat) == len(chat.ids) == count
            if path is not None:
                memory.close()
                memory = opened(path)
        chat = memory.conversation("c")
        assert said([dict(one) for one in chat.fetch(chat.ids)]) == said(whole)
        memory.close()


@pytest.mark.parametrize(("dialect", "kind"), CASES)
def test_a_stored_list_is_recognised_with_noise_and_without(dialect, kind):
    whole = noise.LISTS[dialect]()
    with opened() as memory:
        chat = memory.conversation("c")
        ids = list(chat.sync(whole).appended)
        for listed in (noise.noisy(whole, kind), whole, noise.noisy(whole, kind)):
            synced = chat.sync(listed)
            assert (synced.kept, synced.appended, synced.branched_at) == (len(listed), [], None)
            assert chat.ids == ids
        assert [dict(one) for one in chat.fetch(ids)] == whole


@pytest.mark.parametrize("dialect", noise.LISTS)
@pytest.mark.parametrize("kind", noise.NOISE)
def test_an_edit_among_noise_is_a_branch_where_it_is(dialect, kind):
    whole = noise.LISTS[dialect]()
    places = [at for at, one in enumerate(whole) if not noise.thinks(one)]
    with opened() as memory:
        for at in places:
            chat = memory.conversation(f"c{at}")
            chat.sync(whole)
            edited = deepcopy(whole)
            edited[at] = edit(edited[at])
            listed = noise.noisy(edited, kind)
            same = at
            while kind.startswith("without") and is_left_out(whole[same - 1], listed):
                same -= 1  # the reasoning was not that of the new reply
            synced = chat.sync(listed)
            assert synced.branched_at == same
            assert chat.ids[:same] == list(range(chat.ids[0], chat.ids[0] + same))


def is_left_out(item, listed):
    return item.get("type") in ("reasoning", "thought") and item not in listed


def edit(value):
    """Change the last text or tool argument in a message."""
    if isinstance(value, dict):
        keys = [key for key in value if key in ("content", "parts", "output", "result")]
        keys += [key for key in value if key in ("text", "arguments", "input", "response")]
        keys += [key for key in value if key in ("tool_calls", "function", "functionResponse")]
        return value | {keys[0]: edit(value[keys[0]])} if keys else value | {"more": 1}
    if isinstance(value, list):
        return [*value[:-1], edit(value[-1])]
    return value + "!" if isinstance(value, str) else {**value, "more": 1}
