"""A local provider that keeps what was said: OpenAI's Responses, or Gemini's Interactions."""

from __future__ import annotations

import json
import re

from werkzeug import Response


class KeepingServer:
    """Answers each request by its number, behind what it keeps.

    Attributes:
        asked: The bodies of all requests, in order.
        lists: By response, everything up to it, as the provider has it.
        later: Whether responses in the background are still being made.
    """

    path = "/v1/responses"
    previous = "previous_response_id"
    done = "completed"

    def __init__(self, httpserver):
        self.url = httpserver.url_for("")
        self.asked, self.lists, self.made = [], {}, {}
        self.later = False
        one = re.compile(re.escape(self.path) + r"/[^/]+")
        httpserver.expect_request(self.path, method="POST").respond_with_handler(self._create)
        httpserver.expect_request(one, method="GET").respond_with_handler(self._fetch)

    def _create(self, request):
        body = json.loads(request.data)
        self.asked.append(body)
        before = body.get(self.previous)
        if before is not None and before not in self.lists:
            return _json({"error": {"message": "not found", "code": "not_found"}}, 400)
        number = len(self.asked)
        made = self.response(number, body)
        if body.get("store", True):
            list_ = [*self.lists.get(before, []), *self.items(body["input"]), *self.output(number)]
            self.lists[made["id"]], self.made[made["id"]] = list_, made
        waits = body.get("background", False)
        return self._answer(made | ({"status": "in_progress"} if waits else {}), body)

    def _fetch(self, request):
        made = self.made[request.path.rsplit("/", 1)[1]]
        if self.later:
            return _json(self.unfinished(made), 200)
        return self._answer(made, {"stream": request.args.get("stream") == "true"})

    def _answer(self, made, body):
        if not body.get("stream"):
            return _json(made if made["status"] == self.done else self.unfinished(made), 200)
        lines = [f"event: {name}\ndata: {json.dumps(one)}\n\n" for name, one in self.events(made)]
        return Response("".join(lines), content_type="text/event-stream")

    def items(self, given):
        return [{"role": "user", "content": given}] if isinstance(given, str) else given

    def output(self, number):
        part = {"type": "output_text", "text": f"Reply {number}.", "annotations": []}
        said = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
        return [{**said, "status": "completed", "content": [part]}]

    def response(self, number, body):
        return {
            "id": f"resp_canary{number:04}",
            "object": "response",
            "created_at": 1,
            "model": body["model"],
            "status": "completed",
            "output": self.output(number),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12},
        }

    def unfinished(self, made):
        return {**made, "status": "in_progress", "output": []}

    def events(self, made):
        begun = {**self.unfinished(made)}
        yield "response.created", {"type": "response.created", "response": begun}
        for at, item in enumerate(made["output"]):
            said = {"type": "response.output_item.done", "output_index": at, "item": item}
            yield said["type"], said
        done = {**made, "status": "completed"}
        yield "response.completed", {"type": "response.completed", "response": done}


class InteractionsServer(KeepingServer):
    """Gemini's Interactions."""

    path = "/v1beta/interactions"
    previous = "previous_interaction_id"

    def items(self, given):
        if isinstance(given, str):
            given = [{"type": "text", "text": given}]
        given = given if isinstance(given, list) else [given]
        steps = all(
            "type" in one and one["type"].endswith(("input", "output", "result")) for one in given
        )
        return given if steps else [{"type": "user_input", "content": given}]

    def output(self, number):
        thought = {"type": "thought", "signature": f"c2ln+/{number:04}"}
        text = {"type": "text", "text": f"Reply {number}."}
        return [thought, {"type": "model_output", "content": [text]}]

    def response(self, number, body):
        return {
            "id": f"int_canary{number:04}",
            "object": "interaction",
            "model": body.get("model"),
            "status": "completed",
            "created": "2026-11-20T00:00:00Z",
            "updated": "2026-11-20T00:00:00Z",
            "steps": self.output(number),
            "usage": {"total_input_tokens": 9, "total_output_tokens": 3},
        }

    def unfinished(self, made):
        return {**made, "status": "in_progress", "steps": []}

    def events(self, made):
        begun = self.unfinished(made)
        yield "interaction.created", {"event_type": "interaction.created", "interaction": begun}
        for at, step in enumerate(made["steps"]):
            yield "step.start", {"event_type": "step.start", "index": at, "step": step}
            yield "step.stop", {"event_type": "step.stop", "index": at}
        done = {**made, "status": "completed", "steps": None}
        yield "interaction.completed", {"event_type": "interaction.completed", "interaction": done}


def _json(body, status):
    return Response(json.dumps(body), status, content_type="application/json")
