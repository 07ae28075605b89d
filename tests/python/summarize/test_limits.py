"""Summaries at their limits exactly: length, prompts, facts, and what is carried."""

from __future__ import annotations

import re
from copy import deepcopy

import pytest
from summary_texts import GOOD, TALK

from warmset import count_tokens, summary_of
from warmset.errors import SummarizerError, SummaryRefused
from warmset.messages import facts
from warmset.summarize import (
    HEADING,
    Audit,
    ExtractiveSummarizer,
    Fact,
    LLMSummarizer,
    SummaryReply,
    audit,
)
from warmset.summarize.losses import LONGEST, READ
from warmset.summarize.prompt import chunks
from warmset.summarize.topic import check_topic
from warmset.usage import Usage

EARLIER = "Before, the user named the ship Halcyon, and asked for 7 crates."
FRAME, REPLY = 4, 3
"""Tokens that every message has besides its text, and every list besides its messages."""


def by(text):
    return lambda _messages, max_tokens: text  # noqa: ARG005 - a summarizer's


def of_length(tokens):
    """Return a summary of exactly so many tokens."""
    text = GOOD
    while count_tokens(text) < tokens:
        text += " and"
    assert count_tokens(text) == tokens
    return text


def limit_of(messages, previous=None):
    """Return the tokens at which a summary is no gain any more, as a message in their place."""
    replaced = count_tokens(messages) - REPLY
    if previous:
        replaced += FRAME + count_tokens(previous)
    return replaced - FRAME - count_tokens(f"{HEADING}\n")


# --- how long ------------------------------------------------------------------------------------


@pytest.mark.parametrize("previous", [None, EARLIER])
def test_a_summary_is_a_token_shorter_than_what_it_stands_for(previous):
    limit = limit_of(TALK, previous)
    made = summary_of(TALK, by(of_length(limit - 1)), previous=previous)
    assert made.tokens == limit - 1
    assert made.replaced == limit + FRAME + count_tokens(f"{HEADING}\n")
    with pytest.raises(SummaryRefused) as error:
        summary_of(TALK, by(of_length(limit)), previous=previous)
    assert error.value.reason == "not_shorter"
    assert str(limit - 1) in str(error.value)


@pytest.mark.parametrize("wanted", [10, 100_000])
def test_a_fallback_is_asked_for_what_is_a_gain(wanted):
    asked = []

    def fallback(_messages, *, max_tokens):
        asked.append(max_tokens)
        return GOOD

    summary_of(TALK, by("Error code: 503"), fallback=fallback, max_tokens=wanted)
    assert asked == [min(wanted, limit_of(TALK) - 1)]


def test_what_a_failed_summarizer_took_counts():
    refused = SummaryReply("Error code: 503", Usage(30, 10, 5.0))
    reply = SummaryReply(GOOD, Usage(200, 20, 7.0))
    made = summary_of(TALK, by(refused), fallback=by(reply))
    assert (made.usage.input, made.usage.output, made.usage.milliseconds) == (230, 30, 12.0)
    assert summary_of(TALK, by(refused), fallback=by(GOOD)).usage.tokens == 40
    long = SummaryReply("pool " * 2_000, Usage(50, 10))
    assert summary_of(TALK, by(long), fallback=by(GOOD)).usage.tokens == 60


def test_a_summarizer_may_do_what_it_likes_with_its_messages():
    given = deepcopy(TALK)

    def careless(messages, *, max_tokens):  # noqa: ARG001 - a summarizer's
        for one in messages:
            one["content"] = ""
        messages.clear()
        raise ValueError("no")

    seen = []

    def fallback(messages, *, max_tokens):  # noqa: ARG001 - a summarizer's
        seen.extend(messages)
        return GOOD

    summary_of(given, careless, fallback=fallback)
    assert given == TALK
    assert seen == TALK


# --- what is carried -----------------------------------------------------------------------------


def test_what_is_carried_keeps_to_its_cap_and_to_the_gain():
    sparse = "The user moves the ledger to Postgres 16."
    before = count_tokens(sparse)
    for messages in (TALK, [TALK[0], TALK[3]]):
        most = limit_of(messages) - 1
        sizes = set()
        for cap in range(10, 50):
            made = summary_of(messages, by(sparse), carry_tokens=cap)
            assert made.tokens == count_tokens(made.text) <= min(before + cap, most)
            assert made.audit == audit(messages, made.text), "the list is part of the summary"
            sizes.add(made.tokens)
        assert len(sizes) > 1 or most < before + 20


def test_facts_of_a_kind_share_a_title():
    paths = [f"src/part_{at}/file_{at}.py" for at in range(8)]
    found = audit([{"role": "assistant", "content": "see " + ", ".join(paths)}], "")
    whole = found.carried(1_000)
    assert all(path in whole for path in paths)
    assert found.carried(count_tokens(whole) + 2 * len(paths) + 5) == whole


# --- how many facts ------------------------------------------------------------------------------


def names(count, start=0):
    return tuple(Fact("name", f"Name{at}", at, "user") for at in range(start, start + count))


@pytest.mark.parametrize(
    ("kept", "lost", "tokens", "refused"),
    [
        (0, 7, 300, False),  # too few to judge
        (0, 8, 300, True),
        (1, 9, 300, False),  # one in ten
        (1, 10, 300, True),
        (1, 99, 150, False),  # one for 150 tokens
        (1, 99, 151, True),
        (2, 18, 10_000, False),
        (0, 8, 1, True),
    ],
)
def test_a_summary_keeps_one_in_ten_facts(kept, lost, tokens, refused):
    found = Audit(names(lost), names(kept, 500))
    if refused:
        with pytest.raises(SummaryRefused) as error:
            check_topic(found, tokens)
        assert error.value.reason == "low_recall"
    else:
        check_topic(found, tokens)
    outputs = tuple(Fact("name", f"Tool{at}", at, "tool") for at in range(20))
    digits = tuple(Fact("number", str(at), at, "user") for at in range(20))
    check_topic(Audit((*outputs, *digits), ()), tokens)


def test_facts_of_the_earlier_summary_count_as_well():
    check_topic(Audit(names(5), ()), 300, Audit(names(2), ()))
    with pytest.raises(SummaryRefused, match="0 of 8"):
        check_topic(Audit(names(5), ()), 300, Audit(names(3), ()))
    check_topic(Audit(names(9), ()), 300, Audit((), names(1)))
    with pytest.raises(SummaryRefused, match="1 of 11"):
        check_topic(Audit(names(9), ()), 300, Audit(names(1), names(1)))


# --- how many prompts ----------------------------------------------------------------------------


class Model:
    def __init__(self):
        self.prompts = []

    def __call__(self, prompt):
        self.prompts.append(prompt)
        return f"reply {len(self.prompts)}"


def turns(count, words=90):
    return [{"role": "user", "content": f"Turn {at}. " + "word " * words} for at in range(count)]


def test_turns_that_fill_a_chunk_exactly_are_one():
    told = [facts(one, "openai") for one in turns(6)]
    [whole] = chunks(told, budget=10_000, encoding="o200k_base")
    assert [one.tokens for one in chunks(told, budget=whole.tokens, encoding="o200k_base")] == [
        whole.tokens
    ]
    less = list(chunks(told, budget=whole.tokens - 1, encoding="o200k_base"))
    assert len(less) == 2
    assert "".join(one.text for one in less) == whole.text


def test_exactly_as_many_prompts_as_permitted():
    model = Model()
    LLMSummarizer(model, prompt_tokens=512)(turns(20), max_tokens=60)
    parts = len(model.prompts) - 1
    assert parts > 3
    LLMSummarizer(model, prompt_tokens=512, max_prompts=parts)(turns(20), max_tokens=60)
    with pytest.raises(SummarizerError, match=f"max_prompts .{parts - 1}."):
        LLMSummarizer(model, prompt_tokens=512, max_prompts=parts - 1)(turns(20), max_tokens=60)


def test_the_earlier_summary_is_joined_with_the_parts_once():
    model = Model()
    made = LLMSummarizer(model, prompt_tokens=512)(turns(20), max_tokens=60, previous=EARLIER)
    *parts, last = model.prompts
    assert [EARLIER in one for one in parts] == [False] * len(parts)
    assert EARLIER in last
    assert [f"reply {at}" in last for at in range(1, len(parts) + 1)] == [True] * len(parts)
    assert made == f"reply {len(model.prompts)}"


@pytest.mark.parametrize(("off", "joins"), [(-1, 4), (0, 2), (1, 2)])
def test_parts_are_joined_as_many_at_a_time_as_fit(off, joins):
    part = "word " * 150 + "end"
    budget = 2 * count_tokens(part) + off
    prompts = []

    def model(prompt):
        prompts.append(prompt)
        return "joined so far" if "</part>" in prompt else part

    def parted(words):
        told = [facts(one, "openai") for one in turns(4, words)]
        return list(chunks(told, budget=budget, encoding="o200k_base"))

    words = next(words for words in range(1, budget) if len(parted(words)) == 4)
    LLMSummarizer(model, prompt_tokens=budget)(turns(4, words), max_tokens=60)
    made = prompts[4:]
    assert [one.count("</part>") for one in made] == [4 // joins] * joins
    assert ["joined so far" in one for one in made] == [False] + [True] * (joins - 1)


def test_a_sentence_that_fills_the_room_exactly_is_taken():
    said = "Never write to the replica in src/auth/login.py."
    cost = count_tokens(f" {said}") + count_tokens("\nassistant:")
    given = [{"role": "user", "content": said}]
    assert ExtractiveSummarizer()(given, max_tokens=cost) == f"user: {said}"
    assert ExtractiveSummarizer()(given, max_tokens=cost - 1) == ""


# --- what is open --------------------------------------------------------------------------------


def open_of(messages):
    return [
        (one.kind, one.text)
        for one in audit(messages, "").lost
        if one.kind in {"task", "constraint"}
    ]


def test_a_call_is_no_answer():
    asked = {"role": "user", "content": "Hm. Which colour has the boat?"}
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    calls = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c", "content": "blue"}
    task = ("task", "Which colour has the boat?")
    assert open_of([asked, calls]) == [task]
    assert open_of([asked, calls, result]) == [task]
    assert open_of([asked, {**calls, "content": "let me see"}, result]) == [task]
    assert open_of([asked, calls, result, {"role": "assistant", "content": "It is."}]) == []


@pytest.mark.parametrize(
    "text",
    [
        "You must not deploy before Friday.",
        "Please never write to the replica.",
        "Use at most 3 workers, please.",
        "Can you keep the pool at 12?",
        "TODO: write the docs for Ada",
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_sentence_is_a_constraint_or_a_task_and_not_both(text, role):
    assert len(open_of([{"role": role, "content": text}])) == 1


def test_an_open_request_tells_where_it_is():
    asked = {"role": "user", "content": "Hm. Which colour has the boat?"}
    [task] = [one for one in audit([*TALK, asked], "").lost if "colour" in one.text]
    assert (task.kind, task.at, task.role) == ("task", len(TALK), "user")


# --- what a summarizer is told, and what it tells ------------------------------------------------


def test_a_summarizer_without_such_arguments_gets_the_earlier_summary_and_no_focus():
    seen = []

    def plain(messages, *, max_tokens):  # noqa: ARG001 - a summarizer's
        seen.append(messages)
        return GOOD

    made = summary_of(TALK, plain, previous=EARLIER, focus="the pool")
    assert seen[0][0]["content"] == f"{HEADING}\n{EARLIER}"
    assert seen[0][1:] == TALK
    assert any("takes no focus" in note for note in made.notes)
    assert not summary_of(TALK, plain).notes


@pytest.mark.parametrize(("one", "other"), [(True, False), (False, True), (False, False)])
def test_counts_are_estimated_where_one_of_them_is(one, other):
    refused = SummaryReply("Error code: 503", Usage(30, 10, estimated=one))
    reply = SummaryReply(GOOD, Usage(200, 20, estimated=other))
    assert summary_of(TALK, by(refused), fallback=by(reply)).usage.estimated == (one or other)


def test_a_summarizer_with_any_argument_gets_the_earlier_summary_and_the_focus():
    seen = []

    def anything(messages, *, max_tokens, **more):  # noqa: ARG001 - a summarizer's
        seen.append((messages, more))
        return GOOD

    made = summary_of(TALK, anything, previous=EARLIER, focus="the pool")
    assert seen == [(TALK, {"previous": EARLIER, "focus": "the pool"})]
    assert not made.notes


# --- what is read, and in which order ------------------------------------------------------------


@pytest.mark.parametrize(("longest", "left"), [(189, 11), (199, 1), (200, 0), (201, 0)])
def test_a_turn_is_shown_whole_up_to_exactly_its_characters(longest, left):
    """Of a longer one, what is said to be missing and what is shown are all of it."""
    text = "".join(f"{at:03} " for at in range(50))
    told = facts({"role": "user", "content": text}, "openai")
    [chunk] = chunks([told], budget=10_000, encoding="o200k_base", longest=longest)
    assert chunk.shortened == (left > 0)
    assert (text in chunk.text) == (left == 0)
    assert (f"{left} characters" in chunk.text) == (left > 0)
    if left:
        head, _, tail = re.split(r"\n(\[.*\])\n", chunk.text.split(">\n", 1)[1])
        tail = tail.removesuffix("\n</turn>\n")
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) + len(tail) + left == len(text)


@pytest.mark.parametrize("more", [0, 1, 10])
def test_what_is_not_read_of_a_long_turn_is_counted(more):
    turns_ = 100
    share = READ // turns_
    assert share < LONGEST
    given = [{"role": "user", "content": "Fine."}] * (turns_ - 1)
    given.append({"role": "user", "content": "word " * (share // 5) + "x" * more})
    assert audit(given, "").unread == more


def test_of_equally_important_facts_the_first_is_carried():
    early, late = (Fact("path", f"src/part_{at}/file.py", at, "user") for at in (1, 7))
    lost = Audit((late, early), ())
    assert lost.carried(100) == "Paths: src/part_1/file.py; src/part_7/file.py"
    both = count_tokens(lost.carried(100))
    assert lost.carried(both - 1) == "Paths: src/part_1/file.py"


def test_a_sentence_with_all_words_of_the_focus_weighs_more_than_one_with_some():
    some, all_ = "The crane stands on the old pier.", "The crane lifts the steel over there."
    given = [
        {"role": "user", "content": "Fine."},
        {"role": "user", "content": some},
        {"role": "assistant", "content": all_},
        {"role": "user", "content": "Well."},
    ]
    room = count_tokens(f" {some}") + count_tokens("\nassistant:")
    assert count_tokens(f" {all_}") <= count_tokens(f" {some}")
    assert some in ExtractiveSummarizer()(given, max_tokens=room, focus="crane")
    assert all_ in ExtractiveSummarizer()(given, max_tokens=room, focus="crane and steel")
