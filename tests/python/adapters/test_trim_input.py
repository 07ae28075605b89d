"""What `trim_messages` takes, what its counters are given, and that langchain-core is optional."""

import subprocess
import sys

import pytest

from warmset.adapters.langchain import trim_messages
from warmset.errors import InvalidInputError, InvalidMessageError

TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "two"},
    {"role": "user", "content": "three"},
]


def run(code: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_dicts_need_no_langchain():
    code = """
import sys
from warmset.adapters.langchain import trim_messages
talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}] * 9
for pairs in (True, False):
    kept = trim_messages(talk, max_tokens=13, token_counter="approximate", start_on="human",
                         pairs=pairs)
    assert kept == talk[-2:], kept
print([name for name in sys.modules if name.startswith("langchain")])
"""
    assert run(code) == "[]"


def test_without_langchain_a_later_call_is_a_function_and_other_shapes_are_refused():
    code = """
import sys
sys.modules["langchain_core"] = None
from warmset.errors import InvalidMessageError
from warmset.adapters.langchain import trim_messages
later = trim_messages(max_tokens=1, token_counter=len)
assert later([{"role": "user", "content": "a"}] * 2) == [{"role": "user", "content": "a"}]
try:
    later([("user", "a")])
except InvalidMessageError as error:
    print(error)
"""
    assert "langchain-core" in run(code)


def test_a_counter_of_lists_is_given_them_in_the_order_of_the_list():
    seen = []

    def counter(messages):
        seen.append([TALK.index(message) for message in messages])
        return len(messages)

    for strategy in ("first", "last"):
        trim_messages(TALK, max_tokens=2, token_counter=counter, strategy=strategy)
    assert seen
    assert all(places == sorted(places) for places in seen)


def test_a_counter_is_given_blocks_and_text_in_their_order():
    said = []

    def counter(messages):
        said.extend(block for each in messages for block in each["content"])
        return sum(len(block) for each in messages for block in each["content"])

    options = {"token_counter": counter, "allow_partial": True}
    talk = [{"role": "user", "content": ["first", "second\n", "third"]}]
    kept = trim_messages(talk, max_tokens=13, **options)
    assert kept == [{"role": "user", "content": ["second\n", "third"]}]
    assert said[-2:] == ["second\n", "third"]


def test_an_annotation_tells_that_one_message_is_counted():
    def one(message: dict) -> int:
        return len(message["content"])

    def quoted(message: "dict[str, str]") -> int:
        return len(message["content"])

    for counter in (one, quoted):
        assert trim_messages(TALK, max_tokens=8, token_counter=counter) == TALK[2:]


def test_a_splitter_may_be_an_object():
    class Splitter:
        def split_text(self, text: str) -> list[str]:
            return list(text)

    options = {
        "max_tokens": 7,
        "token_counter": lambda given: sum(len(m["content"]) for m in given),
    }
    kept = trim_messages(TALK, **options, allow_partial=True, text_splitter=Splitter())
    assert kept == [{"role": "assistant", "content": "wo"}, TALK[3]]
    assert TALK[2]["content"] == "two"


@pytest.mark.parametrize(
    "options",
    [
        {"token_counter": lambda: 1},
        {"token_counter": lambda given: None},  # noqa: ARG005
        {"token_counter": None},
        {"max_tokens": "many"},
        {"max_tokens": None},
        {"start_on": 3},
        {"strategy": "middle"},
        {"allow_partial": True, "text_splitter": 3, "max_tokens": 1},
        {"allow_partial": True, "text_splitter": lambda text: [text, 1], "max_tokens": 1},
    ],
)
@pytest.mark.parametrize("pairs", [True, False])
def test_unusable_options_are_refused(options, pairs):
    counter = lambda given: sum(len(m["content"]) for m in given)  # noqa: E731
    with pytest.raises(InvalidInputError):
        trim_messages(TALK, **({"max_tokens": 5, "token_counter": counter} | options), pairs=pairs)


@pytest.mark.parametrize("messages", ["hello", b"hello", TALK[0], 3])
def test_one_message_is_no_list(messages):
    with pytest.raises(InvalidInputError, match="list of messages"):
        trim_messages(messages, max_tokens=5, token_counter=len)


def test_an_element_that_is_no_message_is_refused_by_its_place():
    with pytest.raises(InvalidMessageError) as caught:
        trim_messages([TALK[1], 3], max_tokens=5, token_counter=len)
    assert caught.value.index == 1


@pytest.mark.parametrize("content", [{"rows": 3}, 3, None])
@pytest.mark.parametrize("pairs", [True, False])
def test_a_tool_may_answer_with_any_value(content, pairs):
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = {"role": "assistant", "content": "", "tool_calls": [call]}
    talk = [TALK[1], asked, {"role": "tool", "tool_call_id": "a", "content": content}]
    assert trim_messages(talk, max_tokens=3, token_counter=len, pairs=pairs) == talk
    said = {"role": "user", "content": content}
    if content is not None:
        with pytest.raises(InvalidMessageError, match="message 0: content is a"):
            trim_messages([said], max_tokens=3, token_counter=len, pairs=pairs)


def test_what_cannot_be_estimated_is_refused():
    for part in ({"type": "text", "text": None}, {"type": "text", "text": 3}):
        with pytest.raises(InvalidInputError, match="cannot be counted"):
            trim_messages(
                [{"role": "user", "content": [part]}],
                max_tokens=5,
                token_counter="approximate",  # noqa: S106
            )


def test_an_iterator_is_read_once():
    assert trim_messages(iter(TALK), max_tokens=2, token_counter=len) == TALK[2:]


def test_what_langchain_serialised_is_read():
    core = pytest.importorskip("langchain_core.messages", reason="writes its envelope")
    dumps = pytest.importorskip("langchain_core.load").dumpd
    call = {"name": "f", "args": {"x": 1}, "id": "a"}
    talk = [
        dumps(message)
        for message in (
            core.HumanMessage("?"),
            core.AIMessage("", tool_calls=[call]),
            core.ToolMessage("42", tool_call_id="a"),
            core.AIMessage("first\nsecond"),
        )
    ]
    assert trim_messages(talk, max_tokens=2, token_counter=len) == talk[3:]
    assert trim_messages(talk, max_tokens=3, token_counter=len, end_on="tool") == talk[:3]
    kept = trim_messages(talk, max_tokens=7, token_counter="approximate", allow_partial=True)  # noqa: S106
    assert [each["kwargs"]["content"] for each in kept] == ["second"]
    streamed = [dumps(core.HumanMessageChunk("?")), dumps(core.AIMessageChunk("."))]
    assert trim_messages(streamed, max_tokens=2, token_counter=len, end_on="ai") == streamed
    assert trim_messages(streamed, max_tokens=2, token_counter=len, end_on="human") == streamed[:1]
    exact = trim_messages(
        talk,
        max_tokens=7,
        token_counter="approximate",  # noqa: S106
        allow_partial=True,
        pairs=False,
    )
    assert exact == kept


def test_a_counter_for_langchains_messages_is_given_those():
    core = pytest.importorskip("langchain_core.messages", reason="the counter reads its objects")

    def annotated(messages: list[core.BaseMessage]) -> int:
        return sum(len(message.content) for message in messages)

    for counter in (annotated, lambda messages: sum(len(each.content) for each in messages)):
        kept = trim_messages(TALK, max_tokens=8, token_counter=counter)
        assert [id(each) for each in kept] == [id(each) for each in TALK[2:]]
    kept = trim_messages(TALK, max_tokens=2, token_counter=len, end_on=core.AIMessage)
    assert kept == TALK[1:3]
