"""The providers' own clients, through the proxy, with a real model behind it."""

from __future__ import annotations

import json

import pytest
from small_model import CONTEXT, answering

from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.options import ProxyOptions
from warmset.serve.proxy.tenants import Tenants

anthropic = pytest.importorskip("anthropic", reason="the extra anthropic is not installed")
openai = pytest.importorskip("openai", reason="the extra openai is not installed")

FIRST = {"role": "user", "content": "Say hello."}
MORE = {"role": "user", "content": "And once more."}
SAID = {"model": "smollm2", "temperature": 0}
PLAIN = {"model": "smollm2", "extra_body": {"temperature": 0}}


@pytest.fixture(scope="module")
def model():
    with answering() as server:
        yield server.listening_address


@pytest.fixture
def who(tmp_path):
    return Callers(Tenants(b"s" * 32, Aliases(tmp_path)), ProxyOptions())


def of_openai(url):
    return openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)


def of_anthropic(url):
    return anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)


def chat(url, messages):
    with of_openai(url) as client:
        made = client.chat.completions.create(**SAID, messages=messages, max_tokens=6)
    return made.choices[0].message.content


def streamed_chat(url, messages):
    asked = {"messages": messages, "max_tokens": 6, "stream": True}
    with of_openai(url) as client:
        pieces = client.chat.completions.create(**SAID, **asked)
        said = [one.choices[0].delta.content or "" for one in pieces if one.choices]
    assert len(said) > 2
    return "".join(said)


def responses(url, messages):
    asked = {"input": list(map(item, messages)), "max_output_tokens": 6, "store": False}
    with of_openai(url) as client:
        return client.responses.create(**SAID, **asked).output_text


def streamed_responses(url, messages):
    asked = {"input": list(map(item, messages)), "max_output_tokens": 6, "store": False}
    with of_openai(url) as client:
        events = list(client.responses.create(**SAID, **asked, stream=True))
    return events[-1].response.output_text


def item(message):
    """Return a message as the server takes it in a list for Responses."""
    if message["role"] == "user":
        return message
    text = {"type": "output_text", "text": message["content"], "annotations": []}
    said = {"type": "message", "role": "assistant", "status": "completed", "id": "msg_1"}
    return said | {"content": [text]}


def told(url, messages):
    with of_anthropic(url) as client:
        counted = client.messages.count_tokens(model="smollm2", messages=messages)
        made = client.messages.create(**PLAIN, messages=messages, max_tokens=6)
    used = made.usage.input_tokens + (made.usage.cache_read_input_tokens or 0)
    assert counted.input_tokens == used
    return made.content[0].text


def streamed(url, messages):
    with (
        of_anthropic(url) as client,
        client.messages.stream(**PLAIN, messages=messages, max_tokens=6) as stream,
    ):
        return "".join(stream.text_stream)


@pytest.mark.parametrize(
    "ask", [chat, streamed_chat, responses, streamed_responses, told, streamed]
)
def test_a_conversation_is_kept_and_the_answers_are_the_model_s(proxied, model, who, ask):
    with proxied(model, who=who) as proxy:
        hello = ask(proxy.url, [FIRST])
        assert hello == ask(model, [FIRST]) != ""
        asked = [FIRST, {"role": "assistant", "content": hello}, MORE]
        again = ask(proxy.url, asked)
        assert again == ask(model, asked) != ""
        [tenant] = list(proxy.memories._open)
        with proxy.memories.of(tenant) as memory:
            names = memory.conversations()
            assert len(names) == 1, names
            stored = list(memory.conversation(names[0]).messages())
    assert [one["role"] for one in stored] == ["user", "assistant", "user", "assistant"]
    assert hello in json.dumps(stored[1])
    assert again in json.dumps(stored[3])


def test_structured_output_comes_through(proxied, model, who):
    schema = {
        "type": "object",
        "properties": {"boxes": {"type": "integer", "minimum": 0, "maximum": 99}},
        "required": ["boxes"],
        "additionalProperties": False,
    }
    shape = {"type": "json_schema", "json_schema": {"name": "count", "schema": schema}}
    with (
        proxied(model, who=who) as proxy,
        of_openai(proxy.url) as client,
    ):
        made = client.chat.completions.create(
            **SAID, messages=[FIRST], response_format=shape, max_tokens=30
        )
    assert set(json.loads(made.choices[0].message.content)) == {"boxes"}


def test_what_the_model_finds_too_long_is_sent_shorter(proxied, model, who):
    long = []
    for at in range(6):
        long.append({"role": "user", "content": f"Shelf {at} has {'screws, nails, ' * 10}."})
        long.append({"role": "assistant", "content": f"Noted: shelf {at}."})
    long.append(FIRST)
    with pytest.raises(openai.BadRequestError, match="exceeds the available context size"):
        chat(model, long)
    with proxied(model, who=who, budget=CONTEXT + 44) as proxy:
        assert chat(proxy.url, long)
        text = proxy.watcher.metrics.text().decode()
    assert 'warmset_requests_total{status="200",surface="chat"} 1.0' in text
