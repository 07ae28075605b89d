"""A provider's compaction that cannot be used: the fallback writes, and no list is refused."""

from __future__ import annotations

import pytest
from compacted_agent import COMPACTED, DIALECTS, FALLBACK, LINE, Agent, full, made_anew
from preparing import process

from warmset import count_tokens
from warmset.summarize import HEADING, AnthropicCompaction


@pytest.fixture(params=DIALECTS)
def dialect(request):
    return request.param


@pytest.fixture
def agent(dialect):
    made = Agent(dialect)
    with made.memory:
        yield made


def test_thinking_leaves_when_the_system_prompt_changes_behind_a_compaction(agent):
    agent.until_asked()
    agent.hand.run()
    kept = agent.turn(words=1).report.thinking.kept
    assert kept > 0
    agent.given["system"] = "Be brief. It is noon."
    made = agent.turn(words=1)
    assert made.report.epoch.why == "the system prompt or the tools changed"
    assert "cmp-" in str(made.messages), "the compaction stays"
    assert (made.report.thinking.kept, agent.provider.dropped) == (0, 0)
    assert agent.turn(words=1).report.thinking.kept == 1


@pytest.mark.parametrize("beside", [{"system": "Be loud."}, {"tools": None}])
def test_what_changes_beside_the_list_meanwhile_makes_a_compaction_stale(agent, beside):
    agent.until_asked()
    agent.given |= beside
    agent.turn(words=1)
    agent.hand.run()
    made = agent.turn(words=1)
    assert made.report.epoch.why != COMPACTED
    assert "cmp-" not in str(made.messages)
    assert agent.policy.counters.stale == 1
    assert agent.provider.dropped == 0


def test_a_branch_before_the_end_of_the_compacted_list_makes_it_stale(agent):
    agent.until_asked()
    agent.chat.sync(list(agent.chat.messages())[:-4])
    agent.hand.run()
    made = agent.turn(words=1)
    assert made.report.epoch.why != COMPACTED
    assert "cmp-" not in str(made.messages)
    assert agent.policy.counters.stale == 1


def test_a_compaction_of_a_list_that_was_edited_meanwhile_is_not_kept(agent):
    agent.until_asked()
    kept = list(agent.chat.messages())
    agent.chat.sync([{"role": "user", "content": "another task"}, *kept[1:]])
    agent.hand.run()
    counters = agent.policy.counters
    assert (counters.prepared, counters.stale, counters.wasted) == (0, 1, 99)
    assert not list(agent.memory._handle.live().derived.of("prepared", "default", "log"))
    assert "prepared" not in [one.what for one in agent.memory.episodes()]


def test_a_branch_behind_the_compacted_list_leaves_it_valid(agent):
    agent.until_asked()
    kept = list(agent.chat.messages())
    agent.turn(words=1)
    agent.chat.sync(kept)
    agent.hand.run()
    made = agent.turn(words=1)
    assert made.report.epoch.why == COMPACTED
    assert not made.report.thinking.removed
    assert agent.provider.dropped == 0


def test_a_compaction_that_fails_is_made_up_for_by_the_fallback(agent, caplog):
    agent.writer.fails = True
    agent.until_asked()
    agent.hand.run()
    agent.writer.fails = False
    made = None
    while made is None or not made.report.epoch.began:
        agent.hand.ends_in = 0.5
        made = agent.turn(words=2)
        assert not agent.policy.counters.prepared or made.report.epoch.began
    assert made.report.epoch.why in FALLBACK
    assert HEADING in str(made.messages)
    assert (agent.policy.counters.failed, agent.policy.counters.fallbacks) == (1, 1)
    assert "failed" in caplog.text
    assert "what='compaction' error='ConnectionError'" in caplog.text
    assert agent.provider.dropped == 0
    [event] = [one for one in agent.memory.episodes() if one.what == "failed"]
    assert "nobody there" in event.figures["why"]
    agent.clock.now += 60
    agent.hand.ends_in = None
    agent.until_asked()
    agent.hand.run()
    assert agent.turn(words=1).report.epoch.why == COMPACTED, "the provider is asked again"


def test_a_compaction_that_never_arrives_is_given_up(agent):
    agent.until_asked()
    agent.clock.now += 1_000
    late, agent.hand.tasks = agent.hand.tasks, []
    agent.hand.ends_in = 0.5
    made = made_anew(agent)
    assert HEADING in str(made.messages)
    assert agent.policy.counters.failed == 1
    [job] = late
    job.end()
    assert agent.policy.counters.wasted == 99
    assert agent.turn(words=1).report.epoch.why != COMPACTED


def test_a_list_that_is_near_the_budget_behind_a_compaction_is_made_anew():
    """A little less, and the compaction is used: the list can still grow."""
    whys = []
    for share in (0.6, 0.78):
        agent = Agent("anthropic")
        with agent.memory:
            agent.until_asked()
            agent.hand.run()
            line = count_tokens(LINE * 100) / 100
            agent.ask(words=int(agent.given["budget"] * share / line))
            made = agent.window(swap_at=0.75)
            whys.append(made.report.epoch.why)
            assert agent.policy.counters.stale == (made.report.epoch.why != COMPACTED)
            assert ("cmp-" in str(made.messages)) == (made.report.epoch.why == COMPACTED)
    assert whys == [COMPACTED, "the list reached the budget"]


def test_a_compaction_may_take_exactly_its_timeout(dialect):
    agent = Agent(dialect, timeout=60.0)
    with agent.memory:
        agent.until_asked()
        agent.clock.now += 60
        agent.turn(words=1)
        assert agent.policy.counters.failed == 0
        agent.clock.now += 0.5
        agent.turn(words=1)
        assert agent.policy.counters.failed == 1


def test_a_list_that_reaches_the_budget_waits_for_the_deadline_and_not_longer(agent):
    agent.until_asked()
    late, agent.hand.tasks = agent.hand.tasks, []
    begun = agent.clock.now
    agent.ask(words=120)
    made = agent.send(agent.window())
    assert made.report.epoch.why == "the list reached the budget"
    waited = [2.0, 2.0]  # for the provider, and for the fallback
    assert agent.hand.waited == waited
    assert agent.clock.now == begun + sum(waited)
    assert agent.policy.counters.discarded == 1
    [job] = late
    job.end()
    assert agent.turn(words=1).report.epoch.why != COMPACTED
    assert agent.provider.dropped == 0


def test_an_erased_message_erases_the_compaction_that_was_made_of_it(agent):
    agent.until_asked()
    agent.hand.run()
    [before] = agent.memory._handle.live().derived.of("prepared", "default", "log")
    agent.memory.erase(ids=[agent.chat.ids[3]])
    assert not list(agent.memory._handle.live().derived.of("prepared", "default", "log"))
    made = agent.turn(words=1)
    assert made.report.epoch.why != COMPACTED
    assert "cmp-" not in str(made.messages)
    del before


def test_an_erased_message_ends_the_list_behind_its_compaction(agent):
    agent.until_asked()
    agent.hand.run()
    agent.turn(words=1)
    erased = agent.memory.erase(ids=[agent.chat.ids[3]])
    assert erased.derived >= 2
    made = agent.turn(words=1)
    assert "cmp-" not in str(made.messages)
    assert agent.provider.dropped == 0


def test_a_list_with_an_open_call_is_not_compacted(agent):
    full(agent)
    agent.ask(words=60)
    made = agent.chat.window(**agent.given | {"swap_at": 1.0})
    answer = agent.provider.reply(
        made.messages,
        tools=agent.given["tools"],
        calls=True,
        **({"system": made.system} if agent.dialect == "anthropic" else {}),
    )
    agent.hand.tasks.clear()
    agent.chat.append(answer, window=made)
    assert agent.window(swap_at=0.36, swap_to=0.35).tokens > agent.given["budget"] * 0.8
    assert not agent.hand.tasks
    agent.chat.append(agent.provider.result(answer))
    agent.window(swap_at=0.36, swap_to=0.35)
    assert agent.hand.tasks


def test_a_first_message_that_the_provider_would_merge_is_not_kept_behind_a_compaction():
    agent = Agent("anthropic")
    with agent.memory:
        full(agent)
        agent.ask(words=60)  # nobody answers
        agent.window(query="Well?")
        agent.hand.run()
        agent.chat.append({"role": "user", "content": "Well?"})
        made = agent.send(agent.window())
        assert made.report.epoch.why != COMPACTED
        assert agent.policy.counters.stale == 1
        made_anew(agent)
        counters = agent.policy.counters
        assert (counters.stale, counters.adopted) == (1, 0), "what was given up is not taken again"


def test_a_list_with_a_system_message_in_its_middle_is_not_compacted():
    agent = Agent("anthropic")
    with agent.memory:
        agent.turn()
        agent.ask()
        agent.chat.append({"role": "system", "content": "It is noon."})
        agent.send(agent.window())
        assert "It is noon." in str(made_anew(agent).messages)
        assert agent.writer.sent == []
        assert agent.provider.compacted == 0


def test_a_model_that_checks_no_thinking_compacts_for_one_that_checks_none():
    compaction = object.__new__(AnthropicCompaction)
    compaction.model = "claude-opus-5"
    assert compaction.obstacle("claude-opus-5") is None
    assert compaction.obstacle("claude-sonnet-4-6") is None
    assert "check" in compaction.obstacle("claude-opus-5-5")
    assert "check" in compaction.obstacle("")
    compaction.model = "claude-sonnet-5-5"
    assert compaction.obstacle("claude-opus-5-5") is None
    compaction.model = ""
    assert compaction.obstacle("claude-opus-5-5") is None
    assert "model=" in compaction.obstacle("")


def test_a_list_in_another_dialect_is_made_anew_as_without_a_provider(agent):
    other = "responses" if agent.dialect == "anthropic" else "anthropic"
    agent.turn()
    for number in range(90):
        agent.chat.append({"role": "user", "content": f"question {number}: {LINE * 5}"})
        made = agent.chat.window(**agent.given | {"dialect": other, "tools": None})
        agent.chat.append({"role": "assistant", "content": "Fine."})
        while agent.hand.tasks:
            agent.hand.run()
        assert not agent.writer.sent
    assert made.report.epoch.number > 1


def test_a_list_from_another_dialect_is_made_anew_as_without_a_provider(agent):
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    agent.ask()
    agent.chat.append({"role": "assistant", "content": None, "tool_calls": [call]})
    agent.chat.append({"role": "tool", "tool_call_id": "c1", "content": "Nothing."})
    for number in range(90):
        agent.chat.append({"role": "assistant", "content": "Fine."})
        agent.chat.append({"role": "user", "content": f"question {number}: {LINE * 5}"})
        made = agent.window()
        while agent.hand.tasks:
            agent.hand.run()
        assert not agent.writer.sent
    assert agent.chat.dialect == "openai"
    assert made.report.epoch.number > 1


def test_after_a_compaction_of_no_use_the_provider_is_left_alone_for_a_while(dialect):
    agent = Agent(dialect, deadline=0.0)  # so that no window lets time pass
    with agent.memory:
        agent.until_asked()
        agent.hand.run()
        agent.given["system"] = "Be loud."
        agent.turn(words=1)
        assert agent.policy.counters.stale == 1

        assert near_the_budget(agent) == 1
        agent.clock.now += 1
        assert near_the_budget(agent) == 2


def near_the_budget(agent):
    """Grow the list to where the provider would be asked; return how often it has compacted."""
    full(agent)
    while agent.hand.tasks:  # a summary of the fallback
        agent.hand.run()
    agent.window(swap_at=0.36, swap_to=0.35)
    while agent.hand.tasks:
        agent.hand.run()
    return agent.provider.compacted


def test_failures_before_a_compaction_that_another_process_asked_for_lengthen_no_pause(
    dialect, tmp_path
):
    agent = Agent(dialect, tmp_path / "store", deadline=0.0)
    agent.writer.fails = True
    agent.until_asked()
    agent.hand.run()
    assert agent.policy.counters.failed == 1
    agent.writer.fails = False
    other = process(tmp_path / "store", agent.policy)
    mine, agent.chat = agent.chat, other.conversation("log")
    agent.until_asked()
    agent.hand.run()
    agent.chat = mine
    assert agent.turn(words=1).report.epoch.why == COMPACTED
    agent.writer.fails = True
    asked = len(agent.writer.sent)
    near_the_budget(agent)
    assert (agent.policy.counters.failed, len(agent.writer.sent)) == (2, asked + 1)
    agent.clock.now += 1
    near_the_budget(agent)
    assert len(agent.writer.sent) == asked + 2, "the pause behind a first failure is a second"
    agent.memory.close()
    other.close()
