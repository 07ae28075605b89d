"""Which requests have a list, whose API others are of, and how large a call may be."""

from __future__ import annotations

import pytest

from warmset.errors import InvalidInputError
from warmset.serve.proxy.budgets import OTHER_COUNTS, REPLY, UNKNOWN, budget_of, told
from warmset.serve.proxy.surfaces import (
    CHAT,
    INTERACTIONS,
    MESSAGES,
    RESPONSES,
    fetched_of,
    provider_of,
    surface_of,
)

SAFETY = 2_048


@pytest.mark.parametrize(
    ("path", "surface"),
    [
        ("/v1/chat/completions", CHAT),
        ("/chat/completions", CHAT),
        ("/v1/responses", RESPONSES),
        ("/v1/messages", MESSAGES),
        ("/v1beta/interactions", INTERACTIONS),
        ("/v1/interactions", INTERACTIONS),
        ("/v1beta/interactions/7", None),
        ("/v1beta/interactions/7/cancel", None),
        ("/v1/responses/resp_7/cancel", None),
        ("/v1/messages/count_tokens", None),
        ("/v1/messages/", None),
        ("/v1/responses/compact", None),
        ("/v1/models", None),
        ("/v1/chat/completions/", None),
        ("/v1beta/models/gemini-3-flash:countTokens", None),
        ("/v1beta/models/a/b:generateContent", None),
    ],
)
def test_lists_stand_in_few_requests(path, surface):
    assert surface_of("POST", path) is surface
    assert surface_of("GET", path) is None


@pytest.mark.parametrize(
    ("method", "path", "found"),
    [
        ("GET", "/v1/responses/resp_7", (RESPONSES, "resp_7")),
        ("GET", "/responses/resp_7", (RESPONSES, "resp_7")),
        ("GET", "/v1beta/interactions/int_7", (INTERACTIONS, "int_7")),
        ("GET", "/v1beta/interactions/a%20b", (INTERACTIONS, "a b")),
        ("POST", "/v1/responses/resp_7", None),
        ("DELETE", "/v1/responses/resp_7", None),
        ("GET", "/v1/responses", None),
        ("GET", "/v1/responses/resp_7/input_items", None),
        ("GET", "/x/v1/responses/resp_7", None),
        ("GET", "/v1/chat/completions/7", None),
    ],
)
def test_what_the_provider_keeps_is_fetched_by_its_id(method, path, found):
    assert fetched_of(method, path) == found


@pytest.mark.parametrize("version", ["v1", "v1beta", "v1alpha"])
def test_gemini_says_in_the_path_whether_it_streams(version):
    stem = f"/{version}/models/gemini-3-flash:"
    assert surface_of("POST", f"{stem}generateContent").streams is False
    assert surface_of("POST", f"{stem}streamGenerateContent").streams is True


@pytest.mark.parametrize(
    ("path", "headers", "provider"),
    [
        ("/v1/models", ["authorization"], "openai"),
        ("/v1/models", ["anthropic-version", "x-api-key"], "anthropic"),
        ("/v1/messages/batches", [], "anthropic"),
        ("/v1/models", ["x-goog-api-key"], "gemini"),
        ("/v1beta/files", [], "gemini"),
        ("/upload/v1beta/files", [], "gemini"),
        ("/v1/files", [], "openai"),
        ("/v1/files", ["x-api-key"], "anthropic"),
        ("/v1/complete", [], "anthropic"),
        ("/v1/completions", ["authorization"], "openai"),
        ("/v1/models/gemini-3-flash:countTokens", [], "gemini"),
        ("/v1/tunedModels/mine:embedContent", [], "gemini"),
        ("/v1/models/ft:gpt-6:mine", ["authorization"], "openai"),
    ],
)
def test_what_passes_through_goes_to_whose_api_it_is_of(path, headers, provider):
    assert provider_of(path, frozenset(headers)) == provider


@pytest.mark.parametrize(
    ("query", "provider"),
    [("key=secret", "gemini"), ("pageSize=5&key=", "gemini"), ("monkey=1", "openai")],
)
def test_a_key_in_the_query_is_googles(query, provider):
    assert provider_of("/v1/models", frozenset({"accept"}), query) == provider


@pytest.mark.parametrize(
    ("model", "context"),
    [
        ("gpt-5.2", 400_000),
        ("openai/gpt-6-sol", 1_050_000),
        ("gpt-4.1-mini", 1_047_576),
        ("gpt-4o-mini", 128_000),
        ("gpt-4", 8_192),
        ("o3-pro", 200_000),
        ("claude-opus-5-5", 1_000_000 * OTHER_COUNTS),
        ("claude-fable-5-2", 1_000_000 * OTHER_COUNTS),
        ("claude-haiku-4-5", 200_000 * OTHER_COUNTS),
        ("gemini-3-flash", 1_048_576 * OTHER_COUNTS),
        ("llama-9", UNKNOWN * OTHER_COUNTS),
        (None, UNKNOWN * OTHER_COUNTS),
    ],
)
def test_a_call_may_have_what_the_model_takes_without_the_reply(model, context):
    context = int(context)
    body = {} if model is None else {"model": model}
    room = max(context - REPLY - SAFETY, context // 4)
    assert budget_of(body, own=None, most=None) == room
    assert budget_of(body, own=None, most=room - 1) == room - 1
    assert budget_of(body, own=None, most=room + 1) == room
    assert budget_of(body, own=told("70"), most=5) == 70
    for name in ("max_tokens", "max_completion_tokens", "max_output_tokens"):
        longer = budget_of({**body, name: 10_000}, own=None, most=None)
        assert longer == max(context - 10_000 - SAFETY, context // 4)
    assert budget_of({**body, "max_tokens": 10**9}, own=None, most=None) == context // 4


def test_a_reply_may_have_the_largest_of_its_limits():
    limits = {"max_tokens": 9_000, "max_completion_tokens": 20_000, "max_output_tokens": None}
    assert budget_of({"model": "gpt-5.2", **limits}, own=None, most=None) == (
        400_000 - 20_000 - SAFETY
    )


@pytest.mark.parametrize("header", ["", "0", "-1", "1.5", "1e5", "many", "1234567890", "1 2"])
def test_a_budget_that_is_no_number_is_refused(header):
    with pytest.raises(InvalidInputError, match="x-warmset-budget"):
        told(header)
