"""``warmset eval``: measure what a retriever puts into windows, on data with known evidence."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - read at run time, to parse arguments
from typing import Annotated

import cyclopts
from cyclopts import Parameter
from rich.console import Console

from warmset.embed.bars import Bars
from warmset.lab.corpus.agents import Split  # noqa: TC001 - read at run time, to parse arguments
from warmset.lab.corpus.renamed import Names  # noqa: TC001 - read at run time, to parse arguments
from warmset.lab.eval import plot, table, write
from warmset.lab.eval.needle import BUDGET, DEPTH, TRIALS, TURNS, Settings, needle as run_needle
from warmset.lab.eval.options import (
    AGENTS_BUDGETS,
    BUDGETS,
    CUTS,
    Options,
    numbers,
    percentages,
)
from warmset.lab.eval.page import page
from warmset.lab.eval.run import measure
from warmset.store.options import Views  # noqa: TC001 - read at run time, to parse arguments

app = cyclopts.App(name="eval", help="Measure retrieval on data with known evidence.")

_BUDGETS = ",".join(f"{percent:g}" for percent in BUDGETS)
_AGENTS = ",".join(f"{percent:g}" for percent in AGENTS_BUDGETS)
_TURNS = ",".join(str(length) for length in TURNS)
_CUTS = ",".join(str(k) for k in CUTS)
_Names = Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")]
_Flag = Annotated[bool, Parameter(negative="")]


@app.command
def locomo(
    path: Path,
    /,
    *,
    retriever: _Names = None,
    budgets: str = _BUDGETS,
    k: str = _CUTS,
    json: Path | None = None,
    html: Path | None = None,
    svg: Path | None = None,
    reader: str | None = None,
    judge: str | None = None,
    limit: int | None = None,
    roles: _Flag = False,
    names: Names = "exact",
    words_only: _Flag = False,
    embedder: str | None = None,
    views: Views = "both",
    store: Path | None = None,
) -> None:
    """Measure on LoCoMo's conversations (locomo10.json, or some of its samples).

    Args:
        path: The file.
        retriever: Further retrievers beside the default: no-dense, no-lexical, no-speaker,
            no-date, no-questions, no-near, no-session, or module:callable, a function of a
            conversation, a question and k that returns ids.
        budgets: Sizes of windows, in percent of the conversation's tokens.
        k: Numbers of hits.
        json: Where to write the figures.
        html: Where to write a report.
        svg: Where to write the plot of recall against cost by itself.
        reader: What answers: openai:model, openai-responses:model, anthropic:model, or
            module:callable, a function of a prompt that returns a text. Its answers are kept beside
            the figures, or the report, so that a run which broke off goes on.
        judge: What judges the answers, named likewise.
        limit: How many questions to ask.
        roles: Take the speakers' names off: user and assistant only.
        names: Rename the speakers to full names, handles or emails; or have the questions use
            nicknames, or names with typos. Exact changes nothing.
        words_only: Search by words alone, without the model.
        embedder: What makes vectors: minilm, static, openai, cohere or voyage, a service with a
            model after a colon.
        views: What is embedded of a turn: both, its own text and the turn among its neighbours; or
            turn, its own text alone.
        store: A directory to keep the conversations in, so that a second run embeds nothing.
    """
    _run(
        Options(
            dataset="locomo",
            path=path,
            retrievers=retriever or (),
            budgets=percentages(budgets),
            cuts=numbers(k),
            json=json,
            html=html,
            svg=svg,
            reader=reader,
            judge=judge,
            limit=limit,
            roles=roles,
            names=names,
            words_only=words_only,
            embedder=embedder,
            views=views,
            store=store,
        )
    )


@app.command
def longmemeval(
    path: Path,
    /,
    *,
    retriever: _Names = None,
    budgets: str = _BUDGETS,
    k: str = _CUTS,
    json: Path | None = None,
    html: Path | None = None,
    svg: Path | None = None,
    reader: str | None = None,
    judge: str | None = None,
    limit: int | None = None,
    words_only: _Flag = False,
    embedder: str | None = None,
    views: Views = "both",
    store: Path | None = None,
) -> None:
    """Measure on LongMemEval's instances, each with a history of its own.

    Args:
        path: The file, as longmemeval_s.json.
        retriever: Further retrievers beside the default; see locomo.
        budgets: Sizes of windows, in percent of the conversation's tokens.
        k: Numbers of hits.
        json: Where to write the figures.
        html: Where to write a report.
        svg: Where to write the plot of recall against cost by itself.
        reader: What answers; see locomo.
        judge: What judges the answers.
        limit: How many questions to ask.
        words_only: Search by words alone, without the model.
        embedder: What makes vectors: minilm, static, openai, cohere or voyage, a service with a
            model after a colon.
        views: What is embedded of a turn: both, its own text and the turn among its neighbours; or
            turn, its own text alone.
        store: A directory to keep the conversations in, so that a second run embeds nothing.
    """
    _run(
        Options(
            dataset="longmemeval",
            path=path,
            retrievers=retriever or (),
            budgets=percentages(budgets),
            cuts=numbers(k),
            json=json,
            html=html,
            svg=svg,
            reader=reader,
            judge=judge,
            limit=limit,
            words_only=words_only,
            embedder=embedder,
            views=views,
            store=store,
        )
    )


@app.command
def agents(
    path: Path | None = None,
    /,
    *,
    split: Split = "all",
    retriever: _Names = None,
    budgets: str = _AGENTS,
    k: str = _CUTS,
    json: Path | None = None,
    words_only: _Flag = False,
    embedder: str | None = None,
    views: Views = "both",
    store: Path | None = None,
) -> None:
    """Measure on sessions of agents with tools, which ship with warmset (agent_recall).

    Args:
        path: A session of your own in the same form, or a directory of them; those that ship with
            warmset if not given.
        split: Which sessions: fit, those that weights may be fitted on; held_out; or all.
        retriever: Further retrievers beside the default; see locomo.
        budgets: Sizes of windows, in percent of the conversation's tokens.
        k: Numbers of hits.
        json: Where to write the figures.
        words_only: Search by words alone, without the model.
        embedder: What makes vectors: minilm, static, openai, cohere or voyage, a service with a
            model after a colon.
        views: What is embedded of a turn: both, its own text and the turn among its neighbours; or
            turn, its own text alone.
        store: A directory to keep the conversations in, so that a second run embeds nothing.
    """
    _run(
        Options(
            dataset="agents",
            path=path,
            split=split,
            retrievers=retriever or (),
            budgets=percentages(budgets),
            cuts=numbers(k),
            json=json,
            words_only=words_only,
            embedder=embedder,
            views=views,
            store=store,
        )
    )


@app.command
def needle(
    *,
    turns: str = _TURNS,
    budget: int = BUDGET,
    trials: int = TRIALS,
    depth: float = DEPTH,
    json: Path | None = None,
    words_only: _Flag = False,
    embedder: str | None = None,
) -> None:
    """Look for a decision that was made early in a made-up conversation.

    Args:
        turns: Lengths of conversations, in messages.
        budget: Tokens of a window, for "recency" and "jit".
        trials: Conversations of each length.
        depth: Where the decision stands, in percent of the conversation.
        json: Where to write the figures.
        words_only: Search by words alone, without the model.
        embedder: What makes vectors; see locomo.
    """
    settings = Settings(
        turns=numbers(turns),
        budget=budget,
        trials=trials,
        depth=depth,
        words_only=words_only,
        embedder=embedder,
    )
    with Bars(Console(stderr=True)) as bars:
        figures = run_needle(settings, bars)
    if json is not None:
        write.figures(json, figures)
    table.show_needle(figures, _out())


def _run(options: Options) -> None:
    with Bars(Console(stderr=True)) as bars:
        figures = measure(options, bars)
    if options.json is not None:
        write.figures(options.json, figures)
    if options.html is not None:
        write.text(options.html, page(figures))
    if options.svg is not None:
        write.text(options.svg, plot.as_text(plot.draw(figures)))
    table.show(figures, _out())


def _out() -> Console:
    return Console(file=sys.stdout, highlight=False, emoji=False, markup=False)
