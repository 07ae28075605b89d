"""Conversions of generated conversations between all dialects, with what only one of them has."""

from __future__ import annotations

import copy
import re
from collections import Counter
from itertools import permutations

import pytest
from fitting import cases
from hypothesis import given, settings, strategies as st
from provider_marks import MARKERS, enriched, marked

from warmset.messages import convert, facts, validate
from warmset.testing import random_history

PAIRS = list(permutations(MARKERS, 2))
RANDOM = st.randoms(use_true_random=False, note_method_calls=False)
few = settings(max_examples=cases(20, 5_000))
pairs = pytest.mark.parametrize(("source", "target"), PAIRS)


def conversation(source, rng):
    """A conversation whose instructions stand in front; `test_convert_system.py` has the others."""
    messages = random_history(rng, source, exchanges=2).messages
    instructing = ("system", "developer")
    first = next(at for at, one in enumerate(messages) if one.get("role") not in instructing)
    rest = [one for one in messages[first:] if one.get("role") not in instructing]
    return [*messages[:first], *rest]


def refused(messages, dialect):
    return [one for one in validate(messages, dialect=dialect) if one.severity == "refused"]


def check_valid(messages, dialect, given_messages, source):
    """A list is as valid as its source; an end that is the assistant's is so everywhere."""
    ends = [facts(given_messages[at], source).role == "assistant" for at in (0, -1)]
    excused = [place for place, is_assistant in zip((0, -1), ends, strict=True) if is_assistant]
    places = [range(len(messages))[place] for place in excused]
    found = refused(messages, dialect)
    assert [one for one in found if one.rule != "G1" or one.index not in places] == []


def said(messages, dialect):
    """The numbered texts that a reader of the list sees, calls and results included."""
    text = " ".join(facts(message, dialect).text for message in messages)
    return Counter(re.findall(r"\bn\d+\b", text))


@pairs
@few
@given(rng=RANDOM)
def test_metadata_changes_nothing_of_a_conversion(source, target, rng):
    plain = conversation(source, rng)
    given_messages = marked(plain, source, rng)
    before = copy.deepcopy(given_messages)
    found = convert(given_messages, source=source, target=target)
    assert given_messages == before
    assert found.messages == without_references(plain, source, target, given_messages)
    assert {one.kind for one in found.lost} <= {"metadata"}
    assert all(0 <= one.index < len(plain) for one in found.lost)
    assert [one.index for one in found.lost] == sorted(one.index for one in found.lost)
    if not refused(given_messages, source):
        check_valid(found.messages, target, given_messages, source)
    rest = said(found.messages, target)
    rest.update(re.findall(r"\bn\d+\b", str(found.system or "")))
    assert rest == said(plain, source)


def without_references(plain, source, target, given_messages):
    """What the plain list becomes, its results in the form of those that had a reference."""
    fresh = copy.deepcopy(plain)
    for message, other in zip(fresh, given_messages, strict=True):
        if source == "anthropic" and message["role"] == "user" and other["content"]:
            for block, mark in zip(message["content"], other["content"], strict=True):
                if isinstance(block, dict) and isinstance(mark.get("content"), list):
                    block["content"] = mark["content"][:1]
    return convert(fresh, source=source, target=target).messages


@pairs
@few
@given(rng=RANDOM)
def test_what_both_can_hold_stays_the_same_there_and_back(source, target, rng):
    given_messages = marked(conversation(source, rng), source, rng)
    there = convert(given_messages, source=source, target=target)
    back = convert(there.messages, source=target, target=source, system=there.system)
    again = convert(back.messages, source=source, target=target, system=back.system)
    assert back.lost == again.lost == ()
    assert (again.messages, again.system) == (there.messages, there.system)
    third = convert(again.messages, source=target, target=source, system=again.system)
    assert (third.messages, third.system) == (back.messages, back.system)


@pairs
@few
@given(rng=RANDOM)
def test_dropped_content_leaves_a_valid_list(source, target, rng):
    plain = conversation(source, rng)
    given_messages, added = enriched(marked(plain, source, rng), source, rng)
    before = copy.deepcopy(given_messages)
    found = convert(given_messages, source=source, target=target, lost="drop")
    assert given_messages == before
    assert found.messages
    content = [one for one in found.lost if one.kind == "content"]
    assert len(content) >= added
    assert all(0 <= one.index < len(given_messages) for one in found.lost)
    if not refused(given_messages, source):
        check_valid(found.messages, target, given_messages, source)
    if not content:
        assert convert(given_messages, source=source, target=target) == found
    back = convert(found.messages, source=target, target=source, system=found.system)
    assert [one for one in back.lost if one.kind == "content"] == []
