"""What each policy does, on lists that are short enough to be read."""

from __future__ import annotations

import asyncio

import pytest
from agent_lists import TooLongError, count, said, session, step, tight

from warmset import (
    BlobStore,
    Budget,
    Chain,
    ClearToolResults,
    HeadTail,
    LatestToolResult,
    OffloadLarge,
    Salience,
    SlidingWindow,
    Summarize,
    TokenBudget,
    aretry_on_overflow,
    convert,
    fit,
    retry_on_overflow,
    validate,
)
from warmset.errors import BudgetTooSmall, InvalidInputError, NotFound
from warmset.evict import Fold, Leave, Swap, is_overflow
from warmset.messages import DIALECTS
from warmset.native import ColdStore


def contents(made):
    return [message.get("content") for message in made.messages if message["role"] == "tool"]


def test_sliding_window_keeps_the_last_units_and_what_must_stay():
    messages = session()
    made = fit(messages, budget=tight(messages), policy=SlidingWindow(3))
    assert made.messages == [*messages[:2], *messages[-4:]]
    assert {one.reason for one in made.evicted} == {"not among the last 3 units"}


def test_head_and_tail_keep_both_ends():
    messages = session()
    made = fit(messages, budget=tight(messages), policy=HeadTail(1, head=2))
    assert made.messages == [*messages[:4], messages[-1]]


def test_a_window_that_is_still_too_large_loses_its_oldest_units():
    messages = session()
    budget = count([*messages[:2], *messages[-2:]])
    made = fit(messages, budget=budget, policy=SlidingWindow(5))
    assert made.messages == [*messages[:2], *messages[-2:]]
    assert made.evicted[-1].reason == "older than what fits the budget"


def test_salience_lets_the_dullest_leave_first():
    messages = [said("user", "task"), *(said("assistant", f"word {at}") for at in range(4))]
    messages.append(said("user", "now"))
    scores = {1: 3.0, 2: 1.0, 3: 2.0, 4: 1.0}
    one = count(messages[:2]) - count(messages[:1])
    for gone, left in enumerate(([], [2], [2, 4], [2, 4, 3])):
        made = fit(messages, budget=count(messages) - gone * one, policy=Salience(scores))
        assert [at for each in made.evicted for at in each.indices] == left
    by_text = Salience(lambda message: -len(message["content"]))
    assert fit(messages, budget=tight(messages), policy=by_text).evicted[0].indices == (1,)


@pytest.mark.parametrize("score", [[1.0], ["a"] * 20, lambda _: None, lambda _: float("nan")])
def test_scores_that_are_none(score):
    messages = session()
    with pytest.raises(InvalidInputError, match=r"score"):
        fit(messages, budget=tight(messages), policy=Salience(score))


def test_old_tool_results_are_cleared_and_the_calls_stay():
    messages = session()
    made = fit(messages, budget=tight(messages), policy=ClearToolResults(keep=2))
    assert contents(made) == ["[old tool result cleared]"] * 4 + ["found it " * 30] * 2
    assert len(made.messages) == len(messages)
    assert [one.kind for one in made.inserted] == ["placeholder"] * 4
    assert [one.stands_for for one in made.inserted] == [(3,), (5,), (7,), (9,)]
    assert validate(made.messages) == []


def test_clearing_waits_for_its_trigger_and_for_enough_to_free():
    messages = session()
    policy = ClearToolResults(keep=0, trigger=count(messages))
    assert fit(messages, budget=10**6, policy=policy).evicted == ()
    policy = ClearToolResults(keep=0, trigger=count(messages) - 1)
    assert len(fit(messages, budget=10**6, policy=policy).evicted) == 6
    freed = count(messages) - fit(messages, budget=10**6, policy=policy).tokens
    enough = ClearToolResults(keep=0, trigger=0, clear_at_least=freed)
    assert fit(messages, budget=10**6, policy=enough).evicted
    more = ClearToolResults(keep=0, trigger=0, clear_at_least=freed + 1)
    assert not fit(messages, budget=10**6, policy=more).evicted


def test_tools_can_be_excluded_and_inputs_cleared():
    messages = [said("user", "go"), *step(1, "keep", "y" * 90), *step(2, "drop", "z" * 90)]
    messages.append(said("user", "on"))
    policy = ClearToolResults(keep=0, trigger=0, exclude=["keep"], inputs=True)
    made = fit(messages, budget=10**6, policy=policy)
    assert made.messages[1:3] == messages[1:3]
    assert made.messages[3]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert contents(made)[1] == "[old tool result cleared]"
    assert messages[3]["tool_calls"][0]["function"]["arguments"] != "{}"


def test_only_the_latest_of_equal_calls_keeps_its_result():
    messages = [said("user", "go"), *step(1), *step(2, query="other"), *step(3)]
    messages.append(said("user", "on"))
    made = fit(messages, budget=tight(messages), policy=LatestToolResult())
    cleared = "[cleared: the same call was made again later]"
    assert contents(made) == [cleared, "found it " * 30, "found it " * 30]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_clearing_speaks_every_dialect(dialect):
    messages = convert(session()[1:], source="openai", target=dialect).messages
    made = fit(
        messages,
        budget=count(messages, dialect) - 1,
        policy=ClearToolResults(keep=1),
        dialect=dialect,
    )
    assert len(made.inserted) == 5
    assert validate(made.messages, dialect=dialect) == []
    assert str(made.messages).count("[old tool result cleared]") == 5


def test_a_large_result_goes_to_the_store_and_can_be_read_in_parts(tmp_path):
    text = "".join(f"line {at} of the log\n" for at in range(2_000))
    messages = session(2, result=text)
    with ColdStore.open(tmp_path / "store") as cold:
        shelf = BlobStore(cold)
        made = fit(messages, budget=tight(messages), policy=OffloadLarge(lines=3), store=shelf)
        shown = contents(made)[0]
        handle = made.inserted[0].handle
        assert shown.startswith(f"[offloaded as {handle}: 2000 lines, {len(text)} characters")
        assert "line 0 of" in shown
        assert "line 1999 of" in shown
        assert "line 3 of" not in shown
        assert shelf.read(handle) == text
        assert shelf.read(handle, 5, 7) == "line 5 of the log\nline 6 of the log\n"
        assert shelf.read(handle, 0, 1) == "line 0 of the log\n"
        again = fit(messages, budget=tight(messages), policy=OffloadLarge(lines=3), store=shelf)
        assert again.messages == made.messages
    with ColdStore.open(tmp_path / "store") as cold:
        assert BlobStore(cold).read(handle, 1999) == "line 1999 of the log\n"
        with pytest.raises(NotFound):
            BlobStore(cold).read("blob:00")


def test_one_long_line_is_cut_as_well():
    messages = session(1, result="x" * 50_000)
    policy = OffloadLarge(store=BlobStore())
    shown = contents(fit(messages, budget=tight(messages), policy=policy))[0]
    assert len(shown) < 6_000


def test_offloading_needs_a_store():
    messages = session(2, result="y" * 9_000)
    with pytest.raises(InvalidInputError, match="store"):
        fit(messages, budget=tight(messages), policy=OffloadLarge())


def test_what_leaves_has_a_handle_where_there_is_a_store():
    messages, shelf = session(), BlobStore()
    made = fit(messages, budget=tight(messages), policy=SlidingWindow(1), store=shelf)
    kept = [shelf.read(one.handle) for one in made.evicted]
    assert '"tool_calls"' in kept[0]
    assert '"it is in line 7"' in kept[-1]
    assert all(one.handle is None for one in fit(messages, budget=tight(messages)).evicted)


def test_a_summary_stands_for_the_oldest_and_can_be_summarised_again():
    seen = []

    def summarizer(messages, *, max_tokens):
        seen.append((len(messages), max_tokens))
        return f"They looked {len(messages)} times."

    policy = Summarize(watermark=0.5, summarizer=summarizer, keep=2)
    messages = session()
    made = fit(messages, budget=tight(messages), policy=policy)
    assert made.messages[2]["content"] == ("(Summary of earlier messages)\nThey looked 12 times.")
    assert made.messages[3:] == messages[-2:]
    assert seen[0][0] == 12
    assert made.inserted[0].stands_for == tuple(range(2, 14))
    longer = [*made.messages, *session()[1:]]
    again = fit(longer, budget=tight(longer), policy=policy)
    assert sum("(Summary" in str(one["content"]) for one in again.messages) == 1
    assert seen[1][0] > 12


@pytest.mark.parametrize("answer", ["", " \n", "long " * 5_000])
def test_a_summary_that_is_none_is_not_used(answer):
    messages = session()
    policy = Summarize(summarizer=lambda _, max_tokens: answer, watermark=0.5)  # noqa: ARG005
    made = fit(messages, budget=tight(messages), policy=policy)
    assert not made.inserted
    assert made.tokens <= tight(messages)


def test_a_summary_waits_for_the_watermark_or_for_the_predicate():
    messages = session()
    budget = Budget(
        window=count(messages) * 2, max_reply=0, safety=0, tool_reserve=0, watermark=0.6
    )
    short = {"summarizer": lambda _, max_tokens: "short"}  # noqa: ARG005
    assert not fit(messages, budget=budget, policy=Summarize(**short)).inserted
    assert fit(messages, budget=budget, policy=Summarize(0.4, **short)).inserted
    asked = []
    told = Summarize(**short, should_compact=lambda *told: asked.append(told) or True)
    assert fit(messages, budget=budget, policy=told).inserted
    assert asked[0][1] == count(messages)


def test_a_predicate_decides_up_to_the_budget_and_not_above_it():
    messages = session()
    never = Summarize(
        summarizer=lambda _, max_tokens: "short",  # noqa: ARG005
        should_compact=lambda _messages, _tokens: False,
    )
    assert not fit(messages, budget=count(messages), policy=never).inserted
    [summary] = fit(messages, budget=tight(messages), policy=never).inserted
    assert summary.kind == "summary"


def test_the_first_of_a_chain_that_reaches_the_budget_wins():
    messages = session()
    chain = Chain(ClearToolResults(keep=1), SlidingWindow(1))
    gentle = fit(messages, budget=tight(messages), policy=chain)
    assert len(gentle.messages) == len(messages)
    harsh = fit(messages, budget=count(messages) // 4, policy=chain)
    assert harsh.messages == [*messages[:2], messages[-1]]


def test_the_task_is_shortened_before_it_is_lost():
    task = said("user", "Port the parser to Rust. " + "Mind the tests. " * 300)
    messages = [task, *session()[2:]]
    made = fit(messages, budget=200)
    assert made.messages[0]["content"].startswith("(The task, shortened) Port the parser")
    assert made.inserted[0].stands_for == (0,)
    assert made.evicted[0].indices == (0,)
    with pytest.raises(BudgetTooSmall):
        fit(messages, budget=200, protect=[0])


@pytest.mark.parametrize("pin", [[4], [5], [-11], lambda message: "c1" in str(message)])
def test_a_pin_holds_its_whole_unit(pin):
    messages = session()
    made = fit(messages, budget=count(messages) // 2, policy=SlidingWindow(1), protect=pin)
    assert messages[4] in made.messages
    assert messages[5] in made.messages


@pytest.mark.parametrize("pin", [[99], ["a"], 5, [None]])
def test_pins_that_are_none(pin):
    with pytest.raises(InvalidInputError, match="protect"):
        fit(session(), budget=10**6, protect=pin)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SlidingWindow(0),
        lambda: HeadTail(2, head=0),
        lambda: ClearToolResults(keep=-1),
        lambda: ClearToolResults(exclude="search"),
        lambda: OffloadLarge(over=10),
        lambda: Summarize(watermark=1.0, summarizer=str),
        Summarize,
        Chain,
        lambda: Chain(SlidingWindow),
        lambda: fit(session(), budget=100, policy="sliding"),
        lambda: fit(session(), budget=0),
        lambda: fit(session(), budget=10**6, counter=5),
        lambda: retry_on_overflow(str, budget=100, attempts=-1),
        lambda: retry_on_overflow(str, budget=100, step=1.0),
    ],
)
def test_options_out_of_range(make):
    with pytest.raises(InvalidInputError):
        make()


class Odd:
    def __init__(self, *edits):
        self.edits = edits

    def plan(self, view):
        return [edit(view) for edit in self.edits]


@pytest.mark.parametrize(
    "edits",
    [
        (lambda _: Leave(99, "no such unit"),),
        (lambda _: Leave(2, "once"), lambda _: Leave(2, "twice")),
        (lambda _: Swap(99, {}, "placeholder", "no such message"),),
        (lambda _: Fold((2, 99), said("user", "x"), "no such unit"),),
        (lambda _: "leave",),
        (lambda _: Swap(5, {"role": "tool"}, "placeholder", "no message"),),
        (lambda _: Swap(5, "cleared", "placeholder", "no message"),),
        (lambda _: Swap(5, said("user", "x"), "placeholder", "answers no call"),),
        (lambda view: Leave(len(view.units), "behind the last unit"),),
        (lambda _: Leave(-1, "before the first unit"),),
        (lambda view: Swap(len(view.messages), said("user", "x"), "placeholder", "none there"),),
        (lambda view: Fold((2, len(view.units)), said("user", "x"), "behind the last unit"),),
        (lambda _: Fold((2, 3, 2), said("user", "x"), "the same unit twice"),),
        (lambda _: Swap(14, said("user", "x"), "placeholder", "the assistant said it"),),
        (lambda _: Fold((2, 3), said("system", "x"), "the system said nothing"),),
    ],
)
def test_a_policy_that_asks_for_nonsense(edits):
    with pytest.raises(InvalidInputError):
        fit(session(), budget=10**6, policy=Odd(*edits))


def test_a_policy_cannot_touch_what_must_stay():
    messages = session()
    made = fit(
        messages, budget=10**6, policy=Odd(*(lambda _, at=at: Leave(at, "all") for at in range(9)))
    )
    assert made.messages == [*messages[:2], messages[-1]]


OVERFLOWS = [
    TooLongError("This model's maximum context length is 8192 tokens."),
    TooLongError("prompt is too long: 210000 tokens > 200000 maximum"),
    TooLongError("The input token count (1200000) exceeds the maximum number of tokens allowed"),
    TooLongError("no", code="context_length_exceeded"),
    TooLongError("no", body={"error": {"code": "context_length_exceeded"}}),
    TooLongError("no", body={"code": "context_length_exceeded"}),
    TooLongError("request too large", status_code=413),
    TooLongError("Input is too long for requested model."),
]


@pytest.mark.parametrize("error", OVERFLOWS)
def test_an_overflow_steps_the_budget_down(error):
    tried = []

    def call(tokens):
        tried.append(tokens)
        if tokens > 700:
            raise error
        return "answer"

    assert is_overflow(error)
    assert retry_on_overflow(call, budget=1_000) == "answer"
    assert tried == [1_000, 900, 810, 729, 656]

    async def acall(tokens):
        return call(tokens)

    assert asyncio.run(aretry_on_overflow(acall, budget=1_000)) == "answer"


@pytest.mark.parametrize("told", ["rate limit exceeded", "invalid api key", "context", "timeout"])
def test_other_errors_are_raised_at_once(told):
    tried = []

    def call(tokens):
        tried.append(tokens)
        raise TooLongError(told, status_code=400)

    with pytest.raises(TooLongError):
        retry_on_overflow(call, budget=1_000)
    assert tried == [1_000]


def test_steps_are_bounded():
    tried = []

    def call(tokens):
        tried.append(tokens)
        raise OVERFLOWS[0]

    with pytest.raises(TooLongError):
        retry_on_overflow(call, budget=1_000)
    assert tried == [1_000, 900, 810, 729, 656, 590]


def test_policies_and_results_can_be_shown():
    assert (
        repr(Chain(SlidingWindow(2), TokenBudget()))
        == "Chain(SlidingWindow(k=2, always=False), TokenBudget())"
    )
    made = fit(session(), budget=10**6)
    assert len(made) == len(made.messages)
