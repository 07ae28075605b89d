"""Lists in the shape of real recorded requests, through everything that takes or makes a list.

`test_real_shapes_memory.py` sends the same lists through a memory.
"""

from __future__ import annotations

import copy
from contextlib import suppress

import pytest
import refusals as provider
from real_shapes import INSTRUCTING, LISTS, check_kept, is_plain, load

from warmset import compact_context, convert, detect, fit, repair
from warmset.errors import BudgetTooSmall, ConversionError, WarmsetError
from warmset.messages import facts, units

SHAPES = load()
ACCEPTED = [shape for shape in SHAPES if shape.verdict == "accepted"]
REFUSED = [shape for shape in SHAPES if shape.verdict == "refused"]
LEAST = {"openai": 80, "responses": 90, "anthropic": 80, "gemini": 80, "interactions": 30}
"""How many lists of each dialect the corpus has at least."""

UNNOTICED = {
    "responses-reasoning-and-call-without-id",
    "responses-reasoning-without-ids",
    "responses-tool-search-server",
    "responses-two-reasonings",
}
"""Lists of which a provider cannot tell that one of two items that belong together was left out."""

every = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
accepted = pytest.mark.parametrize("shape", ACCEPTED, ids=lambda shape: shape.name)
refused = pytest.mark.parametrize("shape", REFUSED, ids=lambda shape: shape.name)


def test_the_corpus_is_whole():
    names = [shape.name for shape in SHAPES]
    assert len(set(names)) == len(names)
    for dialect, least in LEAST.items():
        assert sum(shape.dialect == dialect for shape in SHAPES) >= least
    for shape in SHAPES:
        assert shape.verdict in ("accepted", "refused")
        assert shape.why
        assert shape.page.startswith("https://")


@every
def test_the_oracle_agrees_with_the_verdict(shape):
    assert bool(shape.refusals(shape.messages)) == (shape.verdict == "refused")


@pytest.mark.parametrize("dialect", LISTS)
def test_the_oracle_refuses_an_empty_list(dialect):
    assert provider.refusals(dialect, [])


@accepted
def test_the_oracle_misses_what_was_left_out(shape):
    pairs = [] if shape.name in UNNOTICED else provider.bonds(shape.dialect, shape.messages)
    for one, _ in pairs:
        assert shape.refusals([*shape.messages[:one], *shape.messages[one + 1 :]]), one


@accepted
def test_detect_finds_the_dialect(shape):
    found = detect(shape.messages)
    assert found in (shape.dialect, None) or is_plain(shape.messages)


@accepted
def test_validate_refuses_nothing_that_is_accepted(shape):
    assert shape.complaints(shape.messages) == []


@refused
def test_validate_refuses_what_is_refused(shape):
    assert shape.complaints(shape.messages)


@accepted
def test_repair_leaves_what_is_accepted(shape):
    before = copy.deepcopy(shape.messages)
    result = repair(shape.messages, **shape.request)
    assert result.changes == []
    assert len(result.messages) == len(shape.messages)
    assert all(one is other for one, other in zip(result.messages, shape.messages, strict=True))
    assert shape.messages == before


@refused
@pytest.mark.parametrize("unanswered", ["stub", "drop"])
def test_repair_mends_what_is_refused(shape, unanswered):
    try:
        result = repair(shape.messages, unanswered=unanswered, **shape.request)
    except WarmsetError:
        return
    shape.check(result.messages)
    assert result.changes
    assert repair(result.messages, **shape.request).changes == []


@accepted
def test_units_hold_together_what_belongs_together(shape):
    found = units([facts(message, shape.dialect) for message in shape.messages])
    home = {at: number for number, unit in enumerate(found) for at in unit.members}
    assert sorted(home) == list(range(len(shape.messages)))
    for one, other in provider.bonds(shape.dialect, shape.messages):
        assert home[one] == home[other], (one, other)


@accepted
@pytest.mark.parametrize(
    "share", [0.0, 0.5, 0.8, 1.0, 2.0], ids=["tiny", "half", "most", "all", "roomy"]
)
def test_fit_makes_lists_that_are_accepted(shape, share):
    beside = {"dialect": shape.dialect, "system": shape.system}
    beside["continues"] = bool(shape.continues)
    total = int(fit(shape.messages, budget=10**9, **beside).tokens)
    budget = max(1, int(total * share))
    try:
        result = fit(shape.messages, budget=budget, **beside)
    except BudgetTooSmall as error:
        budget = max(budget + 1, error.need)
        result = fit(shape.messages, budget=budget, **beside)
    assert result.tokens <= budget
    if not result.inserted:
        check_kept(shape, result.messages)
    shape.check(result.messages)
    if budget >= total:
        assert len(result.messages) == len(shape.messages)


@accepted
@pytest.mark.parametrize("ratio", [0.05, 0.4, 0.8])
def test_compact_context_makes_lists_that_are_accepted(shape, ratio):
    result = compact_context(shape.messages, target_ratio=ratio, dialect=shape.dialect)
    check_kept(shape, result.messages)
    shape.check(result.messages)


@accepted
@pytest.mark.parametrize("lost", ["error", "drop"])
@pytest.mark.parametrize("target", LISTS)
def test_convert_makes_lists_that_are_accepted(shape, target, lost):
    try:
        result = convert(
            shape.messages, source=shape.dialect, target=target, system=shape.system, lost=lost
        )
    except ConversionError:
        assert target != shape.dialect
        assert lost == "error" or shape.continues or _instructs_only(shape.messages)
        return
    if target == shape.dialect:
        shape.check(result.messages)
    elif not _instructs_only(shape.messages):
        assert result.messages
        assert provider.refusals(target, result.messages, system=result.system) == []


def _instructs_only(messages):
    return all(message.get("role") in INSTRUCTING for message in messages)


MAKERS = {
    "fit": lambda shape: fit(shape.messages, budget=20, dialect=shape.dialect),
    "compact": lambda shape: compact_context(
        shape.messages, target_ratio=0.2, dialect=shape.dialect
    ),
    **{
        target: lambda shape, target=target: convert(
            shape.messages, source=shape.dialect, target=target
        )
        for target in LISTS
    },
}


@refused
@pytest.mark.parametrize("maker", MAKERS)
def test_a_refused_list_raises_nothing_but_our_errors(shape, maker):
    with suppress(WarmsetError):
        MAKERS[maker](shape)
