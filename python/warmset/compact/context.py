"""`compact_context`: drop the turns of a list with the lowest scores."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from warmset.compact.choice import Choice
from warmset.compact.compacted import CompactionResult, CompactStats, DroppedMessages
from warmset.compact.keeper import Leaving, Left
from warmset.compact.reading import listed, read_list, stored_hash
from warmset.compact.scores import Source, score
from warmset.compact.weights import CompactWeights, is_number
from warmset.errors import InvalidInputError
from warmset.evict.fitting import Protect, pinned
from warmset.tokens.budget import Budget, input_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from warmset.compact.keeper import Keeper, Remembers
    from warmset.embed import Embedder
    from warmset.embed.function import EmbedFunction

LEAST_RATIO: Final = 0.05


def compact_context(
    messages: Iterable[Any],
    *,
    query: str | None = None,
    target_ratio: float = 0.4,
    budget: int | Budget | None = None,
    distill_novel: bool = False,
    memory: Remembers | None = None,
    embedder: Embedder | EmbedFunction | str | None = None,
    weights: CompactWeights | None = None,
    protect: Protect = (),
    dialect: str | None = None,
    encoding: str = "o200k_base",
) -> CompactionResult:
    """Keep the turns with the highest scores within a budget, verbatim and in order.

    A turn's score is ``role x (0.3·recency + 0.4·similarity + 0.3·(1 - coverage))``; a unit's score
    is that of its best turn. Units are taken by score; one that does not fit is skipped.

    Never dropped: system and developer messages, the task (the first user message), the last user
    message, the last four units, tool calls that wait for their results, a provider's compaction,
    and pinned messages. If these alone exceed the budget, they stay, and `CompactStats.over_budget`
    is True.

    Coverage is the highest cosine with the three nearest texts of the same content: stored
    memories, and later turns of the list that stay. It is 0 if a number, a path or a name of the
    turn is in none of them. At first, every later turn with a cosine of at least `weights.same`
    counts; after each choice, those that did not stay are removed and the choice is repeated, until
    all that count stay. Of equal scores the earlier turn stays.

    Without a memory this is a pure function of its arguments.

    Args:
        messages: Messages as callers have them; those that stay are returned as the same objects.
        query: The text to which turns should be similar.
        target_ratio: The share of the list's tokens that may stay, 0.05 to 1.
        budget: The most tokens that everything may have, or a `Budget`; replaces the ratio.
        distill_novel: Whether to make memories of dropped turns that nothing else covers.
        memory: A `Memory` or a `Conversation`: has the stored memories, and stores the dropped
            turns before this returns.
        embedder: The source of vectors: an embedder, a function of a list of texts, or a name; the
            memory's own if not given. Without any, turns are scored by role and recency.
        weights: The weight of each signal.
        protect: Positions of messages that must stay, or a function that returns True for a message
            that must stay.
        dialect: The dialect of the messages; detected if not given.
        encoding: The vocabulary that tokens are counted with.

    Returns:
        The messages that stay, statistics, and every dropped turn with its score and the reason.

    Raises:
        InvalidInputError: An option is out of its range.
        InvalidMessageError: A message is malformed.
        UnknownDialectError: The dialect is not supported.
        EmbedderError: The embedder failed; nothing was stored.
        StoreError: The dropped turns could not be stored.
    """
    started = time.perf_counter()
    weighed = CompactWeights() if weights is None else weights
    keeper = _keeper(memory)
    _check(query, target_ratio, distill_novel, keeper, weighed)
    given = listed(messages)
    plain, reads, chosen = read_list(given, dialect, encoding)
    choice = Choice(reads, chosen, encoding, pinned(protect, given))
    before = choice.total
    have = int(target_ratio * before) if budget is None else input_tokens(budget)

    def hashes(places: list[int]) -> list[bytes]:
        return [stored_hash(reads[at], plain[at]) for at in places]

    source = Source(embedder, keeper, hashes, chosen)
    scored = score(choice, reads, source, query, weighed, have)
    left = Left()
    gone = np.flatnonzero(~choice.stays)
    figures: dict[str, Any] = {
        "before_tokens": before,
        "after_tokens": choice.tokens,
        "budget": have,
        "over_budget": choice.tokens > have,
        "messages": len(given),
        "dropped": len(gone),
        "dropped_pct": _percent(len(gone), len(given)),
        "tokens_pct": _percent(before - choice.tokens, before),
        "embedding": source.embedder is not None,
        "embedder": source.name,
        "signals": scored.signals,
        "missing": scored.missing,
    }
    if keeper is not None:
        places = gone.tolist()
        left = keeper.keep(
            Leaving(
                places=places,
                messages=[plain[at] for at in places],
                reads=reads.at(gone),
                coverage=scored.coverage[gone].tolist(),
                dialect=chosen,
                query=query,
                distill=distill_novel,
                figures=figures,
            )
        )
    out, inserted = choice.written(given)
    factors = np.asarray(weighed.factors)[choice.roles]
    columns = (factors, scored.recency, scored.similarity, scored.coverage)
    handles, store_ids = left.handles, left.store_ids
    dropped = DroppedMessages(
        gone, scored.values, columns, floor=choice.floor, handles=handles, store_ids=store_ids
    )
    kinds = dict(sorted(Counter(left.distilled).items()))
    stats = CompactStats(
        **figures,
        distilled=sum(kinds.values()),
        distilled_kinds=kinds,
        milliseconds=(time.perf_counter() - started) * 1000,
    )
    return CompactionResult(
        messages=out,
        stats=stats,
        dropped=dropped,
        inserted=inserted,
        dialect=chosen,
        episode=left.episode,
    )


def _keeper(memory: Remembers | None) -> Keeper | None:
    if memory is None:
        return None
    ask: Callable[[], Keeper] | None = getattr(memory, "__warmset_keeper__", None)
    if isinstance(memory, type) or not callable(ask):
        raise InvalidInputError(
            f"memory: expected a Memory or a Conversation, found {memory!r:.80}"
        )
    return ask()


def _check(
    query: object, ratio: object, distill: object, keeper: Keeper | None, weights: object
) -> None:
    if query is not None and not isinstance(query, str):
        raise InvalidInputError(f"query: expected a text, found {query!r:.80}")
    if not is_number(ratio) or not LEAST_RATIO <= ratio <= 1:
        raise InvalidInputError(f"target_ratio: expected {LEAST_RATIO} to 1, found {ratio!r}")
    if not isinstance(distill, bool):
        raise InvalidInputError(f"distill_novel: expected a bool, found {distill!r}")
    if distill and keeper is None:
        raise InvalidInputError("distill_novel: needs a memory in which to store; pass memory=")
    if not isinstance(weights, CompactWeights):
        raise InvalidInputError(f"weights: expected CompactWeights, found {weights!r:.80}")


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 3) if whole else 0.0
