"""The behaviours that langchain-core tests in its own `trim_messages`, in our words.

Each case runs against langchain-core as well, so what is expected here is what it does.
"""

import pytest

pytest.importorskip("langchain_core", reason="langchain-core is the reference of these tests")

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.messages.utils import count_tokens_approximately, trim_messages as reference
from langchain_core.runnables import RunnableLambda

from warmset.adapters.langchain import trim_messages
from warmset.errors import InvalidInputError

SYSTEM = SystemMessage("Answer in rhymes.")
FIRST = HumanMessage("Who sails?", id="one")
ONE, TWO = ({"type": "text", "text": text} for text in ("A sailor sails.", "A whale, too."))
BLOCKS = AIMessage([ONE, TWO], id="two")
AGAIN = HumanMessage("And who flies?", id="three")
REPLY = AIMessage("A swallow flies.", id="four")
TALK = [SYSTEM, FIRST, BLOCKS, AGAIN, REPLY]


def tens(messages: list[BaseMessage]) -> int:
    """Charge six tokens a message and four a block, so a plain message costs ten."""
    return sum(6 + 4 * (1 if isinstance(m.content, str) else len(m.content)) for m in messages)


def letters(messages: list[BaseMessage]) -> int:
    return sum(
        len(part if isinstance(part, str) else part["text"])
        for m in messages
        for part in ([m.content] if isinstance(m.content, str) else m.content)
    )


def words(messages: list[BaseMessage]) -> int:
    said = (m.content if isinstance(m.content, str) else m.text for m in messages)
    return sum(len(text.split(" ")) for text in said)


def nines(messages: list[BaseMessage]) -> int:
    return sum(len(m.content) * (1 if isinstance(m.content, str) else 9) for m in messages)


def by_words(text: str) -> list[str]:
    *begun, rest = text.split(" ")
    return [f"{word} " for word in begun] + [rest]


def only(message: AIMessage, *blocks: dict[str, str]) -> AIMessage:
    return message.model_copy(update={"content": list(blocks)})


CASES = {
    "the first that fit": (TALK, 30, {"strategy": "first"}, [SYSTEM, FIRST]),
    "the first, one shortened by a block": (
        TALK,
        30,
        {"strategy": "first", "allow_partial": True},
        [SYSTEM, FIRST, only(BLOCKS, ONE)],
    ),
    "a shortened message is no end that was asked for": (
        TALK,
        30,
        {"strategy": "first", "allow_partial": True, "end_on": "human"},
        [SYSTEM, FIRST],
    ),
    "the last, behind the system message": (
        TALK,
        30,
        {"include_system": True},
        [SYSTEM, AGAIN, REPLY],
    ),
    "the last, one shortened by its first block": (
        TALK,
        40,
        {"include_system": True, "allow_partial": True},
        [SYSTEM, only(BLOCKS, TWO), AGAIN, REPLY],
    ),
    "the end that was asked for, then the budget": (
        TALK,
        30,
        {"include_system": True, "allow_partial": True, "end_on": "human"},
        [SYSTEM, only(BLOCKS, TWO), AGAIN],
    ),
    "a shortened message is no start that was asked for": (
        TALK,
        40,
        {"include_system": True, "allow_partial": True, "start_on": "human"},
        [SYSTEM, AGAIN, REPLY],
    ),
    "a start without a system message": (
        [FIRST, REPLY, AGAIN],
        20,
        {"allow_partial": True, "start_on": "human"},
        [AGAIN],
    ),
    "pieces of the text, its beginning": (
        [HumanMessage("Who sails there?")],
        2,
        {
            "strategy": "first",
            "allow_partial": True,
            "text_splitter": list,
            "token_counter": letters,
        },
        [HumanMessage("Wh")],
    ),
    "pieces of the text, its end": (
        [HumanMessage("Who sails there?")],
        2,
        {"allow_partial": True, "text_splitter": list, "token_counter": letters},
        [HumanMessage("e?")],
    ),
    "pieces of a caller's own": (
        TALK,
        5,
        {"allow_partial": True, "text_splitter": by_words, "token_counter": words},
        [AGAIN.model_copy(update={"content": "who flies?"}), REPLY],
    ),
    "a block that fits whole": (
        [BLOCKS],
        16,
        {"strategy": "first", "allow_partial": True, "token_counter": letters},
        [only(BLOCKS, ONE)],
    ),
    "no text of a block behind one that does not fit": (
        [HumanMessage(["Who sails there?", {"type": "image_url", "image_url": {"url": "x"}}])],
        2,
        {"allow_partial": True, "text_splitter": list, "token_counter": nines},
        [],
    ),
    "exactly the budget of one": ([SYSTEM, FIRST], 10, {"strategy": "first"}, [SYSTEM]),
    "exactly the budget of all": ([SYSTEM, FIRST], 20, {"strategy": "first"}, [SYSTEM, FIRST]),
    "no messages": ([], 10, {"include_system": True}, []),
    "a system message alone": ([SYSTEM], 10, {"include_system": True}, [SYSTEM]),
    "a system message over the budget": (TALK, 5, {"include_system": True}, [SYSTEM]),
    "no budget": (TALK, 0, {}, []),
    "less than no budget": (TALK, -1, {"strategy": "first"}, []),
    "a class to start on": (TALK, 30, {"start_on": HumanMessage}, [AGAIN, REPLY]),
    "several to end on": (TALK, 50, {"end_on": ["system", HumanMessage]}, TALK[:4]),
    "an end that nothing has": (TALK, 30, {"end_on": "tool", "include_system": True}, []),
    "all in letters": (TALK, 100, {"token_counter": len}, TALK),
    "a number of messages": (TALK, 2, {"token_counter": len}, [AGAIN, REPLY]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("pairs", [False, True])
def test_the_result_is_what_langchain_keeps(case, pairs):
    talk, budget, options, expected = CASES[case]
    copies = [message.model_copy(deep=True) for message in talk]
    options = {"token_counter": tens, "max_tokens": budget} | options
    assert reference(talk, **options) == expected
    assert trim_messages(talk, **options, pairs=pairs) == expected
    assert talk == copies


def test_the_shortcut_counts_as_the_function():
    options = {"max_tokens": 27, "include_system": True, "start_on": "human"}
    kept = [SYSTEM, AGAIN, REPLY]
    for counter in ("approximate", count_tokens_approximately):
        assert reference(TALK, token_counter=counter, **options) == kept
        assert trim_messages(TALK, token_counter=counter, **options) == kept


DEVELOPER = {"role": "developer", "content": [{"type": "text", "text": "Rhyme."}]}


def test_a_developers_message_is_a_system_message_with_a_longer_role():
    talk = [DEVELOPER, *({"role": "user", "content": text} for text in ("Who?", "And who?"))]
    size = count_tokens_approximately(talk[:1])
    options = {"strategy": "first", "token_counter": "approximate"}
    for budget, kept in ((size - 1, []), (size, talk[:1])):
        assert len(reference(talk, max_tokens=budget, **options)) == len(kept)
        assert trim_messages(talk, max_tokens=budget, **options) == kept
    options = {"max_tokens": 2, "token_counter": len, "include_system": True}
    assert [message.content for message in reference(talk, **options)] == [
        DEVELOPER["content"],
        "And who?",
    ]
    for pairs in (False, True):
        assert trim_messages(talk, **options, pairs=pairs) == [DEVELOPER, talk[-1]]


class Model(FakeListChatModel):
    responses: list[str] = ["ah"]  # noqa: RUF012 - pydantic copies it

    def get_num_tokens_from_messages(self, messages, tools=None):  # noqa: ARG002
        assert all(isinstance(message, BaseMessage) for message in messages)
        return tens(messages)


@pytest.mark.parametrize("bound", [False, True])
def test_a_model_counts(bound):
    model = Model().bind(stop=["."]) if bound else Model()
    options = {"max_tokens": 20, "token_counter": model}
    assert reference(TALK, **options) == [AGAIN, REPLY]
    assert trim_messages(TALK, **options) == [AGAIN, REPLY]
    dicts = [{"role": "user", "content": "Who sails?"}] * 3
    assert trim_messages(dicts, **options) == dicts[1:]


def test_without_messages_it_is_a_runnable():
    options = {"max_tokens": 20, "token_counter": tens}
    for made in (reference(**options), trim_messages(**options)):
        assert isinstance(made, RunnableLambda)
        assert made.name == "trim_messages"
        assert made.invoke(TALK) == [AGAIN, REPLY]
        assert made.invoke([]) == []


REFUSED = {
    "'token_counter' expected to be a model that implements "
    "'get_num_tokens_from_messages\\(\\)' or a function. "
    "Received object of type <class 'dict'>": {"token_counter": {}},
    "Invalid token_counter shortcut 'chars'": {"token_counter": "chars"},
    "start_on parameter is only valid": {"start_on": "human", "strategy": "first"},
    "include_system parameter is only valid": {"include_system": True, "strategy": "first"},
    "Unrecognized strategy='middle'": {"strategy": "middle"},
}


@pytest.mark.parametrize("told", REFUSED)
def test_options_are_refused_in_the_same_words(told):
    options = {"max_tokens": 20, "token_counter": tens} | REFUSED[told]
    with pytest.raises(ValueError, match=told):
        reference(TALK, **options)
    with pytest.raises(InvalidInputError, match=told):
        trim_messages(TALK, **options)


def test_an_unusable_option_is_refused_when_the_runnable_runs():
    for made in (
        reference(max_tokens=1, token_counter={}),
        trim_messages(max_tokens=1, token_counter={}),
    ):
        with pytest.raises(ValueError, match="'token_counter' expected"):
            made.invoke(TALK)
