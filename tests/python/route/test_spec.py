"""Specifications of tasks: what is read, what is refused, and where it is wrong."""

from __future__ import annotations

import json
import pickle
from datetime import timedelta
from typing import Any

import pytest

from warmset.errors import InvalidInputError, SpecError
from warmset.route import Need, TaskSpec, When

NEED = {"type": "document_chunk"}
SPEC: dict[str, Any] = {"task_type": "t", "required_memory": [NEED], "max_context_tokens": 100}


def need(**fields: Any) -> dict[str, Any]:
    return SPEC | {"required_memory": [NEED, NEED | fields]}


def test_a_spec_in_python_is_the_one_in_json() -> None:
    made = TaskSpec(
        task_type="dcf",
        required_memory=(
            Need(type="document_chunk", priority="essential", scope="global", sections=("Item 7",)),
            Need(
                type="error_fix",
                priority="conditional",
                similarity_match=0.5,
                when=When(similarity=0.4, mentions=("margin",)),
            ),
            Need(type="user_context", similarity_match=True, recency="30d", module="tax"),
        ),
        max_context_tokens=7_000,
        decay="turn",
    )
    said = {
        "task_type": "dcf",
        "required_memory": [
            {
                "type": "document_chunk",
                "priority": "essential",
                "scope": "global",
                "sections": ["Item 7"],
            },
            {
                "type": "error_fix",
                "priority": "conditional",
                "similarity_match": 0.5,
                "when": {"similarity": 0.4, "mentions": ["margin"]},
            },
            {"type": "user_context", "recency": "30d", "module": "tax", "similarity_match": True},
        ],
        "max_context_tokens": 7_000,
        "decay": "turn",
    }
    assert made.to_json() == said
    for given in (said, json.dumps(said), json.dumps(said).encode()):
        assert TaskSpec.from_json(given) == made
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301 - our own
    assert hash(TaskSpec.from_json(said)) == hash(made)


def test_what_is_not_given_has_a_default_that_is_not_written() -> None:
    made = TaskSpec.from_json(SPEC)
    assert made.decay == "hour"
    [one] = made.required_memory
    assert (one.priority, one.scope, one.recency) == ("supplementary", "current_session", None)
    assert (one.sections, one.similarity_match, one.when) == ((), False, None)
    assert made.to_json() == SPEC
    written = need(priority="supplementary", similarity_match=False, when=None, module=None)
    assert TaskSpec.from_json(written).to_json() == SPEC | {"required_memory": [NEED, NEED]}
    # 1 is a threshold, and no other word for True.
    assert TaskSpec.from_json(need(similarity_match=1)).to_json()["required_memory"][1] == {
        **NEED,
        "similarity_match": 1.0,
    }


@pytest.mark.parametrize(
    ("recency", "turns", "within"),
    [
        (None, None, None),
        ("last_1_turn", 1, None),
        ("last_5_turns", 5, None),
        ("last_100_turns", 100, None),
        ("90s", None, timedelta(seconds=90)),
        ("5m", None, timedelta(minutes=5)),
        ("12h", None, timedelta(hours=12)),
        ("30d", None, timedelta(days=30)),
        ("2w", None, timedelta(weeks=2)),
        ("9999999w", None, timedelta(weeks=9_999_999)),
    ],
)
def test_recency_is_a_number_of_messages_or_a_time(
    recency: str | None, turns: int | None, within: timedelta | None
) -> None:
    made = Need(type="conversation", recency=recency)
    assert (made.turns, made.within) == (turns, within)


def test_one_module_and_many_are_one_list() -> None:
    assert Need(type="module_output", module="a").all_modules == ("a",)
    assert Need(type="module_output", modules=("b", "a"), module="a").all_modules == ("b", "a")
    assert Need(type="module_output", modules=("b",), module="a").all_modules == ("b", "a")
    assert Need(type="module_output").all_modules == ()


WRONG: dict[str, tuple[Any, str, str]] = {
    "a list": ([], "$", "expected an object"),
    "no JSON": ("{", "$", "it is no JSON"),
    "too deep": ("[" * 100_000, "$", "it is no JSON"),
    "NaN": ('{"max_context_tokens": NaN}', "$", "NaN is no number"),
    "a field twice": ('{"task_type": "a", "task_type": "b"}', "$", "'task_type' twice"),
    "not UTF-8": (b"\xff{}", "$", "it is no JSON"),
    "an unknown field": (
        SPEC | {"name": 1},
        "$.name",
        "there is no such field; there are task_type",
    ),
    "no budget": (
        {key: value for key, value in SPEC.items() if key != "max_context_tokens"},
        "$.max_context_tokens",
        "it is missing",
    ),
    "a budget of 0": (SPEC | {"max_context_tokens": 0}, "$.max_context_tokens", "found 0"),
    "a budget below 0": (SPEC | {"max_context_tokens": -5}, "$.max_context_tokens", "found -5"),
    "a budget of True": (SPEC | {"max_context_tokens": True}, "$.max_context_tokens", "found True"),
    "half a token": (SPEC | {"max_context_tokens": 1.5}, "$.max_context_tokens", "found 1.5"),
    "an endless budget": (
        SPEC | {"max_context_tokens": float("inf")},
        "$.max_context_tokens",
        "found inf",
    ),
    "a budget that is no number": (
        SPEC | {"max_context_tokens": float("nan")},
        "$.max_context_tokens",
        "found nan",
    ),
    "too large a budget": (SPEC | {"max_context_tokens": 2**31}, "$.max_context_tokens", "found"),
    "a blank name": (SPEC | {"task_type": " "}, "$.task_type", "expected a name"),
    "a long name": (SPEC | {"task_type": "x" * 1_001}, "$.task_type", "at most 1,000 characters"),
    "an age": (SPEC | {"decay": "day"}, "$.decay", "expected one of hour, turn"),
    "no needs": (SPEC | {"required_memory": []}, "$.required_memory", "at least one"),
    "needs of another kind": (SPEC | {"required_memory": {}}, "$.required_memory", "a list"),
    "too many needs": (SPEC | {"required_memory": [NEED] * 1_001}, "$.required_memory", "1,001"),
    "a need": (SPEC | {"required_memory": [NEED, 5]}, "$.required_memory[1]", "expected an object"),
    "no type": (SPEC | {"required_memory": [{}]}, "$.required_memory[0].type", "it is missing"),
    "a type": (need(type=""), "$.required_memory[1].type", "expected a name"),
    "a priority": (
        need(priority="high"),
        "$.required_memory[1].priority",
        "expected one of essential",
    ),
    "a scope": (
        need(scope=["global"]),
        "$.required_memory[1].scope",
        "expected one of current_session",
    ),
    "an unknown field that is no word": (
        SPEC | {"a b\ud800": 1},
        r"$['a b\ud800']",
        "there is no such field",
    ),
    "half a character": (
        need(keys=["\ud800"]),
        "$.required_memory[1].keys[0]",
        "expected Unicode text",
    ),
    "a budget beyond every number": (
        SPEC | {"max_context_tokens": 10**400},
        "$.max_context_tokens",
        "a number of tokens",
    ),
    "a similarity beyond every number": (
        need(similarity_match=10**400),
        "$.required_memory[1].similarity_match",
        "over 0 to 1",
    ),
    "a time that no calendar spans": (
        need(recency="10000000w"),
        "$.required_memory[1].recency",
        "expected",
    ),
    "an unknown field of a need": (
        need(section="a"),
        "$.required_memory[1].section",
        "no such field",
    ),
    "one section": (need(sections="Item 7"), "$.required_memory[1].sections", "a list of names"),
    "a blank section": (need(sections=["a", ""]), "$.required_memory[1].sections[1]", "a name"),
    "a section twice": (
        need(sections=["a", "b", "a"]),
        "$.required_memory[1].sections[2]",
        "already",
    ),
    "many sections": (
        need(sections=[str(n) for n in range(1_001)]),
        "$.required_memory[1].sections",
        "at most 1,000 names",
    ),
    "keys": (need(keys=5), "$.required_memory[1].keys", "a list of names"),
    "modules": (need(modules=None), "$.required_memory[1].modules", "a list of names"),
    "entities": (need(entities=[1]), "$.required_memory[1].entities[0]", "a name"),
    "a module": (need(module=""), "$.required_memory[1].module", "a name"),
    "no turns": (need(recency="last_0_turns"), "$.required_memory[1].recency", "last_5_turns"),
    "a time without a unit": (need(recency="30"), "$.required_memory[1].recency", "30d"),
    "turns with a word behind them": (
        need(recency="last_5_turns more"),
        "$.required_memory[1].recency",
        "last_5_turns",
    ),
    "a time as a number": (need(recency=30), "$.required_memory[1].recency", "30d"),
    "a time with a line behind it": (need(recency="30d\n"), "$.required_memory[1].recency", "30d"),
    "a threshold of 0": (
        need(similarity_match=0),
        "$.required_memory[1].similarity_match",
        "over 0",
    ),
    "a threshold over 1": (
        need(similarity_match=1.01),
        "$.required_memory[1].similarity_match",
        "to 1",
    ),
    "a threshold of NaN": (
        need(similarity_match=float("nan")),
        "$.required_memory[1].similarity_match",
        "found nan",
    ),
    "a condition where none counts": (
        need(when={"similarity": 0.5}),
        "$.required_memory[1].when",
        'only a need of priority "conditional"',
    ),
    "a condition of what must be there": (
        need(priority="essential", when={"similarity": 0.5}),
        "$.required_memory[1].when",
        'only a need of priority "conditional"',
    ),
    "a condition": (
        need(priority="conditional", when="always"),
        "$.required_memory[1].when",
        "expected an object",
    ),
    "an empty condition": (
        need(priority="conditional", when={}),
        "$.required_memory[1].when",
        "found none of them",
    ),
    "an unknown condition": (
        need(priority="conditional", when={"like": 1}),
        "$.required_memory[1].when.like",
        "there are similarity, mentions, present",
    ),
    "a condition with a wrong word": (
        need(priority="conditional", when={"mentions": ["a", 5]}),
        "$.required_memory[1].when.mentions[1]",
        "a name",
    ),
    "a condition with a wrong threshold": (
        need(priority="conditional", when={"similarity": True}),
        "$.required_memory[1].when.similarity",
        "over 0",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_error_says_where_and_what(case: str) -> None:
    given, path, problem = WRONG[case]
    with pytest.raises(SpecError) as caught:
        TaskSpec.from_json(given)
    error = caught.value
    assert error.path == path
    assert problem in error.problem
    assert str(error) == f"{path}: {error.problem}"
    assert len(error.problem) < 300
    assert isinstance(error, InvalidInputError)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 - our own


def test_python_objects_are_checked_as_well() -> None:
    cases: list[tuple[Any, str]] = [
        (lambda: Need(type=5), "$.type"),  # type: ignore[arg-type]
        (lambda: Need(type="a", sections="b"), "$.sections"),  # type: ignore[arg-type]
        (lambda: Need(type="a", priority="conditional", when={"similarity": 1}), "$.when"),  # type: ignore[arg-type]
        (lambda: When(similarity=0), "$.similarity"),
        (When, "$"),
        (
            lambda: TaskSpec(task_type="a", required_memory=(NEED,), max_context_tokens=1),  # type: ignore[arg-type]
            "$.required_memory[0]",
        ),
    ]
    for make, path in cases:
        with pytest.raises(SpecError) as caught:
            make()
        assert caught.value.path == path
    # A list is taken for a tuple, and kept as one.
    made = Need(type="a", sections=["b"])  # type: ignore[arg-type]
    assert made.sections == ("b",)


@pytest.mark.parametrize("most", [1, 2**31 - 1, 16_000.0])
def test_a_budget_within_the_limits_is_taken(most: float) -> None:
    made = TaskSpec.from_json(SPEC | {"max_context_tokens": most})
    assert made.max_context_tokens == most
    assert isinstance(made.max_context_tokens, int)


@pytest.mark.parametrize("share", [1, 1.0, 0.0001])
def test_a_threshold_within_the_limits_is_taken(share: float) -> None:
    assert Need(type="a", similarity_match=share).similarity_match == share
    assert When(similarity=share).similarity == share


def test_limits_are_the_last_that_is_taken() -> None:
    names = tuple(str(n) for n in range(1_000))
    made = Need(type="x" * 1_000, sections=names)
    assert (
        TaskSpec(task_type="a", required_memory=(made,) * 1_000, max_context_tokens=1)
        .required_memory[999]
        .sections
        == names
    )
