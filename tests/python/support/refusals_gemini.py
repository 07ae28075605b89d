"""What Gemini's generateContent refuses; see `refusals.py`.

https://ai.google.dev/api/generate-content
https://ai.google.dev/gemini-api/docs/function-calling
https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

import re
from itertools import pairwise

DATA = {
    "text": "text",
    "functionCall": "function_call",
    "functionResponse": "function_response",
    "inlineData": "inline_data",
    "fileData": "file_data",
    "executableCode": "executable_code",
    "codeExecutionResult": "code_execution_result",
    "toolCall": "tool_call",
    "toolResponse": "tool_response",
}
ROLES = ("user", "model", "function", "tool", None)
SIGNED = re.compile(r"gemini-([3-9]|\d\d)\b")
"""Models that refuse a call of the current turn without its signature."""


def refusals(contents, sent):
    if not contents:
        return ["GenerateContentRequest.contents: contents is not specified"]
    alone = [why for at, one in enumerate(contents) for why in _content(f"contents[{at}]", one)]
    return alone or [*_turns(contents), *_signatures(contents, sent)]


def get(part, name):
    found = part.get(name)
    return found if found is not None else part.get(DATA[name])


def parts(content):
    return content.get("parts") or []


def _content(where, content):
    role = content.get("role")
    if role == "system":
        yield "Content with system role is not supported."
    elif role not in ROLES:
        yield "Please use a valid role: user, model."
    if not parts(content):
        yield f"GenerateContentRequest.{where}.parts: contents.parts must not be empty."
    for at, part in enumerate(parts(content)):
        names = [name for name in DATA if get(part, name) is not None]
        if len(names) != 1:
            yield f"{where}.parts[{at}].data: required oneof field 'data' must have one field"
        for name in ("functionCall", "functionResponse"):
            if name in names and not get(part, name).get("name"):
                yield f"{where}.parts[{at}].{name}.name: Name cannot be empty."


def merged(contents):
    """Return the turns, neighbours of one role as one: whether the model's, parts, places."""
    turns = []
    for at, content in enumerate(contents):
        ours = content.get("role") == "model"
        if turns and turns[-1][0] == ours:
            turns[-1][1].extend(parts(content))
            turns[-1][2].extend([at] * len(parts(content)))
        else:
            turns.append((ours, list(parts(content)), [at] * len(parts(content))))
    return turns


def _of(found, name):
    return [get(part, name) for part in found if get(part, name) is not None]


def _turns(contents):
    turns = merged(contents)
    for at, (_, found, _) in enumerate(turns):
        calls = _of(found, "functionCall")
        behind = _of(turns[at + 1][1], "functionResponse") if at + 1 < len(turns) else None
        if calls and at == 0:
            yield (
                "Please ensure that function call turn comes immediately after a user turn or "
                "after a function response turn."
            )
        if calls and behind is not None and len(behind) != len(calls):
            yield (
                "Please ensure that the number of function response parts is equal to the number "
                "of function call parts of the function call turn."
            )
        asked = _of(turns[at - 1][1], "functionCall") if at else []
        if _of(found, "functionResponse") and not asked:
            yield (
                "Please ensure that function response turn comes immediately after a function "
                "call turn."
            )


def _signatures(contents, sent):
    """The first call of each step of the current turn carries its signature."""
    if not SIGNED.search(sent.model):
        return
    turns = merged(contents)
    asked = [
        at
        for at, (ours, found, _) in enumerate(turns)
        if not ours and any(get(part, "functionResponse") is None for part in found)
    ]
    for ours, found, _ in turns[(asked or [0])[-1] :]:
        first = next((part for part in found if get(part, "functionCall") is not None), None)
        if ours and first and not (first.get("thoughtSignature") or first.get("thought_signature")):
            name = get(first, "functionCall")["name"]
            yield f"Function call `{name}` is missing a thought_signature in functionCall parts."


def bonds(contents):
    turns = merged(contents)
    for before, behind in pairwise(turns):
        calls = [at for part, at in zip(*before[1:], strict=True) if get(part, "functionCall")]
        answers = zip(*behind[1:], strict=True)
        given = [at for part, at in answers if get(part, "functionResponse") is not None]
        if calls and given:
            yield from ((min(calls), at) for at in {*calls, *given} - {min(calls)})
