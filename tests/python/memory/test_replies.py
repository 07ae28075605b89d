"""What stored replies were made behind: named, inferred, in another process, and not known."""

from __future__ import annotations

import pytest

from warmset import Memory
from warmset.errors import InvalidInputError
from warmset.messages.prefix import UNKNOWN

MODEL = "claude-opus-5-5"
COUNT = iter(range(1_000))


def user(text):
    return {"role": "user", "content": text}


def reply(*, calls=False):
    n = next(COUNT)
    use = [{"type": "tool_use", "id": f"t{n}", "name": "f", "input": {}}] if calls else []
    thought = {"type": "thinking", "thinking": "hm", "signature": f"s{n}"}
    return {"role": "assistant", "content": [thought, {"type": "text", "text": f"a{n}"}, *use]}


@pytest.fixture
def log():
    with Memory.open(None, embedder="lexical") as memory:
        yield memory.conversation("c")


def window(log, mode="full", **more):
    options = {"budget": 9_999, "dialect": "anthropic", "model": MODEL, "system": "Be brief."}
    return log.window(mode=mode, **options | more)


def kept(log, **more):
    return window(log, **more).report.thinking.kept


def why(log):
    return window(log).report.thinking.why


def test_the_window_that_was_sent_is_the_witness(log):
    log.append(user("u"))
    first = window(log)
    log.append(reply(), window=first)
    log.append(user("v"))
    assert kept(log) == 1
    assert kept(log, system="Be long.") == 0
    assert kept(log, model="claude-fable-5-2") == 0
    assert kept(log) == 1  # back again
    removed = window(log, system="Be long.").report.thinking.removed
    assert [(one.index, one.id, one.blocks) for one in removed] == [(1, log.ids[1], 1)]


def test_a_window_in_a_plain_conversation_is_the_witness_of_any_dialect(log):
    log.append(user("u"))
    first = log.window(budget=9_999)
    assert first.dialect == "openai"
    log.append(reply(), window=first)
    log.append(user("v"))
    assert log.window(budget=9_999, mode="full").report.thinking.kept == 1


def test_one_window_is_inferred_and_several_are_not(log):
    log.append(user("u"))
    window(log)
    window(log)
    log.append([reply(), user("v")])
    assert kept(log) == 1
    window(log, system="Be long.")
    log.append([reply(), user("w")])
    assert kept(log) == 1  # two lists were made: nobody knows which one was sent
    assert why(log) == (UNKNOWN,)
    last = window(log)
    log.append([reply(), user("x")], window=last)
    window(log)
    log.append([reply(), user("y")])
    assert kept(log) == 3


def test_a_window_from_before_a_message_is_not_what_its_reply_was_made_behind(log):
    log.append(user("u"))
    window(log)
    log.append(user("and"))
    log.append([reply(), user("v")])
    assert (kept(log), why(log)) == (0, (UNKNOWN,))


def test_windows_on_both_sides_of_a_message_are_several(log):
    log.append(user("u"))
    window(log)
    log.append(user("and"))
    window(log)
    log.append([reply(), user("v")])
    assert (kept(log), why(log)) == (0, (UNKNOWN,))


def test_a_request_that_was_not_appended_comes_before_its_reply(log):
    log.append([user("u"), {"role": "assistant", "content": "ok"}])
    window(log, query="and now?")
    log.append([user("and now?"), reply(), user("v")])
    assert kept(log) == 1
    window(log)
    log.append([user("something else"), reply(), user("w")])
    assert kept(log) == 1
    assert why(log) == (UNKNOWN,)


def test_a_named_window_may_be_followed_by_anything_of_the_users(log):
    log.append([user("u"), {"role": "assistant", "content": "ok"}])
    sent = window(log, query="and now?")
    log.append([user("and now?"), reply()], window=sent)
    assert kept(log) == 1


def test_only_the_first_reply_of_a_batch_is_known(log):
    log.append(user("u"))
    sent = window(log)
    first = reply(calls=True)
    call = first["content"][-1]["id"]
    done = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call}]}
    log.append([first, done, reply(), user("v")], window=sent)
    assert (kept(log), why(log)) == (1, (UNKNOWN,))


def test_a_cut_is_inferred(log):
    log.append(user("u"))
    made = log.fit(budget=9_999, system="Be brief.", model=MODEL)
    assert made.sent.until == log.ids[-1]
    log.append([reply(), user("v")])
    assert kept(log) == 1
    again = log.fit(budget=9_999, system="Be long.", model=MODEL)
    assert (again.thinking.kept, len(again.thinking.removed)) == (0, 1)
    log.append([reply(), user("w")], window=again)
    assert log.fit(budget=9_999, system="Be long.", model=MODEL).thinking.kept == 1


def test_lists_that_a_caller_sends_itself_are_their_own_witness(log):
    log.append([user("u"), reply(), user("v")])
    log.append([reply(), user("w")])
    assert kept(log) == 2  # nothing was ever made for it: the caller sent what it has
    log.sync([user("u"), user("edited")])
    assert kept(log) == 0


def test_a_reply_to_a_shorter_list_was_made_behind_what_stayed(log):
    log.append([user("u"), reply(), user("v")])
    log.append([reply(), user("w")])
    log.pop(2)
    log.append([reply(), user("x")])
    assert kept(log) == 2


def test_witnesses_are_stored(tmp_path):
    with Memory.open(tmp_path / "s", embedder="lexical") as memory:
        log = memory.conversation("c")
        log.append(user("u"))
        log.append([reply(), user("v")], window=window(log))
    with Memory.open(tmp_path / "s", embedder="lexical") as memory:
        log = memory.conversation("c")
        assert kept(log) == 1
        assert kept(log, system="Be long.") == 0
    with Memory.open(tmp_path / "s", embedder="lexical") as memory:
        log = memory.conversation("c")
        log.append([reply(), user("w")])  # who sent what, in which process?
        assert (kept(log), why(log)) == (1, (UNKNOWN,))


def test_an_erasure_forgets_no_window(log, tmp_path):
    with Memory.open(tmp_path / "s", embedder="lexical") as memory:
        log = memory.conversation("c")
        log.append([user("secret"), user("u")])
        window(log)
        memory.erase(ids=[log.ids[0]])
        log.append([reply(), user("v")])
        assert (kept(log), why(log)) == (0, (UNKNOWN,))


def test_the_loop_of_an_older_model_goes_on_with_thinking_disabled(log):
    log.append(user("u"))
    sent = window(log)
    first = reply(calls=True)
    call = first["content"][-1]["id"]
    log.append(first, window=sent)
    log.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call}]})
    assert not window(log).report.thinking.disabled
    assert window(log, system="Be long.", model=None).report.thinking.disabled
    assert not window(log, system="Be long.").report.thinking.disabled  # thinks where it sees fit


def test_tokens_are_those_of_what_is_sent(log):
    log.append(user("u"))
    log.append([reply(), user("v")], window=window(log))
    whole, less = window(log), window(log, system="Be long")
    assert less.tokens < whole.tokens
    assert sum(part.tokens for part in less.parts) == less.tokens - 3
    assert window(log, system="Be long", budget=less.tokens).messages == less.messages


def test_a_window_is_asked_for(log):
    with pytest.raises(InvalidInputError, match="window"):
        log.append(user("u"), window=5)


def test_a_conversation_that_was_opened_again_is_not_its_own_witness(tmp_path):
    options = {"conversation": "c", "budget": 9_999, "dialect": "anthropic", "model": MODEL}
    options["mode"] = "jit"
    with Memory.open(tmp_path / "s", embedder="lexical") as memory:
        memory.process([user("u")], system="Be brief.", **options)
    with Memory.open(tmp_path / "s", embedder="lexical") as memory:
        given = [user("u"), reply(), user("v")]  # who knows what it was made behind
        made = memory.process(given, system="Be long.", **options)
        assert made.report.thinking.why == (UNKNOWN,)


@pytest.mark.parametrize(
    ("query", "more", "expected"),
    [
        (None, [], 1),
        (None, ["something else"], 0),
        ("and now?", ["and now?"], 1),
        ("and now?", ["something else"], 0),
    ],
)
def test_a_list_of_another_process_is_the_witness_of_the_reply_to_its_request(
    query, more, expected, tmp_path
):
    """A list that was made for no request of its own is followed by the reply alone."""
    with Memory.open(tmp_path / "s", embedder="lexical") as memory:
        log = memory.conversation("c")
        log.append(user("u"))
        window(log, "steady", query=query)
    with Memory.open(tmp_path / "s", embedder="lexical") as memory:
        log = memory.conversation("c")
        log.append([*map(user, more), reply(), user("v")])
        assert kept(log) == expected
        assert why(log) == (() if expected else (UNKNOWN,))
        if not expected:
            memory.erase(ids=[log.ids[1]])  # now the list of the other process stands before it
            assert kept(log) == 0


def test_a_redacted_list_is_not_what_its_reply_was_made_behind():
    with Memory.open(None, embedder="lexical", redact=lambda t: t.replace("4711", "[x]")) as memory:
        log = memory.conversation("c")
        log.append([user("the pin is 4711"), reply(), user("v")])
        assert kept(log) == 0
