"""`warmset demo`: contents of windows, an agent's run that outgrows its window, a router."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - read at run time, to parse arguments
from typing import Annotated

from cyclopts import Parameter

from warmset.errors import InvalidInputError
from warmset.lab.cost.figures import BUDGET as COST_BUDGET, CostOptions
from warmset.lab.cost.run import run_cost
from warmset.lab.demo.route.run import RouteOptions, run_route
from warmset.lab.demo.run import Options, run as run_demo
from warmset.lab.demo.run_crossing import BUDGET, LATENCY, PACE, CrossingOptions, run_crossing


def demo(
    *,
    file: Path | None = None,
    query: Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")] = None,
    budget: int | None = None,
    conversation: str | None = None,
    limit: int | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    store: Path | None = None,
    words_only: Annotated[bool, Parameter(negative="")] = False,
    embedder: str | None = None,
    picker: str | None = None,
    compact: Annotated[bool, Parameter(negative="")] = False,
    latency: float | None = None,
    pace: float | None = None,
    cost: Annotated[bool, Parameter(negative="")] = False,
    quick: Annotated[bool, Parameter(negative="")] = False,
    route: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Show the contents of windows of a long conversation, at equal tokens.

    Without a file, a conversation that ships with warmset is asked ten questions whose answers lie
    far back, and five ways to choose a window are compared.

    Args:
        file: Your own transcript: messages of OpenAI, Anthropic or Gemini as JSON or JSONL, a
            Claude Code transcript, or a LoCoMo file.
        query: Requests to build windows for; for a transcript without known answers, the last user
            message if not given.
        budget: The most tokens of a window; 5 % of the conversation if not given, 12,000 with
            --compact, and 32,000 with --cost.
        conversation: The sample_id of a LoCoMo conversation; the first if not given.
        limit: How many of the known questions to ask.
        as_json: Print the figures as one JSON object.
        store: A directory to keep the conversation in; a temporary one if not given.
        words_only: Search by words alone, without the model.
        embedder: The source of vectors: minilm, static, openai, cohere or voyage; a service with a
            model after a colon.
        picker: Chooses the turns of the windows that are shown in detail: openai:model,
            openai-responses:model or anthropic:model, with the key in the environment; the score if
            not given.
        compact: Show an agent's run that outgrows its window instead: a summary that a call waits
            for, compared with a prepared one. It searches by words alone.
        latency: Milliseconds that the simulated summariser takes, for --compact; 8000 if not given.
        pace: Milliseconds from one call of the agent's model to the next, simulated, for --compact;
            2000 if not given.
        cost: Show what whole sessions cost in each mode instead, with a simulated prompt cache. It
            searches by words alone.
        quick: Play sessions a tenth as long, for --cost.
        route: Show instead what the modules of a valuation get from three years of made-up filings,
            by a router, by similarity, and as a whole. It searches by words alone; the exit code is
            1 if the payload of the valuation is not exactly what it needs.
    """
    others: dict[str, object] = {"query": query, "limit": limit, "store": store, "picker": picker}
    others |= {"words_only": words_only or None}
    if route:
        others |= {"file": file, "budget": budget, "conversation": conversation}
        others |= {"embedder": embedder, "compact": compact or None, "cost": cost or None}
        others |= {"latency": latency, "pace": pace, "quick": quick or None}
        _nothing_of("--route", others)
        return run_route(RouteOptions(as_json=as_json))
    if cost:
        others |= {"file": file, "conversation": conversation, "embedder": embedder}
        _nothing_of(
            "--cost", {**others, "compact": compact or None, "latency": latency, "pace": pace}
        )
        run_cost(
            CostOptions(
                budget=COST_BUDGET if budget is None else budget, quick=quick, as_json=as_json
            )
        )
        return 0
    if quick:
        raise InvalidInputError("quick: works with --cost only; give it as well")
    if compact:
        _nothing_of("--compact", others)
        run_crossing(
            CrossingOptions(
                file=file,
                conversation=conversation,
                budget=BUDGET if budget is None else budget,
                latency=LATENCY if latency is None else latency,
                pace=PACE if pace is None else pace,
                as_json=as_json,
            )
        )
        return 0
    if latency is not None or pace is not None:
        raise InvalidInputError("latency, pace: work with --compact only; give it as well")
    run_demo(
        Options(
            file=file,
            queries=query or (),
            budget=budget,
            conversation=conversation,
            limit=limit,
            as_json=as_json,
            store=store,
            words_only=words_only,
            embedder=embedder,
            picker=picker,
        )
    )
    return 0


def _nothing_of(option: str, given: dict[str, object]) -> None:
    """Refuse options that mean nothing beside another one."""
    for name, value in given.items():
        if value is not None:
            raise InvalidInputError(f"{name}: means nothing with {option}; leave it out")
