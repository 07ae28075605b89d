"""Adds to generated lists what only their own provider can hold: metadata, and content."""

from __future__ import annotations

import copy

CACHED = {"cache_control": {"type": "ephemeral"}}
SOUND = {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}
PDF = {"type": "document", "source": {"type": "url", "url": "https://a.b/c.pdf"}}
PAPER = {"type": "input_file", "file_id": "file_1"}
SONG = {"fileData": {"mimeType": "audio/mp3", "fileUri": "https://a.b/c.mp3"}}


def marked(messages, dialect, rng):
    """Return a copy with metadata at places of chance; the provider takes it all the same."""
    fresh = copy.deepcopy(messages)
    for number, message in enumerate(fresh):
        MARKERS[dialect](message, number, rng)
    return fresh


def _some(rng, share=0.3):
    return rng.random() < share


def _mark_openai(message, number, rng):
    if message["role"] == "assistant" and _some(rng):
        message |= {"reasoning_content": "hm", "annotations": [{"type": "url_citation"}]}
    if message["role"] == "tool" and _some(rng):
        message["name"] = "search"
    for call in message.get("tool_calls", ()):
        if _some(rng):
            call |= {"index": number, "extra_content": {"google": {"thought_signature": "c2ln"}}}
    for part in message["content"] if isinstance(message["content"], list) else ():
        if _some(rng):
            part.update(CACHED)
    if message["role"] == "user" and _some(rng):
        message |= CACHED


def _mark_responses(message, number, rng):
    kind = message.get("type", "message")
    if kind in ("function_call", "function_call_output") and _some(rng):
        message |= {"id": f"fc_{number}", "status": "completed", "caller": {"type": "direct"}}
    if message.get("role") == "assistant" and _some(rng):
        message["phase"] = "final_answer"
        for part in message["content"]:
            part["annotations"] = [{"type": "url_citation", "url": "https://a.b"}]
    for part in message["content"] if message.get("role") == "user" else ():
        if isinstance(part, dict) and _some(rng):
            part["prompt_cache_breakpoint"] = {"mode": "explicit"}


def _mark_anthropic(message, number, rng):
    if message["role"] == "assistant" and _some(rng):
        message |= {"id": f"msg_{number}", "model": "claude", "usage": {"input_tokens": 1}}
    blocks = message["content"] if isinstance(message["content"], list) else []
    for block in blocks:
        if block["type"] == "tool_use" and _some(rng):
            block["caller"] = {"type": "direct"}
        if block["type"] == "text" and message["role"] == "assistant" and _some(rng):
            block["citations"] = [{"type": "page_location", "cited_text": "x"}]
        if block["type"] == "tool_result" and _some(rng) and isinstance(block["content"], str):
            reference = {"type": "tool_reference", "tool_name": "search"}
            block["content"] = [{"type": "text", "text": block["content"]}, reference]
    if blocks and number < 4:
        blocks[-1] |= CACHED


def _mark_gemini(message, number, rng):
    parts = message["parts"]
    for part in parts:
        if message["role"] == "model" and not part.get("thought") and _some(rng):
            spelling = "thoughtSignature" if number % 2 else "thought_signature"
            part.pop("thoughtSignature", None)
            part[spelling] = "c2ln"
        if "inlineData" in part and _some(rng):
            part["inlineData"]["displayName"] = "plan.png"
    if message["role"] == "model" and _some(rng):
        parts.insert(0, {"text": "hm", "thought": True})
    if message["role"] == "model" and _some(rng, 0.1):
        parts.append({"text": "", "thoughtSignature": "c2ln"})


MARKERS = {
    "openai": _mark_openai,
    "responses": _mark_responses,
    "anthropic": _mark_anthropic,
    "gemini": _mark_gemini,
}


def enriched(messages, dialect, rng):
    """Return a copy with content that no other dialect has, and at least how much it is.

    Some user's messages have nothing else.
    """
    fresh, added = [], 0
    for number, message in enumerate(copy.deepcopy(messages)):
        fresh.append(message)
        if _some(rng):
            more = ENRICHERS[dialect](message, number, rng)
            added += max(len(more), 1)
            fresh += more
    return fresh, added


def _enrich_openai(message, number, rng):
    if message["role"] == "user":
        _say(message, "text", SOUND, alone=_some(rng))
    elif message["role"] == "assistant" and not message.get("tool_calls"):
        custom = {"name": "shell", "input": "ls"}
        message["tool_calls"] = [{"id": f"custom_{number}", "type": "custom", "custom": custom}]
        return [{"role": "tool", "tool_call_id": f"custom_{number}", "content": "file"}]
    else:
        message["ticker"] = number
    return []


def _enrich_responses(message, number, rng):
    if message.get("role") == "user":
        _say(message, "input_text", PAPER, alone=_some(rng))
    elif message.get("role") == "assistant" and _some(rng, 0.5):
        return [{"type": "web_search_call", "id": f"ws_{number}", "status": "completed"}]
    elif message.get("role") == "assistant":
        called = {"type": "custom_tool_call", "call_id": f"custom_{number}"}
        answer = {"type": "custom_tool_call_output", "call_id": f"custom_{number}"}
        return [called | {"name": "shell", "input": "ls"}, answer | {"output": "file"}]
    elif message.get("type") == "reasoning":
        return [{"type": "program", "call_id": f"pr_{number}", "code": "f()"}]
    else:
        message["ticker"] = number
    return []


def _enrich_anthropic(message, number, rng):
    if message["role"] == "user":
        blocks = message["content"] if isinstance(message["content"], list) else []
        results = any(block["type"] == "tool_result" for block in blocks)
        _say(message, "text", PDF, alone=_some(rng) and not results)
    else:
        call = {"type": "server_tool_use", "id": f"srv_{number}", "name": "web_search"}
        found = {"type": "web_search_tool_result", "tool_use_id": call["id"], "content": []}
        message["content"] += [call | {"input": {}}, found]
    return []


def _enrich_gemini(message, number, rng):
    if message["role"] == "user":
        results = any("functionResponse" in part for part in message["parts"])
        message["parts"] = [SONG] if _some(rng) and not results else [*message["parts"], SONG]
    else:
        message["parts"].append({"executableCode": {"language": "PYTHON", "code": f"{number}"}})
    return []


ENRICHERS = {
    "openai": _enrich_openai,
    "responses": _enrich_responses,
    "anthropic": _enrich_anthropic,
    "gemini": _enrich_gemini,
}


def _say(message, kind, part, *, alone):
    said = message["content"]
    parts = [{"type": kind, "text": said}] if isinstance(said, str) else said
    message["content"] = [part] if alone else [*parts, part]
