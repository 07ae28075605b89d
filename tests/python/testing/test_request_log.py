"""`RequestLog`: it records requests as they were sent; and thinking as a provider judges it."""

from __future__ import annotations

import asyncio
import copy
import random

import pytest
from bound_provider import thoughts

from warmset.errors import InvalidInputError
from warmset.testing import PrefixError, RequestLog, check_prefix


def user(text):
    return {"role": "user", "content": text}


def test_a_wrapped_call_is_recorded_as_it_was_sent():
    log = RequestLog()
    seen = []

    def create(*, model, messages):
        """Create a message."""
        seen.append((model, len(messages)))
        return "said"

    wrapped = log.wrap(create)
    assert wrapped.__doc__ == "Create a message."
    history = [user([{"type": "text", "text": "a"}])]
    assert wrapped(model="m", messages=history) == "said"
    history.append(user("b"))
    history[0]["content"][0]["text"] = "changed"
    wrapped(model="m", messages=history)
    assert seen == [("m", 1), ("m", 2)]
    assert log.requests[0]["messages"] == [user([{"type": "text", "text": "a"}])]
    with pytest.raises(PrefixError, match=r"messages\[0\].content\[0\].text changed"):
        log.assert_append_only()
    log.assert_append_only(allow=1)
    assert log.check(allow=1).ok
    assert not log.check().ok
    assert log.check(dialect="anthropic", model="x").diffs[0].model == "x"


def test_an_asynchronous_call_is_recorded_before_it_runs():
    log = RequestLog()

    async def create(**arguments):
        await asyncio.sleep(0)
        arguments["messages"].append(user("b"))
        return len(log.requests)

    assert asyncio.run(log.wrap(create)(messages=[user("a")])) == 1
    assert log.requests == [{"messages": [user("a")]}]


def test_requests_are_recorded_by_hand_in_every_form():
    log = RequestLog()
    log.record([user("a")])
    log.record({"messages": [user("a"), user("b")]})
    assert [len(one["messages"]) for one in log.requests] == [1, 2]
    log.assert_append_only(dialect="openai")
    with pytest.raises(InvalidInputError, match="request 2"):
        log.record({"model": "x"})
    with pytest.raises(InvalidInputError, match="request 2"):
        log.wrap(print)("x")
    assert len(log.requests) == 2


# --- what the provider would say ----------------------------------------------------------------


def reply(dialect, number):
    """Return a reply with thinking that has its number."""
    if dialect == "anthropic":
        thought = {"type": "thinking", "thinking": "t", "signature": f"s{number}"}
        return [{"role": "assistant", "content": [thought, {"type": "text", "text": f"r{number}"}]}]
    thought = {"type": "reasoning", "summary": [], "encrypted_content": f"s{number}"}
    return [thought, {"role": "assistant", "content": f"r{number}"}]


def grown(before, dialect, name, number):
    """Return the request that an honest agent sends next."""
    after = copy.deepcopy(before)
    after[name] += [*reply(dialect, number), user(f"q{number}")]
    return after


def edit(request, name, system, rng):
    """Change a request somewhere, or not at all."""
    where = rng.randrange(6)
    listed = request[name]
    if where == 0:
        request[system] += "!"
    elif where == 1:
        request["tools"] = request["tools"][::-1]
    elif where == 2:
        asked = [one for one in listed if one.get("role") == "user"]
        rng.choice(asked[:-1])["content"] += "!"
    elif where == 3:
        del listed[0]
        del listed[0 : next(at for at, one in enumerate(listed) if one.get("role") == "user")]
    elif where == 4:
        listed[-1]["content"] += "!"


@pytest.mark.parametrize(
    ("dialect", "name", "system"),
    [("anthropic", "messages", "system"), ("responses", "input", "instructions")],
)
def test_the_thinking_that_is_reported_is_what_a_provider_would_not_take(dialect, name, system):
    rng = random.Random(dialect)
    model = "claude-fable-5-2" if dialect == "anthropic" else "gpt-6-sol"
    tools = [{"name": "a", "input_schema": {}}, {"name": "b", "input_schema": {}}]
    counts = [0, 0]
    for number in range(300):
        before = {"model": model, system: "Be brief.", "tools": tools, name: [user("q")]}
        for turn in range(rng.randrange(1, 5)):
            before = grown(before, dialect, name, turn)
        after = grown(before, dialect, name, 9)
        made = {
            one: prefix
            for request in (before, after)
            for one, prefix in thoughts(dialect, "Be brief.", tools, request[name])
        }
        edit(after, name, system, rng)
        expected = [
            made[one] != prefix
            for one, prefix in thoughts(dialect, after[system], after["tools"], after[name])
        ]
        [found] = check_prefix([before, after], dialect=dialect).diffs
        assert len(found.thinking) == sum(expected), (number, found)
        places = [
            f"{name}[{at}]" + (".content[0]" if dialect == "anthropic" else "")
            for at, one in enumerate(after[name])
            if one.get("type") == "reasoning" or isinstance(one.get("content"), list)
        ]
        assert [one.place for one in found.thinking] == [
            place for place, broken in zip(places, expected, strict=True) if broken
        ]
        counts[bool(found.thinking)] += 1
    assert min(counts) > 30
