"""Counters: vocabularies, functions, endpoints, and calibration from reported usage."""

from __future__ import annotations

import asyncio
import copy
import json
import math
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from warmset.errors import CountError, InvalidInputError, WarmsetError
from warmset.messages import convert, text_message
from warmset.tokens import (
    FORMULA_ERROR,
    PER_REPLY,
    Calibration,
    Counter,
    TokenCount,
    Vocabulary,
    anthropic_counter,
    count_tokens,
    counter,
    extra_tokens,
    gemini_counter,
    interactions_counter,
    message_tokens,
    openai_counter,
)

MESSAGES = [
    {"role": "user", "content": "Where is the kite?"},
    {"role": "assistant", "content": "In the tree, above the second branch."},
    {"role": "user", "content": "Thanks."},
]
TOOLS = [{"name": "look", "input_schema": {"type": "object", "properties": {}}}]


def words(messages):
    """Count as a caller's function might: three a list, and the words."""
    return 3 + sum(1 + len(str(message["content"]).split()) for message in messages)


@pytest.mark.parametrize(
    ("authority", "made"),
    [
        (None, Vocabulary("o200k_base")),
        ("cl100k_base", Vocabulary("cl100k_base")),
        ("estimate", Vocabulary("estimate")),
        ("gpt-4o", Vocabulary("o200k_base", "gpt-4o")),
        ("gpt-4", Vocabulary("cl100k_base", "gpt-4")),
        ("claude-sonnet-4-5", Vocabulary("estimate", "claude-sonnet-4-5")),
        ("my-model", Vocabulary("estimate", "my-model")),
    ],
)
def test_a_name_is_a_vocabulary(authority, made):
    found = counter(authority)
    assert found == made
    assert isinstance(found, Counter)
    assert counter(found) is found
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - our own bytes
    assert found.costs(MESSAGES) == message_tokens(MESSAGES, made.encoding)
    count = found.count(MESSAGES)
    assert count == found.overhead() + sum(found.costs(MESSAGES))
    assert (count, count.error) == (c := count_tokens(MESSAGES, encoding=made.encoding), c.error)
    assert found.overhead("Be brief.", TOOLS) == PER_REPLY + extra_tokens(
        made.encoding, system="Be brief.", tools=TOOLS
    )


def test_a_function_is_the_authority():
    found = counter(words)
    assert isinstance(found, Counter)
    assert (found.count(MESSAGES), found.count(MESSAGES).exact) == (words(MESSAGES), True)
    assert found.costs(MESSAGES) == [5, 8, 2]
    assert found.overhead() == 3
    assert found.overhead("Be brief.") == 6
    assert found.overhead([{"text": "x"}], TOOLS) > found.overhead([{"text": "x"}])
    assert found.count(MESSAGES) == found.overhead() + sum(found.costs(MESSAGES))


def test_a_function_sees_a_list_of_its_own():
    given = list(MESSAGES)

    def taking(messages):
        taken = len(messages)
        messages.clear()
        return taken

    assert counter(taking).count(given) == 3
    assert given == MESSAGES


async def later(messages):
    """Count some other time."""
    return await asyncio.sleep(0, len(messages))


@pytest.mark.parametrize(
    "answer",
    [-1, 1.5, "7", None, True, math.nan, [], np.float64(3)],
    ids=repr,
)
def test_an_answer_is_a_whole_number(answer):
    found = counter(lambda messages: answer)  # noqa: ARG005
    for ask in (found.count, found.costs):
        with pytest.raises(CountError, match="whole number"):
            ask(MESSAGES)


@pytest.mark.parametrize("answer", [7, np.int64(7), TokenCount(7, exact=False)], ids=repr)
def test_any_whole_number_will_do(answer):
    count = counter(lambda messages: answer).count(MESSAGES)  # noqa: ARG005
    assert (count, type(count)) == (7, TokenCount)


def test_what_goes_wrong_is_told():
    def broken(messages):
        return messages["content"]

    with pytest.raises(CountError, match="raised TypeError on 3 messages") as caught:
        counter(broken).count(MESSAGES)
    assert isinstance(caught.value.__cause__, TypeError)
    assert isinstance(caught.value, WarmsetError)
    with pytest.raises(CountError, match="asynchronous"):
        counter(later).count(MESSAGES)


@pytest.mark.parametrize("authority", [5, [], {}, b"x", Vocabulary], ids=repr)
def test_what_names_no_counter(authority):
    if isinstance(authority, type):
        with pytest.raises(WarmsetError):
            counter(authority).count(MESSAGES)
        return
    with pytest.raises(InvalidInputError, match="counter: give"):
        counter(authority)
    with pytest.raises(InvalidInputError):
        Vocabulary("p50k_base")


class Client:
    """Stands for the SDKs of three providers: ten tokens a request, and two a word."""

    def __init__(self, *, total=None):
        self.asked = []
        self.total = total
        self.messages = self
        self.models = self
        self.responses = SimpleNamespace(input_tokens=self)

    def count_tokens(self, *, model, messages=None, contents=None, **fields):
        given = messages if messages is not None else contents
        self.asked.append((model, len(given), fields))
        assert given
        self.given = given
        tokens = 10 + 2 * sum(len(json.dumps(message).split()) for message in given)
        tokens += 50 if fields.get("tools") else 0
        tokens += 20 if fields.get("system") or fields.get("instructions") else 0
        tokens = tokens if self.total is None else self.total
        return SimpleNamespace(input_tokens=tokens, total_tokens=tokens)

    def count(self, *, model, input, **fields):  # noqa: A002 - the SDK's name
        return self.count_tokens(model=model, messages=input, **fields)


ENDPOINTS = [anthropic_counter, openai_counter, gemini_counter]


@pytest.mark.parametrize("make", ENDPOINTS)
def test_an_endpoint_is_the_authority(make):
    client = Client()
    found = make(client, "the-model", labels={"a": "b"})
    whole = client.count_tokens(model="the-model", messages=MESSAGES).input_tokens
    count = found.count(MESSAGES)
    assert (count, count.exact) == (whole, True)
    assert client.asked[-1] == ("the-model", 3, {"labels": {"a": "b"}})
    assert found(MESSAGES) == whole
    assert found([]) == 0
    assert isinstance(counter(found), Counter)
    assert counter(found) is found
    costs = found.costs(MESSAGES)
    assert len(costs) == 3
    assert costs[1] > costs[2] > 0
    assert sum(costs) + found.overhead() == whole
    assert found.costs([]) == []


@pytest.mark.parametrize("make", ENDPOINTS)
def test_what_a_request_costs_is_asked_in_the_providers_own_form(make):
    client = Client()
    make(client, "the-model").overhead()
    assert ("parts" if make is gemini_counter else "content") in client.given[0]


@pytest.mark.parametrize("make", ENDPOINTS)
def test_what_is_printed_of_an_endpoint_has_nothing_of_the_client(make):
    client = Client()
    client.api_key = "sk-secret"
    found = repr(make(client, "the-model"))
    assert "the-model" in found
    assert "Client" not in found
    assert " at 0x" not in found


@pytest.mark.parametrize(
    ("make", "prompt"), [(anthropic_counter, "system"), (openai_counter, "instructions")]
)
def test_an_endpoint_counts_what_travels_beside(make, prompt):
    found = make(Client(), "the-model")
    assert found.overhead("Be brief.") == found.overhead() + 20
    assert found.overhead("Be brief.", TOOLS) == found.overhead() + 70
    kept = make(Client(), "the-model", **{prompt: "Be brief."})
    assert kept.overhead() == found.overhead() + 20
    assert kept.overhead(None, TOOLS) == found.overhead() + 70


def test_gemini_counts_contents_and_the_rest_is_estimated():
    client = Client()
    found = gemini_counter(client, "the-model")
    beside = extra_tokens("estimate", system="Be brief.", tools=TOOLS)
    assert found.overhead("Be brief.", TOOLS) == found.overhead() + beside
    assert all(fields == {} for _, _, fields in client.asked)


STEPS = [
    text_message("interactions", "user", "look at the kite"),
    {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "I weigh it"}]},
    {"type": "function_call", "id": "c", "name": "look", "arguments": {"at": "kite"}},
    {"type": "function_result", "call_id": "c", "name": "look", "result": "it is red"},
    {"type": "google_search_call", "id": "s", "arguments": {"queries": ["red kites"]}},
]


def test_interactions_are_counted_as_contents_and_the_rest_is_estimated():
    client = Client()
    found = interactions_counter(client, "the-model", labels={"a": "b"})
    plain = [STEPS[0], *STEPS[2:4]]
    contents = convert(plain, source="interactions", target="gemini").messages
    whole = client.count_tokens(model="the-model", contents=contents).total_tokens
    beside = message_tokens([STEPS[1], STEPS[4]], "estimate")
    count = found.count(STEPS)
    assert (count, count.exact, count.error) == (whole + sum(beside), False, FORMULA_ERROR)
    assert client.asked[-1] == ("the-model", 3, {"labels": {"a": "b"}})
    asked = len(client.asked)
    assert found([STEPS[1]]) == beside[0]
    assert len(client.asked) == asked, "there is nothing to ask"
    assert found([]) == 0
    assert sum(found.costs(STEPS)) + found.overhead() == found(STEPS)
    extra = extra_tokens("estimate", system="Be brief.", tools=TOOLS)
    assert found.overhead("Be brief.", TOOLS) == found.overhead() + extra
    with pytest.raises(CountError, match="ConversionError"):
        found.count([{"type": "user_input", "content": [{"type": "video", "uri": "u"}]}])


@pytest.mark.parametrize("total", [None, "x", -1, 2.5])
def test_an_endpoint_may_answer_nonsense(total):
    client = Client()
    client.count_tokens = lambda **_: {"input_tokens": total}
    with pytest.raises(CountError):
        anthropic_counter(client, "the-model").count(MESSAGES)
    with pytest.raises(CountError, match="raised"):
        openai_counter(object(), "the-model").count(MESSAGES)


@pytest.mark.parametrize("answer", [{"other": 1}, {"input_tokens": None}])
def test_an_endpoint_that_counts_nothing_is_named_by_what_is_missing(answer):
    client = Client()
    client.count_tokens = lambda **_: answer
    with pytest.raises(CountError, match="has no input_tokens"):
        anthropic_counter(client, "the-model").count(MESSAGES)


def test_an_endpoint_may_answer_a_mapping():
    client = Client()
    client.count_tokens = lambda **_: {"input_tokens": 12}
    assert anthropic_counter(client, "the-model").count(MESSAGES) == 12


PAIRS = st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)), min_size=1, max_size=60)


def learned(pairs, **options):
    made = Calibration(**options)
    for estimated, reported in pairs:
        made.observe(estimated, reported)
    return made


def test_nothing_observed_changes_nothing():
    count = Calibration().apply(1_000)
    assert (count, count.exact, count.error) == (1_000, False, 0.30)
    assert Calibration(prior=0.1).apply(0) == 0


def test_a_factor_is_learned():
    made = learned([(100 * n, 125 * n) for n in range(1, 31)])
    assert made.ratio == pytest.approx(1.25)
    count = made.apply(1_001)
    assert (count, count.error) == (1_252, 0.01)
    lower = learned([(100 * n, 80 * n) for n in range(1, 31)])
    assert lower.apply(1_000) == 800


def test_few_observations_raise_only_and_keep_the_prior():
    assert learned([(100, 80)] * 18).apply(1_000) == 1_000
    assert learned([(100, 80)] * 18).apply(1_000).error == 0.30
    assert learned([(100, 120)] * 18).apply(1_000) == 1_200
    assert learned([(100, 80)] * 19).apply(1_000) == 800
    assert learned([(100, 10)]).error == pytest.approx(9.0)


def test_one_outlier_in_forty_does_not_widen_the_bound():
    steady = [(100 * n, 110 * n) for n in range(10, 49)]
    assert learned([*steady, (100, 300)]).error < 0.05
    assert learned([*steady, *[(100, 300)] * 5]).error > 0.5


@given(st.integers(0, 2**32), st.floats(0.5, 2.0), st.floats(0.01, 0.2))
def test_the_bound_holds_for_like_requests(seed, factor, spread):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1_000, 100_000, 400)
    reported = np.maximum(1, sizes * factor * (1 + rng.uniform(-spread, spread, 400))).astype(int)
    pairs = list(zip(sizes.tolist(), reported.tolist(), strict=True))
    made = learned(pairs[:200])
    counts = [made.apply(size) for size, _ in pairs[200:]]
    outside = sum(
        abs(count - real) > count.error * real + 1
        for count, (_, real) in zip(counts, pairs[200:], strict=True)
    )
    assert outside <= 40  # ten are expected; seven standard deviations more, whatever the seed
    assert made.error <= 2.5 * spread + 0.02


@given(PAIRS, st.floats(0.01, 0.99))
def test_what_was_learned_survives(pairs, prior):
    made = learned(pairs, prior=prior)
    again = Calibration.from_dict(json.loads(json.dumps(made.to_dict())))
    assert again.to_dict() == made.to_dict()
    assert (again.ratio, again.error, len(again)) == (made.ratio, made.error, len(made))
    assert copy.deepcopy(made).apply(77) == again.apply(77)
    assert made.ratio > 0
    assert made.error > 0


def test_old_observations_are_forgotten():
    made = learned([(100, 50)] * 300 + [(100, 200)] * 200)
    assert (len(made), made.ratio) == (200, 2.0)


@pytest.mark.parametrize("value", [0, -1, 1.5, "7", None, True, math.nan], ids=repr)
def test_junk_is_not_learned(value):
    made = Calibration()
    with pytest.raises(InvalidInputError):
        made.observe(value, 5)
    with pytest.raises(InvalidInputError):
        made.observe(5, value)
    if value != 0:
        with pytest.raises(InvalidInputError):
            made.apply(value)
    assert len(made) == 0


@pytest.mark.parametrize("prior", [0, 1, -0.1, 2, math.nan, math.inf, "x", None, True], ids=repr)
def test_a_prior_is_a_part(prior):
    with pytest.raises(InvalidInputError):
        Calibration(prior)


GOOD = {"version": 1, "prior": 0.3, "pairs": [[1, 2]]}


@pytest.mark.parametrize(
    "data",
    [
        None, [], "x", {}, GOOD | {"version": 2}, GOOD | {"prior": "x"}, GOOD | {"pairs": 5},
        GOOD | {"pairs": [[1]]}, GOOD | {"pairs": [[1, 2, 3]]}, GOOD | {"pairs": [5]},
        GOOD | {"pairs": [["1", 2]]}, GOOD | {"pairs": [[0, 2]]}, {"version": 1, "prior": 0.3},
    ],
    ids=repr,
)  # fmt: skip
def test_junk_is_not_read(data):
    assert len(Calibration.from_dict(GOOD)) == 1
    with pytest.raises(InvalidInputError):
        Calibration.from_dict(data)
