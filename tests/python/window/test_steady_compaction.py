"""Windows of mode "steady" with a provider's compaction: thinking is kept across the swap."""

from __future__ import annotations

from dataclasses import replace

import pytest
from compacted_agent import COMPACTED, DIALECTS, LINE, TOOLS, Agent
from fitting import cases
from preparing import process

from warmset import Memory
from warmset.prepare.compactions import _read


@pytest.fixture(params=DIALECTS)
def dialect(request):
    return request.param


@pytest.fixture
def agent(dialect):
    made = Agent(dialect)
    with made.memory:
        yield made


def test_all_thinking_is_kept_across_swaps(agent):
    steps, agent.hand.ends_in = agent.provider.rng, 1.0
    rounds = cases(75, 150)
    for number in range(rounds):
        agent.ask(words=1)
        calls = steps.choice((0, 1, 1, 3))
        for step in range(calls + 1):
            made = agent.window()
            assert not made.report.thinking.removed, (number, made.report.epoch)
            agent.send(made, calls=step < calls)
            if agent.hand.tasks and steps.random() < 0.5:
                agent.hand.run()
    assert agent.provider.calls >= 2 * rounds
    assert agent.provider.dropped == 0
    assert agent.oracle.unequal == 0
    assert agent.provider.behind > rounds // 2, "thinking of before a swap was sent behind it"
    assert agent.epochs.count(COMPACTED) >= rounds // 37
    assert agent.policy.counters.applied == agent.epochs.count(COMPACTED)


def test_the_list_that_was_sent_is_compacted_and_the_rest_follows(agent):
    agent.until_asked()
    before = agent.window()
    agent.hand.run()
    [sent] = agent.writer.sent
    assert sent.system == before.system
    assert sent.tools == TOOLS[agent.dialect]
    assert sent.model == "m"
    assert list(sent.messages) == before.messages[: len(sent.messages)]
    made = agent.turn()
    report = made.report
    assert report.epoch.why == COMPACTED
    assert not report.thinking.removed
    assert made.tokens < before.tokens - 500
    assert agent.provider.dropped == 0
    assert (report.compaction.state, report.compaction.applied) == ("applied", True)
    again = agent.window().report.compaction
    assert not again.applied


def test_what_the_provider_returned_is_told_at_once(dialect):
    told = []
    agent = Agent(dialect, on_event=told.append)
    with agent.memory:
        agent.until_asked()
        assert told[-1].state == "preparing"
        agent.hand.run()
        assert told[-1].state == "ready", "before any other call"


@pytest.mark.parametrize(
    ("trigger", "swap_at", "more"),
    [pytest.param(0.5, 0.36, 1, id="trigger"), pytest.param(0.3, 0.5, 2, id="swap_at")],
)
def test_a_list_is_compacted_from_exactly_a_line_on(dialect, trigger, swap_at, more):
    agent = Agent(dialect, trigger_ratio=trigger)
    with agent.memory:
        agent.turn()
        agent.ask(words=40)
        size = agent.window().tokens
        for budget, asked in ((2 * size + more, 0), (2 * size, 1)):
            made = agent.window(budget=budget, swap_at=swap_at, swap_to=0.35)
            assert made.tokens == size
            assert len(agent.hand.tasks) == asked


def test_a_compaction_is_used_within_a_tool_loop(agent):
    agent.until_asked()
    agent.ask(words=1)
    agent.send(agent.window(), calls=True)
    agent.hand.run()
    made = agent.send(agent.window(), calls=True)
    assert (made.report.epoch.why, made.report.epoch.recalled) == (COMPACTED, ())
    assert not made.report.thinking.removed
    assert agent.send(agent.window()).report.thinking.kept >= 2
    assert agent.provider.dropped == 0
    assert agent.provider.behind > 0


def test_asked_again_without_a_new_message_the_list_is_the_same(agent):
    while not agent.hand.tasks:
        agent.ask(words=2)
        made = agent.window()
        if not agent.hand.tasks:
            agent.send(made)
    agent.hand.run()
    again = agent.window()
    assert again.messages == made.messages
    agent.send(again)
    assert agent.turn(words=1).report.epoch.why == COMPACTED


def test_a_request_that_is_no_message_yet_is_not_compacted(agent):
    agent.turn()
    for _ in range(60):
        agent.asked += 1
        query = f"question {agent.asked}: {LINE * 4}"
        made = agent.window(query=query)
        agent.chat.append({"role": "user", "content": query})
        agent.send(made)
        if agent.hand.tasks:
            agent.hand.run()
            [sent] = agent.writer.sent
            assert query not in str(sent.messages)
            assert list(sent.messages) == made.messages[: len(sent.messages)]
            break
    query = "And now?"
    made = agent.window(query=query)
    assert made.report.epoch.why == COMPACTED
    assert not made.report.thinking.removed
    agent.chat.append({"role": "user", "content": query})
    agent.send(made)
    assert (agent.provider.dropped, agent.oracle.unequal) == (0, 0)


def test_another_process_sees_a_compaction_that_is_the_next_record_of_all(dialect, tmp_path):
    agent = Agent(dialect, tmp_path / "store")
    agent.until_asked()
    other = process(tmp_path / "store", agent.policy)
    agent.chat = other.conversation("log")
    for _ in range(2):  # the second one looks when the record of the first one is the last
        assert agent.window().report.epoch.why != COMPACTED
    agent.hand.run()
    assert agent.window().report.epoch.why == COMPACTED
    assert agent.policy.counters.adopted == 1
    agent.memory.close()
    other.close()


def test_a_stored_compaction_of_another_form_is_none(agent):
    agent.until_asked()
    agent.hand.run()
    engine = agent.memory._engine
    ledger = engine.ledger("default", "log")
    there = [one for id_ in range(1, 10_000) if (one := engine.derived.get(id_)) is not None]
    [(made, read)] = [(one, read) for one in there if (read := _read(engine, ledger, one))]
    assert (read.id, read.tokens, read.spent) == (made.id, made.fields["tokens"], 99)
    for name in ("mark", "behind", "tokens", "before", "spent"):
        rest = {key: value for key, value in made.fields.items() if key != name}
        for fields in (rest, {**rest, name: None}, {**rest, name: "x"}, {**rest, name: []}):
            assert _read(engine, ledger, replace(made, fields=fields)) is None, fields
    for count in (0, len(ledger.history.path) + 1):
        fields = {**made.fields, "mark": count}
        assert _read(engine, ledger, replace(made, fields=fields)) is None
    for other in ({"sources": ()}, {"sources": made.sources[::-1]}, {"id": 10**9}, {"id": 1}):
        assert _read(engine, ledger, replace(made, **other)) is None, other


def test_another_process_uses_the_compaction_and_goes_on_behind_it(dialect, tmp_path):
    agent = Agent(dialect, tmp_path / "store")
    agent.until_asked()
    agent.hand.run()
    other = process(tmp_path / "store", agent.policy)
    mine, agent.chat = agent.chat, other.conversation("log")
    made = agent.turn(words=1)
    assert (made.report.epoch.why, made.report.thinking.removed) == (COMPACTED, ())
    assert agent.policy.counters.adopted == 1
    agent.chat = mine
    agent.ask(words=1)
    again = agent.send(agent.window())
    assert again.report.epoch.number == made.report.epoch.number
    assert not again.report.thinking.removed
    assert again.messages[: len(made.messages) - 1] == made.messages[:-1]
    assert (agent.provider.dropped, agent.provider.compacted) == (0, 1)
    agent.memory.close()
    other.close()


def test_a_process_that_is_killed_leaves_the_compaction_in_the_store(dialect, tmp_path):
    agent = Agent(dialect, tmp_path / "store")
    with agent.memory:
        agent.until_asked()
        agent.hand.run()
        agent.turn(words=1)
        before = agent.window()
    with Memory.open(tmp_path / "store", embedder="lexical", compaction=agent.policy) as memory:
        agent.chat = memory.conversation("log")
        assert agent.window().messages == before.messages
        made = agent.turn(words=1)
        assert (made.report.epoch.began, made.report.thinking.removed) == (False, ())
        assert agent.provider.dropped == 0


def test_a_window_behind_a_compaction_has_the_header_that_it_needs():
    agent = Agent("anthropic")
    with agent.memory:
        agent.until_asked()
        assert "extra_headers" not in agent.window().anthropic()
        agent.hand.run()
        call = agent.turn(words=1).anthropic()
        assert call["extra_headers"] == {"anthropic-beta": "compact-2026-09-04"}
        assert call["messages"][0]["content"][0]["type"] == "compaction"


def test_what_ends_with_a_compaction_of_openai_is_sent_again():
    agent = Agent("responses")
    update = {"type": "configuration_update", "reasoning": {"effort": "low"}}
    tools = {"type": "additional_tools", "role": "developer", "tools": agent.given["tools"]}
    with agent.memory:
        agent.turn()
        agent.ask()
        agent.chat.append([update, tools])
        agent.send(agent.window())
        agent.ask()
        agent.chat.append({**update, "reasoning": {"effort": "high"}})
        agent.send(agent.window())
        agent.until_asked()
        agent.hand.run()
        made = agent.turn(words=1)
        assert made.report.epoch.why == COMPACTED
        kinds = [one.get("type") for one in made.messages]
        at = kinds.index("compaction")
        assert kinds[at + 1 : at + 3] == ["additional_tools", "configuration_update"]
        assert kinds.count("configuration_update") == 1
        assert made.messages[at + 2]["reasoning"]["effort"] == "high"
        assert made.messages[0] == {"role": "system", "content": "Be brief."}
        assert (agent.provider.dropped, made.report.thinking.removed) == (0, ())
        assert agent.provider.behind > 0


def test_a_compaction_that_cannot_be_read_counts_as_the_provider_counts_it():
    agent = Agent("responses")
    with agent.memory:
        agent.until_asked()
        agent.hand.run()
        made = agent.turn(words=1)
        [part] = [part for part in made.parts if part.name == "summary"]
        said = made.messages[1 : [one.get("type") for one in made.messages].index("compaction")]
        assert part.tokens >= sum(len(str(one["content"]).split()) for one in said)
        assert made.report.compaction.tokens == part.tokens


def test_a_system_prompt_that_comes_back_is_not_doubled():
    agent = Agent("responses")
    compact = agent.provider.compact

    def with_system(messages, *args, **options):
        made = compact(messages, *args, **options)
        return [one for one in messages if one.get("role") == "system"] + made

    agent.provider.compact = with_system
    with agent.memory:
        agent.until_asked()
        agent.hand.run()
        made = agent.turn(words=1)
        assert made.report.epoch.why == COMPACTED
        assert [one.get("role") for one in made.messages].count("system") == 1
        assert made.report.thinking.removed == ()
        assert agent.provider.dropped == 0


@pytest.mark.parametrize("role", ["user", "system"])
def test_what_is_pinned_is_there_behind_a_compaction_too(agent, role):
    agent.memory.remember("The user prefers metric units.", pinned=True)
    agent.given["pinned_role"] = role
    steps, agent.hand.ends_in = agent.provider.rng, 1.0
    for number in range(60):
        agent.ask(words=1)
        calls = steps.choice((0, 1, 1, 3))
        for step in range(calls + 1):
            made = agent.window()
            assert not made.report.thinking.removed, (number, made.report.epoch)
            told = str([made.system, *made.messages]).count("metric units")
            assert told == 1 or (told == 0 and step > 0), (number, step, told)
            agent.send(made, calls=step < calls)
            if agent.hand.tasks and steps.random() < 0.5:
                agent.hand.run()
    assert agent.epochs.count(COMPACTED) >= 1
    assert agent.provider.dropped == 0
    assert agent.oracle.unequal == 0
