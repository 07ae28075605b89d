"""The providers' own clients, against servers that check what thinking stands behind.

No list is refused, no thinking is dropped, and what is reported as removed is exactly what the
server would drop. `python tests/python/window/test_bound_clients.py 300` runs that many turns of
each loop.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from unittest import mock

import pytest
from bound_servers import BETA, BoundMessages, BoundResponses
from client_loops import SYSTEM, Messages, Responses, anthropic, asked
from pytest_httpserver import HTTPServer

from warmset import Memory, fit
from warmset.money import Prices
from warmset.window import auto

pytestmark = pytest.mark.usefixtures("no_proxy")

TURNS = 30
BUDGET = 2_200
"""Tokens: some twenty replies with the results of their calls."""

PRICES = Prices(fresh=4, cache_read=0.2, output=20)


class BoundThinking(Messages):
    """A loop of `anthropic` with models that check what their thinking stands behind."""

    serves = BoundMessages
    models = ("claude-fable-5-2", "claude-opus-5-5")
    model = models[0]
    drops = False

    def arguments(self, window):
        """Return what is sent of a window."""
        return window.anthropic()

    def beside(self, messages):
        """Return a list and what is sent with it."""
        return {"messages": messages, "system": SYSTEM, "tools": self.tools}

    def send(self, sent):
        """Send a request; return the reply, the ids of its calls, and the number of drops."""
        options = {"model": self.model, "max_tokens": 4_000, "thinking": {"type": "adaptive"}}
        create = self.client.messages.create
        if self.drops:
            options["thinking"]["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
            create, options["betas"] = self.client.beta.messages.create, [BETA]
        made = create(**options, **sent)
        calls = [block.id for block in made.content if block.type == "tool_use"]
        return made, calls, made.to_dict()["input_transformations"]

    def said(self, made, turn):
        """Return a reply as it is appended: the response, or a message with its blocks."""
        return made if turn % 2 else {"role": "assistant", "content": made.content}

    def listed(self, made):
        """Return a reply as it is put into a list of one's own."""
        return [{"role": "assistant", "content": made.content}]

    def results(self, ids):
        return self.done([], ids)


class Dropping(BoundThinking):
    """A loop whose requests ask to drop thinking behind a changed prefix."""

    drops = True


class BoundReasoning(Responses):
    """A loop of `openai` with models that drop reasoning behind a changed prefix."""

    serves = BoundResponses
    models = ("gpt-6.2-sol", "gpt-6-sol")
    model = models[0]

    def arguments(self, window):
        return window.responses()

    def beside(self, messages):
        return {"input": messages, "tools": self.tools}

    def send(self, sent):
        made = self.client.responses.create(model=self.model, store=False, **sent)
        calls = [one.call_id for one in made.output if one.type == "function_call"]
        return made, calls, made.to_dict()["input_transformations"]

    def said(self, made, _turn):
        return made.output

    def listed(self, made):
        return made.output


LOOPS = {"refusing": BoundThinking, "dropping": Dropping, "openai": BoundReasoning}


class Stored:
    """Keeps its history in a conversation, and asks it for a window.

    Args:
        loop: The client and its server.
        memory: Where the conversation is stored.
        mode: The mode of the windows.
    """

    forgets = False  # whether thinking that left is reported only once

    def __init__(self, loop, memory, mode):
        self.loop, self.mode, self.found = loop, mode, Counter()
        self.memory, self.conversation = memory, memory.conversation("log")
        self.window = None

    @property
    def options(self):
        beside = SYSTEM if self.loop.dialect == "anthropic" else None
        given = {"budget": BUDGET, "mode": self.mode, "model": self.loop.model, "system": beside}
        if self.mode == "auto":
            given["prices"] = PRICES
        return given | {"tools": self.loop.tools, "dialect": self.loop.dialect}

    def made(self):
        """Make a window; mode "auto" finds another mode cheaper every nine windows."""
        renewed = float("inf") if self.found["windows"] // 9 % 2 else 0.0
        with mock.patch.object(auto, "renewed_cost", return_value=renewed):
            return self.window_of()

    def window_of(self):
        return self.conversation.window(**self.options)

    def take(self):
        """Return what is sent, and what the report has of its thinking."""
        made = self.window = self.made()
        report = made.report
        self.found.update({"windows": 1, report.mode: 1})
        began = report.epoch is not None and report.epoch.began
        self.found.update(epochs=began, swaps=began and "budget" in report.epoch.why)
        return self.loop.arguments(made), report.thinking

    def keep(self, made, turn):
        """Append a reply."""
        self.conversation.append(self.loop.said(made, turn), window=self.window)

    def tell(self, messages):
        """Append what a user or a tool says."""
        self.conversation.append(messages)


class Synced(Stored):
    """Keeps the whole history itself, and has it stored."""

    def __init__(self, loop, memory, mode):
        super().__init__(loop, memory, mode)
        self.history = []

    def window_of(self):
        return self.memory.process(self.history, conversation="log", **self.options)

    def keep(self, made, _turn):
        self.history += self.loop.listed(made)

    def tell(self, messages):
        self.history += messages


class Fitted:
    """Cuts a list without a store, and keeps what was sent, or the whole list.

    Args:
        loop: The client and its server.
        whole: Whether it keeps the whole list.
    """

    def __init__(self, loop, *, whole):
        self.loop, self.found, self.forgets = loop, Counter(), not whole
        self.history, self.last = [], None

    def take(self):
        beside = SYSTEM if self.loop.dialect == "anthropic" else None
        given = {"system": beside, "tools": self.loop.tools, "model": self.loop.model}
        given |= {"dialect": self.loop.dialect, "sent": self.last}
        made = fit(self.history, budget=BUDGET, **given)
        self.found.update(windows=1)
        self.found.update(cuts=len(made.messages) < len(self.history))
        sent = self.loop.beside(made.messages)
        self.last = sent | {"model": self.loop.model}
        if self.forgets:
            self.history = list(made.messages)
        return sent, made.thinking

    def keep(self, made, _turn):
        self.history += self.loop.listed(made)

    def tell(self, messages):
        self.history += messages


def run(loop, agent, turns=TURNS):
    """Run a loop; the middle third is another model's. Return what became of the thinking."""
    bindings, found, gone = loop.server.bindings, agent.found, set()
    agent.tell([*loop.first, asked(0)])
    calls = []
    for turn in range(turns):
        if not calls:  # an exchange begins
            loop.model = loop.models[turns // 3 <= turn < turns * 2 // 3]
        sent, thinking = agent.take()
        made, calls, dropped = loop.send(sent)
        body = loop.server.body
        left = bindings.left_out(body) - gone
        would = [mark for mark in left if bindings.would_drop(body, mark)]
        found.update(turns=1, dropped=len(dropped), left=len(left), would=len(would))
        found.update(removed=sum(one.blocks for one in thinking.removed), kept=thinking.kept)
        gone |= left if agent.forgets else set()
        agent.keep(made, turn)
        agent.tell(loop.results(calls) if calls else [asked(turn + 1)])
    found.update(refused=len(loop.server.errors), served=loop.server.served)
    return found


def stored(loop, way, mode, turns=TURNS):
    with Memory.open(None, embedder="lexical") as memory:
        return run(loop, way(loop, memory, mode), turns)


def holds(found, turns):
    """Assert that nothing was refused or dropped, and that the report has all that left."""
    assert found["refused"] == 0
    assert found["served"] == turns
    assert found["dropped"] == 0, "sent, and not reported"
    assert found["left"] == found["removed"], "left out, and not reported"
    assert found["kept"] > turns
    assert found["removed"] > 0


MODES = ("steady", "jit", "auto")
WAYS = {"append": Stored, "process": Synced}
SOME = [
    pytest.param(LOOPS[name], way, mode, id=f"{name}-{how}-{mode}")
    for name in LOOPS
    for how, way in WAYS.items()
    for mode in MODES
    if name != "dropping" or (how, mode) == ("append", "steady")
]
"""The loops that ask for the drop send the same lists as those that do not: one is enough."""


@pytest.mark.parametrize(("make", "way", "mode"), SOME)
def test_windows_lose_what_the_server_would_drop_and_no_more(httpserver, make, way, mode):
    found = stored(make(httpserver), way, mode)
    holds(found, TURNS)
    assert found["would"] == found["removed"], "reported, though the server would take it"
    if mode == "steady":
        assert found["swaps"] > 0
        assert found["epochs"] > found["swaps"]
    if mode == "auto":
        assert min(found["steady"], found["jit"]) > 3


@pytest.mark.parametrize("make", [BoundThinking, BoundReasoning], ids=["refusing", "openai"])
@pytest.mark.parametrize("whole", [True, False], ids=["whole list", "cut list"])
def test_fits_lose_what_the_server_would_drop(httpserver, make, whole):
    """What was sent before the last list is not known to `fit`: of it, more than needed leaves."""
    loop = make(httpserver)
    found = run(loop, Fitted(loop, whole=whole))
    holds(found, TURNS)
    assert found["cuts"] > 3
    assert found["would"] == found["removed"] or (whole and found["would"] > TURNS)


def replied(loop, count):
    """Return a list with some replies, each with its results."""
    history, turn = [*loop.first, asked(0)], 0
    for turn in range(count):
        made, calls, dropped = loop.send(loop.beside(history))
        assert dropped == []
        history += loop.listed(made)
        history += loop.results(calls) if calls else [asked(turn + 1)]
    return history


def test_the_server_refuses_thinking_behind_another_list(httpserver):
    loop = BoundThinking(httpserver)
    history = replied(loop, 4)
    changed = [asked(9), *history[1:]]
    with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
        loop.send(loop.beside(changed))
    loop.send(loop.beside(history))
    with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
        loop.send(loop.beside(history) | {"system": "Be brief."})
    loop.model = loop.models[1]  # it may not read what another model thought
    _, _, dropped = loop.send(loop.beside(changed))
    assert {one["reason"] for one in dropped} == {"model_binding_mismatch"}


def test_the_server_drops_thinking_if_it_is_asked_to(httpserver):
    loop = Dropping(httpserver)
    history = replied(loop, 4)
    changed = [*history[:-1], {"role": "user", "content": "Another question."}]
    assert loop.send(loop.beside(changed))[2] == [], "no thinking stands behind it"
    changed = [asked(9), *history[1:]]
    _, _, dropped = loop.send(loop.beside(changed))
    thinks = [
        f"messages.{at}.content.{place}"
        for at, message in enumerate(changed)
        if message["role"] == "assistant"
        for place, block in enumerate(message["content"])
        if "thinking" in block.type
    ]
    assert [one["path"] for one in dropped] == thinks
    assert {one["reason"] for one in dropped} == {"prefix_binding_mismatch"}
    options = {"model": loop.model, "max_tokens": 9, **loop.beside(history)}
    binding = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    with pytest.raises(anthropic.BadRequestError, match="Extra inputs"):
        loop.client.messages.create(thinking={"type": "adaptive", **binding}, **options)


def test_the_server_drops_reasoning_behind_another_list(httpserver):
    loop = BoundReasoning(httpserver)
    history = replied(loop, 8)
    changed = [loop.first[0], asked(9), *history[2:]]
    _, _, dropped = loop.send(loop.beside(changed))
    ids = [one.id for one in history if getattr(one, "type", "") == "reasoning"]
    assert [one["id"] for one in dropped] == ids
    assert {one["reason"] for one in dropped} == {"prefix_mismatch"}
    assert loop.send(loop.beside(history))[2] == []


if __name__ == "__main__":
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    for name, loop in LOOPS.items():
        for how, way in WAYS.items():
            for mode in MODES:
                with HTTPServer(port=0) as server:
                    found = stored(loop(server), way, mode, int(sys.argv[1]))
                    print(name, how, mode, dict(found))
        for whole in (True, False):
            with HTTPServer(port=0) as server:
                made = loop(server)
                found = run(made, Fitted(made, whole=whole), int(sys.argv[1]))
                print(name, "fit", "whole list" if whole else "cut list", dict(found))
