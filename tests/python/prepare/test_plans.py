"""Plans by themselves, before any try again: a boundary, a cut, and what a window then shows.

Each is compared with one that tries every place, at budgets that are met exactly and by one token.
"""

from __future__ import annotations

from random import Random
from types import SimpleNamespace

import pytest

from warmset import Memory, PreparedCompaction, count_tokens
from warmset.errors import BudgetTooSmall, SummarizerError
from warmset.messages import facts, units
from warmset.prepare import jobs
from warmset.prepare.apply import Cut, cut, fitted
from warmset.prepare.boundaries import choose
from warmset.prepare.stored import Cover, ready_of
from warmset.window.render import Call

REPLY = 3
"""Tokens that every list has besides its messages."""

SEEDS = range(12)


def tokens(message):
    return count_tokens([message]) - REPLY


def called(*ids):
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}}
            for one in ids
        ],
    }


def conversation(seed, *, loose=True):
    """Make up a list of tool steps and talk; `loose` for calls that nobody ever answers."""
    rng = Random(seed)
    said = [{"role": "system", "content": "Be brief."}] if rng.random() < 0.5 else []
    said.append({"role": "user", "content": "The task: count the crates."})

    def text(most):
        return " ".join(
            rng.choices(["crate", "tide", "harbour", "7", "rope"], k=rng.randint(1, most))
        )

    def answered(one):
        return {"role": "tool", "tool_call_id": one, "content": text(20)}

    for step in range(rng.randint(5, 9)):
        one, other = f"a{step}", f"b{step}"
        match rng.choice(["talk", "talk", "tools", "tools", "tangled", "system", "loose"]):
            case "talk":
                said.append({"role": "user", "content": text(12)})
                said.append({"role": "assistant", "content": text(30)})
            case "tools":
                said += [called(one, other), answered(other), answered(one)]
            case "tangled":
                said += [called(one), {"role": "assistant", "content": text(5)}, answered(one)]
            case "system":
                said.append({"role": "system", "content": text(3)})
            case "loose" if loose:
                said.append(called(one))
    end = rng.choice(["asked", "said", "waits", "works", "works"])
    said += [{"role": "user", "content": text(9)}]
    said += [] if end == "asked" else [{"role": "assistant", "content": text(9)}]
    said += [called("z")] if end in {"waits", "works"} else []
    for step in range(3 if end == "works" else 0):  # one call waits while others are answered
        said += [called(f"y{step}"), answered(f"y{step}")]
    return said


class Told:
    """The units of a list by the rules in words: their tokens, and which of them must stay."""

    def __init__(self, said):
        self.said = said
        self.units = units([facts(one, "openai") for one in said])
        self.costs = [sum(tokens(said[at]) for at in one.members) for one in self.units]
        users = [at for at, one in enumerate(said) if one["role"] == "user"]
        self.asked = users[-1]
        self.must = {
            number
            for number, one in enumerate(self.units)
            if one.kind == "system"
            or not {users[0], users[-1]}.isdisjoint(one.members)
            or (one.open and one.members[-1] > self.asked)
        }

    def home(self, place):
        return next(at for at, one in enumerate(self.units) if place in one.members)

    def since(self, start):
        return sum(self.costs[start:])

    def boundary(self, *, after, tail, keep):
        """Return the boundary and the messages before it that a summary stands for, or None."""
        count = len(self.units)
        latest = min(next(at for at in range(count + 1) if self.since(at) <= tail), count - keep)
        waiting = [
            at for at, one in enumerate(self.units) if one.open and one.members[-1] > self.asked
        ]
        for start in range(min([max(latest, 0), *waiting]), 0, -1):
            place = self.units[start].members[0] if start < count else len(self.said)
            if all(one.members[-1] < place for one in self.units[:start]):
                break
        else:
            return None
        if start == count:
            return None
        gone = [at for at in range(after, place) if self.home(at) not in self.must]
        return (place, gone) if place > after and gone else None


@pytest.fixture
def stored():
    """Stores lists, each in a conversation of its own; returns the engine and its ledger."""
    with Memory.open(None, embedder="lexical") as memory:

        def store(said, name):
            memory.conversation(name).append(said)
            return memory._engine, memory._engine.ledger("default", name)

        store.memory = memory
        with memory._engine.lock:  # as who plans holds it
            yield store


@pytest.mark.parametrize("seed", SEEDS)
def test_a_boundary_is_the_last_one_that_keeps_to_its_limits(stored, seed):
    said = conversation(seed)
    told = Told(said)
    _, ledger = stored(said, "log")
    path = ledger.history.path
    places = {0}
    tails = {told.since(at) + off for at in range(len(told.units) + 1) for off in (-1, 0, 1)}
    for keep in (1, 2, 4, len(told.units), len(told.units) + 3):
        for after in sorted(places):
            for tail in sorted(one for one in tails if one >= 0):
                wanted = told.boundary(after=after, tail=tail, keep=keep)
                span = choose(ledger, after=after, tail=tail, keep=keep)
                if wanted is None:
                    assert span is None
                    continue
                place, gone = wanted
                assert span is not None, (after, tail, keep)
                assert (span.boundary, span.last) == (place, path[place - 1])
                assert span.ids == tuple(path[at] for at in gone)
                assert span.cost == sum(tokens(said[at]) for at in gone)
                places.add(place)


def works(said):
    """Return steps of a request that goes on, and the next request with its answer."""
    steps = []
    for at in range(4):
        steps.append(called(f"w{at}"))
        steps.append({"role": "tool", "tool_call_id": f"w{at}", "content": "crate " * (5 * at + 1)})
    result = {"role": "tool", "tool_call_id": "z", "content": "rope"}
    waits = any(one.get("tool_calls", [{}])[0].get("id") == "z" for one in said)
    talk = [{"role": "user", "content": "And the ropes?"}, {"role": "assistant", "content": "Two."}]
    return [*([result] if waits else []), *steps], talk


class Shown(Told):
    """What a window with a summary shows, by trying every place to begin.

    The summary is made in the middle of a request, and shown behind the next one.
    """

    def __init__(self, memory, engine, ledger, said, rng):
        steps, talk = works(said)
        memory.conversation(ledger.name).append(steps)
        super().__init__([*said, *steps])
        count = len(self.units)
        span = choose(ledger, after=0, tail=self.since(rng.randrange(1, count)), keep=2)
        span = span or choose(ledger, after=0, tail=self.since(count - 1), keep=1)
        assert span is not None
        cover = Cover(boundary=span.boundary, covered=set(span.ids), before=span.cost, spent=0)
        self.ready = ready_of(engine, ledger, None, "Much was counted.", cover)
        self.first = self.home(span.boundary)
        covered = {ledger.history.path.index(one) for one in span.ids}
        self.held = [at for at in range(span.boundary) if at not in covered]
        self.place = min(covered)
        memory.conversation(ledger.name).append(talk)
        super().__init__([*said, *steps, *talk])
        self.must |= {len(self.units) - 1, self.home(len(self.said) - 1)}

    def places(self, start):
        """Return the positions behind the boundary that are shown if units from one on are."""
        shown = [
            number
            for number in range(self.first, len(self.units))
            if number >= start or number in self.must
        ]
        return sorted(at for number in shown for at in self.units[number].members)

    def list(self, start):
        front = [self.said[at] for at in self.held if at < self.place]
        back = [at for at in self.held if at > self.place] + self.places(start)
        return [*front, self.ready.message, *(self.said[at] for at in back)]

    def starts(self):
        return range(self.first, len(self.units) + 1)

    def plan(self, budget, low, left, more):
        """Return the list to show, or None: the longest that fits, or a cut to the low line."""
        sizes = {start: count_tokens([*self.list(start), *more]) for start in self.starts()}
        begun = self.first
        if left is not None and left.boundary == self.ready.boundary:
            begun = max(left.start, self.first)
        if sizes[min(begun, len(self.units))] <= budget:
            return self.list(begun)
        for line in (low, budget):
            for start in self.starts():
                if sizes[start] <= line:
                    return self.list(start)
        return None


@pytest.mark.parametrize("seed", range(8))
def test_a_window_with_a_summary_has_the_longest_tail_that_fits(stored, seed):
    request_ = "How many crates are there?" if seed % 2 else None
    said = conversation(seed, loose=False)
    engine, ledger = stored(said, "log")
    told = Shown(stored.memory, engine, ledger, said, Random(seed))
    more = [] if request_ is None else [{"role": "user", "content": request_}]
    sizes = {count_tokens([*told.list(start), *more]) for start in told.starts()}
    lines = sorted(one + off for one in sizes for off in (-1, 0, 1))
    boundary = told.ready.boundary
    cuts = [None, Cut(boundary, told.first + 1), Cut(boundary - 1, len(told.units) - 1)]
    outcomes = set()
    for budget in lines:
        call = Call("openai", "openai", None, None, request_, budget)
        lows = {budget * 2 // 3, budget, *[one for one in lines if one < budget][-5:]}
        for at, low in enumerate(sorted(lows)):
            left = cuts[at % 3]
            wanted = told.plan(budget, low, left, more)
            if wanted is None:
                with pytest.raises(BudgetTooSmall):
                    fitted(engine, ledger, call, told.ready, left, low)
                outcomes.add("too small")
                continue
            made, found = fitted(engine, ledger, call, told.ready, left, low)
            assert made.messages == [*wanted, *more], (budget, low, left)
            assert made.tokens == count_tokens(made.messages) <= budget
            outcomes.add("cut" if found is not left else "as it was")
            again, kept = fitted(engine, ledger, call, told.ready, found, low)
            assert (again.messages, kept) == (made.messages, found), "a cut is kept while it fits"
    assert outcomes == {"too small", "cut", "as it was"} - ({"cut"} if len(sizes) == 1 else set())


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cut_leaves_room_for_the_summary_and_all_that_stays(stored, seed):
    said = conversation(seed)
    engine, ledger = stored(said, "log")
    told = Shown(stored.memory, engine, ledger, said, Random(seed))
    summary = tokens(told.ready.message)
    front = sum(tokens(told.said[at]) for at in told.held)
    sizes = {
        start: summary + front + sum(tokens(told.said[at]) for at in told.places(start))
        for start in told.starts()
    }
    for room in sorted(one + off for one in set(sizes.values()) for off in (-1, 0, 1)):
        fits = [start for start in told.starts() if sizes[start] <= room]
        if not fits:
            with pytest.raises(BudgetTooSmall):
                cut(ledger, told.ready, room)
            continue
        found = cut(ledger, told.ready, room)
        assert found.boundary == told.ready.boundary
        assert told.places(found.start) == told.places(fits[0])


def test_a_call_that_nobody_answered_is_not_sent_behind_the_boundary(stored):
    said = conversation(1, loose=False)
    call = {"id": "lost", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    lost = {"role": "assistant", "content": None, "tool_calls": [call]}
    said += [lost, {"role": "user", "content": "Go on."}, {"role": "assistant", "content": "Yes."}]
    engine, ledger = stored(said, "log")
    told = Told(said)
    span = choose(ledger, after=0, tail=told.since(len(told.units) - 4), keep=3)
    cover = Cover(boundary=span.boundary, covered=set(span.ids), before=span.cost, spent=0)
    ready = ready_of(engine, ledger, None, "Much was counted.", cover)
    assert span.boundary <= len(said) - 3
    asked = Call("openai", "openai", None, None, None, 10_000)
    made, _ = fitted(engine, ledger, asked, ready, None, 10_000)
    assert lost not in made.messages
    assert made.messages[-2:] == said[-2:]


@pytest.mark.parametrize(
    ("room", "cost", "most"), [(0, 900, 1), (5, 900, 5), (90, 2, 1), (90, 20, 5)]
)
def test_a_summary_may_have_one_token_at_least(room, cost, most, monkeypatch):
    asked = []

    def summary_of(_messages, _writer, **given):
        asked.append(given["max_tokens"])
        raise SummarizerError("enough is known")

    monkeypatch.setattr(jobs.summarize, "summary_of", summary_of)
    with Memory.open(None, embedder="lexical") as memory:
        ids = memory.conversation("log").append([{"role": "user", "content": "a"}])
        job = jobs.Job(
            policy=PreparedCompaction(summarizer=lambda _messages, max_tokens: "x" * max_tokens),
            span=SimpleNamespace(cost=cost, ids=ids),
            path=tuple(ids),
            previous=None,
            dialect="openai",
            room=room,
            size=900,
            begun=0.0,
            focus=None,
            now=False,
            claim=None,
        )
        job.run(memory._engine, lambda *_done: None)
    assert asked == [most]
