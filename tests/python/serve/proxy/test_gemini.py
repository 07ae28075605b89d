"""Google's own client through the proxy."""

from __future__ import annotations

import json
import re

import pytest
from werkzeug import Response

from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.options import ProxyOptions
from warmset.serve.proxy.tenants import Tenants

genai = pytest.importorskip("google.genai", reason="the package google-genai is not installed")

PATH = re.compile(r"/v1(beta)?/models/gemini-3-flash:generateContent")


def said(role, text):
    return {"role": role, "parts": [{"text": text}]}


def test_a_growing_list_of_contents_gets_windows(proxied, httpserver, tmp_path):
    sent = []

    def answer(request):
        sent.append(json.loads(request.data))
        content = said("model", f"Reply {len(sent)}: forty boxes are on that shelf. " * 12)
        made = {
            "candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 9},
            "modelVersion": "gemini-3-flash",
        }
        return Response(json.dumps(made), content_type="application/json")

    httpserver.expect_request(PATH, method="POST").respond_with_handler(answer)
    who = Callers(Tenants(b"s" * 32, Aliases(tmp_path)), ProxyOptions())
    with proxied(httpserver.url_for(""), who=who, budget=1_500) as proxy:
        client = genai.Client(api_key="k" * 20, http_options={"base_url": proxy.url})
        contents = []
        for turn in range(20):
            contents.append(said("user", f"How many boxes are on shelf {turn}?"))
            got = client.models.generate_content(
                model="gemini-3-flash",
                contents=contents,
                config={"system_instruction": "You count boxes.", "temperature": 0.5},
            )
            contents.append(said("model", got.text))
        [tenant] = list(proxy.memories._open)
        with proxy.memories.of(tenant) as memory:
            [name] = memory.conversations()
            stored = list(memory.conversation(name).messages())
    assert [one["parts"][0]["text"] for one in stored] == [
        one["parts"][0]["text"] for one in contents
    ]
    assert len(sent[-1]["contents"]) < 20
    assert sent[-1]["contents"][-1]["parts"][0]["text"] == "How many boxes are on shelf 19?"
    instructions = [json.dumps(one["systemInstruction"]) for one in sent]
    assert len(set(instructions)) == 1
    assert "You count boxes." in instructions[0]
    assert all(one["generationConfig"] == {"temperature": 0.5} for one in sent)
