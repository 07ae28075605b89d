"""A picker on a real model, small enough for one thread: does the plumbing hold?

The model is far too weak to judge by what it picks.
"""

from __future__ import annotations

import pytest
from small_model import answering

from warmset import Memory
from warmset.pick import (
    AnthropicPicker,
    Candidate,
    LLMPicker,
    OpenAIPicker,
    OpenAIResponsesPicker,
    ask_picker,
)

pytestmark = pytest.mark.usefixtures("no_proxy")

openai = pytest.importorskip("openai", reason="the extra openai is not installed")

TURNS = (
    "We keep the pool at 12, Postgres allows 80 sessions.",
    "The button is renamed to Send.",
    "Lunch is at noon on Friday.",
)


@pytest.fixture(scope="module")
def server():
    with answering(2_048) as made:
        yield made


@pytest.mark.parametrize(
    ("kind", "path"),
    [(OpenAIPicker, "/v1"), (OpenAIResponsesPicker, "/v1"), (AnthropicPicker, "")],
)
def test_a_real_model_answers_in_the_schema(server, kind, path):
    if kind is AnthropicPicker:
        pytest.importorskip("anthropic", reason="the extra anthropic is not installed")
    shortlist = [Candidate(n, "user", text, False, 1 / n) for n, text in enumerate(TURNS, 1)]
    url = f"{server.listening_address}{path}"
    with kind("smollm2", base_url=url, api_key="k", timeout=300, max_tokens=64) as picker:
        picked = ask_picker(picker, "How many connections has the pool?", shortlist, limit=3)
    assert set(picked.ids) <= {1, 2, 3}
    assert picked.by == "picker" or picked.why
    assert picked.usage.input > 100
    assert 0 < picked.usage.output <= 64
    assert not picked.usage.estimated


def test_a_window_with_a_real_model(server):
    def complete(prompt):
        made = server.handle_chat_completions(
            {"messages": [{"role": "user", "content": prompt}], "max_tokens": 32, "temperature": 0}
        )
        return made["choices"][0]["message"]["content"]

    picker = LLMPicker(complete, timeout=300)
    with Memory.open(None, embedder="lexical", picker=picker) as memory:
        talk = memory.conversation("log")
        talk.append([{"role": "user", "content": f"{TURNS[n % 3]} ({n})"} for n in range(30)])
        report = talk.window("the pool?", budget=900, shortlist=3).report
    assert report.picked_by in ("picker", "score")
    assert report.picked
    assert report.picker.estimated
    assert report.picker.input > 100
