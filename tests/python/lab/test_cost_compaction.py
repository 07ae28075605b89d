"""The cost table's row with a provider's compaction: what it costs, and which thinking it keeps."""

from __future__ import annotations

import pytest
from bound_provider import thoughts
from compacting_provider import CompactingProvider

from warmset import Memory
from warmset.lab.cost import play as playing
from warmset.lab.cost.compaction import SECONDS, TOKENS, Later
from warmset.lab.cost.figures import COMPACTED, Row, rates
from warmset.lab.cost.play import play
from warmset.lab.cost.request import Blocks
from warmset.lab.cost.thinking import Thinking, Thought
from warmset.lab.cost.workloads import agent, support
from warmset.lab.cost.writer import Writer, result, said, words
from warmset.money import price

PRICES = rates()[0]


# --- the clock and the worker ---------------------------------------------------------------------


def test_a_task_ends_when_its_time_has_come():
    later, ended = Later(), []
    later.until(5)
    later.start(lambda: ended.append(later.now))
    later.until(7)
    later.start(lambda: ended.append(later.now))
    later.until(5 + SECONDS - 0.1)
    assert ended == []
    later.until(5 + SECONDS)
    assert ended == [5 + SECONDS]
    later.until(100)
    assert (ended, later()) == ([5 + SECONDS, 7 + SECONDS], 100)


def test_who_waits_for_a_provider_sees_time_pass():
    later, ended = Later(), []
    task = later.start(lambda: ended.append(later.now))
    later.until(10)
    assert not task.wait(2)
    assert (later.now, later.waits, ended) == (12, 1, [])
    assert task.wait(60)
    assert (later.now, later.waits, ended) == (SECONDS, 2, [SECONDS])
    assert task.wait(60)
    assert (later.now, later.waits) == (SECONDS, 2)


def test_a_summarizer_of_our_own_takes_no_time():
    later, ended = Later(), []
    other = later.start(lambda: ended.append("provider"))
    later.until(10)
    assert later.start(lambda: ended.append("ours")).wait(2)
    assert (later.now, later.waits, ended) == (10, 0, ["ours"])
    later.until(100)
    assert other.wait(2)
    assert ended == ["ours", "provider"]


# --- thinking behind a compaction -----------------------------------------------------------------


class Talk:
    """A talk whose list is compacted behind its first exchange, while a second one goes on."""

    def __init__(self):
        writer = Writer(1)
        self.blocks, self.thinking = Blocks(), Thinking()
        self.ask, self.system = said("user", words("One?")), "Be brief."
        self.call, self.thought = writer.call(20), writer.thinking(20)
        self.first = said("assistant", self.thought, self.call)
        self.found = said("user", result(self.call, "Two."))
        self.later = writer.thinking(9)
        self.second = said("assistant", self.later, words("Two."))
        self.block = said("assistant", {"type": "compaction", "content": "1", "signature": "s"})
        self.next = said("user", words("Three?"))

    def request(self, *messages, system=None):
        return self.blocks.request(messages, system or self.system, writer_tools())

    def send(self, *messages, **given):
        return self.thinking.send(self.request(*messages, **given))

    def reply(self, message):
        self.thinking.reply(self.blocks.messages([message]))

    def compact(self, *messages):
        [block] = self.blocks.messages([self.block])
        self.thinking.compact(self.request(*messages), block)

    def talked(self):
        self.send(self.ask)
        self.reply(self.first)
        self.send(self.ask, self.first, self.found)
        self.compact(self.ask, self.first, self.found)
        self.reply(self.second)
        return self


def writer_tools():
    return [{"name": "read_file", "input_schema": {"type": "object"}}]


def test_thinking_since_the_compacted_list_is_kept_behind_the_compaction():
    talk = Talk().talked()
    kept = Thought(1, 1, 0, 1, 1)
    assert talk.send(talk.block, talk.second, talk.next) == kept
    third = said("assistant", Writer(2).thinking(5), words("Four."))
    talk.reply(third)
    assert talk.send(talk.block, talk.second, talk.next, third, talk.ask).kept == 2


@pytest.mark.parametrize(
    ("case", "invalid"),
    [
        ("another system prompt", 1),
        ("a message before", 1),
        ("a message between", 1),
        ("the first message behind it merged", 1),
        ("thinking of the compacted list", 2),
        ("another compaction", 1),
    ],
)
def test_a_broken_condition_makes_it_invalid(case, invalid):
    talk = Talk().talked()
    lists = {
        "another system prompt": (talk.block, talk.second),
        "a message before": (talk.next, talk.block, talk.second),
        "a message between": (talk.block, talk.next, talk.second),
        "the first message behind it merged": (talk.block, talk.found, talk.second),
        "thinking of the compacted list": (talk.block, talk.first, talk.found, talk.second),
        "another compaction": (
            said("assistant", {"type": "compaction", "content": "2", "signature": "t"}),
            talk.second,
        ),
    }
    system = "Be long." if case == "another system prompt" else None
    found = talk.send(*lists[case], system=system)
    assert (found.kept, found.invalid) == (0, invalid)


def test_a_message_that_would_be_merged_with_the_compacted_ones_makes_it_invalid():
    talk, more = Talk(), said("user", words("And?"))
    talk.send(talk.ask)
    talk.compact(talk.ask)
    talk.send(talk.ask, more)
    talk.reply(talk.second)
    assert talk.send(talk.ask, more, talk.second).kept == 1
    assert talk.send(talk.block, more, talk.second) == Thought(0, 1, 1, 0, 1)


# --- playing --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def session():
    return agent("small", exchanges=24, calls=5, mean=250)


@pytest.fixture(scope="module")
def played(session):
    return play(session, "steady", budget=16_000, prices=PRICES, compacts=True)


def test_all_thinking_is_kept_across_swaps(session, played):
    alone = play(session, "steady", budget=16_000, prices=PRICES)
    assert alone.compactions == []
    assert alone.kept < alone.possible
    assert len(played.compactions) >= 2
    assert played.kept == played.possible > 0
    assert (played.invalid, played.refused, len(played.calls)) == (0, 0, len(session.steps))


def test_what_is_compacted_is_read_from_the_cache_and_the_text_is_output(played):
    sent = [sum(call[:3]) for call in played.calls]
    for fresh, cached, written, output in played.compactions:
        assert (fresh, written) == (0, 0)
        assert cached in sent, "exactly a list that was sent"
        assert output == pytest.approx(TOKENS, rel=0.1)


def test_tokens_and_money_have_the_compactions(played):
    every = [*played.calls, *played.compactions]
    for at in range(4):
        assert played.tokens(at) == sum(one[at] for one in every)
    assert played.money(PRICES) == pytest.approx(sum(price(PRICES, *one) for one in every))
    row = Row(mode=COMPACTED, played=[played] * 3, money=[played.money(one) for one in rates()])
    shown = row.as_json()
    assert (shown["compactions"], shown["calls"]) == (len(played.compactions), len(played.calls))


def test_a_cold_cache_is_written_for_a_compaction(monkeypatch):
    monkeypatch.setattr("warmset.lab.cost.compaction.SECONDS", 400.0)
    one = support("chat", days=8)
    found = play(one, "steady", budget=8_000, prices=PRICES, compacts=True)
    assert any(written > 1_000 for _, _, written, _ in found.compactions)


def test_a_list_that_reaches_the_budget_first_does_without(monkeypatch, session):
    monkeypatch.setattr("warmset.lab.cost.compaction.SECONDS", 10_000.0)
    found = play(session, "steady", budget=16_000, prices=PRICES, compacts=True)
    assert found.waits > 0
    assert found.kept < found.possible
    assert (found.invalid, found.refused) == (0, 0)


def test_a_mock_of_the_provider_takes_every_list(monkeypatch, session):
    """The mock knows the provider's rules and shares no code with the judge of the table."""
    provider = CompactingProvider("anthropic")
    compact, call = playing._Judge.compaction, playing._Judge.call

    def compacted(self, request, message, at):
        kept = provider.kept
        provider.compact(request.messages, request.system, request.tools, "m")
        provider.kept = kept  # of the calls alone
        [block] = message["content"]
        mark = list(provider.blocks)[-1]
        _, model, beside, covered, _ = provider.blocks.pop(mark)
        provider.blocks[block["signature"]] = (block["content"], model, beside, covered, None)
        return compact(self, request, message, at)

    def called(self, step, window, at):
        given = window.anthropic()
        beside = {"system": given.get("system"), "tools": given.get("tools")}
        betas = given.get("extra_headers", {}).get("anthropic-beta", "").split(",")
        provider.look(given["messages"], **beside, betas=betas)
        thought = step.reply["content"][0]
        sent = [*given["messages"], {"role": "assistant", "content": [thought]}]
        provider.made[thought["signature"]] = ("m", prefix(provider, sent, beside))
        return call(self, step, window, at)

    monkeypatch.setattr(playing._Judge, "compaction", compacted)
    monkeypatch.setattr(playing._Judge, "call", called)
    found = play(session, "steady", budget=16_000, prices=PRICES, compacts=True)
    assert provider.compacted == len(found.compactions) >= 2
    assert provider.dropped == 0
    assert provider.kept == found.kept
    assert provider.behind > 0


def prefix(provider, sent, beside):
    """Return what stands before the last thinking of a list, as the mock sees it."""
    return list(thoughts(provider.dialect, beside["system"], beside["tools"], sent))[-1][1]


def test_other_modes_are_played_without_a_policy(monkeypatch, session):
    seen = []
    process = Memory.process

    def spied(self, messages, **options):
        seen.append(options["compaction"])
        return process(self, messages, **options)

    monkeypatch.setattr(Memory, "process", spied)
    play(session, "recency", budget=16_000, prices=PRICES)
    assert set(seen) == {None}
