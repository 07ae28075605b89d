"""Google's chat classes through the proxy: turns in pieces, and bytes in their alphabet."""

from __future__ import annotations

import base64
import json
import re

import pytest
from werkzeug import Response

from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.as_given import as_given, in_pieces
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.options import ProxyOptions
from warmset.serve.proxy.surfaces import CHAT, surface_of
from warmset.serve.proxy.tenants import Tenants

genai = pytest.importorskip("google.genai", reason="the package google-genai is not installed")

STREAM = surface_of("POST", "/v1beta/models/m:streamGenerateContent")
PLAIN = surface_of("POST", "/v1beta/models/m:generateContent")
PATH = re.compile(r"/v1(beta)?/models/m:(streamG|g)enerateContent")


def signature(number):
    """Bytes that differ in the two alphabets of base64."""
    return base64.b64encode(b"\xfb\xef\xff" * 3 + bytes([number])).decode()


class Gemini:
    """Answers in three pieces, the last one signed, or in one."""

    def __init__(self, httpserver):
        self.sent, self.url = [], httpserver.url_for("")
        httpserver.expect_request(PATH, method="POST").respond_with_handler(self.answer)

    def answer(self, request):
        self.sent.append(json.loads(request.data))
        number = len(self.sent)
        texts = [f"Reply {number}: ", f"shelf {number} has ", "forty boxes. " * 20]
        if number % 5 == 1:
            texts = [f"Reply {number}."]
        parts = [{"text": text} for text in texts]
        parts[-1]["thoughtSignature"] = signature(number)
        if "stream" not in request.path:
            return self.json([parts], "application/json", "{}")
        return self.json([[one] for one in parts], "text/event-stream", "data: {}\r\n\r\n")

    def json(self, pieces, kind, frame):
        lines = []
        for at, parts in enumerate(pieces):
            one = {"index": 0, "content": {"role": "model", "parts": parts}}
            if at == len(pieces) - 1:
                one["finishReason"] = "STOP"
            made = {"candidates": [one], "modelVersion": "m", "responseId": str(len(self.sent))}
            lines.append(frame.replace("{}", json.dumps(made)))
        return Response("".join(lines), content_type=kind)


@pytest.fixture
def server(httpserver):
    return Gemini(httpserver)


@pytest.fixture
def chatting(proxied, server, tmp_path):
    """Return a function that runs a loop, and returns what is stored and what the client has."""

    def run(method, turns, **options):
        who = Callers(Tenants(b"s" * 32, Aliases(tmp_path)), ProxyOptions())
        with proxied(server.url, who=who, **options) as proxy:
            client = genai.Client(api_key="k" * 20, http_options={"base_url": proxy.url})
            chat = client.chats.create(model="m")
            for turn in range(turns):
                got = getattr(chat, method)(f"How many boxes are on shelf {turn}?")
                if method.endswith("stream"):
                    list(got)
            [tenant] = list(proxy.memories._open)
            with proxy.memories.of(tenant) as memory:
                [name] = memory.conversations()
                one = memory.conversation(name)
                return list(one.messages()), memory.stats()["messages"], chat.get_history(True)

    return run


def texts(contents):
    return ["".join(part["text"] for part in one["parts"]) for one in contents]


@pytest.mark.parametrize("method", ["send_message_stream", "send_message"])
@pytest.mark.parametrize("budget", [None, 1_500])
def test_a_loop_of_googles_chat_is_recognised_and_stored_once(chatting, server, method, budget):
    stored, messages, history = chatting(method, 30, budget=budget)
    theirs = ["".join(part.text for part in one.parts) for one in history]
    assert texts(stored) == theirs
    assert messages == len(theirs)
    pieces = 2 if method == "send_message" else 4 - 2 * (6 / 30)
    assert len(theirs) == 30 * pieces
    if budget is not None:
        assert len(server.sent[-1]["contents"]) < len(theirs) / 2


def signatures(contents):
    return [part.get("thoughtSignature") for one in contents for part in one["parts"]]


@pytest.mark.parametrize("budget", [None, 1_500])
def test_signatures_are_sent_as_the_client_has_them(chatting, server, budget):
    stored, _, _ = chatting("send_message_stream", 20, budget=budget)
    sent = [one for one in signatures(server.sent[-1]["contents"]) if one is not None]
    theirs = [signature(at).translate(str.maketrans("+/", "-_")) for at in range(1, 20)]
    assert sent
    assert set(sent) <= set(theirs)
    assert "-" in sent[0]
    assert signatures(stored)[1] == signature(1)


def said(role, *texts):
    return {"role": role, "parts": [{"text": text} for text in texts]}


AGENT = {"x-goog-api-client": "google-genai-sdk/3.6.1+afc+chat gl-python/3.11"}


@pytest.mark.parametrize(
    ("surface", "headers", "roles", "found"),
    [
        (STREAM, AGENT, "u", True),
        (STREAM, AGENT, "umu", True),
        (PLAIN, AGENT, "ummu", False),
        (STREAM, {}, "umu", False),
        (STREAM, {}, "ummu", True),
        (STREAM, {}, "umumm", True),
        (STREAM, {}, "uumu", False),
        (STREAM, {"x-goog-api-client": "google-genai-sdk/3.6.1 gl-python/3"}, "u", False),
        (STREAM, {"x-goog-api-client": "google-genai-sdk/3.6.1+chats"}, "u", False),
        (CHAT, AGENT, "umm", False),
    ],
)
def test_who_sends_pieces_back(surface, headers, roles, found):
    given = [said({"u": "user", "m": "model"}[role], "x") for role in roles]
    assert in_pieces(surface, headers, given) is found


def test_a_client_that_joins_the_pieces_is_recognised(proxied, server, tmp_path):
    who = Callers(Tenants(b"s" * 32, Aliases(tmp_path)), ProxyOptions())
    with proxied(server.url, who=who) as proxy:
        client = genai.Client(api_key="k" * 20, http_options={"base_url": proxy.url})
        contents = []
        for turn in range(6):
            contents.append(said("user", f"Shelf {turn}?"))
            got = client.models.generate_content_stream(model="m", contents=contents)
            parts = [part for one in got for part in one.candidates[0].content.parts]
            *_, last = parts
            joined = "".join(part.text for part in parts[:-1])
            content = said("model", *([joined] if joined else []))
            content["parts"].append(last)
            contents.append(content)
        [tenant] = list(proxy.memories._open)
        with proxy.memories.of(tenant) as memory:
            [name] = memory.conversations()
            assert memory.stats()["messages"] == len(contents) == len(memory.conversation(name))


def test_only_other_bytes_of_the_same_message_are_the_clients():
    ours = said("model", "a") | {"parts": [{"text": "a", "thoughtSignature": "+/+/"}]}
    theirs = {"role": "model", "parts": [{"text": "a", "thoughtSignature": "-_-_"}]}
    other = {"role": "model", "parts": [{"text": "a", "thoughtSignature": "-_--"}]}
    window = [said("user", "quoted"), ours, said("user", "b")]
    given = [said("user", "zero"), theirs, said("user", "b")]
    assert as_given(PLAIN, window, given) == [window[0], theirs, window[2]]
    assert as_given(PLAIN, window, [other]) == window
    assert as_given(CHAT, window, given) == window
