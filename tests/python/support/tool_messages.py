"""Tool calls and their answers in each dialect, for tests."""

from __future__ import annotations

import json

from warmset.messages import text_message


def call_of(dialect, name, arguments, id_="call_1"):
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    match dialect:
        case "openai":
            function = {"name": name, "arguments": text}
            return {"id": id_, "type": "function", "function": function}
        case "responses":
            return {"type": "function_call", "call_id": id_, "name": name, "arguments": text}
        case "anthropic":
            return {"type": "tool_use", "id": id_, "name": name, "input": arguments}
        case "interactions":
            return {"type": "function_call", "id": id_, "name": name, "arguments": arguments}
    return {"functionCall": {"id": id_, "name": name, "args": arguments}}


def said(message, dialect):
    match dialect:
        case "openai":
            return message["content"]
        case "responses":
            return message["output"]
        case "anthropic":
            return message["content"][0]["content"]
        case "interactions":
            return message["result"]
    (text,) = message["parts"][0]["functionResponse"]["response"].values()
    return text


def around(dialect, call, answers):
    """The list in which a call and its answers stand."""
    ask = {"role": "user", "content": "and?"}
    match dialect:
        case "openai":
            return [ask, {"role": "assistant", "tool_calls": [call]}, *answers]
        case "responses":
            return [ask, call, *answers]
        case "anthropic":
            return [ask, {"role": "assistant", "content": [call]}, *answers]
        case "interactions":
            return [text_message(dialect, "user", "and?"), call, *answers]
    asked = {"role": "user", "parts": [{"text": "and?"}]}
    return [asked, {"role": "model", "parts": [call]}, *answers]
