"""Gemini Interactions: a flat list of steps; input, output, thoughts, calls, results each are one.

Steps are those of the API since its revision of May 2026. The turns with a role that it had before,
and blocks of content outside of a step, are rejected with the step to write instead: the API takes
the first no longer, and no list of both blocks and steps.
"""

from __future__ import annotations

from typing import Any

from warmset.messages.interactions import said
from warmset.messages.interactions.kinds import (
    BLOCKS,
    CALL,
    HOSTED_CALLS,
    HOSTED_RESULTS,
    KNOWN,
    OUTPUT,
    RESULT,
    THOUGHT,
    USER,
    call_of,
    result_of,
)
from warmset.messages.model import Facts, Fault, Message
from warmset.messages.text import kind_of

_SHARED = ("function_call", "tool_search_call")
_STEP = "{'type': 'user_input', 'content': [{'type': 'text', 'text': …}]}"


def mark(message: Message) -> str | None:
    """Name what in the message only this dialect has; see `Grammar`.

    A call of OpenAI Responses may be of the same type; a step has the call's id in `id`, and its
    arguments as a mapping.
    """
    kind = kind_of(message)
    if kind not in KNOWN or "role" in message:
        return None
    if kind in _SHARED and not is_step_call(message):
        return None
    return f"a step of type {kind!r}"


def is_step_call(message: Message) -> bool:
    """Tell whether a call is a step, and no item of OpenAI Responses."""
    foreign = "call_id" in message or "execution" in message
    return isinstance(message.get("arguments"), dict) and not foreign


def fault(message: Message) -> Fault | None:
    """Say what makes the step malformed; see `Grammar`."""
    why = _fault(message)
    return None if why is None else Fault(why)


def _fault(step: Message) -> str | None:
    kind = kind_of(step)
    why: str | None = None
    if "role" in step:
        why = _role_fault(step["role"])
    elif not kind:
        why = f"there is no type among {sorted(step)}; write a step, as {_STEP}"
    elif kind in BLOCKS:
        why = f"a block of type {kind!r} is no step; put it into the content of one, as {_STEP}"
    elif kind in (USER, OUTPUT):
        why = _blocks_fault(step.get("content"), "content")
    elif kind == THOUGHT:
        why = _thought_fault(step)
    elif kind == CALL or kind in HOSTED_CALLS:
        why = _call_fault(step, kind)
    elif kind == RESULT or kind in HOSTED_RESULTS:
        why = _result_fault(step, kind)
    return why


def _role_fault(role: object) -> str:
    if role in ("system", "developer"):
        return f"Interactions has no role {role!r} among its steps; pass it as system_instruction"
    return (
        f"a turn with the role {role!r} is no step; the API takes steps, as {_STEP} or "
        "'model_output', or convert() messages of another dialect"
    )


def _blocks_fault(blocks: Any, where: str) -> str | None:
    if blocks is None:
        return None
    if not isinstance(blocks, list):
        found = type(blocks).__name__
        return f"{where} is a {found}; it must be a list of blocks, as [{{'type': 'text', …}}]"
    for place, block in enumerate(blocks):
        kind = kind_of(block)
        if not kind:
            return f"{where}[{place}] must be a block with a type, as {{'type': 'text', 'text': …}}"
        if kind == "text" and not isinstance(block.get("text"), str):
            return f"{where}[{place}] needs text, a string"
    return None


def _thought_fault(step: Message) -> str | None:
    if not isinstance(step.get("signature", ""), (str, type(None))):
        return "a thought needs its signature as the string that came"
    return _blocks_fault(step.get("summary"), "summary")


def _call_fault(step: Message, kind: str) -> str | None:
    if not isinstance(step.get("id"), str) or not step["id"]:
        return f"a {kind} needs id, which its result names as call_id"
    arguments = step.get("arguments")
    if kind != CALL:
        fits = isinstance(arguments, (dict, type(None)))
        return None if fits else f"a {kind} needs arguments, a mapping"
    if not isinstance(step.get("name"), str) or not step["name"]:
        return f"a {kind} needs name, the function's"
    return None if isinstance(arguments, dict) else f"a {kind} needs arguments, a mapping"


def _result_fault(step: Message, kind: str) -> str | None:
    if not isinstance(step.get("call_id"), str) or not step["call_id"]:
        return f"a {kind} needs call_id, the id of the call that it answers"
    if kind != RESULT:
        return None
    result = step.get("result")
    if not isinstance(result, (str, dict, list)):
        return f"a {kind} needs result: a text, a list of blocks, or a mapping"
    return _blocks_fault(result, "result") if isinstance(result, list) else None


def facts(message: Message) -> Facts:
    """Read the facts of a well-formed step; see `Grammar`.

    A thought holds to what the model made along with it, and so do calls, the steps of the
    provider's own tools and steps of an unknown type; what the model says goes along with them.
    """
    kind = kind_of(message)
    text, images = said.text(message), said.images(message)
    if kind == USER:
        return Facts("user", text, images=images, request=True)
    if (answered := result_of(message)) is not None:
        return Facts("tool", text, results=(answered,), images=images)
    called = call_of(message)
    calls = () if called is None else (called,)
    bond = 1 if kind == OUTPUT else 2
    return Facts("assistant", text, calls, images=images, bond=bond)


def say(role: str, text: str) -> Message:
    """Make a step that says one text; see `Grammar`."""
    if role not in ("user", "assistant"):
        return {"role": role, "content": text}
    kind = USER if role == "user" else OUTPUT
    return {"type": kind, "content": [{"type": "text", "text": text}]}
