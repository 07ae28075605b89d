"""The exports of ChatGPT and Claude: `conversations.json`, an array of conversations.

Both are trees: an answer that was made again, or a question that was edited, has siblings. Every
branch is stored, the one that was open last as the conversation's path. Messages are stored as
texts, because exports leave out what a provider would need to take calls of its own tools again; a
message with more than texts is kept verbatim beside.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from warmset.maintenance.transcripts.fields import listed, mapping, moment, text, without_none
from warmset.maintenance.transcripts.item import FIRST, Item
from warmset.store.known import digest

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROOT: Final = "00000000-0000-4000-8000-000000000000"
"""What Claude's export names as the parent of a first message."""


def is_chatgpt(value: object) -> bool:
    """Return whether a value is a conversation of ChatGPT's export."""
    return isinstance(value, dict) and isinstance(value.get("mapping"), dict)


def is_claude(value: object) -> bool:
    """Return whether a value is a conversation of Claude's export."""
    return isinstance(value, dict) and isinstance(value.get("chat_messages"), list)


def chatgpt(value: dict[str, Any], name: str) -> Iterator[Item]:
    """Yield the messages of one conversation of ChatGPT's export.

    Args:
        value: The conversation.
        name: Its name if it has none.
    """
    name = text(value, "conversation_id", "id") or name
    nodes = {key: node for key, node in value["mapping"].items() if isinstance(node, dict)}
    here = _line_to(nodes, text(value, "current_node"))
    path: list[tuple[str, str]] = []  # the nodes above, and the message at each
    for key in _walk(nodes, here):
        parent = text(nodes[key], "parent") or ""
        while path and path[-1][0] != parent:
            path.pop()
        above = path[-1][1] if path else FIRST
        message = mapping(nodes[key].get("message"))
        items = list(_chatgpt_message(message, name, key)) if message else []
        said = next((one for one in items if one.message is not None), None)
        for one in items:
            yield replace(one, after=above) if one is said else one
        path.append((key, above if said is None else said.uids[0]))


def claude(value: dict[str, Any], name: str) -> Iterator[Item]:
    """Yield the messages of one conversation of Claude's export; see `chatgpt`."""
    name = text(value, "uuid") or name
    before, known = FIRST, {_ROOT: FIRST}
    for message in value["chat_messages"]:
        if not isinstance(message, dict):
            continue
        parent = text(message, "parent_message_uuid")
        uid = text(message, "uuid") or digest(_raw(message))
        said = _claude_text(message)
        at = moment(message, "created_at", "updated_at")
        role = {"human": "user", "user": "user", "assistant": "assistant"}.get(
            text(message, "sender") or ""
        )
        above = before if parent is None else known.get(parent, before)
        shared: dict[str, Any] = {"conversation": name, "at": at, "raw": _raw(message)}
        if role is None or not said.strip():
            known[uid] = above
            yield Item(uids=(uid,), kind="chat_message", **shared)
            continue
        meta = without_none({"source": "claude", "title": text(value, "name")})
        body = {"role": role, "content": said}
        yield Item(uids=(uid,), message=body, meta=meta, after=above, **shared)
        if not _is_plain(message):
            yield Item(uids=(f"{uid}#verbatim",), kind="verbatim", **shared)
        before = known[uid] = uid


def _line_to(nodes: dict[str, Any], key: str | None) -> set[str]:
    """Return a node and those above it."""
    found: set[str] = set()
    while key in nodes and key not in found:
        found.add(key)
        key = text(nodes[key], "parent")
    return found


def _walk(nodes: dict[str, Any], here: set[str]) -> Iterator[str]:
    """Yield the nodes, each after the one above it; those of the open branch come last."""
    children: dict[str, list[str]] = {}
    roots: list[str] = []
    for key, node in nodes.items():
        parent = text(node, "parent")
        (children.setdefault(parent, []) if parent in nodes else roots).append(key)
    waiting = _last_first(roots, here)
    done: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key not in done:
            done.add(key)
            yield key
            waiting += _last_first(children.get(key, []), here)


def _last_first(keys: list[str], here: set[str]) -> list[str]:
    return [one for one in keys if one in here] + [one for one in keys if one not in here][::-1]


def _chatgpt_message(message: dict[str, Any], name: str, key: str) -> Iterator[Item]:
    uid = text(message, "id") or key
    author = mapping(message.get("author"))
    role, content = text(author, "role") or "", mapping(message.get("content"))
    said, is_plain = _chatgpt_text(content)
    recipient = text(message, "recipient") or "all"
    shared: dict[str, Any] = {
        "conversation": name,
        "at": moment(message, "create_time", "update_time"),
        "raw": _raw(message),
    }
    kind = text(content, "content_type") or "message"
    spoken = kind not in (
        "thoughts",
        "reasoning_recap",
        "user_editable_context",
        "model_editable_context",
    )
    if role not in ("user", "assistant", "system", "tool") or not said.strip() or not spoken:
        empty = not said.strip() and is_plain
        yield Item(uids=(uid,), kind=f"{role or 'node'}/{kind}", kept=not empty, **shared)
        return
    speaker = None
    if role == "tool":  # what a tool of ChatGPT's own answers is part of the reply
        speaker = text(author, "name") or "tool"
        role, said = "assistant", f"[{speaker}]\n{said}"
    elif recipient != "all":
        said = f"[to {recipient}]\n{said}"
    meta = without_none(
        {"source": "chatgpt", "model": text(mapping(message.get("metadata")), "model_slug")}
    )
    body = {"role": role, "content": said}
    yield Item(uids=(uid,), message=body, dialect="openai", speaker=speaker, meta=meta, **shared)
    if not is_plain:
        yield Item(uids=(f"{uid}#verbatim",), kind="verbatim", **shared)


def _chatgpt_text(content: dict[str, Any]) -> tuple[str, bool]:
    """Return the text of a content, and whether it is all of it."""
    parts: list[str] = []
    is_plain = True
    for part in listed(content.get("parts")):
        if isinstance(part, str):
            parts.append(part)
            continue
        is_plain = False
        found = mapping(part)
        kind = text(found, "content_type") or "part"
        shown = text(found, "text") or text(found, "asset_pointer", "name") or ""
        parts.append(text(found, "text") or f"[{kind.removesuffix('_asset_pointer')}: {shown}]")
    said = text(content, "text", "result")
    if said is not None:
        parts.append(said)
        is_plain = is_plain and text(content, "content_type") in (
            "text",
            "code",
            "execution_output",
        )
    if not parts and set(content) - {"content_type", "parts"}:
        return json.dumps(content, ensure_ascii=False), False
    return "\n".join(part for part in parts if part), is_plain


def _claude_text(message: dict[str, Any]) -> str:
    parts: list[str] = []
    for block in listed(message.get("content")):
        found = mapping(block)
        kind = text(found, "type")
        if kind == "text":
            parts.append(text(found, "text") or "")
        elif kind == "tool_use":
            given = json.dumps(found.get("input"), ensure_ascii=False)
            parts.append(f"[{text(found, 'name') or 'tool'}: {given}]")
        elif kind == "tool_result":
            inner = found.get("content")
            texts = [text(mapping(one), "text") or "" for one in listed(inner)]
            shown = inner if isinstance(inner, str) else "\n".join(texts)
            parts.append(f"[result: {shown}]")
    if not any(part.strip() for part in parts):
        parts = [text(message, "text") or ""]
    for attached in listed(message.get("attachments")):
        found = mapping(attached)
        content = text(found, "extracted_content") or ""
        parts.append(f"[attachment: {text(found, 'file_name') or 'file'}]\n{content}".strip())
    for file in (*listed(message.get("files")), *listed(message.get("files_v2"))):
        parts.append(f"[file: {text(mapping(file), 'file_name') or 'file'}]")
    return "\n\n".join(part for part in parts if part.strip())


def _is_plain(message: dict[str, Any]) -> bool:
    blocks = listed(message.get("content"))
    others = any(listed(message.get(name)) for name in ("attachments", "files", "files_v2"))
    return not others and all(mapping(block).get("type") == "text" for block in blocks)


def _raw(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )
