"""A request to the proxy, and what the upstream answers."""

from __future__ import annotations

import httpx2

LIST = [{"role": "user", "content": "How many boxes are on the shelf?"}]
REPLY = {
    "id": "chatcmpl-1",
    "model": "gpt-5.2",
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Forty."},
        }
    ],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
}


def chat(url, *, stream=False, messages=LIST, **headers):
    """Send a request."""
    body = {"model": "gpt-5.2", "messages": messages} | ({"stream": True} if stream else {})
    return httpx2.post(f"{url}/v1/chat/completions", json=body, headers=headers, timeout=30)
