"""Loops of the providers' own clients, against servers that refuse what the providers refuse.

The client keeps its history in warmset, or cuts its own list with it, and calls tools for hundreds
of turns; a list that the provider would refuse ends the loop with the client's exception.
"""

from __future__ import annotations

import pytest
from client_loops import TURNS, Chat, Messages, Responses, anthropic, asked, openai, run

from warmset import BudgetTooSmall, Memory, compact_context, fit, repair

pytestmark = pytest.mark.usefixtures("no_proxy")

BUDGET = 500
"""Tokens: some fifteen messages, of several hundred."""


@pytest.fixture
def conversation():
    with Memory.open(None, embedder="lexical") as memory:
        yield memory.conversation("log")


LOOPS = {"chat": Chat, "responses": Responses, "anthropic": Messages}
loops = pytest.mark.parametrize("make", LOOPS.values(), ids=LOOPS)


def least(make):
    """Make a list within the budget, or within what is needed at least."""
    try:
        return make(BUDGET)
    except BudgetTooSmall as error:
        return make(error.need)


@loops
@pytest.mark.parametrize("mode", ["jit", "recency"])
def test_windows_are_never_refused(httpserver, conversation, make, mode):
    loop = make(httpserver)

    def take():
        return least(
            lambda budget: conversation.window(
                budget=budget,
                mode=mode,
                recent=2,
                tools=loop.tools,
                system=loop.beside,
                dialect=loop.dialect,
                model=loop.model,
            )
        ).messages

    run(loop, take, conversation.append)


@loops
def test_cuts_of_a_conversation_are_never_refused(httpserver, conversation, make):
    loop = make(httpserver)

    def take():
        return least(
            lambda budget: conversation.fit(
                budget=budget, tools=loop.tools, system=loop.beside, model=loop.model
            )
        ).messages

    run(loop, take, conversation.append)


@loops
def test_fits_of_a_whole_list_are_never_refused(httpserver, make):
    loop, history = make(httpserver), []

    def take():
        return least(
            lambda budget: fit(
                history,
                budget=budget,
                tools=loop.tools,
                system=loop.beside,
                dialect=loop.dialect,
                model=loop.model,
            )
        ).messages

    run(loop, take, history.extend)


@loops
def test_fits_of_fits_are_never_refused(httpserver, make):
    loop, history = make(httpserver), []

    def take():
        history[:] = least(
            lambda budget: fit(history, budget=budget, dialect=loop.dialect, model=loop.model)
        ).messages
        return history

    run(loop, take, history.extend)


@loops
def test_compacted_contexts_are_never_refused(httpserver, make):
    loop, history = make(httpserver), []

    def take():
        if len(history) > 25:
            history[:] = compact_context(
                history, target_ratio=0.4, dialect=loop.dialect, model=loop.model
            ).messages
        return history

    run(loop, take, history.extend)


@loops
def test_synced_lists_are_never_refused(httpserver, make):
    loop, history = make(httpserver), []
    with Memory.open(None, embedder="lexical") as memory:

        def take():
            return least(
                lambda budget: memory.process(
                    history,
                    conversation="log",
                    budget=budget,
                    system=loop.beside,
                    recent=2,
                    dialect=loop.dialect,
                    model=loop.model,
                )
            ).messages

        run(loop, take, history.extend, turns=100)


@pytest.mark.parametrize("make", [Chat, Responses], ids=["chat", "responses"])
def test_parsed_replies_go_back_without_what_the_client_added(httpserver, conversation, make):
    """The client's own fields, `parsed` and `parsed_arguments`, are unknown to the provider."""
    loop = make(httpserver)
    loop.verb = "parse"

    def take():
        return conversation.window(budget=10**6, mode="full", dialect=loop.dialect).messages

    run(loop, take, conversation.append, turns=9)


def test_a_stored_chain_takes_what_is_new_alone(httpserver, conversation):
    """Every request names the response before it; every twentieth begins anew from a window."""
    loop = Responses(httpserver)
    new = [*loop.first, asked(0)]
    before = {}
    for turn in range(1, TURNS + 1):
        conversation.append(new)
        if turn % 20 == 0:
            before = {}
            new = conversation.window(budget=BUDGET, mode="recency", recent=2).messages
        sent = repair(new, dialect="responses", continues=bool(before))
        assert sent.changes == []
        said, calls = loop.call(sent.messages, store=True, **before)
        conversation.append(said)
        before = {"previous_response_id": loop.last}
        new = loop.results(calls) if calls else [asked(turn)]
        assert fit(new, budget=10_000, dialect="responses").messages == new
    assert loop.server.errors == []
    assert loop.server.served == TURNS


@pytest.mark.parametrize("make", [Chat, Responses], ids=["chat", "responses"])
def test_the_server_refuses_a_list_that_was_cut_anywhere(httpserver, make):
    loop = make(httpserver)
    history = [asked(0)]
    said, _ = loop.call(history)
    with pytest.raises(openai.BadRequestError):
        loop.call([*history, *said, asked(1)])
    assert loop.server.errors


def test_the_server_refuses_thinking_that_was_changed(httpserver):
    loop = Messages(httpserver)
    said, calls = loop.call([asked(0)])
    thinking, *rest = said[0]["content"]
    results = loop.done(said, calls)[1]
    history = [asked(0), {"role": "assistant", "content": rest}, results]
    with pytest.raises(anthropic.BadRequestError, match="Expected `thinking`"):
        loop.call(history)
    changed = {
        "role": "assistant",
        "content": [thinking.model_copy(update={"thinking": "?"}), *rest],
    }
    with pytest.raises(anthropic.BadRequestError, match="cannot be modified"):
        loop.call([asked(0), changed, results])
