"""What OpenAI Responses refuses; see `refusals.py`.

https://developers.openai.com/api/reference/resources/responses/methods/create
https://developers.openai.com/api/docs/guides/reasoning
https://developers.openai.com/api/docs/guides/conversation-state
"""

from __future__ import annotations

import re

OUTPUTS = {
    "function_call_output": "function_call",
    "custom_tool_call_output": "custom_tool_call",
    "computer_call_output": "computer_call",
    "local_shell_call_output": "local_shell_call",
    "shell_call_output": "shell_call",
    "apply_patch_call_output": "apply_patch_call",
    "tool_search_output": "tool_search_call",
    "mcp_approval_response": "mcp_approval_request",
    "program_output": "program",
}
"""By the type of an output, the type of its call."""

UNANSWERED = {"mcp_approval_request", "program"}
"""Calls that the provider takes without an output: nobody decided yet, or it runs them itself."""

HOSTED = {
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_list_tools",
    "mcp_call",
}
BESIDE = {"additional_tools", "configuration_update", "compaction_trigger", "compaction"}
KINDS = {*OUTPUTS, *OUTPUTS.values(), *HOSTED, *BESIDE, "message", "reasoning", "item_reference"}
ROLES = ("user", "assistant", "system", "developer")
SAID = {"output_text", "refusal"}
HEARD = {"input_text", "input_image", "input_file", "input_audio"}
TOOL = re.compile(r"[a-zA-Z0-9_-]{1,128}")
STEM = re.compile(r"[a-z]+_([0-9a-f]{16})00[0-9a-f]{8}")
"""The id of an item names its response in its first sixteen digits."""


def refusals(items, sent):
    if not items:
        return ["One of 'input' or 'previous_response_id' or 'conversation' must be provided."]
    alone = [why for at, item in enumerate(items) for why in _item(f"input[{at}]", item)]
    if alone:
        return alone
    return [*_ids(items), *_pairs(items, sent), *_reasoning(items), *_remembered(items, sent)]


def kind(item):
    if item.get("type") is not None:
        return item["type"]
    return "message" if "role" in item else "item_reference"


def call_id(item):
    """Return the id by which a call and its output know each other; None where they have none."""
    if kind(item) == "mcp_approval_request":
        return item["id"]
    if kind(item) == "mcp_approval_response":
        return item["approval_request_id"]
    if kind(item) == "local_shell_call_output":
        return item.get("call_id") or item["id"]
    return item.get("call_id")


def is_hosted_search(item):
    return kind(item).startswith("tool_search") and item.get("execution") != "client"


def _item(where, item):
    found = kind(item)
    if found not in KINDS:
        yield f"Invalid value: {found!r} at '{where}.type'"
    elif found == "message":
        yield from _message(where, item)
    elif found in ("function_call", "custom_tool_call"):
        yield from _call(where, item, "arguments" if found == "function_call" else "input")
    elif found == "function_call_output" and item.get("output") is None:
        yield f"Missing required parameter: '{where}.output'"
    elif found == "reasoning" and not (item.get("id") or item.get("encrypted_content")):
        yield f"Missing required parameter: '{where}.id'"
    elif found == "compaction" and not item.get("encrypted_content"):
        yield f"Missing required parameter: '{where}.encrypted_content'"
    if "parsed_arguments" in item:
        yield f"Unknown parameter: '{where}.parsed_arguments'"


def _call(where, item, field):
    if not isinstance(item.get(field), str):
        yield f"Invalid type for '{where}.{field}': expected a string"
    if not TOOL.fullmatch(item.get("name") or ""):
        yield f"Invalid '{where}.name': string does not match pattern"
    if not isinstance(item.get("call_id"), str):
        yield f"Missing required parameter: '{where}.call_id'"


def _message(where, item):
    role, content = item.get("role"), item.get("content")
    if role not in ROLES:
        yield f"Invalid value: {role!r} at '{where}.role'"
    elif not isinstance(content, (str, list)):
        yield f"Invalid type for '{where}.content'"
    elif isinstance(content, list):
        taken = SAID if role == "assistant" else HEARD
        for at, part in enumerate(content):
            if part.get("type") not in taken:
                yield f"Invalid value: {part.get('type')!r} at '{where}.content[{at}]'"
            if "parsed" in part:
                yield f"Unknown parameter: '{where}.content[{at}].parsed'"


def _ids(items):
    seen = set()
    for item in items:
        own = item.get("id")
        if own is None or kind(item) == "local_shell_call_output":
            continue
        if own in seen:
            yield f"Duplicate item found with id {own}. Remove duplicate items from your input."
        seen.add(own)


def _pairs(items, sent):
    called, answered, referred = {}, set(), False
    for item in items:
        found, key = kind(item), call_id(item)
        if found == "item_reference":
            referred = referred or not str(item["id"]).startswith(("msg_", "rs_"))
        if key is None or is_hosted_search(item):
            continue
        if found in OUTPUTS.values():
            called[found, key] = True
        elif found in OUTPUTS:
            pair = OUTPUTS[found], key
            if pair not in called and not sent.continues and not referred:
                yield f"No tool call found for {_words(pair[0])} output with call_id {key}."
            answered.add(pair)
    for found, key in called:
        if found not in UNANSWERED and (found, key) not in answered:
            yield f"No tool output found for {_words(found)} {key}."


def _words(found):
    return found.replace("_", " ")


def _next_made(items, at):
    """Return the item behind a reasoning that it led to: what is there, further reasoning apart."""
    behind = at + 1
    while behind < len(items) and kind(items[behind]) == "reasoning":
        behind += 1
    return behind if behind < len(items) else None


def _reasoning(items):
    for at, item in enumerate(items):
        if kind(item) != "reasoning" or not item.get("id"):
            continue
        behind = _next_made(items, at)
        if behind is None or not _may_follow(items[behind]):
            yield (
                f"Item '{item['id']}' of type 'reasoning' was provided without its required "
                "following item."
            )


def _may_follow(item):
    found = kind(item)
    if found == "message":
        return item["role"] == "assistant" and bool(item.get("id"))
    return found in HOSTED or found in OUTPUTS.values() or found == "item_reference"


def _needed(items):
    """Return, by the id of an item, the reasoning of its response that it cannot do without."""
    needed, latest, open_reply = {}, {}, None
    for item in items:
        own, found = item.get("id"), kind(item)
        made = STEM.match(own) if isinstance(own, str) else None
        if found == "reasoning":
            open_reply = own
            if made:
                latest[made[1]] = own
        elif _may_follow(item) and found != "item_reference":
            before = latest.get(made[1]) if made else open_reply
            if own and before:
                needed[own] = before
        else:
            open_reply = None
    return needed


def _remembered(items, sent):
    """Judge a list by the one that it was made of: the provider knows what belonged together."""
    needed = _needed(sent.origin or items)
    present = {item.get("id") for item in items}
    for item in items:
        own = item.get("id")
        if needed.get(own) not in present and own in needed and kind(item) != "item_reference":
            yield (
                f"Item '{own}' of type '{kind(item)}' was provided without its required "
                f"'reasoning' item: '{needed[own]}'."
            )
    led = _led_to(sent.origin or items)
    for own, to in _led_to(items).items():
        if own in led and led[own] != to:
            yield f"Item '{own}' of type 'reasoning' was provided without its required following."


def _led_to(items):
    """Return, by the id of a reasoning, by what the item that it led to is known."""
    made = {}
    for at, item in enumerate(items):
        if kind(item) == "reasoning" and item.get("id"):
            behind = _next_made(items, at)
            led = items[behind] if behind is not None else {}
            made[item["id"]] = led.get("call_id") or led.get("id")
    return made


def bonds(items):
    places = {item["id"]: at for at, item in enumerate(items) if item.get("id")}
    called = {}
    for at, item in enumerate(items):
        found, key = kind(item), call_id(item)
        if found in OUTPUTS.values() and key is not None:
            called[found, key] = at
        elif found in OUTPUTS and (OUTPUTS[found], key) in called:
            yield called[OUTPUTS[found], key], at
        if found == "reasoning" and (behind := _next_made(items, at)) is not None:
            yield at, behind
    for own, before in _needed(items).items():
        yield places[before], places[own]
