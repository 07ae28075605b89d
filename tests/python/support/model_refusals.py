"""A refusal as each provider's API says it: 70 tokens in, 6 out."""

from __future__ import annotations

CHAT = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
REFUSALS = {
    "chat": CHAT
    | {
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": None, "refusal": "I would rather not."},
            }
        ],
        "usage": {"prompt_tokens": 70, "completion_tokens": 6, "total_tokens": 76},
    },
    "responses": {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [
            {
                "type": "message",
                "id": "m",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "refusal", "refusal": "I would rather not."}],
            }
        ],
        "usage": {"input_tokens": 70, "output_tokens": 6, "total_tokens": 76},
    },
    "messages": {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": "refusal",
        "stop_details": {"type": "refusal", "explanation": "I would rather not."},
        "usage": {
            "input_tokens": 40,
            "output_tokens": 6,
            "cache_read_input_tokens": 20,
            "cache_creation_input_tokens": 10,
        },
    },
}
