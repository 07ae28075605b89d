"""What a caller's list leaves out or marks otherwise, in the windows behind it."""

from __future__ import annotations

import json

import client_noise as noise
import pytest

from warmset import Memory
from warmset.messages.thinking import LEFT_OUT, THINKING_MOVED, UNKNOWN

MODEL = {"anthropic": "claude-opus-5-5", "responses": "gpt-6.2-sol"}
BOUND = ["anthropic", "responses"]


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as opened:
        yield opened


def call(memory, listed, dialect):
    model = MODEL.get(dialect)
    return memory.process(listed, conversation="c", budget=90_000, mode="full", model=model)


def thinking(listed):
    return [at for at, one in enumerate(listed) if noise.thinks(one)]


@pytest.mark.parametrize("dialect", noise.LISTS)
def test_thinking_that_is_left_out_stays_out_until_it_is_sent_again(memory, dialect):
    whole = noise.LISTS[dialect]()
    behind = [{"role": "assistant"}, {"role": "user"}]
    less = noise.thoughtless([*whole, *behind])[:-2]
    for count in noise.calls(whole):
        last = call(memory, whole[:count], dialect)
    chat = memory.conversation("c")
    assert last.messages == chat.fit(budget=90_000, model=MODEL.get(dialect)).messages == whole
    window = call(memory, less, dialect)
    assert thinking(window.messages) == thinking(less)
    assert [dict(one) for one in chat.fetch(chat.ids)] == whole
    assert thinking(less) == []
    left = {one.id for one in window.report.thinking.removed if one.why == LEFT_OUT}
    assert left == {chat.ids[at] for at in thinking(whole)}
    for again in (chat.window(budget=90_000, mode="full"), chat.fit(budget=90_000)):
        assert thinking(again.messages) == thinking(less)
    assert call(memory, whole, dialect).messages == whole
    assert chat.fit(budget=90_000, model=MODEL.get(dialect)).messages == whole


@pytest.mark.parametrize("dialect", BOUND)
def test_thinking_behind_what_is_left_out_leaves_unless_it_was_made_so(memory, dialect):
    whole = noise.LISTS[dialect]()
    for count in noise.calls(whole):
        call(memory, whole[:count], dialect)
    asked = noise.LISTS[dialect]()[0]
    typed = {"type": "message"} if dialect == "responses" else {}
    said = {**typed, "role": "assistant", "content": "None."}
    less = noise.noisy([*whole, said, asked], "without the first thinking")
    thoughts = call(memory, less, dialect).report.thinking
    assert thoughts.kept == 0
    assert thoughts.removed[0].why == LEFT_OUT
    assert {one.why for one in thoughts.removed[1:]} == {THINKING_MOVED}
    fresh = noise.LISTS[dialect]()[:6]
    reply = [one for one in fresh if noise.thinks(one)][-1]
    text = json.dumps(reply).replace('"s2"', '"s9"').replace('"e3"', '"e9"').replace("rs_3", "rs_9")
    later = [*less, json.loads(text)]
    if dialect == "responses":
        later.append({**said, "id": "msg_9"})
    else:
        later[-1]["content"] = [later[-1]["content"][0], noise.text("Nine.")]
    assert call(memory, [*later, asked], dialect).report.thinking.kept == 1


@pytest.mark.parametrize("dialect", BOUND)
def test_a_reply_to_the_callers_own_list_is_made_behind_what_the_list_has(memory, dialect):
    chat, whole = memory.conversation("c"), noise.LISTS[dialect]()
    first = 4 if dialect == "anthropic" else 7
    chat.sync(whole[: first - 1])
    less = noise.thoughtless(whole[:first])
    chat.sync(less)
    window = chat.window(budget=90_000, mode="full", model=MODEL[dialect])
    assert UNKNOWN not in window.report.thinking.why
    if dialect == "anthropic":
        assert window.report.thinking.kept == 1
    assert (
        chat.fit(budget=90_000, model=MODEL[dialect]).thinking.kept == window.report.thinking.kept
    )


def marks(listed):
    return json.dumps(listed).count('"cache_control": {"type"')


@pytest.mark.parametrize("mode", ["full", "jit", "fit"])
def test_windows_have_the_cache_marks_of_the_callers_list(memory, mode):
    chat, whole = memory.conversation("c"), []

    def windowed():
        if mode == "fit":
            return chat.fit(budget=90_000)
        return chat.window(budget=90_000, mode=mode, min_saving=0.9)  # the whole list

    for turn in range(9):
        whole += [{"role": "user", "content": f"u{turn}"}]
        listed = noise.noisy(whole, "marked")
        chat.sync(listed)
        made = windowed()
        assert marks(made.messages) == 1
        assert made.messages[-1] == listed[-1]
        whole += [{"role": "assistant", "content": f"a{turn}"}]
    older = noise.noisy(whole, "blocks")
    older[3]["content"][0]["cache_control"] = noise.MARK
    chat.sync(older)
    made = windowed()
    assert [at for at, one in enumerate(made.messages) if marks([one])] == [3]
    assert len(chat._ledger.entries) == 18


def test_system_messages_that_stand_beside_a_window_have_the_lists_marks(memory):
    system = {"role": "system", "content": [noise.text("Be brief.")]}
    whole = [system, *noise.anthropic()]
    marked = [{**system, "content": [{**system["content"][0], "cache_control": noise.MARK}]}]
    chat = memory.conversation("c")
    chat.sync(whole)
    chat.sync([*marked, *whole[1:]])
    assert marks([chat.window(budget=90_000, mode="full").system]) == 1
    chat.sync(whole)
    assert marks([chat.window(budget=90_000, mode="full").system]) == 0


def test_what_is_left_out_stays_out_when_something_is_erased(memory):
    whole = noise.anthropic()
    chat = memory.conversation("c")
    ids = list(chat.sync(whole).appended)
    chat.sync(noise.noisy(whole, "without old thinking"))
    assert thinking(chat.window(budget=90_000, mode="full").messages) == []
    memory.erase(ids=[ids[-1]])
    assert thinking(memory.conversation("c").fit(budget=90_000).messages) == []
