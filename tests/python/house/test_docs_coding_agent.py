"""The page about a coding agent says what is true: its table is printed, its examples run."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from warmset import Budget, Memory, convert, count_tokens, validate
from warmset.lab.demo import coding_agent
from warmset.lab.demo.agent_session import coding_session
from warmset.lab.demo.coding_agent import BUDGET, CALLS, lists_of
from warmset.messages import DIALECTS

PAGE = (Path(__file__).resolve().parents[3] / "python" / "README.md").read_text()
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE, re.DOTALL)
EXAMPLES = [text for language, text in BLOCKS if language == "python"]
PROSE = re.sub(r"```.*?```|`[^`]*`", "", PAGE, flags=re.DOTALL)


@pytest.fixture(scope="module")
def rows():
    return coding_agent.run()


def test_the_session_is_a_coding_agents(rows):
    del rows
    session = coding_session()
    assert len(session) == 400
    assert validate(session, dialect="openai") == []
    assert sum(len(message.get("tool_calls", ())) > 1 for message in session) > 40
    assert session == coding_session()
    ids = [call["id"] for message in session for call in message.get("tool_calls", ())]
    answers = [message["tool_call_id"] for message in session if message["role"] == "tool"]
    assert ids != answers, "some results arrive in another order than their calls"
    assert sorted(ids) == sorted(answers)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_list_grows_as_the_whole_session_reads_in_that_dialect(dialect):
    lists, system = lists_of(dialect)
    assert len(lists) == CALLS
    whole = convert(coding_session()[:-1], source="openai", target=dialect)
    assert lists[-1] == whole.messages
    assert system == whole.system
    assert all(validate(one, dialect=dialect) == [] for one in lists[:: CALLS // 4])
    assert count_tokens(lists[0], system=system) > 2 * BUDGET


def test_a_hundred_calls_are_within_the_budget_and_valid_in_four_dialects(rows):
    assert {(row.way, row.dialect) for row in rows} == {
        (way, dialect) for way in ("fit", "Conversation.fit") for dialect in DIALECTS
    }
    for row in rows:
        assert row.calls == CALLS == 100
        assert BUDGET // 2 < row.largest <= BUDGET == 16_000
        assert row.refused == 0


def test_a_conversation_keeps_more_of_the_prompt_cache(rows):
    moves = {
        way: [row.moves for row in rows if row.way == way] for way in ("fit", "Conversation.fit")
    }
    cached = {
        way: [row.cached for row in rows if row.way == way] for way in ("fit", "Conversation.fit")
    }
    assert max(moves["Conversation.fit"]) < min(moves["fit"])
    assert min(cached["Conversation.fit"]) > max(cached["fit"])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_conversations_own_figures_are_those_of_the_table(rows, dialect):
    row = next(row for row in rows if (row.way, row.dialect) == ("Conversation.fit", dialect))
    lists, system = lists_of(dialect)
    cached = sent = 0
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("same")
        for at, messages in enumerate(lists):
            chat.append(messages[len(chat) :])
            kept = chat.fit(budget=BUDGET, system=system)
            cached += kept.cached
            sent += kept.tokens if at else 0
    assert kept.moves == row.moves
    assert cached / sent == pytest.approx(row.cached, abs=0.01)


def test_the_page_shows_what_is_printed(rows, capsys, monkeypatch):
    monkeypatch.setattr(coding_agent, "run", lambda: rows)
    coding_agent.main()
    shown = [text for language, text in BLOCKS if not language]
    assert [capsys.readouterr().out] == shown
    assert "python -m warmset.lab.demo.coding_agent\n" in dict(BLOCKS)["sh"]


def test_every_number_of_the_prose_is_printed():
    printed = next(text for language, text in BLOCKS if not language)
    numbers = re.findall(r"(?<![\w.])\d[\d,]*\d", PROSE.replace("o200k_base", ""))
    assert set(numbers) == {"400", "16,000", "100"}
    assert all(re.search(rf"(?<![\d,]){number}(?![\d,])", printed) for number in numbers)


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    fitting, mending, holding = EXAMPLES
    sent = []

    def create(*, model, messages, tools):
        sent.append(messages)
        if len(sent) == 1:
            raise RuntimeError("This model's maximum context length is 15000 tokens")
        return model, len(tools)

    completions = SimpleNamespace(create=create)
    names = {
        "client": SimpleNamespace(chat=SimpleNamespace(completions=completions)),
        "model": "m",
        "tools": [{"type": "function", "function": {"name": "read_file", "parameters": {}}}],
        "messages": coding_session()[:-1],
        "send": sent.append,
    }
    exec(fitting, names)  # noqa: S102 - our own example
    assert names["answer"](names["messages"]) == ("m", 1)
    tight = [int(count_tokens(one, tools=names["tools"])) for one in sent]
    assert tight[0] <= BUDGET
    assert tight[1] <= BUDGET * 9 // 10

    names["messages"] = names["messages"][:-1]  # the last result is missing
    exec(mending, names)  # noqa: S102
    assert "C2" in capsys.readouterr().out
    assert validate(names["messages"]) == []

    exec(holding, names)  # noqa: S102
    tokens, moves, cached = map(int, capsys.readouterr().out.split())
    assert tokens == count_tokens(sent[-1]) <= Budget(window=32_000).input
    assert (moves, cached) == (0, 0)
    assert validate(sent[-1]) == []
