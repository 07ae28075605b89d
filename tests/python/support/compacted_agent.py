"""An agent in mode "steady" whose lists are compacted by a mock of its provider."""

from __future__ import annotations

from compacting_provider import CompactingProvider
from growing_oracle import GrowingOracle
from preparing import Clock, Hand

from warmset import Memory, PreparedCompaction
from warmset.llm import Compacted
from warmset.summarize import AnthropicCompaction, OpenAICompaction
from warmset.usage import Usage

COMPACTED = "the provider compacted the list"
DIALECTS = ("anthropic", "responses")
LINE = "crane seven lifted the steel that the harbour master had counted before noon "
TOOLS = {
    "anthropic": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}],
    "responses": [{"type": "function", "name": "look", "parameters": {"type": "object"}}],
}


def writer_of(provider):
    """Return a compaction that asks the mock instead of a server."""
    kind = AnthropicCompaction if provider.dialect == "anthropic" else OpenAICompaction

    class Writer(kind):
        fingerprint = "mock"
        fails = False

        def __init__(self):
            self.model, self.sent = "", []

        def compact(self, request):
            self.sent.append(request)
            if self.fails:
                raise ConnectionError("nobody there")
            made = provider.compact(request.messages, request.system, request.tools, request.model)
            block = made[-1]["content"][0] if provider.dialect == "anthropic" else {}
            return Compacted(tuple(made), block.get("content", ""), Usage(90, 9))

    return Writer()


class Agent:
    """One agent whose lists are compacted by its provider; what is asked for comes when told."""

    def __init__(self, dialect, path=None, **options):
        self.dialect, self.provider = dialect, CompactingProvider(dialect)
        self.clock = Clock()
        self.hand = Hand(self.clock)
        self.writer = writer_of(self.provider)
        self.policy = PreparedCompaction(
            summarizer=self.writer, worker=self.hand, clock=self.clock, **options
        )
        self.memory = Memory.open(path, embedder="lexical", compaction=self.policy)
        self.chat = self.memory.conversation("log")
        # OpenAI keeps the user's messages, and our quotes are such.
        size = {"budget": 4_500} if dialect == "anthropic" else {"budget": 6_000}
        size |= {} if dialect == "anthropic" else {"recall_share": 0.001}
        self.given = {**size, "mode": "steady", "model": "m", "dialect": dialect}
        self.given |= {"system": "Be brief.", "tools": TOOLS[dialect]}
        self.oracle, self.epochs, self.asked = GrowingOracle(), [], 0

    def window(self, **options):
        made = self.chat.window(**self.given | options)
        report = made.report.epoch
        assert made.tokens <= made.budget
        self.oracle.look((report.number, report.why), made.system, made.messages)
        if report.began:
            self.epochs.append(report.why)
        return made

    def send(self, made, *, calls=False):
        """Send a window, and append the reply with the results of its calls."""
        if self.dialect == "anthropic":
            call = made.anthropic()
            messages, betas = call["messages"], call.get("extra_headers", {})
            beside = {"betas": betas.get("anthropic-beta", "").split(",")}
            beside |= {"system": call.get("system"), "tools": call.get("tools")}
        else:
            call = made.responses()
            messages, beside = call["input"], {"tools": call.get("tools")}
        answer = self.provider.reply(messages, **beside, calls=calls)
        self.chat.append([*answer, *self.provider.result(answer)], window=made)
        return made

    def ask(self, words=12):
        self.asked += 1
        self.chat.append({"role": "user", "content": f"question {self.asked}: {LINE * words}"})

    def turn(self, steps=0, words=12):
        """Ask, and answer with so many calls of a tool."""
        self.ask(words)
        for step in range(steps + 1):
            made = self.send(self.window(), calls=step < steps)
        return made

    def until_asked(self, most=60):
        """Talk until the provider is asked to compact."""
        for _ in range(most):
            if self.hand.tasks:
                return
            self.turn()
        raise AssertionError("the provider was not asked")


FALLBACK = ("the list came near the budget", "the list reached the budget")


def made_anew(agent, most=40):
    """Talk until a list is made anew without the provider; return it."""
    for _ in range(most):
        made = agent.turn(words=6)
        assert made.report.epoch.why != COMPACTED
        if made.report.epoch.began and made.report.epoch.why in FALLBACK:
            assert "cmp-" not in str(made.messages)
            return made
    raise AssertionError("no new list")


def full(agent):
    """Talk until the next list would be compacted."""
    while agent.window().tokens < agent.given["budget"] * 0.7:
        agent.turn(words=6)
