"""Replies of Claude's in LangChain's standard blocks, `output_version="v1"`."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain")
pytest.importorskip("langchain_anthropic")
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage

from warmset.adapters.langchain.conversion import dicts, restored

OF_CLAUDE = {"model_provider": "anthropic", "output_version": "v1"}
THOUGHT = {"type": "reasoning", "reasoning": "hm", "extras": {"signature": "s"}}
HIDDEN = {"type": "non_standard", "value": {"type": "redacted_thinking", "data": "x"}}
CALL = {"type": "tool_call", "id": "c1", "name": "look", "args": {"at": 1}}
SEARCH = {
    "type": "server_tool_call",
    "id": "s1",
    "name": "web_search",
    "args": {"query": "depth"},
}
RUN = {**SEARCH, "id": "s2", "name": "code_interpreter"}
REMOTE = {
    "type": "server_tool_call",
    "id": "s3",
    "name": "remote_mcp",
    "args": {},
    "extras": {"tool_name": "echo", "server_name": "far"},
}
FOUND = {
    "type": "server_tool_result",
    "tool_call_id": "s1",
    "status": "success",
    "output": [{"type": "web_search_result", "url": "u", "title": "t"}],
    "extras": {"block_type": "web_search_tool_result"},
}
FAILED = {
    "type": "server_tool_result",
    "tool_call_id": "s3",
    "status": "error",
    "output": "no",
    "extras": {"block_type": "mcp_tool_result"},
}
TEXT = {"type": "text", "text": "11 km"}


def said(*blocks, metadata=None, **fields):
    given = OF_CLAUDE if metadata is None else metadata
    return AIMessage(list(blocks), response_metadata=given, **fields)


def content(message):
    [made] = dicts([message], "anthropic")
    return made["content"]


@pytest.mark.parametrize(
    "blocks",
    [
        [THOUGHT, TEXT],
        [HIDDEN, THOUGHT, TEXT, CALL],
        [SEARCH, FOUND, TEXT],
        [RUN, TEXT],
        [REMOTE, FAILED, TEXT],
        [REMOTE, {**FAILED, "status": "success"}, TEXT],
        [{"type": "non_standard", "value": {"type": "container_upload", "file_id": "f"}}, TEXT],
    ],
    ids=lambda blocks: " ".join(one["type"] for one in blocks),
)
def test_blocks_are_what_langchain_sends_for_them(blocks):
    calls = [one for one in blocks if one is CALL]
    message = said(*blocks, tool_calls=calls)
    model = ChatAnthropic(model="claude-opus-5-5", api_key="k", output_version="v1")
    sent = model._get_request_payload([HumanMessage("How deep?"), message])["messages"][1]
    assert content(message) == sent["content"]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "reasoning", "reasoning": "hm", "extras": {"signature": ""}},
        {"type": "non_standard", "value": "text"},
        {**FOUND, "extras": {}},
        {"type": "server_tool_result", "extras": FOUND["extras"], "output": ""},
        {"type": "server_tool_call", "name": "web_search", "args": {}},
        {**REMOTE, "extras": {"tool_name": "echo"}},
        {"type": "invalid_tool_call", "id": "c2", "name": "look", "args": "{bad"},
    ],
    ids=str,
)
def test_what_anthropic_would_refuse_is_left_out(block):
    assert content(said(block, TEXT)) == [TEXT]


@pytest.mark.parametrize(
    "metadata",
    [{}, {"model_provider": "openai", "output_version": "v1"}, {"model_provider": "anthropic"}],
)
def test_the_blocks_of_another_provider_are_not_read_as_claudes(metadata):
    blocks = [THOUGHT, HIDDEN, SEARCH, FOUND, TEXT]
    assert content(said(*blocks, metadata=metadata)) == [TEXT]


def test_thinking_that_a_window_leaves_out_leaves_a_copy():
    upload = {"type": "non_standard", "value": {"type": "container_upload", "file_id": "f"}}
    message = said(THOUGHT, HIDDEN, upload, TEXT, CALL, tool_calls=[CALL], id="1")
    sent = dicts([message], "anthropic")
    [bare] = restored([{**sent[0], "content": sent[0]["content"][2:]}], [message], sent)
    assert bare.content == [upload, TEXT, CALL]
    assert (bare.id, bare.tool_calls) == ("1", message.tool_calls)
    [same] = restored(sent, [message], sent)
    assert same is message


def test_an_invalid_call_without_an_id_is_no_call():
    bad = {"type": "invalid_tool_call", "name": "look", "args": "{bad", "error": "x"}
    calls = [{**bad, "id": None}, {**bad, "id": "c1"}]
    [made] = dicts([AIMessage("I tried.", invalid_tool_calls=calls)], "openai")
    assert [call["id"] for call in made["tool_calls"]] == ["c1"]
    [made] = dicts([AIMessage("I tried.", invalid_tool_calls=calls[:1])], "openai")
    assert made == {"role": "assistant", "content": "I tried."}
