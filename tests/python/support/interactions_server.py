"""A local server of the Interactions API that refuses what Gemini refuses.

It is written from the API's reference, and shares no code with the package. Behind a system prompt
it makes up responses: thoughts with signatures, searches of its own, calls, outputs. It refuses a
list whose calls and results do not fit (`refusals_interactions.py`), and one in which a response
did not come back as it went.
"""

from __future__ import annotations

import base64
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

import refusals_interactions as provider
from refusals import Sent


class RefusedError(Exception):
    """Why a request is refused."""


class Gemini:
    """What the server knows: its responses, and the interactions that it has stored.

    Args:
        seed: Of what it says.
    """

    def __init__(self, seed=0):
        self.dice = Random(seed)
        self.responses = {}  # by the first step of each, as it went
        self.stored = {}  # by interaction: all steps up to it
        self.lists = []  # the input of every request
        self.refusals = []

    def answer(self, body):
        """Check a request, and make up a response to it.

        Raises:
            RefusedError: It is no request that Gemini takes.
        """
        steps = body.get("input")
        if not isinstance(steps, list) or not steps:
            raise RefusedError("input is no list of steps")
        self.lists.append(steps)
        before = []
        if "previous_interaction_id" in body:
            before = self.stored.get(body["previous_interaction_id"])
            if before is None:
                raise RefusedError("there is no such interaction")
        self.check([*before, *steps])
        made = self.respond()
        number = f"v1_{len(self.lists)}"
        if body.get("store", True):
            self.stored[number] = [*before, *steps, *made]
        return {
            "id": number,
            "object": "interaction",
            "status": "requires_action" if made[-1]["type"] == "function_call" else "completed",
            "model": body["model"],
            "created": "2026-11-22T10:00:00Z",
            "updated": "2026-11-22T10:00:00Z",
            "steps": made,
            "usage": {"total_input_tokens": len(json.dumps(steps)) // 4, "total_tokens": 0},
        }

    def check(self, steps):
        """Refuse a list that does not fit."""
        if steps[0].get("type") != "user_input":
            raise RefusedError("the first step is not the user's")
        names = {step["id"]: step["name"] for step in steps if provider.is_call(step)}
        at = 0
        while at < len(steps):
            kind = steps[at].get("type")
            if kind == "user_input":
                self.check_input(steps[at], at)
            if kind == "function_result" and steps[at].get("name") != names.get(
                steps[at]["call_id"], ""
            ):
                raise RefusedError(f"step {at}: a result needs the name of its function")
            at += 1 if kind in provider.OURS else len(self.check_response(steps, at))
        for why in provider.refusals(steps, Sent()):
            raise RefusedError(why)
        if steps[-1]["type"] not in provider.OURS:
            raise RefusedError("nothing is asked")

    def check_response(self, steps, at):
        """Refuse what does not begin with one of our responses, whole and as it went."""
        response = self.responses.get(_bytes(steps[at]))
        if response is None:
            raise RefusedError(f"step {at}: no response begins with {steps[at].get('type')}")
        given = steps[at : at + len(response)]
        if list(map(_bytes, given)) != response:
            raise RefusedError(f"step {at}: the response came back in part, or changed")
        return given

    def check_input(self, step, at):
        """Refuse an input that says nothing."""
        if not step.get("content") or set(step) != {"type", "content"}:
            raise RefusedError(f"step {at}: an input needs content, blocks")

    def respond(self):
        """Make up a response, and remember it."""
        number = len(self.lists)
        words = " ".join(self.dice.choice(("kite", "boat", "crate", "ledger")) for _ in range(30))
        steps = [{"type": "thought", "signature": self.sign()}]
        if self.dice.random() < 0.4:
            steps[0]["summary"] = [{"type": "text", "text": f"I weigh {words}."}]
        if self.dice.random() < 0.2:
            search = {"id": f"search_{number}", "signature": self.sign()}
            found = {"call_id": search["id"], "signature": self.sign()}
            asked = {"arguments": {"queries": [words]}}
            steps.append({"type": "google_search_call", **asked, **search})
            given = {"result": [{"search_suggestions": words}]}
            steps.append({"type": "google_search_result", **given, **found})
        calls = self.dice.choice((0, 1, 1, 1, 2, 3))
        if not calls or self.dice.random() < 0.3:
            text = {"type": "text", "text": f"Answer {number}: {words}."}
            steps.append({"type": "model_output", "content": [text]})
        for at in range(calls):
            one = {"id": f"call_{number}_{at}", "name": self.dice.choice(("look", "read_file"))}
            arguments = {"path": f"src/{number}.py", "n": at}
            steps.append({"type": "function_call", "arguments": arguments, **one})
        self.responses[_bytes(steps[0])] = list(map(_bytes, steps))
        return steps

    def sign(self):
        """Make up a signature."""
        return base64.b64encode(self.dice.randbytes(48)).decode()


def _bytes(step):
    return json.dumps(step, sort_keys=True)


@contextmanager
def serving(gemini):
    """Serve it on this machine; gives the address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one write a response: two wait for each other
        disable_nagle_algorithm = True

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                status, said = 200, gemini.answer(body)
            except RefusedError as error:
                gemini.refusals.append(str(error))
                status = 400
                said = {"error": {"message": str(error), "code": "invalid_request"}}
            data = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
