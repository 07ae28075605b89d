"""Answers of providers as bytes: events and bodies, each with what they are for."""

from __future__ import annotations

import json
from dataclasses import dataclass

EVENTS, JSON = "text/event-stream; charset=utf-8", "application/json"


@dataclass(frozen=True)
class Answer:
    """An answer.

    Args:
        surface: The API that gives it.
        kind: Its content type.
        body: Its bytes.
    """

    surface: str
    kind: str
    body: bytes


def sse(*events, named=False, last="", end="\n"):
    """Write events as a stream; `named` adds the line with the event's type."""
    lines = []
    for event in events:
        name = event.get("type") or event.get("event_type")
        lines += [f"event: {name}"] if named else []
        lines += [f"data: {json.dumps(event, ensure_ascii=False)}", ""]
    lines += [f"data: {last}", ""] if last else []
    return "".join(line + end for line in lines).encode()


def chunk(delta=None, finish=None, **more):
    """Write a chunk of Chat Completions."""
    choices = [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-6"}
    return {**head, "choices": [] if delta is None else choices, **more}


def call(index, id_=None, name=None, arguments=""):
    """Write a piece of a tool call."""
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return {"index": index, "function": function} | ({"id": id_, "type": "function"} if id_ else {})


USAGE = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
CHAT_TEXT = [
    chunk({"role": "assistant", "content": "", "refusal": None}),
    chunk({"content": "Grüße,"}),
    chunk({"content": " 世界 🌍"}),
    chunk({}, "stop"),
    chunk(usage=USAGE),
]
CHAT_TOOLS = [
    chunk({"role": "assistant", "content": None, "reasoning_content": "Let me"}),
    chunk({"reasoning_content": " look."}),
    chunk({"tool_calls": [call(0, "call_a", "weather")]}),
    chunk({"tool_calls": [call(0, arguments='{"city": "Zü')]}),
    chunk({"tool_calls": [call(0, arguments='rich"}')]}),
    chunk({"tool_calls": [call(1, "call_b", "time")]}),
    chunk({"tool_calls": [call(1, arguments="{}")]}),
    chunk({}, "tool_calls"),
    chunk(usage=USAGE),
]
CHAT_REFUSAL = [
    chunk({"role": "assistant", "content": None, "refusal": ""}),
    chunk({"refusal": "I can"}),
    chunk({"refusal": "not."}),
    chunk({}, "stop"),
]
CHAT_LEGACY = [
    chunk({"role": "assistant", "content": None}),
    chunk({"function_call": {"name": "weather", "arguments": ""}}),
    chunk({"function_call": {"arguments": '{"city":'}}),
    chunk({"function_call": {"arguments": '"Rome"}'}}),
    chunk({}, "function_call"),
]

REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "Hm."}],
    "encrypted_content": "xyz",
}
SAID = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Ça va.", "annotations": [], "logprobs": []}],
}
CALLED = {
    "id": "fc_1",
    "type": "function_call",
    "call_id": "call_1",
    "name": "weather",
    "arguments": '{"city": "Rome"}',
    "status": "completed",
}


def response(status, output, **more):
    """Write a response of OpenAI."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-6.2",
        "status": status,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        **more,
    }


def _numbered(events):
    return [{**event, "sequence_number": at} for at, event in enumerate(events)]


def _item(at, item, deltas=()):
    head = {"output_index": at}
    begun = {**item, "status": "in_progress"} | ({"content": []} if "content" in item else {})
    begun |= {"arguments": ""} if "arguments" in item else {}
    yield {"type": "response.output_item.added", "item": begun, **head}
    yield from deltas
    yield {"type": "response.output_item.done", "item": item, **head}


def _text(at, item):
    part, where = (
        item["content"][0],
        {"output_index": at, "item_id": item["id"], "content_index": 0},
    )
    yield {"type": "response.content_part.added", "part": {**part, "text": ""}, **where}
    for piece in (part["text"][:2], part["text"][2:]):
        yield {"type": "response.output_text.delta", "delta": piece, "logprobs": [], **where}
    yield {"type": "response.output_text.done", "text": part["text"], "logprobs": [], **where}
    yield {"type": "response.content_part.done", "part": part, **where}


def _arguments(at, item):
    where = {"output_index": at, "item_id": item["id"]}
    yield {
        "type": "response.function_call_arguments.delta",
        "delta": item["arguments"],
        **where,
    }
    yield {
        "type": "response.function_call_arguments.done",
        "arguments": item["arguments"],
        "name": item["name"],
        **where,
    }


OUTPUT = [REASONING, SAID, {**REASONING, "id": "rs_2"}, CALLED]
RESPONSE_USAGE = {
    "input_tokens": 3,
    "output_tokens": 4,
    "total_tokens": 7,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 1},
}
DROPPED = [{"type": "reasoning", "reason": "prefix_mismatch"}]
RESPONSE = response("completed", OUTPUT, usage=RESPONSE_USAGE, input_transformations=DROPPED)
RESPONSES = _numbered(
    [
        {"type": "response.created", "response": response("in_progress", [])},
        *_item(0, OUTPUT[0]),
        *_item(1, OUTPUT[1], _text(1, SAID)),
        *_item(2, OUTPUT[2]),
        *_item(3, OUTPUT[3], _arguments(3, CALLED)),
        {"type": "response.completed", "response": RESPONSE},
    ]
)
WITHOUT_OUTPUT = [
    *RESPONSES[:-1],
    {**RESPONSES[-1], "response": {**RESPONSE, "output": []}},
]


def block(index, start, *deltas):
    """Write the events of a block of Anthropic's."""
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def anthropic(*blocks, stop="end_turn", **more):
    """Write the stream of a message of Anthropic's."""
    usage = {"input_tokens": 7, "output_tokens": 1, "cache_read_input_tokens": 5}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
        **more,
    }
    ended = {"stop_reason": stop, "stop_sequence": None}
    return [
        {"type": "message_start", "message": message},
        {"type": "ping"},
        *(event for at, parts in enumerate(blocks) for event in block(at, *parts)),
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 30}},
        {"type": "message_stop"},
    ]


def _tool(kind, id_, name, *pieces):
    start = {"type": kind, "id": id_, "name": name, "input": {}}
    return (start, *({"type": "input_json_delta", "partial_json": one} for one in pieces))


THINKING = (
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": "Hm"},
    {"type": "thinking_delta", "thinking": "m."},
    {"type": "signature_delta", "signature": "sig=="},
)
EMPTY_THINKING = (THINKING[0], THINKING[3])
REDACTED = ({"type": "redacted_thinking", "data": "opaque"},)
TEXT = (
    {"type": "text", "text": ""},
    {"type": "text_delta", "text": "Voilà: "},
    {"type": "text_delta", "text": "🌍."},
)
CITED = (
    {"type": "text", "text": "", "citations": []},
    {"type": "text_delta", "text": "So it is."},
    {
        "type": "citations_delta",
        "citation": {
            "type": "web_search_result_location",
            "cited_text": "so",
            "url": "https://example.com",
            "title": "T",
            "encrypted_index": "e",
        },
    },
)
TOOL = _tool("tool_use", "toolu_1", "weather", "", '{"city": ', '"Zürich"}')
NO_INPUT = _tool("tool_use", "toolu_2", "time", "")
SEARCH = _tool("server_tool_use", "srvtoolu_1", "web_search", '{"query": "x"}')
FOUND = (
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [
            {
                "type": "web_search_result",
                "url": "https://example.com",
                "title": "T",
                "encrypted_content": "e",
                "page_age": None,
            }
        ],
    },
)
COMPACTED = (
    {"type": "compaction", "content": None, "encrypted_content": None},
    {"type": "compaction_delta", "content": "What was said.", "encrypted_content": "sig"},
)
LATER = ({"type": "hologram", "frames": []}, {"type": "hologram_delta", "frames": [1]})

MESSAGES_TOOLS = anthropic(THINKING, REDACTED, TEXT, TOOL, NO_INPUT, stop="tool_use")
MESSAGES_SEARCH = anthropic(EMPTY_THINKING, SEARCH, FOUND, CITED)
MESSAGES_COMPACTED = anthropic(COMPACTED, stop="compaction")


def candidate(*parts, finish=None, **more):
    """Write a chunk of Gemini's."""
    found = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    found |= {"finishReason": finish} if finish else {}
    usage = {"promptTokenCount": 3, "totalTokenCount": 9}
    head = {"modelVersion": "gemini-3.8-flash", "responseId": "g1", "usageMetadata": usage}
    return {"candidates": [found], **head, **more}


GEMINI = [
    candidate({"text": "Let me", "thought": True}),
    candidate({"text": " see.", "thought": True}),
    candidate({"text": "Voilà"}),
    candidate({"text": ": 🌍"}),
    candidate({"text": ".", "thoughtSignature": "c2ln"}),
    candidate({"text": " And"}),
    candidate(
        {
            "functionCall": {"name": "weather", "args": {"city": "Zürich"}, "id": "f1"},
            "thoughtSignature": "c2lnMg==",
        },
        {"functionCall": {"name": "time", "args": {}, "id": "f2"}},
    ),
    candidate({"text": ""}, finish="STOP"),
]


def step(index, start, *deltas):
    """Write the events of a step."""
    yield {"event_type": "step.start", "index": index, "step": start}
    for delta in deltas:
        yield {"event_type": "step.delta", "index": index, "delta": delta}
    yield {"event_type": "step.stop", "index": index}


def interaction(status, **more):
    """Write what an event tells of an interaction."""
    head = {"id": "v1_1", "status": status, "object": "interaction", "model": "gemini-3.8-flash"}
    return {"interaction": {**head, **more}}


INTERACTION_USAGE = {"total_input_tokens": 3, "total_output_tokens": 4, "total_tokens": 7}
INTERACTIONS = [
    {"event_type": "interaction.created", **interaction("in_progress")},
    {"event_type": "interaction.status_update", "interaction_id": "v1_1", "status": "in_progress"},
    *step(
        0,
        {"type": "thought"},
        {"type": "thought_summary", "content": {"type": "text", "text": "Hm"}},
        {"type": "thought_summary", "content": {"type": "text", "text": "m."}},
        {"type": "thought_signature", "signature": "c2ln"},
    ),
    *step(
        1,
        {"type": "model_output"},
        {"type": "text", "text": "Voilà"},
        {"type": "text", "text": ": 🌍"},
        {
            "type": "text_annotation_delta",
            "annotations": [{"type": "url_citation", "url": "https://example.com"}],
        },
        {"type": "image", "data": "aW1n", "mime_type": "image/png"},
    ),
    *step(
        2,
        {"type": "google_search_call", "id": "s1", "arguments": {}},
        {"type": "google_search_call", "arguments": {"queries": ["x"]}, "signature": "c2ln"},
    ),
    *step(
        3,
        {"type": "google_search_result", "call_id": "s1", "result": []},
        {"type": "google_search_result", "result": [{"search_suggestions": "y"}]},
    ),
    *step(
        4,
        {"type": "function_call", "id": "f1", "name": "weather", "arguments": {}},
        {"type": "arguments_delta", "arguments": '{"city": '},
        {"type": "arguments_delta", "arguments": '"Zürich"}'},
    ),
    {
        "event_type": "interaction.completed",
        **interaction("requires_action", usage=INTERACTION_USAGE),
    },
]
STEPS = [
    {
        "type": "thought",
        "summary": [{"type": "text", "text": "Hmm."}],
        "signature": "c2ln",
    },
    {
        "type": "model_output",
        "content": [
            {
                "type": "text",
                "text": "Voilà: 🌍",
                "annotations": [{"type": "url_citation", "url": "https://example.com"}],
            },
            {"type": "image", "data": "aW1n", "mime_type": "image/png"},
        ],
    },
    {
        "type": "google_search_call",
        "id": "s1",
        "arguments": {"queries": ["x"]},
        "signature": "c2ln",
    },
    {
        "type": "google_search_result",
        "call_id": "s1",
        "result": [{"search_suggestions": "y"}],
    },
    {"type": "function_call", "id": "f1", "name": "weather", "arguments": {"city": "Zürich"}},
]

ANSWERS = {
    "chat text": Answer("chat", EVENTS, sse(*CHAT_TEXT, last="[DONE]")),
    "chat tools": Answer("chat", EVENTS, sse(*CHAT_TOOLS, last="[DONE]", end="\r\n")),
    "chat refusal": Answer("chat", EVENTS, sse(*CHAT_REFUSAL, last="[DONE]")),
    "chat legacy": Answer("chat", EVENTS, sse(*CHAT_LEGACY, last="[DONE]", end="\r")),
    "responses": Answer("responses", EVENTS, sse(*RESPONSES, named=True)),
    "responses without output": Answer("responses", EVENTS, sse(*WITHOUT_OUTPUT, named=True)),
    "messages tools": Answer("messages", EVENTS, sse(*MESSAGES_TOOLS, named=True)),
    "messages search": Answer("messages", EVENTS, sse(*MESSAGES_SEARCH, named=True)),
    "messages compacted": Answer("messages", EVENTS, sse(*MESSAGES_COMPACTED, named=True)),
    "gemini events": Answer("gemini", EVENTS, sse(*GEMINI, end="\r\n")),
    "gemini array": Answer("gemini", JSON, json.dumps(GEMINI, indent=2).encode()),
    "interactions": Answer("interactions", EVENTS, sse(*INTERACTIONS, named=True, last="[DONE]")),
}
