"""What the steps of Interactions say, as text, and how many images they show."""

from __future__ import annotations

from typing import Any

from warmset.messages.codec import encode
from warmset.messages.interactions.kinds import (
    CALL,
    HOSTED_CALLS,
    HOSTED_RESULTS,
    KNOWN,
    RESULT,
    THOUGHT,
)
from warmset.messages.text import joined, kind_of, placeholder


def text(step: dict[str, Any]) -> str:
    """Return what a well-formed step says; a thought says nothing."""
    kind = kind_of(step)
    if kind == THOUGHT:
        return ""
    if kind == CALL or kind in HOSTED_CALLS:
        name = step.get("name")
        called = name if isinstance(name, str) else kind.removesuffix("_call")
        return joined([f"{called}({encode(step.get('arguments') or {})})"])
    if kind == RESULT or kind in HOSTED_RESULTS:
        return joined(_result(step.get("result")) or [""])
    content = step.get("content")
    said = [_block(block) for block in content] if isinstance(content, list) else []
    return joined(said or ([""] if kind in KNOWN else [f"[{kind}]"]))


def images(step: dict[str, Any]) -> int:
    """Return the number of images in a well-formed step; those of a thought's summary are none."""
    shown = [step.get("content"), step.get("result")]
    blocks = [block for found in shown if isinstance(found, list) for block in found]
    return sum(kind_of(block) == "image" for block in blocks)


def _result(result: Any) -> list[str]:
    if isinstance(result, str):
        return [result]
    if isinstance(result, list):
        return [_block(block) for block in result]
    return [] if result is None else [encode(result)]


def _block(block: Any) -> str:
    kind = kind_of(block)
    if kind == "text":
        said: str = block["text"] if isinstance(block.get("text"), str) else ""
        return said
    if kind == "function" or not kind:  # a tool that a search found, or data of the provider's own
        return encode(block)
    return placeholder(kind, block, {"url": block.get("uri")}, {"filename": block.get("name")})
