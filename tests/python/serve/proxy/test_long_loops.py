"""Long loops of the providers' own clients through the proxy, with models that bind thinking.

The clients send their whole list each time, and nothing says who is talking. The servers refuse
what the providers refuse, and look what each piece of thinking stands behind.
`HYPOTHESIS_PROFILE=deep python -m pytest tests/python/serve/proxy/test_long_loops.py` makes 300
calls in each loop, each with a result of some 550 tokens, as agents' are.
"""

from __future__ import annotations

import json
import os
import random

import client_loops
import pytest
from bound_loops import Reasoning, Thinking, plain
from client_loops import Chat, Messages, asked, found

from warmset.lab.cost.prompt_cache import Piece, PromptCache
from warmset.money.table import prices_of
from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.options import ProxyOptions
from warmset.serve.proxy.tenants import Tenants
from warmset.tokens import extra_tokens, message_tokens

DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
CALLS = 300 if DEEP else 26
WORDS = 400 if DEEP else 0
"""Words in a tool's result besides what was counted."""

BUDGET = 32_000 if DEEP else 2_200
"""Tokens; the short loops have room for some twenty replies with the results of their calls."""

PATIENCE = 3_600.0
"""Seconds that a window may take: a slow machine does not make a request go as it came."""

BAR = 0.4 if DEEP else 1.35
"""The most that the input of a loop may cost, as a share of what it costs with the whole list. No
cache takes the short loops' lists."""

ENCODING = "o200k_base"
NOUNS = ("crate", "barrel", "rope", "sail", "anchor", "lamp", "chart", "pump", "winch", "oar")
COLOURS = ("amber", "crimson", "indigo", "ochre", "teal", "violet")


class Completions(Chat):
    """A loop of `openai` on Chat Completions with a model whose prices are known.

    The list is written here, as that of `Reasoning`.
    """

    model = "gpt-6.2-sol"

    def call(self, messages):
        written = {"messages": [plain(one) for one in messages]}
        send = self.client.chat.completions.create
        made = send(model=self.model, messages=[], tools=self.tools, extra_body=written)
        said = made.choices[0].message
        return [said], [call.id for call in said.tool_calls or ()]


@pytest.fixture(autouse=True)
def long_results(monkeypatch):
    def result(call):
        draw = random.Random(call)
        return f"{found(call)} {' '.join(f'{draw.choice(NOUNS)} {at}' for at in range(WORDS))}"

    monkeypatch.setattr(client_loops, "found", result)


@pytest.fixture
def who(tmp_path):
    return Callers(Tenants(b"s" * 32, Aliases(tmp_path)), ProxyOptions())


def code(at):
    return f"QX-{7919 * (at + 3) % 10_000:04d}"


def door(at):
    return {"role": "user", "content": f"Note this: the {COLOURS[at]} door has code {code(at)}."}


def question(at):
    return {"role": "user", "content": f"What was the code of the {COLOURS[at]} door?"}


class Judge:
    """Looks at every request that reaches a server."""

    def __init__(self, loop, field):
        self.field, self.bindings = field, getattr(loop.server, "bindings", None)
        self.bodies, self.swaps, self.left, self.early = [], 0, set(), []
        self.invalid = {}
        self._judge, loop.server.refused = loop.server.refused, self.refused

    def refused(self, body):
        grew = not self.bodies or self._goes_on(self.bodies[-1], body)
        self.swaps += not grew
        self.bodies.append(body)
        if self.bindings is not None:
            if found := self.bindings.invalid(body):
                self.invalid[len(self.bodies)] = found
            left = self.bindings.left_out(body)
            if grew and left - self.left:
                self.early.append((len(self.bodies), left - self.left))
            self.left |= left
        return self._judge(body)

    def _goes_on(self, before, body):
        old, new = before[self.field], body[self.field]
        same = all(before.get(name) == body.get(name) for name in ("system", "tools", "thinking"))
        return same and _bare(new[: len(old)]) == _bare(old)


def money(bodies, field):
    """Return what the input of calls costs, 20 seconds apart, with the provider's prompt cache.

    Tokens are counted as windows count them, and as the page on what sessions cost does.
    """
    prices = prices_of(bodies[0]["model"])
    cache, cost, known = PromptCache(prices), 0.0, {}

    def piece(text, count):
        if text not in known:
            known[text] = Piece(text.encode(), count())
        return known[text]

    for at, body in enumerate(bodies):
        beside = {name: _bare(body[name]) for name in ("tools", "system") if name in body}
        pieces = [piece(json.dumps(beside), lambda said=beside: extra_tokens(ENCODING, **said))]
        for message in _bare(body[field]):
            count = lambda said=message: message_tokens([said], ENCODING)[0]  # noqa: E731
            pieces.append(piece(json.dumps(message), count))
        hit = cache.send(pieces, 20.0 * at)
        cost += hit.fresh * prices.fresh + hit.cached * prices.cache_read
        cost += hit.written * prices.written
    return cost


def _bare(value):
    """Return a value without cache marks."""
    if isinstance(value, dict):
        return {key: _bare(one) for key, one in value.items() if key != "cache_control"}
    return [_bare(one) for one in value] if isinstance(value, list) else value


def run(loop, calls):
    """Run a loop that notes codes at first and asks for them at last.

    Returns:
        The whole lists that were sent, and at which call each code was asked for.
    """
    messages, lists, asks = list(loop.first), [], {}
    noted = ends = 0
    since = calls * 2 // 3
    messages.append(door(0))
    for number in range(calls):
        lists.append([plain(one) for one in messages])
        said, wanted = loop.call(messages)
        messages += loop.done(said, wanted) if wanted else said
        if wanted:
            continue
        ends += 1
        if number >= since and noted >= len(asks) and len(asks) < min(noted + 1, len(COLOURS)):
            messages.append(question(len(asks)))
            asks[number + 1] = len(asks)
        elif noted + 1 < len(COLOURS) and number < calls // 3:
            noted += 1
            messages.append(door(noted))
        else:
            messages.append(asked(ends))
    return lists, asks


@pytest.mark.parametrize("mode", ["auto", "steady"] if DEEP else ["auto"])
@pytest.mark.parametrize(
    ("make", "field"), [(Completions, "messages"), (Reasoning, "input"), (Thinking, "messages")]
)
def test_a_long_loop_is_never_refused_and_finds_what_was_said(
    proxied, httpserver, who, make, field, mode
):
    loop = make(httpserver)
    judge = Judge(loop, field)
    options = {"budget": BUDGET, "mode": mode, "patience": PATIENCE}
    with proxied(loop.server.url, who=who, **options) as proxy:
        version = "" if isinstance(loop, Messages) else "/v1"
        loop.client = loop.client.with_options(base_url=f"{proxy.url}{version}")
        lists, asks = run(loop, CALLS)
        assert loop.server.errors == []
        assert loop.server.served == CALLS
        [tenant] = list(proxy.memories._open)
        with proxy.memories.of(tenant) as memory:
            [name] = memory.conversations()
            stored = len(list(memory.conversation(name).messages()))
        assert proxy.watcher.recent.state()["bypasses"] == {}
    assert len(lists[-1]) < stored
    sent = [body[field] for body in judge.bodies]
    assert max(map(len, sent)) < len(lists[-1])
    assert judge.invalid == {}, "thinking that the provider drops was sent"
    assert judge.early == [], "thinking left between swaps"
    assert len(asks) > 1
    for call, at in asks.items():
        assert call >= CALLS or code(at) in json.dumps(sent[call]), COLOURS[at]
    whole = [{**judge.bodies[0], field: one} for one in lists]
    share = money(judge.bodies, field) / money(whole, field)
    print(f"{share:.3f} of the money of whole lists, {judge.swaps} swaps")
    assert share <= BAR
