"""Figures of a store and its index, as one tenant may see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warmset.engine.engine import Engine


def figures(engine: Engine, tenant: str) -> dict[str, Any]:
    """Gather what `Memory.stats` tells.

    Args:
        engine: The store and its index.
        tenant: Whose messages and conversations are counted.

    Returns:
        Plain values by name.
    """
    indexer = engine.indexer
    report = engine.store.report()
    own = [one for one in engine.ledgers.outlines() if one.name[0] == tenant]
    return {
        **engine.store.stats(),
        "messages": sum(one.turns for one in own),
        "conversations": len(own),
        "rows": engine.retriever.rows,
        "index": engine.index.figures(),
        "simd": engine.retriever.tier,
        "embedder": "lexical" if indexer is None else indexer.vectorizer.embedder.name,
        "views": engine.opening.views,
        "pending": 0 if indexer is None else indexer.pending(),
        "ready": 0 if indexer is None else indexer.book.turns(),
        "undescribed": 0 if engine.describing is None else engine.describing.left(),
        "failed": {} if indexer is None else indexer.failed(),
        "spooled": len(engine.store.spooled()),
        "cuts": report["cuts"],
        "damaged": [
            *engine.lost,
            *(
                f"{damage['path']}: {damage['detail']}"
                for damage in engine.store.report()["damages"]
            ),
        ],
    }
