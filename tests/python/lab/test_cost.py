"""The cost table: its sessions, what is judged of each list, its figures and its command."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from dataclasses import replace

import pytest

from warmset import Memory, validate
from warmset.cli import app
from warmset.errors import InvalidInputError
from warmset.lab.corpus.shown import EVERYTHING
from warmset.lab.cost import figures, run
from warmset.lab.cost.figures import (
    COMPACTED,
    READS,
    CostOptions,
    cost_table,
    modes,
    rates,
    rows_of_table,
)
from warmset.lab.cost.play import Played, play
from warmset.lab.cost.request import Blocks
from warmset.lab.cost.thinking import Thinking, Thought
from warmset.lab.cost.workloads import SWEEP, agent, sweep, workloads
from warmset.lab.cost.writer import Writer, result, said, words
from warmset.money import PRICES
from warmset.options import MODES
from warmset.window import Compaction

ALL = [*workloads(quick=True), *sweep(quick=True)]


def whole(workload):
    return [one for step in workload.steps for one in (*step.messages, step.reply)]


# --- the sessions ---------------------------------------------------------------------------------


def test_the_sessions_are_those_of_the_page():
    assert [len(one.steps) for one in workloads()[:2]] == [300, 300]
    requests = [
        sum(step.messages[0]["content"][0]["type"] == "text" for step in one.steps)
        for one in workloads()
    ]
    assert requests[:2] == [30, 1]
    assert requests[3] == 12
    chat = workloads()[2]
    assert 39 < chat.steps[-1].at / 86_400 < 40
    assert all(one.facts >= 4 for one in workloads())


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_a_session_is_a_valid_list_that_is_the_same_every_time(one):
    messages = whole(one)
    assert validate(messages, dialect="anthropic") == []
    again = {again.name: again for again in [*workloads(quick=True), *sweep(quick=True)]}
    assert again[one.name] == one
    assert [step.at for step in one.steps] == sorted(step.at for step in one.steps)


@pytest.mark.parametrize("one", [*workloads(), *sweep()], ids=lambda one: one.name)
def test_a_fact_is_stated_once_early_and_asked_for_once_later(one):
    texts = [json.dumps(whole_step.messages) for whole_step in one.steps]
    asked = [(at, fact) for at, step in enumerate(one.steps) for fact in step.asked]
    assert len({fact for _, fact in asked}) == len(asked)
    for at, fact in asked:
        stated = [place for place, text in enumerate(texts) if fact in text]
        assert len(stated) == 1
        assert stated[0] < 0.3 * len(texts) < 0.6 * len(texts) <= at
        assert not any(fact in json.dumps(step.reply) for step in one.steps)


def test_calls_have_about_the_tokens_that_are_named():
    blocks = Blocks()
    for mean, one in ((600, workloads()[0]), *zip(SWEEP, sweep(), strict=True)):
        tokens = sum(block.piece.tokens for block in blocks.messages(whole(one)))
        assert 0.8 < tokens / len(one.steps) / mean < 1.25, one.name


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_signatures_are_unique(one):
    blocks = [block for step in one.steps for block in step.reply["content"]]
    signatures = [block["signature"] for block in blocks if block["type"] == "thinking"]
    assert len(set(signatures)) == len(signatures) == len(one.steps)


# --- thinking -------------------------------------------------------------------------------------


class Talk:
    """A caller that sends lists of blocks, and judges the thinking in them."""

    def __init__(self):
        self.blocks, self.thinking, self.writer = Blocks(), Thinking(), Writer(1)

    def send(self, *messages, anew=False):
        return self.thinking.send(self.blocks.messages(messages), anew=anew)

    def reply(self, *blocks):
        made = said("assistant", *blocks)
        self.thinking.reply(self.blocks.messages([made]))
        return made


def test_thinking_behind_an_unchanged_list_is_kept():
    talk = Talk()
    ask = said("user", words("One?"))
    assert talk.send(ask) == Thought(0, 0, 0, 0, 0)
    call = talk.writer.call(20)
    first = talk.reply(talk.writer.thinking(20), talk.writer.thinking(5), call)
    found = said("user", result(call, "Two."))
    assert talk.send(ask, first, found) == Thought(2, 2, 0, 2, 2)
    second = talk.reply(talk.writer.thinking(20), words("Two."))
    assert talk.send(ask, first, found, second, ask) == Thought(3, 3, 0, 3, 3)


def test_thinking_since_a_new_list_is_counted_apart():
    talk = Talk()
    writer, ask = talk.writer, said("user", words("One?"))
    talk.send(ask)
    first = talk.reply(writer.thinking(20), words("Two."))
    assert talk.send(ask, first) == Thought(1, 1, 0, 1, 1)
    second = talk.reply(writer.thinking(20), words("Three."))
    other = said("user", words("Four?"))
    assert talk.send(other, first, second, anew=True) == Thought(0, 2, 2, 0, 0)
    third = talk.reply(writer.thinking(20), words("Five."))
    assert talk.send(other, first, second, third) == Thought(1, 3, 2, 1, 1)


def test_thinking_behind_a_change_is_invalid():
    talk = Talk()
    ask, other = said("user", words("One?")), said("user", words("Another?"))
    talk.send(ask)
    first = talk.reply(talk.writer.thinking(20), words("Yes."))
    talk.send(ask, first, other)
    second = talk.reply(talk.writer.thinking(20), words("No."))
    assert talk.send(other, first, other, second) == Thought(0, 2, 2, 0, 2)
    assert talk.send(ask, first, ask, second) == Thought(1, 2, 1, 1, 2)
    assert talk.send(first, second) == Thought(0, 2, 2, 0, 2)


def test_thinking_that_was_taken_out_was_possible():
    talk = Talk()
    ask = said("user", words("One?"))
    talk.send(ask)
    first = talk.reply(talk.writer.thinking(20), words("Yes."))
    bare = said("assistant", first["content"][1])
    assert talk.send(ask, bare, ask) == Thought(0, 1, 0, 0, 1)
    assert talk.send(ask) == Thought(0, 0, 0, 0, 0)  # the reply is not shown


def test_thinking_that_stands_alone_was_possible():
    talk = Talk()
    ask = said("user", words("One?"))
    talk.send(ask)
    first = talk.reply(talk.writer.thinking(20), words("Yes."))
    assert talk.send(ask, said("assistant", first["content"][0]), ask) == Thought(1, 1, 0, 1, 1)


def test_thinking_that_was_left_out_makes_later_thinking_invalid():
    talk = Talk()
    ask = said("user", words("One?"))
    talk.send(ask)
    first = talk.reply(talk.writer.thinking(20), talk.writer.thinking(20), words("Yes."))
    assert talk.send(ask, said("assistant", *first["content"][1:])) == Thought(0, 2, 1, 0, 2)


def test_changed_thinking_is_invalid():
    talk = Talk()
    ask = said("user", words("One?"))
    talk.send(ask)
    first = talk.reply(talk.writer.thinking(20), words("Yes."))
    forged = {**first["content"][0], "thinking": "Otherwise."}
    assert talk.send(ask, said("assistant", forged, first["content"][1])) == Thought(0, 1, 1, 0, 1)


# --- a request in blocks --------------------------------------------------------------------------


def test_a_request_is_tools_then_system_then_messages():
    one = agent("small", exchanges=1, calls=3)
    with Memory.open(None, embedder="lexical") as memory:
        window = memory.process(
            whole(one)[:3],
            conversation="c",
            budget=EVERYTHING,
            mode="full",
            dialect="anthropic",
            system=one.system,
            tools=one.tools,
        )
    given = window.anthropic()
    blocks = Blocks().request(given["messages"], given["system"], given["tools"])
    kinds = [block.kind for block in blocks]
    assert kinds == ["tools", "system", "text", "thinking", "tool_use", "tool_result"]
    assert [block.role for block in blocks] == ["", "", "user", "assistant", "assistant", "user"]
    tokens = sum(block.piece.tokens for block in blocks)
    assert tokens == pytest.approx(window.tokens, rel=0.02)


# --- playing --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def command():
    """The table of one run of the command, and what the run printed."""
    made, printed = [], io.StringIO()

    def noted(options, progress):
        made.append(cost_table(options, progress))
        return made[0]

    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setattr(run, "cost_table", noted)
        assert app.run(["demo", "--cost", "--quick", "--budget", "10000"]) == 0
    return made[0], printed.getvalue()


@pytest.fixture
def quick(command):
    return command[0]


def rows(session):
    return {row.mode: row for row in session.rows}


def test_every_mode_is_in_the_table(quick):
    assert set(modes()) == set(MODES)
    assert modes()[:2] == ("full", "recency")
    named = rows_of_table()
    assert tuple(name for name in named if name != COMPACTED) == modes()
    assert named[named.index("steady") + 1] == COMPACTED
    for session in (*quick.sessions, *quick.sweep):
        assert tuple(row.mode for row in session.rows) == named


def test_the_whole_list_has_every_fact_and_keeps_all_thinking(quick):
    for session in (*quick.sessions, *quick.sweep):
        full = rows(session)["full"].played[0]
        assert full.found == full.asked > 0
        assert full.kept == full.possible > 0
        assert full.invalid == full.refused == full.waits == 0
        assert len(full.calls) == session.calls


def test_the_newest_units_forget_facts_and_write_more(quick):
    one = rows(quick.sessions[0])
    recency, full = one["recency"].played[0], one["full"].played[0]
    assert recency.found < recency.asked
    assert recency.tokens(2) > full.tokens(2)
    assert recency.tokens(1) < full.tokens(1)


def test_lists_are_within_the_budget(quick):
    for session in (*quick.sessions, *quick.sweep):
        for row in session.rows:
            if row.mode != "full":
                most = max(sum(call[:3]) for call in row.played[0].calls)
                assert most <= 1.03 * 10_000  # blocks are counted one by one here


def test_money_is_the_sum_of_the_calls(quick):
    row = rows(quick.sessions[0])["full"]
    for usd, read in zip(row.money, READS, strict=True):
        tokens = [row.played[0].tokens(at) for at in range(4)]
        prices = (4, 4 * read, 5, 20)
        assert usd == pytest.approx(
            sum(map(float.__mul__, map(float, tokens), map(float, prices))) / 1e6
        )
    assert [one.cache_read for one in rates()] == pytest.approx([0.4, 0.2, 0.1])


def test_a_budget_that_is_too_small_is_counted():
    one = agent("small", exchanges=1, calls=3)
    found = play(one, "recency", budget=500, prices=PRICES["claude-opus-5-5"])
    assert (found.refused, found.calls) == (3, [])


def test_what_is_asked_in_a_refused_call_is_not_found():
    one = workloads(quick=True)[2]
    found = play(one, "recency", budget=500, prices=PRICES["claude-opus-5-5"])
    assert (found.refused, found.asked, found.found) == (len(one.steps), one.facts, 0)


def test_a_session_goes_on_behind_a_refused_call():
    one = workloads(quick=True)[3]
    found = play(one, "recency", budget=10_000, prices=PRICES["claude-opus-5-5"])
    assert 0 < found.refused < len(one.steps)
    assert found.refused + len(found.calls) == len(one.steps)
    assert found.kept > 0


def test_waits_are_counted(monkeypatch):
    def process(self, messages, **options):
        made = original(self, messages, **options)
        waited = Compaction(state="ready", waited=0.1 * (len(messages) % 3))
        return replace(made, report=replace(made.report, compaction=waited))

    original = Memory.process
    monkeypatch.setattr(Memory, "process", process)
    one = agent("small", exchanges=1, calls=4)  # lists of 1, 3, 5 and 7 messages
    assert play(one, "full", budget=1, prices=PRICES["claude-opus-5-5"]).waits == 3


def test_a_mode_that_looks_at_prices_is_played_with_each(monkeypatch):
    def stub(workload, mode, *, budget, prices, compacts, progress):
        asked.append((mode, prices.cache_read / prices.fresh, budget))
        compacting.append(mode) if compacts else None
        for _ in workload.steps:
            progress()
        return Played(mode=mode, prices=prices, calls=[(0, 1_000_000, 0, 0)])

    asked, compacting, seen = [], [], []
    monkeypatch.setattr(figures, "_BY_PRICE", ("recency",))
    monkeypatch.setattr(figures, "play", stub)
    made = cost_table(
        CostOptions(quick=True, budget=9_000), lambda _, done, total: seen.append((done, total))
    )
    assert seen[-1][0] == seen[-1][1] == len(seen)
    assert compacting == ["steady"] * 9
    first = asked[: len(MODES) + 3]
    assert [read for mode, read, _ in first if mode == "recency"] == pytest.approx(READS)
    assert [read for mode, read, _ in first if mode == "full"] == pytest.approx(READS[:1])
    assert {budget for _, _, budget in asked} == {9_000}
    for row in made.sessions[0].rows:
        assert row.money == pytest.approx([4 * read for read in READS])
        assert len({id(one) for one in row.played}) == (3 if row.mode == "recency" else 1)


def test_options_out_of_range_are_refused():
    with pytest.raises(InvalidInputError, match="budget"):
        CostOptions(budget=0)


# --- the command ----------------------------------------------------------------------------------


def test_the_command_prints_tables(command):
    table, printed = command
    assert (table.quick, table.budget) == (True, 10_000)
    for session in table.sessions:
        assert f"{session.name}: {session.calls:,} calls" in printed
    assert "recency" in printed
    assert "steady with\nprovider compaction" in "\n".join(
        line[:19].rstrip() for line in printed.splitlines()
    )
    assert max(map(len, printed.splitlines())) <= 100


def test_the_command_prints_json(capsys, monkeypatch, quick):
    asked = []
    monkeypatch.setattr(run, "cost_table", lambda options, _: asked.append(options) or quick)
    assert app.run(["demo", "--cost", "--quick", "--budget", "10000", "--json"]) == 0
    assert asked == [CostOptions(quick=True, budget=10_000, as_json=True)]
    assert json.loads(capsys.readouterr().out) == quick.as_json()


def test_a_session_comes_to_the_same_every_time(quick):
    one = workloads(quick=True)[2]
    for name in (*modes(), COMPACTED):
        first = rows(quick.sessions[2])[name].played[0]
        mode = "steady" if name == COMPACTED else name
        again = play(one, mode, budget=10_000, prices=rates()[0], compacts=name == COMPACTED)
        assert again == first


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["--quick"], "quick"),
        (["--cost", "--compact"], "compact"),
        (["--cost", "--limit", "3"], "limit"),
        (["--cost", "--embedder", "static"], "embedder"),
        (["--cost", "--words-only"], "words_only"),
        (["--cost", "--file", "a.json"], "file"),
        (["--compact", "--limit", "3"], "limit"),
    ],
)
def test_options_that_mean_nothing_together_are_refused(given, why, capsys):
    assert app.run(["demo", *given]) != 0
    assert why in capsys.readouterr().err
