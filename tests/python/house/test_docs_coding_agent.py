"""The tutorial about a coding agent: its table is printed, its session is what it says."""

from __future__ import annotations

import re

import pytest
from doc_pages import DOCS, Client, blocks, given, prose

from warmset import Budget, Memory, convert, count_tokens, validate
from warmset.lab.demo import coding_agent
from warmset.lab.demo.agent_session import coding_session
from warmset.lab.demo.coding_agent import BUDGET, CALLS, lists_of
from warmset.messages import DIALECTS

PAGE = DOCS / "tutorial" / "coding-agent.md"
EXAMPLES = [block.text for block in blocks(PAGE) if block.language == "python"]
[SHOWN] = [block.text for block in blocks(PAGE) if block.language == "text"]


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


def test_a_hundred_calls_are_within_the_budget_and_valid_in_every_dialect(rows):
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
    assert capsys.readouterr().out == SHOWN
    [command] = [block.text for block in blocks(PAGE) if block.language == "sh"]
    assert command == "python -m warmset.lab.demo.coding_agent\n"


def test_every_number_of_the_prose_is_printed():
    plain = re.sub(r"`[^`]*`|o200k_base", "", prose(PAGE))
    numbers = re.findall(r"(?<![\w.])\d[\d,]*\d", plain)
    assert set(numbers) == {"400", "16,000", "100"}
    assert all(re.search(rf"(?<![\d,]){number}(?![\d,])", SHOWN) for number in numbers)


class Short(Client):
    """A client whose model takes fewer tokens than the first list has."""

    def _take(self, messages, dialect):
        super()._take(messages, dialect)
        if len(self.sent) == 1:
            raise RuntimeError("This model's maximum context length is 15000 tokens")


def test_the_examples_do_what_the_page_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    fitting, mending, holding = EXAMPLES
    client = Short()
    names = {**given(), "client": client}
    exec(fitting, names)  # noqa: S102 - our own example
    budgets, fit = [], names["fit"]

    def recorded(messages, *, budget, **options):
        budgets.append(budget)
        return fit(messages, budget=budget, **options)

    names["fit"] = recorded
    assert names["answer"](names["messages"]).choices[0].message.content
    assert budgets == [BUDGET, BUDGET * 9 // 10]
    tight = [int(count_tokens(one, tools=names["tools"])) for one in client.sent]
    assert all(BUDGET // 2 < tokens <= most for tokens, most in zip(tight, budgets, strict=True))

    names["messages"] = names["messages"][:-1]  # the last result is missing
    exec(mending, names)  # noqa: S102
    assert "C2" in capsys.readouterr().out
    assert validate(names["messages"]) == []

    exec(holding, names)  # noqa: S102
    tokens, moves, cached = map(int, capsys.readouterr().out.split())
    assert tokens == count_tokens(client.sent[-1]) <= Budget(window=32_000).input
    assert (moves, cached) == (0, 0)
