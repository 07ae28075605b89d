"""What one message costs: images by the model's prices, errors by place, bounds at their edges."""

import base64
import struct

import pytest

from warmset.errors import InvalidInputError, InvalidMessageError
from warmset.messages import accept
from warmset.tokens import (
    ESTIMATE_ERROR,
    FORMULA_ERROR,
    MEDIA_ERROR,
    PER_FILE,
    PER_IMAGE,
    PER_MESSAGE,
    PER_REPLY,
    Calibration,
    Vocabulary,
    anthropic_counter,
    count_tokens,
    counter,
    extra_tokens,
    gemini_counter,
    image_tokens,
    interactions_counter,
    message_tokens,
)
from warmset.tokens.budget import Budget


def png(width, height):
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x02"
    return base64.b64encode(head + bytes(20)).decode()


def shown(width=1_024, height=1_024):
    url = f"data:image/png;base64,{png(width, height)}"
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}


def test_an_image_costs_what_the_model_takes_for_it_wherever_it_is_counted():
    prices = set()
    for model in ("gpt-4o", "gpt-4o-mini", "gpt-5", "gpt-5-nano"):
        one = PER_MESSAGE + image_tokens((1_024, 1_024), model=model)[0]
        encoding = counter(model).encoding
        assert message_tokens([shown()], encoding, model=model) == [one]
        assert counter(model).costs([shown()]) == [one]
        assert counter(model).count([shown()]) == PER_REPLY + one
        assert count_tokens([shown()], model=model) == PER_REPLY + one
        prices.add(one)
    assert len(prices) == 4


@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_number_that_cannot_be_written_is_an_error_of_its_message(place):
    messages = [{"role": "user", "content": "x"} for _ in range(4)]
    messages[place] = {"role": "user", "content": "x", "data": {"n": 10**5_000}}
    with pytest.raises(InvalidMessageError) as caught:
        count_tokens(messages)
    assert caught.value.index == place
    with pytest.raises(InvalidMessageError) as caught:
        message_tokens(accept(messages), "o200k_base")
    assert caught.value.index == place


def test_costs_are_those_of_each_message_alone_with_or_without_text():
    messages = [
        {"role": "user", "content": "one two three"},
        {"role": "assistant", "content": None},
        shown(),
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    ]
    alone = [message_tokens([one], "o200k_base")[0] for one in messages]
    assert message_tokens(messages, "o200k_base") == alone


def test_the_error_of_what_is_guessed_weighs_by_its_share():
    remote = {"type": "image_url", "image_url": {"url": "https://x.org/a.png"}}
    count = count_tokens([{"role": "user", "content": [remote]}])
    share = PER_IMAGE / count
    assert count.error == pytest.approx(FORMULA_ERROR + (MEDIA_ERROR - FORMULA_ERROR) * share)
    assert count_tokens([shown()]).error == FORMULA_ERROR
    estimate = count_tokens([{"role": "user", "content": [remote]}], encoding="estimate")
    share = PER_IMAGE / estimate
    assert estimate.error == pytest.approx(ESTIMATE_ERROR + (MEDIA_ERROR - ESTIMATE_ERROR) * share)
    text = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a"}}
    assert count_tokens([{"role": "user", "content": [text]}]) < PER_FILE


def test_a_system_prompt_of_geminis_costs_what_its_text_does():
    text = "You answer in one line."
    as_text = extra_tokens("o200k_base", system=text)
    assert extra_tokens("o200k_base", system={"parts": [{"text": text}]}) == as_text
    assert extra_tokens("o200k_base", system={"role": "user", "parts": [{"text": text}]}) == as_text


def test_the_bounds_of_image_formulas():
    assert image_tokens((384, 384), model="gemini-2.5-flash")[0] == 258
    assert image_tokens((385, 384), model="gemini-2.5-flash")[0] == 258 * 4
    assert image_tokens((2_048, 768), model="gpt-4o")[0] == 85 + 170 * 4 * 2
    assert image_tokens((512, 512), model="gpt-4o")[0] == 85 + 170  # not scaled up
    assert image_tokens((48 * 32, 32 * 32), model="gpt-4.1-mini")[0] == -(-1_536 * 162 // 100)
    assert image_tokens((48 * 32 - 1, 32 * 32), model="gpt-4.1-mini")[0] == -(-1_536 * 162 // 100)
    assert image_tokens((1_024, 1_024), model="gpt-5-mini-2026") != image_tokens(
        (1_024, 1_024), model="gpt-5"
    )


class Contents:
    """A client whose endpoint gives every content ten tokens."""

    def __init__(self):
        self.models = self

    def count_tokens(self, *, model, contents, **_):
        assert model == "gemini-3.8-flash"
        return {"total_tokens": 10 * len(contents)}


def test_geminis_endpoint_adds_what_it_does_not_count():
    ours = gemini_counter(Contents(), "gemini-3.8-flash")
    estimate = counter("gemini-3.8-flash")
    tools = [{"name": "f", "description": "does it", "parameters": {"type": "object"}}]
    beside = estimate.overhead("be brief", tools) - estimate.overhead()
    assert beside > 0
    assert ours.overhead("be brief", tools) == ours.overhead() + beside
    steps = interactions_counter(Contents(), "gemini-3.8-flash")
    said = {"type": "user_input", "content": [{"type": "text", "text": "hello"}]}
    thought = {
        "type": "thought",
        "signature": "s",
        "summary": [{"type": "text", "text": "a long thought about it"}],
    }
    assert steps([said]) == 10
    assert steps([said, thought]) == 10 + estimate.costs([thought])[0]
    costs = steps.costs([said, thought, said])
    assert sum(costs) == steps([said, thought, said]) - steps.overhead()


def test_a_calibration_lowers_estimates_from_the_nineteenth_observation_on():
    learned = Calibration()
    for _ in range(18):
        learned.observe(1_000, 500)
    assert (learned.ratio, learned.error) == (1.0, 1.0)  # the worst residual seen
    learned.observe(1_000, 500)
    assert (learned.ratio, learned.error) == (0.5, 0.01)


def test_the_error_of_a_calibration_is_the_least_that_covers_nineteen_of_twenty():
    learned = Calibration()
    for off in range(39):
        learned.observe(10_000, 10_000 + off)
    residuals = sorted(abs(r - learned.ratio * 10_000) / r for r in range(10_000, 10_039))
    assert learned.error == max(0.01, residuals[37])
    for _ in range(2):
        learned.observe(10_000, 20_000)
    residuals = [abs(r - learned.ratio * 10_000) / r for r in (*range(10_000, 10_039), 20_000)]
    assert learned.error == pytest.approx(max(residuals))


def test_a_budget_leaves_at_least_one_token():
    assert Budget(14_337).input == 1
    with pytest.raises(InvalidInputError, match="leaves 0 tokens"):
        Budget(14_336)
    for share in (0, 1, 1.0):
        with pytest.raises(InvalidInputError, match="watermark"):
            Budget(20_000, watermark=share)


def test_anthropics_prompt_for_tools_counts_once():
    tool = {"name": "f", "input_schema": {"type": "object"}}
    one, two = (extra_tokens("o200k_base", tools=[tool] * n) for n in (1, 2))
    assert two - one < one
    assert Vocabulary().overhead(tools=[tool]) == PER_REPLY + one


def test_a_message_never_costs_less_than_nothing():
    ours = counter(lambda messages: 10 - len(messages))
    assert ours.costs([{"role": "user", "content": "x"}] * 2) == [0, 0]


def test_an_endpoint_is_asked_once_for_a_list_and_once_for_what_surrounds_it():
    asked = []

    class Client(Contents):
        def count_tokens(self, *, model, contents, **more):
            asked.append(contents)
            return super().count_tokens(model=model, contents=contents, **more)

    ours = gemini_counter(Client(), "gemini-3.8-flash")
    given = [{"role": "user", "parts": [{"text": "hello"}]}] * 3
    assert ours.costs(given) == ours.costs(given)
    assert [len(one) for one in asked] == [1, 3, 3]


def test_a_system_prompt_that_is_asked_for_goes_before_the_one_of_the_fields():
    asked = []

    class Client:
        def count_tokens(self, **request):
            asked.append(request)
            return {"input_tokens": 50}

    client = Client()
    client.messages = client
    ours = anthropic_counter(client, "claude-opus-5-5", system="theirs", tools=[{"name": "f"}])
    ours.overhead("mine")
    ours.overhead()
    assert [one["system"] for one in asked] == ["mine", "theirs"]
    assert [one["tools"] for one in asked] == [[{"name": "f"}]] * 2


def test_with_few_observations_an_estimate_is_as_wrong_as_the_worst_of_them():
    learned = Calibration(prior=0.01)
    learned.observe(100, 100)
    learned.observe(100, 200)
    worst = max(abs(reported - learned.ratio * 100) / reported for reported in (100, 200))
    assert learned.error == pytest.approx(worst)
