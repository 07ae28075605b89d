"""`alternate` and `convert` over generated conversations: nothing is lost or mixed up."""

import copy
import itertools
import json

from hypothesis import given, strategies as st
from message_strategies import anthropic_lists, openai_lists

from warmset.messages import alternate, convert, facts, validate


@given(st.lists(anthropic_lists(), max_size=3), st.data())
def test_alternate_merges_neighbours_and_nothing_else(lists, data):
    messages = [message for part in lists for message in part]
    messages = data.draw(st.permutations(messages)) if data.draw(st.booleans()) else messages
    before = copy.deepcopy(messages)
    merged = alternate(messages)
    roles = [message["role"] for message in merged]
    assert messages == before
    assert all(one != other for one, other in itertools.pairwise(roles))
    assert sorted(pieces(merged)) == sorted(pieces(messages))
    assert all(map(lambda one, other: one is other, alternate(merged), merged))


def pieces(messages):
    for message in messages:
        content = message["content"]
        for block in [content] if isinstance(content, str) else content:
            plain = isinstance(block, str)
            yield json.dumps({"type": "text", "text": block} if plain else block)


def compact(messages):
    """The list with the white space of its arguments taken out."""
    fresh = copy.deepcopy(messages)
    for message in fresh:
        for call in message.get("tool_calls", ()):
            told = json.loads(call["function"]["arguments"])
            call["function"]["arguments"] = json.dumps(
                told, ensure_ascii=False, separators=(",", ":")
            )
    return fresh


@given(openai_lists())
def test_openai_goes_to_anthropic_and_back(messages):
    there = convert(messages, source="openai", target="anthropic")
    assert validate(there.messages, dialect="anthropic") == []
    back = convert(there.messages, source="anthropic", target="openai", system=there.system)
    assert back.system is None
    assert back.messages == compact(messages)


@given(
    anthropic_lists(), st.none() | st.just("Be kind.") | st.just([{"type": "text", "text": "A"}])
)
def test_anthropic_goes_to_openai_and_back(messages, system):
    there = convert(messages, source="anthropic", target="openai", system=system)
    assert validate(there.messages, dialect="openai") == []
    back = convert(there.messages, source="openai", target="anthropic")
    assert back.system == system
    assert back.messages == messages


@given(openai_lists())
def test_what_is_said_and_called_is_the_same_in_both(messages):
    messages = [message for message in messages if message["role"] != "system"]
    there = convert(messages, source="openai", target="anthropic").messages
    ours = [facts(message, "openai") for message in compact(messages)]
    theirs = [facts(message, "anthropic") for message in there]
    for field in ("calls", "results"):
        assert sum((getattr(f, field) for f in ours), ()) == sum(
            (getattr(f, field) for f in theirs), ()
        )
    assert sum(f.images for f in ours) == sum(f.images for f in theirs)
