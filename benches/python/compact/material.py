"""What compactions are measured on: transcripts with facts planted, one summary text for all."""

from __future__ import annotations

import html
import json
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benches.python import material
from benches.python.compact.planted_facts import planted
from warmset.lab.corpus import locomo
from warmset.lab.demo import transcripts
from warmset.summarize import ExtractiveSummarizer
from warmset.text.hard_facts import facts_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any, TypeAlias

    Message: TypeAlias = dict[str, Any]

SEED = 7
FACTS = 60
STEP = 6
EXTRACT = ExtractiveSummarizer()
XML = re.compile(r'<message type="(\w+)">(.*?)</message>', re.DOTALL)
TAGS = re.compile(r"<tool_call .*?</tool_call>|</?content>", re.DOTALL)


@dataclass(frozen=True)
class Fact:
    """A planted sentence, the turn that it stands in, and a question in other words.

    Args:
        at: The position of its turn.
        said: The sentence.
        asked: The same in other words, without its number.
    """

    at: int
    said: str
    asked: str


def summary_of(turns: list[tuple[str, str]], max_tokens: int) -> str:
    """Write the summary that every contestant gets for the same turns: role and text of each."""
    said = [{"role": role, "content": text} for role, text in turns if text.strip()]
    return str(EXTRACT(said, max_tokens=max_tokens))


def of_dicts(messages: list[Message]) -> list[tuple[str, str]]:
    """Read the turns of messages; what a tool said counts as the assistant's."""
    return [
        ("user" if one["role"] == "user" else "assistant", one["content"] or "") for one in messages
    ]


def of_prompt(prompt: str) -> list[tuple[str, str]]:
    """Read the turns out of the prompt that langchain makes."""
    body = prompt.rpartition("<messages>")[2]
    return [
        ("user" if kind == "human" else "assistant", html.unescape(TAGS.sub("", text)).strip())
        for kind, text in XML.findall(body)
    ]


def agent_run(n: int) -> list[Message]:
    """Make a long run of an agent: questions, steps with one or two calls, results, answers."""
    lines, out = material.texts(8_000), []
    while len(out) < n:
        at = len(out)
        text = [f"{lines[(at * 7 + more) % 8_000]}"[:600] for more in range(STEP)]
        out.append({"role": "user", "content": f"({at}) {text[0]}"})
        ids = [f"call_{at}_{more}" for more in range(1 + at // STEP % 2)]
        calls = [
            {
                "id": id_,
                "type": "function",
                "function": {"name": "read_file", "arguments": json.dumps({"path": f"{id_}.py"})},
            }
            for id_ in ids
        ]
        out.append({"role": "assistant", "content": None, "tool_calls": calls})
        out.extend(
            {"role": "tool", "tool_call_id": id_, "content": f"({id_}) {text[1 + more]}"}
            for more, id_ in enumerate(ids)
        )
        out.append({"role": "assistant", "content": f"({at}) {text[4]}"})
    while out[n:] or out[-1]["role"] == "tool" or out[-1].get("tool_calls"):
        out.pop()
    for at in range(len(out), n):
        role = "assistant" if out[-1]["role"] == "user" else "user"
        out.append({"role": role, "content": f"({at}) {lines[at]}"})
    return out


def with_facts(messages: list[Message], count: int = FACTS) -> tuple[list[Message], list[Fact]]:
    """Plant facts in turns that have a text, spread over the list but for its first message."""
    rng = random.Random(SEED)  # noqa: S311 - not for secrets
    places = [at for at, one in enumerate(messages) if at and one["content"]]
    step = len(places) / count
    chosen = [places[int((number + rng.random()) * step)] for number in range(count)]
    out, facts = [dict(one) for one in messages], []
    for at, fact in zip(chosen, planted(("fact",), count, SEED), strict=True):
        out[at]["content"] = f"{out[at]['content']}\n{fact['said']}"
        asked = re.sub(r"\s*\b\d+\b", "", fact["other"])
        facts.append(Fact(at, fact["said"], asked))
    numbers = [max(map(int, re.findall(r"\b\d+\b", fact.said))) for fact in facts]
    assert len(set(numbers)) == count, "each fact has a number of its own"
    return out, facts


def conversations(path: Path | None) -> Iterator[tuple[str, list[Message]]]:
    """Give the transcripts: the demo's, LoCoMo's where its file is given, a made-up agent's.

    What the system says is left out: langchain and others keep it beside the messages.
    """
    told = [line.message for line in transcripts.sample().lines]
    yield "demo", [dict(one) for one in told if one["role"] != "system"]
    if path is not None:
        found = locomo.samples(json.loads(path.read_text(encoding="utf-8"))) or []
        for talk in locomo.read_all(found):
            yield "LoCoMo", [dict(line.message) for line in talk.lines]
    yield "agent", agent_run(1_000)


def in_window(fact: Fact, window: list[Message]) -> tuple[bool, bool]:
    """Tell whether a window has the sentence itself, and whether a message has all its values."""
    texts = [one["content"] for one in window if isinstance(one["content"], str)]
    verbatim = any(fact.said in text for text in texts)
    hard = facts_of(fact.said)
    return verbatim, verbatim or any(hard <= facts_of(text) for text in texts)
