"""A naive comparison of two requests as JSON texts; it shares no code with warmset."""

import json

ORDERS = {
    "anthropic": [
        "model",
        "output_config.format",
        "tools",
        "speed",
        "system",
        "tool_choice",
        "thinking",
        "output_config.effort",
        "messages",
    ],
    "openai": ["model", "reasoning_effort", "tools", "messages"],
    "responses": ["model", "text.format", "reasoning.effort", "tools", "instructions", "input"],
}


def bare(value):
    if isinstance(value, dict):
        return {key: bare(one) for key, one in value.items() if key != "cache_control"}
    return [bare(one) for one in value] if isinstance(value, list) else value


def part(request, name):
    for step in name.split("."):
        request = (request or {}).get(step)
    return request


def texts(request, dialect):
    """Return the pieces of the prompt, each as bytes; a part that is not a list is one piece."""
    found = []
    for name in ORDERS[dialect]:
        value = bare(part(request, name))
        if name in ("tools", "messages", "input") or isinstance(value, list):
            pieces = value or []
        else:
            pieces = [] if value is None else [value]
        for at, piece in enumerate(pieces):
            text = json.dumps(piece, ensure_ascii=False, separators=(",", ":"))
            found.append((name, at, text.encode("utf-8", "surrogatepass")))
    return found


def first_other(before, after, dialect):
    """Return the part and the offset of the first other byte; None if the first is a prefix."""
    old, new = texts(before, dialect), texts(after, dialect)
    byte = 0
    for at, (name, place, text) in enumerate(old):
        here = new[at] if at < len(new) else None
        if here == (name, place, text):
            byte += len(text)
            continue
        if here is not None and here[:2] == (name, place):
            same = 0
            while text[same : same + 1] == here[2][same : same + 1]:
                same += 1
            return name, byte + same
        order = ORDERS[dialect]
        names = [name] if here is None else sorted([name, here[0]], key=order.index)
        return names[0], byte  # the part that one of them has more of
    if len(new) > len(old) and new[len(old)][0] != ORDERS[dialect][-1]:
        return new[len(old)][0], byte
    return None
