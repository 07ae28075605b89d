"""`compact_context`: drop the turns of a list with the lowest scores."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
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
from warmset.messages.bound import BoundThinking
from warmset.messages.sent import Beside
from warmset.tokens import message_tokens
from warmset.tokens.budget import Budget, input_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from warmset.compact.keeper import Keeper, Remembers
    from warmset.embed import Embedder
    from warmset.embed.function import EmbedFunction
    from warmset.evict import Inserted
    from warmset.messages import Message, System, Thinking

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
    model: str | None = "",
    sent: object = None,
    system: System | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
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

    Without a memory this is a pure function of its arguments. With one, its redaction applies to
    what is embedded and stored; messages that stay are the caller's own.

    Args:
        messages: Messages as callers have them; those that stay are returned as the same objects,
            unless their thinking leaves.
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
        model: The model that the list is for; empty if it is not known. Newer models refuse or drop
            thinking before which something changed, so it is left out of the messages that stay; a
            model that is not known is taken for one of these.
        sent: What was sent last: a window, the keyword arguments of the provider's call, or a list
            of messages. Without it, the list itself is taken for what was sent.
        system: The system prompt that is sent beside the messages. It is compared with that of
            `sent`; its tokens are not counted.
        tools: The tools that are sent with them, likewise.

    Returns:
        The messages that stay, statistics, and every dropped turn with its score and the reason.

    Raises:
        InvalidInputError: An option is out of its range.
        InvalidMessageError: A message is malformed.
        UnknownDialectError: The dialect is not supported.
        EmbedderError: The embedder failed; nothing was stored.
        RedactionError: The memory's redaction hook failed; nothing was embedded or stored.
        StoreError: The dropped turns could not be stored.
    """
    started = time.perf_counter()
    weighed = CompactWeights() if weights is None else weights
    keeper = _keeper(memory)
    _check(query, target_ratio, distill_novel, keeper, weighed)
    beside = Beside.of(system, tools, model)
    given = listed(messages)
    plain, reads, chosen = read_list(given, dialect, encoding)
    choice = Choice(reads, chosen, encoding, pinned(protect, given))
    if keeper is not None:
        query = None if query is None else keeper.redacted_text(query)
        shown, plain = plain, keeper.redacted(plain)
        if any(new is not old for new, old in zip(plain, shown, strict=True)):
            plain, reads, _ = read_list(plain, chosen, encoding)
    before = choice.total
    have = int(target_ratio * before) if budget is None else input_tokens(budget)

    def hashes(places: list[int]) -> list[bytes]:
        return [stored_hash(reads[at], plain[at]) for at in places]

    source = Source(embedder, keeper, hashes, chosen)
    scored = score(choice, reads, source, query, weighed, have)
    out, inserted = choice.written(given)
    bound = BoundThinking(plain, chosen, beside, sent)
    out, inserted, thinking, saved = _without_unbound(
        bound, plain, choice.places, out, inserted, encoding
    )
    after = choice.tokens - saved
    left = Left()
    gone = np.flatnonzero(~choice.stays)
    figures: dict[str, Any] = {
        "before_tokens": before,
        "after_tokens": after,
        "budget": have,
        "over_budget": after > have,
        "messages": len(given),
        "dropped": len(gone),
        "dropped_pct": _percent(len(gone), len(given)),
        "tokens_pct": _percent(before - after, before),
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
        thinking=thinking,
    )


def _without_unbound(
    bound: BoundThinking,
    plain: Sequence[Message],
    places: Sequence[int],
    out: Sequence[Any],
    inserted: Sequence[Inserted],
    encoding: str,
) -> tuple[list[Any], tuple[Inserted, ...], Thinking, int]:
    """Leave out the thinking before which something changed.

    Args:
        bound: The thinking of the list that was given.
        plain: That list.
        places: The positions in it of the messages that stay.
        out: The messages that stay, with filler messages.
        inserted: The filler messages.
        encoding: The vocabulary that tokens are counted with.

    Returns:
        The messages, the filler messages, what became of the thinking, and the tokens that it had.
    """
    fillers = {one.index: one for one in inserted}
    stays = iter(places)
    origins = [None if at in fillers else next(stays) for at in range(len(out))]
    made = [out[at] if home is None else plain[home] for at, home in enumerate(origins)]
    judged = bound.judge(made, origins)
    written: list[Any] = []
    moved: list[Inserted] = []
    for at, message in enumerate(judged.messages):
        if at in fillers:
            moved.append(replace(fillers[at], index=len(written)))
        if message is not None:
            written.append(out[at] if message is made[at] else message)
    pairs = zip(made, judged.messages, strict=True)
    changed = [(old, new) for old, new in pairs if new is not old]
    saved = sum(message_tokens([old for old, _ in changed], encoding))
    saved -= sum(message_tokens([new for _, new in changed if new is not None], encoding))
    return written, tuple(moved), judged.thinking, saved


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
