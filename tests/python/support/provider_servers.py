"""Local servers that play an agent and refuse what the provider of their API refuses.

A server answers with calls of the tool `look`, three replies in four, and then with a text. Before
that it judges the request by `refusals.py`, and by what it alone knows: what it said before. A
request that the provider would refuse gets 400 with an error of the provider's shape.
"""

from __future__ import annotations

import json

import refusals as provider
from werkzeug import Response

STEPS = 4
"""Replies to one request of the user: all but the last one call tools."""


class Server:
    """What the servers share: the count of replies, and the statuses of all requests."""

    path = ""
    dialect = ""

    def __init__(self, httpserver):
        self.url = httpserver.url_for("")
        self.errors = []
        self.lengths = []
        self.said = []  # every item or block that was made
        httpserver.expect_request(self.path, method="POST").respond_with_handler(self.respond)

    @property
    def served(self):
        return len(self.lengths)

    def respond(self, request):
        body = json.loads(request.data)
        why = self.refused(body)
        if why:
            self.errors += why
            return _json(self.error(why[0]), 400)
        made = self.reply(self.served, body)
        self.lengths.append(len(body.get("messages") or body["input"]))
        return _json(made, 200)

    def error(self, why):
        return {
            "error": {"message": why, "type": "invalid_request_error", "param": None, "code": None}
        }


class ChatServer(Server):
    """OpenAI Chat Completions."""

    path = "/v1/chat/completions"
    fields = frozenset(
        {"role", "content", "name", "refusal", "audio", "annotations", "function_call"}
        | {"tool_calls", "tool_call_id"}
    )

    def refused(self, body):
        sent = body["messages"]
        extra = [key for one in sent for key in one if key not in self.fields]
        calls = [call for one in sent for call in one.get("tool_calls") or ()]
        extra += [key for call in calls for key in call if key not in ("id", "type", "function")]
        extra += [
            key for call in calls for key in call["function"] if key not in ("name", "arguments")
        ]
        why = [f"Additional properties are not allowed ('{key}' was unexpected)" for key in extra]
        return why or provider.refusals("openai", sent, tools=body.get("tools"))

    def reply(self, number, body):
        calls = [
            _call({"id": f"call_{number}_{at}", "type": "function"}, number, at)
            for at in range(_calls(number))
        ]
        said = {"role": "assistant", "content": _text(number), "refusal": None, "annotations": []}
        if calls:
            said |= {"content": None if number % 3 else "I look.", "tool_calls": calls}
        reason = "tool_calls" if calls else "stop"
        choice = {"index": 0, "finish_reason": reason, "message": said, "logprobs": None}
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [choice],
            "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
        }


class ResponsesServer(Server):
    """OpenAI Responses, stateless and with `previous_response_id`."""

    path = "/v1/responses"

    def __init__(self, httpserver):
        super().__init__(httpserver)
        self.stored = {}  # by response: everything up to it

    def refused(self, body):
        before = self.stored.get(body.get("previous_response_id"), [])
        if body.get("previous_response_id") and not before:
            return [f"Previous response with id '{body['previous_response_id']}' not found."]
        unread = [
            f"Item with id '{item['id']}' not found. Items are not persisted when `store` is false."
            for item in body["input"]
            if item.get("type") == "reasoning" and not item.get("encrypted_content")
        ]
        judged = [*before, *body["input"]]
        return unread or provider.refusals("responses", judged, origin=[*self.said, *judged])

    def reply(self, number, body):
        stem = f"{(number + 1) * 0x9E3779B97F4A7C15 % (1 << 64):016x}00{0x69D00000 + number:08x}"
        own = [f"{stem}{at:024x}" for at in range(5)]
        made = []
        if number % 3 != 1:
            made.append({"type": "reasoning", "id": f"rs_{own[0]}", "summary": []})
            made[0] |= {"encrypted_content": f"gAAAA{number}", "status": None}
        calls = _calls(number)
        if not calls or number % 2:
            part = {"type": "output_text", "text": _text(number), "annotations": [], "logprobs": []}
            phase = "commentary" if calls else "final_answer"
            said = {"type": "message", "id": f"msg_{own[1]}", "role": "assistant", "phase": phase}
            made.append({**said, "status": "completed", "content": [part]})
        made += [
            {
                "type": "function_call",
                "id": f"fc_{own[2 + at]}",
                "call_id": f"call_{number}_{at}",
                "status": "completed",
                **_call({}, number, at)["function"],
            }
            for at in range(calls)
        ]
        self.said += made
        id_ = f"resp_{stem}"
        before = self.stored.get(body.get("previous_response_id"), [])
        if body.get("store", True):
            self.stored[id_] = [*before, *body["input"], *made]
        return {
            "id": id_,
            "object": "response",
            "created_at": 1,
            "model": body["model"],
            "status": "completed",
            "output": made,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }


class AnthropicServer(Server):
    """Anthropic Messages with thinking."""

    path = "/v1/messages"

    def refused(self, body):
        why = provider.refusals(
            "anthropic",
            body["messages"],
            model=body["model"],
            system=body.get("system"),
            tools=body.get("tools"),
        )
        return why or self.thinking(body["messages"])

    def thinking(self, messages, *, leads=True):
        """Refuse thinking that was changed, and a running loop that lost its own.

        Args:
            messages: The messages of a request.
            leads: Whether the model refuses a loop that does not begin with its thinking.
        """
        blocks = [
            block
            for message in messages
            if isinstance(message["content"], list)
            for block in message["content"]
        ]
        if any("thinking" in block["type"] and block not in self.said for block in blocks):
            return ["`thinking` or `redacted_thinking` blocks in a message cannot be modified."]
        results = [block for block in blocks if leads and block["type"] == "tool_result"]
        last = messages[-1]["content"]
        if results and isinstance(last, list) and results[-1] is last[-1]:
            number = int(results[-1]["tool_use_id"].split("_")[1])
            first = messages[-2]["content"][0]["type"]
            if _thinks(number) and "thinking" not in first:
                return [f"Expected `thinking` or `redacted_thinking`, but found `{first}`."]
        return []

    def error(self, why):
        return {"type": "error", "error": {"type": "invalid_request_error", "message": why}}

    def reply(self, number, body):
        made = []
        if _thinks(number):
            proof = f"ErUB{number}"
            made.append({"type": "thinking", "thinking": f"Step {number}.", "signature": proof})
        if number % 7 == 2:
            made.append({"type": "redacted_thinking", "data": f"EmwK{number}"})
        if number % 5 == 3:
            made += _search(f"srvtoolu_{number}")
        if not _calls(number) or number % 2:
            made.append({"type": "text", "text": _text(number)})
        made += [
            {
                "type": "tool_use",
                "id": f"toolu_{number}_{at}",
                "name": "look",
                "input": {"at": number},
            }
            for at in range(_calls(number))
        ]
        self.said += made
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": made,
            "stop_reason": "tool_use" if _calls(number) else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 9, "output_tokens": 9},
        }


def _json(body, status):
    return Response(json.dumps(body), status, content_type="application/json")


def _calls(number):
    """Return how many calls a reply has: two, one, three, and none."""
    return (2, 1, 3, 0)[number % STEPS]


def _thinks(number):
    return number % STEPS != 1


def _text(number):
    return f"Reply {number}: the shelf is in order, and the next one comes after it."


def _call(call, number, at):
    arguments = json.dumps({"at": number, "side": at})
    return call | {"function": {"name": "look", "arguments": arguments}}


def _search(id_):
    found = {
        "type": "web_search_result",
        "url": "https://example.com",
        "title": "A shelf",
        "encrypted_content": "Eqgf",
        "page_age": None,
    }
    return [
        {"type": "server_tool_use", "id": id_, "name": "web_search", "input": {"query": "shelf"}},
        {"type": "web_search_tool_result", "tool_use_id": id_, "content": [found]},
    ]
