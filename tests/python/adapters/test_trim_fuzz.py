"""`trim_messages(pairs=False)` against langchain-core's: equal results, equally refused."""

import json
import random
from collections.abc import Callable

import pytest

pytest.importorskip("langchain_core", reason="langchain-core is the reference of these tests")

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.utils import (
    convert_to_messages,
    count_tokens_approximately,
    trim_messages as reference,
)

from warmset.adapters.langchain import trim_messages
from warmset.adapters.langchain.counters import approximate
from warmset.errors import InvalidInputError

WORDS = ("sea", "whale\n", "a\nb\nc", "", "Ünï 🐋", "harpoon " * 9, " ", "log\n\nbook")


def text(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(0, 4)))


def block(rng: random.Random):
    return rng.choice(
        [
            text(rng),
            {"type": "text", "text": text(rng)},
            {"type": "text", "text": text(rng)},
            {"type": "image_url", "image_url": {"url": "https://example.com/" + "x" * 40}},
            {"type": "image", "data": "x" * 40},
            {"type": "tool_use", "id": "c1", "name": "find", "input": {"q": text(rng)}},
            {"what": 1},
        ]
    )


def content(rng: random.Random):
    return text(rng) if rng.random() < 0.65 else [block(rng) for _ in range(rng.randint(0, 4))]


def calls(rng: random.Random) -> list[dict]:
    return [
        {"name": "find", "args": {"q": text(rng)}, "id": f"c{rng.randint(0, 3)}"}
        for _ in range(rng.randint(0, 2))
    ]


def message(rng: random.Random) -> BaseMessage:
    said, name = content(rng), rng.choice([None, None, "Ishmael"])
    makers: dict[str, Callable[[], BaseMessage]] = {
        "h": lambda: HumanMessage(said, name=name),
        "a": lambda: AIMessage(said, tool_calls=calls(rng), name=name),
        "t": lambda: ToolMessage(said, tool_call_id=f"c{rng.randint(0, 3)}", name=name),
        "s": lambda: SystemMessage(said),
        "d": lambda: SystemMessage(said, additional_kwargs={"__openai_role__": "developer"}),
        "f": lambda: FunctionMessage(said, name="find"),
        "c": lambda: ChatMessage(said, role="critic"),
        "k": lambda: AIMessageChunk(said),
    }
    return makers[rng.choice("hhhaaatttsdfck")]()


def a_dict(rng: random.Random) -> dict:
    role = rng.choice(["user", "human", "assistant", "ai", "system", "developer", "tool"])
    made = {rng.choice(["role", "role", "type"]): role, "content": content(rng)}
    if role in ("assistant", "ai") and rng.random() < 0.6:
        made["content"] = rng.choice([None, "", made["content"]])
        made["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": "find", "arguments": json.dumps(call["args"])},
            }
            if rng.random() < 0.6
            else call
            for call in calls(rng)
        ]
    if role == "tool":
        made["tool_call_id"] = rng.choice(["c1", "c2", 7])
    if rng.random() < 0.2:
        made["name"] = "Ishmael"
    return made


def spoil(rng: random.Random, made: dict) -> dict:
    """Make a dict that langchain refuses to convert."""
    worse = rng.choice(
        [
            {"role": "whale"},
            {"role": None},
            {"role": ["user"]},
            {"role": "tool", "tool_call_id": None},
            {"role": "user", "content": 3},
            {"role": "user", "content": [3]},
            {"role": "user", "name": 4},
            {"role": "assistant", "tool_calls": [{"name": "find"}]},
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f"}}]},
            {"role": "assistant", "tool_calls": "find"},
        ]
    )
    spoilt = made | worse
    if rng.random() < 0.3:
        del spoilt["content"]
    return spoilt


def size(message: BaseMessage | dict) -> int:
    """Charge what is said, of objects and of dicts alike."""
    said = message.get("content") if isinstance(message, dict) else message.content
    return 2 + (len(said) if isinstance(said, str) else 7 * len(said or ()))


def per_list(messages: list[BaseMessage]) -> int:
    return sum(map(size, messages))


def primed(messages) -> int:
    return 3 + sum(map(size, messages))


def uneven(messages: list[BaseMessage]) -> int:
    """Cost less for some longer lists: what is kept depends on which lists are asked about."""
    return sum(map(size, messages)) % 41


def attributes(messages) -> int:
    return sum(len(m.content) + len(m.type) for m in messages)


def per_message(message: BaseMessage) -> int:
    return size(message)


def negative(message: BaseMessage) -> int:
    return size(message) - 9


COUNTERS: list[Callable | str] = [
    per_list,
    primed,
    uneven,
    attributes,
    per_message,
    negative,
    "approximate",
    count_tokens_approximately,
    len,
]
TYPES = [
    None,
    None,
    None,
    "human",
    "ai",
    ["tool", "system"],
    HumanMessage,
    (AIMessage, "human"),
    [],
    BaseMessage,
]


def options(rng: random.Random, messages: list) -> dict:
    counter = rng.choice(COUNTERS)
    chosen = {
        "token_counter": counter,
        "strategy": rng.choice(["first", "last", "last"]),
        "allow_partial": rng.random() < 0.5,
        "end_on": rng.choice(TYPES),
        "start_on": rng.choice(TYPES),
        "include_system": rng.random() < 0.5,
        "text_splitter": rng.choice([None, list, str.split]),
    }
    if chosen["strategy"] == "first" and rng.random() < 0.9:
        chosen |= {"start_on": None, "include_system": False}
    scale = len(messages) if counter is len else 30 * len(messages)
    chosen["max_tokens"] = rng.choice([rng.randint(0, scale + 1), rng.randint(-2, 30)])
    return chosen


def theirs(messages: list, chosen: dict) -> list | None:
    """Return what langchain keeps; None where it raises, whatever it raises."""
    try:
        return reference(messages, **chosen)
    except Exception:  # noqa: BLE001
        return None


def ours(messages: list, chosen: dict) -> list | None:
    """Return what we keep; None where we refuse. Nothing else may be raised."""
    try:
        return trim_messages(messages, **chosen, pairs=False)
    except InvalidInputError:
        return None


@pytest.mark.parametrize("seed", range(4))
def test_objects_are_trimmed_as_langchain_trims_them(seed):
    rng = random.Random(seed)
    shortened = 0
    for _ in range(1_750):
        messages = [message(rng) for _ in range(rng.randint(0, 12))]
        chosen = options(rng, messages)
        copies = [each.model_copy(deep=True) for each in messages]
        expected = theirs(messages, chosen)
        found = ours(messages, chosen)
        assert found == expected, (messages, chosen)
        assert messages == copies
        if found is not None:
            own = {id(each) for each in messages}
            strange = [each for each in found if id(each) not in own]
            assert len(strange) <= chosen["allow_partial"]
            shortened += len(strange)
    assert shortened > 50  # the generator reaches what is shortened


@pytest.mark.parametrize("seed", range(4))
def test_dicts_are_trimmed_as_langchain_trims_what_it_makes_of_them(seed):
    rng = random.Random(100 + seed)
    refused = 0
    for _ in range(1_000):
        messages = [a_dict(rng) for _ in range(rng.randint(0, 10))]
        if messages and rng.random() < 0.15:
            place = rng.randrange(len(messages))
            messages[place] = spoil(rng, messages[place])
        chosen = options(rng, messages)
        copies = json.dumps(messages)
        expected = theirs(messages, chosen)
        found = ours(messages, chosen)
        if found is not None:
            assert all(isinstance(each, dict) for each in found)
            own = {id(each) for each in messages}
            assert sum(id(each) not in own for each in found) <= chosen["allow_partial"]
            found = convert_to_messages(found)
        else:
            refused += 1
        assert found == expected, (messages, chosen)
        assert json.dumps(messages) == copies
    assert refused > 50


@pytest.mark.parametrize("make", [message, a_dict])
def test_the_estimate_is_langchains(make):
    rng = random.Random(5)
    for _ in range(1_000):
        given = make(rng)
        assert approximate(given) == count_tokens_approximately([given])


def test_pairs_of_role_and_content_come_out_as_messages():
    messages = [("system", "Be brief."), "hello", ("ai", "hi"), {"role": "user", "content": "a"}]
    chosen = {"max_tokens": 2, "token_counter": len, "include_system": True}
    expected = reference(messages, **chosen)
    assert len(expected) == 2
    assert trim_messages(messages, **chosen) == expected
    assert trim_messages(messages, **chosen, pairs=False) == expected
