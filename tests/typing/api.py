"""The public API as callers write it: type-checked, never run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

import anthropic
import numpy as np
import openai
from numpy.typing import NDArray

from warmset import (
    Budget,
    CutResult,
    Filter,
    Hit,
    Memory,
    Summarize,
    Synced,
    Turn,
    Window,
    count_tokens,
    summary_of,
)
from warmset.items import Origin
from warmset.memory import MemoryOptions, OpenKeywords
from warmset.money import Bill, Totals, prices_of
from warmset.native import (
    Add,
    Cell,
    ColdStore,
    Cut,
    Entry,
    HotIndex,
    LexicalIndex,
    Listed,
    Log,
    Outcome,
    Patch,
    Put,
    Remove,
    RemoveBelow,
    RemoveEntries,
    Tail,
    Version,
    pack,
    pack_batch,
    space,
    terms,
)
from warmset.pick import LLMPicker, OpenAIPicker, Picks, ScorePicker
from warmset.receipts import ErasureResult, Spooled
from warmset.route import (
    CachedFix,
    Candidate,
    Evaluation,
    LearnedPolicy,
    LLMTriage,
    Need,
    OpenAITriage,
    OutcomeRecord,
    Payload,
    PayloadTools,
    Request,
    Router,
    RuleTriage,
    TaskSpec,
    TaskSpecs,
    Texts,
    TriageReport,
    Verdict,
    context_tools,
    evaluate,
)
from warmset.serve import wrap
from warmset.summarize import (
    Audit,
    ExtractiveSummarizer,
    Fact,
    LLMSummarizer,
    Summary,
    SummaryReply,
    audit,
)
from warmset.tokens import TokenCount
from warmset.tools import TurnTools
from warmset.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence


def conversations(memory: Memory) -> None:
    chat = memory.conversation("support")
    assert_type(chat.append({"role": "user", "content": "hello"}, speaker="Ada"), list[int])
    assert_type(chat.append([{"role": "user", "content": "hello"}], at=0.0), list[int])
    assert_type(chat.append({"role": "user", "content": "hello"}, after=7), list[int])
    assert_type(chat.sync([{"role": "user", "content": "hello"}]), Synced)
    assert_type(chat.fetch(1), Turn)
    assert_type(chat.fetch([1, 2]), list[Turn])
    hit: Hit = chat.search("hello", k=3, where=Filter(role="user"))[0]
    assert_type(hit.terms, dict[str, float])
    assert_type(chat.window("hello", budget=2_000), Window)
    assert_type(chat.window(budget=Budget(200_000), mode="recency"), Window)
    assert_type(memory.process([], conversation="support", budget=2_000), Window)


async def log_of(store: ColdStore) -> None:
    log = Log(store)
    key, events = ("acme", space("notes"), b"a"), ("acme", space("events"))
    at = datetime(2026, 1, 1, tzinfo=UTC)
    outcomes = log.write(
        [
            Put(key, b"", codec="json", columns={"n": 1, "tags": ["x", None], "at": at}, ttl=3),
            Add(events, b"", uid="1", expires=at, sources=[1], if_present="skip"),
            Patch(key, {"n": 2.5}, version=3, ttl=timedelta(days=1)),
            Cut(events, 0),
            Remove(key),
            RemoveBelow(key),
            RemoveEntries(events, (1, 2)),
        ],
        expect=(Version(key, 0), Tail(events, log.tail(events))),
        now=at,
    )
    assert_type(outcomes, list[Outcome])
    assert_type(await log.submit([Remove(key)], sync=False), list[Outcome])
    assert_type(log.get(key), Cell | None)
    assert_type(await log.aget(key, now=5), Cell | None)
    assert_type(log.entries(events, limit=None), list[Entry])
    assert_type(await log.aentries(events), list[Entry])
    page = log.scan(key, where={"n": {"gte": 1}}, order="born")
    assert_type(page, list[Listed])
    assert_type(await log.ascan(after=page[-1]), list[Listed])
    assert_type(await log.acount(where={"or": [{"n": 1}]}), int)
    assert_type(log.spaces(depth=2), list[tuple[bytes, ...]])
    assert_type(log.store, ColdStore)


async def complete(prompt: str) -> str:
    return prompt


def pickers(memory: Memory) -> None:
    chat = memory.conversation("support")
    chat.window(budget=9, picker=ScorePicker())
    chat.window(budget=9, picker=LLMPicker(complete, max_picked=3, timeout=2))
    with OpenAIPicker("m", options={"reasoning_effort": "low"}) as picker:
        report = chat.window(budget=9, picker=picker).report
        assert_type(picker.pick("what?", [], limit=3), Picks)
    assert_type(report.picker, Usage | None)
    assert_type(report.net_saved, int)
    assert_type(report.unused, int)
    kit = chat.tools(budget=9, dialect="claude")
    assert_type(kit, TurnTools)
    chat.window(budget=9, tools=kit.definitions)
    priced = chat.window(budget=9, model="gpt-6-sol", prices=prices_of("gpt-6-sol"))
    assert_type(priced.report.money.price, float | None)
    assert_type(priced.settle({"prompt_tokens": 4}), Bill)
    assert_type(chat.spent, Totals)
    assert_type(kit.run({"id": "1"}), dict[str, Any])
    assert_type(kit.run_all([]), list[dict[str, Any]])
    assert_type(kit.granted, tuple[int, ...])


class Own:
    def judge(
        self, request: Request, candidates: Sequence[Candidate], text: Texts
    ) -> dict[int, Verdict]:
        short = text.summaries(candidates)
        assert_type(short, dict[int, str])
        return {one.id: Verdict("irrelevant", request.task) for one in candidates if text(one)}


def triages(memory: Memory) -> None:
    Router(memory, triage=Own())
    Router(memory, triage=RuleTriage())
    with OpenAITriage("m", options={"reasoning_effort": "low"}) as triage:
        Router(memory, triage=triage)
    router = Router(memory, triage=LLMTriage(complete, max_candidates=3, timeout=2))
    payload = router.route("a", query="b", tools=context_tools("openai"))
    assert_type(payload.triage, TriageReport)
    assert_type(payload.triage.usage, Usage | None)
    kit = payload.tools("claude")
    assert_type(kit, PayloadTools)
    assert_type(kit.run({"id": "1"}), dict[str, Any])
    assert_type(kit.run_all([]), list[dict[str, Any]])
    assert_type(kit.granted, tuple[str, ...])


async def twins() -> None:
    memory = await Memory.aopen(None, embedder="lexical", picker=LLMPicker(lambda _: "{}"))
    chat = memory.conversation("support")
    assert_type(await chat.aappend({"role": "user", "content": "hello"}), list[int])
    assert_type(await chat.awindow("hello", budget=100), Window)
    assert_type(await memory.aprocess([], conversation="a", budget=100), Window)
    await memory.asearch("hello")
    assert_type(await chat.afetch(1), Turn)
    assert_type(await chat.afetch([1, 2]), list[Turn])
    assert_type(await chat.a_sync([{"role": "user", "content": "hello"}]), Synced)
    assert_type(await chat.afit(budget=100), CutResult)
    assert_type(await memory.aflush(timeout=1.0), bool)
    assert_type(await memory.aerase(conversation="a"), ErasureResult)
    assert_type(await memory.aremember("the pool has 12", memory_type="decision"), int | Spooled)
    assert_type(await memory.aremember("hi", origin="tool", pinned=False), int | Spooled)
    assert_type(await memory.apin("memory:1"), Spooled | None)
    assert_type(memory.unpin(1), Spooled | None)
    window = await chat.awindow(budget=9, memories=0.2, pinned_role="system", scope="tenant")
    assert_type(window.report.memories[0].origin, Origin | None)
    await memory.aclose(timeout=1.0)
    async with await Memory.aopen("store", durability="interval", sync_interval=0.5) as other:
        assert_type(other, Memory)


def options(memory: Memory) -> None:
    """Wrong options are errors of the type checker: each line below has one."""
    chat = memory.conversation("support")
    chat.window(budget=9, recents=4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    chat.window(budget=9, recent="4")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Memory.open(None, durability="never")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Memory.open(None, tenent="a")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def open_by_keywords(given: OpenKeywords) -> Memory:
    assert_type(MemoryOptions(tenant="a").tenant, str)
    return Memory.open(None, **given)


def low_level() -> None:
    index = HotIndex(384, fingerprint="minilm")
    index.add([1, 2], np.eye(384)[:2], kind="turn", role=[0, 1])
    index.save("index")
    index = HotIndex.open(Path("index"), fingerprint="minilm", read="pread")
    ids, scores = index.search(np.eye(384)[0], 2, threads=2)
    _, _, counts = index.search_batch(np.eye(384), 2, where=Filter(kind="turn"))
    assert_type(counts, NDArray[np.int64])
    assert_type(ids, NDArray[np.uint64])
    assert_type(scores, NDArray[np.float32])
    told = index.explain(np.eye(384)[0], 2, where=Filter(kind="turn"))
    assert_type(told.heads, dict[str, int])
    assert_type(told.bound, float)
    words = LexicalIndex(k1=1.2, b=0.6)
    words.add([1, 2], ["the pool", "src/db_pool.rs"])
    assert_type(words.search("db_pool", 2), tuple[NDArray[np.uint64], NDArray[np.float32]])
    assert_type(LexicalIndex.from_bytes(words.to_bytes()), LexicalIndex)
    assert_type(terms("src/db_pool.rs"), list[str])
    assert_type(pack([1, 2], [0.5, 0.25], 2, must=[0]), NDArray[np.int64])
    pack_batch([0, 2], [1, 2], [0.5, 0.25], [3])
    assert_type(count_tokens("hello", model="gpt-4o"), TokenCount)


async def outcomes(memory: Memory, spec: TaskSpec) -> None:
    router = Router(memory, specs=[spec], policy=LearnedPolicy(exploration=0.05, trials=30, seed=1))
    name = router.learn_fix("disk full", "remove the cache", origin="user", keys=["E28"], reward=1)
    known = router.fix_for("disk full", similarity=0.7, reward=0.5, keys=["E28"])
    assert_type(known, CachedFix | None)
    assert_type(router.outcome(name, 1.0), tuple[str, ...])
    assert_type(await router.aoutcome(router.route("t", query="q"), 0.5), tuple[str, ...])
    records = await router.aoutcomes("t")
    assert_type(records, list[OutcomeRecord])
    assert_type(evaluate(records, spec), Evaluation)
    assert_type(evaluate(records, LearnedPolicy().after(records)).dr, float)
    evaluate(records, lambda needs: [0.5 for _ in needs])


def own_embedder() -> Memory:
    return Memory.open(None, embedder=lambda texts: np.ones((len(texts), 4)))


def summaries(messages: list[dict[str, Any]]) -> None:
    write = LLMSummarizer(complete, timeout=20, prompt_tokens=8_000)
    made = summary_of(messages, write, previous="", fallback=ExtractiveSummarizer(), carry_tokens=9)
    assert_type(made, Summary)
    assert_type(made.audit, Audit)
    assert_type(made.usage, Usage | None)
    assert_type(write(messages, max_tokens=90, previous=made.text), SummaryReply)
    assert_type(audit(messages, made.text).lost, tuple[Fact, ...])
    assert_type(made.audit.carried(90), str)
    summary_of(messages, lambda given, *, max_tokens: str(given)[:max_tokens])
    Summarize(0.7, write)


def routes(memory: Memory, messages: list[dict[str, Any]]) -> None:
    need = Need(type="module_output", priority="essential", scope="current_pipeline", module="a")
    spec = TaskSpec(task_type="b", required_memory=(need,), max_context_tokens=4_000)
    router = Router(memory, specs=[spec, *TaskSpecs.shipped().values()])
    payload = router.route("b", query="What follows?", conversation="c", budget=2_000)
    assert_type(payload, Payload)
    messages += payload.messages
    run = router.pipeline("2025")
    made = run.run("b", lambda given: (len(given.messages), 0.9), query="What follows?")
    assert_type(made.answer, int)
    assert_type(run.output("b", data={"n": 1}, derived_from=made.payload), str)
    assert_type(payload.more(["a"]).granted, tuple[str, ...])


def clients(memory: Memory) -> None:
    assert_type(wrap(openai.OpenAI(), memory), openai.OpenAI)
    assert_type(
        wrap(anthropic.AsyncAnthropic(), memory, conversation="c"), anthropic.AsyncAnthropic
    )
    wrap(openai.AsyncOpenAI(), memory, mode="recency", budget=8_000, window={"recent": 3})
    wrap(memory, memory)  # type: ignore[type-var]
