"""Lists of each dialect, and what clients change in them between two calls that says nothing."""

from __future__ import annotations

from copy import deepcopy

THINKING = ("thinking", "redacted_thinking", "reasoning", "thought")
MARK = {"type": "ephemeral"}


def text(said, kind="text"):
    return {"type": kind, "text": said}


def thought(n):
    return {"type": "thinking", "thinking": f"hm {n}", "signature": f"s{n}"}


def anthropic():
    use = {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": None, "cache_control": 1}}
    hidden = {"type": "redacted_thinking", "data": "x"}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "Two boats."}
    other = {"type": "tool_result", "tool_use_id": "t2", "content": [text("Three boats.")]}
    return [
        {"role": "user", "content": "Which boats?"},
        {"role": "assistant", "content": [thought(1), text("Looking."), use]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [thought(2), use | {"id": "t2"}]},
        {"role": "user", "content": [other]},
        {"role": "assistant", "content": [thought(3), hidden, text("Five.")]},
        {"role": "user", "content": "And cranes?"},
        {"role": "assistant", "content": "None."},
        {"role": "user", "content": [text("Why?"), text("Tell me.")]},
    ]


def openai():
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": null}'}}
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Which boats?"},
        {"role": "assistant", "reasoning_content": "hm", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Two boats."},
        {"role": "assistant", "reasoning": "so", "tool_calls": [call | {"id": "c2"}]},
        {"role": "tool", "tool_call_id": "c2", "content": "Three."},
        {"role": "assistant", "reasoning_details": [{"text": "five"}], "content": "Five."},
        {"role": "user", "content": "And cranes?"},
        {"role": "assistant", "content": "None."},
        {"role": "user", "content": "Why?"},
    ]


def responses():
    def call(n):
        own = {"type": "function_call", "id": f"fc_{n}", "call_id": f"c{n}", "name": "f"}
        return own | {"arguments": '{"a": null}', "status": "completed"}

    def output(n, said):
        return {"type": "function_call_output", "call_id": f"c{n}", "output": said}

    def reasoning(n):
        return {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": f"e{n}"}

    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    return [
        {"type": "message", "role": "user", "content": "Which boats?"},
        reasoning(1),
        call(1),
        output(1, "Two boats."),
        reasoning(2),
        reasoning(3),
        call(2),
        output(2, [text("Three.", "input_text")]),
        reasoning(4),
        said | {"content": [{**text("Five.", "output_text"), "annotations": []}]},
        {"type": "message", "role": "user", "content": "And cranes?"},
    ]


def gemini():
    def call(n):
        one = {"name": "f", "args": {"a": None}, "id": f"c{n}"}
        return {"functionCall": one, "thoughtSignature": "sig"}

    def result(n, said):
        one = {"name": "f", "id": f"c{n}", "response": {"result": said, "more": None}}
        return {"role": "user", "parts": [{"functionResponse": one}]}

    hidden = {"text": "hm", "thought": True}
    return [
        {"role": "user", "parts": [{"text": "Which boats?"}]},
        {"role": "model", "parts": [hidden, call(1)]},
        result(1, "Two boats."),
        {"role": "model", "parts": [hidden | {"text": "so"}, call(2)]},
        result(2, "Three."),
        {"role": "model", "parts": [hidden | {"text": "five"}, {"text": "Five."}]},
        {"role": "user", "parts": [{"text": "And cranes?"}]},
    ]


def interactions():
    def call(n):
        return {"type": "function_call", "id": f"c{n}", "name": "f", "arguments": {"a": None}}

    def result(n, said):
        return {"type": "function_result", "call_id": f"c{n}", "name": "f", "result": said}

    return [
        {"type": "user_input", "content": [text("Which boats?")]},
        {"type": "thought", "signature": "s1"},
        call(1),
        result(1, "Two boats."),
        {"type": "thought", "signature": "s2"},
        {"type": "model_output", "content": [text("Five.")]},
        {"type": "user_input", "content": [text("And cranes?")]},
    ]


LISTS = {
    "anthropic": anthropic,
    "openai": openai,
    "responses": responses,
    "gemini": gemini,
    "interactions": interactions,
}


def is_reply(message):
    said = message.get("role") in ("assistant", "model")
    return said or message.get("type") in ("thought", "reasoning", "function_call", "model_output")


def calls(listed):
    """Yield how long the list is at each call of the model."""
    for at in range(1, len(listed) + 1):
        if not is_reply(listed[at - 1]):
            yield at


def _texts_as_blocks(message):
    for field in ("content", "output"):
        if isinstance(message.get(field), str):
            typed = message.get("type") in ("function_call_output", "message")
            kind = "input_text" if typed else "text"
            message[field] = [text(message[field], kind)]
    for block in message.get("content") or ():
        if isinstance(block, dict) and block.get("type") == "tool_result":
            _texts_as_blocks(block)


def blocks(listed):
    for message in listed:
        _texts_as_blocks(message)
    return listed


def texts(listed):
    """Write single blocks of text as texts, those of tool results too."""

    def change(message):
        for field in ("content", "output"):
            found = message.get(field)
            if isinstance(found, list) and len(found) == 1 and set(found[0]) == {"type", "text"}:
                message[field] = found[0]["text"]
        for block in message.get("content") or ():
            if isinstance(block, dict) and block.get("type") == "tool_result":
                change(block)

    for message in listed:
        if message.get("type") not in ("user_input", "model_output"):
            change(message)
    return listed


def marked(listed):
    """Put a cache mark at the end of the newest message, and one in the results in it."""
    newest = listed[-1]
    if "parts" in newest:
        return listed
    _texts_as_blocks(newest)
    inside = newest.get("content") or newest.get("output")
    if isinstance(inside, list):
        name = "prompt_cache_breakpoint" if "type" in newest else "cache_control"
        inside[-1][name] = MARK
        if inside[-1].get("type") == "tool_result":
            inside[-1]["content"][-1][name] = MARK
    return listed


def nulls(listed):
    for message in listed:
        message["annotations"] = None
        for block in message.get("content") or message.get("parts") or ():
            if isinstance(block, dict):
                block["metadata"] = None
    return listed


def _turned(value):
    if isinstance(value, dict):
        return {key: _turned(value[key]) for key in reversed(value)}
    return [_turned(one) for one in value] if isinstance(value, list) else value


def turned(listed):
    return [_turned(message) for message in listed]


def _is_thought(block):
    if not isinstance(block, dict):
        return False
    return block.get("type") in THINKING or block.get("thought") is True


def thoughtless(listed, only=None):
    """Leave out the thinking of turns before the last reply: of all, or of one."""
    made = []
    end = len(listed)
    while end and not is_reply(listed[end - 1]):
        end -= 1
    while end and is_reply(listed[end - 1]):
        end -= 1
    old = [at for at, one in enumerate(listed[:end]) if thinks(one)]
    chosen = old if only is None else old[only : only + 1]
    for at, message in enumerate(listed):
        if at not in chosen:
            made.append(message)
        elif not _is_thought(message):
            made.append(without(message))
    return made


def thinks(message):
    inside = message.get("content") or message.get("parts")
    blocks = inside if isinstance(inside, list) else []
    return (
        _is_thought(message)
        or any(key.startswith("reasoning") for key in message)
        or any(map(_is_thought, blocks))
    )


def without(message):
    made = {key: one for key, one in message.items() if not key.startswith("reasoning")}
    for field in ("content", "parts"):
        if isinstance(made.get(field), list):
            made[field] = [one for one in made[field] if not _is_thought(one)]
    return made


def nameless(listed):
    """Leave out all old reasoning, and the ids of what was made with it."""
    made = thoughtless(listed)
    return [
        {key: one for key, one in item.items() if key != "id"} if "call_id" in item else item
        for item in made
    ]


NOISE = {
    "blocks": blocks,
    "texts": texts,
    "marked": marked,
    "nulls": nulls,
    "turned": turned,
    "without old thinking": thoughtless,
    "without the first thinking": lambda listed: thoughtless(listed, 0),
    "without the second thinking": lambda listed: thoughtless(listed, 1),
}


def noisy(listed, *kinds):
    made = deepcopy(listed)
    for kind in kinds:
        made = NOISE[kind](made)
    return made
