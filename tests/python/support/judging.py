"""Candidates for tests of triages, and models that answer as they are told."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from warmset.route import Candidate, Need, Request, TaskSpec, Texts
from warmset.route.candidates import Facts

NOW = datetime(2026, 3, 1, tzinfo=UTC)
REQUEST = Request(task="dcf", query="Why did the margin fall?", now=NOW)
SPEC = TaskSpec(
    task_type="dcf",
    required_memory=(
        Need(type="user_context", priority="essential"),
        Need(type="document_chunk", priority="supplementary"),
    ),
    max_context_tokens=2_000,
)


def candidate(
    id_, name, *, priority="supplementary", relevance=None, labels=None, earlier=(), **fields
):
    columns = {name: tuple(names) for name, names in (labels or {}).items()}
    known = {
        "memory_id": name,
        "tokens": 10,
        "at": int(NOW.timestamp() - 3 * 86_400) * 1_000_000,
        "origin": "import",
        "columns": {"type": (fields.pop("memory_type", "document_chunk"),), **columns},
        **fields,
    }
    return Candidate(
        id=id_,
        known=Facts(**known),
        priority=priority,
        needs=(0,),
        similarity=0.5,
        relevance=1 / id_ if relevance is None else relevance,
        earlier=earlier,
    )


def texts(said, summaries=None):
    """Return the texts of candidates by their names."""
    return Texts(lambda one: said[one.memory_id], summaries)


class Model:
    """A model that answers with these verdicts, or this text, and keeps the prompts."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.prompts = []

    def __call__(self, prompt):
        self.prompts.append(prompt)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return verdicts(answer) if isinstance(answer, dict) else answer


def verdicts(by_number):
    """Write an answer: words, or words with reasons, by the numbers of candidates."""
    pairs = {at: (one, "so") if isinstance(one, str) else one for at, one in by_number.items()}
    listed = [{"id": at, "verdict": word, "reason": reason} for at, (word, reason) in pairs.items()]
    return json.dumps({"verdicts": listed})


def items(prompt):
    """Return the lines of the items in a prompt."""
    return prompt.split("Items:\n")[1].splitlines()
