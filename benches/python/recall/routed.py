"""What a router finds in a conversation, beside the windows of the same conversation.

``python -m benches.python.recall.routed --locomo FILE [--shares 2 5 10 25] [--embedder static]``

The only items are the messages of one conversation, and the only need of the task is for those that
are similar to the question. Each question is asked of a window of mode "jit", with a budget in
percent of the conversation's tokens, and of the router with the tokens that the window took. Recall
is the fraction of a question's evidence that is shown word for word, as the mean of all questions.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from warmset import Memory, count_tokens
from warmset.errors import BudgetTooSmall
from warmset.lab.corpus.locomo import read_all, samples
from warmset.route import Need, Router, TaskSpec

if TYPE_CHECKING:
    from warmset import Window
    from warmset.lab.corpus.transcript import Transcript
    from warmset.route import Payload

LEAST = 1e-6
"""The least similarity that counts: any at all."""

SPEC = TaskSpec(
    task_type="answer",
    required_memory=(Need(type="conversation", scope="global", similarity_match=LEAST),),
    max_context_tokens=1_000_000,
)


def shown(window: Window) -> set[int]:
    """Return the ids of the messages that a window shows word for word."""
    return {*window.report.picked, *window.report.recent}


def routed(payload: Payload) -> set[int]:
    """Return the ids of the messages that stand in a payload."""
    return {int(one.memory_id.removeprefix("turn:")) for one in payload.context_payload}


def compare(
    talk: Transcript, shares: list[float], embedder: str | None
) -> dict[float, list[tuple[float, float, int, int]]]:
    """Return recall and tokens of windows and payloads, by the share of the tokens."""
    whole = count_tokens([line.message for line in talk.lines])
    found: dict[float, list[tuple[float, float, int, int]]] = defaultdict(list)
    with Memory.open(None, embedder=embedder) as memory:
        chat = memory.conversation(talk.name)
        ids = [
            chat.append(line.message, at=line.at, speaker=line.speaker, session=line.session)[0]
            for line in talk.lines
        ]
        memory.flush(600)
        router = Router(memory, specs=[SPEC], plans=0)
        for question in talk.questions:
            evidence = {ids[place] for place in question.evidence}
            for share in shares:
                try:
                    window = chat.window(question.text, budget=int(whole * share / 100), wait=10)
                    payload = router.route(
                        "answer",
                        query=question.text,
                        conversation=talk.name,
                        budget=window.tokens,
                    )
                except BudgetTooSmall:
                    continue
                one, other = shown(window), routed(payload)
                found[share].append(
                    (
                        len(evidence & one) / len(evidence),
                        len(evidence & other) / len(evidence),
                        window.tokens,
                        payload.total_tokens,
                    )
                )
    return found


def main() -> None:
    """Print recall and tokens of windows and of payloads."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--locomo", type=Path, required=True)
    parser.add_argument("--shares", type=float, nargs="*", default=[2, 5, 10, 25])
    parser.add_argument("--embedder", help="as for Memory.open; the local model if not given")
    asked = parser.parse_args()
    found: dict[float, list[tuple[float, float, int, int]]] = defaultdict(list)
    for talk in read_all(samples(json.loads(asked.locomo.read_text())) or []):
        for share, rows in compare(talk, asked.shares, asked.embedder).items():
            found[share] += rows
    print(f"{'tokens':>7} {'questions':>10} {'window':>7} {'router':>7} {'tokens of each':>17}")
    for share, rows in sorted(found.items()):
        one, other, took, given = (mean(column) for column in zip(*rows, strict=True))
        print(f"{share:6g}% {len(rows):10} {one:7.3f} {other:7.3f} {took:8,.0f} {given:8,.0f}")


if __name__ == "__main__":
    main()
