"""What Gemini's Interactions API refuses; see `refusals.py`.

https://ai.google.dev/gemini-api/docs/interactions
https://ai.google.dev/gemini-api/docs/interactions/function-calling
https://ai.google.dev/gemini-api/docs/interactions-breaking-changes-may-2026
https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

import json
from itertools import groupby

BLOCKS = {"text", "image", "audio", "document", "video"}
OURS = {"user_input", "function_result"}
"""Steps that the client makes; all others are the model's."""
SPOKEN = ("user_input", "model_output")


def refusals(steps, sent):
    if not steps:
        return ["input: at least one step is required"]
    alone = [why for at, one in enumerate(steps) for why in _step(f"input[{at}]", one)]
    return alone or [*_pairs(steps, sent), *_whole(steps, sent)]


def kind(step):
    return step.get("type")


def is_call(step):
    return kind(step) == "function_call"


def responses(steps):
    """Return the positions of each response that has more in it than outputs.

    A response is what the model made in a row. Outputs alone may be of several.
    """
    runs = groupby(range(len(steps)), key=lambda at: kind(steps[at]) in OURS)
    made = [list(run) for ours, run in runs if not ours]
    return [run for run in made if any(kind(steps[at]) != "model_output" for at in run)]


def _step(where, step):
    found = kind(step)
    if "role" in step:
        yield f"{where}.role: turns with a role are no longer supported, use steps"
    elif not isinstance(found, str):
        yield f"{where}.type: required"
    elif found in BLOCKS:
        yield f"{where}: {found!r} is no step, but a block of one"
    elif found in SPOKEN:
        yield from _blocks(f"{where}.content", step.get("content"))
    elif is_call(step):
        yield from _fields(where, step, {"id": str, "name": str, "arguments": dict})
    elif found == "function_result":
        yield from _fields(where, step, {"call_id": str, "result": (str, list, dict)})
        if isinstance(step.get("result"), list):
            yield from _blocks(f"{where}.result", step["result"])
    elif found.endswith("_call"):
        yield from _fields(where, step, {"id": str})
    elif found.endswith("_result"):
        yield from _fields(where, step, {"call_id": str})


def _fields(where, step, needed):
    for name, kinds in needed.items():
        if not isinstance(step.get(name), kinds):
            yield f"{where}.{name}: required"
        elif kinds is str and not step[name]:
            yield f"{where}.{name}: must not be empty"


def _blocks(where, blocks):
    if blocks is None:  # optional, by the reference
        return
    if not isinstance(blocks, list):
        yield f"{where}: expected a list of blocks"
        return
    for at, block in enumerate(blocks):
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            yield f"{where}[{at}].type: required"
        elif block["type"] == "text" and not isinstance(block.get("text"), str):
            yield f"{where}[{at}].text: required"


def _pairs(steps, sent):
    """Right behind a response with calls is one result for each; a stored one may be before."""
    waiting, answered, begun = set(), set(), False
    for at, step in enumerate(steps):
        if kind(step) == "function_result":
            call = step["call_id"]
            stored = sent.continues and not begun and call not in answered
            if call not in waiting and not stored:
                yield f"input[{at}]: there is no function call {call!r} that waits for a result"
            waiting.discard(call)
            answered.add(call)
            continue
        begun = True
        same_response = at > 0 and OURS.isdisjoint({kind(step), kind(steps[at - 1])})
        if waiting and not same_response:
            yield f"input[{at}]: function calls {sorted(waiting)} have no result"
            waiting.clear()
        if is_call(step):
            if step["id"] in waiting:
                yield f"input[{at}].id: {step['id']!r} is not unique"
            waiting.add(step["id"])
    if waiting:
        yield f"function calls {sorted(waiting)} have no result"


def _whole(steps, sent):
    """Judge a list by the one that it was made of: a response comes back whole, as it went."""
    if sent.origin is None or list(_pairs(sent.origin, sent)):
        return
    sent_back = [_bytes(step) for step in steps]
    for run in responses(sent.origin):
        made = [_bytes(sent.origin[at]) for at in run]
        starts = range(len(sent_back) - len(made) + 1)
        whole = any(sent_back[at : at + len(made)] == made for at in starts)
        if not whole and set(made) & set(sent_back):
            yield f"the response of step {run[0]} came back in part, or changed"


def _bytes(step):
    return json.dumps(step, sort_keys=True)


def bonds(steps):
    called = {}
    for at, step in enumerate(steps):
        if is_call(step):
            called[step["id"]] = at
        elif kind(step) == "function_result" and step["call_id"] in called:
            yield called[step["call_id"]], at
    for run in responses(steps):
        yield from ((run[0], at) for at in run[1:])
