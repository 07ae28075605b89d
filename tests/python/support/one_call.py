"""A question, a call and its result in every dialect, and makers of messages."""

import copy

USER = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "hello"}
MARK = {"cache_control": {"type": "ephemeral"}}
CALLS = {
    "openai": {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "get", "arguments": "{}"}}
        ],
    },
    "responses": {"type": "function_call", "call_id": "c", "name": "get", "arguments": "{}"},
    "anthropic": {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c", "name": "get", "input": {}}],
    },
    "gemini": {
        "role": "model",
        "parts": [{"functionCall": {"id": "c", "name": "get", "args": {}}}],
    },
}
RESULTS = {
    "openai": {"role": "tool", "tool_call_id": "c", "content": "x"},
    "responses": {"type": "function_call_output", "call_id": "c", "output": "x"},
    "anthropic": {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}],
    },
    "gemini": {
        "role": "user",
        "parts": [{"functionResponse": {"id": "c", "name": "get", "response": {"output": "x"}}}],
    },
}
ASK = {"gemini": {"role": "user", "parts": [{"text": "hi"}]}}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}


def ask(dialect):
    return ASK.get(dialect, USER)


def text(said="a", **more):
    return {"type": "text", "text": said, **more}


def user(*parts, **more):
    return {"role": "user", "content": list(parts), **more}


def assistant(*parts, **more):
    return {"role": "assistant", "content": list(parts), **more}


def model(*parts, **more):
    return {"role": "model", "parts": list(parts), **more}


def others(dialect):
    return [one for one in CALLS if one != dialect]


def lost(found):
    return [(one.index, one.what) for one in found.lost]


def called(dialect, **more):
    """A call with further fields, on the call itself."""
    made = copy.deepcopy(CALLS[dialect])
    place = {
        "openai": lambda: made["tool_calls"][0],
        "responses": lambda: made,
        "anthropic": lambda: made["content"][0],
        "gemini": lambda: made["parts"][0],
    }
    place[dialect]().update(more)
    return made
