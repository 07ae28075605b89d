"""What tests of eviction share: every policy, and how many cases a profile tries."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from warmset import (
    BlobStore,
    Chain,
    ClearToolResults,
    HeadTail,
    LatestToolResult,
    OffloadLarge,
    Salience,
    SlidingWindow,
    Summarize,
    TokenBudget,
)

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
    """Summarise without a model: how much there was."""
    del max_tokens
    return f"{len(messages)} messages"


def by_length(message):
    """Find long messages dull."""
    return -len(str(message))


POLICIES = {
    "token budget": TokenBudget(),
    "sliding window": SlidingWindow(3),
    "head and tail": HeadTail(2),
    "salience": Salience(by_length),
    "clear tool results": ClearToolResults(keep=1),
    "clear inputs too": ClearToolResults(keep=0, trigger=0, inputs=True, exclude=("search",)),
    "latest tool result": LatestToolResult(),
    "offload": OffloadLarge(over=200, lines=2, store=BlobStore()),
    "summarize": Summarize(watermark=0.5, summarizer=shorter, keep=2),
    "chain": Chain(
        LatestToolResult(),
        ClearToolResults(keep=1),
        Summarize(summarizer=shorter),
        SlidingWindow(2),
    ),
}
OWN_TRIGGER = frozenset({"clear inputs too", "summarize", "chain"})
"""Policies that act before the budget is reached."""
