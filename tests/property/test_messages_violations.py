"""`validate` catches each violation that is seeded into a valid list."""

import pytest
from hypothesis import given, strategies as st
from message_strategies import anthropic_lists, openai_lists

from warmset.messages import validate


def remove_call(messages, at):
    return messages[: at - 1] + messages[at:]


def split(messages, at):
    return [*messages[:at], {"role": "user", "content": "wait"}, *messages[at:]]


def remove_answer(messages, at):
    return messages[:at] + messages[at + 1 :]


def answer_twice(messages, at):
    return [*messages[: at + 1], messages[at], *messages[at + 1 :]]


def say_nothing(messages, _):
    return [*messages, {"role": "assistant", "content": None}]


OPENAI_SINS = [
    ("C1", remove_call),
    ("C1", split),
    ("C2", split),
    ("C2", remove_answer),
    ("C3", answer_twice),
    ("C4", say_nothing),
]


@pytest.mark.parametrize(("rule", "sin"), OPENAI_SINS)
@given(messages=openai_lists(min_rounds=1), data=st.data())
def test_openai_rules_catch_seeded_violations(rule, sin, messages, data):
    firsts = [
        i
        for i, message in enumerate(messages)
        if message["role"] == "tool" and messages[i - 1]["role"] == "assistant"
    ]
    sinful = sin(messages, data.draw(st.sampled_from(firsts)))
    assert rule in {problem.rule for problem in validate(sinful, dialect="openai")}


def with_blocks(messages, at, change):
    blocks = change(list(messages[at]["content"]))
    return [*messages[:at], {"role": "user", "content": blocks}, *messages[at + 1 :]]


def start_late(messages, _):
    return messages[1:]


def forget_result(messages, at):
    return with_blocks(messages, at, lambda blocks: [*blocks[1:], {"type": "text", "text": "so"}])


def talk_first(messages, at):
    return with_blocks(messages, at, lambda blocks: [{"type": "text", "text": "so"}, *blocks])


def result_twice(messages, at):
    return with_blocks(messages, at, lambda blocks: [blocks[0], *blocks])


def blank(messages, at):
    return with_blocks(messages, at, lambda blocks: [*blocks, {"type": "text", "text": " \n"}])


ANTHROPIC_SINS = [
    ("A1", start_late),
    ("A2", forget_result),
    ("A3", split),
    ("A3", talk_first),
    ("A4", result_twice),
    ("A4", remove_call),
    ("A8", blank),
]


@pytest.mark.parametrize(("rule", "sin"), ANTHROPIC_SINS)
@given(messages=anthropic_lists(min_rounds=1), data=st.data())
def test_anthropic_rules_catch_seeded_violations(rule, sin, messages, data):
    answers = [
        i
        for i, message in enumerate(messages)
        if isinstance(message["content"], list) and message["content"][0]["type"] == "tool_result"
    ]
    sinful = sin(messages, data.draw(st.sampled_from(answers)))
    assert rule in {problem.rule for problem in validate(sinful, dialect="anthropic")}
