"""How much a window holds: untouched below the line, exact above it, and an honest no."""

from __future__ import annotations

import json

import pytest

from warmset import Budget, Memory, count_tokens
from warmset.errors import BudgetTooSmall
from warmset.messages import validate

FILL = "we move the old boat to the north shore and paint it before the winter comes "
CHECK = {"role": "system", "content": "You are the harbour master. " * 5}
SYSTEM = "Answer in one word. " * 10
TOOLS = [
    {"type": "function", "function": {"name": n, "parameters": {"type": "object"}, "strict": True}}
    for n in ("look", "write")
]


@pytest.fixture
def memory(bag):
    with Memory.open(None, embedder=bag) as opened:
        yield opened


def said(text, role="user"):
    return {"role": role, "content": text}


def step(n, dialect="openai", text=FILL):
    """A tool call and its result."""
    if dialect == "anthropic":
        call = {"type": "tool_use", "id": f"t{n}", "name": "look", "input": {"n": n}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"{n}: {text}"}
        return [said([call], "assistant"), said([result])]
    call = {"id": f"t{n}", "type": "function", "function": {"name": "look", "arguments": f"[{n}]"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"t{n}", "content": f"{n}: {text}"},
    ]


def talk(count, text=FILL):
    """Messages in turns, the last of them the user's."""
    roles = ("user", "assistant") if count % 2 else ("assistant", "user")
    return [said(f"{n}: {text}", roles[n % 2]) for n in range(count)]


def long_talk(dialect="openai"):
    out = [said("task: keep the harbour in order"), said("yes", "assistant")]
    for n in range(12):
        out += [said(f"request {n}: {FILL}"), *step(n, dialect), said(f"done {n}", "assistant")]
    return [*out, said("which boat did request 3 move?")]


def exactly(count, tokens):
    """That many messages that cost that many tokens in all."""
    messages = talk(count)
    missing = tokens - count_tokens(messages)
    messages[2 % count]["content"] += " a" * missing  # of many, one that a window leaves out
    assert count_tokens(messages) == tokens
    return messages


class Nothing:
    """Picks nothing."""

    def pick(self, _request, _candidates, /, limit):  # noqa: ARG002 - as all are
        return []


LEAST = {"recent": 0, "index_share": 0, "picker": Nothing()}
"""Options with which a window saves what can be saved."""


# --- do no harm -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "tokens", "passes"),
    [
        (1, 100, True),
        (11, 400, True),
        (12, 400, False),
        (11, 5_999, True),
        (11, 6_000, False),
        (2, 5_999, True),
        (2, 6_000, False),
        (12, 6_000, False),
    ],
)
@pytest.mark.parametrize("systems", [0, 2])
def test_small_lists_pass_untouched(memory, count, tokens, passes, systems):
    system = [CHECK] * systems
    given = [*system, *exactly(count, tokens - sum(count_tokens([m]) - 3 for m in system))]
    window = memory.process(given, conversation="log", budget=20_000, **LEAST)
    assert window.report.active is not passes
    assert window.tokens == count_tokens(window.messages)
    if passes:
        assert json.dumps(window.messages) == json.dumps(given)
        assert window.tokens == tokens == window.report.tokens_in == window.report.tokens_sent


def test_a_request_that_is_sent_last_counts_as_a_message(memory):
    conversation = memory.conversation("log")
    conversation.append([*talk(9), said("ok", "assistant")])
    assert not conversation.window("and then?", budget=9_000).report.active
    conversation.append(said("ok", "assistant"))
    assert conversation.window("and then?", budget=9_000, **LEAST).report.active
    assert not conversation.window(budget=9_000, **LEAST).report.active


def test_what_travels_beside_counts_for_the_line(memory):
    given, options = exactly(9, 5_900), {"conversation": "log", "budget": 9_000, **LEAST}
    assert not memory.process(given, **options).report.active
    assert memory.process(given, **options, system="a " * 200).report.active
    assert memory.process(given, **options, tools=TOOLS * 9).report.active


def test_a_small_list_over_the_budget_is_cut(memory):
    given = talk(11)
    full = count_tokens(given)
    window = memory.process(given, conversation="log", budget=full)
    assert not window.report.active
    window = memory.process(given, conversation="log", budget=full - 1)
    assert window.report.active
    assert window.tokens < full


@pytest.mark.parametrize("mode", ["full", "recency"])
def test_other_modes_are_controls(memory, mode):
    given = long_talk()
    full = count_tokens(given)
    window = memory.process(given, conversation="log", budget=full, mode=mode)
    assert json.dumps(window.messages) == json.dumps(given)
    assert (window.tokens, window.report.saved) == (full, 0.0)
    assert window.report.picked == ()
    if mode == "full":
        with pytest.raises(BudgetTooSmall) as caught:
            memory.process(given, conversation="log", budget=full - 1, mode=mode)
        assert (caught.value.need, caught.value.have) == (full, full - 1)
    else:
        window = memory.process(given, conversation="log", budget=full // 2, mode=mode)
        head, *tail = window.messages
        assert head == given[0], "the task stays"
        assert tail == given[len(given) - len(tail) :], "no hole, no quotation"
        assert full // 2 - 200 < window.tokens <= full // 2


# --- exact ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base", "estimate"])
def test_windows_cost_what_they_say(bag, dialect, beside, encoding):
    options = {"system": SYSTEM, "tools": TOOLS} if beside else {}
    with Memory.open(None, embedder=bag, encoding=encoding) as memory:
        conversation = memory.conversation("log")
        conversation.append(long_talk(dialect))
        assert memory.flush(20)
        for budget in [*range(20, 400, 7), *range(400, 2_600, 61), 100_000]:
            for recent in (0, 4):
                try:
                    window = conversation.window(
                        budget=budget, recent=recent, min_saving=0, **options
                    )
                except BudgetTooSmall as error:
                    assert error.have == budget < error.need < 600  # noqa: PT017
                    continue
                counted = count_tokens(
                    window.messages, system=window.system, tools=window.tools, encoding=encoding
                )
                assert window.tokens == counted <= budget == window.budget
                parts = 3 + sum(part.tokens for part in window.parts)
                assert parts == counted if dialect == "openai" else 0 <= parts - counted <= 16
                assert validate(window.messages, dialect=dialect) == []
                assert (window.system == SYSTEM) is (beside and dialect == "anthropic")
                if recent == 0 and budget < 1_000:
                    assert not any(part.name == "recent" for part in window.parts)


def test_a_budget_is_used(memory):
    conversation = memory.conversation("log")
    conversation.append([said(f"{n}: the boat, {FILL}", "user") for n in range(200)])
    assert memory.flush(20)
    for budget in (800, 1_600, 3_200):
        window = conversation.window("where is the boat?", budget=budget)
        assert 0.85 * budget < window.tokens <= budget


def test_a_budget_of_headroom(memory):
    window = memory.process(long_talk(), conversation="log", budget=Budget(15_000))
    assert window.budget == 15_000 - 4_096 - 2_048 - 8_192 == 664
    assert window.tokens <= 664


# --- no -------------------------------------------------------------------------------------------

HEADS = {
    "short task": said("task: keep the harbour in order"),
    "long task": said("task: " + FILL * 20),
    "long task of parts": said([{"type": "text", "text": FILL * 20}]),
}


@pytest.mark.parametrize("mode", ["jit", "recency", "full"])
@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("query", [None, f"a request that is not appended, {FILL}"])
@pytest.mark.parametrize("tail", [0, 3])
def test_what_is_needed_is_enough(memory, mode, head, beside, query, tail):
    options = {"system": SYSTEM, "tools": TOOLS} if beside else {}
    conversation = memory.conversation("log")
    conversation.append([CHECK, head, *long_talk()])
    for n in range(tail):
        conversation.append(step(f"tail {n}"))
    with pytest.raises(BudgetTooSmall, match="the budget has 1;") as caught:
        conversation.window(query, budget=1, mode=mode, **options)
    need = caught.value.need
    assert caught.value.have == 1 < need
    window = conversation.window(query, budget=need, mode=mode, **options)
    assert window.tokens == need, "no more is asked for than is needed"
    with pytest.raises(BudgetTooSmall) as again:
        conversation.window(query, budget=need - 1, mode=mode, **options)
    assert (again.value.need, again.value.have) == (need, need - 1)


def test_a_task_that_does_not_fit_is_one_line_never_lost(memory):
    conversation = memory.conversation("log")
    conversation.append([said("Sail the red boat to Hull. " + FILL * 50), *long_talk()])
    window = conversation.window(budget=700)
    assert "Sail the red boat to Hull." in window.messages[0]["content"]
    assert window.messages[0]["role"] == "user"
    assert window.messages[-1] == long_talk()[-1]
    assert window.parts[0].name == "anchor"
    assert window.parts[0].ids == (conversation.ids[0],)


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
@pytest.mark.parametrize("mode", ["jit", "recency"])
@pytest.mark.parametrize("long_at", [0, 1, 3])
def test_a_task_among_the_recent_messages_is_not_lost(memory, dialect, mode, long_at):
    given = [said("task: sail to Hull. " + FILL * 9 * (long_at == 0))]
    given += [said("aye. " + FILL * 9 * (long_at == 1), "assistant"), said("which way?")]
    given += [said("north. " + FILL * 9 * (long_at == 3), "assistant"), said("how far?")]
    for budget in range(60, 420, 5):
        window = memory.process(
            given, conversation="log", budget=budget, mode=mode, dialect=dialect
        )
        assert validate(window.messages, dialect=dialect) == []
        if mode == "jit":
            assert "sail to Hull" in str(window.messages[0])
            assert window.messages[0]["role"] == "user"


def test_a_task_in_one_line_leaves_its_room_to_what_is_retrieved(memory):
    """The task that does not fit is not charged for whole, or nothing could be quoted beside it."""
    conversation = memory.conversation("log")
    conversation.append(said("keep the harbour in order. " * 400))
    for n in range(20):
        conversation.append([said(f"what of boat{n}?"), said(f"boat{n} lies at pier {n}")])
        conversation.append([said("aye", "assistant")])
    assert memory.flush(20)
    window = conversation.window("what of boat3?", budget=600, recent=2)
    assert "(The task, shortened)" in str(window.messages)
    assert window.report.picked
