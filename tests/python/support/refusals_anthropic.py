"""What Anthropic Messages refuses; see `refusals.py`.

https://platform.claude.com/docs/en/api/messages/create
https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls
https://platform.claude.com/docs/en/build-with-claude/extended-thinking
https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
"""

from __future__ import annotations

import re
from itertools import pairwise, takewhile

MODEL = re.compile(
    r"claude-(opus|sonnet|haiku|fable|mythos)-(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?"
)
SYSTEM_FROM = {"opus": (4, 8), "fable": (5, 0), "mythos": (5, 0), "sonnet": (5, 5), "haiku": (5, 5)}
NO_PREFILL_FROM = {"opus": (4, 6), "sonnet": (4, 6), "fable": (5, 0), "mythos": (5, 0)}
PROOF = {"thinking": "signature", "redacted_thinking": "data"}
ID = re.compile(r"[a-zA-Z0-9_-]+")
MARKS = 4


def refusals(messages, sent):
    if not messages:
        return ["messages: at least one message is required"]
    alone = [why for at, one in enumerate(messages) for why in _message(f"messages.{at}", one)]
    if alone:
        return alone
    turns = merged(messages)
    return [
        *_blank(messages),
        *_systems(messages, sent),
        *_pairs(turns),
        *_server_tools(turns),
        *_thinking(turns),
        *_end(messages, sent),
        *_marks(messages, sent),
    ]


def blocks(message):
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def merged(messages):
    """Return the turns, neighbours of one role as one: role, blocks, the place of each block."""
    turns = []
    for at, message in enumerate(messages):
        found = blocks(message)
        if turns and turns[-1][0] == message["role"]:
            turns[-1][1].extend(found)
            turns[-1][2].extend([at] * len(found))
        else:
            turns.append((message["role"], list(found), [at] * len(found)))
    return turns


def _version(model):
    found = MODEL.search(model)
    return (found[1], (int(found[2]), int(found[3] or 0))) if found else (None, (0, 0))


def takes_systems(model):
    family, version = _version(model)
    return not model or (family in SYSTEM_FROM and version >= SYSTEM_FROM[family])


def takes_prefill(model):
    family, version = _version(model)
    return family not in NO_PREFILL_FROM or version < NO_PREFILL_FROM[family]


def _message(where, message):
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant", "system"):
        yield f"{where}.role: Input should be 'user', 'assistant' or 'system'"
    elif not isinstance(content, (str, list)):
        yield f"{where}.content: Input should be a valid list"
    elif isinstance(content, list):
        for at, block in enumerate(content):
            yield from _block(f"{where}.content.{at}", role, block)


def _block(where, role, block):
    kind = block.get("type")
    if not isinstance(kind, str):
        yield f"{where}.type: Field required"
        return
    if role == "system" and kind not in ("text", "tool_addition", "tool_removal"):
        yield f"{where}: a system message has no {kind!r} block"
    if kind == "tool_result" and role != "user":
        yield f"{where}: `tool_result` blocks can only be in `user` messages"
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        if role != "assistant":
            yield f"{where}: `{kind}` blocks can only be in `assistant` messages"
        if not isinstance(block.get("input"), dict):
            yield f"{where}.{kind}.input: Input should be a valid dictionary"
        if not ID.fullmatch(block.get("id") or ""):
            yield f"{where}.{kind}.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
    if kind in PROOF and not block.get(PROOF[kind]):
        yield f"{where}.{kind}.{PROOF[kind]}: Field required"
    if kind == "compaction" and block.get("content") == "":
        yield f"{where}.compaction.content: must not be empty"


def _blank(messages):
    for at, message in enumerate(messages):
        content, last = message["content"], at == len(messages) - 1
        if not content and not (last and message["role"] == "assistant"):
            yield (
                f"messages.{at}: all messages must have non-empty content except for the optional "
                "final assistant message"
            )
        elif content:
            for text in _texts(blocks(message)):
                if not text.strip():
                    yield f"messages.{at}: text content blocks must contain non-whitespace text"


def _texts(found):
    for block in found:
        if block["type"] == "text":
            yield block["text"]
        elif block["type"] == "tool_result" and isinstance(block.get("content"), list):
            yield from _texts(block["content"])


def _systems(messages, sent):
    for at, message in enumerate(messages):
        if message["role"] != "system":
            continue
        if not takes_systems(sent.model):
            yield f"messages.{at}: role 'system' is not supported on this model"
        if at == 0 or messages[at - 1]["role"] != "user":
            yield f"messages.{at}: role 'system' must follow a 'user' message"
        if at + 1 < len(messages) and messages[at + 1]["role"] != "assistant":
            yield f"messages.{at}: role 'system' must precede an 'assistant' message or be last"


def _of(found, kind, field):
    return [block[field] for block in found if block["type"] == kind]


def _pairs(turns):
    for at, (role, found, _) in enumerate(turns):
        calls = _of(found, "tool_use", "id")
        behind = turns[at + 1][1] if at + 1 < len(turns) else []
        lead = takewhile(lambda block: block["type"] == "tool_result", behind)
        answers = _of(lead, "tool_result", "tool_use_id")
        if len(set(calls)) < len(calls):
            yield f"messages.{at}: `tool_use` ids must be unique"
        if missing := [call for call in calls if call not in answers]:
            yield (
                f"messages.{at}: `tool_use` ids were found without `tool_result` blocks "
                f"immediately after: {', '.join(missing)}."
            )
        if role != "user":
            continue
        asked = _of(turns[at - 1][1], "tool_use", "id") if at else []
        given = _of(found, "tool_result", "tool_use_id")
        for call in given:
            if call not in asked:
                yield (
                    f"messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: "
                    f"{call}. Each `tool_result` block must have a corresponding `tool_use` block "
                    "in the previous message."
                )
        if len(set(given)) < len(given):
            yield f"messages.{at}: each tool_use must have a single result"


def _is_server(kind, ending):
    return kind.endswith(ending) and kind != ending


def _server_tools(turns):
    """A server tool's result stands behind its call, in the same turn or where that goes on."""
    open_calls = {}
    for at, (role, found, _) in enumerate(turns):
        if role == "user" and any(block["type"] != "tool_result" for block in found):
            yield from _unanswered(open_calls)
            open_calls = {}
        for block in found:
            if _is_server(block["type"], "tool_use"):
                open_calls[block["id"]] = at
            elif not _is_server(block["type"], "tool_result"):
                continue
            elif role != "assistant" or open_calls.pop(block["tool_use_id"], None) is None:
                yield (
                    f"messages.{at}: unexpected `tool_use_id` found in `{block['type']}` "
                    f"blocks: {block['tool_use_id']}."
                )


def _unanswered(open_calls):
    for call, at in open_calls.items():
        yield f"messages.{at}: server tool use {call} was found without its result block"


def _thinking(turns):
    """The turn of a tool loop that goes on begins with its thinking, if it has any."""
    if len(turns) < 2 or turns[-1][0] != "user":
        return
    if any(block["type"] != "tool_result" for block in turns[-1][1]):
        return
    kinds = [block["type"] for block in turns[-2][1] if block["type"] != "compaction"]
    if set(kinds) & PROOF.keys() and kinds[0] not in PROOF:
        yield (
            "If an assistant message contains any thinking blocks, the first block must be "
            f"`thinking` or `redacted_thinking`. Found `{kinds[0]}`."
        )


def _end(messages, sent):
    last = messages[-1]
    if last["role"] != "assistant":
        return
    if not takes_prefill(sent.model):
        yield "This model does not support assistant message prefill."
    found = blocks(last)
    if found and found[-1]["type"] == "text" and found[-1]["text"] != found[-1]["text"].rstrip():
        yield "messages: final assistant content cannot end with trailing whitespace"


def _marks(messages, sent):
    beside = sent.system if isinstance(sent.system, list) else []
    found = [*beside, *(sent.tools or ()), *(b for one in messages for b in blocks(one))]
    inner = [b for b in found if isinstance(b.get("content"), list)]
    every = [*found, *(one for block in inner for one in block["content"])]
    count = sum(block.get("cache_control") is not None for block in every)
    if count > MARKS:
        yield f"A maximum of {MARKS} blocks with cache_control may be provided. Found {count}."


def bonds(messages):
    turns = merged(messages)
    for before, behind in pairwise(turns):
        asked = {b["id"]: at for b, at in zip(*before[1:], strict=True) if b["type"] == "tool_use"}
        for block, at in zip(*behind[1:], strict=True):
            if block["type"] == "tool_result" and block["tool_use_id"] in asked:
                yield asked[block["tool_use_id"]], at
    places = {}
    for _, found, at in turns:
        for block, place in zip(found, at, strict=True):
            if _is_server(block["type"], "tool_use"):
                places[block["id"]] = place
            elif _is_server(block["type"], "tool_result"):
                caller = places.get(block["tool_use_id"], place)
                yield from [(caller, place)] if caller != place else []
