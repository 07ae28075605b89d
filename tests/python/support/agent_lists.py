"""Lists of an agent that calls tools, and how much they cost."""

from __future__ import annotations

from warmset import fit


def said(role, text):
    return {"role": role, "content": text}


def step(number, tool="search", query="x", result="found it " * 30):
    arguments = f'{{"q": "{query}"}}'
    function = {"name": tool, "arguments": arguments}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


def session(steps=6, **options):
    messages = [said("system", "Be brief."), said("user", "find the bug")]
    for number in range(steps):
        messages += step(number, **options)
    return [*messages, said("assistant", "it is in line 7"), said("user", "fix it")]


def count(messages, dialect=None):
    return int(fit(messages, budget=10**9, dialect=dialect).tokens)


def tight(messages):
    return count(messages) - 1


class TooLongError(Exception):
    def __init__(self, told, **fields):
        super().__init__(told)
        self.__dict__.update(fields)
