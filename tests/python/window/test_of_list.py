"""The window of a whole list while others store other lists, or replies, in its conversation."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from preparing import process

from warmset import Memory
from warmset.errors import ConversationBusy, InvalidInputError
from warmset.options import MODES
from warmset.window import window_of_list
from warmset.window.of_list import TRIES

BASE = [{"role": "user", "content": "base"}, {"role": "assistant", "content": "Noted."}]


def ends_in(text):
    """Return a list that ends with a request."""
    return [*BASE, {"role": "user", "content": text}]


def of_list(memory, build, *, given=None, expect=lambda: None):
    given = ends_in("ours") if given is None else given
    return window_of_list(memory._handle, "log", given, None, expect, build)


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as memory:
        yield memory


@pytest.mark.parametrize("mode", MODES)
def test_each_thread_gets_the_window_of_its_own_list(memory, mode):
    def ask(at):
        window = memory.process(ends_in(f"tail {at}"), conversation="log", budget=2_000, mode=mode)
        return window.messages[-1]["content"]

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(ask, range(24)))
    assert found == [f"tail {at}" for at in range(24)]


def test_each_process_gets_the_window_of_its_own_list(tmp_path):
    with process(tmp_path, None) as ours, process(tmp_path, None) as theirs:

        def ask(at):
            memory = (ours, theirs)[at % 2]
            window = memory.process(ends_in(f"tail {at}"), conversation="log", budget=2_000)
            return window.messages[-1]["content"]

        with ThreadPoolExecutor(2) as threads:
            found = list(threads.map(ask, range(40)))
    assert found == [f"tail {at}" for at in range(40)]


@pytest.mark.parametrize("fails", [False, True])
def test_a_window_is_built_again_where_another_list_was_stored(memory, fails):
    log, built = memory.conversation("log"), []

    def build():
        built.append([turn["content"] for turn in log])
        if len(built) == 1:
            log.sync(ends_in("theirs"))
            if fails:
                raise IndexError("half of it is of another list")
        return log.window(budget=2_000)

    window = of_list(memory, build)
    assert [one[-1] for one in built] == ["ours", "ours"]
    assert window.messages == ends_in("ours")
    assert window.synced.appended == log.ids, "what the first time stored"
    assert [turn["content"] for turn in log] == ["base", "Noted.", "ours"]


def test_a_window_is_built_again_where_a_reply_was_appended(memory):
    log, built = memory.conversation("log"), []

    def build():
        built.append(len(log))
        if len(built) == 1:
            log.append({"role": "assistant", "content": "theirs"})
        return log.window(budget=2_000)

    assert of_list(memory, build).messages == ends_in("ours")
    assert built == [3, 3]


def test_another_conversation_changes_nothing(memory):
    built = []

    def build():
        built.append(1)
        memory.conversation("other").sync(ends_in("theirs"))
        return memory.conversation("log").window(budget=2_000)

    assert of_list(memory, build).messages == ends_in("ours")
    assert built == [1]


def test_an_erased_conversation_is_stored_again(memory):
    built = []

    def build():
        built.append(1)
        if len(built) == 1:
            memory.erase(conversation="log")
        return memory.conversation("log").window(budget=2_000)

    assert of_list(memory, build).messages == ends_in("ours")
    assert built == [1, 1]


def test_an_error_of_its_own_is_raised_at_once(memory):
    built = []

    def build():
        built.append(1)
        raise InvalidInputError("no such option")

    with pytest.raises(InvalidInputError, match="no such option"):
        of_list(memory, build)
    assert built == [1]


def test_where_it_changes_each_time_that_is_told(memory):
    log, built = memory.conversation("log"), []

    def build():
        built.append(1)
        made = log.window(budget=2_000)
        log.sync(ends_in(f"theirs {len(built)}"))
        return made

    with pytest.raises(ConversationBusy, match=f"'log' changed each of {TRIES} times") as error:
        of_list(memory, build)
    assert len(built) == TRIES
    assert (error.value.conversation, error.value.tries) == ("log", TRIES)


def test_what_is_read_once_is_stored_each_time(memory):
    log, built = memory.conversation("log"), []

    def build():
        built.append(len(log))
        if len(built) == 1:
            log.sync(ends_in("theirs"))
        return log.window(budget=2_000)

    assert of_list(memory, build, given=iter(ends_in("ours"))).messages == ends_in("ours")
    assert built == [3, 3]


def test_what_is_expected_is_expected_before_each_time(memory):
    log, said = memory.conversation("log"), []

    def build():
        said.append("build")
        if len(said) == 2:
            log.sync(ends_in("theirs"))
        return log.window(budget=2_000)

    of_list(memory, build, expect=partial(said.append, "expect"))
    assert said == ["expect", "build"] * 2


def test_threads_take_turns(memory):
    log, built = memory.conversation("log"), []

    def theirs():
        memory.process(ends_in("theirs"), conversation="log", budget=2_000)

    def build():
        built.append(1)
        if len(built) == 1:
            thread.start()
            thread.join(0.3)  # it waits for us
        return log.window(budget=2_000)

    thread = threading.Thread(target=theirs)
    assert of_list(memory, build).messages == ends_in("ours")
    thread.join()
    assert built == [1]
    assert [turn["content"] for turn in log][-1] == "theirs"


def test_a_window_may_be_asked_for_within_a_window(memory):
    built = []

    def build():
        built.append(1)
        if len(built) == 1:
            memory.process(ends_in("theirs"), conversation="log", budget=2_000)
        return memory.conversation("log").window(budget=2_000)

    assert of_list(memory, build).messages == ends_in("ours")


def test_a_path_that_is_left_and_found_again_is_another_one(memory):
    log = memory.conversation("log")
    whole = log.sync(ends_in("ours"))
    engine, history = memory._engine, log._ledger.history

    def stands(mark):
        with engine.lock:
            return history.stands(mark)

    def marked():
        with engine.lock:
            return history.mark()

    mark = marked()
    assert mark.head == whole.head == log.ids[-1]
    assert log.sync(ends_in("ours")).head == whole.head
    with engine.lock:
        history.move(whole.head)
    assert stands(mark), "nothing changed"
    shorter = log.sync(BASE)
    assert shorter.head == log.ids[-1] != whole.head
    assert not stands(mark), "a message left"
    short = marked()
    assert log.sync(ends_in("ours")).head == whole.head
    assert not stands(short), "it joined again"
    assert not stands(mark)
    now = marked()
    other = memory.conversation("other")
    while not other.ids or other._ledger.history.turned < now.turned:
        other.append({"role": "user", "content": "more"})
    with engine.lock:
        assert other._ledger.history.turned == now.turned
        assert not other._ledger.history.stands(now)
    assert log.sync([]).head is None
