"""`Summarize`, the policy: what becomes a summary, what is refused, and what is told of it."""

from __future__ import annotations

import pytest

from warmset import Chain, SlidingWindow, Summarize, count_tokens, fit, validate
from warmset.errors import InvalidInputError, SummarizerError, SummaryRefused
from warmset.messages import text_message
from warmset.summarize import HEADING, ExtractiveSummarizer, LLMSummarizer

PART = "Part 1: 700 kg and 701 kg."
FILL = "the harbour master counted every crate that came ashore before the tide"


def talk(count=12, dialect="openai"):
    out = [text_message(dialect, "user", "The task: count crates.")]
    for at in range(count):
        out.append(text_message(dialect, "assistant", f"Crate {at} weighs {700 + at} kg; {FILL}."))
        out.append(text_message(dialect, "user", f"And crate {at + 1}? {FILL}"))
    return out


def says(text):
    return lambda _messages, max_tokens: text  # noqa: ARG005 - as all summarizers are called


def raises(_messages, max_tokens):  # noqa: ARG001 - likewise
    raise ConnectionError("nobody there")


def tight(messages):
    return count_tokens(messages) * 2 // 3


def shown(made):
    return [one for one in made.messages if HEADING in str(one["content"])]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("Error code: 429 - too many requests", "error"),
        ("I'm sorry, but I can't help with that.", "refusal"),
        ("long and longer " * 2_000, "not_shorter"),
    ],
)
def test_what_is_no_summary_is_not_used(answer, reason):
    messages = talk()
    made = fit(messages, budget=tight(messages), policy=Summarize(0.5, says(answer)))
    plain = fit(messages, budget=tight(messages))
    assert made.messages == plain.messages
    assert made.evicted == plain.evicted
    [note] = made.notes
    assert note.startswith(f"no summary was used: {reason}: ")
    assert plain.notes == ()


def test_other_policies_make_room_where_there_is_no_summary():
    messages = talk()
    chain = Chain(Summarize(0.5, says("")), SlidingWindow(3))
    made = fit(messages, budget=tight(messages), policy=chain)
    assert made.messages == [messages[0], *messages[-3:]]
    assert len(made.notes) == 1


def test_a_summarizer_that_fails_is_a_typed_error():
    messages = talk()
    with pytest.raises(SummarizerError, match="nobody there") as caught:
        fit(messages, budget=tight(messages), policy=Summarize(0.5, raises))
    assert isinstance(caught.value.__cause__, ConnectionError)
    for answer in (None, 3, b"bytes"):
        with pytest.raises(SummaryRefused, match="not_text"):
            fit(messages, budget=tight(messages), policy=Summarize(0.5, says(answer)))
    refusing = LLMSummarizer(lambda _prompt: "I cannot assist with this request.")
    made = fit(messages, budget=tight(messages), policy=Summarize(0.5, refusing))
    assert made.notes[0].startswith("no summary was used: refusal")


@pytest.mark.parametrize("summarizer", [raises, says("")])
def test_a_fallback_writes_instead_and_that_is_told(summarizer):
    messages = talk()
    policy = Summarize(0.5, summarizer, fallback=ExtractiveSummarizer())
    made = fit(messages, budget=tight(messages), policy=policy)
    [summary] = shown(made)
    assert "crate" in summary["content"].lower()
    assert " failed: " in made.notes[0]


def test_what_a_summary_lacks_is_told_and_can_ride_along():
    messages = talk()
    short = says("They weighed crates of 700 kg and more.")
    made = fit(messages, budget=tight(messages), policy=Summarize(0.5, short, keep=2))
    [summary] = shown(made)
    assert summary["content"] == f"{HEADING}\nThey weighed crates of 700 kg and more."
    [note] = made.notes
    assert note.startswith("the summary lacks ")
    carrying = Summarize(0.5, short, keep=2, carry_tokens=200)
    made = fit(messages, budget=tight(messages), policy=carrying)
    [summary] = shown(made)
    text = summary["content"]
    assert text.startswith(f"{HEADING}\n{short(messages, max_tokens=1)}\n\n(Also stated there)\n")
    assert all(f"{700 + at}" in text for at in range(10))
    assert made.tokens <= tight(messages)
    assert made.notes == ()


def test_an_earlier_summary_is_taken_up():
    asked = []

    def knows(messages, *, max_tokens, previous=None):  # noqa: ARG001 - as all are called
        asked.append((len(messages), previous))
        return f"Part {len(asked)}: 700 kg and 701 kg."

    def plain(messages, *, max_tokens):  # noqa: ARG001 - likewise
        asked.append((len(messages), messages[0]["content"]))
        return f"Part {len(asked)}: 700 kg and 701 kg."

    messages = talk()
    for summarizer, earlier in ((knows, PART), (plain, f"{HEADING}\n{PART}")):
        asked.clear()
        policy = Summarize(0.5, summarizer, keep=2)
        made = fit(messages, budget=tight(messages), policy=policy)
        longer = [*made.messages, *talk()[1:]]
        again = fit(longer, budget=tight(longer), policy=policy)
        assert [one["content"] for one in shown(again)] == [
            f"{HEADING}\nPart 2: 700 kg and 701 kg."
        ]
        assert asked[1][1] == earlier
        assert asked[1][0] == len(longer) - 4 + (summarizer is plain)


def test_several_earlier_summaries_are_all_taken_up():
    asked = []

    def knows(_messages, *, max_tokens, previous=None):  # noqa: ARG001 - as all are called
        asked.append(previous)
        return PART

    parts = [text_message("openai", "user", f"{HEADING}\nPart {at}.") for at in (1, 2)]
    messages = [*talk()[:1], *parts, *talk()[1:]]
    fit(messages, budget=tight(messages), policy=Summarize(0.5, knows, keep=2))
    assert asked == ["Part 1.\n\nPart 2."]


def test_an_earlier_summary_alone_is_not_summarised_again():
    asked = []

    def knows(messages, *, max_tokens, previous=None):  # noqa: ARG001 - as all are called
        asked.append(len(messages))
        return PART

    task, *rest = talk(2)
    messages = [task, text_message("openai", "user", f"{HEADING}\n{PART} {FILL}"), *rest]
    budget = count_tokens(messages) + 1
    for keep, said in ((len(rest), []), (len(rest) - 1, [1])):
        fit(messages, budget=budget, policy=Summarize(0.1, knows, keep=keep))
        assert asked == said, keep


def test_the_counter_of_the_caller_decides_whether_it_is_shorter():
    messages = talk()

    def words(listed):
        return sum(len(str(one["content"]).split()) for one in listed)

    many = "700 kg 701 kg 702 kg " + " ".join("x" for _ in range(334))
    policy = Summarize(0.5, says(many))
    made = fit(messages, budget=words(messages) * 2 // 3, counter=words, policy=policy)
    [note] = made.notes
    assert "what it would stand for has" in note, "by the words that the caller counts"
    assert made.tokens <= words(messages) * 2 // 3


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "gemini", "responses", "interactions"])
def test_lists_with_a_summary_are_valid(dialect):
    messages = talk(dialect=dialect)
    policy = Summarize(
        0.5, says("They weighed crates of 700 kg and more."), keep=2, carry_tokens=60
    )
    budget = count_tokens(messages) // 2
    made = fit(messages, budget=budget, policy=policy, dialect=dialect)
    assert validate(made.messages, dialect=dialect) == []
    assert [one.kind for one in made.inserted if one.kind == "summary"] == ["summary"]
    assert made.tokens <= budget


@pytest.mark.parametrize(
    "options", [{"fallback": 3}, {"carry_tokens": -1}, {"carry_tokens": True}, {"summarizer": 3}]
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        Summarize(**{"summarizer": says("x"), **options})


def test_a_summarizer_that_changes_its_messages_changes_nobody_else_s():
    seen = []

    def writes(messages, *, max_tokens):  # noqa: ARG001 - as all summarizers are called
        seen.append(len(str(messages)))
        for message in messages:
            message.clear()
        return "Crates of 700 kg were counted." if len(seen) > 1 else ""

    messages, same = talk(), talk()
    made = fit(messages, budget=tight(messages), policy=Summarize(0.5, writes, fallback=writes))
    assert messages == same
    assert seen == [seen[0]] * 2, "the fallback sees them as they are"
    assert any("the summary lacks" in note for note in made.notes)
    assert len(shown(made)) == 1
