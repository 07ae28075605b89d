"""Writes generated conversations in the five dialects, by their providers' references."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from warmset.testing.material import PIXEL

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.messages import Dialect, Message
    from warmset.testing.material import Call, Dice
    from warmset.testing.script import Scene


def write(scenes: list[Scene], dialect: Dialect, dice: Dice) -> list[Message]:
    """Write a conversation in a dialect.

    Args:
        scenes: The scenes.
        dialect: The dialect to write.
        dice: Chooses between equivalent forms.

    Returns:
        The messages; system messages are left out if the dialect has none.
    """
    written: list[Message] = []
    for scene in scenes:
        written += _WRITERS[dialect](scene, dice)
    return written


def _openai(scene: Scene, dice: Dice) -> list[Message]:
    match scene.what:
        case "system" | "instruct":
            return [{"role": "system", "content": scene.text}]
        case "user":
            if not scene.image:
                return [{"role": "user", "content": scene.text}]
            image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
            return [{"role": "user", "content": [{"type": "text", "text": scene.text}, image]}]
        case "say":
            return [{"role": "assistant", "content": scene.text}]
        case "orphan":
            return [_openai_result(scene.calls[0], scene.results[0])]
    content = scene.text or dice.rng.choice((None, ""))
    calls = [{"id": one.id, "type": "function", "function": _function(one)} for one in scene.calls]
    step: Message = {"role": "assistant", "content": content, "tool_calls": calls}
    results = zip(scene.answered, scene.results, strict=True)
    return [step, *(_openai_result(call, text) for call, text in results)]


def _function(call: Call) -> dict[str, str]:
    return {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}


def _openai_result(call: Call, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call.id, "content": text}


def _responses(scene: Scene, dice: Dice) -> list[Message]:
    match scene.what:
        case "system" | "instruct":
            return [{"role": "developer", "content": scene.text}]
        case "user":
            if not scene.image:
                return [{"role": "user", "content": scene.text}]
            url = f"data:image/png;base64,{PIXEL}"
            image = {"type": "input_image", "image_url": url, "detail": "auto"}
            text = {"type": "input_text", "text": scene.text}
            return [{"type": "message", "role": "user", "content": [text, image]}]
        case "say":
            stem = _stem(dice)
            return [*_reasoning(scene, stem, dice), _said(scene.text, stem, dice)]
        case "orphan":
            return [_output(scene.calls[0], scene.results[0])]
    return _items(scene, dice)


def _items(scene: Scene, dice: Dice) -> list[Message]:
    """Write the items of a response that calls, and the outputs."""
    stem = _stem(dice)
    items = _reasoning(scene, stem, dice)
    if scene.text:
        items.append(_said(scene.text, stem, dice))
    named = dice.chance(0.5)
    made = {one.id: _item_call(one, stem if named else None, dice) for one in scene.calls}
    results = dict(zip((one.id for one in scene.answered), scene.results, strict=True))
    if dice.chance(0.2):  # a client that writes every output right behind its call
        for one in scene.calls:
            items.append(made[one.id])
            items += [_output(one, results[one.id])] if one.id in results else []
        return items
    return [*items, *made.values(), *(_output(one, results[one.id]) for one in scene.answered)]


def _stem(dice: Dice) -> str:
    """Return what the ids of the items of one response begin with."""
    return f"{dice.number():08x}{dice.number():08x}"


def _reasoning(scene: Scene, stem: str, dice: Dice) -> list[Message]:
    if scene.reasoning is None:
        return []
    item: Message = {"type": "reasoning", "id": f"rs_{stem}{dice.number()}", "summary": []}
    return [item | {"encrypted_content": scene.reasoning}]


def _item_call(call: Call, stem: str | None, dice: Dice) -> Message:
    own = {} if stem is None else {"id": f"fc_{stem}{dice.number()}"}
    return {"type": "function_call", **own, "call_id": call.id, **_function(call)}


def _said(text: str, stem: str, dice: Dice) -> Message:
    part = {"type": "output_text", "text": text, "annotations": []}
    message: Message = {"type": "message", "role": "assistant", "content": [part]}
    return message | {"id": f"msg_{stem}{dice.number()}", "status": "completed"}


def _output(call: Call, text: str) -> Message:
    return {"type": "function_call_output", "call_id": call.id, "output": text}


def _anthropic(scene: Scene, dice: Dice) -> list[Message]:
    match scene.what:
        case "system":
            return []
        case "instruct":
            return [{"role": "system", "content": scene.text}]
        case "user":
            source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
            image = {"type": "image", "source": source}
            shown = [image, {"type": "text", "text": scene.text}]
            return [{"role": "user", "content": shown if scene.image else scene.text}]
        case "say":
            return [{"role": "assistant", "content": [*_thinking(scene), _text(scene.text)]}]
        case "orphan":
            return [{"role": "user", "content": [_result(scene.calls[0], scene.results[0])]}]
    return _turns(scene, dice)


def _turns(scene: Scene, dice: Dice) -> list[Message]:
    """Write an assistant's turn that calls, and the results."""
    blocks = _thinking(scene) + ([_text(scene.text)] if scene.text else [])
    blocks += [
        {"type": "tool_use", "id": one.id, "name": one.name, "input": one.arguments}
        for one in scene.calls
    ]
    answers = [_result(*pair) for pair in zip(scene.answered, scene.results, strict=True)]
    step: list[Message] = [{"role": "assistant", "content": blocks}]
    if len(answers) > 1 and dice.chance(0.15):  # a client that sends each result by itself
        return [*step, *({"role": "user", "content": [one]} for one in answers)]
    if scene.extra:
        answers.append(_text(scene.extra))
    return [*step, {"role": "user", "content": answers}] if answers else step


def _thinking(scene: Scene) -> list[dict[str, Any]]:
    if scene.reasoning is None:
        return []
    return [{"type": "thinking", "thinking": scene.reasoning, "signature": "c2ln"}]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _result(call: Call, text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call.id, "content": text}


def _gemini(scene: Scene, dice: Dice) -> list[Message]:
    match scene.what:
        case "system" | "instruct":
            return []
        case "user":
            parts: list[dict[str, Any]] = [{"text": scene.text}]
            if scene.image:
                parts.append({"inlineData": {"mimeType": "image/png", "data": PIXEL}})
            return [{"role": "user", "parts": parts}]
        case "say":
            return [{"role": "model", "parts": [*_thought(scene), {"text": scene.text}]}]
        case "orphan":
            return [{"role": "user", "parts": [_response(scene.calls[0], scene.results[0])]}]
    parts = _thought(scene) + ([{"text": scene.text}] if scene.text else [])
    parts += [{"functionCall": {"name": one.name, "args": one.arguments}} for one in scene.calls]
    if dice.chance(0.3):
        parts[-1]["thoughtSignature"] = "c2ln"
    step: list[Message] = [{"role": "model", "parts": parts}]
    if len(parts) > 1 and dice.chance(0.1):  # neighbours of one role, as a stream brings them
        step = [{"role": "model", "parts": [part]} for part in parts]
    # Calls without ids are distinguished by their order.
    texts = dict(zip((one.id for one in scene.answered), scene.results, strict=True))
    answers = [_response(one, texts[one.id]) for one in scene.calls if one.id in texts]
    return [*step, {"role": "user", "parts": answers}] if answers else step


def _thought(scene: Scene) -> list[dict[str, Any]]:
    return [] if scene.reasoning is None else [{"text": scene.reasoning, "thought": True}]


def _response(call: Call, text: str) -> dict[str, Any]:
    return {"functionResponse": {"name": call.name, "response": {"output": text}}}


def _interactions(scene: Scene, dice: Dice) -> list[Message]:
    match scene.what:
        case "system" | "instruct":
            return []
        case "user":
            content: list[dict[str, Any]] = [_text(scene.text)]
            if scene.image:
                content.append({"type": "image", "mime_type": "image/png", "data": PIXEL})
            return [{"type": "user_input", "content": content}]
        case "say":
            return [*_signed(scene, dice), *_searched(dice), _told(scene.text)]
        case "orphan":
            return [_step_result(scene.calls[0], scene.results[0])]
    steps = [*_signed(scene, dice), *([_told(scene.text)] if scene.text else [])]
    steps += [
        {"type": "function_call", "id": one.id, "name": one.name, "arguments": one.arguments}
        for one in scene.calls
    ]
    return [*steps, *map(_step_result, scene.answered, scene.results)]


def _signed(scene: Scene, dice: Dice) -> list[Message]:
    if scene.reasoning is None:
        return []
    step: Message = {"type": "thought", "signature": f"c2ln{dice.number()}"}
    return [step | {"summary": [_text(scene.reasoning)]} if dice.chance(0.5) else step]


def _searched(dice: Dice) -> list[Message]:
    """Return a search that the provider ran, sometimes."""
    if not dice.chance(0.1):
        return []
    call = f"search_{dice.number()}"
    arguments = {"queries": [dice.text()[:60]]}
    made: Message = {"type": "google_search_call", "id": call, "arguments": arguments}
    found = [{"search_suggestions": dice.text()}]
    result: Message = {"type": "google_search_result", "call_id": call, "result": found}
    return [made | {"signature": "c2ln"}, result | {"signature": "c2ln"}]


def _told(text: str) -> Message:
    return {"type": "model_output", "content": [_text(text)]}


def _step_result(call: Call, text: str) -> Message:
    return {"type": "function_result", "call_id": call.id, "name": call.name, "result": text}


_WRITERS: dict[Dialect, Callable[[Scene, Dice], list[Message]]] = {
    "openai": _openai,
    "responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "interactions": _interactions,
}
