"""One peer in its own interpreter: asked over standard input, it answers with its own times.

The first line names the peer and gives what it works on; each later line is one call's argument.
An answer is one line of JSON: microseconds, and what came out. Nothing of the library is imported.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import os
import sys
import time
from importlib import metadata
from pathlib import Path

SHARE = 0.5  # of what the messages cost by the peer's own count
WARM = 20  # messages that a peer sees before it is timed


def llama_index(messages):
    """ChatMemoryBuffer with its own tokeniser, cl100k; the buffer is filled before the clock."""
    from llama_index.core.llms import ChatMessage  # noqa: PLC0415 - a peer
    from llama_index.core.memory import ChatMemoryBuffer  # noqa: PLC0415
    from llama_index.core.utils import get_tokenizer  # noqa: PLC0415

    tokens = len(get_tokenizer()(" ".join(one["content"] for one in messages)))
    history = [ChatMessage(role=one["role"], content=one["content"]) for one in messages]
    budget = int(tokens * SHARE)
    buffer = ChatMemoryBuffer.from_defaults(chat_history=history, token_limit=budget)
    return budget, lambda: buffer.get, lambda kept: [str(one.content) for one in kept]


def agent_framework(messages):
    """TruncationStrategy by its estimate of 4 characters a token; it marks what it is given."""
    from agent_framework import (  # noqa: PLC0415 - a peer
        CharacterEstimatorTokenizer,
        Message,
        TruncationStrategy,
        annotate_message_groups,
        apply_compaction,
        included_token_count,
    )

    tokenizer = CharacterEstimatorTokenizer()

    def fresh():
        return [Message(one["role"], [one["content"]]) for one in messages]

    counted = fresh()
    annotate_message_groups(counted, tokenizer=tokenizer)
    budget = int(included_token_count(counted) * SHARE)
    strategy = TruncationStrategy(max_n=budget, compact_to=budget, tokenizer=tokenizer)

    def ready():
        given = fresh()

        async def truncated():
            return await apply_compaction(given, strategy=strategy, tokenizer=tokenizer)

        return lambda: asyncio.run(truncated())

    return budget, ready, lambda kept: [one.text for one in kept]


def litellm(messages):
    """trim_messages for gpt-4o, whose vocabulary it ships."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # what it ships, not a fetched one
    import litellm as peer  # noqa: PLC0415 - a peer
    from litellm.utils import trim_messages  # noqa: PLC0415

    model = "gpt-4o"
    budget = int(peer.token_counter(model=model, messages=messages) * SHARE)
    return (
        budget,
        lambda: lambda: trim_messages(messages, model=model, max_tokens=budget),
        lambda kept: [one["content"] for one in kept],
    )


def tiktoken(encoding):
    """Count texts one by one; the vocabularies are those that llama-index-core ships."""
    found = importlib.util.find_spec("llama_index.core")
    if found is not None and found.origin and "TIKTOKEN_CACHE_DIR" not in os.environ:
        place = Path(found.origin).parent / "_static" / "tiktoken_cache"
        os.environ["TIKTOKEN_CACHE_DIR"] = str(place)
    import tiktoken as peer  # noqa: PLC0415 - a peer

    return peer.get_encoding(encoding).encode_ordinary


TRIMMERS = {
    "llama-index-core": llama_index,
    "agent-framework-core": agent_framework,
    "litellm": litellm,
}


def trimming(asked, say, lines):
    """Trim the same messages at each line; say which of them stayed (-1: a shortened one)."""
    make, messages = TRIMMERS[asked["peer"]], asked["messages"]
    _, ready, _ = make(messages[:WARM])
    ready()()
    budget, ready, texts = make(messages)
    places = {one["content"]: at for at, one in enumerate(messages)}
    say({"version": metadata.version(asked["peer"]), "budget": budget})
    for _ in lines:
        call = ready()
        begin = time.perf_counter_ns()
        kept = call()
        micros = (time.perf_counter_ns() - begin) / 1e3
        say({"microseconds": micros, "kept": [places.get(text, -1) for text in texts(kept)]})


def counting(asked, say, lines):
    """Count a list of texts at each line; say the counts and a digest of all ids."""
    encode = tiktoken(asked["encoding"])
    encode("warm")
    say({"version": metadata.version("tiktoken")})
    for line in lines:
        texts = json.loads(line)
        begin = time.perf_counter_ns()
        ids = [encode(text) for text in texts]
        micros = (time.perf_counter_ns() - begin) / 1e3
        digest = hashlib.sha256(repr(ids).encode()).hexdigest()
        say({"microseconds": micros, "counts": [len(one) for one in ids], "ids": digest})


def main():
    """Answer on what was standard output; whatever a peer prints goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(answer):
        out.write(json.dumps(answer) + "\n")
        out.flush()

    asked = json.loads(sys.stdin.readline())
    (counting if asked["peer"] == "tiktoken" else trimming)(asked, say, sys.stdin)


if __name__ == "__main__":
    main()
