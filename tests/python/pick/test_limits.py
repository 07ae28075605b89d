"""Picking where a limit is met exactly, and where an answer breaks while it is read."""

from __future__ import annotations

import pytest

from warmset.errors import InvalidInputError, PickerError
from warmset.llm import Asker, Reply, Terms
from warmset.pick import Candidate, LLMPicker, Picks, ScorePicker, ask_picker, parse, picker_named
from warmset.pick.asking import picked_by
from warmset.usage import Usage


def candidates(count=4):
    return [Candidate(n, "user", f"summary {n}", n == 2, 1.0 / n) for n in range(1, count + 1)]


class Own:
    def __init__(self, answer):
        self.answer = answer

    def pick(self, _request, _candidates, *, limit):
        assert limit
        return self.answer


class Broken(Picks):
    """Ids that cannot be read to their end."""

    def __iter__(self):
        yield 4
        raise ConnectionError("the stream ended")


def test_what_a_reply_took_counts_where_it_fails_while_it_is_read():
    picked = ask_picker(Own(Broken([4, 2], Usage(70, 6))), "?", candidates(), limit=2)
    assert (picked.by, picked.ids, picked.why) == ("score", (1, 2, 3, 4), "the stream ended")
    assert picked.usage.tokens == 76


def test_an_error_that_says_what_it_took_counts():
    class Failing:
        def pick(self, _request, _candidates, *, limit):
            error = PickerError(f"no {limit}")
            error.usage = Usage(50, 5)
            raise error

    assert ask_picker(Failing(), "?", candidates(), limit=2).usage.tokens == 55


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
def test_as_many_as_the_limit_are_picked_of_those_on_the_list(limit):
    picked = ask_picker(Own([99, 4, 4, -1, 3, 98, 2, 1]), "?", candidates(), limit=limit)
    assert picked.ids == (4, 3, 2, 1)[:limit]
    assert ScorePicker().pick("?", candidates(), limit=limit) == [1, 2, 3, 4][:limit]


def test_an_empty_answer_is_one_and_an_empty_list_is_not_asked_about():
    assert ask_picker(Own([]), "?", candidates(), limit=2).by == "picker"
    assert ask_picker(Own([1]), "?", [], limit=2).by == "score"


def test_a_long_reason_is_cut():
    class Failing:
        def pick(self, _request, _candidates, *, limit):  # noqa: ARG002 - a picker's
            raise ValueError("word " * 1_000)

    assert len(ask_picker(Failing(), "?", candidates(), limit=2).why) in (399, 400)


def test_of_equal_scores_the_oldest_is_picked():
    alike = [Candidate(n, "user", "", False, 0.5) for n in (3, 1, 2)]
    assert ScorePicker().pick("?", alike, limit=2) == [1, 2]
    settles = [Candidate(1, "user", "", False, 0.5), Candidate(2, "user", "", True, 0.46)]
    assert ScorePicker().pick("?", settles, limit=1) == [2]


class Says:
    """A model that gives one reply."""

    def __init__(self, reply):
        self.reply = reply

    def ask(self, _prompt, *, timeout):
        assert timeout
        return self.reply

    def close(self):
        pass


@pytest.mark.parametrize("text", ['{"ids": [1]}', ""])
def test_an_answer_with_a_fault_is_not_read(text):
    reply = Reply(text, Usage(30, 3), "it was cut at max_tokens")
    asker = Asker(Says(reply), Terms(failure=PickerError, timeout=20))
    with pytest.raises(PickerError, match="cut at max_tokens") as error:
        picked_by(asker, "?", candidates(), limit=2)
    assert error.value.usage.tokens == 33


@pytest.mark.parametrize("text", ["none", '{"id": 3}', "", " \n"])
def test_what_an_answer_took_counts_where_it_cannot_be_read(text):
    asker = Asker(Says(Reply(text, Usage(30, 3))), Terms(failure=PickerError, timeout=20))
    with pytest.raises(PickerError) as error:
        picked_by(asker, "?", candidates(), limit=2)
    assert error.value.usage.tokens == 33


@pytest.mark.parametrize(("length", "quoted"), [(1, False), (64, False), (65, True), (0, True)])
def test_a_plain_name_has_at_most_64_signs(length, quoted):
    line = Candidate(1, "n" * length, "s", False, 1.0).line()
    name = "n" * min(length, 64)
    assert line == f'#1 "{name}": "s"' if quoted else f'#1 {name}: "s"'


@pytest.mark.parametrize(("length", "cut"), [(3_999, False), (4_000, False), (4_001, True)])
def test_a_request_is_cut_behind_4000_signs(length, cut):
    prompts = []
    picker = LLMPicker(lambda prompt: prompts.append(prompt) or '{"ids": []}')
    request = "a" * 3_000 + "b" * (length - 3_000)
    ask_picker(picker, request, candidates(), limit=2)
    wanted = f"{'a' * 3_000} … {'b' * 1_000}" if cut else request
    assert f'"{wanted}"' in prompts[0]


def test_an_object_in_another_is_no_answer():
    with pytest.raises(PickerError, match="no list"):
        parse('{"answer": {"ids": [3]}}')
    assert parse('{"ids": [1], "before": {"ids": [3]}}') == [1]
    assert parse('{"ids": [1]} {"ids": [2]}') == [2]
    with pytest.raises(PickerError, match="no ids"):
        parse('{"ids": ["first"]}')
    assert parse('{"ids": ["first", 3]}') == [3]
    assert parse('{"ids": [' + "9" * 20 + "]}") == [int("9" * 20)]
    with pytest.raises(PickerError, match="no ids"):
        parse('{"ids": [' + "9" * 21 + "]}")


@pytest.mark.parametrize("wrong", ["true", "null", "3.0", "[3]"])
def test_one_id_that_is_none_makes_an_answer_unreadable(wrong):
    with pytest.raises(PickerError, match="neither a number nor a text"):
        parse(f'{{"ids": [3, {wrong}]}}')


@pytest.mark.parametrize("answer", ["{}", '{{"ids": "{}"}}', '{{"ids": [["{}"]]}}'])
def test_200_characters_of_an_answer_are_shown(answer):
    with pytest.raises(PickerError) as caught:
        parse(answer.format("n" * 400))
    shown = str(caught.value).partition(": ")[2].strip("'")
    assert len(shown) == 200


@pytest.mark.parametrize("spec", ["openai:", "openai", "", ":gpt", "somebody:model"])
def test_a_picker_s_name_has_a_kind_and_a_model(spec):
    with pytest.raises(InvalidInputError, match="openai:model"):
        picker_named(spec)


def test_an_answer_is_read_up_to_20000_signs():
    answer = '{"ids": [3]}'
    assert parse(" " * (20_000 - len(answer)) + answer) == [3]
    with pytest.raises(PickerError, match="not JSON"):
        parse(" " * (20_001 - len(answer)) + answer)
