"""Loops of function calls with Google's client and a server that refuses what Gemini refuses."""

from __future__ import annotations

import json

import pytest
from fitting import cases
from interactions_server import Gemini, RefusedError, serving

from warmset import Chain, ClearToolResults, Memory, TokenBudget, count_tokens, fit, validate
from warmset.messages import accept, detect, repair

genai = pytest.importorskip("google.genai", reason="the package google-genai is not installed")

TURNS = cases(60, 300)
BUDGET = 1_500
LOOK = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
READ = {**LOOK, "name": "read_file"}


@pytest.fixture
def gemini():
    return Gemini(seed=7)


@pytest.fixture
def client(gemini):
    with serving(gemini) as url:
        options = genai.types.HttpOptions(base_url=url)
        with genai.Client(api_key="k", http_options=options) as one:
            yield one


def asked(number):
    text = f"Request {number}: what is in crate {number}, and who sent it? " + "Be exact. " * 20
    return {"type": "user_input", "content": [{"type": "text", "text": text}]}


def results(steps):
    return [
        {
            "type": "function_result",
            "call_id": step.id,
            "name": step.name,
            "result": f"{step.name} {step.arguments['path']}: " + "line of it; " * 40,
        }
        for step in reversed(steps)
        if step.type == "function_call"
    ]


class Fit:
    """Keeps a list of its own, and fits it before each call."""

    def __init__(self, policy=None):
        self.policy = policy
        self.steps = []

    def append(self, steps):
        self.steps += accept(steps)

    def input(self):
        made = fit(self.steps, budget=BUDGET, policy=self.policy)
        assert made.tokens <= BUDGET
        return made.messages


class Talk:
    """Appends to a conversation, and takes what the window or `Conversation.fit` gives."""

    def __init__(self, conversation, how):
        self.conversation = conversation
        self.how = how

    def append(self, steps):
        self.conversation.append(steps)

    def input(self):
        if self.how == "fit":
            return self.conversation.fit(budget=BUDGET).messages
        window = self.conversation.window(budget=BUDGET, mode=self.how)
        assert window.dialect == "interactions"
        assert window.tokens <= BUDGET
        return window.messages


def keeper(name, memory):
    if name == "fit":
        return Fit()
    if name == "clear":
        return Fit(Chain(ClearToolResults(keep=3), TokenBudget()))
    return Talk(memory.conversation("loop"), name.removeprefix("Conversation."))


KEEPERS = {"fit": TURNS, "jit": TURNS, "clear": 60, "Conversation.fit": 60, "recency": 60}


@pytest.mark.parametrize(("name", "turns"), KEEPERS.items())
def test_no_request_is_refused_and_responses_come_back_as_they_went(name, turns, gemini, client):
    with Memory.open(None, embedder="lexical") as memory:
        kept = keeper(name, memory)
        calls, whole = 0, []
        new = [asked(0)]
        for number in range(1, turns + 1):
            kept.append(new)
            whole += accept(new)
            sent = kept.input()
            reply = client.interactions.create(
                model="gemini-3.5-flash", input=sent, store=False, tools=[LOOK, READ]
            )
            made = results(reply.steps)
            calls += len(made)
            new = [*reply.steps, *(made or [asked(number)])]
    assert gemini.refusals == []
    assert len(gemini.lists) == turns
    assert calls > turns
    assert count_tokens(whole) > turns // 30 * BUDGET
    shortened = [steps for steps in gemini.lists if asked(0) in steps and len(steps) > 10]
    assert len(shortened) > turns // 2, "the task stays"
    lengths = [len(steps) for steps in gemini.lists]
    assert max(lengths[-50:]) < len(whole) // 2
    for steps in gemini.lists[:: turns // 20]:
        assert validate(steps, model="gemini-3.5-flash") == []


def test_what_the_provider_has_stored_is_continued(gemini, client):
    new, before, alone = [asked(0)], None, 0
    for number in range(1, 61):
        assert validate(new, dialect="interactions", continues=before is not None) == []
        alone += {one.severity for one in validate(new)} == {"discouraged"}
        mended = repair(new, continues=before is not None)
        assert (mended.messages, mended.changes) == (new, [])
        more = {} if before is None else {"previous_interaction_id": before}
        reply = client.interactions.create(model="gemini-3.5-flash", input=new, **more)
        before = reply.id
        new = results(reply.steps) or [asked(number)]
        assert detect(new) == "interactions"
    assert gemini.refusals == []
    assert alone > 30, "results alone are discouraged where nothing is said of a stored call"


def shown(gemini):
    """A list that the server takes: a request, a response with two calls, their results."""
    calls = 0
    while calls != 2:
        gemini.lists.append([])
        response = gemini.respond()
        calls = sum(step["type"] == "function_call" for step in response)
    made = [
        {"type": "function_result", "call_id": s["id"], "name": s["name"], "result": "x"}
        for s in response
        if s["type"] == "function_call"
    ]
    return [asked(0), *response, *made]


BROKEN = {
    "a result is missing": lambda steps: steps[:-1],
    "results stand alone": lambda steps: [steps[0], *steps[-2:]],
    "the thought is missing": lambda steps: [steps[0], *steps[2:]],
    "a signature was changed": lambda s: [s[0], {**s[1], "signature": "eA=="}, *s[2:]],
    "a call is missing": lambda steps: [*steps[:-3], *steps[-2:]],
    "the user speaks before": lambda steps: [*steps[:-2], asked(1), *steps[-2:]],
    "a result is given twice": lambda steps: [*steps, steps[-1]],
    "the model begins": lambda steps: steps[1:],
    "nothing is asked": lambda steps: steps[:1] + steps[1:-4],
    "a turn of before": lambda steps: [{"role": "user", "content": "hi"}, *steps],
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_the_server_refuses(broken, gemini):
    steps = shown(gemini)
    gemini.check(json.loads(json.dumps(steps)))
    with pytest.raises(RefusedError):
        gemini.check(broken(steps))


def test_the_client_is_told_what_is_refused(gemini, client):
    steps = [asked(0), {"type": "function_call", "id": "c", "name": "look", "arguments": {}}]
    with pytest.raises(Exception, match=r"400.*no response begins with function_call"):
        client.interactions.create(model="gemini-3.5-flash", input=steps, store=False)
    assert len(gemini.refusals) == 1
