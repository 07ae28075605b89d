"""LiteLLM's requests as the adapter reads them: names, kinds, and lists that go to Claude."""

import json
import os
import subprocess
import sys

import pytest

from warmset import Memory
from warmset.adapters.litellm.claude import ClaudeList
from warmset.adapters.litellm.requests import CHAT, FIELDS, kind_of
from warmset.adapters.litellm.stores import KEPT, Stores
from warmset.errors import Closed, InvalidInputError
from warmset.text.request_names import name_in

THOUGHT = {"type": "thinking", "thinking": "Count first.", "signature": "c2ln"}
CALLS = [
    {"id": f"c{at}", "type": "function", "function": {"name": "look", "arguments": '{ "at": 1}'}}
    for at in range(2)
]
FILE = {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA"}}
TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is on the shelves?", "name": "ann"},
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": CALLS,
        "thinking_blocks": [THOUGHT],
        "reasoning_content": "Count first.",
    },
    {"role": "tool", "tool_call_id": "c0", "content": "40 boxes", "name": "look"},
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "none"}]},
    {"role": "assistant", "content": "Forty."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "And here?", "cache_control": {"type": "ephemeral"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            FILE,
        ],
    },
]


def window_of(read, budget=50_000, **more):
    memory = Memory.open(None, embedder="lexical")
    return memory.process(
        read.messages,
        conversation="talk",
        budget=budget,
        dialect="anthropic",
        system=read.system,
        **more,
    )


def test_a_list_that_is_shown_whole_goes_out_as_it_came():
    read = ClaudeList(TALK)
    assert read.written(window_of(read)) == TALK


def test_what_a_window_shows_of_a_long_list_goes_out_as_it_came_and_what_it_adds_is_of_the_user():
    talk = [TALK[0]]
    for at in range(30):
        talk.append({"role": "user", "content": f"What is on shelf {at}? " + "long " * 80})
        talk += TALK[2:6]
    read = ClaudeList(talk)
    window = window_of(read, budget=1_500, mode="jit")
    made = read.written(window)
    assert len(made) < len(talk)
    bare = [{key: value for key, value in one.items() if "ing_" not in key} for one in talk]
    new = [one for one in made if one not in talk and one not in bare]
    assert new
    assert {one["role"] for one in new} == {"user"}
    calls = [call["id"] for one in made for call in one.get("tool_calls") or ()]
    results = [one["tool_call_id"] for one in made if one["role"] == "tool"]
    assert calls == results


def test_a_reply_is_stored_as_anthropic_has_it():
    kinds = [one["type"] for one in ClaudeList([]).read(TALK[2])["content"]]
    assert kinds == ["thinking", "text", "tool_use", "tool_use"]
    read = ClaudeList([TALK[0], {"role": "developer", "content": "Be kind."}, TALK[6]])
    assert read.system == "Be brief.\n\nBe kind."
    assert read.messages[0]["content"][0]["cache_control"] == {"type": "ephemeral"}


def test_messages_that_say_the_same_keep_what_else_they_have():
    other = {"type": "file", "file": {"file_data": "data:application/pdf;base64,BBBB"}}
    talk = [
        {"role": "user", "content": [{"type": "text", "text": "Yes"}, FILE]},
        {"role": "assistant", "content": "Yes", "refusal": None, "thinking_blocks": [THOUGHT]},
        {"role": "user", "content": "Yes", "name": "ann"},
        {"role": "assistant", "content": "No"},
        {"role": "user", "content": [{"type": "text", "text": "Yes"}, other]},
    ]
    read = ClaudeList(talk)
    assert read.written(window_of(read)) == talk


def test_thinking_that_a_window_leaves_out_leaves_both_of_its_fields():
    read = ClaudeList(TALK[:6])
    window = window_of(read)
    reply = window.messages[1]
    reply["content"] = [one for one in reply["content"] if one["type"] != "thinking"]
    made = read.written(window)
    assert made[2] == {key: TALK[2][key] for key in ("role", "content", "tool_calls")}


def test_thinking_without_a_signature_is_no_block_of_the_stored_message():
    told = {
        "role": "assistant",
        "content": "Yes.",
        "thinking_blocks": [{**THOUGHT, "signature": ""}],
    }
    assert ClaudeList([]).read(told)["content"] == [{"type": "text", "text": "Yes."}]


def test_blocks_that_a_window_adds_become_parts():
    read = ClaudeList([{"role": "user", "content": "Hi"}])
    window = window_of(read)
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    window.messages[:] = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "a"}, {"type": "image", "source": source}],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "content": "cut"}],
        },
        {"role": "assistant", "content": "b"},
    ]
    first, call, result, last = read.written(window)
    url = "data:image/png;base64,AAAA"
    assert first["content"] == [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": url}},
    ]
    assert call["content"] is None
    assert json.loads(call["tool_calls"][0]["function"]["arguments"]) == {"a": 1}
    assert result == {"role": "tool", "tool_call_id": "c", "content": "cut"}
    assert last == {"role": "assistant", "content": "b"}


@pytest.mark.parametrize("arguments", ["[1]", "7", "{", ""])
def test_arguments_that_are_no_mapping_are_an_empty_one(arguments):
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": arguments}}
    told = {"role": "assistant", "content": None, "tool_calls": [call]}
    read = ClaudeList([{"role": "user", "content": "Look."}, told])
    assert read.messages[1]["content"][0]["input"] == {}
    assert read.written(window_of(read))[1] == told


def test_data_that_is_not_base64_is_named_and_goes_out_as_it_came():
    image = {"type": "image_url", "image_url": {"url": "data:image/svg+xml,<svg/>"}}
    talk = [{"role": "user", "content": [image]}]
    read = ClaudeList(talk)
    assert [one["type"] for one in read.messages[0]["content"]] == ["text"]
    assert read.written(window_of(read)) == talk


def test_a_single_text_is_no_list_unless_it_has_a_mark():
    read = ClaudeList(TALK)
    window = window_of(read)
    window.messages[:] = [
        {"role": "user", "content": [{"type": "text", "text": "new"}]},
        {"role": "user", "content": read.messages[-1]["content"][:1]},
    ]
    _, new, marked = read.written(window)
    assert new == {"role": "user", "content": "new"}
    assert marked == {"role": "user", "content": TALK[6]["content"][:1]}


def test_another_system_prompt_of_a_window_is_sent_in_the_place_of_the_messages():
    read = ClaudeList(TALK[:2])
    object.__setattr__(window := window_of(read), "system", "Be brief.\n\nPinned.")
    assert read.written(window)[0] == {"role": "system", "content": "Be brief.\n\nPinned."}


@pytest.mark.parametrize("role", ["function", None, "tool"])
def test_a_message_that_chat_completions_do_not_have_is_refused(role):
    with pytest.raises(InvalidInputError, match="role"):
        ClaudeList([{"role": role, "content": "x"}])


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        ({"litellm_session_id": "a", "user": "u"}, "a"),
        ({"metadata": {"session_id": "b"}, "user": "u"}, "b"),
        ({"litellm_metadata": {"conversation_id": "c"}}, "c"),
        ({"metadata": None, "user": "u"}, "u"),
        ({"metadata": {"session_id": 7}}, None),
        ({"user": " "}, None),
        ({"user": "a\nb"}, None),
        ({"user": "x" * 512}, "x" * 512),
        ({"user": "x" * 513}, None),
    ],
)
def test_the_first_field_with_a_name_names_the_conversation(request_, name):
    assert name_in(request_, FIELDS) == name


@pytest.mark.parametrize(
    ("call_type", "request_", "name"),
    [
        ("acompletion", {"messages": [1]}, "chat"),
        ("completion", {"messages": [1], "prompt": "x"}, "chat"),
        ("completion", {"messages": []}, None),
        ("text_completion", {"prompt": "x"}, None),
        ("aembedding", {"input": ["x"]}, None),
        ("aresponses", {"input": "x"}, "responses"),
        ("aresponses", {"input": "x", "previous_response_id": "r"}, None),
        ("aresponses", {"input": "x", "conversation": "r"}, None),
        ("aresponses", {"input": "x", "prompt": {"id": "p"}}, None),
        ("aresponses", {"input": "x", "context_management": [{"type": "compaction"}]}, None),
        ("anthropic_messages", {"messages": [1]}, "messages"),
        ("anthropic_messages", {"messages": [1], "context_management": {"edits": []}}, None),
        (None, {"messages": [1]}, None),
    ],
)
def test_only_requests_with_a_whole_list_have_a_kind(call_type, request_, name):
    kind = kind_of(call_type, request_)
    assert (kind and kind.name) == name


def test_a_chat_that_the_provider_shortens_itself_has_no_kind():
    assert kind_of("completion", {"messages": [1]}) is CHAT
    assert kind_of("completion", {"messages": [1], "context_management": {"edits": []}}) is None


def test_tenants_share_a_store_and_see_nothing_of_each_other(tmp_path):
    stores = Stores(tmp_path / "s.ws", {"embedder": "lexical"})
    with stores.of("a") as one, stores.of("b") as other:
        one.conversation("talk").append({"role": "user", "content": "secret"})
        assert other.conversations() == []
    with stores.of("a") as again:
        assert again is one
        assert again.conversations() == ["talk"]
    stores.close()
    with stores.of("a") as opened:
        assert opened is not one
        assert opened.conversations() == ["talk"]
    stores.close()


def test_of_two_threads_that_open_a_tenant_one_handle_is_kept(tmp_path, monkeypatch):
    stores = Stores(tmp_path / "s.ws", {"embedder": "lexical"})
    opened, found, make = [], [], Memory.open

    def slowly(*given, **options):
        opened.append(make(*given, **options))
        if len(opened) == 1:
            with stores.of("a") as faster:
                found.append(faster)
        return opened[0] if len(found) else opened[-1]

    monkeypatch.setattr(Memory, "open", slowly)
    with stores.of("a") as memory:
        assert [memory] == found == opened[1:]
        assert memory.conversations() == []
    with pytest.raises(Closed):
        opened[0].conversations()
    stores.close()


def test_more_tenants_than_are_kept_open_are_served(tmp_path):
    stores = Stores(tmp_path / "s.ws", {"embedder": "lexical"})
    for at in range(KEPT + 3):
        with stores.of(f"t{at}") as memory:
            memory.conversation("talk").append({"role": "user", "content": f"Box {at}"})
    with stores.of(f"t{KEPT + 2}") as memory:
        assert len(memory.conversation("talk")) == 1
    assert len(stores._open) == KEPT
    with stores.of(f"t{KEPT + 1}") as memory:
        assert memory.conversations() == ["talk"]
    stores.close()


FORKING = """
import os, sys
from warmset.adapters.litellm.stores import Stores

stores = Stores(sys.argv[1], {"embedder": "lexical"})
with stores.of("a") as memory:
    memory.conversation("talk").append({"role": "user", "content": "One"})
child = os.fork()
if not child:
    with stores.of("a") as memory:
        memory.conversation("talk").append({"role": "user", "content": "Two"})
        os._exit(len(memory.conversation("talk")))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stores.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_worker_opens_the_store_for_itself(tmp_path):
    command = [sys.executable, "-c", FORKING, str(tmp_path / "s.ws")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - our own
    assert done.stdout.strip() == "2", done.stderr
