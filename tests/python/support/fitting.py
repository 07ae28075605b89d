"""What tests of eviction share: every policy, and how many cases a profile tries."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from warmset import (
    BlobStore,
    Chain,
    ClearToolResults,
    CollapseCalls,
    HeadTail,
    LatestToolResult,
    OffloadLarge,
    Salience,
    SlidingWindow,
    Summarize,
    TokenBudget,
)
from warmset.messages import facts, resolve

DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"


def cases(ci, deep):
    """Return how many cases to try: few, or as many as the deep profile wants."""
    return deep if DEEP else ci


def in_shards(work, count):
    """Do work on the seeds 0 to `count`: here, or in the deep profile on every core.

    Args:
        work: Takes an iterable of seeds.
        count: The number of seeds.

    Returns:
        The answers.
    """
    if not DEEP:
        return [work(range(count))]
    workers = os.cpu_count() or 1
    shards = [range(count)[at :: 16 * workers] for at in range(16 * workers)]
    # Spawned, not forked: a store does not outlive a fork.
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        return list(pool.map(work, shards))


def shorter(messages, *, max_tokens):
    """Summarise without a model: the first fifth of what was said."""
    del max_tokens
    said = " ".join(facts(one, resolve(messages)).text for one in messages).split()
    return f"{len(messages)} messages: {' '.join(said[: len(said) // 5])}"


def by_length(message):
    """Find long messages dull."""
    return -len(str(message))


def by_tool(call):
    """Return keys of which some begin with others, and None for one tool of four."""
    part = str(len(call.arguments) % 3)
    return {"search": None, "write-file": ("file",)}.get(call.name, ("file", call.name, part))


POLICIES = {
    "token budget": TokenBudget(),
    "sliding window": SlidingWindow(3),
    "head and tail": HeadTail(2),
    "sliding window always": SlidingWindow(3, always=True),
    "head and tail always": HeadTail(2, always=True),
    "salience": Salience(by_length),
    "clear tool results": ClearToolResults(keep=1),
    "clear inputs too": ClearToolResults(keep=0, trigger=0, inputs=True, exclude=("search",)),
    "clear results always": ClearToolResults(keep=1, always=True),
    "latest tool result": LatestToolResult(),
    "latest by key": LatestToolResult(key=by_tool, always=True),
    "offload": OffloadLarge(over=200, lines=2, store=BlobStore()),
    "offload always": OffloadLarge(over=200, lines=2, store=BlobStore(), always=True),
    "collapse calls": CollapseCalls(keep=1),
    "collapse always": CollapseCalls(
        keep=0, argument_chars=30, result_chars=30, store=BlobStore(), always=True
    ),
    "summarize": Summarize(watermark=0.5, summarizer=shorter, keep=2),
    "chain": Chain(
        LatestToolResult(),
        ClearToolResults(keep=1),
        Summarize(summarizer=shorter),
        SlidingWindow(2),
    ),
    "chain always": Chain(
        LatestToolResult(key=by_tool, always=True),
        CollapseCalls(keep=1, argument_chars=20, result_chars=20, always=True),
        HeadTail(3, always=True),
        Salience(by_length),
    ),
}
ALWAYS = [name for name in POLICIES if name.endswith(" always")] + ["latest by key"]
"""Policies that act at every call."""
OWN_TRIGGER = frozenset({"clear inputs too", "summarize", "chain", *ALWAYS})
"""Policies that act before the budget is reached."""
